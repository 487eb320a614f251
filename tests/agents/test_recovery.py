"""A server killed at any point of a call: nothing is lost, nothing happens twice, and the run ends as it would have."""

import errno
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents import control, conversation, journal, loop, prompting, reverts, review, team
from agents.models import CallState, Kind, Run, Status
from agents.session import Session
from agents.tools import runner
from tests.agents.test_lease import dead_owner
from tests.agents.test_team import EDIT, FINISH, READ, kinds, say
from tests.agents.test_team import review as verdict
from tests.conftest import work_once
from workspaces import files, known, objects, snapshots, store
from workspaces.git import GitError

pytestmark = pytest.mark.django_db(transaction=True)

RUN = {"name": "run_command", "input": {"command": "echo ran >> ran.txt"}}
LIST = {"name": "list_directory", "input": {"path": "."}}
SCRIPT = {
    "implementer": [say(READ, LIST), say(EDIT), say(RUN), say(FINISH)],
    "reviewer": [say(READ), verdict("approve")],
}
CALLS = ("read_file", "edit_file", "run_command", "finish_task", "submit_review")


class Killed(BaseException):
    """Stands for kill -9: nothing below the test catches it."""


def kill_at(patch: pytest.MonkeyPatch, owner: Any, name: str, *, after: bool, of: str = "") -> None:
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
        (loop, "_snapshots", True),
        (journal, "finish", False),
        (loop, "_finish", True),
    ],
    ids=["before-intent", "after-intent", "executed", "after-snapshot", "before-result", "after-result"],
)
def test_a_run_killed_around_a_call_ends_as_if_it_had_not_been(
    launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, tool: str, owner: Any, name: str, after: bool
) -> None:
    if name == "_snapshots" and tool not in ("edit_file", "run_command"):
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
        (store, "move_ref", False),
        (store, "move_ref", True),
        (team, "_review", False),
        (team, "_judge", False),
        (team, "_judge", True),
        (team, "_go_on", False),
        (conversation, "load", False),
        (prompting, "review_request", True),
        (Session, "move", False),
        (Session, "move", True),
        (snapshots, "prepare", False),
        (snapshots, "prepare", True),
    ],
)
def test_a_run_killed_between_calls_ends_as_if_it_had_not_been(
    launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, after: bool
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


# --- what a human said meanwhile -------------------------------------------------------------------


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_revert_holds_when_the_next_worker_dies_putting_the_tree_in_line(
    launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, owner: User, after: bool
) -> None:
    launch({**SCRIPT, "implementer": [*SCRIPT["implementer"], say(RUN), say(FINISH)]})
    run = work_once()
    assert run is not None
    reverts.revert(run, owner, "calc.py")
    review.decide(run, owner, "request_changes", "Run it once more.")
    kill_at(monkeypatch, snapshots, "align", after=after)
    ended = killed_and_taken_over(run)
    assert "a - b" in (ended.place.tree / "calc.py").read_text()
    assert b"a - b" in snapshots.read(ended.place, "calc.py").data
    assert ran(ended) == "ran\nran\n"


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_message_is_read_once(
    launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, owner: User, after: bool
) -> None:
    run = launch(SCRIPT)
    control.steer(run, owner, "Mind the sign.")
    kill_at(monkeypatch, Session, "take_messages", after=after)
    ended = killed_and_taken_over(run)
    said = [event.data["text"] for event in ended.events.filter(kind=Kind.MESSAGE)]
    assert said == ["add subtracts. Mend it.", "Mind the sign."]
    check(ended)


# --- a full disk -----------------------------------------------------------------------------------


def full(*args: Any, **kwargs: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def full_for_git(*args: Any, **kwargs: Any) -> Any:
    raise GitError("git write-tree failed", stderr="fatal: unable to write new index file: No space left on device")


@pytest.mark.parametrize(
    ("owner", "name", "fault"),
    [
        (objects.Objects, "flush", full),
        (store, "move_ref", full_for_git),
        (journal, "finish", full),
    ],
)
def test_a_full_disk_pauses_the_run_and_nothing_is_lost(
    launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, fault: Callable[..., Any]
) -> None:
    run = launch(SCRIPT)
    real = getattr(owner, name)

    def until_the_edit(*args: Any, **kwargs: Any) -> Any:
        edited = run.calls.filter(tool="edit_file", state=CallState.INTENT).exclude(writes={}).exists()
        return (fault if edited else real)(*args, **kwargs)

    monkeypatch.setattr(owner, name, until_the_edit)
    paused = work_once()
    assert paused is not None
    assert (paused.state, "disk is full" in paused.reason) == (Status.PAUSED, True), paused.reason
    monkeypatch.setattr(owner, name, real)
    control.resume(paused, None)
    ended = work_once()
    assert ended is not None
    check(ended)


def test_a_file_that_finds_no_room_is_told_to_the_model(
    launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = launch(SCRIPT)
    monkeypatch.setattr(files, "write_workspace_bytes", full)
    work_once()
    result = run.events.get(kind=Kind.TOOL_RESULT, data__tool="edit_file")
    assert result.data["code"] == "DISK_FULL"
