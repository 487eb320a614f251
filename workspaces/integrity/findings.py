"""The shapes of an integrity report: what a run changed of what decides what the tests mean."""

from dataclasses import dataclass, field
from enum import StrEnum


class FindingKind(StrEnum):
    """What happened to the tests' meaning."""

    REMOVED = "removed"
    """A test, or a check in one, is gone."""
    SKIPPED = "skipped"
    """A test stays, and does not run, or may fail."""
    LOOSENED = "loosened"
    """A check accepts more than it did."""
    RETUNED = "retuned"
    """What a check expects is another value: of a test, a fixture, a stored snapshot."""
    CONFIGURATION = "configuration"
    """Options, scripts, targets or pipelines that decide which tests run, and how."""
    SHADOWED = "shadowed"
    """A file that is found, or loaded, in place of or before the one that is tested."""
    ADDED = "added"
    """New tests; nothing bad by itself."""


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
