"""What humans ask of runs, and who comes second."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from agents import control, lease
from agents.control import Refused
from agents.models import Kind, Run, Status
from tests.agents.test_team import SCRIPT
from tests.conftest import work_once

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_queued_run_is_paused_and_resumed_without_a_worker(launch: Callable[..., Run], teammate: User) -> None:
    run = launch(SCRIPT)
    control.pause(run, teammate)
    assert run.status == Status.PAUSED
    assert work_once() is None
    control.resume(run, teammate)
    assert run.status == Status.QUEUED


def test_a_run_that_nobody_holds_is_cancelled_at_once(launch: Callable[..., Run], teammate: User) -> None:
    run = launch(SCRIPT)
    control.cancel(run, teammate)
    assert (run.state, run.reason) == (Status.CANCELLED, "cancelled by teammate")
    assert run.finished_at is not None
    with pytest.raises(Refused, match="already"):
        control.cancel(run, teammate)


def test_a_held_run_is_cancelled_by_its_worker(launch: Callable[..., Run], teammate: User) -> None:
    run = launch(SCRIPT)
    held = lease.claim()
    assert held is not None
    run.refresh_from_db()
    control.cancel(run, teammate)
    run.refresh_from_db()
    assert run.state is Status.PREPARING
    assert run.controls.get().verb == "cancel"


def test_who_comes_second_is_told(launch: Callable[..., Run], teammate: User, owner: User) -> None:
    run = launch(SCRIPT)
    same = Run.objects.get(pk=run.pk)
    control.pause(run, teammate)
    with pytest.raises(Refused, match="Someone was faster"):
        control.pause(same, owner)


def test_an_ended_run_takes_no_message(launch: Callable[..., Run], teammate: User) -> None:
    run = launch(SCRIPT)
    control.cancel(run, teammate)
    with pytest.raises(Refused) as refusal:
        control.steer(run, teammate, "Hello?")
    assert refusal.value.code == "NOT_RUNNING"


def test_an_empty_message_is_refused(launch: Callable[..., Run], teammate: User) -> None:
    with pytest.raises(Refused) as refusal:
        control.steer(launch(SCRIPT), teammate, "  ")
    assert refusal.value.status == 422


def test_every_move_leaves_an_event(launch: Callable[..., Run], teammate: User) -> None:
    run = launch(SCRIPT)
    control.pause(run, teammate)
    control.resume(run, teammate)
    control.cancel(run, teammate)
    moves = [(event.data["from"], event.data["to"]) for event in run.events.filter(kind=Kind.STATUS).order_by("seq")]
    assert moves == [("", "queued"), ("queued", "paused"), ("paused", "queued"), ("queued", "cancelled")]
