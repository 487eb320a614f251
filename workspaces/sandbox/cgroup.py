"""A group of the kernel's (cgroup v2) for each command, where the operator delegated a folder for them: SAKURA_CGROUP.

The group bounds what a watchdog can only look at now and then, and is killed as a whole. The files and their meaning
are those of the kernel's Documentation/admin-guide/cgroup-v2.rst.
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from django.conf import settings

from workspaces.sandbox.place import Limits

SHELL = "/bin/sh"
ENTER = 'echo 0 > "$0" && exec "$@"'
CONTROLLERS = ("memory", "pids", "cpu")
PERIOD_US = 100_000
WEIGHT = 50
"""Half of what a group has by default, so that the server beside them answers while commands use the processors."""
OURS = 16
"""Processes of a command's group that are not its own: those that set the sandbox up, and the way to the network."""
GONE_S = 1.0
GROUPS = 10_000
CURE = (
    "delegate a folder to the server's user, as systemd does by Delegate=yes and DelegateSubgroup=server "
    "(docs/settings.md)"
)


@dataclass(frozen=True)
class Groups:
    """The folder that groups are made in, and the controllers that work there."""

    folder: Path
    controllers: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """The group of one command."""

    path: Path
    controllers: tuple[str, ...]

    def entering(self) -> list[str]:
        """Return the words in front of a program that let it start inside; no process more."""
        return [SHELL, "-c", ENTER, str(self.path / "cgroup.procs")]

    def members(self) -> list[int]:
        """Return the numbers of the processes in it."""
        return [int(word) for word in _words(self.path / "cgroup.procs") or ()]

    def kill(self) -> None:
        """Kill all that is in the group."""
        with suppress(OSError):  # gone, or a kernel before 5.14: there is the pidfd
            _write(self.path / "cgroup.kill", "1")

    def ran_out_of_memory(self) -> bool:
        """Return whether the kernel killed for this group's bound of memory."""
        return _counted(self.path / "memory.events", "oom_kill") > 0

    def remove(self) -> None:
        """Remove the group once it is empty, within a second; else the next start does it."""
        until = time.monotonic() + GONE_S
        while not _removed(self.path) and time.monotonic() < until:
            time.sleep(0.005)


class Unusable(Exception):
    """Why the folder can't be used, and what to do, in a sentence."""


def open_groups() -> Groups | None:
    """Return the configured folder with its controllers, switched on for groups below; None where none is configured.

    Raises Unusable.
    """
    if not settings.SAKURA_CGROUP:
        return None
    folder = Path(settings.SAKURA_CGROUP)
    offered = _words(folder / "cgroup.controllers")
    if offered is None:
        raise Unusable(f"it is no folder of cgroup v2; name one below /sys/fs/cgroup, and {CURE}")
    for name in CONTROLLERS:
        if name in offered:
            with suppress(OSError):  # what is not on is told below
                _write(folder / "cgroup.subtree_control", f"+{name}")
    on = _words(folder / "cgroup.subtree_control") or set()
    return Groups(folder, tuple(name for name in CONTROLLERS if name in on))


def missing(groups: Groups) -> str:
    """Return what the folder does not bound and why, in a sentence; "" where it bounds all."""
    off = [name for name in CONTROLLERS if name not in groups.controllers]
    if not off:
        return ""
    offered = _words(groups.folder / "cgroup.controllers") or set()
    why = (
        "processes are in the folder itself: start the server in a folder below it"
        if offered.issuperset(off)
        else "the folder above does not hand them on: add them to its cgroup.subtree_control"
    )
    return f"SAKURA_CGROUP={groups.folder} has no controllers {', '.join(off)} for commands, since {why}."


@contextmanager
def group(groups: Groups, token: str, limits: Limits) -> Iterator[Group]:
    """Make the group of a command with its bounds; it is killed and removed after the block. Raises OSError."""
    made = Group(groups.folder / _name(token), groups.controllers)
    made.path.mkdir()
    try:
        for name, value in bounds(limits, groups.controllers):
            _set(made.path / name, value)
        yield made
    finally:
        made.kill()
        made.remove()


def bounds(limits: Limits, controllers: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the files to write, with what goes in; a group's memory counts files in memory too."""
    if "memory" in controllers:
        yield "memory.max", str(limits.memory_bytes + limits.tmp_bytes + limits.shm_bytes)
        yield "memory.swap.max", "0"
        yield "memory.oom.group", "1"
    if "pids" in controllers:
        yield "pids.max", str(limits.processes + OURS)
    if "cpu" in controllers:
        yield "cpu.weight", str(WEIGHT)
        if limits.cpus:
            yield "cpu.max", f"{limits.cpus * PERIOD_US} {PERIOD_US}"


def _set(path: Path, value: str) -> None:
    if path.name == "memory.swap.max" and not path.exists():
        return  # a machine without swap
    _write(path, value)


def end(token: str) -> None:
    """Kill and remove the group of a command of a dead server, where there is one."""
    if settings.SAKURA_CGROUP:
        left = Group(Path(settings.SAKURA_CGROUP) / _name(token), ())
        if left.path.is_dir():
            left.kill()
            left.remove()


def remove_empty(is_known: Callable[[str], bool]) -> None:
    """Remove the empty groups of this installation whose command nobody knows; another may be about to start."""
    if not settings.SAKURA_CGROUP:
        return
    start = _name("")
    for path in islice(Path(settings.SAKURA_CGROUP).glob(f"{start}*"), GROUPS):
        if not is_known(path.name.removeprefix(start)):
            _removed(path)


def _name(token: str) -> str:
    """Return the name of a command's group; several installations may share the folder."""
    mine = hashlib.sha256(str(settings.SAKURA_DATA_DIR).encode()).hexdigest()[:8]
    return f"sakura-{mine}-{token}"


def _removed(path: Path) -> bool:
    try:
        path.rmdir()
    except FileNotFoundError:
        return True
    except OSError:  # something in it still dies
        return False
    return True


def _write(path: Path, value: str) -> None:
    """Write to a file of the kernel's: it must be there, and takes the value in one piece."""
    handle = os.open(path, os.O_WRONLY)
    try:
        os.write(handle, value.encode("ascii"))
    finally:
        os.close(handle)


def _words(path: Path) -> set[str] | None:
    try:
        return set(path.read_text(encoding="ascii").split())
    except OSError:
        return None


def _counted(path: Path, name: str) -> int:
    """Return a count of an events file, 0 where it is not told."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name} ")), 0)
