"""The filter: its numbers by two sources, what it says to each call on both machines, and calls really made."""

import ctypes
import errno
import os
import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workspaces.sandbox.conftest import Runner
from workspaces.sandbox import Outcome, seccomp

HEADERS = {
    0: Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    1: Path("/usr/include/asm-generic/unistd.h"),
}
CALLS = seccomp.DENIED | seccomp.WATCHED
ALLOW, KILL = 0x7FFF0000, 0x80000000
DENIED, UNKNOWN = errno.EPERM, errno.ENOSYS
I386, X32 = 0x40000003, 0x40000000
on_x86_64 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="machine code of x86_64")


@pytest.mark.parametrize("column", HEADERS)
def test_the_numbers_are_those_of_the_kernels_headers(column: int) -> None:
    if not HEADERS[column].exists():
        pytest.skip("no kernel headers here")
    pattern = r"#define __NR(?:3264)?_(\w+)\s+(\d+)\s*$"
    known = dict(re.findall(pattern, HEADERS[column].read_text(), re.MULTILINE))
    calls = {name: numbers[column] for name, numbers in CALLS.items() if numbers[column] is not None}
    wrong = {name: number for name, number in calls.items() if name in known and number != int(known[name])}
    assert wrong == {}
    assert len(calls.keys() - known.keys()) <= 3, "only the newest calls are unknown to the headers"


@pytest.mark.parametrize("machine", seccomp.ARCHITECTURES)
def test_the_numbers_are_those_of_libseccomp(machine: str) -> None:
    """The second source: its tables are made from the kernel's own for each architecture, not from one header."""
    try:
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        pytest.skip("no libseccomp here")
    column, token = list(seccomp.ARCHITECTURES).index(machine), ctypes.c_uint32(seccomp.ARCHITECTURES[machine])
    found = {name: library.seccomp_syscall_resolve_name_arch(token, name.encode()) for name in CALLS}
    known = {name: number for name, number in found.items() if number >= 0}
    assert {name: CALLS[name][column] for name in known} == known
    assert len(known) > 40
    absent = {name for name, numbers in CALLS.items() if numbers[column] is None}
    assert not absent & known.keys()


# --- what it says ----------------------------------------------------------------------------------------


def verdict(machine: str, number: int, *arguments: int, architecture: int | None = None) -> int:
    """Run the filter on one call, as the kernel does (its classic BPF), and return what it says.

    The error number where it refuses, else the whole action.
    """
    told = struct.pack("<iIQ6Q", number, architecture or seccomp.ARCHITECTURES[machine], 0, *(*arguments, *[0] * 6)[:6])
    code: list[tuple[int, int, int, int]] = list(struct.iter_unpack("<HBBI", seccomp.program(machine)))
    at = loaded = 0
    while True:
        kind, then, otherwise, value = code[at]
        at += 1
        match kind:
            case 0x20:
                (loaded,) = struct.unpack_from("<I", told, value)
            case 0x15:
                at += then if loaded == value else otherwise
            case 0x35:
                at += then if loaded >= value else otherwise
            case 0x45:
                at += then if loaded & value else otherwise
            case 0x06:
                return value & 0xFFFF if value & 0xFFFF0000 == 0x00050000 else value
            case _:
                raise AssertionError(f"the kernel takes no instruction {kind:#x} in a filter")


machines = pytest.mark.parametrize("machine", seccomp.ARCHITECTURES)


def number(machine: str, name: str) -> int:
    found = CALLS[name][list(seccomp.ARCHITECTURES).index(machine)]
    assert found is not None
    return found


@machines
def test_every_call_of_the_list_is_denied_and_the_next_to_none(machine: str) -> None:
    column = list(seccomp.ARCHITECTURES).index(machine)
    denied = {numbers[column] for numbers in seccomp.DENIED.values()} - {None}
    watched = {numbers[column] for numbers in seccomp.WATCHED.values()}
    for each in range(1024):
        if each not in watched:
            assert verdict(machine, each) == (DENIED if each in denied else ALLOW), each


@machines
@pytest.mark.parametrize("flag", [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000])
def test_no_new_namespace_of_any_kind(machine: str, flag: int) -> None:
    assert verdict(machine, number(machine, "unshare"), flag) == DENIED
    assert verdict(machine, number(machine, "clone"), flag | 17) == DENIED


@machines
def test_processes_and_threads_are_made_as_ever(machine: str) -> None:
    threads = 0x3D0F00  # what pthread_create asks for
    assert verdict(machine, number(machine, "clone"), 0x01200011) == ALLOW
    assert verdict(machine, number(machine, "clone"), threads) == ALLOW
    assert verdict(machine, number(machine, "clone3")) == UNKNOWN
    assert verdict(machine, number(machine, "unshare"), 0x80) == DENIED
    assert verdict(machine, number(machine, "unshare"), 0x400) == ALLOW


@machines
@pytest.mark.parametrize(
    ("family", "protocol", "said"),
    [
        *((family, 0, ALLOW) for family in (1, 2, 10, 16)),
        *((2, protocol, ALLOW) for protocol in (1, 6, 17, 262)),
        *((family, 0, errno.EAFNOSUPPORT) for family in range(50) if family not in (1, 2, 10, 16)),
        *(
            (family, protocol, errno.EPROTONOSUPPORT)
            for family in (2, 10)
            for protocol in (33, 115, 132, 136, 255, 256)
        ),
    ],
)
def test_sockets_are_of_the_ordinary_families_and_protocols(
    machine: str, family: int, protocol: int, said: int
) -> None:
    assert verdict(machine, number(machine, "socket"), family, 1, protocol) == said
    if protocol == 0:
        assert verdict(machine, number(machine, "socketpair"), family, 1, 0) == said


@machines
def test_terminals_are_neither_written_to_nor_given_other_drivers(machine: str) -> None:
    for request in (0x5412, 0x541C, 0x5423, 0x5412 | 1 << 32):
        assert verdict(machine, number(machine, "ioctl"), 0, request) == DENIED
    assert verdict(machine, number(machine, "ioctl"), 0, 0x5401) == ALLOW


@machines
def test_another_architecture_ends_the_process(machine: str) -> None:
    for other in {I386, 0x40000028, *seccomp.ARCHITECTURES.values()} - {seccomp.ARCHITECTURES[machine]}:
        assert verdict(machine, 20, architecture=other) == KILL


def test_the_other_numbers_of_x86_64_do_not_exist() -> None:
    assert verdict("x86_64", X32 + 39) == UNKNOWN
    assert verdict("x86_64", X32 + 165) == UNKNOWN
    assert verdict("x86_64", 0xFFFFFFFF - 2**32) == UNKNOWN


@machines
def test_the_program_is_within_the_kernels_bound(machine: str) -> None:
    assert len(seccomp.program(machine)) // 8 < 4096


def test_an_unknown_machine_is_refused_in_words() -> None:
    with pytest.raises(seccomp.UnknownMachine, match="sparc"):
        seccomp.program("sparc")


# --- calls really made -----------------------------------------------------------------------------------

INT_80 = """
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid of i386); int 0x80; ret
print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))(), flush=True)
"""


@on_x86_64
def test_a_call_by_the_gate_of_32_bit_programs_ends_the_process(run: Runner, bare: Callable[[str], Outcome]) -> None:
    (run.tree / "gate.py").write_text(INT_80)
    if bare("python3 gate.py").exit_code != 0:
        pytest.skip("this kernel has no such gate")
    assert int(run.output) > 1
    assert run("python3 gate.py").signal == "SIGSYS"
    assert run.output.strip() in ("", "Bad system call")


@on_x86_64
@pytest.mark.parametrize("name", sorted(name for name, numbers in seccomp.DENIED.items() if numbers[0] is not None))
def test_a_denied_call_is_refused_by_the_kernel(run: Runner, name: str) -> None:
    call = f"c = ctypes.CDLL(None, use_errno=True); r = c.syscall({number('x86_64', name)}, 0, 0, 0, 0, 0, 0)"
    run(f'python3 -c "import ctypes; {call}; print(r, ctypes.get_errno())"')
    assert run.output.split() == ["-1", str(errno.EPERM)]


def test_a_module_of_a_rare_protocol_is_not_loaded(run: Runner) -> None:
    run('python3 -c "import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)"')
    assert "Protocol not supported" in run.output
