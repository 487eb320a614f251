"""Where set-up's folders are mounted in a tree that commands write to: never through a link put there meanwhile.

Bubblewrap follows links on the way to a mount point, and makes what is missing there: outside, on the host, if a
command that runs on swaps a folder for a link just then. So a command in the background has each folder on the way as a
mount of its own, which the kernel lets it neither rename nor replace; and where one runs on that has not, nothing is
mounted.
"""

import os
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath

Inode = tuple[int, int]
Way = Mapping[str, Inode]
"""A mount point and each folder on the way to it, by path below the root: what lies there."""


def ready(root: Path, name: PurePosixPath, uid: int | None, *, is_file: bool) -> dict[str, Inode] | None:
    """Make an empty folder or file to mount on and return the way there; None where the run put something else there.

    No link is followed: the folders belong to the run.
    """
    way: dict[str, Inode] = {}
    with ExitStack() as opened:
        try:
            here = _opened(opened, root)
            for count, part in enumerate(name.parts[:-1], start=1):
                here = _opened(opened, part, here)
                way["/".join(name.parts[:count])] = _inode(os.fstat(here))
            found = _placed(here, name.name, uid, is_file=is_file)
        except (FileNotFoundError, NotADirectoryError):
            return None
    return None if found is None else way | {str(name): _inode(found)}


def _opened(opened: ExitStack, path: Path | str, parent: int | None = None) -> int:
    flags = os.O_DIRECTORY | os.O_PATH | os.O_CLOEXEC | (0 if parent is None else os.O_NOFOLLOW)
    handle = os.open(path, flags, dir_fd=parent)
    opened.callback(os.close, handle)
    return handle


def _inode(found: os.stat_result) -> Inode:
    return found.st_dev, found.st_ino


def _placed(parent: int, name: str, uid: int | None, *, is_file: bool) -> os.stat_result | None:
    try:
        if is_file:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644, dir_fd=parent))
        else:
            os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
        fits = stat.S_ISREG(found.st_mode) and not found.st_size if is_file else stat.S_ISDIR(found.st_mode)
        return found if fits else None
    if uid is not None:
        os.chown(name, uid, uid, dir_fd=parent, follow_symlinks=False)
    return os.stat(name, dir_fd=parent, follow_symlinks=False)


# --- what commands that run on hold -------------------------------------------------------------------


_lock = threading.Lock()
_held: dict[Path, list[Way]] = {}
"""By root: what each command that runs on has as mounts."""


def is_held(root: Path, way: Way) -> bool:
    """Return whether every command that runs on below the root holds all of the way, so that none can change it."""
    with _lock:
        return all(way.items() <= each.items() for each in _held.get(root, ()))


@contextmanager
def holding(root: Path, way: Way) -> Iterator[None]:
    """Know that a command runs on which has these as mounts; open meanwhile, so that no number is used again."""
    with ExitStack() as opened:
        for path in way:
            opened.callback(os.close, os.open(root / path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC))
        with _lock:
            _held.setdefault(root, []).append(way)
        try:
            yield
        finally:
            with _lock:
                _held[root].remove(way)
                if not _held[root]:
                    del _held[root]
