"""The two trees that are compared, the baseline's and the given one; files are read when asked for, bounded."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from workspaces import diffs, store
from workspaces.git import Git
from workspaces.names import shown

FILE_LIMIT = 1024 * 1024
"""Bytes up to which one file is looked into."""
READ_LIMIT = 96 * 1024 * 1024
"""Bytes of one tree's files that are held at once."""
REGULAR = (store.FILE, store.EXECUTABLE)


@dataclass
class Side:
    """One tree: what lies in it, by path (as `os.fsdecode` gives it), and the bytes of what was asked for.

    `unread`: files that are there, and could not be looked into, with why.
    """

    git: Git
    tree: str
    entries: dict[str, store.TreeEntry]
    unread: dict[str, str] = field(default_factory=dict)
    _held: dict[str, bytes] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, git: Git, tree: str) -> "Side":
        return cls(git, tree, {os.fsdecode(path): entry for path, entry in store.listing(git, tree).items()})

    def load(self, paths: Iterable[str]) -> None:
        """Read many files in a few processes; `data` then gives them."""
        wanted = {path for path in paths if self._is_regular(path) and self.entries[path].oid not in self._held}
        self._sizes |= store.blob_sizes(self.git, {self.entries[path].oid for path in wanted} - self._sizes.keys())
        room = READ_LIMIT - sum(map(len, self._held.values()))
        fitting: dict[str, None] = {}
        for path in sorted(wanted):
            oid = self.entries[path].oid
            size = self._sizes.get(oid, FILE_LIMIT + 1)
            if oid in fitting:
                continue
            if size > FILE_LIMIT or size > room:
                self.unread[path] = f"it is larger than {FILE_LIMIT // 1024} KB, or too much is changed to read all"
                continue
            fitting[oid] = None
            room -= size
        self._held |= dict(store.read_blobs(self.git, fitting))

    def data(self, path: str) -> bytes | None:
        """Return a file's bytes; None where there is none, for a link, and for one that is too large (see `unread`)."""
        if not self._is_regular(path):
            return None
        oid = self.entries[path].oid
        if oid not in self._held:
            self.load([path])
        return self._held.get(oid)

    def text(self, path: str) -> str:
        """Return a file's text, "" where `data` has none."""
        return decoded(self.data(path) or b"")

    def size(self, path: str) -> int:
        """Return the size of a file or link, -1 where it isn't there."""
        entry = self.entries.get(path)
        if entry is None or entry.mode == store.SUBMODULE:
            return -1
        if entry.oid not in self._sizes:
            self._sizes |= store.blob_sizes(self.git, [entry.oid])
        return self._sizes.get(entry.oid, -1)

    def _is_regular(self, path: str) -> bool:
        entry = self.entries.get(path)
        return entry is not None and entry.mode in REGULAR


@dataclass(frozen=True)
class Changed:
    """One path that differs; for a rename the path before stands in `old_path`, else it is the path itself."""

    path: str
    old_path: str
    old: store.TreeEntry | None
    new: store.TreeEntry | None

    @property
    def is_rename(self) -> bool:
        return self.path != self.old_path


def changed(git: Git, base: str, tree: str) -> list[Changed]:
    """Return what differs between two trees, renames found, by path."""
    return [_changed(each) for each in diffs.raw_changes(git, base, tree, counted=False)]


def _changed(each: diffs.RawChange) -> Changed:
    old, new = (None if side.mode == store.NO_MODE else side for side in (each.old, each.new))
    return Changed(os.fsdecode(each.path), os.fsdecode(each.old_path), old, new)


def decoded(data: bytes) -> str:
    """Return a file's text, with what is no UTF-8 replaced, and without a mark at its start."""
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def told(path: str) -> str:
    """Return the path as a report names it."""
    return shown(path)


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def name_of(path: str) -> str:
    return path.rpartition("/")[2]


def folders_above(path: str) -> list[str]:
    """Return the folders that a file lies in, the nearest first, "" (the root) last."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[:count]) for count in range(len(parts), -1, -1)]
