"""What is remembered of a tree on disk between two looks at it, so that an unchanged file is not read again."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workspaces import rules
from workspaces.git import Git
from workspaces.models import Snapshot, Workspace
from workspaces.store import Tree, TreeEntry, at, listing

KNOWN_LIMIT = 16
"""Trees that are remembered."""

Stat = tuple[int, int, int, int, int]
"""Mode, size, mtime_ns, ctime_ns, inode."""


@dataclass
class Known:
    """What was last seen of a tree on disk: its entries as of one tree object, and the stats that still prove them."""

    tree: str
    entries: Tree
    baseline: Tree
    stats: dict[bytes, Stat] = field(default_factory=dict)
    verdicts: dict[bytes, bool] = field(default_factory=dict)
    """Whether the baseline's rules ignore a path; a folder's ends in `/`."""
    folders: set[bytes] = field(init=False)
    """Folders that hold, or held, something of the entries or the baseline."""
    has_other_rules: bool = field(init=False)
    """Some `.gitignore` is not as it was in the baseline."""

    def __post_init__(self) -> None:
        self.folders = _folders(self.entries) | _folders(self.baseline)
        self.has_other_rules = rules.of(self.entries) != rules.of(self.baseline)

    def move(self, tree: str, changes: Mapping[bytes, TreeEntry | None]) -> None:
        """Take in that the tree now is another one, by these changes."""
        for path, new in changes.items():
            if new is None:
                self.entries.pop(path, None)
                self.stats.pop(path, None)
            else:
                self.entries[path] = new
                self.folders.update(parents(path))
        if any(path.endswith(rules.NAME) for path in changes):
            self.has_other_rules = rules.of(self.entries) != rules.of(self.baseline)
        self.tree = tree


class Memory:
    """What was seen of the last few trees, by folder; only a saving of time, and checked by the tree's id."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Path, Known] = OrderedDict()

    def get(self, root: Path, tree: str) -> Known | None:
        with self._lock:
            known = self._known.get(root)
            return known if known is not None and known.tree == tree else None

    def keep(self, root: Path, known: Known) -> None:
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
    baseline = listing(git, at(workspace, 0).tree)
    known = Known(before.tree, listing(git, before.tree), baseline)
    memory.keep(workspace.tree, known)
    return known


def parents(path: bytes) -> Iterator[bytes]:
    while path := path.rpartition(b"/")[0]:
        yield path


def _folders(entries: Tree) -> set[bytes]:
    found = {path.rpartition(b"/")[0] for path in entries}
    return found | {parent for path in found for parent in parents(path)} - {b""}
