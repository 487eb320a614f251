"""Reads what pytest and unittest print, where there is no report: one line for each test."""

import re

from workspaces.proving.formats.found import Found
from workspaces.proving.results import TestState

_STATES = {
    **dict.fromkeys(("PASSED", "XPASS"), TestState.PASSED),
    **dict.fromkeys(("FAILED", "ERROR"), TestState.FAILED),
    **dict.fromkeys(("SKIPPED", "XFAIL"), TestState.SKIPPED),
}
_WORDS = "|".join(_STATES)
_VERBOSE = re.compile(rf"(\S+::\S.*?) ({_WORDS})(?: \(.*\))?(?: +\[ *\d+%\])?")
_DISTRIBUTED = re.compile(rf"\[gw\d+\] \[ *\d+%\] ({_WORDS}) (\S+::.*)")
_SUMMARY = re.compile(rf"({_WORDS}) (\S+::.*)")
_UNCOLLECTED = re.compile(r"ERROR (\S+\.py)(?: - .*)?")
_TOTALS = re.compile(r"=* ?((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s\b.*")
_COUNTED = re.compile(r"(\d+) (passed|failed|skipped|xfailed|xpassed)")


def summed(line: str) -> int | None:
    """Return how many tests pytest's last line counts; None for any other line."""
    if not (match := _TOTALS.fullmatch(line)):
        return None
    return sum(int(number[:9]) for number, _ in _COUNTED.findall(match[1]))


class PytestLines:
    """Lines of `-v`, else of the summary of `-rA`; and the files that could not be collected."""

    is_unique = True

    def __init__(self) -> None:
        self.total = 0
        """Tests that the last lines of all of its runs count."""
        self._verbose: Found = []
        self._summary: Found = []
        self._uncollected: Found = []

    def take(self, line: str) -> None:
        if "::" not in line and not line.startswith(("ERROR ", "=")) and " in " not in line:
            return
        if match := _VERBOSE.fullmatch(line):
            self._verbose.append((match[1], _STATES[match[2]]))
        elif match := _DISTRIBUTED.fullmatch(line):
            self._verbose.append((match[2], _STATES[match[1]]))
        elif match := _SUMMARY.fullmatch(line):
            self._summary.append((match[2].partition(" - ")[0], _STATES[match[1]]))
        elif match := _UNCOLLECTED.fullmatch(line):
            self._uncollected.append((match[1], TestState.FAILED))
        else:
            self.total += summed(line) or 0

    def found(self) -> Found:
        tests = self._verbose or self._summary
        is_whole = len({name for name, _ in tests}) >= self.total
        return [*(tests if is_whole else ()), *self._uncollected] if self.total or self._uncollected else []


_STARTS = re.compile(r" *([\w.]+) \(([\w.<>]+)\)(.*)")
_HEADER = re.compile(r"(?:FAIL|ERROR|UNEXPECTED SUCCESS): ([\w.]+) \(([\w.<>]+)\).*")
_RAN = re.compile(r"Ran (\d{1,9}) tests? in .*")
_ENDS = (
    ("expected failure", TestState.SKIPPED),
    ("unexpected success", TestState.FAILED),
    ("FAIL", TestState.FAILED),
    ("ERROR", TestState.FAILED),
    ("ok", TestState.PASSED),
)
_SKIPPED = re.compile(r"(?:.* )?skipped (?:'.*'|\".*\")")


class UnittestLines:
    """Lines of unittest's `-v`, as Django prints them too; what a test prints may stand between its two ends."""

    is_unique = True

    def __init__(self) -> None:
        self._states: dict[str, TestState | None] = {}
        self._open = ""
        self._ran = 0

    def take(self, line: str) -> None:
        if match := _HEADER.fullmatch(line):
            self._states[_dotted(match[1], match[2])] = TestState.FAILED
            self._open = ""
        elif (match := _STARTS.fullmatch(line)) and (" ... " in match[3] or not match[3]):
            self._open = _dotted(match[1], match[2])
            self._states.setdefault(self._open, None)
            self._end(match[3])
        elif match := _RAN.fullmatch(line):
            self._ran += int(match[1])
            self._open = ""
        elif self._open:
            self._end(line)

    def _end(self, text: str) -> None:
        state = TestState.SKIPPED if _SKIPPED.fullmatch(text) else None
        state = state or next((state for word, state in _ENDS if text.endswith(word)), None)
        if state is None:
            return
        if self._states[self._open] is not TestState.FAILED:
            self._states[self._open] = state
        self._open = ""

    def found(self) -> Found:
        """Return the tests; one whose end was not seen passed, since those that failed are told at the end again."""
        if not self._ran or len(self._states) < self._ran:
            return []
        return [(name, state or TestState.PASSED) for name, state in self._states.items()]


def _dotted(method: str, within: str) -> str:
    if "._FailedTest" in within:
        return method
    return within if within.endswith(f".{method}") else f"{within}.{method}"
