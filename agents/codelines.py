"""Lines of code in a card: numbered regions of a file with its colours, and diffs; each bounded."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from django.utils.safestring import SafeString

from agents import told
from agents.templatetags import prose
from workspaces import editing, highlight, linediff

DIFF_LINES = 400
LINE_CHARS = 1000


class Line(NamedTuple):
    """A line as HTML. `kind`: "" or " " as it is, "+" and "-" of a diff, "…" a gap or a remark between lines."""

    kind: str
    number: int | None
    html: SafeString


class Diff(NamedTuple):
    lines: list[Line]
    is_cut: bool


# --- numbered regions ----------------------------------------------------------------------------

_NUMBERED = re.compile(r" *(\d{1,9})\t(.*)")
_LEFT_OUT = re.compile(r"… [\d,]+ characters left out …")


def numbered(content: str, path: str) -> list[Line]:
    """Return the lines as read_file tells them, "   12<TAB>text", in the colours of the file's language.

    What has no number is a remark; what was cut through in the middle is left out. None where nothing is numbered.
    """
    rows = _whole(content.split("\n"))
    if not any(isinstance(row, tuple) for row in rows):
        return []
    return [line for is_code, run in groupby(rows, _is_code) for line in _run(is_code, list(run), path)]


def _is_code(row: str | tuple[int, str]) -> bool:
    return isinstance(row, tuple)


def _whole(rows: list[str]) -> list[str | tuple[int, str]]:
    gaps = [index for index, row in enumerate(rows) if _LEFT_OUT.fullmatch(row)]
    torn = {index + beside for index in gaps for beside in (-1, 1)}
    return [_row(row) for index, row in enumerate(rows) if index not in torn and (row or index < len(rows) - 1)]


def _row(row: str) -> str | tuple[int, str]:
    found = _NUMBERED.fullmatch(row)
    return (int(found[1]), found[2]) if found else row


def _run(is_code: bool, rows: list[Any], path: str) -> Iterator[Line]:
    if not is_code:
        yield from (Line("…", None, prose.visible(row)) for row in rows)
        return
    coloured = highlight.lines(path, "\n".join(text for _, text in rows))
    for (number, _), html in zip(rows, coloured, strict=True):
        yield Line("", number, highlight.visible(html))


def plain(text: str, path: str) -> list[Line]:
    """Return a text's lines without numbers, in the colours of the language that the name has."""
    return [Line("", None, highlight.visible(html)) for html in highlight.lines(path, text)]


# --- diffs ---------------------------------------------------------------------------------------


def diff(rows: Iterable[Any], chars: int) -> Diff:
    """Return rows [kind, line before, line after, text] with a gap where lines between are not shown."""
    lines: list[Line] = []
    ends = (0, 0)
    for row in rows:
        if len(lines) >= DIFF_LINES or chars < 0:
            return Diff(lines, True)
        if not (isinstance(row, list) and len(row) == 4 and row[0] in (" ", "+", "-")):
            continue
        before, after = told.count(row[1]), told.count(row[2])
        if lines and _is_apart(ends, before, after):
            lines.append(Line("…", None, SafeString("")))
        ends = (before or ends[0], after or ends[1])
        text = told.clip(told.text(row[3], LINE_CHARS), LINE_CHARS)
        chars -= len(text) + 1
        lines.append(Line(row[0], after or before, prose.visible(text)))
    return Diff(lines, False)


def _is_apart(ends: tuple[int, int], before: int | None, after: int | None) -> bool:
    return bool((before and before > ends[0] + 1 > 1) or (after and after > ends[1] + 1 > 1))


def difference(before: str, after: str) -> linediff.Change:
    """Return how two texts differ, line by line."""
    return linediff.change(editing.whole(before, after))


_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@.*")


def unified(text: str) -> list[Line]:
    """Return the lines of a diff as git writes it, a gap for each hunk after the first."""
    lines: list[Line] = []
    before = after = 0
    for row in text.rstrip("\n").split("\n")[:DIFF_LINES]:
        kind = row[:1]
        if hunk := _HUNK.fullmatch(row):
            before, after = int(hunk[1]), int(hunk[2])
            lines += [Line("…", None, SafeString(""))] if lines else []
        elif kind in ("+", "-", " "):
            number = before if kind == "-" else after
            lines.append(Line(kind, number or None, prose.visible(told.clip(row[1:], LINE_CHARS))))
            before, after = before + (kind != "+"), after + (kind != "-")
        else:
            lines.append(Line("…", None, prose.visible(told.clip(row, LINE_CHARS))))
    return lines
