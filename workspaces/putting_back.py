"""What a touched file was at first, and putting a file of the tree back to it (the agent's own revert)."""

import os

from workspaces import rules, scanning, store, trees
from workspaces.diffs import find_change, raw_changes
from workspaces.git import Git
from workspaces.known import known_of
from workspaces.models import Baseline, Snapshot, Workspace
from workspaces.names import find, raw, shown
from workspaces.paths import WorkspaceError
from workspaces.sandbox.identity import worker_uid

NAMED = 5
"""Files that a refusal names."""

Wanted = dict[bytes, store.TreeEntry | None]


class PutBackError(WorkspaceError):
    """A path that can't be put back."""


def remember_baseline(workspace: Workspace, path: str) -> None:
    """Note what the path is before a file tool touches it for the first time; one query when it was noted before.

    For what git knows that is the baseline's version. An ignored file's bytes are stored now: no snapshot has them.
    """
    name = shown(raw(path))
    if Baseline.objects.filter(workspace=workspace, path=name).exists():
        return
    git = store.ensure(workspace.repository)
    found, ignored = store.entry(git, store.at(workspace, 0).tree, raw(path)), False
    if found is None:
        found = _ignored_file(workspace, git, raw(path))
        ignored = found is not None
    kinds = {None: Baseline.Kind.ABSENT, store.LINK: Baseline.Kind.LINK}
    size = store.blob_sizes(git, [found.oid]).get(found.oid, 0) if found else 0
    Baseline.objects.get_or_create(
        workspace=workspace,
        path=name,
        defaults={
            "kind": kinds.get(found.mode if found else None, Baseline.Kind.FILE),
            "mode": found.mode if found else "",
            "blob": found.oid if found else "",
            "size": size,
            "ignored": ignored,
        },
    )


def _ignored_file(workspace: Workspace, git: Git, path: bytes) -> store.TreeEntry | None:
    """Store the file's bytes if it is there and the baseline's rules ignore it; other new files have no first bytes."""
    if not os.path.lexists(os.path.join(os.fsencode(workspace.tree), path)):
        return None
    known = known_of(workspace, git, store.latest(workspace))
    ignoring = rules.of_baseline(workspace, git, known.baseline)
    if path not in ignoring.ignored([path]):
        return None
    return scanning.on_disk(workspace.tree, path, ignoring, workspace.repository.store)


def put_back(workspace: Workspace, path: str, to: int = 0) -> list[str]:
    """Put a path of the tree back to snapshot `to`: bytes, mode, link or absence; return the paths written.

    A renamed file goes by its new path: that is removed and the old one comes back. A link is replaced, not followed.
    Raises PutBackError.
    """
    git = store.ensure(workspace.repository)
    wanted = _wanted(workspace, git, path, to)
    for each, entry in wanted.items():
        _must_fit(workspace, git, each, entry)
    try:
        written = trees.put(git, workspace.tree, wanted, worker_uid(workspace.pk))
    except trees.TreeError as error:
        raise PutBackError(error.code, error.message) from error
    return [shown(each) for each in written]


def _wanted(workspace: Workspace, git: Git, path: str, to: int) -> Wanted:
    target, latest = _snapshot(workspace, to), store.latest(workspace)
    change = find_change(raw_changes(git, target.tree, latest.tree, counted=False), path)
    if change is not None and change.status == "R" and change.path in (raw(path), os.fsencode(path)):
        return {change.path: None, change.old_path: change.old}
    then = store.listing(git, target.tree, raw(path), os.fsencode(path))
    name = find(path, then)
    if name in then:
        return {name: then[name]}
    if then:
        raise PutBackError("IS_DIRECTORY", f"{path} was a folder; revert its files one by one, such as {_names(then)}.")
    row = Baseline.objects.filter(workspace=workspace, path=shown(name)).first()
    if row is not None and row.ignored:
        return _from_row(row, path, to)
    if row is not None or store.listing(git, latest.tree, name):
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


def _must_fit(workspace: Workspace, git: Git, path: bytes, entry: store.TreeEntry | None) -> None:
    """Make room where an empty folder is in the way. Raises PutBackError where something would be lost."""
    if entry is not None and store.stand_ins(git, store.blob_sizes(git, [entry.oid])):
        raise PutBackError("TOO_LARGE", f"{shown(path)} was over 50 MB, so only its size and hash were kept.")
    if entry is not None and entry.mode == store.SUBMODULE:
        return
    lost = trees.in_folder(workspace.tree, path)
    if lost:
        raise PutBackError(
            "IS_DIRECTORY",
            f"{shown(path)} is a folder now and these files in it would be lost: {_names(lost)}. "
            "Move or revert them first.",
        )
    trees.remove_empty(workspace.tree, path)


def _names(paths: "list[bytes] | store.Tree") -> str:
    named = [shown(path) for path in list(paths)[: NAMED + 1]]
    return ", ".join(named[:NAMED]) + (" and others" if len(named) > NAMED else "")
