"""What a run may use: people and the agent are warned once, and it stops where people can look at it."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents import budgets, control, loop, panels, transcript
from agents import review as reviewing
from agents.models import Budgets, Kind, Run, Status
from agents.providers.base import Usage
from tests.agents.test_lease import dead_owner
from tests.agents.test_recovery import Killed, kill_at
from tests.agents.test_team import EDIT, FINISH, READ, kinds, results, review, say
from tests.conftest import work_once

pytestmark = pytest.mark.django_db(transaction=True)

LOOK = {"name": "list_directory", "input": {"path": "."}}


def shell(command: str, **more: Any) -> dict[str, Any]:
    return {"name": "run_command", "input": {"command": command, **more}}


def limits(**given: float) -> dict[str, Any]:
    return Budgets.model_validate(given).model_dump()


def worked() -> Run:
    run = work_once()
    assert run is not None
    return run


def warnings(run: Run) -> list[dict[str, Any]]:
    notes = run.events.filter(kind=Kind.NOTE, data__has_key="budget").order_by("seq")
    return [note.data for note in notes]


def usage(**tokens: int) -> dict[str, Any]:
    return {**say(LOOK), "usage": tokens}


# --- at 80 per cent ----------------------------------------------------------------------------------

NEAR: dict[str, tuple[dict[str, Any], list[dict[str, Any]], str]] = {
    "steps": (limits(steps=10), [say(LOOK)] * 8, "8 of 10 steps"),
    "tokens": (limits(tokens=1000), [usage(input_tokens=700, output_tokens=100)], "800 of 1,000 tokens"),
    "files": (limits(files=5), [say(shell("touch a b c d"))], "4 of 5 changed files"),
    "lines": (limits(lines=10), [say(shell("seq 9 > a"))], "9 of 10 changed lines"),
}


@pytest.mark.parametrize("name", NEAR)
def test_at_80_per_cent_the_agent_gets_a_note_and_people_a_card(launch: Callable[..., Run], name: str) -> None:
    given, steps, words = NEAR[name]
    launch({"implementer": [*steps, say(FINISH)], "reviewer": [review("approve")]}, budgets=given)
    run = worked()
    (note,) = warnings(run)
    assert (note["to"], note["text"]) == ("implementer", f"{words} are used; come to an end.")
    assert (note["budget"]["name"], note["budget"]["limit"]) == (name, given[name])
    page = "".join(patch["html"] for patch in transcript.latest(run).patches)
    assert page.count("Budget nearly used up") == 1
    assert words in page


def test_money_and_time_are_told_as_well(launch: Callable[..., Run]) -> None:
    run = launch({"implementer": [say(LOOK), say(LOOK), say(FINISH)], "reviewer": [review("approve")]})
    Run.objects.filter(pk=run.pk).update(usd="4.10", worked_ms=2_200_000)
    told = [note["text"] for note in warnings(worked())]
    assert "4.10 of 5.0 US dollars are used; come to an end." in told
    assert any(re.fullmatch(r"2,2\d\d of 2,700 seconds are used; come to an end\.", text) for text in told)
    assert len(told) == 2


def test_a_warning_comes_once_also_when_another_worker_goes_on_and_in_later_rounds(
    launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = {
        "implementer": [say(shell("touch a b c d")), say(LOOK), say(EDIT), say(FINISH), say(LOOK), say(FINISH)],
        "reviewer": [review("request_changes"), review("approve")],
    }
    run = launch(script, budgets=limits(files=5))
    kill_at(monkeypatch, loop, "_finish", after=True, of="list_directory")
    with pytest.raises(Killed):
        work_once()
    Run.objects.filter(pk=run.pk).update(lease_owner=dead_owner())
    run = worked()
    assert run.round == 2, run.reason
    assert len(warnings(run)) == 1


# --- at 100 per cent ---------------------------------------------------------------------------------


def test_a_spent_budget_leaves_a_run_that_can_be_reviewed_though_nothing_was_changed(
    launch: Callable[..., Run],
) -> None:
    launch({"implementer": [say(LOOK)] * 5}, budgets=limits(steps=2))
    run = worked()
    assert (run.state, run.reason) == (
        Status.AWAITING_HUMAN,
        "The budget of 2 steps is used up. Nothing was changed so far.",
    )


@pytest.mark.parametrize(
    ("given", "command", "words"),
    [(limits(files=3), "touch a b c d", "3 changed files"), (limits(lines=9), "seq 20 > a", "9 changed lines")],
)
def test_too_large_a_change_ends_the_work_right_after_the_call(
    launch: Callable[..., Run], given: dict[str, Any], command: str, words: str
) -> None:
    calls = say(shell(command), shell("touch later"), FINISH)
    launch({"implementer": [calls, say(FINISH)]}, budgets=given)
    run = worked()
    assert run.state is Status.AWAITING_HUMAN
    assert run.reason.startswith(f"The budget of {words} is used up. What it changed so far can be reviewed.")
    assert [result["code"] for result in results(run)] == [None, "SKIPPED", "SKIPPED"]
    assert words in results(run)[1]["content"]
    assert not (run.place.tree / "later").exists()
    assert kinds(run).count("model_response") == 1


def test_what_was_put_back_is_no_change_that_counts(launch: Callable[..., Run]) -> None:
    script = {
        "implementer": [say(shell("seq 500 >> tests/test_calc.py")), say(FINISH)],
        "reviewer": [review("approve")],
    }
    launch(script, budgets=limits(lines=100))
    assert worked().reason.startswith("The reviewer approved.")


def test_the_calls_of_the_last_step_that_was_paid_for_are_made(launch: Callable[..., Run]) -> None:
    step = {**say(READ, EDIT), "usage": {"input_tokens": 5000, "output_tokens": 10}}
    launch({"implementer": [step, say(FINISH)]}, budgets=limits(tokens=1000))
    run = worked()
    assert [result["code"] for result in results(run)] == [None, None]
    assert run.reason.startswith("The budget of 1,000 tokens is used up. What it changed")


def test_a_command_ends_when_the_time_of_the_run_does_and_its_result_names_the_budget(
    launch: Callable[..., Run],
) -> None:
    run = launch({"implementer": [say(shell("echo on; while :; do sleep 0.1; done", timeout_ms=60_000))]})
    Run.objects.filter(pk=run.pk).update(worked_ms=2_700_000 - 4000)
    run = worked()
    (result,) = results(run)
    assert result["code"] == "TIMEOUT"
    assert "on" in result["content"]
    assert result["content"].endswith("That was what was left of the run's budget of 2,700 seconds.")
    assert result["duration_ms"] < 6000
    assert (run.state, run.reason) == (
        Status.AWAITING_HUMAN,
        "The budget of 2,700 seconds is used up. Nothing was changed so far.",
    )


def test_a_timeout_of_its_own_names_no_budget(launch: Callable[..., Run]) -> None:
    launch({"implementer": [say(shell("while :; do sleep 0.1; done", timeout_ms=500)), say(FINISH)]})
    assert "budget" not in results(worked())[0]["content"]


def test_the_reviewer_is_held_to_the_same_budgets(launch: Callable[..., Run]) -> None:
    launch(
        {"implementer": [say(READ), say(EDIT), say(FINISH)], "reviewer": [say(LOOK), say(LOOK), review("approve")]},
        budgets=limits(steps=5),
    )
    run = worked()
    assert run.state is Status.AWAITING_HUMAN
    assert run.reason.startswith("The reviewer gave no verdict: The budget of 5 steps is used up.")
    assert [note["to"] for note in warnings(run)] == ["reviewer"]


# --- absurd counts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reported", "kept"), [(-5, 0), (10**30, budgets.MOST_TOKENS), (budgets.MOST_TOKENS + 1, budgets.MOST_TOKENS)]
)
def test_what_a_server_counts_stays_within_what_can_be(reported: int, kept: int) -> None:
    found = budgets.sane(Usage(reported, reported, reported, reported))
    assert (found.input_tokens, found.output_tokens, found.cached_tokens, found.cache_write_tokens) == (kept,) * 4


def test_negative_counts_give_nothing_back(launch: Callable[..., Run]) -> None:
    steps = [usage(input_tokens=600, output_tokens=0), usage(input_tokens=-900, output_tokens=-900)]
    launch({"implementer": [*steps, say(FINISH)], "reviewer": [review("approve")]}, budgets=limits(tokens=1000))
    run = worked()
    assert run.input_tokens >= 600


def test_a_huge_count_ends_the_run_where_people_can_look_at_it(launch: Callable[..., Run]) -> None:
    launch({"implementer": [usage(input_tokens=10**30, output_tokens=10**30), say(FINISH)]})
    run = worked()
    assert run.state is Status.AWAITING_HUMAN, run.reason
    assert "1,000,000 tokens is used up" in run.reason
    assert run.input_tokens == budgets.MOST_TOKENS


# --- when people ask for more ------------------------------------------------------------------------


def test_who_asks_for_changes_grants_the_budgets_anew(launch: Callable[..., Run], teammate: User) -> None:
    script = {
        "implementer": [say(READ), say(EDIT), say(LOOK), say(LOOK), say(LOOK), say(FINISH)],
        "reviewer": [review("approve")],
    }
    launch(script, budgets=limits(steps=3))
    run = worked()
    assert "3 steps is used up" in run.reason
    reviewing.decide(run, teammate, "request_changes", "Go on.")
    run = worked()
    assert "3 steps is used up" in run.reason
    assert run.step == 6
    assert (run.events.filter(kind=Kind.NOTE, data__has_key="granted").get().data["granted"]["steps"]) == 3
    panel = panels.render(panels.load(run.pk))["budgets"]
    assert "3 of 3" in panel
    assert "Counted since a person last asked for changes." in panel


def test_a_run_that_changed_too_much_can_go_on_when_it_is_asked_to(launch: Callable[..., Run], teammate: User) -> None:
    script = {
        "implementer": [say(shell("touch a b c")), say(READ), say(EDIT), say(FINISH)],
        "reviewer": [review("approve")],
    }
    launch(script, budgets=limits(files=3))
    run = worked()
    assert "3 changed files is used up" in run.reason
    reviewing.decide(run, teammate, "request_changes", "Go on.")
    assert worked().reason.startswith("The reviewer approved.")


def test_a_pause_grants_nothing(launch: Callable[..., Run], teammate: User) -> None:
    launch({"implementer": [say(LOOK)] * 6}, budgets=limits(steps=3))
    run = worked()
    reviewing.decide(run, teammate, "request_changes", "Go on.")
    run.refresh_from_db()
    control.pause(run, teammate)
    control.resume(run, teammate)
    run = worked()
    assert run.step == 6
    assert run.events.filter(kind=Kind.NOTE, data__has_key="granted").count() == 1
