"""The integrity report: all that a tree changes, against the baseline, of what decides what the tests mean."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from workspaces import rules, store
from workspaces.integrity import belongings, configuration, sources
from workspaces.integrity.findings import FINDINGS_LIMIT, Finding, FindingKind, Report
from workspaces.integrity.matters import Matters, is_configuration
from workspaces.integrity.roles import Role
from workspaces.integrity.sides import Changed, name_of, told
from workspaces.models import Workspace

TIME_LIMIT_S = 300
PAIRS_LIMIT = 4000
"""Changed files of code that are looked into."""
OF_EACH_KIND = 30
"""Findings of one kind that are named however many there are of another."""
LISTED = 300
"""Lock files, and files that could not be read, that a report names."""
TESTS_HIDDEN_LIMIT = 20_000
_WORST_FIRST = list(FindingKind)


def report(
    workspace: Workspace,
    tree: str,
    *,
    tests: tuple[str, ...] = (),
    verify: Sequence[str] = (),
    planted: Sequence[Finding] = (),
    stop: Callable[[], bool] = sources.never,
) -> Report:
    """Return what a tree of the run store changes, against the baseline, of what decides what the tests mean.

    `tests`: globs of tests beyond the usual ones; `verify`: the commands that verify; `planted`: what was found in the
    live tree. `stop` is asked between files; what was not looked at then stands in `unread`.
    """
    git = store.ensure(workspace.repository)
    base = store.tree_of(git, workspace.base_commit)
    matters = Matters.of(git, base, tree, tests, verify)
    look = _Look(matters, stop)
    look.at_everything()
    locks = [told(each.path) for each in matters.changes if matters.role(each.path) is Role.LOCK]
    return _summed([*look.findings, *planted], locks, look.unread)


def _summed(findings: Iterable[Finding], locks: Sequence[str], unread: dict[str, str]) -> Report:
    ordered = sorted(
        dict.fromkeys(findings), key=lambda each: (_WORST_FIRST.index(each.kind), each.path, each.new_line)
    )
    counts = Counter(each.kind.value for each in ordered)
    named = tuple((told(path), why) for path, why in sorted(unread.items())[:LISTED])
    return Report(tuple(_named(ordered)), len(ordered), dict(counts), tuple(locks[:LISTED]), named)


def _named(ordered: Sequence[Finding]) -> list[Finding]:
    """Return the findings that the report names: the worst, and the first of each kind, which no flood may hide."""
    if len(ordered) <= FINDINGS_LIMIT:
        return list(ordered)
    seen: Counter[FindingKind] = Counter()
    kept: set[int] = set()
    for at, each in enumerate(ordered):
        seen[each.kind] += 1
        kept |= {at} if seen[each.kind] <= OF_EACH_KIND else set()
    for at in range(len(ordered)):
        if len(kept) < FINDINGS_LIMIT:
            kept.add(at)
    return [ordered[at] for at in sorted(kept)]


class _Look:
    """One look at what differs, subject by subject."""

    def __init__(self, matters: Matters, stop: Callable[[], bool]) -> None:
        self.matters = matters
        self.findings: list[Finding] = []
        self.unread: dict[str, str] = {}
        self._stop = stop
        self._until = time.monotonic() + TIME_LIMIT_S
        self._is_late = False

    def at_everything(self) -> None:
        changes = self.matters.changes
        self.matters.base.load(each.old_path for each in changes if each.old)
        self.matters.now.load(each.path for each in changes if each.new)
        self.findings += [each.finding for each in self.matters.intruders]
        told_of = {each.path for each in self.matters.intruders}
        for change in changes:
            if self._is_over():
                self.unread[change.path] = "there was no time left to look at it"
            elif change.path not in told_of:
                self.findings += self._options_of(change)
        self._tests([change for change in changes if change.path not in told_of])
        self.findings += list(_ignored(self.matters))
        self._note_unread()

    def _is_over(self) -> bool:
        """Return whether there is no time left; a tree that takes too long is told as such, once."""
        if not self._is_late and time.monotonic() > self._until:
            self._is_late = True
            why = f"So much differs that it could not all be looked at in {TIME_LIMIT_S} s."
            self.findings.append(Finding(FindingKind.CONFIGURATION, ".", why))
        return self._is_late or self._stop()

    # --- options, scripts, pipelines ---------------------------------------------------------------

    def _options_of(self, change: Changed) -> Iterator[Finding]:
        if change.is_rename:
            yield from self._options_of(Changed(change.old_path, change.old_path, change.old, None))
            yield from self._options_of(Changed(change.path, change.path, None, change.new))
            return
        path, matters = change.path, self.matters
        if not is_configuration(matters, path) or (change.old is None and not self._counts_when_new(path)):
            return
        if change.old and change.new and (linked := _linked(change)):
            yield linked
            return
        old, new = matters.base.data(path), matters.now.data(path)
        if configuration.reader_of(path) and matters.role(path) is not Role.PIPELINE:
            yield from configuration.compare(told(path), old, new, matters.names(path))
        elif matters.role(path) is not Role.MANIFEST or configuration.is_compared_by_lines(path):
            yield from configuration.by_lines(told(path), old, new, self._why(path))

    def _why(self, path: str) -> str:
        if configuration.is_checked_in_tool(path):
            return "tool"
        if self.matters.is_used(path):
            return "script"
        return "pipeline" if self.matters.role(path) is Role.PIPELINE else "lines"

    def _counts_when_new(self, path: str) -> bool:
        if self.matters.role(path) is Role.PIPELINE or configuration.is_checked_in_tool(path):
            return True
        return self.matters.counts_when_new(path)

    # --- tests -------------------------------------------------------------------------------------

    def _tests(self, changes: Sequence[Changed]) -> None:
        """Compare files of tests, and code that may hold tests, or act on them."""
        pairs: dict[str, sources.Pair] = {}
        by_path: dict[str, Changed] = {}
        deleted: list[Changed] = []
        for change in changes:
            pair = self._pair(change)
            if self.matters.role(change.old_path if change.old else change.path) is not Role.TEST:
                if pair is not None:
                    pairs[change.path] = pair
                continue
            if change.new is None and pair is not None:
                deleted.append(change)
            elif found := belongings.file_findings(self.matters, change):
                self.findings += found
                pair = None
            elif pair is None:
                self.findings += belongings.data_findings(self.matters, change) if _has_text(change) else []
            if pair is not None:
                pairs[change.path], by_path[told(change.path)] = pair, change
        self._compare(pairs, by_path, deleted)

    def _pair(self, change: Changed) -> sources.Pair | None:
        """Return a changed file of code for the comparison of tests, None for any other."""
        if not (belongings.is_compared(change.path) and belongings.is_compared(change.old_path)) or not _has_text(
            change
        ):
            return None
        old = self.matters.base.data(change.old_path) if change.old else None
        new = self.matters.now.data(change.path) if change.new else None
        if (change.old and old is None) or (change.new and new is None):
            return None
        is_test = Role.TEST in (self.matters.role(change.path), self.matters.role(change.old_path))
        was = told(change.old_path) if change.is_rename else ""
        return sources.Pair(told(change.path), old, new, was, is_test=is_test)

    def _compare(self, pairs: dict[str, sources.Pair], tests: dict[str, Changed], deleted: Sequence[Changed]) -> None:
        ordered = sorted(pairs, key=lambda path: (told(path) not in tests, path))
        for path in ordered[PAIRS_LIMIT:]:
            self.unread[path] = f"more than {PAIRS_LIMIT:,} files of code differ"
        findings, unread = sources.compare([pairs[path] for path in ordered[:PAIRS_LIMIT]], self._is_over)
        self.findings += findings
        for path, why in unread:
            self.unread[path] = why
            if path in tests and tests[path].old and tests[path].new:
                self.findings += belongings.data_findings(self.matters, tests[path], why)
        failed, named = {path for path, _ in unread}, {each.path for each in findings}
        for change in deleted:
            is_loaded = name_of(change.path) == "conftest.py" and told(change.path) not in named
            if told(change.path) in failed or is_loaded:
                self.findings += belongings.file_findings(self.matters, change)

    def _note_unread(self) -> None:
        for side in (self.matters.base, self.matters.now):
            for path, why in side.unread.items():
                if self.matters.role(path) not in (Role.LOCK, Role.OTHER) or belongings.is_compared(path):
                    self.unread.setdefault(path, why)


def _has_text(change: Changed) -> bool:
    """Return whether the bytes differ, or there are none on one side; else only the mode or the place does."""
    return change.old is None or change.new is None or change.old.oid != change.new.oid


def _linked(change: Changed) -> Finding | None:
    assert change.old is not None
    assert change.new is not None
    if store.LINK not in (change.old.mode, change.new.mode):
        return None
    why = "A link stands there that leads elsewhere, or stands no more, where options of tests are read."
    return Finding(FindingKind.CONFIGURATION, told(change.path), why)


def _ignored(matters: Matters) -> Iterator[Finding]:
    """Yield whether new rules of git keep files of tests from being seen."""
    changed = [each.path for each in matters.changes if name_of(each.path) == ".gitignore"]
    if not changed:
        return
    tests = [path for path in matters.now.entries if matters.role(path) is Role.TEST][:TESTS_HIDDEN_LIMIT]
    git, asked = matters.now.git, [path.encode("utf-8", "surrogateescape") for path in tests]
    before, now = (
        set(rules.hidden(git, {p.encode("utf-8", "surrogateescape"): e for p, e in side.entries.items()}, asked))
        for side in (matters.base, matters.now)
    )
    hidden = sorted(now - before)
    if hidden:
        first = told(hidden[0].decode("utf-8", "surrogateescape"))
        more = f" and {len(hidden) - 1} more" if len(hidden) > 1 else ""
        why = f"Git would ignore files of tests by its rules now: {first}{more}."
        yield Finding(FindingKind.CONFIGURATION, told(changed[0]), why)
