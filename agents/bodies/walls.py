"""The wall around a command in words, as it was stored with it (Applied in workspaces/sandbox/place.py)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agents import told
from agents.bodies.parts import Names, names_of
from agents.templatetags.sakura import count_of, number, size
from agents.told import count, rows, text
from workspaces.sandbox import Tree

MEMORY = {"cgroup": "memory by cgroup", "watchdog": "memory watched"}
MODES: dict[str, str] = {
    Tree.WRITE: "may be written",
    Tree.READ: "read-only",
    Tree.OVERLAY: "on a layer that is thrown away",
}


@dataclass(frozen=True)
class Made:
    """The connections of one command to one target."""

    target: str
    opened: int
    refused: int
    failed: int
    sent: int
    received: int
    why: str


@dataclass(frozen=True)
class Wall:
    """What was applied. `limits` in words; `memory`: how a command that takes too much of it is found."""

    level: str
    bwrap: str
    uid: int | None
    hosts: Names
    files: str
    limits: tuple[str, ...]
    memory: str
    secrets: tuple[str, ...]
    masked: int
    notes: tuple[str, ...]
    connections: tuple[Made, ...]

    @property
    def is_full(self) -> bool:
        return self.level == "full"

    @property
    def sent(self) -> int:
        return sum(made.sent for made in self.connections)

    @property
    def received(self) -> int:
        return sum(made.received for made in self.connections)


def wall(applied: Any) -> Wall | None:
    """Return the wall as it was stored; None where no command ran yet."""
    found = applied if isinstance(applied, dict) else {}
    level = text(found.get("level"))
    if not level:
        return None
    limits = found.get("limits")
    limits = limits if isinstance(limits, dict) else {}
    return Wall(
        level=level,
        bwrap=text(found.get("bwrap")),
        uid=count(found.get("uid")),
        hosts=names_of(found.get("network")),
        files=MODES.get(text(found.get("mode")), ""),
        limits=tuple(say(amount) for key, say in _LIMITS.items() if (amount := _amount(limits.get(key)))),
        memory=MEMORY.get(text(found.get("memory")), ""),
        secrets=tuple(told.texts(found.get("secrets"))),
        masked=count(found.get("masked")) or 0,
        notes=tuple(told.texts(found.get("notes"))[:20]),
        connections=tuple(map(_made, rows(found.get("connections")))),
    )


def _amount(value: Any) -> float:
    """Return an amount of the data; 0, which stands for no limit, also for what is none."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 10**15 else 0


def _made(row: dict[str, Any]) -> Made:
    numbers = {key: count(row.get(key)) or 0 for key in ("opened", "refused", "failed", "sent", "received")}
    return Made(target=text(row.get("target")), why=text(row.get("why")), **numbers)


def _sized(words: str) -> Callable[[float], str]:
    return lambda amount: words.format(size(int(amount)))


def _counted(words: str) -> Callable[[float], str]:
    return lambda amount: words.format(number(int(amount)))


_LIMITS: dict[str, Callable[[float], str]] = {
    "timeout_s": lambda amount: f"{amount:,.0f} s",
    "cpu_s": lambda amount: f"{amount:,.0f} s of processor time",
    "memory_bytes": _sized("{} of memory"),
    "cpus": lambda amount: count_of(int(amount), "processor"),
    "processes": lambda amount: count_of(int(amount), "process,processes"),
    "file_bytes": _sized("{} a file"),
    "open_files": _counted("{} open files"),
    "output_bytes": _sized("{} of output"),
    "tmp_bytes": _sized("{} in /tmp"),
    "shm_bytes": _sized("{} in /dev/shm"),
    "disk_floor_bytes": _sized("{} of disk stay free"),
    "memory_floor_bytes": _sized("{} of memory stay free"),
}
"""Each limit by its name in sandbox.Limits, and how an amount of it is written."""
