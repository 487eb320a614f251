"""Snapshots of a workspace: laid out, taken and put back; with diffs and reverts the second door to the tree."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from django.db import transaction

from workspaces import agent_git, objects, readable, rules, scanning, store, trees, withheld
from workspaces.agent_git import AGENT_OBJECTS
from workspaces.contents import Blob, entries, read
from workspaces.diffs import (
    LISTED,
    Changes,
    FileChange,
    FileDiff,
    RawChange,
    changes,
    file_diff,
    listed,
    patch,
)
from workspaces.git import Git
from workspaces.known import Known, known_of, memory, read_of
from workspaces.models import Snapshot, Workspace
from workspaces.names import shown
from workspaces.publishing import commit_branch, fetch_commands, push
from workspaces.reverting import Reverted, RevertError, revert
from workspaces.sandbox.identity import worker_uid
from workspaces.store import StoreError, pack
from workspaces.tally import Tally, Totals, counting
from workspaces.trees import TreeError

__all__ = [
    "AGENT_OBJECTS",
    "Blob",
    "Changes",
    "FileChange",
    "FileDiff",
    "RevertError",
    "Reverted",
    "StoreError",
    "Totals",
    "TreeError",
    "align",
    "changes",
    "commit_branch",
    "entries",
    "fetch_commands",
    "file_diff",
    "pack",
    "patch",
    "prepare",
    "push",
    "read",
    "revert",
    "take",
    "totals",
]

AGE_NS = 10_000_000_000
"""How old the files of a new tree look, so that a change right after is seen as one by all that compare times."""


class _LeftOut(NamedTuple):
    """What lies in a tree and can't be stored: the first rows, and how much it is in all."""

    rows: list[dict[str, str]]
    total: int


# --- laying out --------------------------------------------------------------------------------------


def prepare(workspace: Workspace) -> None:
    """Lay out the tree of the workspace's epoch at the latest snapshot, with home, outputs and the agent's `.git`.

    Makes snapshot 0 if there is none. A tree that is there already, from a try that broke off, is made anew. What is
    hidden from the workspace's agents is not there.
    """
    git = store.ensure(workspace.repository)
    store.unlock(workspace)
    _pin(workspace)
    baseline = store.begin(workspace, git)
    latest = store.latest(workspace)
    known, shown_tree = readable.of(workspace), withheld.without(git, workspace, latest.tree)
    uid = worker_uid(workspace.pk)
    _make_folders(workspace, uid)
    place = workspace.tree.with_name("tree.new")
    trees.discard(place)
    trees.discard(workspace.tree)
    place.mkdir(parents=True)
    place.parent.chmod(0o755)
    with tempfile.TemporaryDirectory(prefix="index-", dir=workspace.folder) as scratch:
        trees.lay_out(git, shown_tree, place, Path(scratch) / "index")
        agent_git.make(place, known)
        trees.hand_over([place], uid, time.time_ns() - AGE_NS)
        agent_git.make_index(git, place, known.tree, Path(scratch) / "agent", uid)
    place.rename(workspace.tree)
    time.sleep(scanning.RACY_NS / 1e9)  # from here on a change gets another time than the files have
    _learn(workspace, git, baseline, latest)
    _in_line(workspace, latest.number)


def align(workspace: Workspace) -> list[str]:
    """Bring the tree from the snapshot that it was last in line with to the latest, and return the paths written.

    What differs for another reason, such as a command that was cut off, stays for the next full scan to find.
    """
    git = store.ensure(workspace.repository)
    store.unlock(workspace)
    latest = store.latest(workspace)
    workspace.refresh_from_db(fields=["tree_snapshot"])
    if workspace.tree_snapshot == latest.number:
        return []
    before = store.at(workspace, workspace.tree_snapshot)
    old, new = store.listing(git, before.tree), store.listing(git, latest.tree)
    wanted = {path: new.get(path) for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
    with memory.locked(workspace.tree):
        written = trees.put(git, workspace.tree, wanted, worker_uid(workspace.pk))
        known = memory.get(workspace.tree, before.tree)
        if known is not None:
            known.move(latest.tree, wanted)
            known.tally = Tally()
    _in_line(workspace, latest.number)
    return [shown(path) for path in written]


def _pin(workspace: Workspace) -> None:
    """Keep the base in the mirror, also when the source drops it."""
    commit = workspace.base_commit
    Git(workspace.repository.mirror).run("update-ref", f"refs/sakura/base/{commit}", commit)


def _make_folders(workspace: Workspace, uid: int | None) -> None:
    for place in (workspace.folder.parent, workspace.folder):
        if not place.exists():
            place.mkdir(parents=True)
            place.chmod(0o755)
    workspace.outputs.mkdir(exist_ok=True)
    if not workspace.home.exists():
        workspace.home.mkdir(mode=0o700)
        if uid is not None:
            os.chown(workspace.home, uid, uid)


def _in_line(workspace: Workspace, number: int) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(tree_snapshot=number)
    workspace.tree_snapshot = number


# --- taking ------------------------------------------------------------------------------------------


def take(workspace: Workspace, *, call_id: str, step: int, paths: Sequence[str] | None) -> Snapshot | None:
    """Store what changed in the tree as the next snapshot and return it; None when nothing did.

    What can't be stored, such as a device, is no change; the latest snapshot's row names it. `paths` are those that the
    call touched; None looks at everything. May run inside a transaction. Two processes: one
    moves the ref, one counts lines. What the row names is durable before the row is.
    Raises StoreError when the tree can't be kept (too many files, too many bytes) or somebody else took one meanwhile.
    """
    git = store.ensure(workspace.repository)
    with memory.locked(workspace.tree):
        before = store.latest(workspace)
        known = known_of(workspace, git, before)
        with scanning.looking(workspace, git, known, paths) as scan:
            left_out = _left_out(before, scan, paths)
            if not scan.changes:
                _note_left_out(before, left_out)
                return None
            tree = scan.tree(git)
            text = f"Snapshot {before.number + 1} of run {workspace.pk}"
            commit = scan.objects.add("commit", objects.commit_data(tree, before.commit, text))
            scan.objects.flush(ref_follows=True)
            known.move(tree, scan.changes, scan.stats)
            return _add(workspace, git, before, known, scan, commit, left_out, call_id, step)


def _add(
    workspace: Workspace,
    git: Git,
    before: Snapshot,
    known: Known,
    scan: scanning.Scan,
    commit: str,
    left_out: _LeftOut,
    call_id: str,
    step: int,
) -> Snapshot:
    hidden = _hidden(git, known)
    with _tallying(git, known, before.tree, scan) as tallied, transaction.atomic():
        store.move_ref(workspace, git, before, commit)
        files = tallied()
        snapshot = Snapshot.objects.create(
            workspace=workspace,
            number=before.number + 1,
            tree=known.tree,
            commit=commit,
            call_id=call_id,
            step=step,
            files=listed(files),
            file_count=len(files),
            hidden=[shown(path) for path in hidden[:LISTED]],
            skipped=left_out.rows,
            skipped_count=left_out.total,
        )
        _in_line(workspace, snapshot.number)
    return snapshot


def _left_out(before: Snapshot, scan: scanning.Scan, paths: Sequence[str] | None) -> _LeftOut:
    """Return what could not be stored: what this look found, and where it was no look at everything, what is known."""
    found = scan.left_out()
    if paths is None:
        return _LeftOut(found[:LISTED], len(found))
    known = {row["path"] for row in before.skipped}
    new = [row for row in found if row["path"] not in known]
    return _LeftOut([*before.skipped, *new][:LISTED], before.skipped_count + len(new))


def _note_left_out(latest: Snapshot, now: _LeftOut) -> None:
    if (latest.skipped, latest.skipped_count) != now:
        Snapshot.objects.filter(pk=latest.pk).update(skipped=now.rows, skipped_count=now.total)


@contextmanager
def _tallying(git: Git, known: Known, old: str, scan: scanning.Scan) -> Iterator[Callable[[], list[RawChange]]]:
    """Count lines while the block goes on, which then asks for what differs from the `old` tree.

    What differs from the baseline is counted by the same process, for the changed paths alone where that is enough.
    """
    tally, changes = known.tally, scan.changes
    tally.note_large(changes, scan.large)
    only = changes if tally.would_stay_apart(changes, known.baseline) else None
    pairs = dict.fromkeys([(old, known.tree), (known.baseline_tree, known.tree)])
    with counting(git, list(pairs), only) as counted:

        def tallied() -> list[RawChange]:
            found = counted.results()
            tally.find_large(git, found[-1])
            tally.take_in(known.tree, found[-1], changes if counted.narrow else None)
            return found[0]

        yield tallied


def _hidden(git: Git, known: Known) -> list[bytes]:
    """Return the new files that only a rule added since the baseline would ignore."""
    if not known.has_other_rules:
        return []
    return rules.hidden(git, known.entries, (path for path in known.entries if path not in known.baseline))


def totals(workspace: Workspace, snapshot: Snapshot) -> Totals:
    """Return how much a snapshot differs from the baseline; no process for the one just taken, else up to four."""
    known = memory.get(workspace.tree, snapshot.tree)
    if known is not None and known.tally.totals is not None and known.tally.tree == snapshot.tree:
        return known.tally.totals
    found = changes(workspace, 0, snapshot.number)
    return Totals(found.file_count, found.additions, found.deletions)


def _learn(workspace: Workspace, git: Git, baseline: Snapshot, latest: Snapshot) -> None:
    """Note the stats of a tree just laid out, so that the first full scan needs not read every file."""
    known = read_of(git, baseline.tree, latest.tree, workspace)
    with memory.locked(workspace.tree), scanning.looking(workspace, git, known, None, trusting=True) as scan:
        memory.keep(workspace.tree, known)
    _note_left_out(latest, _left_out(latest, scan, None))
