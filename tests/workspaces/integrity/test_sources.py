"""Sources are compared in a process of their own: what comes of it, of many at once, and of hostile ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workspaces.integrity import sources
from workspaces.integrity.findings import Finding, FindingKind
from workspaces.integrity.sources import Pair


@dataclass(frozen=True)
class Edit:
    """An edit of a file of tests, and the kind of finding that must come of it; None: nothing at all."""

    name: str
    kind: FindingKind | None
    old: str
    new: str

    def made(self, base: str) -> str:
        assert base.count(self.old) == 1, (self.name, base.count(self.old))
        return base.replace(self.old, self.new)


def compare(path: str, old: str | None, new: str | None) -> list[Finding]:
    found, unread = sources.compare(
        [Pair(path, old.encode() if old is not None else None, new.encode() if new is not None else None)]
    )
    assert not unread
    return found


def told(findings: Sequence[Finding]) -> list[tuple[str, str, str, str, str]]:
    return [(each.kind.value, each.name, each.why, each.old, each.new) for each in findings]


def assert_caught(path: str, base: str, trick: Edit) -> None:
    """The trick is found, of its kind, with the lines that it is about."""
    found = compare(path, base, trick.made(base))
    hits = [each for each in found if each.kind is trick.kind]
    assert hits, told(found)
    before, after = base.splitlines(), trick.made(base).splitlines()
    for each in hits:
        assert each.path == path
        assert each.why.endswith(".")
        assert each.old_line or each.new_line
        assert not each.old or each.old.split("\n")[0] == before[each.old_line - 1].strip()
        assert not each.new or each.new.split("\n")[0] == after[each.new_line - 1].strip()
        assert len(each.old) <= 500
        assert len(each.new) <= 500


def assert_quiet(path: str, base: str, honest: Edit) -> None:
    """Nothing is suspect, and the findings are new tests, or none."""
    found = compare(path, base, honest.made(base))
    assert [each for each in found if each.is_suspect] == [], told(found)
    assert {each.kind for each in found} == ({honest.kind} if honest.kind else set())
