"""Reads what `cargo test` and `cargo nextest` print: tests by the program that holds them."""

import re

from workspaces.proving.formats.found import Found
from workspaces.proving.results import TestState

_RUNNING = re.compile(r" *Running (?:(?:unittests )?(\S+) )?\(?(?:\S*/)?([\w-]+?)-[0-9a-f]{16}(?:\.exe)?\)?")
_DOCUMENTED = re.compile(r" *Doc-tests (\S+)")
_BEGINS = re.compile(r"running \d+ tests?")
_TEST = re.compile(r"test (\S.*?) \.\.\. ?(.*)")
_STATE = re.compile(r"(ok|FAILED|ignored)(?:, .*| <.*>)?|bench: .*")
_WORDS = {"ok": TestState.PASSED, "FAILED": TestState.FAILED, "ignored": TestState.SKIPPED}
_LINE = re.compile(r" \(line (\d{1,9})\)")
_MODE = re.compile(r" - (should panic|compile|compile fail)")
_RESULT = re.compile(r"test result: .*")
_BROKEN = re.compile(r"error: could not compile (`[^`]*`(?: \([^)]*\))?).*")


class CargoLines:
    """Lines of `cargo test`. Documentation tests are named without their line, in the order of their lines."""

    is_unique = False

    def __init__(self) -> None:
        self._tests: list[tuple[str, int, TestState]] = []
        self._binary = ""
        self._open = ""
        self._is_running = False
        self._broken: Found = []

    def take(self, line: str) -> None:
        if line.startswith("test ") and self._is_running:
            self._test(line)
        elif match := _BEGINS.fullmatch(line):
            self._is_running = True
        elif match := _RUNNING.fullmatch(line):
            self._binary = f"{match[2]} {match[1]}" if match[1] else match[2]
        elif match := _DOCUMENTED.fullmatch(line):
            self._binary = f"{match[1]} documentation"
        elif match := _BROKEN.fullmatch(line):
            self._broken.append((f"{match[1]} does not compile", TestState.FAILED))
        elif self._open:
            self._end(line)

    def _test(self, line: str) -> None:
        if _RESULT.fullmatch(line):
            self._is_running = False
        elif match := _TEST.fullmatch(line):
            self._open = match[1]
            self._end(match[2])

    def _end(self, text: str) -> None:
        """A test that prints to the terminal itself has its state at the end of a later line."""
        match = _STATE.fullmatch(text) or re.search(r"(ok|FAILED|ignored)$", text)
        if match:
            name = _MODE.sub("", self._open)
            numbered = _LINE.search(name)
            name = f"{self._binary}::{_LINE.sub('', name)}" if self._binary else _LINE.sub("", name)
            state = _WORDS[match[1]] if match[1] else TestState.PASSED
            self._tests.append((name, int(numbered[1]) if numbered else 0, state))
            self._open = ""

    def found(self) -> Found:
        ordered = sorted(self._tests, key=lambda each: each[:2])
        return [*((name, state) for name, _, state in ordered), *dict.fromkeys(self._broken)]


_NEXTEST = re.compile(r" *(?:TRY \d+ )?([A-Z]+)(?: \d+/\d+)? \[ *[\d.]+s\] +(?:\( *\d+/\d+\) +)?(\S+ +\S.*)")
_NEXTEST_STATES = {
    **dict.fromkeys(("PASS", "FLAKY", "LEAK"), TestState.PASSED),
    **dict.fromkeys(("FAIL", "TIMEOUT", "ABORT"), TestState.FAILED),
    "SKIP": TestState.SKIPPED,
}
_SIGNALS = re.compile(r"SIG[A-Z]+")


class NextestLines:
    """Lines of nextest up to its summary, which tells those that failed again; the last try counts."""

    is_unique = True

    def __init__(self) -> None:
        self._tests: dict[str, TestState] = {}
        self._broken: Found = []
        self._is_over = False

    def take(self, line: str) -> None:
        if line.lstrip().startswith("Summary ["):
            self._is_over = True
        elif match := _BROKEN.fullmatch(line):
            self._broken.append((f"{match[1]} does not compile", TestState.FAILED))
        elif not self._is_over and " [" in line and (match := _NEXTEST.fullmatch(line)):
            state = TestState.FAILED if _SIGNALS.fullmatch(match[1]) else _NEXTEST_STATES.get(match[1])
            if state:
                self._tests["::".join(match[2].split(None, 1))] = state

    def found(self) -> Found:
        return [*self._tests.items(), *dict.fromkeys(self._broken)]
