"""Finds what an agent wants replaced and replaces exactly that: pure functions on text.

Matching is tried exactly, then with curly quotes equal to straight ones, then with tabs equal to spaces in indentation,
then with both; a way is tried only if those before found nothing. Line ends never matter: the file's are kept.
"""

import difflib
import itertools
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from workspaces import lines
from workspaces.paths import WorkspaceError

WIDTHS = (2, 4, 8)
MAX_LISTED = 20
MAX_MATCHES = 100_000
_NEAREST_IN = 3000
_CURLY = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"'})
_INDENT = re.compile(r"^[ \t]*\t[ \t]*", re.MULTILINE)


class EditError(WorkspaceError):
    """NO_MATCH, NOT_UNIQUE, NO_CHANGE."""


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


@dataclass(frozen=True)
class _Way:
    quotes: bool = False
    width: int = 0

    @property
    def name(self) -> str:
        parts = ["quotes"] * self.quotes + ["tabs and spaces"] * bool(self.width)
        return " and ".join(parts) or "exact"


def replace(text: str, old: str, new: str, *, replace_all: bool = False, name: str = "the file") -> Edit:
    r"""Replace `old`, which is in the text once (or as often as it is, with `replace_all`), by the literal `new`.

    Raises EditError.
    """
    old, new = _lf(old), _lf(new)
    if old == new:
        raise EditError("NO_CHANGE", f"{name}: old_string and new_string are equal, so nothing would change.")
    if not old:
        raise EditError("NO_MATCH", f"{name}: old_string is empty; give the text to replace.")
    for ways in _ways(text, old):
        if options := _find(text, old, ways, name):
            found = _decided(text, options, replace_all, name)
            break
    else:
        raise EditError("NO_MATCH", _no_match(text, old, name))
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


# --- finding -------------------------------------------------------------------------------------


def _ways(text: str, old: str) -> Iterator[tuple[_Way, ...]]:
    """Yield the ways to compare, those of equal rank together."""
    yield (_Way(),)
    curly = any(mark in text or mark in old for mark in "‘’“”")
    tabs = bool(_INDENT.search(text) or _INDENT.search(old))
    if curly:
        yield (_Way(quotes=True),)
    if tabs:
        yield tuple(_Way(width=width) for width in WIDTHS)
    if curly and tabs:
        yield tuple(_Way(quotes=True, width=width) for width in WIDTHS)


@dataclass
class _View:
    """A normalised text, with the way back: between two anchors offsets differ by a constant.

    An anchor is (offset here, offset in the file). Offsets inside a stretch of `torn` have no place in the file.
    """

    text: str
    here: list[int] = field(default_factory=lambda: [0])
    there: list[int] = field(default_factory=lambda: [0])
    torn: list[tuple[int, int]] = field(default_factory=list)

    def back(self, offset: int) -> int | None:
        if self.torn:
            at = bisect_right(self.torn, (offset, 0)) - 1
            if at >= 0 and self.torn[at][0] < offset < self.torn[at][1]:
                return None
        at = bisect_right(self.here, offset) - 1
        return self.there[at] + offset - self.here[at]


def _view(text: str, way: _Way) -> _View:
    parts: list[str] = []
    view = _View("")
    size = at = 0
    for match in _tokens(text, way.width):
        parts.append(text[at : match.start()])
        size += match.start() - at
        at = match.end()
        if match[0] == "\r\n":
            parts.append("\n")
            size += 1
            # The offset before "\n" is before "\r", the one after it is after "\n".
            view.here.append(size)
            view.there.append(at)
            continue
        for offset, character in enumerate(match[0], match.start()):
            wide = way.width if character == "\t" else 1
            if wide > 1:
                view.torn.append((size, size + wide))
            parts.append(" " * wide)
            size += wide
            view.here.append(size)
            view.there.append(offset + 1)
    view.text = "".join([*parts, text[at:]])
    if way.quotes:
        view.text = view.text.translate(_CURLY)
    return view


def _tokens(text: str, width: int) -> Iterator[re.Match[str]]:
    if width:
        return re.finditer(r"\r\n|(?m:^)[ \t]*\t[ \t]*", text)
    return re.finditer(r"\r\n", text) if "\r\n" in text else iter(())


@dataclass(frozen=True)
class _Match:
    """A place in the file, from `start` to `end`; `at` is its offset in the view."""

    start: int
    end: int
    at: int


@dataclass(frozen=True)
class _Found:
    """What one way found: the matches that don't overlap, and how many there are when those that do count too."""

    way: _Way
    view: _View
    matches: list[_Match]
    total: int

    @property
    def places(self) -> list[tuple[int, int]]:
        return [(match.start, match.end) for match in self.matches]


def _find(text: str, old: str, ways: tuple[_Way, ...], name: str) -> list[_Found]:
    """Return what each of the ways finds, without those that find nothing."""
    found = []
    for way in ways:
        view = _view(text, way)
        matches = list(itertools.islice(_matches(text, old, view, way), MAX_MATCHES + 1))
        if len(matches) > MAX_MATCHES:
            raise EditError(
                "NOT_UNIQUE", f"{name}: old_string matches more than {MAX_MATCHES} times; give more of the text."
            )
        if matches:
            found.append(_Found(way, view, _apart(matches), len(matches)))
    return found


def _matches(text: str, old: str, view: _View, way: _Way) -> Iterator[_Match]:
    wanted = _view(old, way).text
    indented = bool(way.width and re.match(r" *\t", old))
    at = view.text.find(wanted)
    while at >= 0:
        start, end = view.back(at), view.back(at + len(wanted))
        if start is not None and end is not None and not (indented and _line_head(text, start).strip(" \t")):
            yield _Match(start, end, at)
        at = view.text.find(wanted, at + 1)


def _line_head(text: str, offset: int) -> str:
    """Return what stands before the offset on its line."""
    return text[text.rfind("\n", 0, offset) + 1 : offset]


def _apart(matches: list[_Match]) -> list[_Match]:
    kept: list[_Match] = []
    for match in matches:
        if not kept or match.start >= kept[-1].end:
            kept.append(match)
    return kept


def _decided(text: str, found: list[_Found], replace_all: bool, name: str) -> _Found:
    """Return the one that is meant. Tab widths that find different places are as good as several matches."""
    first = found[0]
    one_meaning = all(other.places == first.places for other in found)
    if one_meaning and (replace_all or first.total == 1):
        return first
    places = sorted({place for other in found for place in other.places})
    numbers = [lines.number_at(text, start) for start, _ in places[:MAX_LISTED]]
    more = f" and {len(places) - MAX_LISTED} more" if len(places) > MAX_LISTED else ""
    cure = "give more lines around it so that it is unique, or set replace_all"
    if not one_meaning:
        cure = "the width of a tab decides which is meant: copy the indentation as it is in the file"
    elif len(places) == 1:
        cure = "the matches overlap: give more lines around it so that it is unique"
    count = max(len(places), first.total if one_meaning else 0)
    listed = ", ".join(map(str, numbers)) + more
    raise EditError("NOT_UNIQUE", f"{name}: old_string matches {count} times, at lines {listed}; {cure}.")


# --- fitting the new text to the file ------------------------------------------------------------


def _fitted(text: str, match: _Match, old: str, new: str, found: _Found) -> Region:
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
        at_line_start = new[head - 1] == "\n" if head else not _line_head(text, match.start).strip(" \t")
        tabs = bool(_INDENT.search(_line_head(text, match.start) + text[match.start : match.end]))
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


def _kept_at_start(old: str, head: int, match: _Match, found: _Found) -> tuple[int, int]:
    """Return how much of the common start is kept, and the offset in the file where it ends."""
    if found.way.width:
        head = _not_in_indent(old, head, forward=False)
    place = found.view.back(match.at + len(_view(old[:head], found.way).text))
    return (head, place) if place is not None else (0, match.start)


def _kept_at_end(old: str, tail: int, match: _Match, found: _Found) -> tuple[int, int]:
    """Return how much of the common end is kept, and the offset in the file where it starts."""
    if found.way.width:
        tail = len(old) - _not_in_indent(old, len(old) - tail, forward=True)
    place = found.view.back(match.at + len(_view(old[: len(old) - tail], found.way).text))
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


# --- saying what is near -------------------------------------------------------------------------


def _no_match(text: str, old: str, name: str) -> str:
    said = f"{name}: old_string is not in it, not even with other quotes or tabs for spaces."
    if re.match(r" *\d+\t", old):
        said += " It seems to start with a line number: leave out what read_file puts before each line."
    near = _nearest(text, old)
    if not near:
        return f"{said} Read the file again and copy the text exactly."
    shown = "\n".join(f"{number:6}\t{line}" for number, line in near)
    return f"{said} The nearest lines are:\n{shown}\nCopy the text exactly as it is there."


def _nearest(text: str, old: str) -> list[tuple[int, str]]:
    """Return the file's lines that are most like the longest line of `old`."""
    wanted = max((line.strip() for line in old.split("\n")), key=len)[:200]
    if not wanted:
        return []
    all_lines = [line.strip() for line in text.split("\n")]
    words = set(re.findall(r"\w{3,}", wanted))
    pool = {line[:200] for line in all_lines if line and (not words or words & set(re.findall(r"\w{3,}", line[:400])))}
    near = difflib.get_close_matches(wanted, sorted(pool)[:_NEAREST_IN], n=3, cutoff=0.5)
    raw_lines = text.split("\n")
    numbers = sorted(number for line in near for number in _numbers_of(line, all_lines))[:5]
    return [(number, raw_lines[number - 1].rstrip("\r")[:300]) for number in numbers]


def _numbers_of(line: str, all_lines: list[str]) -> Iterator[int]:
    return (number for number, other in enumerate(all_lines, 1) if other[:200] == line)
