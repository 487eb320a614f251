"""Turns what a command printed into HTML: colours as classes, other escapes gone, odd characters made visible."""

import re
from dataclasses import dataclass, replace

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from agents.templatetags import prose

# ECMA-48: control strings (OSC, DCS, SOS, PM, APC) up to BEL or ST, control sequences, other escapes.
# A string that never ends is dropped up to the end of its line.
_ESCAPE = re.compile(
    r"\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"
    r"|\x1b\[(?P<codes>[0-?]*)[ -/]*(?P<final>[@-~])?"
    r"|\x1b[ -/]*[0-~]?"
)
_OVERSTRUCK = re.compile(r"[^\n\x08]\x08")
_OVERWRITTEN = re.compile(r"[^\n]*\r(?!\n|\Z)")


@dataclass(frozen=True)
class _Style:
    """The SGR state (ECMA-48 8.3.117) that we show."""

    colour: int = 0
    ground: int = 0
    marks: frozenset[str] = frozenset()

    @property
    def classes(self) -> str:
        numbers = [f"a-{code}" for code in (self.colour, self.ground) if code]
        return " ".join([*numbers, *(f"a-{mark}" for mark in sorted(self.marks))])


_ON = {1: "b", 2: "d", 3: "i", 4: "u", 7: "r", 9: "s"}
_OFF = {22: {"b", "d"}, 23: {"i"}, 24: {"u"}, 27: {"r"}, 29: {"s"}}


def html(text: str) -> SafeString:
    """Return the text as HTML for a <pre>: `<span class="a-31 a-b">` for colours, nothing else of the terminal's."""
    style, parts, at = _Style(), [], 0
    text = _settle(text)
    for escape in _ESCAPE.finditer(text):
        parts.append(_piece(text[at : escape.start()], style))
        if escape["final"] == "m":
            style = _apply(style, escape["codes"])
        at = escape.end()
    parts.append(_piece(text[at:], style))
    return mark_safe("".join(parts))  # noqa: S308 -- every part is escaped in _piece


def _settle(text: str) -> str:
    r"""Return what a terminal leaves of `\r` progress lines and overstruck characters."""
    text = _OVERSTRUCK.sub("", text.replace("\r\n", "\n"))
    return _OVERWRITTEN.sub("", text).replace("\r", "")


def _piece(text: str, style: _Style) -> str:
    if not text:
        return ""
    shown = prose.visible(text)
    return format_html('<span class="{}">{}</span>', style.classes, shown) if style.classes else shown


def _apply(style: _Style, codes: str) -> _Style:
    numbers = [int(code) if code.isdigit() and len(code) < 4 else 0 for code in re.split("[;:]", codes)]
    while numbers:
        code = numbers.pop(0)
        style = _extended(style, code, numbers) if code in (38, 48) else _simple(style, code)
    return style


def _simple(style: _Style, code: int) -> _Style:
    if code == 0:
        return _Style()
    if code in _ON:
        return replace(style, marks=style.marks | {_ON[code]})
    if code in _OFF:
        return replace(style, marks=style.marks - _OFF[code])
    if 30 <= code <= 37 or 90 <= code <= 97 or code == 39:
        return replace(style, colour=0 if code == 39 else code)
    if 40 <= code <= 47 or 100 <= code <= 107 or code == 49:
        return replace(style, ground=0 if code == 49 else code)
    return style


def _extended(style: _Style, code: int, rest: list[int]) -> _Style:
    """Take 38/48;5;n (the first 16 have names) or 38/48;2;r;g;b, whose exact colour no class can say."""
    mode = rest.pop(0) if rest else 0
    values = [rest.pop(0) for _ in range(min(len(rest), 1 if mode == 5 else 3 if mode == 2 else 0))]
    if mode != 5 or not values or values[0] > 15:
        return style
    named = (30 if values[0] < 8 else 82) + values[0] + (10 if code == 48 else 0)
    return _simple(style, named)
