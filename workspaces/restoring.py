"""Paths of a tree put back to what they were, in a snapshot of their own; what stands in their way goes."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from workspaces import snapshots, store, trees
from workspaces.known import Known, known_of, memory, parents
from workspaces.models import Snapshot, Workspace
from workspaces.names import shown
from workspaces.sandbox.identity import worker_uid

UNKEPT = "it was written again meanwhile, or its bytes were never kept."

Wanted = Mapping[bytes, store.TreeEntry | None]


@dataclass(frozen=True)
class Restored:
    """The snapshot that came of it, None where nothing was written; and what is left, with the reason.

    `cleared` are files that stood where a folder was, or in a folder that stood where a file was: the snapshot before
    has them.
    """

    snapshot: Snapshot | None = None
    left: dict[bytes, str] = field(default_factory=dict)
    cleared: tuple[bytes, ...] = ()


def restore(workspace: Workspace, wanted: Wanted, step: int) -> Restored:
    """Make these paths what the entries say (None: absent): bytes, mode, link or absence. No link is followed.

    What the latest snapshot holds goes out of the way; what no snapshot holds, as an ignored file, stays, and then so
    does the path, in `left`. Doing it again is harmless.
    """
    git = store.ensure(workspace.repository)
    with memory.locked(workspace.tree):
        known = known_of(workspace, git, store.latest(workspace))
        differing = {path: entry for path, entry in wanted.items() if known.entries.get(path) != entry}
        if not differing:
            return Restored()
        come = [path for path, entry in differing.items() if entry is not None]
        cleared = [path for path in _in_the_way(known, come) if path not in differing]
        faults: dict[bytes, str] = {}
        _make_way(workspace, known, come)
        everything = {**differing, **dict.fromkeys(cleared)}
        trees.put(git, workspace.tree, everything, worker_uid(workspace.pk), faults)
        made = snapshots.take(workspace, call_id="", step=step, paths=[shown(path) for path in everything])
        now = known_of(workspace, git, store.latest(workspace)).entries
        left = {path: faults.get(path, UNKEPT) for path, entry in differing.items() if now.get(path) != entry}
    return Restored(made, left, tuple(path for path in cleared if path not in now))


def _in_the_way(known: Known, come: Iterable[bytes]) -> set[bytes]:
    """Return the entries that are a folder on the way of a path, or lie in a folder that is at a path."""
    above = {parent for path in come for parent in parents(path)}
    folders = {path for path in come if path in known.folders}
    below = {each for each in known.entries if not folders.isdisjoint(parents(each))} if folders else set()
    return {each for each in above if each in known.entries} | below


def _make_way(workspace: Workspace, known: Known, come: Iterable[bytes]) -> None:
    """Take away what holds nothing: links and the like where folders were, and empty folders where files were.

    A file where a folder holds something hidden goes too: no snapshot could ever have it.
    """
    paths = list(come)
    for parent in sorted({parent for path in paths for parent in parents(path)}):
        with suppress(OSError, trees.TreeError):
            trees.remove_hollow(workspace.tree, parent, also_files=parent in known.withheld_folders)
    for path in paths:
        trees.remove_empty(workspace.tree, path)
