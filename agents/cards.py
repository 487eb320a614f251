"""A tool call as the page shows it: one card, made of the call, what it printed, its result and its snapshot."""

import hashlib
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.template import TemplateDoesNotExist
from django.template.loader import get_template, render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString

from agents import bodies, events, looks, outputs, terminal, told
from agents.bodies import changing
from agents.codelines import Line
from agents.kept import Kept
from agents.looks import LOOKS as LOOKS
from agents.looks import Look
from agents.models import Event
from agents.outcomes import Part, outcome
from agents.templatetags.sakura import count_of
from agents.told import BODY_CHARS as BODY_CHARS
from agents.told import ROWS, Told
from agents.told import clip as clip
from agents.wording import WHOSE
from workspaces import terminal as screen

INLINE_CHARS = 2048
"""Characters of a result up to which a closed card's body comes with it; a longer one is fetched when it is opened."""
INLINE_CODE_CHARS = 800
"""The same for code, whose colours take their time."""
WHOLE_CHARS = 48 * 1024
"""Characters of one text where a card is asked for by itself: more than an event holds."""
KEPT_CHARS = 8 * 1024 * 1024
FIELDS = 20
MOST_MS = 10**12
FILE_TOOLS = frozenset(
    {"read_file", "write_file", "edit_file", "replace_lines", "insert_lines", "edit_notebook", "revert_file"}
)
RULE_CHARS = 400
DENIALS = frozenset({"DENIED", "PROTECTED_PATH", "BLOCKED_COMMAND", "SECRET_DETECTED", "OUTSIDE_WORKSPACE"})

_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
_TOOL_NAME = re.compile(r"[a-z][a-z_]{0,39}")
_ERROR_TAGS = re.compile(r"</?tool_use_error>")


def slug(call_id: str) -> str:
    """Return a safe, stable DOM id for a call id, which is arbitrary text: itself, or a hash that no safe id equals."""
    if _SAFE_ID.fullmatch(call_id):
        return call_id
    return "-" + hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:24]


@dataclass(frozen=True)
class Ruling:
    """What was decided of a call; `whose`: the rule's, in words."""

    allowed: bool
    rule: str
    whose: str
    why: str


_kept: Kept[SafeString] = Kept(KEPT_CHARS, len)


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
    """One call and all that is known of it; the templates below agents/cards/ ask it.

    `chars`: how much of one text is shown. On the run page that is BODY_CHARS.
    """

    call: Event
    result: Event | None = None
    snapshot: Event | None = None
    pieces: tuple[Event, ...] = ()
    chars: int = WHOLE_CHARS

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
    def told(self) -> Told:
        """The call as its head and its body read it."""
        return Told(self.run_id, self.tool, self.input, self.data, self.content, self.chars)

    # --- its head ---

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
        return looks.look_of(self.tool, self.effect)

    @property
    def icon(self) -> str:
        return self.look.icon if self.is_busy or self.is_error else looks.icon(self.told, self.look)

    @property
    def verb(self) -> str:
        if self.result is None:
            return self.look.doing
        if self.is_error:
            return self.tool.replace("_", " ").capitalize() if self.tool in LOOKS else "Called"
        return looks.verb(self.told, self.look)

    @property
    def target(self) -> str:
        if self.tool not in LOOKS:
            return self.tool
        value = self.input.get(self.look.target, "") if self.look.target else ""
        if self.look.target == "file_path" and not value:
            value = self.input.get("path", "")  # what some models call it
        return clip(" ".join(events.shown("" if value is None else value).split()), 300)

    @property
    def aside(self) -> str:
        return clip(looks.aside(self.told), 300)

    @property
    def aside_is_code(self) -> bool:
        return self.tool in ("command_output", "stop_command")

    @property
    def outcome(self) -> list[Part]:
        return outcome(self.told)

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
    def has_failed(self) -> bool:
        """Whether it went wrong; a command that was to be stopped did not, whatever its exit code."""
        if self.is_error or self.has_been_guarded:
            return True
        return self.tool != "stop_command" and bool(told.count(self.data.get("exit_code")))

    @property
    def has_been_guarded(self) -> bool:
        """Whether it changed protected files, which Sakura then put back (see agents/guard.py)."""
        return bool(self.told.part("guard"))

    @cached_property
    def ruling(self) -> Ruling | None:
        """What the rules said: in the refusal, where there is one, else before the call began; None: not known."""
        before = self.call.data.get("decision")
        found = self.data if self.is_denied else before if isinstance(before, dict) else {}
        if not found or (self.is_denied and not found.get("rule")):
            return None
        rule, source = told.text(found.get("rule"), RULE_CHARS), str(found.get("source", ""))
        why = told.text(found.get("why"), RULE_CHARS)
        return Ruling(not self.is_denied and bool(found.get("allowed")), rule, WHOSE.get(source, source[:40]), why)

    @property
    def is_open(self) -> bool:
        return self.is_busy or self.has_failed

    @property
    def tone(self) -> str:
        return "busy" if self.is_busy else "wrong" if self.has_failed else ""

    @property
    def duration_ms(self) -> float | None:
        spent = self.result.data.get("duration_ms") if self.result else None
        return spent if isinstance(spent, int | float) and 0 <= spent < MOST_MS else None

    # --- what it says ---

    @cached_property
    def _content(self) -> str:
        return events.shown(self.result.data.get("content", "")) if self.result else ""

    @cached_property
    def content(self) -> str:
        """The result as the model got it, bounded; the tags around an error are left out."""
        return _ERROR_TAGS.sub("", clip(self._content, self.chars))

    @property
    def terminal(self) -> SafeString:
        """What a command printed: with its colours if the tool kept them, else as the model got it."""
        kept = told.text(self.data.get("output"), WHOLE_CHARS)
        return printed(_ERROR_TAGS.sub("", kept), self.chars) if kept else terminal.html(self.content)

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
    def claimed_files(self) -> str:
        return ", ".join(told.texts(self.input.get("modified_files")))

    @property
    def unproven(self) -> list[str]:
        """What of the claim the facts do not bear out, in sentences."""
        return self.told.texts("unproven")

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The input, argument by argument, each text bounded."""
        return [(name, clip(_readable(value), 4000)) for name, value in list(self.input.items())[:FIELDS]]

    @property
    def wanted(self) -> list[Line]:
        """What an edit that failed had wanted."""
        return changing.wanted(self.told)

    # --- where to read on ---

    @property
    def snapshot_words(self) -> str:
        if self.snapshot is None:
            return ""
        number, files = (told.count(self.snapshot.data.get(key)) for key in ("number", "file_count"))
        many = f", {count_of(files, 'file')}" if files else ""
        return f"Snapshot {number}{many}" if number is not None else ""

    @property
    def subject_url(self) -> str:
        """The page of the file that the call is about, or "" if it is about none."""
        resolved = self.call.data.get("resolved")
        known = next(iter(resolved.values()), "") if isinstance(resolved, dict) else ""
        path = told.text(self.data.get("path")) or told.text(known)
        line = self.data.get("start") if self.tool == "read_file" else self.data.get("start_line")
        is_gone = self.tool == "revert_file" and any(part.text == "gone" for part in self.outcome)
        return self.told.file_url(path, told.count(line)) if path and self.tool in FILE_TOOLS and not is_gone else ""

    @property
    def whole_url(self) -> str:
        """Where the whole output is, if it was cut."""
        ref = self.result.data.get("output_ref") if self.result else ""
        content = self.result.data.get("content") if self.result else ""
        ref = ref or (content.get("$body") if isinstance(content, dict) else "")
        is_one = isinstance(ref, str) and outputs.NAME.fullmatch(ref)
        return reverse("run_output", args=[self.run_id, ref]) if is_one else ""

    @property
    def call_url(self) -> str:
        """The page of the call by itself, where this shows less than is there."""
        said = max(len(self._content), len(told.text(self.data.get("output"), WHOLE_CHARS)))
        is_less = self.chars < said and not self.whole_url
        return reverse("run_call", args=[self.run_id, self.call.seq]) if is_less else ""

    # --- its HTML ---

    def body_html(self) -> SafeString:
        """Return what the card shows when it is open."""
        is_known = not self.is_busy and (not self.is_error or "applied" in self.data)
        shown = bodies.body(self.told) if is_known else {}
        return SafeString(get_body(self.tool).render({"card": self, **shown}))

    def html(self) -> SafeString:
        """Return the whole card, its body only if it is open already or small. Kept once the call is done."""
        if self.result is None:
            return self._html()
        marks = [(event.pk, event.at) for event in (self.call, self.result, self.snapshot) if event]
        return _kept.get(tuple(marks), self._html)

    def _html(self) -> SafeString:
        card = replace(self, chars=BODY_CHARS)
        shown = {"card": card, "body": card._body_at_once()}
        return SafeString(render_to_string("agents/events/_tool_call.html", shown).rstrip("\n"))

    def _body_at_once(self) -> str:
        if self.is_open:
            return self.body_html()
        if len(self._content) > (INLINE_CODE_CHARS if self.tool == "read_file" else INLINE_CHARS):
            return ""
        body = self.body_html()
        return body if len(body) <= 2 * INLINE_CHARS else ""


def get_body(tool: str) -> Any:
    """Return the template of a tool's body: agents/cards/_<tool>.html, else the one for any tool."""
    if _TOOL_NAME.fullmatch(tool) and tool in LOOKS:
        try:
            return get_template(f"agents/cards/_{tool}.html")
        except TemplateDoesNotExist:
            pass
    return get_template("agents/cards/_default.html")


def _readable(value: Any) -> str:
    match value:
        case str() | int() | float() | None | {"$body": _}:
            return events.shown(value)
        case list() if all(isinstance(item, str) for item in value):
            return "\n".join(value[:ROWS])
        case _:
            return clip(str(value), 4000)
