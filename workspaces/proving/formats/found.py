"""What a reader of test results found: tests with their states, as many as are kept."""

from collections.abc import Iterable
from typing import Protocol

from workspaces.proving.results import TESTS_LIMIT, TestState

Found = list[tuple[str, TestState]]
RAW_NAME_LIMIT = 4000
"""Characters of a name as it was written; what comes after is not looked at."""
FOUND_LIMIT = 4 * TESTS_LIMIT
"""Entries of one reader: a test may be told more than once."""


class Lines(Protocol):
    """Reads what a command printed, line by line, without colours and line ends."""

    is_unique: bool
    """A name stands for one test: told twice, it is the same test; else it is another of the same name."""

    def take(self, line: str) -> None: ...

    def found(self) -> Found:
        """Return the tests; none where what was printed is of another form, or doesn't tell all of them."""
        ...


class Kept:
    """A bounded list of tests."""

    def __init__(self) -> None:
        self.tests: Found = []
        self.is_cut = False

    def add(self, name: str, state: TestState) -> None:
        if len(self.tests) >= FOUND_LIMIT:
            self.is_cut = True
        else:
            self.tests.append((name[:RAW_NAME_LIMIT], state))

    def extend(self, tests: Iterable[tuple[str, TestState]]) -> None:
        for name, state in tests:
            self.add(name, state)
