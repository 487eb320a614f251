"""What lies in a folder of a workspace: its entries, or the files below it that are not ignored."""

import os
import stat
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workspaces import names, paths, ripgrep

MAX_ENTRIES = 500_000
"""Files and folders that one list counts."""
MAX_NAMES = 200_000
"""Entries of one folder that are looked at."""

Hides = Callable[[str], bool]
"""Tells whether nobody but people may see a path, relative to the root."""


@dataclass(frozen=True)
class Entry:
    """One name, relative to the listed folder. Kind: folder, file, link or special; only files have a size."""

    name: str
    kind: str
    size: int | None = None


@dataclass(frozen=True)
class Listing:
    """The first entries of a list, and how many there are; not `complete`: counting stopped before the end."""

    entries: list[Entry]
    total: int
    complete: bool = True


def row(entry: Entry) -> str:
    """Return an entry as one line of a list."""
    name = names.shown(entry.name)
    if entry.kind == "folder":
        return f"{name}/"
    return f"{name}  {entry.size}" if entry.kind == "file" else f"{name}  ({entry.kind})"


def folder(root: Path, path: paths.WorkspacePath, keep: int, hides: Hides | None = None) -> Listing:
    """Return the entries of one folder, ignored ones too, save version control; folders first, by name.

    Raises PathError NOT_FOUND, NOT_A_DIRECTORY.
    """
    handle = open_folder(root, path)
    try:
        with os.scandir(handle) as found:
            entries = [entry for _, entry in zip(range(MAX_NAMES), found, strict=False)]
        complete = len(entries) < MAX_NAMES
        kinds = [(_kind_of(entry), entry.name) for entry in entries if not _is_hidden(path, entry.name, hides)]
        kinds.sort(key=lambda each: (each[0] != "folder", each[1]))
        shown = [Entry(name, kind, _size(name, handle) if kind == "file" else None) for kind, name in kinds[:keep]]
    finally:
        os.close(handle)
    return Listing(shown, len(kinds), complete)


def _is_hidden(folder: paths.WorkspacePath, name: str, hides: Hides | None) -> bool:
    if ripgrep.is_vcs(name):
        return True
    return hides is not None and hides(f"{folder.relative}/{name}" if folder.relative else name)


def open_folder(root: Path, path: paths.WorkspacePath) -> int:
    """Return a descriptor of the folder. Raises PathError NOT_FOUND, NOT_A_DIRECTORY."""
    try:
        return paths.open_folder(root, path.relative)
    except FileNotFoundError:
        raise paths.PathError("NOT_FOUND", paths.missing(root, path)) from None
    except NotADirectoryError:
        raise paths.PathError("NOT_A_DIRECTORY", f"{path.given} is not a folder; read_file reads files.") from None


def _kind_of(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_symlink():
            return "link"
        if entry.is_dir(follow_symlinks=False):
            return "folder"
        return "file" if entry.is_file(follow_symlinks=False) else "special"
    except OSError:
        return "special"


def _size(name: str, folder: int) -> int | None:
    """Return the size of a regular file; None for what is none (any more)."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


# --- below a folder ------------------------------------------------------------------------------


def files(
    root: Path,
    relative: str,
    cancelled: threading.Event,
    *,
    options: Sequence[str] = (),
    hides: Hides | None = None,
) -> Iterator[list[str]]:
    """Yield lists of the regular files below a folder that no rule ignores, relative to the root, in no order.

    All of them where the folder is itself one that is ignored. `options` are ripgrep's.
    """
    ignored = ripgrep.names_left_out(relative)
    nothing = True
    for found in ripgrep.files(root, relative, cancelled, options, ignored=ignored):
        nothing = False
        yield found if hides is None else [path for path in found if not hides(path)]
    if nothing and not ignored and all_ignored(root, relative, cancelled):
        for found in ripgrep.files(root, relative, cancelled, options, ignored=True):
            yield found if hides is None else [path for path in found if not hides(path)]


def all_ignored(root: Path, relative: str, cancelled: threading.Event) -> bool:
    """Return whether the rules leave out all that lies below a folder, so that who names it wants it without them."""
    return bool(relative) and not any(ripgrep.files(root, relative, cancelled))


@dataclass
class Held:
    """Names of files and folders by the folder that holds them; folders are relative to the listed one, which is ""."""

    files: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    folders: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    total: int = 0
    complete: bool = True

    def add_files(self, found: Iterable[str], prefix: int) -> None:
        held = self.files
        for path in found:
            above, _, name = path.rpartition("/")
            held[above[prefix:] if prefix else above].append(name)

    def add_folders(self) -> None:
        """Put every folder into the one above it."""
        known = {""}
        for below in list(self.files):
            while below not in known:
                known.add(below)
                above, _, name = below.rpartition("/")
                self.folders[above].append(name)
                below = above
        self.total = len(known) - 1 + sum(map(len, self.files.values()))

    def first(self, keep: int) -> list[tuple[str, str]]:
        """Return (kind, path) of the first entries: folders before files, each followed by what it holds."""
        shown: list[tuple[str, str]] = []
        todo = [("folder", "")]
        while todo and len(shown) <= keep:
            kind, path = todo.pop()
            shown.append((kind, path))
            if kind == "folder":
                below = f"{path}/" if path else ""
                todo += [("file", below + name) for name in sorted(self.files.get(path, ()), reverse=True)]
                todo += [("folder", below + name) for name in sorted(self.folders.get(path, ()), reverse=True)]
        return shown[1 : keep + 1]


def tree(
    root: Path, path: paths.WorkspacePath, cancelled: threading.Event, keep: int, hides: Hides | None = None
) -> Listing:
    """Return the files below a folder that no rule ignores, and the folders that hold them, each below its folder.

    Raises PathError NOT_FOUND, NOT_A_DIRECTORY.
    """
    handle = open_folder(root, path)
    try:
        held = below(root, path.relative, cancelled, hides)
        shown = [Entry(name, kind, _size(name, handle) if kind == "file" else None) for kind, name in held.first(keep)]
    finally:
        os.close(handle)
    return Listing(shown, held.total, held.complete)


def below(root: Path, relative: str, cancelled: threading.Event, hides: Hides | None = None) -> Held:
    """Return the names of all files below a folder that no rule ignores, and of the folders that hold them."""
    held = Held()
    count = 0
    for found in files(root, relative, cancelled, hides=hides):
        held.add_files(found, len(relative) + 1 if relative else 0)
        count += len(found)
        if count >= MAX_ENTRIES:
            held.complete = False
            break
    held.add_folders()
    return held


# --- by the time of change -------------------------------------------------------------------------


def newest_first(root: Path, found: Sequence[str]) -> list[str]:
    """Return those of the paths that are regular files now, the last changed first, then by path."""
    dated: list[tuple[int, str]] = []
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for path in found:
            try:
                seen = os.stat(path, dir_fd=handle, follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISREG(seen.st_mode):
                dated.append((-seen.st_mtime_ns, path))
    finally:
        os.close(handle)
    return [path for _, path in sorted(dated)]
