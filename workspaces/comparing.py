"""What differs between a tree, as it lies on disk now, and its baseline: a look and one git, side by side."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from workspaces import scanning, store
from workspaces.diffs import (
    COUNTED,
    DIFF_S,
    FILES_LIMIT,
    RECORDS,
    RENAMES,
    SAFE,
    FileChange,
    RawChange,
    file_changes,
    following,
    has_blob,
    raw_changes,
    records_in_order,
    without_cut_names,
)
from workspaces.git import Bounds, Git, Running
from workspaces.known import Known, known_of, memory
from workspaces.models import Workspace
from workspaces.names import raw, shown

TEXTS_LIMIT = 16 * 1024 * 1024
"""Bytes of diffs, with the list of files, that are read at a time."""
NAMED_LIMIT = 200
"""Files whose diffs are asked for by name."""
_SECTION = re.compile(rb"^diff --git ", re.MULTILINE)
_HUNKS = re.compile(rb"^@@ ", re.MULTILINE)

Wanted = Callable[[str, str], bool]
"""Whether a file is wanted, by its path and its old path."""


@dataclass(frozen=True)
class Compared:
    """What differs: the files, how many of them are wanted in all, and their diffs where those were asked for.

    `hunks` are by path, as git writes them, for text alone; a file that is missing there was not reached (see `cut`).
    `left_out`: what is wanted and lies in the tree, but can't be stored and so not be compared, as {"path", "why"}.
    """

    tree: str
    files: list[FileChange]
    file_count: int
    hunks: dict[str, bytes] = field(default_factory=dict)
    cut: bool = False
    left_out: list[dict[str, str]] = field(default_factory=list)


def compare_with_baseline(workspace: Workspace, wanted: Wanted | None = None, *, texts: bool = False) -> Compared:
    """Compare the tree as it is now with the baseline; what changed since the last snapshot is stored, but is none.

    Threads may call it at the same time. One process when no binary differs, and a second one for the `texts` of
    `wanted` files or for a tree that changed since the last snapshot.
    """
    git = store.ensure(workspace.repository)
    together = texts and wanted is None
    with memory.locked(workspace.tree):
        before = store.latest(workspace)
        known = known_of(workspace, git, before)
        with _asked(git, known.baseline_tree, before.tree, together) as early:
            tree, large, left_out = _look(workspace, git, known)
            records, rest, cut = _answer(git, early, known.baseline_tree, before.tree)
        if tree != before.tree:
            with _asked(git, known.baseline_tree, tree, together) as late:
                records, rest, cut = _answer(git, late, known.baseline_tree, tree)
        stand_ins = large if large is not None else known.tally.find_large(git, list(records.values()))
    chosen = [each for each in records.values() if wanted is None or wanted(shown(each.path), shown(each.old_path))]
    files = _files(git, chosen[:FILES_LIMIT], stand_ins, before.hidden)
    if texts and not together:
        rest, cut = _texts_of(git, known.baseline_tree, tree, chosen)
        records = {each.path: each for each in chosen[:NAMED_LIMIT]}
    rest = without_cut_names(rest[: rest.rfind(b"\n") + 1] if cut else rest)
    hunks = _hunks(list(records.values()), rest, stand_ins) if texts else {}
    left_out = [each for each in left_out if wanted is None or wanted(each["path"], each["path"])]
    return Compared(tree, files, len(chosen), hunks, cut, left_out)


def where(workspace: Workspace, path: str) -> str:
    """Return where a path is: "tree", "baseline" (it is gone), "ignored", or "" for nowhere. Folders count."""
    git, name = store.ensure(workspace.repository), raw(path)
    with memory.locked(workspace.tree):
        known = known_of(workspace, git, store.latest(workspace))
        is_known = not name or name in known.entries or name in known.folders
    if os.path.lexists(os.path.join(os.fsencode(workspace.tree), name)):
        return "tree" if is_known else "ignored"
    return "baseline" if is_known or name in known.baseline else ""


def _look(workspace: Workspace, git: Git, known: Known) -> tuple[str, set[bytes] | None, list[dict[str, str]]]:
    """Return the tree as it is now, its objects stored; its stand-ins (None: unknown); and what can't be stored."""
    with scanning.looking(workspace, git, known, None) as scan:
        if not scan.changes:
            return known.tree, known.tally.large, scan.left_out()
        tree = scan.tree(git)
        scan.objects.flush()
    kept = known.tally.large
    return tree, None if kept is None else (kept - scan.changes.keys()) | scan.large, scan.left_out()


# --- one git -----------------------------------------------------------------------------------------


@contextmanager
def _asked(git: Git, old: str, new: str, texts: bool) -> Iterator[Running]:
    shape = (*COUNTED, "-p") if texts else COUNTED
    args = ("diff-tree", *RECORDS, *shape, *RENAMES, *SAFE, old, new)
    with git.started(Bounds(DIFF_S, TEXTS_LIMIT), *args) as running:
        yield running


def _answer(git: Git, running: Running, old: str, new: str) -> tuple[dict[bytes, RawChange], bytes, bool]:
    """Return the records, the patch after them, and whether that was cut."""
    out, cut = running.head(TEXTS_LIMIT)
    fields, at = [], 0
    while at < len(out) and out[at] != 0:
        end = out.find(b"\0", at)
        for _ in range(1 + following(out[at:end]) if end >= 0 else 0):
            end = out.find(b"\0", at)
            fields.append(out[at:end])
            at = end + 1
        if end < 0:  # not even the list of files fits
            return {each.path: each for each in raw_changes(git, old, new)}, b"", True
    return records_in_order(fields), out[at + 1 :], cut


def _texts_of(git: Git, old: str, new: str, chosen: Sequence[RawChange]) -> tuple[bytes, bool]:
    """Return the patch of some files, and whether it was cut."""
    paths = dict.fromkeys(os.fsdecode(path) for each in chosen[:NAMED_LIMIT] for path in (each.old_path, each.path))
    if not paths:
        return b"", False
    args = ("diff-tree", "-r", "-p", *RENAMES, *SAFE, old, new, "--", *paths)
    with git.started(Bounds(DIFF_S, TEXTS_LIMIT), *args) as running:
        out, cut = running.head(TEXTS_LIMIT)
    return out, cut or len(chosen) > NAMED_LIMIT


def _files(git: Git, records: Sequence[RawChange], stand_ins: set[bytes], hidden: list[str]) -> list[FileChange]:
    """Return the records for people; sizes are asked for where there are no lines to count."""
    plain = [each for each in records if each.counts is None or each.path in stand_ins]
    sizes = store.blob_sizes(git, (side.oid for each in plain for side in (each.old, each.new) if has_blob(side)))
    large = store.stand_ins(git, sizes) if stand_ins else {}
    return file_changes(records, sizes, large, hidden)


def _hunks(records: Sequence[RawChange], patch: bytes, stand_ins: set[bytes]) -> dict[str, bytes]:
    """Return each file's hunks out of a patch that holds the files in this order.

    A line of a hunk begins with a space, a sign or a backslash and git quotes names, so "diff --git" at the beginning
    of a line is always a header. What changed its type has two sections, one goes and one comes.
    """
    starts = [found.start() for found in _SECTION.finditer(patch)] + [len(patch)]
    found: dict[str, bytes] = {}
    at = 0
    for each in records:
        count = 2 if each.status == "T" else 1
        sections = [patch[starts[i] : starts[i + 1]] for i in range(at, min(at + count, len(starts) - 1))]
        at += count
        if sections and each.counts is not None and each.path not in stand_ins:
            found[shown(each.path)] = b"".join(_from_hunks(section) for section in sections)
    return found


def _from_hunks(section: bytes) -> bytes:
    first = _HUNKS.search(section)
    return section[first.start() :] if first else b""
