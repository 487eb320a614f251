"""Reads what minitest (`-v`) and ctest print: one line for each test, in a form of its own."""

import re

from workspaces.proving.formats.found import Found
from workspaces.proving.results import TestState

_MINITEST = re.compile(r"(\S+#\S.*) = [\d.]+ s = ([.FES])")
_LETTERS = {".": TestState.PASSED, "S": TestState.SKIPPED}
_RUNS = re.compile(r"(\d{1,9}) (?:runs|tests), \d+ assertions, .*")


class MinitestLines:
    """Lines of minitest's `-v`."""

    is_unique = False

    def __init__(self) -> None:
        self._tests: Found = []
        self._ran = 0

    def take(self, line: str) -> None:
        if " s = " in line and (match := _MINITEST.fullmatch(line)):
            self._tests.append((match[1], _LETTERS.get(match[2], TestState.FAILED)))
        elif match := _RUNS.fullmatch(line):
            self._ran += int(match[1])

    def found(self) -> Found:
        return self._tests if len(self._tests) >= self._ran else []


_CTEST = re.compile(r" *\d+/\d+ Test +#\d+: (\S+(?: [^ .]\S*)*) \.{2,}(.*) [\d.]+ sec *")
_NO_TESTS = "No tests were found!!!"


class CtestLines:
    """Lines of ctest, which tells each test as it ends."""

    is_unique = False

    def __init__(self) -> None:
        self._tests: Found = []

    def take(self, line: str) -> None:
        if " Test " in line and (match := _CTEST.fullmatch(line)):
            self._tests.append((match[1], _ctest_state(match[2])))

    def found(self) -> Found:
        return self._tests


def _ctest_state(words: str) -> TestState:
    if words.strip() == "Passed":
        return TestState.PASSED
    is_skipped = "***Skipped" in words or "(Disabled)" in words
    return TestState.SKIPPED if is_skipped else TestState.FAILED
