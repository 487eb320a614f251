"""What an edit changed, as the rows of a diff for eyes: bounded, with true counts."""

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from workspaces import lines
from workspaces.editing import Edit, Region, applied

CONTEXT = 3
ROWS = 400
_DIFF_CELLS = 1_000_000
"""Lines before times lines after, up to which difflib looks for what stayed; its time grows with the product."""

Row = list[str | int | None]
"""[kind " ", "+" or "-", line number before, line number after, text]"""


@dataclass(frozen=True)
class Change:
    """The rows, with three lines around each change; `cut` says that there are more of them.

    `first` and `last` are the lines, as the text is now, from the first to the last change; 0 in an empty text.
    """

    rows: list[Row]
    additions: int
    deletions: int
    cut: bool
    first: int
    last: int


def change(edit: Edit, limit: int = ROWS) -> Change:
    """Return what an edit did."""
    return change_of(blocks(edit), limit)


def change_of(blocks: Iterable["Block"], limit: int = ROWS) -> Change:
    """Return what an edit did that touches these blocks of lines."""
    rows: list[Row] = []
    counts = {" ": 0, "+": 0, "-": 0}
    first = last = here = 0
    for block in blocks:
        here = max(here, block.new_line - 1)
        for run in _runs(block):
            counts[run.kind] += len(run.texts)
            begins = here + 1 if run.kind == "-" else run.after
            here = here if run.kind == "-" else run.after + len(run.texts) - 1
            if run.kind != " ":
                first, last = first or begins, max(last, begins, here)
            rows += run.rows(limit - len(rows))
    if counts["-"] and last > here:  # what was deleted last had nothing below it
        first, last = min(first, here), here
    return Change(rows, counts["+"], counts["-"], sum(counts.values()) > limit, first, last)


@dataclass(frozen=True)
class Block:
    """Whole lines around one or more near regions, before and after."""

    old_line: int
    new_line: int
    old: str
    new: str


def blocks(edit: Edit) -> Iterator[Block]:
    """Yield the stretches of lines that an edit touches, with three lines around each."""
    text, drift, done = edit.before, 0, 0
    for start, end, regions in _grouped(edit):
        line = edit.numbers[done] - text.count("\n", start, regions[0].start)
        done += len(regions)
        old = text[start:end]
        new = applied(old, [Region(r.start - start, r.end - start, r.text) for r in regions])
        yield Block(line, line + drift, old, new)
        drift += new.count("\n") - old.count("\n")


def _grouped(edit: Edit) -> Iterator[tuple[int, int, list[Region]]]:
    """Yield (start, end, regions) of stretches that lie apart even with the lines around them."""
    group: list[Region] = []
    start = end = 0
    for region in edit.regions:
        above = _lines_before(edit.before, region.start)
        if group and above >= end:
            yield start, end, group
            group = []
        start = start if group else above
        end = _lines_after(edit.before, region.end)
        group.append(region)
    if group:
        yield start, end, group


def _lines_before(text: str, offset: int) -> int:
    for _ in range(CONTEXT + 1):
        offset = text.rfind("\n", 0, offset)
        if offset < 0:
            return 0
    return offset + 1


def _lines_after(text: str, offset: int) -> int:
    if offset and text[offset - 1] == "\n":
        offset -= 1
    for _ in range(CONTEXT + 1):
        offset = text.find("\n", offset) + 1
        if not offset:
            return len(text)
    return offset


class _Run(NamedTuple):
    """Lines of one kind in a row, and the numbers that the first of them has, or would have, before and after."""

    kind: str
    before: int
    after: int
    texts: list[str]

    def rows(self, room: int) -> list[Row]:
        """Return the first of them as rows."""
        old, new = self.kind != "+", self.kind != "-"
        return [
            [self.kind, self.before + i if old else None, self.after + i if new else None, _shown(text)]
            for i, text in enumerate(self.texts[: max(0, room)])
        ]


def _runs(block: Block) -> Iterator[_Run]:
    old, new = lines.split(block.old), lines.split(block.new)
    for tag, a, b, c, d in _steps(old, new):
        before, after = block.old_line + a, block.new_line + c
        if tag == "equal":
            yield _Run(" ", before, after, new[c:d])
            continue
        if b > a:
            yield _Run("-", before, after, old[a:b])
        if d > c:
            yield _Run("+", before, after, new[c:d])


def _shown(line: str) -> str:
    return lines.clipped(line.removesuffix("\n").removesuffix("\r"), 2000)


def _steps(old: list[str], new: list[str]) -> list[tuple[str, int, int, int, int]]:
    """Return difflib's steps; a change too large for it is one replacement."""
    if len(old) * len(new) > _DIFF_CELLS or not old:
        return [("replace", 0, len(old), 0, len(new))]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [(str(step[0]), *step[1:]) for group in matcher.get_grouped_opcodes(CONTEXT) for step in group]
