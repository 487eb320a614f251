"""Writes git objects by ourselves: blobs, trees and commits as loose objects that are on disk before they are named.

Git's own `hash-object` would open a file by its name once more and follow a link that an agent put there meanwhile, and
would cost a process each. The format is that of git's documentation (gitformat-loose, Pro Git 10.2).
"""

import ctypes
import errno
import hashlib
import os
import tempfile
import time
import zlib
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

TEMPORARY = "tmp_obj_"
"""How git too begins the name of an object that is being written."""
_OPEN = 200
"""Files that are open at a time."""
_IN_ORDER = frozenset({0xEF53, 0x58465342})
"""ext4 and XFS (linux/magic.h): they have one journal, so who syncs one file has all that was logged before it. Others,
such as btrfs, log file by file."""
_START, _WAIT = 2, 7
"""sync_file_range(2): begin to write the bytes out; wait until they are."""

_libc = ctypes.CDLL(None, use_errno=True)


def object_id(kind: str, size: int, pieces: Iterable[bytes]) -> str:
    """Return the id that git gives to an object of this kind and these bytes."""
    digest = hashlib.sha1(b"%s %d\0" % (kind.encode(), size), usedforsecurity=False)
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


class Objects:
    """Objects on their way into the repository at `folder`.

    `add` writes each beside the others under a name that means nothing; `flush` makes all of them durable, bytes and
    names, in that order: a crash of the machine leaves an object whole or not at all, and what a row names after a
    flush is there. What was never flushed is taken away by `discard`, or by `sweep` after a kill.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = os.path.join(folder, "objects")
        self._waiting: dict[str, str] = {}

    def add(self, kind: str, data: bytes) -> str:
        """Write an object that the repository lacks, and return its id."""
        oid = object_id(kind, len(data), (data,))
        if oid not in self._waiting and not self._is_there(oid):
            handle, temporary = tempfile.mkstemp(prefix=TEMPORARY, dir=self._folder)
            self._waiting[oid] = temporary
            with open(handle, "wb", buffering=0) as file:
                _write_all(handle, zlib.compress(b"%s %d\0" % (kind.encode(), len(data)) + data, 1))
                os.fchmod(handle, 0o444)
                if _keeps_order(self._folder):
                    _sync_range(file.fileno(), _START)
        return oid

    def flush(self, *, ref_follows: bool = False) -> None:
        """Make all that was added durable and give it its name.

        `ref_follows`: git moves a ref next, and syncs it; where the file system keeps order, the names come with it.
        """
        waiting, self._waiting = self._waiting, {}
        if not waiting:
            return
        ordered = _keeps_order(self._folder)
        _sync(list(waiting.values()), ordered=ordered)
        for oid, temporary in waiting.items():
            os.replace(temporary, self._place(oid))
        folders = [os.path.join(self._folder, name) for name in {oid[:2] for oid in waiting}]
        if not ordered:
            _sync([*folders, self._folder], ordered=False)
        elif not ref_follows:
            _sync(folders[:1], ordered=False)

    def discard(self) -> None:
        """Take away what was not flushed."""
        for temporary in self._waiting.values():
            Path(temporary).unlink(missing_ok=True)
        self._waiting = {}

    def _is_there(self, oid: str) -> bool:
        try:
            return os.stat(f"{self._folder}/{oid[:2]}/{oid[2:]}").st_size > 0  # a crash may leave an empty one of git's
        except FileNotFoundError:
            return False

    def _place(self, oid: str) -> str:
        folder = f"{self._folder}/{oid[:2]}"
        with suppress(FileExistsError):
            os.mkdir(folder)
        return f"{folder}/{oid[2:]}"


def write(folder: Path, kind: str, data: bytes) -> str:
    """Store one object durably and return its id."""
    objects = Objects(folder)
    oid = objects.add(kind, data)
    objects.flush()
    return oid


def commit_data(tree: str, parent: str, message: str) -> bytes:
    """Return the bytes of a commit by Sakura itself, as `git commit-tree` makes them."""
    who = f"Sakura <sakura@sakura.invalid> {int(time.time())} +0000"
    text = message.replace("\0", "").rstrip("\n")
    return f"tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\n{text}\n".encode(errors="backslashreplace")


def sweep(folder: Path, older_than_s: float) -> None:
    """Take away half-written objects that a server left when it was killed."""
    for left in (folder / "objects").glob(f"{TEMPORARY}*"):
        if time.time() - left.stat().st_mtime > older_than_s:
            left.unlink(missing_ok=True)


def _write_all(handle: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]


def _sync(paths: list[str], *, ordered: bool) -> None:
    """Have these files or folders on disk. `ordered`: their bytes first, then one journal entry for all of them."""
    for start in range(0, len(paths), _OPEN):
        handles = [os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in paths[start : start + _OPEN]]
        try:
            written = ordered and all(_sync_range(handle, _WAIT) for handle in handles)
            for handle in handles[-1:] if written else handles:
                os.fsync(handle)
        finally:
            for handle in handles:
                os.close(handle)


def _sync_range(handle: int, flags: int) -> bool:
    """Write the file's bytes out and return whether the file system can do that. Raises OSError when it failed."""
    if _libc.sync_file_range(handle, ctypes.c_longlong(0), ctypes.c_longlong(0), flags) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ESPIPE):
        return False
    raise OSError(code, os.strerror(code))


@lru_cache(maxsize=64)
def _keeps_order(folder: str) -> bool:
    """Return whether one sync of the folder's file system makes all that was done before durable."""
    about = (ctypes.c_long * 32)()  # struct statfs begins with the type
    return _libc.statfs(os.fsencode(folder), about) == 0 and about[0] in _IN_ORDER
