"""Skills in runs: which are offered when, how a loaded one narrows what the agent may use, and for how long."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from agents import journal, loop, review
from agents.models import DisabledSkill, Kind, Policy, Run, Status
from agents.providers import retry
from agents.providers.base import Request
from agents.skills import AgentSkills, listed, own
from agents.tools.base import ToolError
from tests.agents.test_recovery import kill_at, killed_and_taken_over
from tests.agents.test_team import EDIT, FINISH, READ, results, say
from tests.agents.test_team import review as verdict
from tests.conftest import work_once
from tests.workspaces.places import take
from tests.workspaces.test_skills import commit, text, workspace_with
from workspaces import sources
from workspaces.models import Repository, Workspace
from workspaces.skills import Origin, Skill

pytestmark = pytest.mark.django_db(transaction=True)

SKILLS = {
    ".sakura/skills/look/SKILL.md": text(
        "look", "How to look.", "Look at $ARGUMENTS.\n", "allowed-tools: Read, Grep\n"
    ),
    ".sakura/skills/look/more.md": "More.\n",
    ".claude/skills/both.md": text("both", more="allowed-tools: [Grep, Edit, 'Bash(git *)']\n"),
    ".claude/skills/free.md": text("free"),
    "web/.claude/skills/pages.md": text("pages", "How we make pages."),
}
CHANGES = {"findings": [{"severity": "major", "message": "Once more."}]}


def use(name: str, **more: str) -> dict[str, Any]:
    return {"name": "use_skill", "input": {"skill": name, **more}}


def write(path: str, content: str = "x\n") -> dict[str, Any]:
    return {"name": "write_file", "input": {"file_path": path, "content": content}}


def command(line: str) -> dict[str, Any]:
    return {"name": "run_command", "input": {"command": line}}


@pytest.fixture
def skilled(repository: Repository, source: Path) -> Repository:
    """The repository, with skills at its base."""
    commit(source, SKILLS)
    sources.refresh(repository)
    return repository


@pytest.fixture
def play(launch: Callable[..., Run], skilled: Repository) -> Callable[..., Run]:
    """Let the implementer do these turns, then finish, and the reviewer approve."""

    def run(*turns: dict[str, Any], **fields: Any) -> Run:
        launch({"implementer": [*turns, say(FINISH)], "reviewer": [verdict("approve")]}, **fields)
        ended = work_once()
        assert ended is not None
        assert ended.state is Status.AWAITING_HUMAN, ended.reason
        return ended

    return run


def codes(run: Run) -> list[str | None]:
    return [result["code"] for result in results(run)]


def asked(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """Keep what the model is asked with, from now on."""
    kept: list[Request] = []
    real = retry.respond_with_retries

    def keeping(provider: Any, request: Request, *rest: Any) -> Any:
        kept.append(request)
        return real(provider, request, *rest)

    monkeypatch.setattr(loop, "respond_with_retries", keeping)
    return kept


# --- narrowing ---------------------------------------------------------------------------------------


def test_a_loaded_skill_gives_its_text_and_narrows_the_tools(play: Callable[..., Run]) -> None:
    run = play(say(READ), say(use("look", args="the sign")), say(EDIT), say(READ))
    loaded, denied = results(run)[1], results(run)[2]
    assert "Look at the sign." in loaded["content"]
    assert loaded["data"]["tools"] == ["read_file", "search_in_files"]
    assert loaded["data"]["remaining"] == ["finish_task", "read_file", "search_in_files", "use_skill"]
    assert codes(run)[2:5] == ["DENIED", None, None]
    assert "the skill look" in denied["content"]
    assert "finish_task, read_file, search_in_files, use_skill" in denied["content"]
    assert run.snapshot == 0


def test_a_call_of_the_same_turn_is_narrowed_too(play: Callable[..., Run]) -> None:
    run = play(say(READ), say(use("look"), EDIT))
    assert codes(run)[1:3] == [None, "DENIED"]


def test_the_model_sees_the_narrowed_tools_from_the_next_turn(
    play: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = asked(monkeypatch)
    play(say(use("look")))
    shown = [[tool.name for tool in request.tools] for request in requests if request.agent == "implementer"]
    assert {"edit_file", "run_command"} <= set(shown[0])
    assert shown[1] == ["finish_task", "read_file", "search_in_files", "use_skill"]


def test_several_skills_intersect_also_when_they_are_loaded_at_once(play: Callable[..., Run]) -> None:
    run = play(
        say(READ),
        say(use("look"), use("both")),
        say(EDIT, READ, {"name": "search_in_files", "input": {"pattern": "a"}}),
    )
    assert codes(run)[3:6] == ["DENIED", "DENIED", None]


def test_a_skill_without_allowed_tools_narrows_nothing(play: Callable[..., Run]) -> None:
    run = play(say(READ), say(use("free")), say(EDIT))
    assert codes(run)[:3] == [None, None, None]
    assert results(run)[1]["data"]["tools"] is None


def test_reading_a_file_of_a_skill_narrows_nothing(play: Callable[..., Run]) -> None:
    run = play(say(READ), say(use("look", file="more.md")), say(EDIT))
    assert codes(run)[:3] == [None, None, None]
    assert results(run)[1]["content"].endswith("More.\n")


def test_commands_are_narrowed_to_the_skills_patterns(play: Callable[..., Run]) -> None:
    run = play(say(use("both")), say(command("git status")), say(command("git status; ls")))
    assert codes(run)[1:3] == [None, "DENIED"]
    assert "git *" in results(run)[2]["content"]


def test_the_reviewer_is_not_narrowed_by_what_the_implementer_loaded(play: Callable[..., Run]) -> None:
    run = play(say(use("look")))
    assert run.reason == "The reviewer approved."


def test_the_next_round_has_all_tools_again(launch: Callable[..., Run], skilled: Repository) -> None:
    launch(
        {
            "implementer": [say(READ), say(use("look")), say(EDIT), say(FINISH), say(EDIT), say(FINISH)],
            "reviewer": [verdict("request_changes", **CHANGES), verdict("approve")],
        }
    )
    run = work_once()
    assert run is not None
    edits = [result["code"] for result in results(run) if result["tool"] == "edit_file"]
    assert (run.round, edits) == (2, ["DENIED", None])


def test_the_round_that_a_human_starts_has_all_tools_again(play: Callable[..., Run], owner: User) -> None:
    run = play(say(READ), say(use("look")), say(FINISH), say(EDIT))
    review.decide(run, owner, "request_changes", "Mend it.")
    ended = work_once()
    assert ended is not None
    assert [result["code"] for result in results(ended) if result["tool"] == "edit_file"] == [None]


@pytest.mark.parametrize(("owner_of", "name", "after"), [(loop, "_finish", True), (journal, "finish", False)])
def test_a_server_that_dies_leaves_the_tools_narrowed(
    launch: Callable[..., Run],
    skilled: Repository,
    monkeypatch: pytest.MonkeyPatch,
    owner_of: Any,
    name: str,
    after: bool,
) -> None:
    run = launch(
        {"implementer": [say(READ), say(use("look")), say(EDIT), say(FINISH)], "reviewer": [verdict("approve")]}
    )
    kill_at(monkeypatch, owner_of, name, after=after, of="use_skill")
    ended = killed_and_taken_over(run)
    assert [result["code"] for result in results(ended) if result["tool"] == "edit_file"] == ["DENIED"]


@pytest.mark.parametrize("tool", ["run_command", "use_skill"])
def test_a_tool_that_the_policy_denies_is_not_shown_to_the_model(
    play: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    requests = asked(monkeypatch)
    run = play(say(use("free"), command("ls")), policy=Policy(blocklist=[f"{tool}(*)"]).model_dump())
    for request in requests:
        assert tool not in [each.name for each in request.tools]
        assert f"{tool}," not in request.system
        assert ("- look: How to look." in request.system) == (tool != "use_skill")
    assert [result["tool"] for result in results(run)[:2] if result["code"] == "DENIED"] == [tool]


# --- which are offered -------------------------------------------------------------------------------


def test_the_system_prompt_names_the_skills_that_are_offered(
    play: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = asked(monkeypatch)
    play()
    for request in requests:
        assert "- look: How to look." in request.system
        assert "- write-tests: " in request.system
        assert "pages" not in request.system


def test_the_smallest_toolset_has_no_skills(play: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    requests = asked(monkeypatch)
    run = play(say(use("look")), toolset="minimal")
    assert codes(run)[0] == "UNKNOWN_TOOL"
    assert "How to look." not in requests[0].system


def test_a_skill_that_the_agent_wrote_is_not_offered(play: Callable[..., Run]) -> None:
    policy = Policy(unprotected=[".claude/**"]).model_dump()
    run = play(
        say(write(".claude/skills/mine.md", text("mine"))),
        say(command("mkdir -p .sakura/skills/own && cp .claude/skills/mine.md .sakura/skills/own/SKILL.md")),
        say(use("mine"), use("own")),
        policy=policy,
    )
    assert codes(run)[0] is None
    assert codes(run)[2:4] == ["NOT_FOUND", "NOT_FOUND"]


def test_a_change_of_a_skill_in_the_run_does_not_count(play: Callable[..., Run]) -> None:
    policy = Policy(unprotected=[".claude/**"]).model_dump()
    edit = {
        "name": "edit_file",
        "input": {"file_path": ".claude/skills/free.md", "old_string": "Do it.", "new_string": "Do all."},
    }
    read = {"name": "read_file", "input": {"file_path": ".claude/skills/free.md"}}
    run = play(say(read), say(edit), say(use("free")), policy=policy)
    assert codes(run)[:3] == [None, None, None]
    assert "Do it." in results(run)[2]["content"]


@pytest.mark.parametrize("call", [write("web/src/page.html"), command("mkdir -p web/src && touch web/src/page.html")])
def test_writing_in_a_sub_project_makes_its_skills_available(play: Callable[..., Run], call: dict[str, Any]) -> None:
    run = play(say(use("pages")), say(call), say(use("pages")))
    assert codes(run)[:3] == ["NOT_FOUND", None, None]
    notes = [event.data for event in run.events.filter(kind=Kind.NOTE, data__to="implementer")]
    assert [note["to"] for note in notes] == ["implementer"]
    assert "You work in web now" in notes[0]["text"]
    assert "- pages: How we make pages." in notes[0]["text"]


def test_the_skills_of_a_sub_project_are_told_once(play: Callable[..., Run]) -> None:
    run = play(say(write("web/a.html")), say(write("web/b.html")), say(write("README2.md")))
    assert run.events.filter(kind=Kind.NOTE, data__to="implementer").count() == 1


def test_a_sub_projects_skills_are_known_after_a_restart_and_to_the_reviewer(
    launch: Callable[..., Run], skilled: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = launch(
        {
            "implementer": [say(write("web/a.html")), say(use("pages")), say(FINISH)],
            "reviewer": [say(use("pages")), verdict("approve")],
        }
    )
    kill_at(monkeypatch, loop, "_finish", after=True, of="write_file")
    ended = killed_and_taken_over(run)
    assert [result["code"] for result in results(ended) if result["tool"] == "use_skill"] == [None, None]


def test_an_admin_switches_a_skill_off_also_while_a_run_works(play: Callable[..., Run], skilled: Repository) -> None:
    DisabledSkill.objects.create(repository=skilled, name="look")
    DisabledSkill.objects.create(name="write-tests")
    DisabledSkill.objects.create(name="free")
    run = play(say(use("look"), use("write-tests"), use("free"), use("review-diff")))
    assert codes(run)[:4] == ["NOT_FOUND", "NOT_FOUND", None, None]
    assert "The skills are: both, free, fix-failing-test, review-diff." in results(run)[0]["content"].replace(
        "look, ", ""
    )


def test_what_the_policy_hides_is_no_skill_and_no_file_of_one(play: Callable[..., Run]) -> None:
    policy = Policy(hidden=[".claude/**", "**/more.md"]).model_dump()
    run = play(say(use("free"), use("look", file="more.md"), use("look")), policy=policy)
    assert codes(run)[:3] == ["NOT_FOUND", "DENIED", None]
    assert results(run)[2]["data"]["files"] == []


# --- nearer wins -------------------------------------------------------------------------------------


def put(folder: Path, name: str, description: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text(name, description))


def told(skills: AgentSkills) -> dict[str, str]:
    return {name: skill.description for name, skill in skills.offered().items()}


def test_nearer_skills_win_by_name(repository: Repository, source: Path, settings: Settings) -> None:
    installation = Path(settings.SAKURA_DATA_DIR) / "skills"
    for name in ("write-tests", "a", "b"):
        put(installation, name, "installation")
    files = {
        ".claude/skills/a.md": text("a", "root, .claude"),
        ".claude/skills/b.md": text("b", "root, .claude"),
        ".sakura/skills/b.md": text("b", "root, .sakura"),
        "p/.claude/skills/c.md": text("c", "p"),
        ".sakura/skills/c.md": text("c", "root, .sakura"),
    }
    workspace = workspace_with(repository, source, files)
    skills = AgentSkills(workspace)
    assert told(skills) | {"fix-failing-test": "", "review-diff": ""} == {
        "a": "root, .claude",
        "b": "root, .sakura",
        "c": "root, .sakura",
        "write-tests": "installation",
        "fix-failing-test": "",
        "review-diff": "",
    }


def test_of_two_sub_projects_the_one_written_to_last_is_the_nearer(repository: Repository, source: Path) -> None:
    files = {f"{folder}/.sakura/skills/test.md": text("test", folder) for folder in ("api", "web")}
    workspace = workspace_with(repository, source, files)
    skills = AgentSkills(workspace)
    said = []
    for number, folder in enumerate(("api", "web")):
        (workspace.tree / folder / "new.txt").write_text("x")
        take(workspace)
        said.append(skills.note_written(f"call_{number + 1}"))
        assert told(skills)["test"] == told(AgentSkills(workspace))["test"] == folder
    assert [text.split(" now")[0] for (text,) in said] == ["You work in api", "You work in web"]


def test_a_broken_or_disabled_skill_lets_the_next_of_its_name_through(settings: Settings) -> None:
    installation = Path(settings.SAKURA_DATA_DIR) / "skills"
    installation.mkdir()
    (installation / "write-tests.md").write_text("no front matter")
    assert told(AgentSkills())["write-tests"].startswith("Write tests for code")


def test_a_skill_of_the_installation_tells_no_path_of_the_server(settings: Settings) -> None:
    put(Path(settings.SAKURA_DATA_DIR) / "skills", "house", "Of the house.")
    loaded = AgentSkills().load("house", "")
    assert (loaded.origin, loaded.path) == ("this installation, skills/house.md", "")


def test_an_unknown_skill_names_those_there_are() -> None:
    with pytest.raises(
        ToolError, match=r"no skill 'nope'\. The skills are: fix-failing-test, review-diff, write-tests\."
    ):
        AgentSkills().load("nope", "")


# --- the list in the prompt --------------------------------------------------------------------------


def some(name: str, description: str) -> Skill:
    return Skill(name, Origin.SHIPPED, "", own()[0].shelf, description)


def test_a_long_description_is_cut_at_five_hundred_characters() -> None:
    line = listed([some("a", "x" * 900)])
    assert line == f"- a: {'x' * 499}…"


def test_the_list_has_at_most_eight_thousand_characters_and_says_what_is_left_out() -> None:
    text = listed([some(f"skill-{number}", "x" * 400) for number in range(50)])
    *lines, last = text.split("\n")
    assert sum(len(line) + 1 for line in lines) <= 8000
    assert last.startswith(f"({50 - len(lines)} more are left out here")


def test_the_skills_that_come_with_sakura_are_whole_and_narrow_nothing() -> None:
    found = [skill for skill in own() if skill.origin is Origin.SHIPPED]
    assert [skill.name for skill in found] == ["fix-failing-test", "review-diff", "write-tests"]
    for skill in found:
        assert (skill.fault, skill.allowed) == ("", None)
        assert 40 < len(skill.description) <= 500
        assert "$ARGUMENTS" in skill.text


def test_no_skill_of_the_repository_is_offered_without_a_workspace() -> None:
    assert Workspace.objects.count() == 0
    assert set(told(AgentSkills())) == {"fix-failing-test", "review-diff", "write-tests"}
