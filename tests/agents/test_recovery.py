"""A server killed at any point of a call: nothing is lost, nothing happens twice, and the run ends as it would have."""

from collections.abc import Callable
from typing import Any

import pytest
from pytest import MonkeyPatch

from agents import journal, loop, team
from agents.models import CallState, Kind, Run, Status
from agents.session import Session
from agents.tools import runner
from tests.agents.test_lease import dead_owner
from tests.agents.test_team import EDIT, FINISH, READ, kinds, review, say
from tests.conftest import work_once
from workspaces import files, known, store

pytestmark = pytest.mark.django_db(transaction=True)

RUN = {"name": "run_command", "input": {"command": "echo ran >> ran.txt"}}
LIST = {"name": "list_directory", "input": {"path": "."}}
SCRIPT = {
    "implementer": [say(READ, LIST), say(EDIT), say(RUN), say(FINISH)],
    "reviewer": [say(READ), review("approve")],
}
CALLS = ("read_file", "edit_file", "run_command", "finish_task", "submit_review")


class Killed(BaseException):
    """Stands for kill -9: nothing below the test catches it."""


def kill_at(patch: MonkeyPatch, owner: Any, name: str, *, after: bool, of: str = "") -> None:
    """Kill the worker the first time that `owner.name` is entered, or left, for a call of the tool `of`."""
    real, killed = getattr(owner, name), False

    def dying(*args: Any, **kwargs: Any) -> Any:
        nonlocal killed
        fits = not killed and (not of or of in map(_tool_of, args))
        if fits and not after:
            killed = True
            raise Killed(name)
        value = real(*args, **kwargs)
        if fits:
            killed = True
            raise Killed(name)
        return value

    patch.setattr(owner, name, dying)


def _tool_of(argument: Any) -> str:
    if isinstance(argument, runner.Prepared):
        return argument.tool.name
    return str(getattr(argument, "name", ""))


def killed_and_taken_over(run: Run) -> Run:
    """Work until the kill, then let the next server take the run over and end it."""
    with pytest.raises(Killed):
        work_once()
    known.memory._known.clear()  # what the dead process had in memory
    Run.objects.filter(pk=run.pk).update(lease_owner=dead_owner())
    ended = work_once()
    assert ended is not None
    return ended


def check(run: Run) -> None:
    """Hold the ended run against one that nobody killed."""
    assert (run.state, run.reason) == (Status.AWAITING_HUMAN, "The reviewer approved.")
    assert [event.seq for event in run.events.order_by("seq")] == list(range(1, run.last_seq + 1))
    for kind in (Kind.TOOL_CALL, Kind.TOOL_RESULT):
        ids = [event.call_id for event in run.events.filter(kind=kind).order_by("seq")]
        assert len(ids) == len(set(ids)) == 7, (kind, ids)
    assert kinds(run).count("model_response") == run.step == 6
    assert kinds(run).count("review") == run.reviews.count() == 1
    assert not run.calls.filter(state=CallState.INTENT).exists()
    assert (run.place.tree / "calc.py").read_text().count("a + b") == 1
    shown = [event.data["number"] for event in run.events.filter(kind=Kind.SNAPSHOT).order_by("seq")]
    assert shown == list(run.place.snapshots.order_by("number").values_list("number", flat=True))
    assert run.snapshot == shown[-1]
    assert run.lease_until is None


def ran(run: Run) -> str:
    path = run.place.tree / "ran.txt"
    return path.read_text() if path.exists() else ""


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize(
    ("owner", "name", "after"),
    [
        (journal, "begin", False),
        (journal, "begin", True),
        (runner, "execute", True),
        (loop, "_snapshot", True),
        (journal, "finish", False),
        (journal, "finish", True),
        (loop, "_finish", True),
    ],
    ids=["before-intent", "after-intent", "executed", "after-snapshot", "before-result", "in-result", "after-result"],
)
def test_a_kill_around_a_call(
    launch: Callable[..., Run], monkeypatch: MonkeyPatch, tool: str, owner: Any, name: str, after: bool
) -> None:
    if name == "_snapshot" and tool not in ("edit_file", "run_command"):
        pytest.skip("makes no snapshot")
    run = launch(SCRIPT)
    kill_at(monkeypatch, owner, name, after=after, of=tool)
    ended = killed_and_taken_over(run)
    check(ended)
    assert ran(ended).count("ran") <= 1


@pytest.mark.parametrize(
    ("owner", "name", "after"),
    [
        (loop, "_record", False),
        (loop, "_record", True),
        (files, "write_workspace_bytes", False),
        (files, "write_workspace_bytes", True),
        (store, "chain", False),
        (store, "chain", True),
        (team, "_review", False),
        (team, "_judge", False),
        (team, "_judge", True),
        (team, "_go_on", False),
        (team.conversation, "load", False),
        (team.prompting, "review_request", True),
        (Session, "move", False),
        (Session, "move", True),
        (team.snapshots, "prepare", False),
        (team.snapshots, "prepare", True),
    ],
)
def test_a_kill_elsewhere(
    launch: Callable[..., Run], monkeypatch: MonkeyPatch, owner: Any, name: str, after: bool
) -> None:
    run = launch(SCRIPT)
    kill_at(monkeypatch, owner, name, after=after)
    if (name, after) == ("_judge", True):
        with pytest.raises(Killed):
            work_once()
        run.refresh_from_db()
        check(run)
        return
    ended = killed_and_taken_over(run)
    check(ended)
    assert ran(ended) == "ran\n"
