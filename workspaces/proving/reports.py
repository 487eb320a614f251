"""Opens the reports that tests left behind: regular files, through no link, as many and as large as a report may be."""

import os
import re
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from workspaces import opening

REPORT_BYTES = 64 << 20
FILES_LIMIT = 2000
ENTRIES_LIMIT = 100_000
DEPTH_LIMIT = 12
_SKIPPED = frozenset({b".git", b"node_modules", b".venv", b"venv", b".tox"})
_REPORT = re.compile(rb"(?:.*/)?(?:(?:surefire|failsafe)-reports/[^/]*|test-results/(?:[^/]*/)?[^/]*|TEST-[^/]*)\.xml")


@contextmanager
def opened(root: Path, path: bytes) -> Iterator[BinaryIO | None]:
    """Open a report below a folder; None where there is none, or it is no regular file, or too large for one."""
    with suppress(OSError):
        folder, _, name = path.rpartition(b"/")
        with opening.folder(root, folder) as parent:
            handle = opening.readable(parent, name)
        with open(handle, "rb") as file:
            found = os.fstat(handle)
            is_report = stat.S_ISREG(found.st_mode) and found.st_size <= REPORT_BYTES
            yield file if is_report else None
            return
    yield None


@dataclass
class _Walk:
    since_ns: int
    names: Collection[bytes]
    found: list[bytes]
    entries: int = 0


def in_tree(tree: Path, since_ns: int, names: Collection[bytes] = ()) -> list[bytes]:
    """Return the paths of JUnit XML in a tree that build tools wrote, and of files called `names`, in order.

    Only those written since a time, so that none counts that lay there before.
    """
    walk = _Walk(since_ns, names, [])
    with suppress(OSError), opening.folder(tree) as handle:
        _look(walk, handle, b"", 0)
    return sorted(walk.found)


def _look(walk: _Walk, folder: int, path: bytes, depth: int) -> None:
    with os.scandir(folder) as entries:
        children = []
        for entry in entries:
            walk.entries += 1
            if walk.entries > ENTRIES_LIMIT:
                break
            children.append((os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)))
    for name, is_folder in sorted(children):
        if len(walk.found) >= FILES_LIMIT or walk.entries > ENTRIES_LIMIT:
            return
        below = path + b"/" + name if path else name
        with suppress(OSError):
            if is_folder and depth < DEPTH_LIMIT and name not in _SKIPPED:
                with opening.entered(name, folder) as handle:
                    _look(walk, handle, below, depth + 1)
            elif not is_folder and (_REPORT.fullmatch(below) or name in walk.names):
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISREG(found.st_mode) and found.st_mtime_ns >= walk.since_ns:
                    walk.found.append(below)
