"""Goes through all that lies below a folder, however deep: without recursion, by a few descriptors, through no link."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Met:
    """One entry below the folder; a folder is met twice, before and `after` what is in it.

    `handle` is a descriptor of the folder that holds it, open until the next entry is asked for.
    """

    handle: int
    name: str
    is_folder: bool
    after: bool
    way: list[str]
    """The folders from the first to this one; it changes as the walk goes on."""

    @property
    def path(self) -> str:
        return "/".join([*self.way, self.name])


def below(folder: Path | str, dir_fd: int | None = None) -> Iterator[Met]:
    """Yield all that lies below a folder; entries may be changed and removed meanwhile.

    Folders that can't be entered are met all the same. Where somebody moves a folder while the walk is in it, the walk
    ends: what lies above it now may be anything. Raises OSError where the first folder can't be opened.
    """
    walk = _Walk(os.open(folder, _FOLDER, dir_fd=dir_fd))
    try:
        yield from walk.all()
    finally:
        os.close(walk.handle)


@dataclass(frozen=True, slots=True)
class _Level:
    """A folder from the first to where the walk is: what it is known by, and which folders in it wait."""

    sign: tuple[int, int]
    waiting: list[str]


class _Walk:
    """Holds open the folder where it is and none above: it comes back by `..`, and looks whether that is the same."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self._way: list[str] = []
        self._levels: list[_Level] = []

    def all(self) -> Iterator[Met]:
        """Yield everything, each folder's own entries first."""
        yield from self._entries()
        while self._levels:
            if not self._levels[-1].waiting:
                self._levels.pop()
                if not self._levels or not self._go_up():
                    return
                yield Met(self.handle, self._way.pop(), True, True, self._way)
                continue
            name = self._levels[-1].waiting.pop()
            if self._go_down(name):
                yield from self._entries()
            else:
                yield Met(self.handle, name, True, True, self._way)

    def _entries(self) -> Iterator[Met]:
        """Yield what is in the folder, and note which folders wait there."""
        level = _Level(_sign(os.stat(self.handle)), [])
        self._levels.append(level)
        with os.scandir(self.handle) as found:
            for item in found:
                is_folder = item.is_dir(follow_symlinks=False)
                if is_folder:
                    level.waiting.append(item.name)
                yield Met(self.handle, item.name, is_folder, False, self._way)

    def _go_down(self, name: str) -> bool:
        """Enter a folder, if it is there, open to us, and the way back leads where we are."""
        try:
            inner = os.open(name, _FOLDER, dir_fd=self.handle)
        except OSError:
            return False
        try:
            leads_back = _sign(os.stat("..", dir_fd=inner)) == self._levels[-1].sign
        except OSError:  # it may be listed, but nothing in it reached
            leads_back = False
        if not leads_back:
            os.close(inner)
            return False
        os.close(self.handle)
        self.handle = inner
        self._way.append(name)
        return True

    def _go_up(self) -> bool:
        """Go back to the folder above, if that is the one we came from."""
        try:
            outer = os.open("..", _FOLDER, dir_fd=self.handle)
        except OSError:
            return False
        os.close(self.handle)
        self.handle = outer
        return _sign(os.stat(outer)) == self._levels[-1].sign


def _sign(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
