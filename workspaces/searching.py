"""Searches a workspace with ripgrep: matches sorted by path, memory bounded, totals true."""

import base64
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workspaces import cuts, listing, ripgrep

_BEGIN, _MATCH, _CONTEXT = (f'{{"type":"{kind}"'.encode() for kind in ("begin", "match", "context"))
_PLAIN_PATH = b'{"type":"begin","data":{"path":{"text":"'
KEPT_BYTES = 4096
"""A longer message of ripgrep is not kept as it is, only the part of it that is shown."""


@dataclass(frozen=True)
class Line:
    """One line of a file. `start`: where in the line the first match begins, in bytes; None for a line of context."""

    number: int
    text: str
    start: int | None


@dataclass
class Hits:
    """What one file holds: the number of matching lines, and what ripgrep says of them as far as it was kept."""

    path: str
    count: int = 0
    messages: list["bytes | list[Line]"] = field(default_factory=list)

    def lines(self, line_chars: int) -> Iterator[Line]:
        """Yield the lines, read from the messages only now: of most files nobody asks for them."""
        for message in self.messages:
            yield from _lines(message, line_chars) if isinstance(message, bytes) else message


@dataclass(frozen=True)
class Found:
    """Files by path; only the first of them have their lines. Totals are of all."""

    files: list[Hits]
    total_lines: int
    total_files: int


@dataclass(frozen=True)
class Search:
    """What to look for. `keep` is how many matching lines, or files, are wanted back, in the order of paths."""

    pattern: str
    options: Sequence[str]
    keep: int
    line_chars: int
    wanted: Callable[[str], bool] | None = None
    """Tells which files count; None: all."""
    is_file: bool = False
    """Whether the path is one file, which no rule leaves out."""

    def arguments(self, *how: str) -> list[str]:
        return [*how, *self.options, f"--regexp={self.pattern}"]

    def takes(self, path: str) -> bool:
        return self.wanted is None or self.wanted(path)


Look = Callable[[Path, str, Search, threading.Event, bool], Found]


def look(how: Look, root: Path, relative: str, search: Search, cancelled: threading.Event) -> Found:
    """Return what `content`, `counts` or `files` find at a path, ignored files too where the path is itself ignored."""
    if search.is_file or ripgrep.names_left_out(relative):
        return how(root, relative, search, cancelled, True)
    found = how(root, relative, search, cancelled, False)
    if not found.total_files and listing.all_ignored(root, relative, cancelled):
        return how(root, relative, search, cancelled, True)
    return found


def content(root: Path, relative: str, search: Search, cancelled: threading.Event, ignored: bool) -> Found:
    """Return matching lines with their context. Raises ripgrep.RipgrepError."""
    collected = _Collected(search.keep)
    arguments = search.arguments("--json")
    batches = ripgrep.batches(arguments, root, relative, separator=b"\n", cancelled=cancelled, ignored=ignored)
    for hits in _by_file(batches, search):
        collected.add(hits)
    return collected.found()


def counts(root: Path, relative: str, search: Search, cancelled: threading.Event, ignored: bool) -> Found:
    """Return the files that match, each with its number of matching lines."""
    collected = _Collected(search.keep)
    name = b""
    arguments = search.arguments("--count", "--null", "--with-filename")
    for piece in ripgrep.run(arguments, root, relative, separator=b"\0", cancelled=cancelled, ignored=ignored):
        count, _, following = piece.partition(b"\n")
        if name and count.rstrip(b"\r").isdigit():  # --crlf ends the lines of the answer so, too
            _add_file(collected, name, int(count), search)
            name = following
        else:
            name = piece
    return collected.found()


def files(root: Path, relative: str, search: Search, cancelled: threading.Event, ignored: bool) -> Found:
    """Return the files that match; each is read up to its first match only, so no lines are counted."""
    collected = _Collected(search.keep)
    arguments = search.arguments("--files-with-matches", "--null")
    for name in ripgrep.run(arguments, root, relative, separator=b"\0", cancelled=cancelled, ignored=ignored):
        _add_file(collected, name, 0, search)
    return collected.found()


def _add_file(collected: "_Collected", name: bytes, count: int, search: Search) -> None:
    path = _path(name)
    if not ripgrep.is_vcs(path) and search.takes(path):
        collected.add(Hits(path, count))


def _path(name: bytes) -> str:
    return os.fsdecode(name.removeprefix(b"./"))


class _Collected:
    """Keeps the lines of the first files by path, as many as are wanted; ripgrep tells files in no order."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._files: list[Hits] = []
        self._kept = self._total_lines = self._total_files = 0
        self._drop_above = 4 * keep + 2000

    def add(self, hits: Hits) -> None:
        self._files.append(hits)
        self._kept += 1 + len(hits.messages)
        self._total_lines += hits.count
        self._total_files += 1
        if self._kept > self._drop_above:
            self._drop()

    def _drop(self) -> None:
        """Drop what can't be among the first `keep` any more."""
        self._files.sort(key=lambda hits: hits.path)
        kept = needed = 0
        while kept < self._keep and needed < len(self._files):
            kept += max(1, self._files[needed].count if self._files[needed].messages else 1)
            needed += 1
        self._files = self._files[:needed]
        self._kept = sum(1 + len(hits.messages) for hits in self._files)
        self._drop_above = max(self._drop_above, 2 * self._kept)

    def found(self) -> Found:
        self._files.sort(key=lambda hits: hits.path)
        return Found(self._files, self._total_lines, self._total_files)


# --- ripgrep's JSON lines -------------------------------------------------------------------------


def _by_file(batches: Iterator[list[bytes]], search: Search) -> Iterator[Hits]:
    """Yield what each file holds. Messages of a file follow each other; those past what is wanted are only counted."""
    hits: Hits | None = None
    several = "--multiline" in search.options
    for pieces in batches:
        for piece in pieces:
            if piece.startswith(_BEGIN):
                path = _path_of(piece)
                hits = Hits(path) if not ripgrep.is_vcs(path) and search.takes(path) else None
            elif hits is None:
                continue
            elif piece.startswith(_MATCH):
                hits.count += sum(1 for _ in _lines(piece, 1)) if several else 1
                if hits.count <= search.keep or not hits.messages:
                    hits.messages.append(_kept(piece, search))
            elif piece.startswith(_CONTEXT):
                if hits.count <= search.keep:
                    hits.messages.append(_kept(piece, search))
            elif hits.count:
                yield hits
                hits = None


def _path_of(message: bytes) -> str:
    if message.startswith(_PLAIN_PATH) and b"\\" not in message:
        return _path(message[len(_PLAIN_PATH) : message.rfind(b'"')])
    return _path(_bytes(json.loads(message)["data"]["path"]))


def _kept(message: bytes, search: Search) -> bytes | list[Line]:
    return message if len(message) <= KEPT_BYTES else list(_lines(message, search.line_chars))


def _bytes(value: dict[str, str]) -> bytes:
    return base64.b64decode(value["bytes"]) if "bytes" in value else value["text"].encode("utf-8", "surrogateescape")


def _lines(message: bytes, line_chars: int) -> Iterator[Line]:
    """Yield the lines of one message; more than one where a match spans them. One that was cut is not shown."""
    try:
        event: dict[str, Any] = json.loads(message)
    except ValueError:
        yield Line(0, "(a match in a line too long to show)", 0)
        return
    data = event["data"]
    matched = event["type"] == "match"
    starts = [match["start"] for match in data["submatches"]] if matched else []
    offset = 0
    for number, line in enumerate(_bytes(data["lines"]).removesuffix(b"\n").split(b"\n"), data["line_number"] or 0):
        here = next((start - offset for start in starts if offset <= start <= offset + len(line)), 0)
        offset += len(line) + 1
        yield _line(number, line, here if matched else None, line_chars)


def _line(number: int, line: bytes, start: int | None, limit: int) -> Line:
    text = line.removesuffix(b"\r").decode("utf-8", "replace")
    at = len(line[: start or 0].decode("utf-8", "replace"))
    return Line(number, _around(text, at, limit), start)


def _around(text: str, at: int, limit: int) -> str:
    """Return a long line cut around the match."""
    if len(text) <= limit:
        return text
    first = max(0, min(at - limit // 4, len(text) - limit))
    return ("…" if first else "") + cuts.span(text, first, first + limit) + ("…" if first + limit < len(text) else "")
