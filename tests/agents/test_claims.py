"""What an agent claims is held against the facts, and what they do not bear out stands beside the claim."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from agents import tested
from agents.cards import Card
from agents.models import Kind, Run
from tests.agents.test_team import EDIT, READ, review, say
from tests.conftest import work_once

pytestmark = pytest.mark.django_db(transaction=True)


def finish(**given: Any) -> dict[str, Any]:
    return {"name": "finish_task", "input": {"summary": "Mended add.", "modified_files": ["calc.py"]} | given}


def run_of(command: str) -> dict[str, Any]:
    return {"name": "run_command", "input": {"command": command}}


def worked(launch: Callable[..., Run], *turns: dict[str, Any], **verdict: Any) -> Run:
    launch({"implementer": list(turns), "reviewer": [review("approve", **verdict)]}, policy={"verify": ["./prove"]})
    run = work_once()
    assert run is not None
    return run


def unproven(run: Run, tool: str = "finish_task") -> list[str]:
    event = run.events.get(kind=Kind.TOOL_RESULT, data__tool=tool)
    return list(event.data["data"]["unproven"])


def test_a_claim_that_is_so_has_nothing_unproven(launch: Callable[..., Run]) -> None:
    run = worked(launch, say(READ), say(EDIT), say(finish()))
    assert unproven(run) == []


def test_files_named_and_not_changed_or_changed_and_not_named_are_unproven(launch: Callable[..., Run]) -> None:
    run = worked(launch, say(READ), say(EDIT), say(finish(modified_files=["README.md", "no/such.py"])))
    assert unproven(run) == [
        "Says it changed README.md, no/such.py, but that is as it was at the baseline.",
        "Changed files without naming calc.py.",
    ]


def test_a_claim_that_names_no_file_names_too_few(launch: Callable[..., Run]) -> None:
    run = worked(launch, say(READ), say(EDIT), say(finish(modified_files=[])))
    assert unproven(run) == ["Changed files and names no file; changed: calc.py."]


def test_tests_that_never_ran_are_unproven(launch: Callable[..., Run]) -> None:
    run = worked(launch, say(READ), say(EDIT), say(finish(test_result="All tests pass.")))
    assert unproven(run) == ["Says “All tests pass.”; no command that looks like a test run ended in this run."]


def test_tests_that_are_said_to_pass_in_the_summary_are_held_too(launch: Callable[..., Run]) -> None:
    run = worked(launch, say(READ), say(EDIT), say(finish(summary="Mended add. The tests all pass now.")))
    assert "Says “The tests all pass now”" in unproven(run)[0]


@pytest.mark.parametrize("said", ["", "I did not run the tests.", "The tests don't pass yet.", "2 tests failed."])
def test_who_does_not_say_that_tests_pass_has_nothing_to_prove(launch: Callable[..., Run], said: str) -> None:
    assert unproven(worked(launch, say(READ), say(EDIT), say(finish(test_result=said)))) == []


def test_a_passing_test_command_before_the_last_edit_proves_nothing(launch: Callable[..., Run]) -> None:
    passing = run_of("python3 -m unittest --help > /dev/null")
    run = worked(launch, say(READ), say(passing), say(EDIT), say(finish(test_result="passed, 0 failures")))
    assert "an agent changed files after the last test run" in unproven(run)[0]


def test_a_failed_test_command_is_named_with_its_exit_code(launch: Callable[..., Run]) -> None:
    run = worked(launch, say(READ), say(EDIT), say(run_of("./prove")), say(finish(test_result="green")))
    assert unproven(run) == ["Says “green”; the last test run, `./prove` (step 3), ended with exit code 127."]


def test_a_passing_test_command_after_the_last_edit_proves_it(launch: Callable[..., Run]) -> None:
    passing = run_of("python3 -m unittest --help > /dev/null")
    run = worked(launch, say(READ), say(EDIT), say(passing), say(finish(test_result="All pass.")))
    assert unproven(run) == []


def test_an_exit_code_that_is_not_the_tests_own_proves_nothing(launch: Callable[..., Run]) -> None:
    hiding = run_of("python3 -m unittest --help | tail -3")
    run = worked(launch, say(READ), say(EDIT), say(hiding), say(finish(test_result="All pass.")))
    assert "may not be the tests’ own" in unproven(run)[0]


def test_what_a_review_says_is_held_against_the_tree(launch: Callable[..., Run]) -> None:
    findings = [
        {"severity": "minor", "file": "calc.py", "line": 2, "message": "fine"},
        {"severity": "minor", "file": "calc.py", "line": 999, "message": "no such line"},
        {"severity": "minor", "file": "gone.py", "message": "no such file"},
    ]
    why = "The command that verifies is not there."
    given = {"summary": "I ran it: tests pass.", "findings": findings, "despite": why}
    run = worked(launch, say(READ), say(EDIT), say(finish()), **given)
    said = [
        "A finding names line 999 of calc.py, which has 6 lines.",
        "A finding names gone.py, which is neither in the tree nor in the baseline.",
        "Says “I ran it: tests pass”; no command that looks like a test run ended in this run.",
    ]
    found = unproven(run, "submit_review")
    assert found == said
    assert run.events.get(kind=Kind.REVIEW).data["unproven"] == found


def test_the_cards_show_what_is_unproven(launch: Callable[..., Run]) -> None:
    run = worked(launch, say(READ), say(EDIT), say(finish(test_result="All <b>pass</b>.")))
    call = run.events.get(kind=Kind.TOOL_CALL, data__tool="finish_task")
    result = run.events.get(kind=Kind.TOOL_RESULT, data__tool="finish_task")
    html = Card(call, result).body_html()
    assert "Unproven" in html
    assert "Says “All &lt;b&gt;pass&lt;/b&gt;.”" in html


@pytest.mark.parametrize(
    "command",
    [
        "pytest", "cd app && python -m pytest -q", "python3 -X dev -m unittest", "env CI=1 timeout 60 npm test",
        "go test ./...", "cargo nextest run", "make check", "uv run pytest -x", "./gradlew test", "bash -c 'tox -q'",
        "python manage.py test", "npx vitest run", "node --test", "uv run -m pytest", "./accept",
    ],
)  # fmt: skip
def test_a_command_that_runs_tests_is_known_by_its_parse(command: str) -> None:
    assert tested.is_test(command, ["./accept"])


@pytest.mark.parametrize(
    "command",
    [
        "coverage run -m " * 500, "python -W x " * 5000, "uv run -x " * 5000, "make " + "x " * 40_000,
        "npm " + "run " * 20_000, "env " * 20_000,
    ],
)  # fmt: skip
def test_no_command_keeps_who_looks_for_tests_busy(command: str) -> None:
    began = time.process_time()
    tested.is_test(command)
    assert time.process_time() - began < 10


@pytest.mark.parametrize("quoted", ['\\"' * 40_000, '\\"' * 40_000 + "\\", "'" * 40_001])
def test_no_quote_keeps_who_looks_for_a_hidden_exit_busy(quoted: str) -> None:
    ran = tested.TestRun(f'pytest "{quoted}', 0, 1, "implementer", "")
    began = time.process_time()
    assert not ran.hides_exit
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    "command", ["grep -rn pytest docs", "echo 'run pytest'", "pip install pytest", "cat tests/test_calc.py", "ls # tox"]
)
def test_a_command_that_only_names_tests_runs_none(command: str) -> None:
    assert not tested.is_test(command)
