"""The shapes of a confined command: where it runs, what it may use, how it ended."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Limits:
    """What one command may use. Times in seconds of wall clock, sizes in bytes."""

    timeout_s: float = 120
    processes: int = 256
    cpu_s: int = 600
    memory_bytes: int = 4 * 1024**3
    file_bytes: int = 1024**3
    open_files: int = 1024
    output_bytes: int = 100 * 1024**2
    tmp_bytes: int = 512 * 1024**2
    shm_bytes: int = 64 * 1024**2
    disk_floor_bytes: int = 200 * 1024**2
    """So much must stay free where the tree lies; below it, a command is ended."""


class Tree(StrEnum):
    """How the workspace tree is mounted."""

    WRITE = "write"
    READ = "read"
    OVERLAY = "overlay"


@dataclass(frozen=True)
class Place:
    """Where a command runs. Host paths; inside, the tree is /workspace and HOME is /home/agent."""

    tree: Path
    home: Path
    mode: Tree = Tree.WRITE
    uid: int | None = None
    """The numeric uid and gid to run as when the server is root; None keeps the server's own."""
    objects: Path | None = None
    """The mirror's objects folder, mounted read-only where the agent's .git expects them."""
    environment: Path | None = None
    """What set-up made for this run's key (see workspaces/setup.py); None: nothing."""
    network: tuple[str, ...] = ()
    """host:port that the command may reach through the proxy; empty: no network at all."""
    hidden: tuple[str, ...] = ()
    """Paths below the tree that are covered (see covering.py)."""
    pinned: tuple[str, ...] = ()
    """Folders below the tree that can't be renamed: a covered path would then fit the policy's glob no more."""
    starts_at_real_path: bool = False
    """The command starts at the tree's path on the host, where that can be shown, so that `pwd` tells it."""
    secrets: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Variables with secret values for this one command; the values are masked in all it prints."""


class Ending(StrEnum):
    """Why a command ended."""

    EXIT = "exit"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    OUTPUT_LIMIT = "output_limit"
    MEMORY_LIMIT = "memory_limit"
    DISK_LIMIT = "disk_limit"
    UNAVAILABLE = "unavailable"


class Way(StrEnum):
    """What became of a connection to the outside."""

    REFUSED = "refused"
    OPENED = "opened"
    CLOSED = "closed"


@dataclass(frozen=True)
class Connection:
    """What happened to one connection of a command: refused, or opened and later closed with the bytes it carried.

    `number` counts from 1 within the command; `sent` and `received` are bytes, as seen from the command.
    """

    number: int
    target: str
    way: Way
    why: str = ""
    sent: int = 0
    received: int = 0


@dataclass(frozen=True)
class Outcome:
    """How a command ended. `exit_code` is the shell's (128 + signal where one ended it), None if it never exited.

    The whole output is in the spool file named at the start, up to the limit; `applied` is what the wall was:
    {"level", "bwrap", "uid", "network", "limits", "secrets", "masked"}.
    """

    ending: Ending
    exit_code: int | None
    duration_ms: int
    total_bytes: int
    applied: dict[str, Any] = field(default_factory=dict)
    why: str = ""
    signal: str = ""
