"""Facts about processes of this machine, from /proc: start times, the memory and the members of a sandbox."""

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
MARKED_ROUNDS = 5
MARK = "SAKURA_COMMAND"
"""The variable by which the processes of a command are found; in the sandbox only bubblewrap itself has it."""
_MARKED = f"{MARK}=".encode()
PAGE = os.sysconf("SC_PAGE_SIZE")
INODE_BYTES = 1024
"""What a file in memory costs the kernel beside its content, about: its inode and the entry of its name."""


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
    """Return the bytes that the processes of a sandbox hold, by its own /proc, and its files in memory.

    Resident sizes count shared pages again for each process, so proportional sizes decide where the sum is too big.
    """
    root = PROC / str(init) / "root"
    if not _is_set_up(root):
        return 0
    folder, files = root / "proc", _files_in_memory(root)
    resident = files + sum(_resident(folder / name) for name in _numbers(folder))
    if resident <= limit_bytes:
        return resident
    return files + sum(_proportional(folder / name) for name in _numbers(folder))


def memory_left() -> int:
    """Return what the machine could still give without swapping (proc_meminfo(5), MemAvailable)."""
    for line in _read(PROC / "meminfo").splitlines():
        if line.startswith(b"MemAvailable:"):
            return int(line.split()[1]) * 1024
    return sys.maxsize


def _is_set_up(root: Path) -> bool:
    """Return whether a sandbox has a root of its own already: until then all that would be counted is the server's."""
    try:
        return root.stat().st_dev != Path("/").stat().st_dev
    except OSError:  # it ended
        return False


def _files_in_memory(root: Path) -> int:
    """Return what a sandbox's files in memory take that nothing else bounds.

    A throw-away layer writes into the root's own file system, which takes half of the machine's memory; /tmp and
    /dev/shm have a size, but as many files as they like.
    """
    used = 0
    for place in (root, root / "tmp", root / "dev" / "shm"):
        try:
            found = os.statvfs(place)
        except OSError:  # the sandbox ended
            continue
        used += (found.f_files - found.f_ffree) * INODE_BYTES
        used += (found.f_blocks - found.f_bfree) * found.f_frsize if place == root else 0
    return used


def out_of_memory_kills() -> int:
    """Return how many processes the kernel has killed for memory on this machine, 0 where it does not tell."""
    _, _, rest = _read(PROC / "vmstat").partition(b"\noom_kill ")
    return int(rest.split(b"\n", 1)[0] or 0)


def mark(pid: int) -> str:
    """Return the word that the process carries as MARK in the environment it started with, or ""."""
    found = _read(PROC / str(pid) / "environ").split(b"\0")
    return next((each[len(_MARKED) :].decode("ascii", "replace") for each in found if each.startswith(_MARKED)), "")


def kill_group(leader: int) -> None:
    """Kill a process group; its leader must not have been waited for yet, so that the number is still its own."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return


def kill_marked(words: set[str]) -> set[str]:
    """Kill what carries one of the marks, some times over: a process may fork while its siblings die.

    Return the words that were found. Reads the environments of all processes, some 10 ms.
    """
    killed: set[str] = set()
    for _ in range(MARKED_ROUNDS if words else 0):
        found = {word for name in _numbers(PROC) if (word := _kill_if_marked(int(name), words))}
        killed |= found
        if not found:
            break
    return killed


def _kill_if_marked(pid: int, words: set[str]) -> str:
    """Kill the process and return its mark, if it is one of these; its number can't be another's meanwhile."""
    if mark(pid) not in words or (handle := open_pidfd(pid)) is None:
        return ""
    try:
        word = mark(pid)
        if word not in words:
            return ""
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        return ""
    finally:
        os.close(handle)
    return word


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
