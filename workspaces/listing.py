"""What lies in a folder of a workspace: its entries, or the files below it that are not ignored."""

import os
import stat
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from workspaces import names, paths, ripgrep

MAX_ENTRIES = 100_000


@dataclass(frozen=True)
class Entry:
    """One name, relative to the listed folder. Kind: folder, file, link or special; only files have a size."""

    name: str
    kind: str
    size: int | None = None


def folder(root: Path, path: paths.WorkspacePath) -> list[Entry]:
    """Return all entries of one folder, ignored ones too, save version control; folders first."""
    handle = open_folder(root, path)
    try:
        with os.scandir(handle) as found:
            entries = [_entry(entry) for _, entry in zip(range(MAX_ENTRIES), found, strict=False)]
    finally:
        os.close(handle)
    return sorted((e for e in entries if e.name not in ripgrep.VCS), key=_folders_first)


def open_folder(root: Path, path: paths.WorkspacePath) -> int:
    """Return a descriptor of the folder. Raises PathError NOT_FOUND, NOT_A_DIRECTORY."""
    try:
        return paths.open_folder(root, path.relative)
    except FileNotFoundError:
        raise paths.PathError("NOT_FOUND", paths.missing(root, path)) from None
    except NotADirectoryError:
        raise paths.PathError("NOT_A_DIRECTORY", f"{path.given} is not a folder; read_file reads files.") from None


def _entry(entry: os.DirEntry[str]) -> Entry:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return Entry(names.shown(entry.name), "special")
    kind = _kind(found.st_mode)
    return Entry(names.shown(entry.name), kind, found.st_size if kind == "file" else None)


def _kind(mode: int) -> str:
    kinds: tuple[tuple[Callable[[int], bool], str], ...] = (
        (stat.S_ISREG, "file"),
        (stat.S_ISDIR, "folder"),
        (stat.S_ISLNK, "link"),
    )
    return next((kind for test, kind in kinds if test(mode)), "special")


def _folders_first(entry: Entry) -> tuple[bool, str]:
    return entry.kind != "folder", entry.name


def files(root: Path, relative: str, cancelled: threading.Event) -> Iterator[str]:
    """Yield the regular files below a folder that no rule ignores, as paths relative to the root, in no order."""
    for piece in ripgrep.run(["--files", "--null"], root, relative, separator=b"\0", cancelled=cancelled):
        yield os.fsdecode(piece.removeprefix(b"./"))


def tree(root: Path, path: paths.WorkspacePath, cancelled: threading.Event) -> list[Entry]:
    """Return the files below a folder that no rule ignores, and the folders that hold them, each below its folder."""
    os.close(open_folder(root, path))
    prefix = f"{path.relative}/" if path.relative else ""
    found: dict[str, str] = {}
    for file in files(root, path.relative, cancelled):
        name = file.removeprefix(prefix)
        found[name] = "file"
        while "/" in name and len(found) < MAX_ENTRIES:
            name = name.rpartition("/")[0]
            found[name] = "folder"
        if len(found) >= MAX_ENTRIES:
            break
    ordered = sorted(found, key=lambda name: _tree_order(name, found))
    return [Entry(name, found[name], None) for name in ordered]


def _tree_order(name: str, kinds: dict[str, str]) -> list[tuple[bool, str]]:
    """Order folders before files at each level, and what a folder holds right after it."""
    parts = name.split("/")
    return [*((False, part) for part in parts[:-1]), (kinds[name] == "file", parts[-1])]


def size(root: Path, relative: str) -> int | None:
    """Return the size of a regular file; None for what is none (any more)."""
    try:
        found = os.lstat(root / relative)
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None
