"""The diff as the review page shows it: rows with syntax, word marks, who wrote a line, and remarks at their lines."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple
from urllib.parse import urlencode

from django.template.defaultfilters import filesizeformat
from django.utils.html import format_html
from django.utils.safestring import SafeString

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


class Sign(NamedTuple):
    """How a change is shown: a letter in a tone of the style sheet, and the word for it."""

    letter: str
    tone: str
    word: str


SIGNS = {
    "added": Sign("A", "a", "added"),
    "modified": Sign("M", "m", "modified"),
    "deleted": Sign("D", "d", "deleted"),
    "renamed": Sign("R", "m", "renamed"),
    "type": Sign("T", "m", "changed in type"),
}
_CSS = {" ": "ctx", "+": "add", "-": "del"}
_KINDS = {
    "100644": "an ordinary file",
    "100755": "an executable file",
    "120000": "a symbolic link",
    "160000": "a submodule",
}
_NOTHING = SafeString("")
_BREAK = SafeString("<br>")
_NO_NEWLINE = '<span class="noeol">no newline at the end</span>'
_BARS = ('<i aria-hidden="true"></i>', '<i aria-hidden="true" class="mine"></i>')
_CR = SafeString('<span class="odd" title="ends with a carriage return">CR</span>')
_LEADS = {
    "add": SafeString('<span class="sr">added: </span>'),
    "del": SafeString('<span class="sr">removed: </span>'),
}


@dataclass(frozen=True)
class Writer:
    """Who made a snapshot: a step of an agent, or a human's revert."""

    label: str
    title: str
    text: str = ""
    step: int = 0
    url: str = ""
    """Where on the run page it is told; empty for a human's."""
    is_human: bool = False

    @cached_property
    def html(self) -> SafeString:
        """The label with what the gutter shows on hover or focus."""
        tip = format_html('<span class="tip" role="tooltip"><b>{}</b>{}{}</span>', self.title, _BREAK, self.text)
        css = SafeString(' class="mine"') if self.is_human else _NOTHING
        return format_html(
            '<a href="{}"{} aria-label="{}">{}</a>{}', self.url, css, f"{self.title}: {self.text}", self.label, tip
        )


@dataclass(frozen=True)
class Note:
    """A remark shown with the diff: a human's comment or an agent's finding."""

    pk: int
    author: str
    body: str
    path: str
    line: int | None
    side: str
    snapshot: int
    round: int = 0
    severity: str = ""
    suggestion: str = ""
    is_mine: bool = False
    is_open: bool = False
    is_finding: bool = False
    is_outdated: bool = False

    @property
    def tone(self) -> str:
        return {"critical": "bad", "major": "bad", "minor": "warn"}.get(self.severity, "info")


@dataclass
class Row:
    """One row of the table: a line, a hunk's head ("hunk"), or what lies between two hunks ("gap")."""

    css: str
    html: SafeString = _NOTHING
    old: int | None = None
    new: int | None = None
    writer: Writer | None = None
    is_first_of_writer: bool = False
    no_newline: bool = False
    notes: Sequence[Note] = ()
    hunk: Hunk | None = None
    hidden_lines: int = 0

    @property
    def anchor(self) -> str:
        return f"n{self.new}" if self.new else f"o{self.old}"

    @property
    def lead(self) -> SafeString:
        """What a reader who does not see colours is told first."""
        return _LEADS.get(self.css, _NOTHING)

    @property
    def cells(self) -> SafeString:
        """The row of a line, made here and not by a template: a page has thousands, and this is ten times faster."""
        old, new = self.old or "", self.new or ""
        end = _NO_NEWLINE if self.no_newline else ""
        return SafeString(
            f'<td class="prov">{self._provenance}</td><td class="no old">{old}</td><td class="no">{new}</td>'
            f'<td class="code">{self.lead}{self.html}{end}</td>'
        )

    @property
    def _provenance(self) -> str:
        if self.writer is None:
            return ""
        return self.writer.html if self.is_first_of_writer else _BARS[self.writer.is_human]

    @property
    def comment_line(self) -> int:
        """The line a comment on this hunk starts at when there is no script to choose another."""
        assert self.hunk is not None
        changed = next((line for line in self.hunk.lines if line.kind != " "), None)
        return (changed.new or changed.old or 1) if changed else 1

    @property
    def comment_side(self) -> str:
        assert self.hunk is not None
        changed = next((line for line in self.hunk.lines if line.kind != " "), None)
        return "old" if changed and changed.kind == "-" else "new"


@dataclass(frozen=True)
class ShownFile:
    """One changed file: always its head; its rows when they are asked for and not too many."""

    change: FileChange
    seen_as: str
    """Changes when the file does, so that a file that was seen is new again."""
    rows: Sequence[Row] = ()
    notes: Sequence[Note] = ()
    """Remarks on the file, or on lines that are not among the rows."""
    writers: Sequence[Writer] = ()
    why_empty: str = ""
    """Why there are no rows, in a sentence; empty where rows could be loaded."""
    is_loaded: bool = False
    truncated: bool = False
    can_open_gaps: bool = False
    is_plain: bool = False
    """Its colours were left out; the script asks for them when they are near."""

    @property
    def id(self) -> str:
        return file_id(self.change.path)

    @property
    def sign(self) -> Sign:
        return SIGNS[self.change.status]

    @property
    def query(self) -> str:
        return urlencode({"path": self.change.path})

    @property
    def is_renamed(self) -> bool:
        return bool(self.change.old_path) and self.change.old_path != self.change.path

    @property
    def sizes(self) -> str:
        sides = ((self.change.old_mode, self.change.size_old), (self.change.new_mode, self.change.size_new))
        return " → ".join(filesizeformat(size) for mode, size in sides if mode != "000000")

    @property
    def changed_lines(self) -> int:
        return self.change.additions + self.change.deletions

    @property
    def instead_of_lines(self) -> str:
        return instead_of_lines(self.change)

    @property
    def writer_words(self) -> str:
        """Return who wrote the shown changes, as in "steps 5, 11, you"."""
        steps = sorted({writer.step for writer in self.writers if writer.step})
        humans = sorted({writer.label for writer in self.writers if writer.is_human})
        word = "step" if len(steps) == 1 else "steps"
        shown = [f"{word} {', '.join(map(str, steps[:8]))}{' …' if len(steps) > 8 else ''}"] if steps else []
        return ", ".join([*shown, *humans])

    @property
    def facts(self) -> list[str]:
        """What the lines do not show: the mode, what sort of file it is, that a rule of the run would hide it."""
        return [*mode_words(self.change), *(["hidden by a rule this run added"] if self.change.hidden else [])]


def file_id(path: str) -> str:
    return f"f-{hashlib.sha256(path.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


def instead_of_lines(change: FileChange) -> str:
    """Return the word that stands for a change without lines; empty where lines were counted."""
    if change.binary or not change.stored:
        return "binary" if change.stored else "not stored"
    if change.additions or change.deletions:
        return ""
    return {"renamed": "renamed", "added": "empty", "deleted": "was empty"}.get(change.status, "mode")


def mode_words(change: FileChange) -> list[str]:
    """Return what happened to the mode, in words; nothing for an ordinary file that stayed one."""
    old, new = change.old_mode, change.new_mode
    if change.status == "added":
        return [_KINDS[new]] if new in _KINDS and new != "100644" else []
    if change.status == "deleted":
        return [f"was {_KINDS[old]}"] if old in _KINDS and old != "100644" else []
    match old, new:
        case "100644", "100755":
            return ["now executable"]
        case "100755", "100644":
            return ["no longer executable"]
        case _ if old != new:
            return [f"was {_KINDS.get(old, old)}, is {_KINDS.get(new, new)} now"]
    return []


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
        start = "The baseline" if self.start == 0 else f"Snapshot {self.start}"
        return f"{start} with {'the latest' if self.is_latest else ''} snapshot {self.end}".replace("  ", " ")

    def show(self, change: FileChange, *, gaps: bool = False, whole: bool = False) -> ShownFile:
        """Return the file with its rows; `gaps` also shows the lines between hunks, `whole` a long diff too."""
        seen_as = f"{self.start}-{self.version(change, self.end)}"
        notes = [note for path in _paths(change) for note in self.notes.get(path, [])]
        if why := _why_no_rows(change):
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


def _why_no_rows(change: FileChange) -> str:
    if change.old_mode == "160000" or change.new_mode == "160000":
        return "A submodule: Sakura records which commit it points to and nothing inside it."
    if not change.stored:
        return "Over 50 MB: its size and hash are recorded, its bytes are not."
    if change.binary:
        return "A binary file: only its size is shown."
    if not change.additions and not change.deletions:
        return {
            "renamed": "Only the name changed; the bytes are the same.",
            "added": "An empty file.",
            "deleted": "It was an empty file.",
        }.get(change.status, "The bytes are the same; only the mode changed.")
    return ""


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
