"""The policy that applied to a run, as its page shows it: ordered rules, lists, and whose each part is."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents import policies
from agents.models import Run
from agents.policies import Applied
from agents.protected import REPOSITORY, TASK
from agents.templatetags.sakura import count_of

SHOWN = 20
"""Entries of a list, and rules, that a page shows."""
WHOSE = {"task": "task", "repository": "repository", "settings": "settings", "both": "task and repository"}
_LISTS = (
    ("protected", "Protected"),
    ("unprotected", "Not protected"),
    ("hidden", "Hidden"),
    ("blocklist", "Blocked"),
    ("secrets_allowed", "May hold secrets"),
)


@dataclass(frozen=True)
class Entry:
    """A line with whose it is."""

    text: str
    whose: str


@dataclass(frozen=True)
class Part:
    """One list under its label; `more`: entries that are not shown."""

    label: str
    entries: tuple[Entry, ...]
    more: int


@dataclass(frozen=True)
class Ruled:
    """What the panel shows. `tests`: globs of further ones; `tests_by`: who lets them be changed, "" for nobody."""

    rules: Part
    parts: tuple[Part, ...]
    network: Part
    verify: Part
    tests: Part
    may_change_tests: bool
    tests_by: str
    faults: tuple[str, ...]
    has_file: bool

    @property
    def summary(self) -> str:
        count = len(self.rules.entries) + self.rules.more
        rules = count_of(count, "rule") if count else "the defaults"
        return f"{rules}, tests {'open' if self.may_change_tests else 'kept'}"


def of(run: Run) -> Ruled:
    """Return what applies to the run. No query, where its task and repository are there."""
    applied = policies.of(run)
    policy, sources = applied.policy, applied.sources
    return Ruled(
        rules=_part("Rules", [Entry(line, WHOSE.get(source, source)) for line, source in applied.rules]),
        parts=tuple(part for name, label in _LISTS if (part := _list(applied, name, label)).entries),
        network=_part("Network", [Entry(host, "task") for host in policy.network]),
        verify=_part("Verify", _entries(policy.verify, sources.get("verify", ""))),
        tests=_part("Counted as tests", _entries(applied.tests, REPOSITORY)),
        may_change_tests=policy.may_change_tests,
        tests_by=WHOSE.get(sources.get("may_change_tests", ""), ""),
        faults=applied.faults,
        has_file=bool(applied.from_file or applied.tests or {REPOSITORY, policies.BOTH} & set(sources.values())),
    )


def _list(applied: Applied, name: str, label: str) -> Part:
    both = [*_entries(applied.entries(name, TASK), TASK), *_entries(applied.entries(name, REPOSITORY), REPOSITORY)]
    return _part(label, both)


def _entries(texts: Sequence[str], source: str) -> list[Entry]:
    return [Entry(text, WHOSE.get(source, source)) for text in texts]


def _part(label: str, entries: Sequence[Entry]) -> Part:
    return Part(label, tuple(entries[:SHOWN]), max(0, len(entries) - SHOWN))
