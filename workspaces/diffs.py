"""What differs between two snapshots: all from the run store, never from a tree on disk."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from workspaces import cuts, store
from workspaces.git import Git, GitFull
from workspaces.models import Snapshot, Workspace
from workspaces.names import find, raw, shown

STATUSES = {"A": "added", "M": "modified", "D": "deleted", "R": "renamed", "T": "type"}
RENAME_LIMIT = 1000
"""Added times deleted files above which git looks only for exact renames."""
FILES_LIMIT = 20_000
"""Changed files that are handed out; their true number is told beside them."""
LISTED = 200
"""Files that a snapshot's row names."""
HUNK_LINES_LIMIT = 20_000
DIFF_BYTES_LIMIT = 8 * 1024 * 1024
LINE_LIMIT = 5000
"""Characters of one line that are handed out; the rest is left out and "…" says so."""

SAFE = ("--no-ext-diff", "--no-textconv", "--no-color", "--full-index", "--src-prefix=a/", "--dst-prefix=b/")
RENAMES = ("-M", f"-l{RENAME_LIMIT}")
RECORDS, COUNTED = ("-r", "-z"), ("--raw", "--numstat")
"""Options of `git diff-tree` for what `parse_records` takes."""
DIFF_S = 120
"""Seconds that a comparison of two trees may take."""
_CUT_NAME = re.compile(rb"^(@@ -[\d,]+ \+[\d,]+ @@) .{79,}$", re.MULTILINE)
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")


@dataclass(frozen=True)
class FileChange:
    """What happened to one file. Modes are git's, NO_MODE where there is none; paths as in workspaces.names."""

    path: str
    old_path: str
    status: str
    additions: int
    deletions: int
    binary: bool
    old_mode: str
    new_mode: str
    size_old: int
    size_new: int
    hidden: bool = False
    """Only a rule that the run added would ignore it."""
    stored: bool = True
    """False: over 50 MB, so that only size and hash are known."""


@dataclass(frozen=True)
class Changes:
    """What differs between two trees: the first 20,000 files by path, and how many there are in all."""

    files: list[FileChange]
    file_count: int
    tree: str
    baseline_tree: str
    additions: int
    deletions: int


@dataclass(frozen=True)
class Line:
    """One line of a hunk: kind " ", "+" or "-"; its number is None on a side where it isn't; `text` has no newline."""

    kind: str
    old: int | None
    new: int | None
    text: str
    no_newline: bool = False


@dataclass(frozen=True)
class Hunk:
    """A run of changed lines with what is around them; `id` is the same wherever it stands (see parse_hunks)."""

    id: str
    header: str
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: list[Line]


@dataclass(frozen=True)
class FileDiff:
    """The hunks of one file; none for a binary, one over 50 MB, or (`truncated`) one whose diff is too large."""

    path: str
    old_path: str
    hunks: list[Hunk]
    binary: bool = False
    truncated: bool = False
    old_mode: str = store.NO_MODE
    new_mode: str = store.NO_MODE


@dataclass(frozen=True)
class RawChange:
    """One record of `git diff-tree --raw`, with its counts (None for a binary)."""

    path: bytes
    old_path: bytes
    status: str
    old: store.TreeEntry
    new: store.TreeEntry
    counts: tuple[int, int] | None = (0, 0)


# --- which files -------------------------------------------------------------------------------------


def changes(workspace: Workspace, start: int = 0, end: int | None = None) -> Changes:
    """Return what differs between two snapshots (None: the latest), renames found. Two or three processes."""
    git, first, last = _ends(workspace, start, end)
    return compare(git, first.tree, last.tree, last.hidden)


def compare(git: Git, old: str, new: str, hidden: Iterable[str] = ()) -> Changes:
    """Return what differs between two trees."""
    everything = raw_changes(git, old, new)
    records = everything[:FILES_LIMIT]
    sizes = store.blob_sizes(git, (side.oid for each in records for side in (each.old, each.new) if has_blob(side)))
    files = file_changes(records, sizes, store.stand_ins(git, sizes), hidden)
    added, deleted = sum(file.additions for file in files), sum(file.deletions for file in files)
    return Changes(files, len(everything), new, old, added, deleted)


def has_blob(side: store.TreeEntry) -> bool:
    """Return whether a side of a change is a file or link, so that the store has its bytes."""
    return side.mode not in (store.NO_MODE, store.SUBMODULE)


def file_changes(
    records: Iterable[RawChange], sizes: Mapping[str, int], large: Mapping[str, int], hidden: Iterable[str]
) -> list[FileChange]:
    """Return records for people.

    `sizes`: of the objects whose size is known; `large`: of those that are stand-ins, the size of what they stand for;
    `hidden`: the paths that only a rule added by the run would ignore.
    """
    known, marked = {**sizes, **large}, set(hidden)
    return [_file_change(each, known, large, shown(each.path) in marked) for each in records]


def _file_change(each: RawChange, sizes: Mapping[str, int], large: Mapping[str, int], hidden: bool) -> FileChange:
    stored = each.old.oid not in large and each.new.oid not in large
    counts = each.counts if stored else None
    additions, deletions = counts or (0, 0)
    return FileChange(
        path=shown(each.path),
        old_path=shown(each.old_path),
        status=STATUSES[each.status],
        additions=additions,
        deletions=deletions,
        binary=counts is None,
        old_mode=each.old.mode,
        new_mode=each.new.mode,
        size_old=sizes.get(each.old.oid, 0),
        size_new=sizes.get(each.new.oid, 0),
        hidden=hidden,
        stored=stored,
    )


def raw_changes(git: Git, old: str, new: str, *, counted: bool = True) -> list[RawChange]:
    """Return the records of `git diff-tree` between two trees, by path; but for renames `old_path` is the path."""
    if old == new:
        return []
    shape = COUNTED if counted else ("--raw",)
    out = git.run("diff-tree", *RECORDS, *shape, *RENAMES, *SAFE, old, new, timeout_s=DIFF_S)
    return parse_records(out.split(b"\0")[:-1])


def parse_records(given: Iterable[bytes]) -> list[RawChange]:
    """Return what the fields of `git diff-tree -z --raw`, with or without --numstat, say, by path."""
    records = records_in_order(given)
    return [records[path] for path in sorted(records)]


def records_in_order(given: Iterable[bytes]) -> dict[bytes, RawChange]:
    """Return the records by path, in the order in which git gave them."""
    fields = iter(given)
    records: dict[bytes, RawChange] = {}
    for first in fields:
        if first.startswith(b":"):
            record = _raw_record(first, fields)
            records[record.path] = record
        else:
            path, counts = _numbers(first, fields)
            records[path] = replace(records[path], counts=counts)
    return records


def following(record: bytes) -> int:
    """Return how many paths follow the first field of a record."""
    if record.startswith(b":"):
        return 2 if record.rpartition(b" ")[2].startswith(b"R") else 1
    return 0 if record.split(b"\t", 2)[2] else 2  # a rename's counts name no path; its two follow


def _raw_record(head: bytes, fields: Iterator[bytes]) -> RawChange:
    old_mode, new_mode, old_oid, new_oid, status = head[1:].decode().split(" ")
    old_path = next(fields)
    path = next(fields) if status[0] == "R" else old_path
    old, new = store.TreeEntry(old_mode, old_oid), store.TreeEntry(new_mode, new_oid)
    return RawChange(path, old_path, status[0], old, new)


def _numbers(head: bytes, fields: Iterator[bytes]) -> tuple[bytes, tuple[int, int] | None]:
    added, deleted, path = head.split(b"\t", 2)
    if not path:  # a rename: old and new path follow
        next(fields)
        path = next(fields)
    return path, None if added == b"-" else (int(added), int(deleted))


def listed(records: list[RawChange]) -> list[dict[str, str | int]]:
    """Return what a snapshot's row says of its first files."""
    return [
        {
            "path": shown(each.path),
            "status": STATUSES[each.status],
            "additions": (each.counts or (0, 0))[0],
            "deletions": (each.counts or (0, 0))[1],
        }
        for each in records[:LISTED]
    ]


# --- one file ----------------------------------------------------------------------------------------


def file_diff(workspace: Workspace, path: str, start: int = 0, end: int | None = None, context: int = 3) -> FileDiff:
    """Return the hunks of one file between two snapshots; no hunks when it doesn't differ."""
    git, first, last = _ends(workspace, start, end)
    change = find_change(raw_changes(git, first.tree, last.tree, counted=False), path)
    if change is None:
        return FileDiff(path, path, [])
    return diff_of(git, change, context)


def find_change(records: list[RawChange], path: str) -> RawChange | None:
    """Return the record of this path: by its new name first, then by the old one."""
    by_path = {record.path: record for record in records}
    wanted = find(path, by_path)
    return by_path.get(wanted) or next((record for record in records if record.old_path == raw(path)), None)


def diff_of(git: Git, change: RawChange, context: int = 3) -> FileDiff:
    """Return the hunks of one change."""
    about = FileDiff(shown(change.path), shown(change.old_path), [], old_mode=change.old.mode, new_mode=change.new.mode)
    if store.SUBMODULE in (change.old.mode, change.new.mode):
        return _submodule_diff(about, change)
    sizes = store.blob_sizes(git, (side.oid for side in (change.old, change.new) if has_blob(side)))
    if store.stand_ins(git, sizes):
        return replace(about, binary=True)
    out = _diff_blobs(git, change, context)
    if out is None:
        return replace(about, truncated=True)
    if b"\nBinary files " in out or out.startswith(b"Binary files "):
        return replace(about, binary=True)
    hunks, truncated = parse_hunks(change.path, out)
    return replace(about, hunks=hunks, truncated=truncated)


def _diff_blobs(git: Git, change: RawChange, context: int) -> bytes | None:
    """Return git's diff of the two contents, or None when it is too large."""
    sides = [side.oid if has_blob(side) else _empty_blob(git) for side in (change.old, change.new)]
    options = (f"-U{max(0, min(context, 100_000))}", "--inter-hunk-context=0", *SAFE)
    try:
        return without_cut_names(git.run("diff", *options, *sides, "--", limit_bytes=DIFF_BYTES_LIMIT))
    except GitFull:
        return None


def without_cut_names(patch: bytes) -> bytes:
    """Return a patch without the lines of functions, behind the numbers of hunks, that git cut: at 80 bytes.

    The cut may go through a secret, half of which nothing masks.
    """
    return _CUT_NAME.sub(rb"\1", patch)


def _empty_blob(git: Git) -> str:
    assert git.git_dir is not None
    return store.write_blob(git.git_dir, b"")


def _submodule_diff(about: FileDiff, change: RawChange) -> FileDiff:
    lines = [
        Line(kind, 1 if kind == "-" else None, 1 if kind == "+" else None, f"Subproject commit {side.oid}")
        for kind, side in (("-", change.old), ("+", change.new))
        if side.mode == store.SUBMODULE
    ]
    old, new = (sum(line.kind == kind for line in lines) for kind in "-+")
    header = f"@@ -{min(old, 1)},{old} +{min(new, 1)},{new} @@"
    return replace(about, hunks=[Hunk("submodule", header, 1, old, 1, new, lines)])


def parse_hunks(path: bytes, diff: bytes) -> tuple[list[Hunk], bool]:
    """Return the hunks of one file's unified diff and whether some were left out.

    Lines are counted as the hunk's header says, so text that looks like a header can't mislead. The id is a hash of
    path and changed lines, with a number where the same change stands in the file more than once.
    """
    hunks: list[Hunk] = []
    known: dict[str, int] = {}
    rows = diff.split(b"\n")
    at = total = 0
    while at < len(rows):
        head = _HUNK.fullmatch(rows[at])
        at += 1
        if head is None:
            continue
        old, new = (int(head[1]), int(head[2] or 1)), (int(head[3]), int(head[4] or 1))
        total += old[1] + new[1]
        if hunks and total > HUNK_LINES_LIMIT:
            return hunks, True
        shown_header = cuts.head(rows[at - 1].decode(errors="replace"), 300)
        at, lines, changed = _lines(rows, at, old, new)
        digest = hashlib.sha256(path + b"\0" + changed).hexdigest()[:16]
        known[digest] = known.get(digest, 0) + 1
        hunk_id = digest if known[digest] == 1 else f"{digest}-{known[digest]}"
        hunks.append(Hunk(hunk_id, shown_header, *old, *new, lines))
    return hunks, False


def _lines(rows: list[bytes], at: int, old: tuple[int, int], new: tuple[int, int]) -> tuple[int, list[Line], bytes]:
    """Return where the hunk's text ends, its lines, and the bytes of the changed ones."""
    lines: list[Line] = []
    changed: list[bytes] = []
    old_at, new_at = old[0], new[0]
    old_end, new_end = sum(old), sum(new)
    while at < len(rows):
        row = rows[at]
        if row.startswith(b"\\"):
            lines[-1] = replace(lines[-1], no_newline=True)
        elif old_at < old_end or new_at < new_end:
            kind = chr(row[0])
            lines.append(_line(kind, row[1:], old_at, new_at))
            old_at += kind != "+"
            new_at += kind != "-"
        else:
            break
        if lines[-1].kind != " ":
            changed.append(row)
        at += 1
    return at, lines, b"\n".join(changed)


def _line(kind: str, data: bytes, old: int, new: int) -> Line:
    text = data.decode(errors="replace")
    text = text if len(text) <= LINE_LIMIT else f"{cuts.head(text, LINE_LIMIT)}…"
    return Line(kind, old if kind != "+" else None, new if kind != "-" else None, text)


# --- the whole, as a patch ---------------------------------------------------------------------------


def patch(workspace: Workspace, start: int = 0, end: int | None = None) -> bytes:
    """Return all that differs as a patch that `git apply` takes, binaries too.

    Files over 50 MB are left out; lines before the first `diff` say so, and git passes over them.
    Raises StoreError when it is larger than 256 MB.
    """
    git, first, last = _ends(workspace, start, end)
    left_out = [file.path for file in compare(git, first.tree, last.tree).files if not file.stored]
    only = _without(git, first.tree, last.tree, left_out)
    said = "".join(f"Left out, over 50 MB and not stored: {path}\n" for path in left_out)
    out = git.run("diff-tree", "-r", "-p", "--binary", *RENAMES, *SAFE, first.tree, only, timeout_s=300)
    return said.encode() + without_cut_names(out)


def _without(git: Git, old: str, new: str, paths: list[str]) -> str:
    """Return `new` with these paths as they are in `old`."""
    if not paths:
        return new
    before = store.listing(git, old)
    return store.build_tree(git, new, {raw(path): before.get(raw(path)) for path in paths})


def _ends(workspace: Workspace, start: int, end: int | None) -> tuple[Git, Snapshot, Snapshot]:
    return store.ensure(workspace.repository), store.at(workspace, start), store.at(workspace, end)
