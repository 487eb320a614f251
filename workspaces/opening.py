"""Opens what lies in a tree that may be hostile: by descriptors, through no link, also what its mode closes to us."""

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_REGULAR = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def folder(root: Path, path: bytes = b"") -> Iterator[int]:
    """Open a folder of the tree, going down from the root without following any link. Raises OSError."""
    here = ExitStack()
    try:
        handle = here.enter_context(entered(os.fsencode(root), None))
        for name in path.split(b"/") if path else ():
            with here:  # what is above may be closed again once what is below is open
                here = ExitStack()
                handle = here.enter_context(entered(name, handle))
        yield handle
    finally:
        here.close()


@contextmanager
def entered(name: bytes, parent: int | None, *, to_write: bool = False) -> Iterator[int]:
    """Open a folder, also one that its mode closes to its owner; then it has its mode back at the end.

    Root needs none; any other server is the user whom commands run as, so nothing can be kept from it like this.
    `to_write`: files are to be made or removed in it.
    """
    with ExitStack() as opened:
        if os.geteuid() != 0:
            rights = stat.S_IRUSR | stat.S_IXUSR | (stat.S_IWUSR if to_write else 0)
            opened.enter_context(_opened_up(name, parent, rights))
        handle = os.open(name, _FOLDER, dir_fd=parent)
        opened.callback(os.close, handle)
        yield handle


@contextmanager
def _opened_up(name: bytes, parent: int | None, rights: int) -> Iterator[None]:
    """Give the owner these rights to a file or folder for the moment; a link, or what is another's, is left alone."""
    if not _is_closed(os.stat(name, dir_fd=parent, follow_symlinks=False), rights):
        yield
        return
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        found, place = os.fstat(handle), f"/proc/self/fd/{handle}"
        if _is_closed(found, rights):
            os.chmod(place, stat.S_IMODE(found.st_mode) | rights)
        try:
            yield
        finally:
            if _is_closed(found, rights):
                os.chmod(place, stat.S_IMODE(found.st_mode))
    finally:
        os.close(handle)


def _is_closed(found: os.stat_result, rights: int) -> bool:
    return found.st_mode & rights != rights and not stat.S_ISLNK(found.st_mode) and found.st_uid == os.geteuid()


def readable(parent: int, name: bytes) -> int:
    """Open a file and return its descriptor, also one whose mode keeps its owner from it. Raises OSError."""
    try:
        return os.open(name, _REGULAR, dir_fd=parent)
    except PermissionError:
        with _opened_up(name, parent, stat.S_IRUSR):
            return os.open(name, _REGULAR, dir_fd=parent)
