"""Which snapshot wrote or removed each line of a file, and where a line went: pure comparisons of versions in a row."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import pairwise

LIMIT_LINES = 5000
LIMIT_VERSIONS = 40
LIMIT_COMPARISONS = 4_000_000
"""Lines times lines up to which the middle of two versions is compared; past it all of it counts as rewritten."""

Version = tuple[int, Sequence[str]]
"""A snapshot's number with the file's lines in it."""
Block = tuple[int, int, int, int]
"""Lines a1 to a2 of the old version were replaced by lines b1 to b2 of the new one (from 0, ends excluded)."""


@dataclass(frozen=True)
class Blame:
    """Who changed what, as numbers of snapshots.

    `written[line - 1]` is for the last version's lines (0: there from the start), `removed[line]` for lines of the
    first version that are gone.
    """

    written: tuple[int, ...] = ()
    removed: dict[int, int] = field(default_factory=dict)

    def writer(self, line: int | None) -> int:
        """Return the snapshot that wrote this line of the last version, 0 where it is unknown or was there."""
        return self.written[line - 1] if line and line <= len(self.written) else 0

    def remover(self, line: int | None) -> int:
        return self.removed.get(line or 0, 0)


def blame(versions: Sequence[Version]) -> Blame:
    """Compare each version with the one before it. Empty past the limits, where the answer would cost too much."""
    if not 2 <= len(versions) <= LIMIT_VERSIONS or any(len(lines) > LIMIT_LINES for _, lines in versions):
        return Blame()
    removed: dict[int, int] = {}
    # Each line as (its line in the first version or 0, the snapshot that wrote it or 0).
    origins = [(line, 0) for line in range(1, len(versions[0][1]) + 1)]
    for (_, before), (number, after) in pairwise(versions):
        shifted, at = [], 0
        for a1, a2, b1, b2 in changed_blocks(before, after):
            shifted += origins[at:a1] + [(0, number)] * (b2 - b1)
            removed |= {first: number for first, _ in origins[a1:a2] if first}
            at = a2
        origins = shifted + origins[at:]
    return Blame(tuple(number for _, number in origins), removed)


def follow(line: int, before: Sequence[str], after: Sequence[str]) -> int | None:
    """Return where a line of the old version is in the new one (numbered from 1); None if it was changed or removed."""
    moved = 0
    for a1, a2, b1, b2 in changed_blocks(before, after):
        if line - 1 < a1:
            break
        if line - 1 < a2:
            return None
        moved += (b2 - b1) - (a2 - a1)
    return line + moved if 1 <= line <= len(before) else None


def changed_blocks(before: Sequence[str], after: Sequence[str]) -> Iterator[Block]:
    """Yield what differs, in order. What both versions start and end with is left out before the costly comparison."""
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if not old and not new:
        return
    if not old or not new or len(old) * len(new) > LIMIT_COMPARISONS:
        yield start, start + len(old), start, start + len(new)
        return
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield start + a1, start + a2, start + b1, start + b2


def _common(before: Sequence[str], after: Sequence[str]) -> int:
    count = 0
    for old, new in zip(before, after, strict=False):
        if old != new:
            break
        count += 1
    return count
