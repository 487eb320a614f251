"""What a reader has seen of each file, so that nobody overwrites what was not seen; fresh is decided by content."""

import hashlib
import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from workspaces import lines
from workspaces.editing import Edit, Region
from workspaces.encodings import Decoded
from workspaces.models import ReadState, Workspace
from workspaces.names import shown
from workspaces.paths import WorkspaceError, WorkspacePath

MAX_FILES = 20_000
_COLUMNS = ("ranges", "whole", "size", "mtime_ns", "ctime_ns", "inode", "encoding", "newline", "step", "updated_at")


class ReadError(WorkspaceError):
    """NOT_READ, PARTIALLY_READ or STALE."""


def text_hash(text: str) -> str:
    """Return the hash of some lines: sha256 of them, ends included, as UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Range:
    """Lines that were shown, both ends included, and their hash. `cut`: not to their ends, since they are so long."""

    first: int
    last: int
    sha: str
    cut: bool = False

    def to_json(self) -> list[int | str]:
        return [self.first, self.last, self.sha, *(["cut"] if self.cut else [])]


@dataclass(frozen=True)
class _Seen:
    """All that is known of one file. `shown`: of ranges that stand in the context, the step and the hash."""

    ranges: tuple[Range, ...] = ()
    whole: str = ""
    stat: tuple[int, int, int, int] = (0, 0, 0, 0)
    encoding: str = "utf-8"
    newline: str = "lf"
    step: int = 0
    shown: dict[tuple[int, int], tuple[int, str]] = field(default_factory=dict)


class Reads:
    """The read states of one (workspace, reader): in memory while a run is held, rows after `save`.

    Made with one query; threads may share it.
    """

    def __init__(self, workspace: Workspace, reader: str) -> None:
        self.workspace = workspace
        self.reader = reader
        self._lock = threading.Lock()
        self._changed: set[str] = set()
        rows = ReadState.objects.filter(workspace=workspace, reader=reader).order_by("-updated_at")[:MAX_FILES]
        self._seen = {row.path: _from_row(row) for row in rows}

    # --- noting ------------------------------------------------------------------------------

    def note_read(
        self,
        path: WorkspacePath,
        stat: os.stat_result,
        shown_lines: Sequence[str],
        first: int,
        step: int,
        file: "ReadFile",
    ) -> None:
        """Note that the lines from `first` on were shown, as they are in the file, ends included."""
        ranges = _ranges(shown_lines, first, file.line_limit)
        last = first + len(shown_lines) - 1
        with self._lock:
            kept = _still_true(self._seen.get(shown(path.relative), _Seen()), file.text, stat)
            whole = kept.whole
            joined = () if whole else _joined(kept.ranges, ranges, file.text)
            if not whole and file.text is not None and _covers(joined, lines.count(file.text)):
                whole, joined = text_hash(file.text), ()
            self._put(
                path,
                _Seen(
                    ranges=joined,
                    whole=whole,
                    stat=_stat(stat),
                    encoding=file.encoding,
                    newline=file.newline,
                    step=step,
                    shown={**kept.shown, (first, last): (step, text_hash("".join(shown_lines)))},
                ),
            )

    def note_written(self, path: WorkspacePath, stat: os.stat_result, edit: Edit, decoded: Decoded, step: int) -> None:
        """Note that the reader's own edit was written: ranges below it moved along, a partial read stays partial."""
        with self._lock:
            before = self._seen.get(shown(path.relative))
            partial = before is not None and not before.whole
            seen = _Seen(
                ranges=_moved(before.ranges, edit) if before and partial else (),
                whole="" if partial else text_hash(edit.text),
                stat=_stat(stat),
                encoding=decoded.encoding,
                newline=lines.newline_style(edit.text),
                step=step,
            )
            self._put(path, seen)

    def forget(self, relative: str) -> None:
        """Forget a file that is gone or was put back: a new read is needed."""
        with self._lock:
            if self._seen.pop(shown(relative), None):
                self._changed.add(shown(relative))

    def forget_context(self, step: int) -> None:
        """Note that the results of this step, and of those before, left the context: they are to be shown again."""
        with self._lock:
            for key, seen in self._seen.items():
                left = {part: at for part, at in seen.shown.items() if at[0] > step}
                if len(left) < len(seen.shown):
                    self._seen[key] = replace(seen, shown=left)

    # --- asking ------------------------------------------------------------------------------

    def shown_at(self, path: WorkspacePath, first: int, last: int, shown_lines: Sequence[str]) -> int | None:
        """Return the step whose result, still in the context, shows just these lines as they are now."""
        with self._lock:
            seen = self._seen.get(shown(path.relative))
        step, sha = seen.shown.get((first, last), (None, "")) if seen else (None, "")
        return step if sha == text_hash("".join(shown_lines)) else None

    def require_whole(self, path: WorkspacePath, text: str) -> None:
        """Raise ReadError unless the whole file was seen, and is as it was then."""
        seen = self._fresh(path, text)
        if not seen.whole:
            raise ReadError(
                "PARTIALLY_READ",
                f"{path.given}: only lines {_listed(seen.ranges)} of {lines.count(text)} were read, or not to their "
                "ends; read the rest before you replace the whole file, or use edit_file.",
            )

    def require_fresh(self, path: WorkspacePath, text: str) -> None:
        """Raise ReadError unless something of the file was seen, and that is as it was then."""
        self._fresh(path, text)

    def require_seen(self, path: WorkspacePath, text: str, regions: Iterable[Region]) -> None:
        """Raise ReadError unless the lines that the regions touch were seen; ask require_fresh before."""
        with self._lock:
            seen = self._seen.get(shown(path.relative), _Seen())
        for region in regions if not seen.whole else ():
            first = lines.number_at(text, region.start)
            last = first + text.count("\n", region.start, max(region.start, region.end - 1))
            if not _within(seen.ranges, first, last):
                raise ReadError(
                    "PARTIALLY_READ",
                    f"{path.given}: lines {first}–{last} were not read (only {_listed(seen.ranges)}); "
                    f"read_file them first, with offset {first}.",
                )

    def _fresh(self, path: WorkspacePath, text: str) -> _Seen:
        with self._lock:
            seen = self._seen.get(shown(path.relative))
        if seen is None:
            raise ReadError(
                "NOT_READ", f"{path.given} was not read yet: read_file it first (seeing it in a command is not enough)."
            )
        true = _still_true(seen, text, None)
        if true.whole != seen.whole or len(true.ranges) < len(seen.ranges):
            raise ReadError(
                "STALE",
                f"{path.given} changed since it was read at step {seen.step}; read_file it again before you write.",
            )
        return seen

    # --- keeping -----------------------------------------------------------------------------

    def save(self) -> None:
        """Write what changed since the last save, within the caller's transaction: at most two queries."""
        with self._lock:
            changed, self._changed = self._changed, set()
            rows = [self._row(key, self._seen[key]) for key in sorted(changed) if key in self._seen]
            gone = [key for key in changed if key not in self._seen]
        if gone:
            ReadState.objects.filter(workspace=self.workspace, reader=self.reader, path__in=gone).delete()
        if rows:
            ReadState.objects.bulk_create(
                rows,
                update_conflicts=True,
                unique_fields=["workspace", "reader", "path"],
                update_fields=list(_COLUMNS),
            )

    def _put(self, path: WorkspacePath, seen: _Seen) -> None:
        self._seen[shown(path.relative)] = seen
        self._changed.add(shown(path.relative))

    def _row(self, key: str, seen: _Seen) -> ReadState:
        size, mtime_ns, ctime_ns, inode = seen.stat
        return ReadState(
            workspace=self.workspace,
            reader=self.reader,
            path=key,
            ranges=[part.to_json() for part in seen.ranges],
            whole=seen.whole,
            size=size,
            mtime_ns=mtime_ns,
            ctime_ns=ctime_ns,
            inode=inode,
            encoding=seen.encoding,
            newline=seen.newline,
            step=seen.step,
        )


@dataclass(frozen=True)
class ReadFile:
    """What a read knows of its file. `text` is None where only a part was loaded; longer lines were cut."""

    text: str | None
    encoding: str
    newline: str
    line_limit: int


def _from_row(row: ReadState) -> _Seen:
    return _Seen(
        ranges=tuple(Range(int(part[0]), int(part[1]), str(part[2]), len(part) > 3) for part in row.ranges),
        whole=row.whole,
        stat=(row.size, row.mtime_ns, row.ctime_ns, int(row.inode)),
        encoding=row.encoding,
        newline=row.newline,
        step=row.step,
    )


def _stat(stat: os.stat_result) -> tuple[int, int, int, int]:
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino


# --- ranges --------------------------------------------------------------------------------------


def _ranges(shown_lines: Sequence[str], first: int, line_limit: int) -> list[Range]:
    """Return the ranges of what was shown: long lines, which were cut, apart from the others."""
    ranges: list[Range] = []
    start = 0
    for at in range(1, len(shown_lines) + 1):
        cut = len(shown_lines[start]) > line_limit
        if at < len(shown_lines) and (len(shown_lines[at]) > line_limit) == cut:
            continue
        part = "".join(shown_lines[start:at])
        ranges.append(Range(first + start, first + at - 1, text_hash(part), cut))
        start = at
    return ranges


def _still_true(seen: _Seen, text: str | None, stat: os.stat_result | None) -> _Seen:
    """Return the state without what the text no longer bears out; with no text, an unchanged stat must do."""
    if text is None:
        return seen if stat is not None and seen.stat == _stat(stat) else replace(seen, whole="", shown={})
    if seen.whole:
        return seen if seen.whole == text_hash(text) else _Seen()
    true = (part for part in seen.ranges if text_hash(lines.between(text, part.first, part.last)) == part.sha)
    return replace(seen, ranges=tuple(true))


def _joined(old: Sequence[Range], new: Sequence[Range], text: str | None) -> tuple[Range, ...]:
    """Return the ranges of both, sorted and apart; what the new ones cover is taken out of the old."""
    parts = list(old)
    for fresh in new:
        parts = [left for part in parts for left in _without(part, fresh, text)]
    return tuple(sorted([*parts, *new], key=lambda part: part.first))


def _without(part: Range, fresh: Range, text: str | None) -> Iterable[Range]:
    if part.last < fresh.first or part.first > fresh.last:
        return [part]
    if text is None:  # the file was not loaded, so what is left of the range has no hash
        return []
    around = [(part.first, fresh.first - 1), (fresh.last + 1, part.last)]
    return [Range(a, b, text_hash(lines.between(text, a, b)), part.cut) for a, b in around if a <= b]


def _covers(ranges: Sequence[Range], total: int) -> bool:
    """Return whether the ranges show every line, to its end."""
    following = 1
    for part in ranges:
        if part.first != following or part.cut:
            return False
        following = part.last + 1
    return following > total


def _within(ranges: Sequence[Range], first: int, last: int) -> bool:
    """Return whether the ranges, neighbours taken together, hold all these lines."""
    for part in ranges:
        if part.first <= first <= part.last:
            first = part.last + 1
    return first > last


def _moved(ranges: Sequence[Range], edit: Edit) -> tuple[Range, ...]:
    """Return the ranges where their lines are after the edit, with the hashes of what is there."""
    total = lines.count(edit.text)
    moves = [
        (lines.number_at(edit.before, r.start), r.text.count("\n") - edit.before.count("\n", r.start, r.end))
        for r in edit.regions
    ]
    moved = []
    for part in ranges:
        first = part.first + sum(by for line, by in moves if line < part.first)
        last = min(part.last + sum(by for line, by in moves if line <= part.last), total)
        if first <= last:
            moved.append(Range(first, last, text_hash(lines.between(edit.text, first, last)), part.cut))
    return tuple(moved)


def _listed(ranges: Sequence[Range]) -> str:
    listed = ", ".join(f"{part.first}–{part.last}" for part in ranges[:10])
    return listed + (", …" if len(ranges) > 10 else "")
