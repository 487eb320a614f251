"""The tree that is proven: an agent's, with what the tests mean as at the baseline, and planted files left out."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workspaces import store
from workspaces.integrity import configuration
from workspaces.integrity.matters import Matters
from workspaces.integrity.merging import merged
from workspaces.integrity.roles import Role
from workspaces.integrity.settings import Broken
from workspaces.integrity.shadowing import intruders
from workspaces.integrity.sides import REGULAR, folders_above, told
from workspaces.models import Workspace

CACHE = "A cache of compiled code; Python makes it anew."
IN_THE_WAY = "At the baseline something protected lies there."
NEW_OPTIONS = "New settings of tests; at the baseline there are none."


@dataclass(frozen=True)
class ProofTree:
    """The tree to prove, and how it differs from the one given. Paths as in workspaces.names.

    `put_back`: made as at the baseline, in whole or where it is about tests; `left_out`: new, and not in it, with why.
    """

    tree: str
    put_back: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]


def proof_tree(
    workspace: Workspace,
    tree: str,
    is_protected: Callable[[str], bool],
    *,
    may_change_tests: bool,
    verify: Sequence[str] = (),
) -> ProofTree:
    """Return the tree to prove of one of the run store.

    `is_protected`: of a path as in workspaces.names; what it covers comes back as it is at the baseline. Options of
    test tools, what runs the tests, and what `verify` names come back too, and new files that would change what tests
    do are left out, unless the run may change tests; what hides a module or a tool is left out in any case.
    """
    git = store.ensure(workspace.repository)
    base = store.tree_of(git, workspace.base_commit)
    if tree == base:
        return ProofTree(tree, (), ())
    matters = Matters.of(git, base, tree, (), verify)
    mending = _Mending(matters, is_protected, may_change_tests=may_change_tests)
    mending.put_back()
    mending.clear_the_way()
    mending.leave_out()
    changes = {os.fsencode(path): entry for path, entry in mending.changes.items()}
    built = store.build_tree(git, tree, changes) if changes else tree
    put_back = tuple(told(path) for path in sorted(mending.restored))
    left_out = tuple((told(path), why) for path, why in sorted(mending.left.items()))
    return ProofTree(built, put_back, left_out)


class _Mending:
    """Gathers what must differ from the given tree."""

    def __init__(self, matters: Matters, is_protected: Callable[[str], bool], *, may_change_tests: bool) -> None:
        self.matters = matters
        self.changes: dict[str, store.TreeEntry | None] = {}
        self.restored: set[str] = set()
        self.left: dict[str, str] = {}
        self._is_protected = is_protected
        self._may_change_tests = may_change_tests

    def put_back(self) -> None:
        """Bring back what the baseline has, whole or in part."""
        base, now = self.matters.base.entries, self.matters.now.entries
        differing = sorted(path for path in base.keys() | now.keys() if base.get(path) != now.get(path))
        for path in differing:
            if path in base and self._is_protected(told(path)):
                self._restore(path)
            elif not self._may_change_tests:
                self._restore_meaning(path)

    def _restore(self, path: str) -> None:
        self.changes[path] = self.matters.base.entries[path]
        self.restored.add(path)

    def _restore_meaning(self, path: str) -> None:
        matters = self.matters
        role, is_old = matters.role(path), path in matters.base.entries
        if role in (Role.RUNNER, Role.OPTIONS) or matters.is_used(path):
            if is_old:
                self._restore(path)
        elif configuration.reader_of(path) is not None and role is not Role.PIPELINE:
            if is_old or matters.counts_when_new(path):
                self._restore_part(path)
        elif configuration.is_compared_by_lines(path) or configuration.is_checked_in_tool(path):
            self._restore_lines(path)

    def _restore_part(self, path: str) -> None:
        """Bring back the part of a file that is about tests."""
        matters = self.matters
        old, new = matters.base.data(path), matters.now.data(path)
        if new is None or matters.now.entries[path].mode not in REGULAR:
            if path in matters.base.entries and self._means_something(path, old):
                self._restore(path)
            return
        if old is None and path in matters.base.entries:
            self._restore(path)
            return
        joined = merged(path, old, new, matters.names(path))
        if joined is None:
            self._leave(path, NEW_OPTIONS)
        elif joined == old:
            self._restore(path)
        elif joined != new:
            assert matters.now.git.git_dir is not None
            oid = store.write_blob(matters.now.git.git_dir, joined)
            self.changes[path] = store.TreeEntry(matters.now.entries[path].mode, oid)
            self.restored.add(path)

    def _means_something(self, path: str, old: bytes | None) -> bool:
        """Return whether a file that is gone, or is none any more, said something of tests."""
        if old is None:
            return True
        try:
            return bool(configuration.settings(path, old, self.matters.names(path)))
        except Broken:
            return False

    def _restore_lines(self, path: str) -> None:
        if path in self.matters.base.entries:
            self._restore(path)
        elif configuration.is_checked_in_tool(path):
            self._leave(path, "It is part of a test tool that is checked in.")
        elif self.matters.counts_when_new(path):
            self._leave(path, NEW_OPTIONS)

    def _leave(self, path: str, why: str) -> None:
        self.changes[path] = None
        self.left[path] = why

    def clear_the_way(self) -> None:
        """Leave out what lies where something that comes back must lie: a file in place of its folder, or below it."""
        coming = {path for path, entry in self.changes.items() if entry is not None}
        above = {folder for path in coming for folder in folders_above(path)}
        for path in self.matters.now.entries:
            if path in coming or path in self.left:
                continue
            if path in above or not coming.isdisjoint(folders_above(path)):
                self._leave(path, IN_THE_WAY)

    def leave_out(self) -> None:
        """Leave out new files that would change what tests do, as things lie once all has come back."""
        gone = {path for path, entry in self.changes.items() if entry is None}
        now = (self.matters.now.entries.keys() | self.restored) - gone
        new = [path for path in now if path not in self.matters.base.entries]
        for each in intruders(self.matters.scene, now, new, self.matters.now.data):
            if not (self._may_change_tests and each.is_of_tests):
                self._leave(each.path, each.why)
        for path in new:
            if "/__pycache__/" in f"/{path}" and path not in self.left:
                self._leave(path, CACHE)
