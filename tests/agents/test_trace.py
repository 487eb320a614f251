"""What the strip reads of a run's events: little, once."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test.utils import CaptureQueriesContext

from agents import strip, trace
from agents.models import Event, Kind, Run
from agents.trace import Row
from tests.agents.transcripts import Writer, make_run, told_run

pytestmark = pytest.mark.django_db


def read(run: Run) -> list[Row]:
    run.refresh_from_db()
    return trace.rows(run)


def test_a_row_has_short_texts_only() -> None:
    run = make_run()
    Writer(run).call("c", "run_command", {"command": "echo  " + "x" * 1000}, "EXECUTE")
    (row,) = read(run)
    assert row.text("command") == "echo " + "x" * 75
    assert (row.text("tool"), row.text("effect"), row.text("file_path")) == ("run_command", "EXECUTE", "")


def test_what_was_read_is_not_read_again(django_assert_num_queries: Any) -> None:
    run = told_run()
    before = read(run)
    Writer(run).say("more")
    run.refresh_from_db()
    with django_assert_num_queries(1) as asked:
        after = trace.rows(run)
    assert after[:-1] == before
    assert after[-1].kind == Kind.MODEL_RESPONSE
    assert _numbers_past(asked, before[-1].seq)
    with django_assert_num_queries(0):
        assert trace.rows(run) == after


def _numbers_past(asked: CaptureQueriesContext, seq: int) -> bool:
    return f'"seq" > {seq}' in asked.captured_queries[0]["sql"]


def test_two_runs_are_kept_apart() -> None:
    first, second = make_run(), make_run()
    Writer(first).say("one")
    assert len(read(first)) == 1
    assert read(second) == []


def test_only_the_last_calls_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "CALLS", 3)
    run = make_run()
    writer = Writer(run)
    for number in range(5):
        writer.say("more")
        writer.call(f"c{number}", "read_file", {})
        writer.result(f"c{number}", "read_file", "")
    kept = read(run)
    assert [row.call_id for row in kept if row.kind == Kind.TOOL_CALL] == ["c2", "c3", "c4"]
    assert kept[0].call_id == "c2"


def test_a_hole_between_two_looks_drops_what_was_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "ROWS", 4)
    run = make_run()
    writer = Writer(run)
    writer.say("old")
    read(run)
    for _ in range(6):
        writer.say("new")
    assert [row.seq for row in read(run)] == [4, 5, 6, 7]


def test_a_whole_transcript_is_drawn() -> None:
    run = told_run()
    drawn = strip.of(run)
    assert len(drawn.bands) == 2
    assert {"read", "denied", "failed", "write", "human", "snap", "running"} <= {mark.look for mark in drawn.marks}


def test_a_strip_is_drawn_again_only_when_a_fact_or_its_end_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    run = told_run()
    nine = datetime(2100, 1, 1, 9, 0, 0, tzinfo=UTC)
    at = [nine + timedelta(seconds=second) for second in (0, 4.9, 5)]
    moments = iter([*at, at[-1]])
    monkeypatch.setattr("agents.strip.timezone.now", lambda: next(moments))
    first, same, later = strip.of(run), strip.of(run), strip.of(run)
    assert first is same
    assert later is not same
    Event.objects.create(run=run, seq=run.last_seq + 1, at=nine, kind=Kind.SNAPSHOT, data={"number": 3})
    run.last_seq += 1
    assert strip.of(run) is not later
