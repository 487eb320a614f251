"""Files of tests while the tests run: code under test that writes over one before it is loaded proves nothing."""

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from workspaces import globs, opening
from workspaces.integrity.roles import Role, role_of
from workspaces.names import shown

FILES_LIMIT = 50_000
TIME_LIMIT_S = 30
NAMED = 20
_WRITTEN_BY_TOOLS = globs.covering(("**/__snapshots__/**", "**/*.{snap,ambr}"))
"""Stored snapshots: tools add those of new tests while they run."""
Marks = dict[bytes, tuple[int, int] | None]


def marks(root: Path, paths: Iterable[bytes]) -> Marks:
    """Return what tells whether the files of tests among these paths are written later: inode and change time.

    No program can set the change time; None: there is no such file. Files that tools write themselves are left out.
    """
    folders: dict[bytes, list[bytes]] = {}
    for path in [path for path in paths if _is_kept(os.fsdecode(path))][:FILES_LIMIT]:
        folder, _, name = path.rpartition(b"/")
        folders.setdefault(folder, []).append(name)
    found: Marks = {}
    until = time.monotonic() + TIME_LIMIT_S
    for folder, names in folders.items():
        if time.monotonic() > until:
            break
        found |= _in_folder(root, folder, names)
    return found


def _is_kept(path: str) -> bool:
    return role_of(path) is Role.TEST and not _WRITTEN_BY_TOOLS(path)


def _in_folder(root: Path, folder: bytes, names: list[bytes]) -> Marks:
    found: Marks = {folder + b"/" + name if folder else name: None for name in names}
    with suppress(OSError), opening.folder(root, folder) as handle:
        for path, name in zip(tuple(found), names, strict=True):
            with suppress(OSError):
                seen = os.stat(name, dir_fd=handle, follow_symlinks=False)
                found[path] = seen.st_ino, seen.st_ctime_ns
    return found


def written(before: Marks, now: Marks) -> tuple[str, ...]:
    """Return the first files that were written, replaced or removed in between, as they are shown."""
    differing = (path for path in sorted(before) if path in now and before[path] != now[path])
    return tuple(shown(path) for path, _ in zip(differing, range(NAMED), strict=False))
