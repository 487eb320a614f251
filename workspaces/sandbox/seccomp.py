"""The filter on system calls: classic BPF for x86_64 and aarch64, built here so that it needs no library.

Numbers are those of the kernel's tables (arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h); a
test compares them with the headers of the machine.
"""

import errno
import functools
import platform
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

DENIED: dict[str, tuple[int | None, int | None]] = {  # name: (x86_64, aarch64)
    # mounts and namespaces
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "open_by_handle_at": (304, 265),
    "pidfd_getfd": (438, 438),
    # wide attack surface that no build needs
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "fanotify_init": (300, 262),
    "modify_ldt": (154, None),
    "kcmp": (312, 272),
    # old calls, which most kernels have no more
    "uselib": (134, None),
    "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
    # keyrings
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # the machine itself
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "syslog": (103, 116),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "vhangup": (153, 58),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "iopl": (172, None),
    "ioperm": (173, None),
}
WATCHED: dict[str, tuple[int, int]] = {
    "clone": (56, 220),
    "clone3": (435, 435),
    "unshare": (272, 97),
    "ioctl": (16, 29),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "ptrace": (101, 117),
    "process_vm_writev": (311, 271),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "semget": (64, 190),
}
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # AUDIT_ARCH_*

NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
NEW_TIME = 0x80  # in unshare only; in clone these bits are the signal
TERMINALS = (0x5412, 0x541C, 0x5423)  # TIOCSTI and TIOCLINUX inject; TIOCSETD loads line disciplines
LOCAL_FAMILIES = (1, 16)  # AF_UNIX, AF_NETLINK
INTERNET = (2, 10)  # AF_INET, AF_INET6
PROTOCOLS = (0, 1, 6, 17, 58, 262)  # the default, ICMP, TCP, UDP, ICMPv6, MPTCP; others load modules: SCTP, DCCP, L2TP
FIRST_PROCESS = 1
"""Bubblewrap's own in each sandbox. Who writes into it could let it outlive a server that is killed."""
SHARED_BYTES = 64 * 1024
"""What one piece of System V shared memory may measure: no process is seen to hold it. PostgreSQL takes 56 bytes."""
SEMAPHORES = 64
"""How many one System V array may hold; the kernel keeps them, and gives 32,000 arrays of 32,000."""
X32 = 0x40000000
PROT_EXEC = 0x4

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND, _THIRD = 0, 4, 16, 24, 32  # in struct seccomp_data; arguments' low halves
_HIGH = 4  # from an argument's low half to its high one
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000


class UnknownMachine(Exception):
    """No filter is known for this machine's architecture."""


@dataclass(frozen=True)
class _Step:
    """One instruction: where to go when its test holds and when not, as a verdict or as steps to skip."""

    code: int
    value: int = 0
    then: str | int = 0
    otherwise: str | int = 0


@functools.cache
def program(machine: str = "") -> bytes:
    """Return the filter as an array of struct sock_filter; what no step decides is allowed."""
    machine = _known(machine)
    return _assembled(_steps(machine), "allow")


def only(allowed: Mapping[str, tuple[int | None, int | None]], machine: str = "") -> bytes:
    """Return a filter that denies all but these calls, and these too where they would make memory executable."""
    machine = _known(machine)
    numbers = {name: number for name, both in allowed.items() if (number := both[_column(machine)]) is not None}
    steps = _of_machine(machine)
    for name in ("mmap", "mprotect"):
        steps += _when(numbers[name], _THIRD, [_Step(_ANY_BIT, PROT_EXEC, "denied")])
    steps += [_Step(_EQUAL, number, "allow") for number in numbers.values()]
    return _assembled(steps, "denied")


def _known(machine: str) -> str:
    machine = machine or platform.machine()
    if machine not in ARCHITECTURES:
        raise UnknownMachine(f"There is no system call filter for {machine}; use a machine with x86_64 or aarch64.")
    return machine


def _column(machine: str) -> int:
    return list(ARCHITECTURES).index(machine)


def _assembled(steps: list[_Step], otherwise: str) -> bytes:
    """Return the steps as code; what none of them decides falls to the verdict `otherwise`."""
    verdicts = {
        "allow": _ALLOW,
        "kill": _KILL,
        "denied": _ERRNO | errno.EPERM,
        "unknown": _ERRNO | errno.ENOSYS,
        "family": _ERRNO | errno.EAFNOSUPPORT,
        "protocol": _ERRNO | errno.EPROTONOSUPPORT,
    }
    names = sorted(verdicts, key=lambda name: name != otherwise)
    places = {name: len(steps) + offset for offset, name in enumerate(names)}
    code = [_pack(step, at, places) for at, step in enumerate(steps)]
    return b"".join(code + [struct.pack("<HBBI", _RETURN, 0, 0, verdicts[name]) for name in names])


def _pack(step: _Step, at: int, places: dict[str, int]) -> bytes:
    skip = [way if isinstance(way, int) else places[way] - at - 1 for way in (step.then, step.otherwise)]
    return struct.pack("<HBBI", step.code, *skip, step.value)


def _steps(machine: str) -> list[_Step]:
    column = _column(machine)
    watched = {name: numbers[column] for name, numbers in WATCHED.items()}
    steps = _of_machine(machine)
    steps += [_Step(_EQUAL, number, "denied") for numbers in DENIED.values() if (number := numbers[column]) is not None]
    steps.append(_Step(_EQUAL, watched["clone3"], "unknown"))
    steps += _when(watched["clone"], _FIRST, [_Step(_ANY_BIT, NEW_NAMESPACES, "denied")])
    steps += _when(watched["unshare"], _FIRST, [_Step(_ANY_BIT, NEW_NAMESPACES | NEW_TIME, "denied")])
    steps += _when(watched["ioctl"], _SECOND, [_Step(_EQUAL, number, "denied") for number in TERMINALS])
    steps += _when(watched["socket"], _FIRST, [*_allow(LOCAL_FAMILIES), *_go_on(INTERNET, "family")])
    steps += _when(
        watched["socket"], _THIRD, [*_allow(PROTOCOLS[:-1]), _Step(_EQUAL, PROTOCOLS[-1], "allow", "protocol")]
    )
    steps += _when(watched["socketpair"], _FIRST, [*_allow(LOCAL_FAMILIES), *_go_on(INTERNET, "family")])
    steps += [_Step(_EQUAL, watched[name], "unknown") for name in ("memfd_create", "memfd_secret")]
    sizes = [_Step(_AT_LEAST, SHARED_BYTES + 1, "denied"), _Step(_LOAD, _SECOND + _HIGH), _Step(_AT_LEAST, 1, "denied")]
    steps += _when(watched["shmget"], _SECOND, sizes)
    steps += _when(watched["semget"], _SECOND, [_Step(_AT_LEAST, SEMAPHORES + 1, "denied")])
    steps += _when(watched["ptrace"], _SECOND, [_Step(_EQUAL, FIRST_PROCESS, "denied")])
    steps += _when(watched["process_vm_writev"], _FIRST, [_Step(_EQUAL, FIRST_PROCESS, "denied")])
    return steps


def _of_machine(machine: str) -> list[_Step]:
    """Return the steps that every filter begins with: the number is loaded, and is one of this architecture."""
    steps = [_Step(_LOAD, _ARCHITECTURE), _Step(_EQUAL, ARCHITECTURES[machine], 0, "kill"), _Step(_LOAD, _NUMBER)]
    return [*steps, _Step(_AT_LEAST, X32, "unknown")] if machine == "x86_64" else steps


def _allow(values: Sequence[int]) -> list[_Step]:
    return [_Step(_EQUAL, value, "allow") for value in values]


def _go_on(values: Sequence[int], otherwise: str) -> list[_Step]:
    """Return steps that come to their end with one of the values only; any other gets the verdict."""
    *most, last = values
    return [
        *(_Step(_EQUAL, value, len(values) - at - 1) for at, value in enumerate(most)),
        _Step(_EQUAL, last, 0, otherwise),
    ]


def _when(number: int, argument: int, steps: list[_Step]) -> list[_Step]:
    """Return steps that look at one argument where the call has this number, and else are skipped."""
    passed = [_Step(_LOAD, argument), *steps, _Step(_LOAD, _NUMBER)]
    return [_Step(_EQUAL, number, 0, len(passed)), *passed]
