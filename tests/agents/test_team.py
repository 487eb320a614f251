"""A scripted run from the form's row to the human, on a real repository, with the real tools."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents import control, prompting, reverts
from agents.models import Agent, Kind, Run, Status
from agents.review import decide
from tests.conftest import git, work_once
from workspaces import snapshots, sources, tidying
from workspaces.models import Repository, Snapshot

pytestmark = pytest.mark.django_db(transaction=True)

READ = {"name": "read_file", "input": {"file_path": "calc.py"}}
EDIT = {"name": "edit_file", "input": {"file_path": "calc.py", "old_string": "a - b", "new_string": "a + b"}}
FINISH = {
    "name": "finish_task",
    "input": {"summary": "Mended add.", "modified_files": ["calc.py"], "risk_level": "low"},
}


def review(verdict: str, **more: Any) -> dict[str, Any]:
    given = {"verdict": verdict, "score": 7, "summary": f"I say {verdict}.", "findings": []} | more
    return {"tool_calls": [{"name": "submit_review", "input": given}]}


def say(*calls: dict[str, Any], text: str = "") -> dict[str, Any]:
    return {"text": text, "tool_calls": list(calls)}


SCRIPT = {"implementer": [say(READ, text="I look first."), say(EDIT), say(FINISH)], "reviewer": [review("approve")]}


def kinds(run: Run) -> list[str]:
    return list(run.events.order_by("seq").values_list("kind", flat=True))


def results(run: Run) -> list[dict[str, Any]]:
    return [event.data for event in run.events.filter(kind=Kind.TOOL_RESULT).order_by("seq")]


def test_a_scripted_run_goes_from_the_queue_to_the_human(launch: Callable[..., Run], source: Path) -> None:
    before = git(source, "rev-parse", "HEAD")
    launch(SCRIPT)
    run = work_once()
    assert run is not None
    assert (run.state, run.reason) == (Status.AWAITING_HUMAN, "The reviewer approved.")
    assert kinds(run) == [
        "status", "message", "status", "snapshot", "status",
        "model_response", "tool_call", "tool_result",
        "model_response", "tool_call", "snapshot", "tool_result",
        "model_response", "tool_call", "tool_result",
        "status", "proof", "note", "model_response", "tool_call", "tool_result", "review", "status",
    ]  # fmt: skip
    assert [event.seq for event in run.events.order_by("seq")] == list(range(1, run.last_seq + 1))
    assert (run.snapshot, run.changed_files, run.additions, run.deletions) == (1, 1, 1, 1)
    assert "a + b" in (run.place.tree / "calc.py").read_text()
    assert git(source, "rev-parse", "HEAD") == before
    assert git(source, "status", "--porcelain") == ""
    assert run.lease_until is None


def test_asked_for_changes_start_another_round_and_the_script_goes_on(launch: Callable[..., Run]) -> None:
    script = {
        "implementer": [say(READ), say(EDIT), say(FINISH), say(FINISH)],
        "reviewer": [review("request_changes"), review("approve")],
    }
    launch(script)
    run = work_once()
    assert run is not None
    assert (run.state, run.round) == (Status.AWAITING_HUMAN, 2)
    assert run.reviews.count() == 2
    assert run.step == 6


PLANT = """mkdir -p ~/.local/bin
printf '#!/bin/sh\\necho 5 passed\\n' > ~/.local/bin/judge; chmod +x ~/.local/bin/judge
printf '[alias]\\nverdict = !echo 5 passed\\n' > ~/.gitconfig
cp ~/.local/bin/judge .git/judge; git config alias.finding '!echo 5 passed'
judge; git verdict; .git/judge; git finding"""


def test_nothing_that_an_implementer_left_outside_the_snapshot_decides_what_a_reviewer_sees(
    launch: Callable[..., Run],
) -> None:
    def ran(command: str) -> dict[str, Any]:
        return {"name": "run_command", "input": {"command": command}}

    look = "judge; git verdict; .git/judge; git finding; ls -A ~; touch ~/mine; grep ' + ' calc.py; git diff --stat"
    script = {
        "implementer": [say(READ), say(EDIT), say(ran(PLANT)), say(FINISH), say(ran("judge; ls -A ~")), say(FINISH)],
        "reviewer": [say(ran(look)), review("request_changes"), say(ran(look)), review("approve")],
    }
    launch(script)
    run = work_once()
    assert run is not None
    assert run.state is Status.AWAITING_HUMAN
    planted, first, mine, second = (each["content"] for each in results(run) if each["tool"] == "run_command")
    assert planted.count("5 passed") == 4
    for seen in (first, second):
        assert "judge: command not found" in seen
        assert "5 passed" not in seen
        assert ".local" not in seen
        assert "mine" not in seen
        assert "a + b" in seen
        assert "calc.py | 2 +-" in seen
    assert "5 passed" in mine
    assert ".gitconfig" in mine
    tidying.forget_tree(run.place)
    assert not run.place.fresh.exists()


@pytest.mark.parametrize("more", [{"hidden": ["README.md"]}, {"rules": ["deny effect:READ path:README.md"]}])
def test_what_a_policy_hides_is_in_no_history_that_an_agent_or_its_proof_reads(
    launch: Callable[..., Run], source: Path, repository: Repository, more: dict[str, list[str]]
) -> None:
    (source / "README.md").write_text("# calc\n\nAdds numbers, for Acme.\n")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "Second")
    sources.refresh(repository)
    oid = git(source, "rev-parse", "HEAD:README.md")
    look = f"git log --all -p; git cat-file --batch-all-objects --batch; git cat-file -p {oid}; cat README.md; true"
    ran = {"name": "run_command", "input": {"command": look}}
    script = {"implementer": [say(READ), say(EDIT), say(ran), say(FINISH)], "reviewer": [say(ran), review("approve")]}
    launch(script, policy={"verify": [look], **more})
    run = work_once()
    assert run is not None
    assert run.state is Status.AWAITING_HUMAN
    proof = next(event.data for event in run.events.filter(kind=Kind.PROOF).order_by("-seq"))
    seen = [each["content"] for each in results(run) if each["tool"] == "run_command"]
    seen += [command["output_tail"] for command in proof["commands"]]
    assert len(seen) == 3
    for text in seen:
        assert "Second" in text
        assert "def double" in text
        assert "Adds numbers" not in text


def test_a_guide_that_a_policy_hides_is_not_told(
    launch: Callable[..., Run], source: Path, repository: Repository
) -> None:
    for name in ("AGENTS.md", "CLAUDE.md"):
        (source / name).write_text(f"This is {name}.\n")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "Guides")
    sources.refresh(repository)
    run = launch(SCRIPT, policy={"hidden": ["AGENTS.md"]})
    assert work_once() is not None
    run.refresh_from_db()
    told = prompting.system_prompt(run, Agent.IMPLEMENTER, [], "", "", commands_work=True)
    assert "This is CLAUDE.md." in told
    assert "This is AGENTS.md." not in told
    assert "Hidden from you and from commands: AGENTS.md." in told


def test_a_tree_that_can_not_be_brought_in_line_is_laid_out_anew_and_the_agent_is_told(
    launch: Callable[..., Run], source: Path, repository: Repository, teammate: User
) -> None:
    (source / "app").mkdir()
    (source / "app" / "main.py").write_text("x\n")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "Second")
    sources.refresh(repository)
    block = {"name": "run_command", "input": {"command": "rm -r app; mkfifo app"}}
    script = {
        "implementer": [say(block), say(FINISH), say(READ), say(FINISH)],
        "reviewer": [review("approve"), review("approve")],
    }
    launch(script)
    run = work_once()
    assert run is not None
    reverts.revert(run, teammate, "app/main.py")
    run.refresh_from_db()
    decide(run, teammate, "request_changes", "Leave app alone.")
    run = work_once()
    assert run is not None
    assert (run.state, run.round) == (Status.AWAITING_HUMAN, 2)
    assert (run.place.tree / "app" / "main.py").read_text() == "x\n"
    assert "laid out anew" in " ".join(event.data["text"] for event in run.events.filter(kind=Kind.NOTE))


def test_after_the_last_round_a_human_decides(launch: Callable[..., Run]) -> None:
    script = {"implementer": [say(READ), say(EDIT), say(FINISH)], "reviewer": [review("request_changes")]}
    launch(script, max_rounds=1)
    run = work_once()
    assert run is not None
    assert run.state is Status.AWAITING_HUMAN
    assert "all 1 rounds are used" in run.reason


def test_what_a_model_gets_wrong_is_told_to_it_and_the_run_goes_on(launch: Callable[..., Run]) -> None:
    wrong: list[dict[str, Any]] = [
        {"name": "no_such_tool", "input": {}},
        {"name": "read_file", "input": "not an object"},
        {"name": "read_file", "input": {"file_path": "calc.py", "colour": "red"}},
        {"name": "read_file", "input": {"file_path": "../outside"}},
    ]
    launch({"implementer": [say(*wrong), say(READ), say(EDIT), say(FINISH)], "reviewer": [review("approve")]})
    run = work_once()
    assert run is not None
    assert run.state is Status.AWAITING_HUMAN
    codes = [result["code"] for result in results(run)]
    assert codes[:4] == ["UNKNOWN_TOOL", "INVALID_INPUT", "INVALID_INPUT", "OUTSIDE_WORKSPACE"]
    assert not results(run)[5]["is_error"]


def test_a_model_that_calls_no_tool_is_asked_once_and_then_the_run_ends_with_the_reason(
    launch: Callable[..., Run],
) -> None:
    launch({"implementer": [{"text": "Hello."}, {"text": "Still here."}]})
    run = work_once()
    assert run is not None
    assert run.state is Status.FAILED
    assert "without calling a tool" in run.reason
    notes = [event.data for event in run.events.filter(kind=Kind.NOTE)]
    assert [note["to"] for note in notes] == ["implementer"]


def test_calls_after_the_finishing_one_are_skipped(launch: Callable[..., Run]) -> None:
    launch({"implementer": [say(READ), say(EDIT), say(FINISH, READ)], "reviewer": [review("approve")]})
    run = work_once()
    assert run is not None
    assert [result["code"] for result in results(run)][2:4] == [None, "SKIPPED"]


def test_a_steering_message_is_read_before_the_next_step(launch: Callable[..., Run], teammate: User) -> None:
    run = launch(SCRIPT)
    control.steer(run, teammate, "Please be quick.")
    work_once()
    message = run.events.filter(kind=Kind.MESSAGE).order_by("seq").last()
    assert message is not None
    assert (message.data["text"], message.data["author"]) == ("Please be quick.", "teammate")
    first = run.events.filter(kind=Kind.MODEL_RESPONSE).order_by("seq").first()
    assert first is not None
    assert message.seq < first.seq


def test_a_spent_budget_stops_the_run_in_a_reviewable_state(launch: Callable[..., Run]) -> None:
    launch(SCRIPT, budgets={"steps": 2})
    run = work_once()
    assert run is not None
    assert run.state is Status.AWAITING_HUMAN
    assert "budget of 2 steps is used up" in run.reason


def test_reads_of_one_turn_are_answered_in_the_order_of_the_calls(launch: Callable[..., Run]) -> None:
    reads: list[dict[str, Any]] = [
        {"name": "read_file", "input": {"file_path": name}} for name in ("README.md", "calc.py", "tests/test_calc.py")
    ]
    launch({"implementer": [say(*reads), say(EDIT), say(FINISH)], "reviewer": [review("approve")]})
    run = work_once()
    assert run is not None
    assert [result["data"]["path"] for result in results(run)[:3]] == ["README.md", "calc.py", "tests/test_calc.py"]


def test_a_command_changes_the_tree_and_its_snapshot_says_what(launch: Callable[..., Run]) -> None:
    command = {"name": "run_command", "input": {"command": "printf 'made\\n' > made.txt && rm README.md"}}
    launch({"implementer": [say(command), say(FINISH)], "reviewer": [review("approve")]})
    run = work_once()
    assert run is not None
    assert not results(run)[0]["is_error"], results(run)[0]["content"]
    snapshot = Snapshot.objects.get(workspace_id=run.pk, number=1)
    assert {(each["path"], each["status"]) for each in snapshot.files} == {
        ("made.txt", "added"),
        ("README.md", "deleted"),
    }
    assert run.sandbox["level"] == "full"


def test_the_tree_of_an_ended_run_is_removed_and_its_diff_stays(launch: Callable[..., Run], teammate: User) -> None:
    launch(SCRIPT)
    run = work_once()
    assert run is not None
    control.cancel(run, teammate)
    run.place.outputs.joinpath("kept.txt").write_text("kept")
    tidying.forget_tree(run.place)
    assert not list(run.place.folder.glob("e*"))
    assert run.place.outputs.joinpath("kept.txt").exists()
    assert [change.path for change in snapshots.changes(run.place).files] == ["calc.py"]
