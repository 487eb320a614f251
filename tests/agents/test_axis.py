"""The time axis: even while somebody works, pressed while nobody does."""

import pytest

from agents.axis import IDLE_S, Axis


def test_work_is_even() -> None:
    axis = Axis(0, 100, [(0, 100)])
    assert [axis.percent(moment) for moment in (0, 25, 50, 100)] == [0, 25, 50, 100]
    assert axis.gaps == []


def test_a_moment_outside_stays_on_the_edge() -> None:
    axis = Axis(0, 100, [(0, 100)])
    assert axis.percent(-5) == 0
    assert axis.percent(200) == 100


def test_a_night_of_waiting_leaves_the_work_its_width() -> None:
    axis = Axis(0, 36_200, [(0, 100), (36_100, 36_200)])
    assert axis.gaps == [(100, 36_100)]
    assert axis.worked == 200
    assert axis.percent(100) > 48
    assert 2 < axis.percent(36_100) - axis.percent(100) < 4


def test_many_gaps_take_no_more_than_a_sixth_together() -> None:
    busy = [(k * 1000.0, k * 1000.0 + 10) for k in range(50)]
    axis = Axis(0, 49_010, busy)
    assert len(axis.gaps) == 49
    assert sum(axis.percent(end) - axis.percent(start) for start, end in axis.gaps) == pytest.approx(100 / 6, abs=0.1)


def test_a_short_break_keeps_its_length() -> None:
    assert Axis(0, 100, [(0, 50), (50 + IDLE_S, 100)]).gaps == []
    assert Axis(0, 3600, [(0, 1800), (1860, 3600)]).gaps == []  # a minute in an hour


def test_overlapping_work_is_counted_once() -> None:
    assert Axis(0, 100, [(0, 60), (10, 20), (40, 100)]).worked == 100


def test_a_moment_without_length_is_drawn() -> None:
    axis = Axis(5, 5, [])
    assert axis.percent(5) == 0
    assert axis.ticks() == [(0, 0), (1, 100)]


def test_ticks_count_work_and_not_the_wait() -> None:
    axis = Axis(0, 10_000, [(0, 60), (9_940, 10_000)])
    ticks = axis.ticks()
    assert [worked for worked, _ in ticks] == [0, 30, 60, 90, 120]
    assert ticks[2][1] >= axis.percent(9_940)
    assert ticks[3][1] == pytest.approx(axis.percent(9_970))


@pytest.mark.parametrize("length", [0.5, 7, 61, 599, 3_601, 86_400, 10_000_000])
def test_there_are_few_ticks_for_any_length(length: float) -> None:
    assert 1 <= len(Axis(0, length, [(0, length)]).ticks()) <= 7
