"""Compares two snapshots for the review page: rows with syntax and word marks, their writers, where remarks stand."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from urllib.parse import urlencode

from django.utils.safestring import SafeString

from agents.views.shown import Note, Row, ShownFile, Writer, why_no_rows
from workspaces import diffs, highlight, provenance, store, words
from workspaces.diffs import Changes, FileChange, FileDiff, Hunk, Line
from workspaces.git import Git
from workspaces.models import Snapshot, Workspace
from workspaces.names import shown
from workspaces.versions import Versions

LIMIT_ROWS = 1500
"""Changed lines from which a file stays folded until it is asked for."""
LIMIT_GAP = 2000
COLOURED_CHARACTERS = 300_000
"""What one page colours, about a second's work; files past it come plain, and the script asks for them when near."""
_CSS = {" ": "ctx", "+": "add", "-": "del"}
_CR = SafeString('<span class="odd" title="ends with a carriage return">CR</span>')


@dataclass
class Comparison:
    """Two snapshots of a workspace, and all that is known of what lies between them."""

    workspace: Workspace
    start: int
    end: int
    chain: Sequence[Snapshot]
    """All snapshots of the workspace that are known, by number."""
    writers: dict[int, Writer]
    notes: dict[str, list[Note]] = field(default_factory=dict)
    """By path."""
    was_plain: bool = False
    _coloured: int = 0

    @property
    def is_latest(self) -> bool:
        """It ends with what the run has now, so that it can be commented and reverted."""
        return self.end == self.chain[-1].number

    @property
    def is_whole(self) -> bool:
        return self.is_latest and self.start == 0

    @property
    def query(self) -> str:
        return urlencode({"from": self.start, "to": self.end})

    @property
    def words(self) -> str:
        start = Snapshot.called(self.start).capitalize()
        return f"{start} with {'the latest' if self.is_latest else ''} snapshot {self.end}".replace("  ", " ")

    def show(self, change: FileChange, *, gaps: bool = False, whole: bool = False) -> ShownFile:
        """Return the file with its rows; `gaps` also shows the lines between hunks, `whole` a long diff too."""
        seen_as = f"{self.start}-{self.version(change, self.end)}"
        notes = [note for path in _paths(change) for note in self.notes.get(path, [])]
        if why := why_no_rows(change):
            return ShownFile(change, seen_as, notes=notes, why_empty=why, is_loaded=True)
        if not whole and change.additions + change.deletions > LIMIT_ROWS:
            return ShownFile(change, seen_as, notes=notes)
        return self._rows(change, notes, seen_as, gaps=gaps)

    def folded(self, change: FileChange) -> ShownFile:
        """Return the file without its rows; they are loaded on demand."""
        notes = [note for path in _paths(change) for note in self.notes.get(path, [])]
        return ShownFile(change, f"{self.start}-{self.version(change, self.end)}", notes=notes)

    def _rows(self, change: FileChange, notes: list[Note], seen_as: str, *, gaps: bool) -> ShownFile:
        diff = self.diff(change)
        drawn = _Drawing(self, change, diff)
        rows = list(drawn.rows(gaps=gaps))
        left = self._pin(change, rows, notes)
        _group_writers(rows)
        seen = {id(row.writer): row.writer for row in rows if row.writer}
        shown = ShownFile(change, seen_as, rows, left, list(seen.values()), is_loaded=True, truncated=diff.truncated)
        shown = replace(shown, can_open_gaps=drawn.has_text, is_plain=self.was_plain)
        return shown if rows else replace(shown, why_empty="No line differs.")

    def _pin(self, change: FileChange, rows: list[Row], notes: list[Note]) -> list[Note]:
        """Put each note at its row and return those that have none here."""
        places: dict[tuple[str, int], Row] = {}
        for row in rows:
            if row.old:
                places[("old", row.old)] = row
            if row.new:
                places[("new", row.new)] = row
        left: list[Note] = []
        for note in notes:
            line = self._line_now(change, note)
            place = places.get((note.side, line)) if line else None
            if place is None:
                left.append(note)
            else:
                place.notes = [*place.notes, note]
        return left

    def _line_now(self, change: FileChange, note: Note) -> int | None:
        """Return where the line that a note is about is today; None if it is gone, or not on this comparison."""
        if note.line is None or (note.side == "old" and self.start != 0):
            return None
        then, now = self.version(change, note.snapshot), self.version(change, self.end)
        if note.side == "old" or then == now:
            return note.line
        before, after = self.text(change, then), self.text(change, now)
        if before is None or after is None or then > now:
            return None
        return provenance.follow(note.line, before.split("\n"), after.split("\n"))

    # --- versions of a file ----------------------------------------------------------------------

    def load(self, changes: Iterable[FileChange]) -> None:
        """Read all versions of these files at once; a file that was not loaded is shown without colours and writers."""
        self._versions.load(
            (number, path)
            for change in changes
            if not change.binary and (record := self._records.get(change.path))
            for number in self._numbers(change)
            for path in {record.path, record.old_path}
        )

    def _numbers(self, change: FileChange) -> list[int]:
        """Return the snapshots whose version of the file matters here: both ends, all between, those of its notes."""
        noted = [note.snapshot for path in _paths(change) for note in self.notes.get(path, ())]
        ends = [self.version(change, number) for number in (self.start, self.end, *noted)]
        between = [number for number in self.touching(change) if self.start < number <= self.end]
        return [*ends, *between[: provenance.LIMIT_VERSIONS]]

    def touching(self, change: FileChange) -> list[int]:
        """Return the numbers of the snapshots that changed the file."""
        paths = _paths(change)
        return [each.number for each in self.chain if each.number and _touches(each, paths)]

    def version(self, change: FileChange, number: int) -> int:
        """Return the snapshot that made the file what it was at `number`."""
        is_complete = self.chain[0].number == 0
        return max((each for each in self.touching(change) if each <= number), default=0 if is_complete else number)

    def text(self, change: FileChange, number: int) -> str | None:
        """Return the file's text at a snapshot, "" where it did not exist, None where it is unknown."""
        record = self._records.get(change.path)
        if record is None:
            return None
        text = self._versions.text(number, record.path)
        return text if text != "" else self._versions.text(number, record.old_path)

    def blame(self, change: FileChange) -> provenance.Blame:
        """Return who wrote what between the two snapshots; empty where a version can't be compared."""
        between = [number for number in self.touching(change) if self.start < number <= self.end]
        numbers = [self.version(change, self.start), *between]
        if len(numbers) > provenance.LIMIT_VERSIONS:
            return provenance.Blame()
        texts = [self.text(change, number) for number in numbers]
        known = [text.split("\n") for text in texts if text is not None]
        return (
            provenance.blame(list(zip(numbers, known, strict=True))) if len(known) == len(texts) else provenance.Blame()
        )

    def coloured(self, name: str, text: str) -> tuple[SafeString, ...]:
        """Return the text's lines, plain once the page has coloured as much as it may; `was_plain` tells of it."""
        self._coloured += len(text)
        self.was_plain = self._coloured > COLOURED_CHARACTERS
        return highlight.plain_lines(text) if self.was_plain else highlight.lines(name, text)

    def diff(self, change: FileChange) -> FileDiff:
        record = self._records.get(change.path)
        return diffs.diff_of(self._git, record) if record else FileDiff(change.path, change.old_path, [])

    @cached_property
    def changes(self) -> Changes:
        """All files that differ."""
        trees = self._trees
        return diffs.compare(self._git, trees[self.start], trees[self.end], self.chain_by_number[self.end].hidden)

    @cached_property
    def chain_by_number(self) -> dict[int, Snapshot]:
        return {each.number: each for each in self.chain}

    @cached_property
    def _trees(self) -> dict[int, str]:
        return {each.number: each.tree for each in self.chain}

    @cached_property
    def _git(self) -> Git:
        return store.ensure(self.workspace.repository)

    @cached_property
    def _records(self) -> dict[str, diffs.RawChange]:
        trees = self._trees
        rows = diffs.raw_changes(self._git, trees[self.start], trees[self.end], counted=False)
        return {shown(each.path): each for each in rows}

    @cached_property
    def _versions(self) -> Versions:
        return Versions(self._git, self._trees)


def _paths(change: FileChange) -> tuple[str, ...]:
    return (change.path, change.old_path) if change.old_path and change.old_path != change.path else (change.path,)


def _touches(snapshot: Snapshot, paths: tuple[str, ...]) -> bool:
    return snapshot.file_count > len(snapshot.files) or any(each.get("path") in paths for each in snapshot.files)


def _group_writers(rows: list[Row]) -> None:
    """Let the first row of a block name its writer; the others only carry its bar."""
    before: Writer | None = None
    for row in rows:
        row.is_first_of_writer = row.writer is not None and row.writer is not before
        before = row.writer


class _Drawing:
    """Draws the rows of one file: what it needs of both versions is made once, when it is first used."""

    def __init__(self, comparison: Comparison, change: FileChange, diff: FileDiff) -> None:
        self.comparison, self.change, self.diff = comparison, change, diff

    def rows(self, *, gaps: bool) -> Iterator[Row]:
        old, new = 1, 1
        for hunk in self.diff.hunks:
            yield from self._gap(old, new, _first(hunk.new_start, hunk.new_lines), gaps=gaps)
            yield Row("hunk", hunk=hunk)
            yield from self._hunk(hunk)
            old, new = _after(hunk.old_start, hunk.old_lines), _after(hunk.new_start, hunk.new_lines)
        if self.diff.hunks and not self.diff.truncated and self._new_html:
            yield from self._gap(old, new, len(self._new_html) + 1, gaps=gaps)

    @property
    def has_text(self) -> bool:
        return bool(self._new_html)

    def _gap(self, old: int, new: int, until: int, *, gaps: bool) -> Iterator[Row]:
        count = until - new
        if count <= 0:
            return
        if not gaps or not self._new_html or count > LIMIT_GAP:
            yield Row("gap", hidden_lines=count)
            return
        for index in range(count):
            yield Row("ctx", highlight.visible(self._new_html[new + index - 1]), old + index, new + index)

    def _hunk(self, hunk: Hunk) -> Iterator[Row]:
        marks = _word_marks(hunk.lines)
        ends = {line.text.endswith("\r") for line in hunk.lines if line.kind != " "}
        for index, line in enumerate(hunk.lines):
            html = _drawn(self._html(line), marks.get(index, ()))
            if len(ends) == 2 and line.kind != " " and line.text.endswith("\r"):
                html += _CR
            yield Row(_CSS[line.kind], html, line.old, line.new, self._writer(line), no_newline=line.no_newline)

    def _html(self, line: Line) -> SafeString:
        number, source = (line.old, self._old_html) if line.kind == "-" else (line.new, self._new_html)
        return source[number - 1] if number and number <= len(source) else highlight.plain(line.text)

    def _writer(self, line: Line) -> Writer | None:
        match line.kind:
            case "+":
                number = self._blame.writer(line.new)
            case "-":
                number = self._blame.remover(line.old)
            case _:
                return None
        return self.comparison.writers.get(number)

    @cached_property
    def _blame(self) -> provenance.Blame:
        return self.comparison.blame(self.change)

    @cached_property
    def _old_html(self) -> tuple[SafeString, ...]:
        return self._lines(self.change.old_path or self.change.path, self.comparison.start)

    @cached_property
    def _new_html(self) -> tuple[SafeString, ...]:
        return self._lines(self.change.path, self.comparison.end)

    def _lines(self, name: str, number: int) -> tuple[SafeString, ...]:
        text = self.comparison.text(self.change, self.comparison.version(self.change, number))
        return self.comparison.coloured(name, text.removesuffix("\n")) if text else ()


def _first(start: int, count: int) -> int:
    """Return the first line a hunk covers; git gives the line before where it covers none."""
    return start if count else start + 1


def _after(start: int, count: int) -> int:
    return _first(start, count) + count


def _word_marks(lines: Sequence[Line]) -> dict[int, words.Spans]:
    marks: dict[int, words.Spans] = {}
    for removed, added in words.pairs([(line.kind, line.text) for line in lines]):
        marks[removed], marks[added] = words.changed(lines[removed].text, lines[added].text)
    return marks


def between(path: str, before: str, after: str) -> list[Row]:
    """Return the rows of a diff of two texts, three lines around each change; at most 1,500 rows."""
    old, new = _split(before), _split(after)
    old_html, new_html = highlight.lines(path, "\n".join(old)), highlight.lines(path, "\n".join(new))
    rows: list[Row] = []
    at = 0
    for a1, a2, b1, b2 in provenance.changed_blocks(old, new):
        rows += _context(new_html, range(at, a1), b1 - a1, after=3 if rows else 0, before=3)
        marks = _marks_of(old[a1:a2], new[b1:b2])
        rows += [Row("del", _drawn(old_html[n], marks.get((0, n - a1), ())), old=n + 1) for n in range(a1, a2)]
        rows += [Row("add", _drawn(new_html[n], marks.get((1, n - b1), ())), new=n + 1) for n in range(b1, b2)]
        at = a2
    rows += _context(new_html, range(at, len(old)), len(new) - len(old), after=3 if rows else 0, before=0)
    return rows[:LIMIT_ROWS]


def _split(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _drawn(html: SafeString, marks: words.Spans) -> SafeString:
    return highlight.visible(highlight.marked(html, marks))


def _context(html: Sequence[SafeString], lines: range, shift: int, *, after: int, before: int) -> Iterator[Row]:
    """Yield the unchanged lines between two changes: some after the first, some before the second, a gap between."""
    gap = range(lines.start + after, lines.stop - before)
    for line in lines:
        if line not in gap:
            yield Row("ctx", highlight.visible(html[line + shift]), line + 1, line + shift + 1)
        elif line == gap.start:
            yield Row("gap", hidden_lines=len(gap))


def _marks_of(removed: Sequence[str], added: Sequence[str]) -> dict[tuple[int, int], words.Spans]:
    """Return the marks of each line by (0 for removed or 1 for added, its index)."""
    marks: dict[tuple[int, int], words.Spans] = {}
    lines = [*(("-", line) for line in removed), *(("+", line) for line in added)]
    for old, new in words.pairs(lines):
        marks[0, old], marks[1, new - len(removed)] = words.changed(lines[old][1], lines[new][1])
    return marks
