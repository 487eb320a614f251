"""Which of its limits a command met: by how it ended, or by its own words where the kernel only refused."""

import os
import re
from enum import StrEnum

from workspaces.sandbox.place import Ending, Limits, Outcome


class Limit(StrEnum):
    """A limit of a command, in the word that programs are told."""

    NONE = ""
    TIME = "time"
    CPU = "cpu"
    OUTPUT = "output"
    MEMORY = "memory"
    PROCESSES = "processes"
    OPEN_FILES = "open_files"
    FILE_SIZE = "file_size"
    DISK = "disk"
    TMP = "tmp"
    SHM = "shm"


ENDED_BY = {
    Ending.TIMEOUT: Limit.TIME,
    Ending.OUTPUT_LIMIT: Limit.OUTPUT,
    Ending.MEMORY_LIMIT: Limit.MEMORY,
    Ending.DISK_LIMIT: Limit.DISK,
}
CPU_SHARE = 0.9
"""So much of its processor time must a command have had, by the clock, before its end is put down to that limit."""

# What programs say when the kernel refuses: the words of strerror(3) and strsignal(3), and those that runtimes make of
# them. A heap that a runtime bounds by itself (Node's, Java's) is none of our limits.
# No pattern may look far from each place where it could begin: a command prints what takes longest.
_CPU = re.compile(r"\bCPU ?time limit exceeded", re.IGNORECASE)
_KILLED = re.compile(r": line \d+: +\d+ Killed\b|^make(?:\[\d+\])?: \*\*\* .* Killed$|^Killed$", re.MULTILINE)
_NO_SPACE = re.compile(r"^.*(?:No space left on device|\bENOSPC: no space left\b).*$", re.MULTILINE)
_REFUSALS = (
    (
        Limit.PROCESSES,
        re.compile(
            r"\b(?:v?fork|clone|spawn|threads?|pthread_create)\b[^\n]{0,200}?"
            r"(?:Resource temporarily unavailable|\bEAGAIN\b)"
            r"|(?:os\.fork|fork_exec)\([^\n]{0,200}\n(?:[^\n]{0,200}\n){0,6}?BlockingIOError: \[Errno 11\]"
            r"|\bcan't start new thread\b|\bunable to create (?:new )?native thread\b"
            r"|\bfailed to create new OS thread\b"
        ),
    ),
    (Limit.OPEN_FILES, re.compile(r"\btoo many open files\b(?! in system)", re.IGNORECASE)),
    (Limit.FILE_SIZE, re.compile(r"\bFile size limit exceeded|\bFile too large\b")),
    (
        Limit.MEMORY,
        re.compile(
            r"^(?:\w+\.)*_?(?:Array)?MemoryError\b|\bCannot allocate memory\b|\bstd::bad_alloc\b"
            r"|\bmemory allocation of \d+ bytes failed\b|\bOut of memory, malloc failed\b|^Out of memory!"
            r"|^fatal error: (?:runtime: )?(?:cannot allocate memory|out of memory)$",
            re.MULTILINE,
        ),
    ),
)


def met(outcome: Outcome, limits: Limits, text: str) -> Limit:
    """Return the limit that ended a command, or that it ran into and failed; `text` is what it printed.

    Words alone prove nothing: a command that ended well met no limit, whatever it printed.
    """
    if outcome.ending is not Ending.EXIT:
        return ENDED_BY.get(outcome.ending, Limit.NONE)
    if not outcome.exit_code or outcome.applied.get("level") != "full":
        return Limit.NONE
    return _by_signal(outcome, limits, text) or refused(text)


def _by_signal(outcome: Outcome, limits: Limits, text: str) -> Limit:
    """Return the limit whose signal ended the command, or a child of it as a shell or make reports."""
    if outcome.signal == "SIGXFSZ":
        return Limit.FILE_SIZE
    was_killed = outcome.signal == "SIGKILL" or _KILLED.search(text) is not None
    if was_killed and outcome.out_of_memory:
        return Limit.MEMORY
    over = outcome.signal == "SIGXCPU" or _CPU.search(text) is not None
    return Limit.CPU if (over or was_killed) and _may_have_burnt(outcome, limits) else Limit.NONE


def _may_have_burnt(outcome: Outcome, limits: Limits) -> bool:
    """Return whether one process can have used all its processor time since the start."""
    return outcome.duration_ms / 1000 * (os.cpu_count() or 1) >= limits.cpu_s * CPU_SHARE


def refused(text: str) -> Limit:
    """Return the limit at which the kernel refused something, by what was printed."""
    found = next((limit for limit, pattern in _REFUSALS if pattern.search(text)), Limit.NONE)
    return found or _no_space(text)


def _no_space(text: str) -> Limit:
    """Return which folder in memory is full: the disk has its floor, and a command never comes to its end."""
    lines = [match[0] for match in _NO_SPACE.finditer(text)]
    if not lines:
        return Limit.NONE
    return Limit.SHM if any("/dev/shm" in line for line in lines) else Limit.TMP  # noqa: S108  compared, not used
