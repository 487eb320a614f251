"""Facts about processes of this machine, from /proc: start times, the memory and the members of a sandbox."""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
MARKED_ROUNDS = 5
PAGE = os.sysconf("SC_PAGE_SIZE")


def start_time(pid: int) -> int | None:
    """Return when the process started, in clock ticks since boot (field 22 of proc_pid_stat(5)).

    None if it is gone, or dead and only not yet waited for by its parent.
    """
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = text.rpartition(")")[2].split()
    return None if state in {"Z", "X"} else int(fields[18])


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


def kill_group(leader: int) -> None:
    """Kill a process group; its leader must not have been waited for yet, so that the number is still its own."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return


def kill_marked(word: str) -> None:
    """Kill what carries the mark, some times over: a process may fork while its siblings die."""
    for _ in range(MARKED_ROUNDS):
        found = marked(word)
        for pid in found:
            _kill(pid)
        if not found:
            return


def kill_and_wait(handle: int, timeout_s: float) -> bool:
    """Kill the process that a pidfd stands for, return whether it was gone in time.

    The first process of a sandbox takes all others with it, and counts as gone only after them.
    """
    try:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        return True
    waiting = select.poll()  # select() takes no descriptor past 1023, and a busy server has those
    waiting.register(handle, select.POLLIN)
    if not waiting.poll(timeout_s * 1000):
        return False
    with suppress(ChildProcessError):  # ours only where this server adopts orphans, as in a container
        os.waitid(os.P_PIDFD, handle, os.WEXITED | os.WNOHANG)
    return True


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


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
