"""What a reader has seen of each file, so that nobody overwrites what was not seen; fresh is decided by content."""

import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from workspaces import lines, ranges, rows
from workspaces.editing import Edit, Region
from workspaces.encodings import Decoded
from workspaces.models import ReadState, Workspace
from workspaces.names import shown
from workspaces.paths import WorkspaceError, WorkspacePath
from workspaces.putting_back import Baselines
from workspaces.ranges import Range, Shown, text_hash

MAX_FILES = 20_000
MAX_VIEWS = 64
"""So many results are known to show a file."""

Stat = tuple[int, int, int, int]
"""Size, mtime_ns, ctime_ns, inode."""


class ReadError(WorkspaceError):
    """NOT_READ, PARTIALLY_READ or STALE."""


@dataclass(frozen=True)
class ReadFile:
    """The file that a result shows a part of.

    `text` is None where only that part was loaded; then `load` returns the whole, or None for what is too large.
    `total`: its lines, if they were counted. `settled`: an equal stat later means equal bytes (windows.settled).
    `sha`: the hash of the text, if it is known.
    """

    text: str | None
    encoding: str = "utf-8"
    newline: str = "lf"
    total: int | None = None
    settled: bool = False
    sha: str = ""
    load: Callable[[], str | None] = lambda: None

    @cached_property
    def whole(self) -> str | None:
        return self.load() if self.text is None else self.text


@dataclass(frozen=True)
class _Seen:
    """All that is known of one file. `shown`: of views that stand in the context, the step and the hash."""

    ranges: tuple[Range, ...] = ()
    whole: str = ""
    stat: Stat = (0, 0, 0, 0)
    encoding: str = "utf-8"
    newline: str = "lf"
    step: int = 0
    shown: dict[str, tuple[int, str]] = field(default_factory=dict)

    def with_shown(self, view: str, step: int, sha: str) -> dict[str, tuple[int, str]]:
        """Return the views with one more, the latest of them."""
        others = [each for each in self.shown.items() if each[0] != view]
        return dict([*others[1 - MAX_VIEWS :], (view, (step, sha))])


class Reads:
    """The read states of one (workspace, reader): in memory while a run is held, rows after `save`.

    Made with one query; threads may share it.
    """

    def __init__(self, workspace: Workspace, reader: str) -> None:
        self.workspace = workspace
        self.reader = reader
        self.baselines = Baselines(workspace)
        self._lock = threading.Lock()
        self._changed: set[str] = set()
        known = ReadState.objects.filter(workspace=workspace, reader=reader).order_by("-updated_at")[:MAX_FILES]
        self._seen = {row.path: _from_row(row) for row in reversed(known)}

    # --- noting ------------------------------------------------------------------------------

    def note_read(self, path: WorkspacePath, stat: os.stat_result, part: Shown, step: int, file: ReadFile) -> None:
        """Note that lines were shown as they are in the file."""
        with self._lock:
            kept = _still_true(self._known(path), file, stat)
            whole = kept.whole
            joined = () if whole else ranges.joined(kept.ranges, ranges.of_lines(part), lambda: file.whole)
            if not whole and file.total is not None and ranges.covers(joined, file.total):
                is_all = part.first == 1 and part.last == file.total
                whole = part.sha if is_all else text_hash(file.whole) if file.whole is not None else ""
                joined = () if whole else joined
            shown_now = kept.with_shown(part.view, step, part.sha)
            known_stat = _stat(stat, file.settled)
            self._put(path, _Seen(joined, whole, known_stat, file.encoding, file.newline, step, shown_now))

    def note_whole(
        self, path: WorkspacePath, stat: os.stat_result, view: str, sha: str, step: int, file: ReadFile
    ) -> None:
        """Note that all of a file was shown in some view of its own, such as a notebook's cells or a PDF's pages.

        `sha` is the hash of its text, or of the bytes of what is no text.
        """
        with self._lock:
            shown_now = self._known(path).with_shown(view, step, sha)
            known_stat = _stat(stat, file.settled)
            self._put(path, _Seen((), sha, known_stat, file.encoding, file.newline, step, shown_now))

    def note_written(
        self, path: WorkspacePath, stat: os.stat_result, edit: Edit, decoded: Decoded, step: int, sha: str = ""
    ) -> None:
        """Note that the reader's own edit was written: ranges below it moved along, a partial read stays partial.

        `sha`: the hash of the new text, if it is known.
        """
        with self._lock:
            before = self._seen.get(shown(path.relative))
            partial = before is not None and not before.whole
            seen = _Seen(
                ranges=ranges.moved(before.ranges, edit) if before and partial else (),
                whole="" if partial else sha or text_hash(edit.text),
                stat=_stat(stat, settled=False),
                encoding=decoded.encoding,
                newline=edit.newline,
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

    def shown_at(self, path: WorkspacePath, view: str, sha: str) -> int | None:
        """Return the step whose result, still in the context, shows just this view of the file with this hash."""
        with self._lock:
            step, was = self._known(path).shown.get(view, (None, ""))
        return step if was == sha else None

    def require_whole(self, path: WorkspacePath, text: str, stat: os.stat_result | None = None, sha: str = "") -> None:
        """Raise ReadError unless the whole file was seen, and is as it was then.

        `stat`, taken before the text was read, spares the comparison where it is as it was at the read; `sha`, the
        hash of the text, makes it a short one.
        """
        seen = self._fresh(path, text, stat, sha)
        if not seen.whole:
            raise ReadError(
                "PARTIALLY_READ",
                f"{path.given}: only lines {ranges.listed(seen.ranges)} of {lines.count(text)} were read, or not to "
                "their ends; read the rest before you replace the whole file, or use edit_file.",
            )

    def require_fresh(self, path: WorkspacePath, text: str, stat: os.stat_result | None = None, sha: str = "") -> None:
        """Raise ReadError unless something of the file was seen, and that is as it was then.

        `stat` and `sha`: see require_whole.
        """
        self._fresh(path, text, stat, sha)

    def require_seen(self, path: WorkspacePath, text: str, regions: Iterable[Region]) -> None:
        """Raise ReadError unless the lines that the regions (in order) touch were seen; ask require_fresh before."""
        with self._lock:
            seen = self._known(path)
        at, number = 0, 1
        for region in regions if not seen.whole else ():
            first = number + text.count("\n", at, region.start)
            last = first + text.count("\n", region.start, max(region.start, region.end - 1))
            at, number = region.start, first
            if not ranges.within(seen.ranges, first, last):
                raise ReadError(
                    "PARTIALLY_READ",
                    f"{path.given}: lines {first}–{last} were not read (only {ranges.listed(seen.ranges)}); "
                    f"read_file them first, with offset {first}.",
                )

    def _fresh(self, path: WorkspacePath, text: str, stat: os.stat_result | None, sha: str) -> _Seen:
        with self._lock:
            seen = self._known(path)
        if not seen.whole and not seen.ranges:
            raise ReadError(
                "NOT_READ", f"{path.given} was not read yet: read_file it first (seeing it in a command is not enough)."
            )
        true = _still_true(seen, ReadFile(text, sha=sha), stat)
        if true.whole != seen.whole or len(true.ranges) < len(seen.ranges):
            raise ReadError(
                "STALE",
                f"{path.given} changed since it was read at step {seen.step}; read_file it again before you write.",
            )
        return seen

    def _known(self, path: WorkspacePath) -> _Seen:
        return self._seen.get(shown(path.relative), _NOTHING)

    # --- keeping -----------------------------------------------------------------------------

    def save(self) -> None:
        """Write what changed since the last save, baselines too, in the caller's transaction: three queries at most."""
        self.baselines.save()
        with self._lock:
            changed, self._changed = self._changed, set()
            kept = [self._row(key, self._seen[key]) for key in sorted(changed) if key in self._seen]
            gone = [key for key in changed if key not in self._seen]
        if gone:
            ReadState.objects.filter(workspace=self.workspace, reader=self.reader, path__in=gone).delete()
        if kept:
            rows.insert_or_replace(kept, unique=("workspace", "reader", "path"))

    def _put(self, path: WorkspacePath, seen: _Seen) -> None:
        """Keep the state as the latest; past MAX_FILES the oldest is forgotten."""
        key = shown(path.relative)
        self._seen.pop(key, None)
        self._seen[key] = seen
        self._changed.add(key)
        if len(self._seen) > MAX_FILES:
            oldest = next(iter(self._seen))
            del self._seen[oldest]
            self._changed.add(oldest)

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


def _from_row(row: ReadState) -> _Seen:
    return _Seen(
        ranges=tuple(Range(int(part[0]), int(part[1]), str(part[2]), len(part) > 3) for part in row.ranges),
        whole=row.whole,
        stat=(row.size, row.mtime_ns, row.ctime_ns, int(row.inode)),
        encoding=row.encoding,
        newline=row.newline,
        step=row.step,
    )


def _stat(stat: os.stat_result, settled: bool) -> Stat:
    """Return what is kept of a stat; with a ctime of 0, which no file has, where an equal one would prove nothing."""
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns if settled else 0, stat.st_ino


_NOTHING = _Seen()


def _still_true(seen: _Seen, file: ReadFile, stat: os.stat_result | None) -> _Seen:
    """Return the state without what the file no longer bears out: with an unchanged stat it holds.

    Ranges in a file too large to load stay; they are compared before anything is written.
    """
    if seen is _NOTHING or (stat is not None and seen.stat == _stat(stat, settled=True)):
        return seen
    text = file.whole
    if text is None:
        return replace(seen, whole="")
    if seen.whole:
        return seen if seen.whole == (file.sha or text_hash(text)) else _NOTHING
    true = (part for part, now in ranges.sections(seen.ranges, text) if text_hash(now) == part.sha)
    return replace(seen, ranges=tuple(true))
