"""What a touched file was at first, and putting a file of the tree back to it (the agent's own revert)."""

import os
import threading
from collections.abc import Callable
from functools import cached_property

from workspaces import rescue, rules, scanning, store, trees
from workspaces.diffs import find_change, raw_changes
from workspaces.git import Git
from workspaces.known import Known, known_of, memory
from workspaces.models import Baseline, Snapshot, Workspace
from workspaces.names import find, raw, shown
from workspaces.paths import WorkspaceError
from workspaces.rows import insert
from workspaces.sandbox.identity import worker_uid

NAMED = 5
"""Files that a refusal names."""
NOTED_LIMIT = 100_000
"""Baselines that are known without asking; past it a row is tried again, which changes nothing."""

Hides = Callable[[str], bool]
"""Tells whether nobody but people may see a path."""
Wanted = dict[bytes, store.TreeEntry | None]


class PutBackError(WorkspaceError):
    """A path that can't be put back."""


class Baselines:
    """What touched files of one workspace were at first: the rows there are, and those that wait for `save`.

    Threads may share it. What git knows has its version in the baseline's tree, what it doesn't was not there: such
    rows wait for the commit of the call's result, and are made again from the notes of writes that a crash cut off.
    An ignored file's bytes are stored at once, with their row: no snapshot has them.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._lock = threading.Lock()
        self._waiting: list[Baseline] = []
        names = [shown(path) for path in rescue.begun(workspace.folder / "rescue")]
        self._waiting += [self._of_tree(name) for name in names if name not in self._noted]
        self._noted.update(names)

    def remember(self, path: str) -> None:
        """Note what the path is before a file tool touches it; costs nothing when it was noted before."""
        name = shown(raw(path))
        with self._lock:
            if name in self._noted:
                return
            row = self._of_ignored(name) or self._of_tree(name)
            if row.ignored:
                _store([row])
            else:
                self._waiting.append(row)
            self._noted.add(name)

    def save(self) -> None:
        """Write the rows that wait, within the caller's transaction: one query, or none."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        if waiting:
            _store(waiting)

    @cached_property
    def _noted(self) -> set[str]:
        rows = Baseline.objects.filter(workspace=self.workspace).order_by()
        return set(rows.values_list("path", flat=True)[:NOTED_LIMIT])

    def _of_ignored(self, name: str) -> Baseline | None:
        path = raw(name)
        with memory.locked(self.workspace.tree):
            if path in self._known.baseline or path in self._known.entries:  # what a snapshot holds is not ignored
                return None
        found = _ignored_file(self.workspace, self._git, self._known, path)
        return self._row(name, found, ignored=True) if found else None

    def _of_tree(self, name: str) -> Baseline:
        return self._row(name, self._known.baseline.get(raw(name)), ignored=False)

    def _row(self, name: str, found: store.TreeEntry | None, *, ignored: bool) -> Baseline:
        row = Baseline(workspace=self.workspace, path=name, kind=Baseline.Kind.ABSENT, ignored=ignored)
        if found is not None:
            row.kind = Baseline.Kind.LINK if found.mode == store.LINK else Baseline.Kind.FILE
            row.mode, row.blob, row.size = found.mode, found.oid, self._size(raw(name), found)
        return row

    @cached_property
    def _git(self) -> Git:
        return store.ensure(self.workspace.repository)

    @cached_property
    def _known(self) -> Known:
        return known_of(self.workspace, self._git, store.latest(self.workspace))

    def _size(self, path: bytes, entry: store.TreeEntry) -> int:
        """Return the size of the baseline's version: as the file's stat says that still proves it, or asked of git."""
        folder, slash, file = path.rpartition(b"/")
        with memory.locked(self.workspace.tree):
            stat = self._known.stats.get(folder + slash, {}).get(os.fsdecode(file))
            if stat is not None and self._known.entries.get(path) == entry and entry.mode != store.LINK:
                return stat[1]
        return store.blob_sizes(self._git, [entry.oid]).get(entry.oid, 0)


def _store(rows: list[Baseline]) -> None:
    """Insert rows; one that is there already stays."""
    insert(rows, unique=("workspace", "path"))


def _ignored_file(workspace: Workspace, git: Git, known: Known, path: bytes) -> store.TreeEntry | None:
    """Store the file's bytes if it is there and the baseline's rules ignore it; other new files have no first bytes."""
    if not os.path.lexists(os.path.join(os.fsencode(workspace.tree), path)):
        return None
    ignoring = rules.of_baseline(workspace, git, known.baseline)
    if path not in ignoring.ignored([path]):
        return None
    return scanning.on_disk(workspace.tree, path, ignoring, workspace.repository.store)


def planned(workspace: Workspace, path: str, to: int = 0, hides: Hides = lambda _: False) -> Wanted:
    """Return what putting the path back to snapshot `to` would write, by path; None is absence.

    A renamed file goes by its new path: that is removed and the old one comes back. Raises PutBackError, which names no
    path that `hides`.
    """
    return _wanted(workspace, store.ensure(workspace.repository), path, to, hides)


def differing(workspace: Workspace, wanted: Wanted) -> Wanted:
    """Return what of it is not so in the latest snapshot already; an ignored file, which is in none, stays."""
    git = store.ensure(workspace.repository)
    now = store.listing(git, store.latest(workspace).tree, *wanted)
    return {path: entry for path, entry in wanted.items() if now.get(path) != entry or _is_left(workspace, path, entry)}


def _is_left(workspace: Workspace, path: bytes, entry: store.TreeEntry | None) -> bool:
    """Return whether a file that shall be absent lies on disk: an ignored one, which no snapshot has, may."""
    place = workspace.tree / os.fsdecode(path)
    return entry is None and os.path.lexists(place) and (place.is_symlink() or not place.is_dir())


def is_kept(workspace: Workspace, wanted: Wanted) -> bool:
    """Return whether the latest snapshot holds all that goes away by what is wanted; it has no ignored file."""
    now = store.listing(store.ensure(workspace.repository), store.latest(workspace).tree, *wanted) if wanted else {}
    return all(entry is not None or path in now for path, entry in wanted.items())


def is_ignored(workspace: Workspace, path: str) -> bool:
    """Return whether only a row of its own, and no snapshot, knows what the path was."""
    return Baseline.objects.filter(workspace=workspace, path=path, ignored=True).exists()


def carry_out(workspace: Workspace, wanted: Wanted, hides: Hides = lambda _: False) -> list[str]:
    """Write what is wanted, bytes, mode, link or absence, and return the paths written; no link is followed.

    Raises PutBackError where something would be lost.
    """
    git = store.ensure(workspace.repository)
    for each, entry in wanted.items():
        _must_fit(workspace, git, each, entry, hides)
    try:
        written = trees.put(git, workspace.tree, wanted, worker_uid(workspace.pk))
    except trees.TreeError as error:
        raise PutBackError(error.code, error.message) from error
    return [shown(each) for each in written]


def _wanted(workspace: Workspace, git: Git, path: str, to: int, hides: Hides) -> Wanted:
    target, latest = _snapshot(workspace, to), store.latest(workspace)
    change = find_change(raw_changes(git, target.tree, latest.tree, counted=False), path)
    if change is not None and change.status == "R" and change.path in (raw(path), os.fsencode(path)):
        return {change.path: None, change.old_path: change.old}
    then = store.listing(git, target.tree, raw(path), os.fsencode(path))
    name = find(path, then)
    if name in then:
        return {name: then[name]}
    now = store.listing(git, latest.tree, raw(path), os.fsencode(path))
    if then and find(path, now) in now:  # a file or link that took a folder's place was not there
        return {find(path, now): None}
    if then:
        raise PutBackError(
            "IS_DIRECTORY", f"{path} was a folder; revert its files one by one, such as {_names(then, hides)}."
        )
    row = Baseline.objects.filter(workspace=workspace, path=shown(name)).first()
    if row is not None and row.ignored:
        return _from_row(row, path, to)
    if row is not None or now:
        return {name: None}
    raise PutBackError(
        "NO_BASELINE", f"Nothing is known of what {path} was in {Snapshot.called(to)}, so it stays as it is."
    )


def _from_row(row: Baseline, path: str, to: int) -> Wanted:
    if to:
        raise PutBackError("NO_BASELINE", f"{path} is ignored, so only its first version is kept; use to=0.")
    return {raw(row.path): store.TreeEntry(row.mode, row.blob)}


def _snapshot(workspace: Workspace, to: int) -> Snapshot:
    try:
        return store.at(workspace, to)
    except store.StoreError as error:
        raise PutBackError("NO_BASELINE", str(error)) from None


def _must_fit(workspace: Workspace, git: Git, path: bytes, entry: store.TreeEntry | None, hides: Hides) -> None:
    """Make room where an empty folder is in the way. Raises PutBackError where something would be lost."""
    if entry is not None and store.stand_ins(git, store.blob_sizes(git, [entry.oid])):
        raise PutBackError("TOO_LARGE", f"{shown(path)} was over 50 MB, so only its size and hash were kept.")
    if entry is not None and entry.mode == store.SUBMODULE:
        return
    lost = trees.in_folder(workspace.tree, path)
    if lost:
        raise PutBackError(
            "IS_DIRECTORY",
            f"{shown(path)} is a folder now and these files in it would be lost: {_names(lost, hides)}. "
            "Move or revert them first.",
        )
    trees.remove_empty(workspace.tree, path)


def _names(paths: "list[bytes] | store.Tree", hides: Hides) -> str:
    named = [name for path in paths if not hides(name := shown(path))][: NAMED + 1]
    more = " and others" if len(named) > NAMED else ""
    return ", ".join(named[:NAMED]) + more if named else "some that the policy hides"
