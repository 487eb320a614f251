"""The shapes of what verify commands showed."""

from dataclasses import dataclass, field
from enum import StrEnum

from workspaces.sandbox.place import Ending

NOT_RUN = frozenset({Ending.CANCELLED, Ending.UNAVAILABLE})
"""Endings that say nothing of what a command verifies."""
TESTS_LIMIT = 50_000
"""Tests of one command that are kept by name."""


class TestState(StrEnum):
    """How one test ended."""

    PASSED = "passed"
    FAILED = "failed"
    """Failed, or could not begin."""
    SKIPPED = "skipped"
    """Skipped, ignored, or expected to fail."""


@dataclass(frozen=True)
class CommandResult:
    """How one verify command ended. It is stored as JSON (dataclasses.asdict), so it holds what JSON can.

    `exit_code` is None where it never exited, and `ending` (a sandbox Ending) says why. `tests`: the state of each test
    by name, empty where no reader understood the output; `reader` names what did, "" for none: then the exit code
    counts.
    """

    command: str
    exit_code: int | None
    ending: str
    duration_ms: int
    ran_as: str = ""
    """The command as it was run, where something was added so that tests can be told one by one."""
    reader: str = ""
    tests: dict[str, str] = field(default_factory=dict)
    is_cut: bool = False
    """More tests than TESTS_LIMIT, so only the exit code counts."""
    output_tail: str = ""
    """The end of what it printed, as plain text, at most 8,000 characters."""
    output_ref: str = ""
    """Under which /outputs/{ref} gives the whole; "" where the tail is all."""
    why: str = ""
    """A sentence where it could not run."""
    written: list[str] = field(default_factory=list)
    """Files of tests, at most 20, that were written, replaced or removed while it ran."""
