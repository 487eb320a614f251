"""What is needed to start one command, whether in the sandbox or (by the operator's wish) without it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from workspaces.sandbox.cgroup import Group
from workspaces.sandbox.place import Applied


@dataclass(frozen=True)
class Launch:
    """An argument list with its clean environment, the descriptors to hand on, and what the wall is."""

    argv: list[str]
    env: dict[str, str]
    cwd: Path
    uid: int | None
    applied: Applied
    fds: tuple[int, ...] = ()
    status: int | None = None
    """The reading end of bubblewrap's status pipe (its writing end is in `fds`); None without a sandbox."""
    release: Callable[[], None] = lambda: None
    """Close the descriptors here, once the process has them."""
    marker: str = ""
    """A word in the environment by which the processes of a command without a sandbox are found."""
    group: Group | None = None
    """The kernel's group that it starts in, where the operator delegated a folder for such."""
    disks: tuple[Path, ...] = ()
    """Folders whose free space is watched."""
