"""The shapes of a confined command: where it runs, what it may use, how it ended."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from django.conf import settings

MIB = 1024**2


def _set(name: str, unit: int = 1) -> int:
    """Return a default that the operator sets, as SAKURA_<name>."""
    return field(default_factory=lambda: int(getattr(settings, f"SAKURA_{name}")) * unit)


@dataclass(frozen=True)
class Limits:
    """What one command may use. Times in seconds of wall clock, sizes in bytes."""

    timeout_s: float = 120
    processes: int = _set("SANDBOX_PROCESSES")
    """Processes and threads at once."""
    cpu_s: int = _set("SANDBOX_CPU_S")
    """Processor time of one process."""
    memory_bytes: int = _set("SANDBOX_MEMORY_MB", MIB)
    """Data of one process, and what all of them hold together."""
    file_bytes: int = _set("SANDBOX_FILE_MB", MIB)
    open_files: int = _set("SANDBOX_OPEN_FILES")
    output_bytes: int = 100 * MIB
    tmp_bytes: int = _set("SANDBOX_TMP_MB", MIB)
    shm_bytes: int = _set("SANDBOX_SHM_MB", MIB)
    cpus: int = _set("SANDBOX_CPUS")
    """Processors at once, where a cgroup counts them; 0: as many as there are."""
    disk_floor_bytes: int = _set("DISK_FLOOR_MB", MIB)
    """So much must stay free where the tree lies; below it, a command is ended."""
    memory_floor_bytes: int = _set("MEMORY_FLOOR_MB", MIB)
    """So much must stay available on the machine: the kernel holds for a command what no process is seen to hold."""


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
    """The objects folder that is mounted read-only where the agent's .git expects it (see workspaces/readable.py)."""
    environment: Path | None = None
    """What set-up made for this run's key (see workspaces/setup.py); None: nothing."""
    network: tuple[str, ...] = ()
    """host:port that the command may reach through the proxy; empty: no network at all."""
    covering: tuple[str, ...] = ()
    """Globs of paths that the tree holds and a command may not see; they are found before each (see covering.py)."""
    hidden: tuple[str, ...] = ()
    """Paths below the tree that are covered (see covering.py)."""
    pinned: tuple[str, ...] = ()
    """Folders below the tree that can't be renamed: a covered path would then fit the policy's glob no more."""
    runs_on: bool = False
    """It runs in the background, while other commands start in the same tree."""
    starts_at_real_path: bool = False
    """The command starts at the tree's path on the host, where that can be shown, so that `pwd` tells it."""
    secrets: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Variables with secret values for this one command; the values are masked in all it prints."""
    withheld: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Secrets that the command does not get, and may print all the same, out of a file: they are masked too."""

    @property
    def known_secrets(self) -> tuple[tuple[str, str], ...]:
        """All secrets that are masked in what the command prints."""
        return (*self.withheld, *self.secrets)


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
    FAILED = "failed"
    OPENED = "opened"
    CLOSED = "closed"
    MORE = "more"


@dataclass(frozen=True)
class Connection:
    """What happened to one connection of a command: refused, or opened and later closed with the bytes it carried.

    FAILED: it was allowed, and the host not reached. MORE comes last and stands for `count` that were not told one by
    one. `number` counts from 1 within the command; `sent` and `received` are bytes, as seen from the command.
    """

    number: int
    target: str
    way: Way
    why: str = ""
    sent: int = 0
    received: int = 0
    count: int = 1


@dataclass
class Applied:
    """What the wall around a command was. It is stored with the command, so it holds what JSON can."""

    level: str
    """What the probe found: full, off or none."""
    bwrap: str = ""
    uid: int | None = None
    network: list[str] = field(default_factory=list)
    """host:port that it could reach."""
    limits: dict[str, Any] = field(default_factory=dict)
    """Those of Limits that held, by their names."""
    mode: str = ""
    """A Tree."""
    overlay: bool = False
    """Whether overlays are given here; without, a throw-away tree is a copy."""
    memory: str = ""
    """What finds that all its processes together take too much: cgroup or watchdog."""
    cgroup: list[str] = field(default_factory=list)
    """The controllers in force."""
    secrets: list[str] = field(default_factory=list)
    """Names of the secrets that it got."""
    notes: list[str] = field(default_factory=list)
    """Sentences on what was not as asked for."""
    masked: int = 0
    """How often a secret was masked in what it printed."""
    connections: list[dict[str, Any]] = field(default_factory=list)
    """Sums by target (telling.Sum)."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended. `exit_code` is the shell's (128 + signal where one ended it), None if it never exited.

    The whole output is in the spool file named at the start, up to the limit; `applied` is an Applied as a dict.
    """

    ending: Ending
    exit_code: int | None
    duration_ms: int
    total_bytes: int
    applied: dict[str, Any] = field(default_factory=dict)
    why: str = ""
    signal: str = ""
    out_of_memory: bool = False
    """The machine, or the command's cgroup, ran out of memory meanwhile, and the kernel killed something."""
