"""The table of transitions holds in the model, for every pair of statuses."""

from collections.abc import Callable

import pytest
from django.db import IntegrityError, transaction

from agents.models import Run, Status
from agents.models.run import FINAL, TRANSITIONS
from tests.agents.test_team import SCRIPT

pytestmark = pytest.mark.django_db(transaction=True)


def test_every_move_outside_the_table_is_refused_and_every_one_inside_is_made(launch: Callable[..., Run]) -> None:
    run = launch(SCRIPT)
    for start in Status:
        for to in Status:
            Run.objects.filter(pk=run.pk).update(status=start)
            run.refresh_from_db()
            assert run.move(to) == (to in TRANSITIONS[start]), (start, to)


def test_an_ended_run_goes_nowhere() -> None:
    assert all(not TRANSITIONS[status] for status in FINAL)


def test_of_two_movers_one_wins(launch: Callable[..., Run]) -> None:
    run = launch(SCRIPT)
    same = Run.objects.get(pk=run.pk)
    assert run.move(Status.PAUSED)
    assert not same.move(Status.CANCELLED)


def test_the_database_itself_knows_the_statuses(launch: Callable[..., Run]) -> None:
    run = launch(SCRIPT)
    with pytest.raises(IntegrityError), transaction.atomic():
        Run.objects.filter(pk=run.pk).update(status="asleep")


def test_no_two_events_share_a_number(launch: Callable[..., Run]) -> None:
    run = launch(SCRIPT)
    event = run.events.get(seq=1)
    event.pk = None
    with pytest.raises(IntegrityError), transaction.atomic():
        event.save(force_insert=True)
