"""What the review page shows of a change: signs and words for it, its rows, who wrote them, the remarks on them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from urllib.parse import urlencode

from django.template.defaultfilters import filesizeformat
from django.utils.html import format_html
from django.utils.safestring import SafeString

from workspaces.diffs import FileChange, Hunk, Line


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
        changed = self._first_changed
        return (changed.new or changed.old or 1) if changed else 1

    @property
    def comment_side(self) -> str:
        changed = self._first_changed
        return "old" if changed and changed.kind == "-" else "new"

    @property
    def _first_changed(self) -> Line | None:
        assert self.hunk is not None
        return next((line for line in self.hunk.lines if line.kind != " "), None)


@dataclass(frozen=True)
class OfFile:
    """What the page's list of files and its sections both say of a change."""

    change: FileChange

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
    def instead_of_lines(self) -> str:
        return instead_of_lines(self.change)


@dataclass(frozen=True)
class ShownFile(OfFile):
    """One changed file: always its head; its rows when they are asked for and not too many."""

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


def why_no_rows(change: FileChange) -> str:
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
