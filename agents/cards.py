"""A tool call as the page shows it: one card, made of the call, what it printed, its result and its snapshot."""

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.template import TemplateDoesNotExist
from django.template.loader import get_template, render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString

from agents import events, terminal
from agents.kept import Kept
from agents.models import Event
from workspaces import terminal as screen

INLINE_CHARS = 2048
"""Characters of a result up to which a closed card's body comes with it; a longer one is fetched when it is opened."""
KEPT_CHARS = 8 * 1024 * 1024
BODY_CHARS = 16_000
"""Characters of one text in a card, head and tail; the whole is a link away."""
DIFF_LINES, ROWS, FIELDS = 400, 250, 20
DENIALS = frozenset({"DENIED", "PROTECTED_PATH", "BLOCKED_COMMAND", "SECRET_DETECTED", "OUTSIDE_WORKSPACE"})

_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
_TOOL_NAME = re.compile(r"[a-z][a-z_]{0,39}")
_ERROR_TAGS = re.compile(r"</?tool_use_error>")


@dataclass(frozen=True)
class Look:
    """How a tool's card begins: icon, verb while it runs and after, the argument that it is about."""

    icon: str
    doing: str
    done: str
    target: str


LOOKS = {
    "read_file": Look("book", "Reading", "Read", "file_path"),
    "write_file": Look("plus", "Writing", "Wrote", "file_path"),
    "edit_file": Look("pencil", "Editing", "Edited", "file_path"),
    "replace_lines": Look("pencil", "Replacing lines", "Replaced lines", "file_path"),
    "insert_lines": Look("pencil", "Inserting lines", "Inserted lines", "file_path"),
    "edit_notebook": Look("pencil", "Editing", "Edited", "file_path"),
    "list_directory": Look("folder", "Listing", "Listed", "path"),
    "glob": Look("search", "Finding", "Found", "pattern"),
    "search_in_files": Look("search", "Searching", "Searched", "pattern"),
    "run_command": Look("term", "Running", "Ran", "command"),
    "command_output": Look("term", "Following", "Followed", "id"),
    "stop_command": Look("stop", "Stopping", "Stopped", "id"),
    "check_changes": Look("file", "Comparing", "Compared with the baseline", ""),
    "detect_project": Look("eye", "Looking at the project", "Looked at the project", ""),
    "revert_file": Look("revert", "Putting back", "Put back", "file_path"),
    "read_sakura_docs": Look("book", "Reading docs", "Read docs", "doc_path"),
    "list_sakura_directory": Look("folder", "Listing .sakura", "Listed .sakura", "subdirectory"),
    "read_sakura_memory": Look("book", "Reading memory", "Read memory", "file_name"),
    "use_skill": Look("flag", "Loading skill", "Loaded skill", "skill"),
    "finish_task": Look("flag", "Finishing", "Finished", "summary"),
    "submit_review": Look("shield", "Reviewing", "Reviewed", "summary"),
}
_EFFECT_ICONS = {"READ": "eye", "WRITE": "pencil", "EXECUTE": "term", "NETWORK": "link", "FINISH": "flag"}


def slug(call_id: str) -> str:
    """Return a safe, stable DOM id for a call id, which is arbitrary text: itself, or a hash that no safe id equals."""
    if _SAFE_ID.fullmatch(call_id):
        return call_id
    return "-" + hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:24]


_kept: Kept[SafeString] = Kept(KEPT_CHARS, len)


def clip(text: str, limit: int = BODY_CHARS) -> str:
    """Return the text, or its head and tail with a line that says how much is left out."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"


def printed(text: str, limit: int = BODY_CHARS) -> SafeString:
    """Return what a command printed as HTML, clipped like any text but between escapes: its tail keeps its colours."""
    if len(text) <= limit:
        return terminal.html(text)
    head, tail = screen.first(text, limit // 2), screen.last(text, limit // 2)
    left_out = f"{len(text) - 2 * (limit // 2):,} characters left out"
    return terminal.html(f"{head}\n… {left_out} …\n{tail}")


def piece_html(piece: Event) -> SafeString:
    """Return what an output event adds to its card's terminal."""
    text = printed(events.shown(piece.data.get("text", "")))
    html = render_to_string("agents/cards/_piece.html", {"seq": piece.seq, "text": text})
    return SafeString(html.rstrip("\n"))  # a newline of the template would show in the <pre>


@dataclass(frozen=True)
class Card:
    """One call and all that is known of it; the templates below agents/cards/ ask it."""

    call: Event
    result: Event | None = None
    snapshot: Event | None = None
    pieces: tuple[Event, ...] = ()

    @property
    def run_id(self) -> int:
        return self.call.run_id

    @property
    def slug(self) -> str:
        return slug(self.call.call_id)

    @cached_property
    def tool(self) -> str:
        return str(self.call.data.get("tool", ""))

    @cached_property
    def input(self) -> dict[str, Any]:
        given = self.call.data.get("input")
        return given if isinstance(given, dict) else {"input": given}

    @cached_property
    def data(self) -> dict[str, Any]:
        found = self.result.data.get("data") if self.result else None
        return found if isinstance(found, dict) else {}

    @cached_property
    def effect(self) -> str:
        return str(self.call.data.get("effect") or "READ").upper()

    @property
    def effect_class(self) -> str:
        return {"NETWORK": "execute"}.get(self.effect, self.effect.lower())

    @property
    def effect_icon(self) -> str:
        """The class that gives the icon the colour of the effect."""
        return f"effect-{self.effect_class}"

    @property
    def look(self) -> Look:
        return LOOKS.get(self.tool) or Look(_EFFECT_ICONS.get(self.effect, "eye"), "Calling", "Called", "")

    @property
    def verb(self) -> str:
        if self.result is None:
            return self.look.doing
        if self.result.data.get("is_error"):
            return self.tool.replace("_", " ").capitalize() if self.tool in LOOKS else "Called"
        return "Created" if self.data.get("created") else self.look.done

    @property
    def target(self) -> str:
        if self.tool not in LOOKS:
            return self.tool
        value = self.input.get(self.look.target, "") if self.look.target else ""
        return clip(" ".join(events.shown(value).split()), 300)

    # --- how it went ---

    @property
    def is_busy(self) -> bool:
        return self.result is None

    @property
    def code(self) -> str:
        return str(self.result.data.get("code") or "") if self.result else ""

    @property
    def is_error(self) -> bool:
        return bool(self.result and self.result.data.get("is_error"))

    @property
    def is_denied(self) -> bool:
        return self.is_error and self.code in DENIALS

    @property
    def exit_code(self) -> int | None:
        code = self.data.get("exit_code")
        return code if isinstance(code, int) else None

    @property
    def has_failed(self) -> bool:
        return self.is_error or bool(self.exit_code)

    @property
    def is_open(self) -> bool:
        return self.is_busy or self.has_failed

    @property
    def tone(self) -> str:
        return "busy" if self.is_busy else "wrong" if self.has_failed else ""

    @property
    def duration_ms(self) -> int | None:
        return self.result.data.get("duration_ms") if self.result else None

    # --- what it says ---

    @cached_property
    def content(self) -> str:
        """The result as the model got it, bounded; the tags around an error are left out."""
        text = events.shown(self.result.data.get("content", "")) if self.result else ""
        return _ERROR_TAGS.sub("", clip(text))

    @property
    def terminal(self) -> SafeString:
        """What a command printed: with its colours if the tool kept them, else as the model got it."""
        kept = self.data.get("output")
        return printed(_ERROR_TAGS.sub("", events.shown(kept))) if kept else terminal.html(self.content)

    @property
    def pieces_html(self) -> list[SafeString]:
        return [piece_html(piece) for piece in self.pieces]

    @property
    def command(self) -> str:
        return clip(events.shown(self.input.get("command", "")), 4000)

    @property
    def command_is_long(self) -> bool:
        return len(self.command) > 100 or "\n" in self.command

    @property
    def claim(self) -> str:
        return clip(events.shown(self.input.get("summary") or ""))

    @property
    def test_claim(self) -> str:
        return clip(_readable(self.input.get("test_result")), 4000)

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The input, argument by argument, each text bounded."""
        return [(name, clip(_readable(value), 4000)) for name, value in list(self.input.items())[:FIELDS]]

    @property
    def diff(self) -> list[tuple[str, str]]:
        """The change as (kind, text) lines: what the tool says, else what an edit that failed had wanted."""
        lines = self.data.get("diff")
        if isinstance(lines, list):
            return [(str(line[0]), clip(events.shown(line[3]), 1000)) for line in lines[:DIFF_LINES]]
        return self._wanted() if self.is_error else []

    def _wanted(self) -> list[tuple[str, str]]:
        sides = (("-", "old_string"), ("+", "new_string"))
        return [(kind, line) for kind, name in sides for line in _lines(self.input.get(name))]

    @property
    def matches(self) -> list[dict[str, Any]]:
        return [{**match, "url": self.file_url(match)} for match in _dicts(self.data.get("matches"))]

    @property
    def paths(self) -> list[dict[str, Any]]:
        """The paths of a list, a glob or a comparison, with links to the file's page."""
        found = self.data.get("paths") or self.data.get("files")
        rows = [{"path": path} for path in found if isinstance(path, str)] if isinstance(found, list) else []
        return [{**row, "url": self.file_url(row)} for row in (rows or _dicts(found))[:ROWS]]

    @property
    def entries(self) -> list[dict[str, Any]]:
        folder = str(self.data.get("path") or "").strip("/").removeprefix(".")
        return [
            {**entry, "url": self.file_url({"path": f"{folder}/{entry.get('name', '')}".lstrip("/")})}
            for entry in _dicts(self.data.get("entries"))
        ]

    @property
    def subject_url(self) -> str:
        """The page of the file that the call is about, or "" if it is about none."""
        path = self.data.get("path") or next(iter((self.call.data.get("resolved") or {}).values()), "")
        return self.file_url({"path": path, "line": self.data.get("start")}) if isinstance(path, str) and path else ""

    def file_url(self, place: dict[str, Any]) -> str:
        query = {"path": place.get("path", ""), **({"line": place["line"]} if place.get("line") else {})}
        return f"{reverse('workspace_file', args=[self.run_id])}?{urlencode(query, errors='replace')}"

    @property
    def whole_url(self) -> str:
        """Where the whole output is, if it was cut."""
        ref = self.result.data.get("output_ref") if self.result else ""
        content = self.result.data.get("content") if self.result else ""
        ref = ref or (content.get("$body") if isinstance(content, dict) else "")
        return reverse("run_output", args=[self.run_id, ref]) if isinstance(ref, str) and ref.strip("/") else ""

    # --- its HTML ---

    def body_html(self) -> SafeString:
        """Return what the card shows when it is open."""
        return SafeString(get_body(self.tool).render({"card": self}))

    def html(self) -> SafeString:
        """Return the whole card, its body only if it is open already or small. Kept once the call is done."""
        if self.result is None:
            return self._html()
        marks = [(event.pk, event.at) for event in (self.call, self.result, self.snapshot) if event]
        return _kept.get(tuple(marks), self._html)

    def _html(self) -> SafeString:
        shown = {"card": self, "body": self._body_at_once()}
        return SafeString(render_to_string("agents/events/_tool_call.html", shown).rstrip("\n"))

    def _body_at_once(self) -> str:
        if self.is_open:
            return self.body_html()
        if len(self.content) > INLINE_CHARS:
            return ""
        body = self.body_html()
        return body if len(body) <= 2 * INLINE_CHARS else ""


def get_body(tool: str) -> Any:
    """Return the template of a tool's body: agents/cards/_<tool>.html, else the one for any tool."""
    if _TOOL_NAME.fullmatch(tool):
        try:
            return get_template(f"agents/cards/_{tool}.html")
        except TemplateDoesNotExist:
            pass
    return get_template("agents/cards/_default.html")


def _lines(value: Any) -> list[str]:
    return clip(events.shown(value), 4000).split("\n")[:40] if value else []


def _readable(value: Any) -> str:
    match value:
        case str() | int() | float() | None | {"$body": _}:
            return events.shown(value)
        case list() if all(isinstance(item, str) for item in value):
            return "\n".join(value[:ROWS])
        case _:
            return clip(str(value), 4000)


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value[:ROWS] if isinstance(item, dict)] if isinstance(value, list) else []
