"""The time axis of a strip: seconds to per cent of the width, with long idle time pressed into narrow gaps."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

IDLE_S = 30.0
"""Idle seconds that are shown at their length."""
GAP_PART, GAPS_PART = 0.03, 0.2
"""Parts of the worked time that one gap, and all of them together, are as wide as."""
TICKS = 6
STEPS_S = (1, 2, 5, 10, 15, 30, *(60 * m for m in (1, 2, 5, 10, 15, 30)), *(3600 * h for h in (1, 2, 4, 8, 24, 72)))

Span = tuple[float, float]


@dataclass(frozen=True)
class _Piece:
    """A stretch of time and where it begins on the axis; both go on at one pace."""

    start: float
    end: float
    at: float
    width: float
    worked: float

    @property
    def is_gap(self) -> bool:
        return self.width < self.end - self.start


class Axis:
    """Maps from `start` to `end`; `busy` are the spans in which something was done."""

    def __init__(self, start: float, end: float, busy: Iterable[Span]) -> None:
        self.start, self.end = start, max(end, start + 1.0)
        idle = _idle(start, self.end, busy)
        worked = self.end - start - sum(end - start for start, end in idle)
        width = max(worked, 1.0) * min(GAP_PART, GAPS_PART / max(1, len(idle)))
        self._pieces = _pieces(start, self.end, [gap for gap in idle if gap[1] - gap[0] > width], width)
        self._starts = [piece.start for piece in self._pieces]
        last = self._pieces[-1]
        self._length = last.at + last.width
        self.worked = last.worked + (0.0 if last.is_gap else last.width)

    @property
    def gaps(self) -> list[Span]:
        """The idle spans that are pressed."""
        return [(piece.start, piece.end) for piece in self._pieces if piece.is_gap]

    def percent(self, moment: float) -> float:
        """Return where a moment is, from 0 to 100."""
        piece = self._pieces[max(0, bisect_right(self._starts, moment) - 1)]
        part = (moment - piece.start) / (piece.end - piece.start)
        return min(100.0, max(0.0, 100 * (piece.at + part * piece.width) / self._length))

    def ticks(self) -> list[tuple[float, float]]:
        """Return at most seven round times of work with their places."""
        step = next((step for step in STEPS_S if self.worked / step <= TICKS), STEPS_S[-1])
        count = min(int(self.worked / step), TICKS)
        return [(k * step, self._place_of_work(k * step)) for k in range(count + 1)]

    def _place_of_work(self, worked: float) -> float:
        piece = next(
            (piece for piece in self._pieces if not piece.is_gap and worked < piece.worked + piece.width),
            self._pieces[-1],
        )
        return self.percent(piece.start + worked - piece.worked)


def _idle(start: float, end: float, busy: Iterable[Span]) -> list[Span]:
    found, reached = [], start
    for begin, until in sorted(busy):
        if begin - reached > IDLE_S:
            found.append((reached, min(begin, end)))
        reached = max(reached, until)
    if end - reached > IDLE_S:
        found.append((reached, end))
    return found


def _pieces(start: float, end: float, gaps: list[Span], width: float) -> list[_Piece]:
    found, reached, at, worked = [], start, 0.0, 0.0
    for begin, until in [*gaps, (end, end)]:
        if begin > reached:
            length = begin - reached
            found.append(_Piece(reached, begin, at, length, worked))
            at, worked = at + length, worked + length
        if until > begin:
            found.append(_Piece(begin, until, at, width, worked))
            at += width
        reached = until
    return found
