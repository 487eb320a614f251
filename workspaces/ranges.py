"""Ranges of lines that were shown, with the hashes of what they hold: how they join, and move with an edit."""

import hashlib
import itertools
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from workspaces import lines
from workspaces.editing import Edit, Region, applied

MAX_RANGES = 500
"""So many are kept apart for one file."""
NAMED = 10
"""Ranges that a refusal names."""


def text_hash(text: str) -> str:
    """Return the hash of some lines: sha256 of them, ends included, as UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Range:
    """Lines that were shown, both ends included, and their hash. `cut`: not to their ends, since they are so long."""

    first: int
    last: int
    sha: str
    cut: bool = False

    def to_json(self) -> list[int | str]:
        return [self.first, self.last, self.sha, *(["cut"] if self.cut else [])]


@dataclass(frozen=True)
class Shown:
    """Lines of a file that a result shows, ends included. `cut`: the numbers of those not shown to their ends."""

    first: int
    last: int
    text: str
    cut: tuple[int, ...] = ()

    @property
    def view(self) -> str:
        return f"{self.first}-{self.last}"

    @cached_property
    def sha(self) -> str:
        return text_hash(self.text)


def of_lines(part: Shown) -> list[Range]:
    """Return the ranges of what was shown: long lines, which were cut, apart from the others."""
    if part.last < part.first:
        return []
    if not part.cut:
        return [Range(part.first, part.last, part.sha)]
    rows, cut = lines.split(part.text), frozenset(part.cut)
    ranges: list[Range] = []
    for is_cut, numbers in itertools.groupby(range(part.first, part.last + 1), key=lambda number: number in cut):
        first, *rest = numbers
        last = rest[-1] if rest else first
        text = "".join(rows[first - part.first : last - part.first + 1])
        ranges.append(Range(first, last, text_hash(text), is_cut))
    return ranges


def sections(ranges: Sequence[Range], text: str) -> Iterator[tuple[Range, str]]:
    """Yield each range, of some in order, with the lines that are there; the text is gone through once."""
    at, number = 0, 1
    for part in ranges:
        start = lines.start_of(text, part.first - number + 1, at)
        at, number = lines.start_of(text, part.last - part.first + 2, start), part.last + 1
        yield part, text[start:at]


def joined(old: Sequence[Range], new: Sequence[Range], whole: Callable[[], str | None]) -> tuple[Range, ...]:
    """Return the ranges of both, sorted and apart; what the new ones cover is taken out of the old.

    `whole` gives the text of the file, None where it is too large to load.
    """
    parts = list(old)
    for fresh in new:
        parts = [left for part in parts for left in _without(part, fresh, whole)]
    if len(parts) > MAX_RANGES:
        parts = sorted(parts, key=lambda part: part.last - part.first)[-MAX_RANGES:]
    return tuple(sorted([*parts, *new], key=lambda part: part.first))


def _without(part: Range, fresh: Range, whole: Callable[[], str | None]) -> Iterable[Range]:
    if part.last < fresh.first or part.first > fresh.last:
        return [part]
    around = [(a, b) for a, b in ((part.first, fresh.first - 1), (fresh.last + 1, part.last)) if a <= b]
    if not around or (text := whole()) is None:  # too large to load: what is left of the range has no hash
        return []
    return [Range(a, b, text_hash(lines.between(text, a, b)), part.cut) for a, b in around]


def covers(ranges: Sequence[Range], total: int) -> bool:
    """Return whether the ranges show every line, to its end."""
    following = 1
    for part in ranges:
        if part.first != following or part.cut:
            return False
        following = part.last + 1
    return following > total


def within(ranges: Sequence[Range], first: int, last: int) -> bool:
    """Return whether the ranges, neighbours taken together, hold all these lines."""
    for part in ranges:
        if part.first <= first <= part.last:
            first = part.last + 1
    return first > last


def moved(ranges: Sequence[Range], edit: Edit) -> tuple[Range, ...]:
    """Return the ranges where their lines are after the edit, with the hashes of what is there.

    Only those that the edit touches are hashed again. New lines that stand by themselves are a range of their own.
    """
    moves = list(_moves(edit))
    is_to_the_end = any(region.end == len(edit.before) for region in edit.regions[-1:])
    total = _total(edit) if is_to_the_end else sys.maxsize  # elsewhere no edit moves a line past the end
    at = [move.line for move in moves]
    by = list(itertools.accumulate((move.by for move in moves), initial=0))
    found: list[Range] = []
    previous = 0
    for part in ranges:
        start, end = bisect_left(at, part.first), bisect_right(at, part.last)
        first, last = part.first + by[start], min(part.last + by[end], total)
        is_torn = first <= previous or (start > 0 and moves[start - 1].last >= part.first)
        first = max(first, previous + 1)
        if first <= last:
            sha = part.sha if start == end and not is_torn else ""
            sha = sha or (not is_torn and _sha_now(part, edit, edit.regions[start:end])) or ""
            found.append(Range(first, last, sha or text_hash(lines.between(edit.text, first, last)), part.cut))
            previous = last
    for move, above in zip(moves, by, strict=False):
        first, last = move.line + above, move.line + above + move.new.count("\n") - 1
        if move.new and not within(found, first, last):
            found = list(joined(found, [Range(first, last, text_hash(move.new))], lambda: edit.text))
    return tuple(found)


def _sha_now(part: Range, edit: Edit, regions: Sequence[Region]) -> str:
    """Return the hash of what a range holds after these regions, which start in it; "" where its last line end goes."""
    start = lines.start_of(edit.before, part.first)
    end = lines.start_of(edit.before, part.last - part.first + 2, start)
    if regions[-1].end >= end or edit.before[end - 1] != "\n":
        return ""
    inside = [Region(region.start - start, region.end - start, region.text) for region in regions]
    return text_hash(applied(edit.before[start:end], inside))


@dataclass(frozen=True)
class _Move:
    """A region of an edit: the lines it starts and ends in, by how many those below move, its text if that is lines."""

    line: int
    last: int
    by: int
    new: str


def _moves(edit: Edit) -> Iterator[_Move]:
    for region, number in zip(edit.regions, edit.numbers, strict=True):
        at = region.start
        gone, come = edit.before.count("\n", at, region.end), region.text.count("\n")
        is_apart = (not at or edit.before[at - 1] == "\n") and region.text.endswith("\n")
        yield _Move(number, number + gone, come - gone, region.text if is_apart else "")


def _total(edit: Edit) -> int:
    """Return the number of lines of the edited text, without putting it together."""
    newlines = edit.before.count("\n")
    end = len(edit.before)
    for region in edit.regions:
        newlines += region.text.count("\n") - edit.before.count("\n", region.start, region.end)
    for region in reversed(edit.regions):
        if region.end < end:
            break
        if region.text:
            return newlines + (not region.text.endswith("\n"))
        end = region.start
    return newlines + (end > 0 and edit.before[end - 1] != "\n")


def listed(ranges: Sequence[Range]) -> str:
    """Return the ranges in words, the first ten of them: "1–20, 40–60"."""
    words = ", ".join(f"{part.first}–{part.last}" for part in ranges[:NAMED])
    return words + (", …" if len(ranges) > NAMED else "")
