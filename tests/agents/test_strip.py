"""The time strip: what is drawn of a list of facts."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.template.loader import render_to_string

from agents import strip
from agents.models import Kind, Status
from agents.strip import Mark, Strip
from agents.trace import Row

START = datetime(2025, 3, 1, 9, 0, tzinfo=UTC)


class Told:
    """Facts put down one after the other, as a run leaves them."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.at, self.round, self.step, self.agent = 0.0, 1, 0, "implementer"

    def put(self, kind: Kind, call_id: str = "", **data: Any) -> "Told":
        at = START + timedelta(seconds=self.at)
        number = len(self.rows) + 1
        self.rows.append(Row(number, at, kind, self.agent, self.round, self.step, call_id, data))
        return self

    def wait(self, seconds: float) -> "Told":
        self.at += seconds
        return self

    def think(self, seconds: float = 5) -> "Told":
        self.step += 1
        return self.wait(seconds).put(Kind.MODEL_RESPONSE, duration_ms=int(seconds * 1000))

    def call(self, tool: str = "read_file", effect: str = "READ", seconds: float = 1, **result: Any) -> "Told":
        call_id = f"call-{len(self.rows)}"
        self.put(Kind.TOOL_CALL, call_id, tool=tool, effect=effect, file_path="a.py")
        return self.wait(seconds).put(Kind.TOOL_RESULT, call_id, duration_ms=int(seconds * 1000), **result)

    def draw(self, status: Status = Status.AWAITING_HUMAN, later: float = 0) -> Strip:
        now = START + timedelta(seconds=self.at + later)
        return strip.draw(self.rows, status, now if status.is_working else None)


@pytest.fixture
def told() -> Told:
    told = Told()
    told.put(Kind.STATUS, **{"from": "", "to": "queued", "by": "ann"})
    return told.put(Kind.MESSAGE, author="ann")


def calls(drawn: Strip) -> list[Mark]:
    return [mark for mark in drawn.marks if mark.is_call]


def people(drawn: Strip) -> list[str]:
    return [mark.label for mark in drawn.marks if mark.look == "human"]


# --- when there is something ---------------------------------------------------------------------------


def test_nothing_is_shown_of_a_run_that_only_waits(told: Told) -> None:
    assert not told.draw(Status.QUEUED)
    assert not strip.draw([], Status.QUEUED, None)


def test_a_hidden_strip_keeps_its_place_on_the_page(told: Told) -> None:
    html = render_to_string("agents/panels/_strip.html", {"strip": told.draw(Status.QUEUED)})
    assert 'id="panel-strip"' in html
    assert " hidden>" in html
    assert "<svg" not in html


# --- calls -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("effect", "result", "look", "ends"),
    [
        ("READ", {}, "read", "read a.py"),
        ("WRITE", {}, "write", "read a.py"),
        ("NETWORK", {}, "execute", "read a.py"),
        ("FINISH", {}, "finish", "read a.py"),
        ("EXECUTE", {"exit_code": 2}, "failed", "read a.py, exit 2"),
        ("READ", {"is_error": True, "code": "NOT_FOUND"}, "failed", "read file a.py, NOT_FOUND"),
        ("WRITE", {"is_error": True, "code": "PROTECTED_PATH"}, "denied", "read file a.py, denied"),
    ],
)
def test_a_call_looks_as_it_went(told: Told, effect: str, result: dict[str, Any], look: str, ends: str) -> None:
    (mark,) = calls(told.think().call(effect=effect, **result).draw())
    assert mark.look == look
    assert mark.label == f"Step 1: {ends}"
    assert mark.target == "step-1"


def test_a_call_is_as_wide_as_it_took(told: Told) -> None:
    told.think(10).call("run_command", "EXECUTE", 30).think(60)
    (mark,) = calls(told.draw())
    assert mark.x == pytest.approx(10)
    assert mark.width == pytest.approx(30)


def test_a_running_call_reaches_up_to_now(told: Told) -> None:
    told.think(10).put(Kind.TOOL_CALL, "c", tool="run_command", effect="EXECUTE", command="pytest -q")
    drawn = told.draw(Status.IMPLEMENTING, later=30)
    (mark,) = calls(drawn)
    assert (mark.look, mark.label) == ("running", "Step 1: running pytest -q")
    assert mark.end == pytest.approx(100)
    assert drawn.here == 100


def test_a_call_without_a_result_in_a_run_that_ended_has_failed(told: Told) -> None:
    told.think().put(Kind.TOOL_CALL, "c", tool="run_command", effect="EXECUTE").wait(5)
    (mark,) = calls(told.put(Kind.STATUS, to="failed").draw(Status.FAILED))
    assert (mark.look, mark.label) == ("failed", "Step 1: run command, no result")


def test_neighbouring_reads_of_a_step_are_one_mark(told: Told) -> None:
    told.think(30).call().call().call().think(30).call()
    assert [(mark.label, mark.count) for mark in calls(told.draw())] == [
        ("Step 1: 3 reads", 3),
        ("Step 2: read a.py", 1),
    ]


def test_a_write_between_reads_keeps_them_apart(told: Told) -> None:
    told.think(30).call().call("edit_file", "WRITE").call()
    assert [mark.look for mark in calls(told.draw())] == ["read", "write", "read"]


def test_marks_of_a_lane_do_not_cover_each_other_while_there_is_room(told: Told) -> None:
    told.think(1000).call(effect="READ").call(effect="WRITE").call(effect="EXECUTE").think(1000)
    marks = calls(told.draw())
    assert all(first.end <= second.x for first, second in pairwise(marks))


def test_many_calls_become_a_bounded_number_of_marks(told: Told) -> None:
    for number in range(400):
        told.think(1).call(effect=("READ", "EXECUTE")[number % 2], seconds=0.1)
    drawn = told.draw()
    assert sum(mark.count for mark in calls(drawn)) == 400
    assert all(mark.x >= 0 and mark.end <= 100.01 for mark in drawn.marks)


def test_hidden_characters_in_a_name_are_spelled_out(told: Told) -> None:
    told.think().put(Kind.TOOL_CALL, "c", tool="read_file", effect="READ", file_path="a\u202eb.py")
    assert "a‹U+202E›b.py" in calls(told.draw(Status.IMPLEMENTING))[0].label


def test_names_are_escaped(told: Told) -> None:
    told.think().put(Kind.TOOL_CALL, "c", tool="run_command", effect="EXECUTE", command='"><script>')
    html = render_to_string("agents/panels/_strip.html", {"strip": told.draw(Status.IMPLEMENTING)})
    assert "<script>" not in html
    assert "style=" not in html


# --- thoughts, snapshots, people -------------------------------------------------------------------------


def test_a_model_thinks_before_it_answers_in_its_own_lane(told: Told) -> None:
    told.think(20)
    told.agent = "reviewer"
    told.think(30)
    first, second = told.draw().bars
    assert (first.x, first.width, first.y) == pytest.approx((0, 40, 48.5))
    assert (second.x, second.width, second.y) == pytest.approx((40, 60, 68.5))


def test_a_model_that_has_not_answered_yet_thinks_up_to_now(told: Told) -> None:
    told.think(10).call(seconds=10)
    bar = told.draw(Status.REVIEWING, later=20).bars[-1]
    assert (bar.x, bar.width, bar.y) == pytest.approx((50, 50, 68.5))


def test_snapshots_stand_at_their_step_but_the_baseline_does_not(told: Told) -> None:
    told.put(Kind.SNAPSHOT, number=0).think(50).put(Kind.SNAPSHOT, number=1).think(50).put(Kind.SNAPSHOT, number=2)
    marks = [mark for mark in told.draw().marks if mark.look == "snap"]
    assert [(mark.label, mark.target, round(mark.x)) for mark in marks] == [
        ("Snapshot 1, step 1", "step-1", 50),
        ("Snapshot 2, step 2", "step-2", 100),
    ]


def test_what_people_did_is_told_once(told: Told) -> None:
    told.think(50).put(Kind.CONTROL, verb="steer", by="ben").wait(20).put(Kind.MESSAGE, author="ben", control=7)
    told.think(50).put(Kind.REVIEW, by_human=True, author="ann", verdict="approve")
    assert people(told.draw()) == ["ann launched the task", "ben left a message", "ann reviewed: approve"]


def test_deeds_at_one_moment_are_one_mark(told: Told) -> None:
    told.think(50)
    for path in "abcde":
        told.put(Kind.COMMENT, author="ben", path=path)
    assert people(told.draw())[1] == "ben commented on a; ben commented on b; ben commented on c; …"


def test_marks_are_in_the_order_of_time_across_lanes(told: Told) -> None:
    told.think(50).call(seconds=10).put(Kind.SNAPSHOT, number=1).think(50).put(Kind.CONTROL, verb="pause", by="ben")
    marks = told.draw().marks
    assert [mark.look for mark in marks] == ["human", "read", "snap", "human"]


# --- rounds, idle time, cuts -----------------------------------------------------------------------------


def test_facts_before_any_round_draw_no_band(told: Told) -> None:
    told.rows.clear()
    told.round = 0
    assert told.call().draw().bands == []


def test_each_round_has_a_band(told: Told) -> None:
    told.think(60)
    told.round = 2
    told.put(Kind.STATUS, to="implementing").think(40)
    first, second = told.draw().bands
    assert (first.name and first.name.text, second.name and second.name.text) == ("Round 1", "Round 2")
    assert first.x + first.width < second.x == pytest.approx(60.15)


def test_the_night_before_a_human_answers_is_pressed(told: Told) -> None:
    told.think(60).put(Kind.STATUS, to="awaiting_human").wait(9 * 3600)
    told.put(Kind.STATUS, **{"from": "awaiting_human", "to": "queued", "by": "ann", "reason": "resumed by ann"})
    (gap,) = told.think(60).draw().gaps
    assert (gap.label, gap.text) == ("Idle for 9 h", "9 h")
    assert gap.width < 4


def test_no_time_is_written_over_a_wait(told: Told) -> None:
    told.think(60).wait(9 * 3600).think(60)
    drawn = told.draw()
    assert all(abs(tick.x + 1 - drawn.gaps[0].middle) > strip.TEXT_APART for tick in drawn.ticks)


def test_a_cut_strip_says_from_which_step_it_goes(told: Told) -> None:
    told.think().call().think().call()
    drawn = strip.draw(told.rows[6:], Status.AWAITING_HUMAN, None)
    assert drawn.cut_before == 2
    assert all(tick.text.startswith("+") for tick in drawn.ticks)
    assert not told.draw().cut_before


def test_the_name_of_the_strip_sums_it_up(told: Told) -> None:
    assert told.think(90).call(seconds=30).draw().label == "Time strip: 02:00 of work, 1 round, 1 step"
