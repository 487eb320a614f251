"""A human's revert: made in the run store as a new snapshot; no tree on disk is touched."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from django.db import transaction

from workspaces import store
from workspaces.diffs import Changes, FileChange, RawChange, compare, diff_of, find_change, listed, raw_changes
from workspaces.git import Git
from workspaces.models import Snapshot, Workspace
from workspaces.names import raw, shown
from workspaces.paths import WorkspaceError

PREVIEW_LIMIT = 1_000_000
"""Bytes of the preview on either side."""


class RevertError(WorkspaceError):
    """A revert that can't be made."""


@dataclass(frozen=True)
class Reverted:
    """What a revert makes, or would make: the exact tree, and what it changes against the latest snapshot.

    `before` and `after` are the file's bytes, at most 1 MB of them, None where there is no file. `snapshot` is None
    for a dry run, and when nothing differs.
    """

    snapshot: Snapshot | None
    tree: str
    files: list[FileChange]
    before: bytes | None
    after: bytes | None


def revert(
    workspace: Workspace,
    path: str,
    to: int = 0,
    hunks: Collection[str] | None = None,
    dry_run: bool = False,
    *,
    author: str = "",
) -> Reverted:
    """Put a file back to snapshot `to`, whole or by hunks (ids of `file_diff(workspace, path, to)`).

    A renamed file goes by its new path: that is removed and the old one comes back. To undo a revert, revert to the
    snapshot before it. Raises RevertError.
    """
    git = store.ensure(workspace.repository)
    latest, target = store.latest(workspace), _target(workspace, to)
    change = find_change(raw_changes(git, target.tree, latest.tree, counted=False), path)
    if change is None:
        return _nothing(git, latest, path)
    wanted = _by_hunks(git, change, hunks) if hunks is not None else _whole(git, change, latest)
    tree = store.build_tree(git, latest.tree, wanted)
    result = compare(git, latest.tree, tree)
    made = None if dry_run or not result.files else _add(workspace, git, latest, result, author)
    before, after = (_preview(git, root, change) for root in (latest.tree, tree))
    return Reverted(made, tree, result.files, before, after)


def _target(workspace: Workspace, to: int) -> Snapshot:
    try:
        return store.at(workspace, to)
    except store.StoreError as error:
        raise RevertError("NO_BASELINE", str(error)) from None


def _nothing(git: Git, latest: Snapshot, path: str) -> Reverted:
    """Return the revert of a file that is as it was, or raise NOT_FOUND for one that no snapshot here knows."""
    found = store.entry(git, latest.tree, raw(path))
    if found is None:
        raise RevertError("NOT_FOUND", f"{path} is in neither snapshot; an ignored file is not kept in them.")
    data = store.read_head(git, found.oid, PREVIEW_LIMIT) if found.mode != store.SUBMODULE else None
    return Reverted(None, latest.tree, [], data, data)


def _whole(git: Git, change: RawChange, latest: Snapshot) -> dict[bytes, store.TreeEntry | None]:
    """Return what the tree needs so that the file is as it was."""
    if change.old.mode == store.NO_MODE:
        return {change.path: None}
    old = change.old_path
    present = store.listing(git, latest.tree, *_on_the_way(old))
    for parent in _on_the_way(old)[:-1]:
        if parent in present:
            raise RevertError("NOT_A_DIRECTORY", f"{shown(parent)} is a file now; revert that first.")
    below = [path for path in store.listing(git, latest.tree, old) if path.startswith(old + b"/")]
    if below:
        raise RevertError(
            "IS_DIRECTORY",
            f"{shown(old)} is a folder now, with {shown(below[0])} and {len(below) - 1} others; revert those first.",
        )
    if store.stand_ins(git, store.blob_sizes(git, [change.old.oid])):
        raise RevertError("NOT_STORED", f"{shown(old)} is over 50 MB, so only its size and hash were kept.")
    wanted: dict[bytes, store.TreeEntry | None] = {old: change.old}
    if change.path != old:
        wanted[change.path] = None
    return wanted


def _on_the_way(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    return [b"/".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _by_hunks(git: Git, change: RawChange, hunks: Collection[str]) -> dict[bytes, store.TreeEntry | None]:
    """Return the file with these hunks taken back, exactly as their bytes were; mode and name stay."""
    diff = diff_of(git, change)
    by_id = {hunk.id: hunk for hunk in diff.hunks}
    unknown = sorted(set(hunks) - by_id.keys())
    if diff.binary or store.SUBMODULE in (change.old.mode, change.new.mode):
        raise RevertError("BINARY_FILE", f"{shown(change.path)} is no text, so it has no hunks; revert the whole file.")
    if unknown:
        raise RevertError(
            "UNKNOWN_HUNK", f"{shown(change.path)} has no hunk {unknown[0]} any more; load the diff again."
        )
    if not hunks:
        raise RevertError("INVALID_INPUT", "No hunk was named; name at least one, or none at all for the whole file.")
    if len(hunks) == len(by_id) and change.new.mode == store.NO_MODE:
        return {change.old_path: change.old}
    old, new = _lines(git, change.old), _lines(git, change.new)
    for hunk in sorted((by_id[each] for each in set(hunks)), key=lambda hunk: hunk.new_start, reverse=True):
        old_from = hunk.old_start - (1 if hunk.old_lines else 0)
        new_from = hunk.new_start - (1 if hunk.new_lines else 0)
        new[new_from : new_from + hunk.new_lines] = old[old_from : old_from + hunk.old_lines]
    return _rewritten(git, change, b"".join(new), everything=len(set(hunks)) == len(by_id))


def _rewritten(git: Git, change: RawChange, data: bytes, *, everything: bool) -> dict[bytes, store.TreeEntry | None]:
    assert git.git_dir is not None
    if everything and change.old.mode == store.NO_MODE:
        return {change.path: None}  # all of a new file was taken back
    mode = change.new.mode if change.new.mode != store.NO_MODE else change.old.mode
    return {change.path: store.TreeEntry(mode, store.write_blob(git.git_dir, data))}


def _lines(git: Git, side: store.TreeEntry) -> list[bytes]:
    if side.mode == store.NO_MODE:
        return []
    return re.findall(rb"[^\n]*\n|[^\n]+", store.read_blob(git, side.oid))


def _preview(git: Git, tree: str, change: RawChange) -> bytes | None:
    for path in dict.fromkeys((change.path, change.old_path)):
        found = store.entry(git, tree, path)
        if found is not None and found.mode != store.SUBMODULE:
            return store.read_head(git, found.oid, PREVIEW_LIMIT)
    return None


def _add(workspace: Workspace, git: Git, latest: Snapshot, result: Changes, author: str) -> Snapshot:
    message = f"Revert of {result.files[0].path} in run {workspace.pk}" + (f", by {author}" if author else "")
    with transaction.atomic():
        commit = store.chain(workspace, git, latest, result.tree, message)
        return Snapshot.objects.create(
            workspace=workspace,
            number=latest.number + 1,
            tree=result.tree,
            commit=commit,
            step=latest.step,
            files=listed(raw_changes(git, latest.tree, result.tree)),
            file_count=result.file_count,
            hidden=latest.hidden,
        )
