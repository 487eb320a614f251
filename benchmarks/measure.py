"""Measures two ways to do one thing in turn, so that whatever else the machine does falls on both."""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

WARM_UP = 3
Step = Callable[[], object]


def _nothing() -> None:
    """Nothing has to be done before."""


@dataclass(frozen=True)
class Side:
    """One way: what is timed, and what must be done before each time without being timed."""

    run: Step
    before: Step = _nothing


@dataclass(frozen=True)
class Times:
    """Milliseconds of one side, sorted."""

    all: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.all)

    def percentile(self, percent: int) -> float:
        return self.all[min(len(self.all) - 1, round(percent / 100 * (len(self.all) - 1)))]


def interleaved(ours: Side, reference: Side, rounds: int) -> tuple[Times, Times]:
    """Run both sides in turn, the one first and the other first by turns, after a warm-up; return their times."""
    for _ in range(WARM_UP):
        for side in (ours, reference):
            _timed(side)
    times: tuple[list[float], list[float]] = ([], [])
    gc.collect()
    for number in range(rounds):
        sides = ((0, ours), (1, reference))
        for index, side in sides if number % 2 else reversed(sides):
            times[index].append(_timed(side))
    return Times(sorted(times[0])), Times(sorted(times[1]))


def _timed(side: Side) -> float:
    side.before()
    started = time.perf_counter()
    side.run()
    return (time.perf_counter() - started) * 1000
