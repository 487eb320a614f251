"""The shapes of an integrity report: what a run changed of what decides what the tests mean."""

from dataclasses import dataclass, field
from enum import StrEnum


class FindingKind(StrEnum):
    """What happened to the tests' meaning, worst first."""

    REMOVED = "removed"
    SKIPPED = "skipped"
    LOOSENED = "loosened"
    SHADOWED = "shadowed"
    CONFIGURATION = "configuration"
    RETUNED = "retuned"
    ADDED = "added"


MEANINGS = {
    FindingKind.REMOVED: "a test, or a check in one, is gone",
    FindingKind.SKIPPED: "a test stays, and does not run, or may fail",
    FindingKind.LOOSENED: "a check accepts more than it did",
    FindingKind.SHADOWED: "a file is found, or loaded, in place of or before the one that is tested",
    FindingKind.CONFIGURATION: "options, scripts, targets or pipelines that decide which tests run, and how",
    FindingKind.RETUNED: "what a check expects is another value: of a test, a fixture, a stored snapshot",
    FindingKind.ADDED: "new tests; nothing bad by itself",
}
"""What each kind means, for people and models."""


@dataclass(frozen=True)
class Finding:
    """One change of what the tests mean. Lines count from 1; 0: not known, or none on that side."""

    kind: FindingKind
    path: str
    why: str
    """A sentence for people and models, without the path."""
    name: str = ""
    """The test, option, script or target it is about."""
    old_line: int = 0
    new_line: int = 0
    old: str = ""
    """The line, or lines, as at the baseline; at most 500 characters."""
    new: str = ""

    @property
    def is_suspect(self) -> bool:
        return self.kind is not FindingKind.ADDED


FINDINGS_LIMIT = 300
"""Findings that one report names."""


@dataclass(frozen=True)
class Report:
    """All findings on a snapshot, worst first, at most FINDINGS_LIMIT; `count` is how many there are in all.

    `locks`: lock files that differ; reported, nothing bad by itself. `unread`: files that could not be looked into, and
    why. The dump of one (dataclasses.asdict) is what a Proof row keeps.
    """

    findings: tuple[Finding, ...] = ()
    count: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    """How many of each kind."""
    locks: tuple[str, ...] = ()
    unread: tuple[tuple[str, str], ...] = ()

    @property
    def is_suspect(self) -> bool:
        return any(kind != FindingKind.ADDED for kind in self.counts)
