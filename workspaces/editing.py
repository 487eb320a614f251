"""Replaces in a text exactly what an agent wants replaced, in the file's own style: pure functions."""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from workspaces import lines, matching
from workspaces.matching import INDENT, EditError, Found, Match, Way, line_head, view_of


@dataclass(frozen=True)
class Region:
    """`text` goes where the file's characters from `start` to `end` are."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Edit:
    """The regions of a text that are replaced, in order and apart. `given`: the edited text, if it is at hand."""

    before: str
    given: str | None
    regions: tuple[Region, ...]
    how: str = "exact"

    @cached_property
    def text(self) -> str:
        """The edited text, put together when it is asked for: that of a large file costs milliseconds."""
        return applied(self.before, self.regions) if self.given is None else self.given

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The number of the line that each region starts in; counted once, by one pass over the text."""
        found: list[int] = []
        at, number = 0, 1
        for region in self.regions:
            number += self.before.count("\n", at, region.start)
            at = region.start
            found.append(number)
        return tuple(found)

    @property
    def newline(self) -> str:
        """How the lines of the edited text end; known at once where there is no carriage return at all."""
        if "\r" in self.before or any("\r" in region.text for region in self.regions):
            return lines.newline_style(self.text)
        return "lf"

    @property
    def changes(self) -> bool:
        """Whether the edited text is another one."""
        return any(self.before[region.start : region.end] != region.text for region in self.regions)


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
    edit = Edit(text, None, tuple(regions), found.way.name)
    if not edit.changes:
        raise EditError("NO_CHANGE", f"{name}: in the file's own style the new text is the old one.")
    return edit


# --- by line numbers -----------------------------------------------------------------------------


def replace_lines(text: str, first: int, last: int, new: str, *, name: str = "the file") -> Edit:
    r"""Put `new` where the lines from `first` to `last` are, both included, counted from 1; no text deletes them.

    A missing newline at the end of `new` is added where a line follows; a final newline of the text, or that there is
    none, is kept. Raises EditError: INVALID_INPUT, RANGE, NO_CHANGE.
    """
    total = lines.count(text)
    if first < 1 or last < first:
        raise EditError(
            "INVALID_INPUT",
            f"{name}: lines {first} to {last} are no range; lines are counted from 1, both ends included.",
        )
    if last > total:
        hint = "it is empty, so use insert_lines with after_line 0" if not total else f"its last line is {total}"
        raise EditError("RANGE", f"{name} has {_counted(total)}, so there is no line {last}: {hint}.")
    start = lines.start_of(text, first)
    end = lines.start_of(text, last - first + 2, start)
    ending = _ending(text, end)
    body = _body(new, has_ending=bool(ending))
    if not new or (not body and not ending):
        region = _whole_lines(text, Region(start, end, ""))
    else:
        region = _in_place_of(text, start, end - len(ending), body)
    return _changed(text, region, name)


def insert_lines(text: str, after: int, new: str, *, name: str = "the file") -> Edit:
    """Put `new` in as lines of its own after the line of that number; 0 is before the first.

    Line ends and the end of the text as for replace_lines; an empty text becomes `new` as given.
    Raises EditError: INVALID_INPUT, RANGE, NO_CHANGE.
    """
    total = lines.count(text)
    if after < 0:
        raise EditError("INVALID_INPUT", f"{name}: after_line {after} is no line; 0 is before the first.")
    if after > total:
        raise EditError("RANGE", f"{name} has {_counted(total)}, so nothing can come after line {after}.")
    at = lines.start_of(text, after + 1)
    if not text or not new:
        region = Region(0, 0, new)
    elif at == len(text) and not text.endswith("\n"):
        body = _body(new, has_ending=False)
        region = Region(at, at, _with_ends("\n" + body, "", text, at) if body else "")
    else:
        region = Region(at, at, _with_ends(_body(new, has_ending=True) + "\n", "", text, at))
    return _changed(text, region, name)


def line_region(text: str, first: int, last: int) -> Region:
    """Return the region that these lines are, ends included, as something to be looked at."""
    start = lines.start_of(text, first)
    return Region(start, lines.start_of(text, last - first + 2, start), "")


def _counted(total: int) -> str:
    return "1 line" if total == 1 else f"{total} lines"


def _ending(text: str, end: int) -> str:
    """Return the line end right before the offset, if there is one."""
    if not end or text[end - 1] != "\n":
        return ""
    return "\r\n" if text[end - 2 : end] == "\r\n" else "\n"


def _body(new: str, *, has_ending: bool) -> str:
    """Return new lines without the end of the last; where the text goes on to have none, a blank line can't be last."""
    return _lf(new).removesuffix("\n") if has_ending else _lf(new).rstrip("\n")


def _in_place_of(text: str, start: int, end: int, body: str) -> Region:
    """Return the region with `body` in place of the lines between the offsets, fitted as an exact match is.

    Only these lines and their neighbours are looked at, however long the text is.
    """
    above = text.rfind("\n", 0, max(0, start - 1)) + 1
    below = text.find("\n", end) + 1 or len(text)
    part, old = text[above:below], _lf(text[start:end])
    view = view_of(part, Way())
    at = len(_lf(text[above:start]))
    fitted = _fitted(part, Match(start - above, end - above, at), old, body, Found(Way(), view, [], 1))
    return Region(start, end, fitted.text)


def _changed(text: str, region: Region, name: str) -> Edit:
    edit = Edit(text, None, (region,))
    if not edit.changes:
        raise EditError(
            "NO_CHANGE",
            f"{name}: the lines are just so already, so nothing would change. (A final newline, or that there is none, "
            "is kept; edit_file can change that.)",
        )
    return edit


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


def added(edit: Edit) -> str:
    """Return what is new: of each region what it has not in common, at both ends, with what it replaces.

    Lines that the old text has somewhere are not new either.
    """
    known = frozenset(lines.split(edit.before))
    new: list[str] = []
    for region in edit.regions:
        head, tail = _common(edit.before[region.start : region.end], region.text)
        new += [line for line in lines.split(region.text[head : len(region.text) - tail]) if line not in known]
    return "".join(new)


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
    if "\n" not in middle or not lines.has_crlf(text):
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
