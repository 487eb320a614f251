"""An integrity report as pages show it: findings by kind with both lines, lock files, and what could not be read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents import told
from agents.proof_shown import integrity_counts, suspect_words
from workspaces.integrity.findings import FINDINGS_LIMIT, MEANINGS, FindingKind

OPENED = 12
"""Findings of a kind up to which it is shown unfolded."""


@dataclass(frozen=True)
class Finding:
    """One finding; `link` leads to its line in the diff, "" where the diff has none."""

    path: str
    line: int
    name: str
    why: str
    old: str
    new: str
    link: str = ""


@dataclass(frozen=True)
class Group:
    """The findings of one kind; `more` of them are not listed."""

    kind: FindingKind
    findings: tuple[Finding, ...]
    more: int

    @property
    def title(self) -> str:
        return self.kind.capitalize()

    @property
    def meaning(self) -> str:
        return MEANINGS[self.kind]

    @property
    def is_suspect(self) -> bool:
        return self.kind is not FindingKind.ADDED

    @property
    def count(self) -> int:
        return len(self.findings) + self.more

    @property
    def is_open(self) -> bool:
        return self.is_suspect and len(self.findings) <= OPENED


@dataclass(frozen=True)
class Unread:
    """A file that could not be looked into."""

    path: str
    why: str


@dataclass(frozen=True)
class Shown:
    """A report; `suspect` is what may be bad in few words."""

    groups: tuple[Group, ...] = ()
    suspect: str = ""
    locks: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()
    more: int = 0
    """Findings that the report itself does not name."""


Links = Mapping[tuple[str, str, int], str]
"""Where the diff on a page has a line: by path, side (old, new) and number; number 0 is the file itself."""


def of(report: Any, links: Links | None = None) -> Shown:
    """Return a report, as a proof's row keeps it, for a page."""
    data = report if isinstance(report, dict) else {}
    listed = data.get("findings")
    rows = [row for row in listed[:FINDINGS_LIMIT] if isinstance(row, dict)] if isinstance(listed, list) else []
    counts = integrity_counts(data.get("counts"))
    groups = tuple(group for kind in FindingKind if (group := _group(kind, rows, counts, links or {})).count)
    named = sum(len(group.findings) for group in groups)
    return Shown(
        groups=groups,
        suspect=suspect_words(counts),
        locks=tuple(told.texts(data.get("locks"))),
        unread=tuple(_unread(data.get("unread"))),
        more=max(0, (told.count(data.get("count")) or 0) - named),
    )


def _group(kind: FindingKind, rows: list[dict[str, Any]], counts: dict[str, int], links: Links) -> Group:
    found = tuple(_finding(row, links) for row in rows if row.get("kind") == kind)
    return Group(kind, found, max(0, counts.get(kind, 0) - len(found)))


def _finding(row: dict[str, Any], links: Links) -> Finding:
    path = told.text(row.get("path"))
    old_line, new_line = told.count(row.get("old_line")) or 0, told.count(row.get("new_line")) or 0
    return Finding(
        path=path,
        line=new_line or old_line,
        name=told.text(row.get("name"), 300),
        why=told.text(row.get("why")),
        old=told.text(row.get("old"), 600),
        new=told.text(row.get("new"), 600),
        link=_link(path, old_line, new_line, links),
    )


def _link(path: str, old_line: int, new_line: int, links: Links) -> str:
    places = ((path, "new", new_line), (path, "old", old_line), (path, "new", 0))
    return next((links[place] for place in places if place in links), "")


def _unread(value: Any) -> list[Unread]:
    pairs = value if isinstance(value, list) else []
    whole = (pair for pair in pairs[: told.ROWS] if isinstance(pair, list | tuple) and len(pair) == 2)
    return [Unread(told.text(path), told.text(why)) for path, why in whole]
