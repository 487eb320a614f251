"""use_skill: what the model and the card get of a skill, and of a file beside it."""

from pathlib import Path

import pytest

from agents.skills import AgentSkills
from agents.tools import runner
from agents.tools.use_skill import UseSkillOutput
from tests.agents.tools.bench import Bench, sha256
from tests.workspaces.test_skills import text, workspace_with
from workspaces.models import Repository, Workspace

pytestmark = pytest.mark.django_db

FOLDER = ".sakura/skills/deploy"


@pytest.fixture
def skilled(repository: Repository, source: Path) -> Workspace:
    return workspace_with(
        repository,
        source,
        {
            f"{FOLDER}/SKILL.md": text(
                "deploy", body="Deploy $1 with care.\n", more="allowed-tools: Read, Bash(git *), WebFetch\n"
            ),
            f"{FOLDER}/steps.md": "First.\n",
            f"{FOLDER}/long.md": "A line of text.\n" * 3000,
            ".claude/skills/long.md": text("long", body="A line of text.\n" * 3000),
        },
    )


@pytest.fixture
def bench(skilled: Workspace) -> Bench:
    made = Bench(skilled)
    names = [tool.name for tool in runner.available("implementer", "standard")]
    made.skills = AgentSkills(skilled, tools=names)
    return made


def output(bench: Bench, **arguments: str) -> UseSkillOutput:
    result = bench.call("use_skill", **arguments)
    assert not result.is_error, result.content
    return UseSkillOutput.model_validate(result.data)


def test_a_skill_comes_with_its_arguments_and_what_it_changes(bench: Bench) -> None:
    result = bench.call("use_skill", skill="deploy", args="web now")
    head, body = result.content.split("\n\n", 1)
    assert body == "Deploy web with care.\n"
    assert head.split("\n") == [
        f"The skill deploy, from the repository, {FOLDER}/SKILL.md.",
        "No tool here goes by WebFetch.",
        f"Until the end of this round you have these tools: {', '.join(result.data['remaining'])}.",
        "Commands must be like git *.",
        "Files in its folder, to read with file: long.md, steps.md.",
    ]


def test_the_card_gets_origin_tools_commands_files_and_notes(bench: Bench) -> None:
    found = output(bench, skill="deploy")
    assert (found.skill, found.path, found.commands) == ("deploy", f"{FOLDER}/SKILL.md", ["git *"])
    assert found.files == ["long.md", "steps.md"]
    assert found.notes == ["No tool here goes by WebFetch."]
    assert found.tools is not None
    assert set(found.remaining) == {*found.tools, "finish_task", "use_skill"}


def test_the_fact_names_the_skill_and_the_bytes_of_its_text(bench: Bench) -> None:
    fact = output(bench, skill="deploy").fact
    assert fact is not None
    assert (fact.source, fact.subject, fact.freshness) == ("use_skill", "deploy", "stable")
    assert (fact.fingerprint, fact.refresh) == (sha256(b"Deploy $1 with care.\n"), "use_skill deploy")


def test_a_file_beside_the_skill_is_read_and_narrows_nothing(bench: Bench) -> None:
    result = bench.call("use_skill", skill="deploy", file="steps.md")
    assert result.content == "The file steps.md of the skill deploy.\n\nFirst.\n"
    assert (result.data["file"], result.data["path"], result.data["tools"]) == ("steps.md", f"{FOLDER}/steps.md", None)
    assert bench.skills.loaded == []


@pytest.mark.parametrize(
    ("file", "code"),
    [("../../../README.md", "OUTSIDE_WORKSPACE"), ("/etc/passwd", "OUTSIDE_WORKSPACE"), ("nope.md", "NOT_FOUND")],
)
def test_what_is_no_file_of_the_skill_is_refused(bench: Bench, file: str, code: str) -> None:
    assert bench.call("use_skill", skill="deploy", file=file).code == code


def test_an_unknown_skill_is_not_found(bench: Bench) -> None:
    result = bench.call("use_skill", skill="nope")
    assert (result.code, "deploy" in result.content) == ("NOT_FOUND", True)


@pytest.mark.parametrize(
    ("arguments", "whole"), [({"skill": "long"}, 48_000), ({"skill": "deploy", "file": "long.md"}, 48_000)]
)
def test_a_long_text_is_cut_to_the_cap_and_says_how_to_read_the_rest(
    bench: Bench, arguments: dict[str, str], whole: int
) -> None:
    result = bench.call("use_skill", **arguments)
    assert len(result.content) <= bench.limits.other_chars + 500
    assert result.truncated
    assert f"of {whole} characters left out here; read_file {result.data['path']} shows them" in result.content
    kept = (bench.workspace.outputs / result.output_ref).read_text()
    assert kept.count("A line of text.") == 3000


def test_a_skill_of_the_application_is_loaded_by_a_reviewer_too(skilled: Workspace) -> None:
    reviewer = Bench(skilled, agent="reviewer")
    found = output(reviewer, skill="review-diff")
    assert (found.origin, found.path, found.tools, found.notes) == ("Sakura", "", None, [])
