"""What is remembered of a tree on disk between two looks at it, so that an unchanged file is not read again."""

import os
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from workspaces import rules, withheld
from workspaces.git import Git
from workspaces.models import Snapshot, Workspace
from workspaces.nested import Draft, Nested, fitting
from workspaces.store import Tree, TreeEntry, at, listing
from workspaces.tally import Tally, Totals

KNOWN_LIMIT = 16
"""Trees that are remembered."""

Stat = tuple[int, int, int, int, int]
"""Mode, size, mtime_ns, ctime_ns, inode."""


@dataclass
class Known:
    """What was last seen of a tree on disk: its entries as of one tree object, and the stats that still prove them.

    Only who holds the tree's lock (Memory.locked) looks into it or changes it.
    """

    tree: str
    entries: Tree
    baseline: Tree
    baseline_tree: str = ""
    stats: dict[bytes, dict[str, Stat]] = field(default_factory=dict)
    """By folder (with a `/` at its end; the root's is empty) and name."""
    verdicts: dict[bytes, bool] = field(default_factory=dict)
    """Whether the baseline's rules ignore a path; a folder's ends in `/`."""
    withheld_folders: set[bytes] = field(init=False)
    folders: set[bytes] = field(init=False)
    """Folders that hold, or held, something of the entries or the baseline."""
    baseline_rules: Tree = field(init=False)
    """The `.gitignore` files of the baseline."""
    has_other_rules: bool = field(init=False)
    """Some `.gitignore` is not as it was in the baseline."""
    withheld: frozenset[bytes] = frozenset()
    """Paths of the baseline that are hidden from agents: they are not in the tree on disk, and stay as they were."""
    tally: Tally = field(default_factory=Tally)
    """What differs from the baseline, counted."""
    _nested: Nested | None = field(default=None, init=False)
    _asked: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.folders = _folders(self.entries) | _folders(self.baseline)
        self.withheld_folders = _folders(self.withheld)
        self.baseline_rules = rules.of(self.baseline)
        self.has_other_rules = rules.of(self.entries) != self.baseline_rules

    @property
    def nested(self) -> Nested | None:
        """The tree objects of its folders, or None where only git can change the tree (see nested.fitting)."""
        if not self._asked:
            self._nested, self._asked = fitting(self.entries, self.tree), True
        return self._nested

    def draft(self, changes: Mapping[bytes, TreeEntry | None]) -> Draft | None:
        """Return the tree that would come of these changes, or None where only git can make it."""
        nested = self.nested
        return nested.draft(changes) if nested is not None else None

    def note(self, path: bytes, stat: Stat | None) -> None:
        """Note the stat that proves what is known of a file; None: nothing does."""
        folder, slash, name = path.rpartition(b"/")
        here = self.stats.setdefault(folder + slash, {})
        if stat is None:
            here.pop(os.fsdecode(name), None)
        else:
            here[os.fsdecode(name)] = stat

    def move(
        self, tree: str, changes: Mapping[bytes, TreeEntry | None], stats: Mapping[bytes, Stat] | None = None
    ) -> None:
        """Take in that the tree now is another one, by these changes; `stats` are those that prove the new entries."""
        draft = self.draft(changes)
        if self._nested is not None and draft is not None and draft.tree == tree:
            self._nested.adopt(draft)
        else:
            self._nested, self._asked = None, False
        for path, new in changes.items():
            self.note(path, (stats or {}).get(path))
            if new is None:
                self.entries.pop(path, None)
            else:
                self.entries[path] = new
                self.folders.update(parents(path))
        if any(path.endswith(rules.NAME) for path in changes):
            self.has_other_rules = rules.of(self.entries) != self.baseline_rules
        self.tree = tree


class Memory:
    """What was seen of the last few trees, by folder; only a saving of time, and checked by the tree's id."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Path, Known] = OrderedDict()
        self._locks: dict[Path, tuple[threading.RLock, int]] = {}
        self._writers: Counter[Path] = Counter()

    @contextmanager
    def locked(self, root: Path) -> Iterator[None]:
        """Hold the tree's lock: of the threads of this process, one looks at a tree at a time."""
        with self._lock:
            lock, waiting = self._locks.get(root, (threading.RLock(), 0))
            self._locks[root] = lock, waiting + 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                lock, waiting = self._locks.pop(root)
                if waiting > 1:
                    self._locks[root] = lock, waiting - 1

    @contextmanager
    def written(self, root: Path) -> Iterator[None]:
        """Know that a command runs on that may write into the tree while it is looked at."""
        with self._lock:
            self._writers[root] += 1
        try:
            yield
        finally:
            with self._lock:
                self._writers[root] -= 1
                self._writers += Counter()  # those with none left go

    def is_written(self, root: Path) -> bool:
        """Return whether such a command runs."""
        return root in self._writers

    def get(self, root: Path, tree: str) -> Known | None:
        """Return what is remembered of the folder if that is as of this tree."""
        with self._lock:
            known = self._known.get(root)
            return known if known is not None and known.tree == tree else None

    def keep(self, root: Path, known: Known) -> None:
        """Remember what was seen of the folder; past KNOWN_LIMIT the oldest is forgotten."""
        with self._lock:
            self._known[root] = known
            self._known.move_to_end(root)
            while len(self._known) > KNOWN_LIMIT:
                self._known.popitem(last=False)


memory = Memory()


def known_of(workspace: Workspace, git: Git, before: Snapshot) -> Known:
    """Return what is known of the workspace's tree, from memory where that is as of the snapshot before."""
    kept = memory.get(workspace.tree, before.tree)
    if kept is not None:
        return kept
    known = read_of(git, at(workspace, 0).tree, before.tree, workspace)
    memory.keep(workspace.tree, known)
    return known


def read_of(git: Git, baseline: str, tree: str, workspace: Workspace | None = None) -> Known:
    """Return what the store says of a tree and its baseline: no stat, so the next look reads every file.

    `workspace`: whose tree it is, where some of the baseline may be hidden from its agents.
    """
    entries = listing(git, baseline)
    kept = withheld.among(git, workspace, entries) if workspace is not None else frozenset()
    if tree == baseline:
        tally = Tally({}, Totals(0, 0, 0), tree, set())
        return Known(tree, dict(entries), entries, baseline, withheld=kept, tally=tally)
    return Known(tree, listing(git, tree), entries, baseline, withheld=kept)


def parents(path: bytes) -> Iterator[bytes]:
    """Yield the folders above a path, the nearest first; the root is none of them."""
    while path := path.rpartition(b"/")[0]:
        yield path


def _folders(entries: Iterable[bytes]) -> set[bytes]:
    found = {path.rpartition(b"/")[0] for path in entries}
    return found | {parent for path in found for parent in parents(path)} - {b""}
