"""Events: numbered without gaps, safe for every database, long texts in files."""

import threading
from collections.abc import Callable

import pytest
from django.db import connection
from pytest_django import DjangoAssertNumQueries

from agents import events
from agents.events import Fact
from agents.models import Event, Kind, Run
from tests.agents.test_team import SCRIPT

pytestmark = pytest.mark.django_db(transaction=True)


def note(text: str) -> Fact:
    return Fact(Kind.NOTE, {"text": text, "to": "human"})


def test_numbers_have_no_gap_when_many_threads_write(launch: Callable[..., Run]) -> None:
    run = launch(SCRIPT)

    def write() -> None:
        for index in range(25):
            events.append(run.pk, note(str(index)))
        connection.close()

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    run.refresh_from_db()
    assert list(Event.objects.filter(run=run).order_by("seq").values_list("seq", flat=True)) == list(
        range(1, run.last_seq + 1)
    )
    assert run.last_seq == 102


def test_an_append_is_two_statements_in_one_transaction(
    launch: Callable[..., Run], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    run = launch(SCRIPT)
    with django_assert_num_queries(4):  # BEGIN, UPDATE … RETURNING, INSERT, COMMIT
        events.append(run.pk, note("a"), note("b"), note("c"))


def test_text_that_no_database_takes_is_escaped(launch: Callable[..., Run]) -> None:
    run = launch(SCRIPT)
    events.append(run.pk, note("nul \x00 lone \ud800 byte \udcff"))
    event = Event.objects.filter(run=run).latest("seq")
    assert event.data["text"] == "nul \\x00 lone \\ud800 byte \\xff"


def test_a_long_text_goes_to_a_file_and_comes_back_whole(launch: Callable[..., Run]) -> None:
    run = launch(SCRIPT)
    long = "".join(f"line {number}\n" for number in range(20_000))
    events.append(run.pk, note(long))
    event = Event.objects.filter(run=run).latest("seq")
    assert event.data["text"]["size"] == len(long)
    assert events.whole(run.pk, event.data)["text"] == long
    assert "characters left out" in events.shown(event.data["text"])


def test_pages_of_events_are_bounded(launch: Callable[..., Run]) -> None:
    run = launch(SCRIPT)
    events.append(run.pk, *(note(str(number)) for number in range(600)))
    assert len(events.after(run.pk, 0, limit=10_000)) == events.PAGE
