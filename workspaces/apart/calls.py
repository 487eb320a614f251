"""The system calls that are left to a process that parses: memory, what is open already, time, its own end.

Numbers are those of the kernel's tables, as in workspaces.sandbox.seccomp; a test compares them with the headers.
"""

import functools

from workspaces.sandbox import seccomp

ALLOWED: dict[str, tuple[int | None, int | None]] = {  # name: (x86_64, aarch64)
    # what is open: the file, the answer, and the place where errors go
    "read": (0, 63),
    "pread64": (17, 67),
    "readv": (19, 65),
    "write": (1, 64),
    "writev": (20, 66),
    "lseek": (8, 62),
    "fstat": (5, 80),
    "close": (3, 57),
    # memory, none of it executable
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "brk": (12, 214),
    # locks, signals and clocks of its own
    "futex": (202, 98),
    "set_robust_list": (273, 99),
    "rseq": (334, 293),
    "membarrier": (324, 283),
    "sched_yield": (24, 124),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "restart_syscall": (219, 128),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "gettimeofday": (96, 169),
    "getrusage": (98, 165),
    # who it is, chance, the end
    "getpid": (39, 172),
    "gettid": (186, 178),
    "getrandom": (318, 278),
    "exit": (60, 93),
    "exit_group": (231, 94),
}


@functools.cache
def program() -> bytes:
    """Return the filter. Raises UnknownMachine where none is known."""
    return seccomp.only(ALLOWED)
