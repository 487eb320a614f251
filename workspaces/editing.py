"""Replaces in a text exactly what an agent wants replaced, in the file's own style: pure functions."""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workspaces import lines, matching
from workspaces.matching import INDENT, EditError, Found, Match, line_head, view_of


@dataclass(frozen=True)
class Region:
    """`text` goes where the file's characters from `start` to `end` are."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Edit:
    """An edited text, and the regions of the old one that were replaced, in order."""

    before: str
    text: str
    regions: tuple[Region, ...]
    how: str = "exact"


def replace(text: str, old: str, new: str, *, replace_all: bool = False, name: str = "the file") -> Edit:
    r"""Replace `old`, which is in the text once (or as often as it is, with `replace_all`), by the literal `new`.

    Raises EditError.
    """
    old, new = _lf(old), _lf(new)
    if old == new:
        raise EditError("NO_CHANGE", f"{name}: old_string and new_string are equal, so nothing would change.")
    if not old:
        raise EditError("NO_MATCH", f"{name}: old_string is empty; give the text to replace.")
    found = matching.find(text, old, replace_all=replace_all, name=name)
    regions: list[Region] = []
    for match in found.matches:
        region = _whole_lines(text, _fitted(text, match, old, new, found))
        start = max(region.start, regions[-1].end if regions else 0)  # two deleted lines may claim one line end
        regions.append(Region(start, region.end, region.text))
    return Edit(text, applied(text, regions), tuple(regions), found.way.name)


def whole(before: str, after: str) -> Edit:
    """Return the edit that replaces the whole text, with equal lines at both ends left out of its region."""
    old, new = lines.split(before), lines.split(after)
    head = _equal(zip(old, new, strict=False))
    tail = _equal(zip(reversed(old[head:]), reversed(new[head:]), strict=False))
    start, end = sum(map(len, old[:head])), sum(map(len, old[len(old) - tail :]))
    region = Region(start, len(before) - end, after[start : len(after) - end])
    return Edit(before, after, () if before == after else (region,), "whole")


def _equal(pairs: Iterable[tuple[str, str]]) -> int:
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _lf(text: str) -> str:
    return text.replace("\r\n", "\n")


def applied(text: str, regions: Sequence[Region]) -> str:
    """Return the text with each region replaced; they are in order and apart."""
    parts, at = [], 0
    for region in regions:
        parts += [text[at : region.start], region.text]
        at = region.end
    return "".join([*parts, text[at:]])


# --- fitting the new text to the file ------------------------------------------------------------


def _fitted(text: str, match: Match, old: str, new: str, found: Found) -> Region:
    """Return the region with `new` in it, in the file's own style.

    What `old` and `new` have in common at both ends keeps the file's characters; only what is between is written anew.
    """
    way = found.way
    head, tail = _common(old, new)
    head, start = _kept_at_start(old, head, match, found)
    tail, end = _kept_at_end(old, tail, match, found)
    middle = new[head : len(new) - tail]
    if way.quotes:
        middle = _curly(middle, text[start - 1 : start], text[match.start : match.end], old)
    if way.width:
        at_line_start = new[head - 1] == "\n" if head else not line_head(text, match.start).strip(" \t")
        tabs = bool(INDENT.search(line_head(text, match.start) + text[match.start : match.end]))
        middle = _indented(middle, way.width, tabs=tabs, at_line_start=at_line_start)
    middle = _with_ends(middle, text[start:end], text, start)
    return Region(match.start, match.end, text[match.start : start] + middle + text[end : match.end])


def _common(old: str, new: str) -> tuple[int, int]:
    """Return how many characters are equal at the start, and at the end of what is left."""
    shorter = min(len(old), len(new))
    head = _common_prefix(old, new, shorter)
    tail = _common_prefix(old[::-1], new[::-1], shorter - head)
    return head, tail


def _common_prefix(one: str, other: str, limit: int) -> int:
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _kept_at_start(old: str, head: int, match: Match, found: Found) -> tuple[int, int]:
    """Return how much of the common start is kept, and the offset in the file where it ends."""
    if found.way.width:
        head = _not_in_indent(old, head, forward=False)
    place = found.view.back(match.at + len(view_of(old[:head], found.way).text))
    return (head, place) if place is not None else (0, match.start)


def _kept_at_end(old: str, tail: int, match: Match, found: Found) -> tuple[int, int]:
    """Return how much of the common end is kept, and the offset in the file where it starts."""
    if found.way.width:
        tail = len(old) - _not_in_indent(old, len(old) - tail, forward=True)
    place = found.view.back(match.at + len(view_of(old[: len(old) - tail], found.way).text))
    return (tail, place) if place is not None else (0, match.end)


def _not_in_indent(text: str, offset: int, *, forward: bool) -> int:
    """Move an offset that stands in a line's indentation to the line's start, or to the indentation's end."""
    line = text.rfind("\n", 0, offset) + 1
    if text[line:offset].strip(" \t"):
        return offset
    if not forward:
        return line
    rest = text[line:]
    return line + len(rest) - len(rest.lstrip(" \t"))


def _curly(middle: str, before: str, raw: str, old: str) -> str:
    """Return the text with curly quotes, of the kinds that the file has where `old` has straight ones."""
    kinds = ""
    if '"' in old and ("“" in raw or "”" in raw):
        kinds += '"'
    if "'" in old and ("‘" in raw or "’" in raw):
        kinds += "'"
    written: list[str] = []
    previous = before[-1:]
    for character in middle:
        if character in kinds:
            opens = not previous or previous.isspace() or previous in "([{<—–-/“‘"
            character = {"'": "’‘", '"': "”“"}[character][opens]
        written.append(character)
        previous = character
    return "".join(written)


def _indented(middle: str, width: int, *, tabs: bool, at_line_start: bool) -> str:
    """Return the text indented as the file is where it matched: by tabs, or by spaces."""

    def fit(match: re.Match[str]) -> str:
        if match.start() == 0 and not at_line_start:
            return match[0]
        columns = len(match[0].replace("\t", " " * width))
        return "\t" * (columns // width) + " " * (columns % width) if tabs else " " * columns

    return re.sub(r"^[ \t]+", fit, middle, flags=re.MULTILINE)


def _with_ends(middle: str, replaced: str, text: str, start: int) -> str:
    """Return the new text with line ends like those it replaces, one by one; else like those of the lines around it."""
    if "\n" not in middle or "\r\n" not in text:
        return middle
    old_ends = re.findall(r"\r?\n", replaced)
    usual = old_ends[-1] if old_ends else _end_near(text, start)
    parts = middle.split("\n")
    ends = [old_ends[i] if i < len(old_ends) else usual for i in range(len(parts) - 1)]
    return "".join(part + end for part, end in zip(parts, [*ends, ""], strict=True))


def _end_near(text: str, offset: int) -> str:
    """Return the end of the line that holds the offset, or of the one before if it has none."""
    at = text.find("\n", offset)
    if at < 0:
        at = text.rfind("\n", 0, offset)
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def _whole_lines(text: str, region: Region) -> Region:
    """Return the region with its line end taken along where it deletes whole lines; so no blank line is left."""
    start, end = region.start, region.end
    if region.text or start == end or text[end - 1] == "\n" or (start and text[start - 1] != "\n"):
        return region
    if end == len(text):  # the last line, without a final newline: the file goes on having none
        start -= 2 if text[:start].endswith("\r\n") else min(1, start)
        return Region(start, end, "")
    ending = re.compile(r"\r?\n").match(text, end)
    return Region(start, ending.end(), "") if ending else region
