"""Finds the text that an agent wants replaced: pure functions.

Matching is tried exactly, then with curly quotes equal to straight ones, then with tabs equal to spaces in indentation,
then with both; a way is tried only if those before found nothing. Line ends never matter.
"""

import difflib
import itertools
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from workspaces import cuts, lines
from workspaces.paths import WorkspaceError

WIDTHS = (2, 4, 8)
MAX_LISTED = 20
MAX_MATCHES = 100_000
INDENT = re.compile(r"^[ \t]*\t[ \t]*", re.MULTILINE)
_NEAREST_IN = 3000
_CURLY = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"'})


class EditError(WorkspaceError):
    """NO_MATCH, NOT_UNIQUE, NO_CHANGE, RANGE, INVALID_INPUT."""


@dataclass(frozen=True)
class Way:
    """How two texts are compared: quotes taken as equal, tabs as so many spaces (0: as they are)."""

    quotes: bool = False
    width: int = 0

    @property
    def name(self) -> str:
        parts = ["quotes"] * self.quotes + ["tabs and spaces"] * bool(self.width)
        return " and ".join(parts) or "exact"


def find(text: str, old: str, *, replace_all: bool, name: str) -> "Found":
    """Return the one way that finds `old` (its lines ending in LF), with its matches. Raises EditError."""
    for ways in _ways(text, old):
        if options := _find(text, old, ways, name):
            return _decided(text, options, replace_all, name)
    raise EditError("NO_MATCH", _no_match(text, old, name))


def _ways(text: str, old: str) -> Iterator[tuple[Way, ...]]:
    """Yield the ways to compare, those of equal rank together."""
    yield (Way(),)
    curly = any(mark in text or mark in old for mark in "‘’“”")
    tabs = bool(INDENT.search(text) or INDENT.search(old))
    if curly:
        yield (Way(quotes=True),)
    if tabs:
        yield tuple(Way(width=width) for width in WIDTHS)
    if curly and tabs:
        yield tuple(Way(quotes=True, width=width) for width in WIDTHS)


@dataclass
class View:
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


def view_of(text: str, way: Way) -> View:
    """Return the text as this way compares it."""
    parts: list[str] = []
    view = View("")
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
    return re.finditer(r"\r\n", text) if lines.has_crlf(text) else iter(())


@dataclass(frozen=True)
class Match:
    """A place in the file, from `start` to `end`; `at` is its offset in the view."""

    start: int
    end: int
    at: int


@dataclass(frozen=True)
class Found:
    """What one way found: the matches that don't overlap, and how many there are when those that do count too."""

    way: Way
    view: View
    matches: list[Match]
    total: int

    @property
    def places(self) -> list[tuple[int, int]]:
        return [(match.start, match.end) for match in self.matches]


def _find(text: str, old: str, ways: tuple[Way, ...], name: str) -> list[Found]:
    """Return what each of the ways finds, without those that find nothing."""
    found: list[tuple[Way, View, list[Match]]] = []
    for way in ways:
        view = view_of(text, way)
        matches = list(itertools.islice(_matches(text, old, view, way), MAX_MATCHES + 1))
        if len(matches) > MAX_MATCHES:
            raise EditError(
                "NOT_UNIQUE", f"{name}: old_string matches more than {MAX_MATCHES} times; give more of the text."
            )
        found.append((way, view, matches))
    if ways[0].width and old[0] in " \t":
        found = _whole_indents(text, found)
    return [Found(way, view, _apart(matches), len(matches)) for way, view, matches in found if matches]


def _whole_indents(text: str, found: list[tuple[Way, View, list[Match]]]) -> list[tuple[Way, View, list[Match]]]:
    """Return the matches that begin where a line does; where there is none, all of them.

    Eight spaces are two tabs of four, rather than the second of two tabs of eight.
    """
    whole = [
        (way, view, [match for match in matches if not line_head(text, match.start)]) for way, view, matches in found
    ]
    return whole if any(matches for _, _, matches in whole) else found


def _matches(text: str, old: str, view: View, way: Way) -> Iterator[Match]:
    wanted = view_of(old, way).text
    indented = bool(way.width and re.match(r" *\t", old))
    at = view.text.find(wanted)
    while at >= 0:
        start, end = view.back(at), view.back(at + len(wanted))
        if start is not None and end is not None and not (indented and line_head(text, start).strip(" \t")):
            yield Match(start, end, at)
        at = view.text.find(wanted, at + 1)


def line_head(text: str, offset: int) -> str:
    """Return what stands before the offset on its line."""
    return text[text.rfind("\n", 0, offset) + 1 : offset]


def _apart(matches: list[Match]) -> list[Match]:
    kept: list[Match] = []
    for match in matches:
        if not kept or match.start >= kept[-1].end:
            kept.append(match)
    return kept


def _decided(text: str, found: list[Found], replace_all: bool, name: str) -> Found:
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
    return [(number, cuts.head(raw_lines[number - 1].rstrip("\r"), 300)) for number in numbers]


def _numbers_of(line: str, all_lines: list[str]) -> Iterator[int]:
    return (number for number, other in enumerate(all_lines, 1) if other[:200] == line)
