"""What a crash in mid-write is made good with: notes of the writes that were begun, in a folder outside the tree."""

import contextlib
import errno
import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from workspaces.paths import open_folder, split

LOG_BYTES = 1 << 20
"""What a log of notes holds before it becomes the old one, and the old one goes; thousands of writes."""
_LOG, _OLD = "begun.log", "begun.old"
_IS_TEMPORARY = re.compile(r"\.sakura-[0-9a-f]{16}\.tmp")
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.ENODEV})


def note(folder: Path, path: str, temporary: str) -> None:
    """Note that a write of the path begins, and the name of the temporary that will be beside it.

    One short append, that a dying process makes whole or not at all and that costs a few microseconds. The other ways
    cost more: a file for each write a hundred, a walk over the tree at the next start more time the larger the tree is.
    After a power cut the last notes may be missing; then a temporary may stay, and nothing else.
    """
    line = json.dumps([path, temporary]).encode() + b"\n"
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    try:
        log = os.open(f"{folder}/{_LOG}", flags, 0o600)
    except FileNotFoundError:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = os.open(f"{folder}/{_LOG}", flags, 0o600)
    try:
        os.write(log, line)
        if os.lseek(log, 0, os.SEEK_CUR) > LOG_BYTES:
            os.replace(f"{folder}/{_LOG}", f"{folder}/{_OLD}")
    finally:
        os.close(log)


def begun(folder: Path) -> dict[str, list[str]]:
    """Return the paths whose writes were begun, in order, with the names of their temporaries."""
    found: dict[str, list[str]] = {}
    for name in (_OLD, _LOG):
        try:
            data = (folder / name).read_bytes()
        except FileNotFoundError:
            continue
        for line in data.split(b"\n"):
            with contextlib.suppress(ValueError):  # a disk that ran full cut it short
                path, temporary = json.loads(line)
                found.setdefault(path, []).append(temporary)
    return found


def remove_temporaries(root: Path, folder: Path) -> None:
    """Remove what the writes that were begun left in the tree; to be called while nobody writes."""
    for path, temporaries in begun(folder).items():
        with unless_gone():
            above = open_folder(root, split(path)[0])
            try:
                for name in temporaries:
                    _remove(above, name)
            finally:
                os.close(above)


def _remove(above: int, name: str) -> None:
    """Remove a temporary of ours from a folder: a regular file of just such a name."""
    if not _IS_TEMPORARY.fullmatch(name):
        return
    with unless_gone():
        if stat.S_ISREG(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=above)


@contextlib.contextmanager
def unless_gone() -> Iterator[None]:
    """Pass over what is not there any more, or was swapped for a link or a device; there is nothing to make good."""
    try:
        yield
    except OSError as error:
        if error.errno not in _GONE:
            raise
