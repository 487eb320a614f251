"""Where skills lie: in a tree of git, or in a folder on disk; both list what they hold and read it, within bounds."""

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from workspaces import store
from workspaces.git import Git, GitError
from workspaces.names import raw, shown
from workspaces.paths import WorkspaceError

ITEMS_LIMIT = 5000
"""Files of one shelf that are looked at."""
_LISTING_BYTES = 2 * 1024 * 1024
_DEPTH = 12


@dataclass(frozen=True)
class Item:
    """One thing on a shelf; `key` is how its shelf finds it again."""

    size: int
    key: str
    is_link: bool = False
    is_file: bool = True


class Shelf(Protocol):
    """A place that holds skills."""

    def items(self, bases: Sequence[str]) -> dict[str, Item]:
        """Return all that lies below these folders, by path; at most 5,000."""

    def read_all(self, items: Iterable[Item]) -> Mapping[str, bytes]:
        """Return the bytes of these items by their keys; a link's are its target. What can't be read is left out."""


@dataclass(frozen=True)
class TreeShelf:
    """A tree of a repository: what is in it never changes."""

    git: Git
    tree: str

    def items(self, bases: Sequence[str]) -> dict[str, Item]:
        if not bases:
            return {}
        wanted = [f"{os.fsdecode(raw(base))}/" for base in bases]
        out = self.git.head(
            "ls-tree", "-r", "-z", "-l", "--full-tree", self.tree, "--", *wanted, limit_bytes=_LISTING_BYTES
        )
        records = out.split(b"\0")[:-1][:ITEMS_LIMIT]
        return dict(map(_item, records))

    def read_all(self, items: Iterable[Item]) -> Mapping[str, bytes]:
        return dict(store.read_blobs(self.git, (item.key for item in items if item.key)))


def _item(record: bytes) -> tuple[str, Item]:
    head, path = record.split(b"\t", 1)
    mode, _, oid, size = head.decode().split()
    is_file = mode in (store.FILE, store.EXECUTABLE)
    return shown(path), Item(0 if size == "-" else int(size), oid, mode == store.LINK, is_file)


@dataclass(frozen=True)
class FolderShelf:
    """A folder on disk, of the installation or of the program; no link in it is followed out of it."""

    folder: Path

    def items(self, bases: Sequence[str]) -> dict[str, Item]:
        found: dict[str, Item] = {}
        for base in bases:
            self._walk(self.folder / base, base, found, _DEPTH)
        return found

    def _walk(self, folder: Path, inside: str, found: dict[str, Item], depth: int) -> None:
        try:
            with os.scandir(folder) as entries:
                names = sorted(entries, key=lambda entry: entry.name)[:ITEMS_LIMIT]
        except OSError:
            return  # absent, or not ours to read: it holds nothing for us
        for entry in names:
            if len(found) >= ITEMS_LIMIT:
                return
            path = f"{inside}/{entry.name}" if inside else entry.name
            if entry.is_dir(follow_symlinks=False):
                if depth:
                    self._walk(folder / entry.name, path, found, depth - 1)
            else:
                found[shown(path)] = _on_disk(entry, path)

    def read_all(self, items: Iterable[Item]) -> Mapping[str, bytes]:
        found = {}
        for item in items:
            try:
                found[item.key] = _read(self.folder / item.key, item)
            except OSError:
                continue
        return found


def _on_disk(entry: "os.DirEntry[str]", path: str) -> Item:
    try:
        info = entry.stat(follow_symlinks=False)
    except OSError:
        return Item(0, path, is_file=False)
    return Item(info.st_size, path, stat.S_ISLNK(info.st_mode), stat.S_ISREG(info.st_mode))


def _read(path: Path, item: Item) -> bytes:
    if item.is_link:
        return os.fsencode(os.readlink(path))
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        return file.read(item.size) if stat.S_ISREG(os.fstat(handle).st_mode) else b""


def read_one(shelf: Shelf, item: Item, name: str, limit_bytes: int) -> bytes:
    """Return the bytes of one item. Raises WorkspaceError TOO_LARGE or NOT_FOUND."""
    if item.size > limit_bytes:
        raise WorkspaceError("TOO_LARGE", f"{name} has {item.size:,} bytes; at most {limit_bytes:,} can be read.")
    try:
        return shelf.read_all([item])[item.key]
    except (KeyError, GitError):
        raise WorkspaceError("NOT_FOUND", f"{name} can't be read any more.") from None
