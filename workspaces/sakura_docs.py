"""The `.sakura` folder of a tree on disk: its documents, and its memory with the newest entry first."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from workspaces import cuts, listing, names, paths
from workspaces.encodings import is_binary

FOLDER = ".sakura"
MEMORY_FILE = f"{FOLDER}/memory.md"
MEMORY = f"{FOLDER}/memory"
LIMIT_DEPTH = 6
LIMIT_DOCUMENTS = 300
LIMIT_FOLDERS = 300
READ_BYTES = 2 * 1024 * 1024
HEADING_BYTES = 4096
HEADING_CHARS = 120
MARKDOWN = (".md", ".markdown")

_ENTRY = re.compile(r"^## ", re.MULTILINE)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2})?")
_HEADING = re.compile(r"^#{1,6}[ \t]+(.*?)[ \t#]*$", re.MULTILINE)


# --- places --------------------------------------------------------------------------------------


def is_there(root: Path) -> bool:
    """Return whether the tree has a `.sakura`; a link in its place counts, and is refused when it leads out."""
    return os.path.lexists(root / FOLDER)


def resolve(root: Path, given: str) -> paths.WorkspacePath:
    """Return the path that `given` names below `.sakura`, written with or without that folder; "" is the folder itself.

    Raises PathError OUTSIDE_WORKSPACE for `..` and for a link that leads out of it.
    """
    if ".." in given.split("/"):
        raise paths.PathError("OUTSIDE_WORKSPACE", f"{given}: `..` is not followed; name what lies in {FOLDER}/.")
    if given.strip():
        paths.refuse_odd(given)
    below = given.strip() and (given if given.startswith(("/", "\\", "~")) else _below(given))
    path = paths.resolve(root, below if below.startswith(("/", "\\")) else f"{FOLDER}/{below}" if below else FOLDER)
    if path.relative != FOLDER and not path.relative.startswith(f"{FOLDER}/"):
        raise paths.PathError(
            "OUTSIDE_WORKSPACE", f"{given or FOLDER} leads out of {FOLDER}/; only what lies in it is read."
        )
    return replace(path, given=given or FOLDER)


def _below(given: str) -> str:
    parts = [part for part in given.split("/") if part not in ("", ".")]
    return "/".join(parts[1:] if parts[:1] == [FOLDER] else parts)


@dataclass(frozen=True)
class Document:
    """One file below `.sakura`: its path from the root and its size; `heading` is the first of a Markdown file."""

    path: str
    size: int
    heading: str = ""


@dataclass(frozen=True)
class Documents:
    """The documents by path. Not `complete`: there are more than LIMIT_DOCUMENTS, or deeper folders."""

    found: list[Document]
    complete: bool


def documents(root: Path, hides: listing.Hides | None = None) -> Documents:
    """Return the documents below `.sakura`, those of a folder before those of the folders in it; links are left out."""
    walk = _Walk(root, hides)
    found = [Document(path, size, _heading(root, path)) for path, size in walk.files(resolve(root, ""), LIMIT_DEPTH)]
    return Documents(found, walk.complete)


class _Walk:
    def __init__(self, root: Path, hides: listing.Hides | None) -> None:
        self._root = root
        self._hides = hides
        self._count = self._folders = 0
        self.complete = True

    def files(self, folder: paths.WorkspacePath, depth: int) -> Iterator[tuple[str, int]]:
        self._folders += 1
        if not depth or self._folders > LIMIT_FOLDERS:
            self.complete = False
            return
        held = listing.folder(self._root, folder, LIMIT_DOCUMENTS, self._hides)
        self.complete = self.complete and len(held.entries) == held.total
        for entry in sorted(held.entries, key=lambda entry: entry.kind == "folder"):
            path = f"{folder.relative}/{entry.name}"
            if entry.kind == "folder":
                yield from self.files(paths.WorkspacePath(path, folder.real / entry.name, path), depth - 1)
            elif entry.kind == "file" and self._count < LIMIT_DOCUMENTS:
                self._count += 1
                yield path, entry.size or 0
            elif entry.kind == "file":
                self.complete = False


def _heading(root: Path, relative: str) -> str:
    if not relative.lower().endswith(MARKDOWN):
        return ""
    try:
        data, _ = _bytes(root, paths.WorkspacePath(relative, root / relative, relative), HEADING_BYTES)
    except (paths.PathError, OSError):
        return ""
    found = _HEADING.search(data.decode("utf-8", "replace"))
    return cuts.head(" ".join(found[1].split()), HEADING_CHARS) if found else ""


def text(root: Path, path: paths.WorkspacePath) -> tuple[str, bool]:
    """Return a document's text, and whether READ_BYTES cut it. Raises PathError, BINARY_FILE for what is no text."""
    data, is_cut = _bytes(root, path, READ_BYTES)
    if is_binary(data):
        raise paths.PathError("BINARY_FILE", f"{path.given} is no text; only documents are read here.")
    return data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n"), is_cut


def _bytes(root: Path, path: paths.WorkspacePath, limit: int) -> tuple[bytes, bool]:
    with open(paths.open_file(root, path), "rb") as file:
        data = file.read(limit + 1 + cuts.reach())
    return cuts.first_bytes(data, limit), len(data) > limit


# --- memory --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Memory:
    """One entry of a memory file: a section that begins with `## `. `date` is "" where its heading has none.

    `line` is where it begins in its file, from 1; `file` is the path of that, where it was read from disk.
    """

    heading: str
    date: str
    text: str
    line: int
    file: str = ""


def split(text: str) -> tuple[str, list[Memory]]:
    """Return the head of a memory file, then its entries in the order of the file."""
    starts = [match.start() for match in _ENTRY.finditer(text)]
    if not starts:
        return text, []
    head, entries = text[: starts[0]], []
    line = head.count("\n") + 1
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        entries.append(_memory(text[start:end], line))
        line += text.count("\n", start, end)
    return head, entries


def _memory(text: str, line: int, file: str = "") -> Memory:
    heading = text.split("\n", 1)[0]
    date = _DATE.search(heading) or _DATE.search(file.rpartition("/")[2])
    return Memory(heading.lstrip("#").strip(), date[0] if date else "", text, line, file)


def newest_first(entries: Sequence[Memory]) -> list[Memory]:
    """Return the entries by the dates in them, the latest first; where one has none, the last written first."""
    turned = list(entries)[::-1]
    if all(entry.date for entry in turned):
        turned.sort(key=lambda entry: entry.date.replace("T", " "), reverse=True)
    return turned


@dataclass(frozen=True)
class MemoryFile:
    """One file of the memory, with the time of its last change in ns."""

    path: str
    changed: int


def memory_files(root: Path, hides: listing.Hides | None = None) -> list[MemoryFile]:
    """Return `memory.md` and the Markdown files of `memory/`, the last changed last."""
    found = []
    for folder, wanted in ((FOLDER, {"memory.md"}), (MEMORY, None)):
        for name in _names(root, folder, hides):
            if name.lower().endswith(MARKDOWN) and (wanted is None or name in wanted):
                changed = os.lstat(root / folder / name).st_mtime_ns
                found.append(MemoryFile(f"{folder}/{name}", changed))
    return sorted(found, key=lambda file: (file.changed, file.path))


def _names(root: Path, folder: str, hides: listing.Hides | None) -> list[str]:
    try:
        held = listing.folder(root, resolve(root, folder), LIMIT_DOCUMENTS, hides)
    except paths.PathError as error:
        if error.code in ("NOT_FOUND", "NOT_A_DIRECTORY"):
            return []
        raise
    return [entry.name for entry in held.entries if entry.kind == "file"]


def memories(root: Path, files: Sequence[MemoryFile]) -> tuple[str, list[Memory]]:
    """Return the head of the file, if it is one, and the entries of all, newest first.

    A file without sections is one entry, dated by its name if that has a date.
    """
    heads, found = [], []
    for file in files:
        path = resolve(root, file.path)
        held, _ = text(root, path)
        head, entries = split(held)
        if entries:
            heads.append(head)
            found += [Memory(each.heading, each.date, each.text, each.line, file.path) for each in entries]
        elif head.strip():
            found.append(_memory(head, 1, file.path))
    return (heads[0].strip() if len(files) == 1 and heads else ""), newest_first(found)


def shown(path: str) -> str:
    """Return a path from the root as it is written below `.sakura`, as text that every database takes."""
    return names.shown(path.removeprefix(f"{FOLDER}/"))
