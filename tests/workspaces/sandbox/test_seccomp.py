"""The filter's numbers and its shape."""

import re
from pathlib import Path

import pytest

from workspaces.sandbox import seccomp

HEADERS = {
    0: Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    1: Path("/usr/include/asm-generic/unistd.h"),
}


@pytest.mark.parametrize("column", HEADERS)
def test_the_numbers_are_those_of_the_kernels_headers(column: int) -> None:
    if not HEADERS[column].exists():
        pytest.skip("no kernel headers here")
    pattern = r"#define __NR(?:3264)?_(\w+)\s+(\d+)\s*$"
    known = dict(re.findall(pattern, HEADERS[column].read_text(), re.MULTILINE))
    calls = {name: numbers[column] for name, numbers in (seccomp.DENIED | seccomp.WATCHED).items()}
    wrong = {name: number for name, number in calls.items() if name in known and number != int(known[name])}
    assert wrong == {}
    assert len(calls.keys() - known.keys()) <= 3, "only the newest calls are unknown to the headers"


@pytest.mark.parametrize("machine", seccomp.ARCHITECTURES)
def test_the_program_is_a_whole_number_of_instructions_within_the_kernels_bound(machine: str) -> None:
    assert len(seccomp.program(machine)) % 8 == 0
    assert len(seccomp.program(machine)) // 8 < 4096


def test_an_unknown_machine_is_refused_in_words() -> None:
    with pytest.raises(seccomp.UnknownMachine, match="sparc"):
        seccomp.program("sparc")
