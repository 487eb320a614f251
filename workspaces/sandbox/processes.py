"""Facts about processes of this machine, from /proc: start times, the memory and the members of a sandbox."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")
PAGE = os.sysconf("SC_PAGE_SIZE")


def start_time(pid: int) -> int | None:
    """Return when the process started, in clock ticks since boot (field 22 of proc_pid_stat(5)); None if it is gone."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(text.rpartition(")")[2].split()[19])


def open_pidfd(pid: int) -> int | None:
    """Return a descriptor that stands for this process, whatever later gets its number; None if it is gone."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


def memory_used(init: int, limit_bytes: int) -> int:
    """Return the bytes that the processes of a sandbox hold, by its own /proc.

    Resident sizes count shared pages again for each process, so proportional sizes decide where the sum is too big.
    """
    folder = PROC / str(init) / "root" / "proc"
    resident = sum(_resident(folder / name) for name in _numbers(folder))
    if resident <= limit_bytes:
        return resident
    return sum(_proportional(folder / name) for name in _numbers(folder))


def marked(word: str) -> list[int]:
    """Return the processes that carry SAKURA_COMMAND=<word> in the environment they started with."""
    wanted = f"SAKURA_COMMAND={word}".encode()
    return [int(name) for name in _numbers(PROC) if wanted in _read(PROC / name / "environ").split(b"\0")]


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _numbers(folder: Path) -> Iterator[str]:
    try:
        yield from (name for name in os.listdir(folder) if name.isdigit())
    except OSError:  # the sandbox ended
        return


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # the process ended, or is not ours
        return b""


def _resident(process: Path) -> int:
    fields = _read(process / "statm").split()
    return int(fields[1]) * PAGE if len(fields) > 1 else 0


def _proportional(process: Path) -> int:
    for line in _read(process / "smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return _resident(process)
