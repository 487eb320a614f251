"""Characters that hide, reorder or cover text ("Trojan Source", CVE-2021-42574): which they are, how one is shown."""

import re
import unicodedata
from collections.abc import Callable, Iterator

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

STACKED = 4
"""Marks that may stand on one letter, as written Hebrew or Thai has them; a pile of more covers the lines around it."""
NAMED_IN_A_ROW = 8
"""Odd characters side by side that are named one by one; a longer row is a message, and its codes would tell nobody."""

_CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f"
# Soft hyphen, fillers, zero widths, direction marks and overrides, invisible operators, BOM, musical controls, tag
# characters; halves of surrogate pairs, which no page can hold.
_HIDDEN = (
    f"{_CONTROLS}\x80-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e00ff"
    "\U000e01f0-\U000e0fff"
)
_NAMES = {
    "\x00": "NULL", "\x07": "BELL", "\x08": "BACKSPACE", "\r": "CARRIAGE RETURN", "\x1b": "ESCAPE", "\x7f": "DELETE",
    "\x9b": "CONTROL SEQUENCE INTRODUCER", "\x9d": "OPERATING SYSTEM COMMAND",
}  # fmt: skip
_LAST_COMBINING = 0x1E95F


def _combining() -> Iterator[str]:
    """Yield the characters that stand on the one before them, as ranges of a class."""
    shapeless = re.compile(f"[{_HIDDEN}\ufe00-\ufe0f]")
    codes = (code for code in range(0x300, _LAST_COMBINING) if unicodedata.category(chr(code)) in ("Mn", "Me"))
    first = last = 0
    for code in (code for code in codes if not shapeless.match(chr(code))):
        if code != last + 1:
            yield f"{chr(first)}-{chr(last)}" if first else ""
            first = code
        last = code
    yield f"{chr(first)}-{chr(last)}"


_MARKS = "".join(_combining())
# A joiner between two characters beyond ASCII is ordinary spelling (emoji, Persian, Hindi), and so is a selector of a
# variant behind the character that has variants (emoji, keycaps, Han). Anywhere else nobody sees them.
_ODD = re.compile(
    f"(?:[{_HIDDEN}]"
    "|(?<![^\x00-\x7f\u200b-\u200f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f\u200b-\u200f])"
    "|(?<![0-9#*\xa1-\xac\xae-\u200a\u2010-\u2027\u2030-\u205e\u2070-\ufdff\ufe10-\ufefe\uff01-\U000dffff])[\ufe00-\ufe0f]"
    "|(?<![\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])[\U000e0100-\U000e01ef]"
    f"|(?<=[{_MARKS}]{{{STACKED}}})[{_MARKS}])+"
)
_COMBINES = re.compile(f"[{_MARKS}]")
_ODD_ASCII = re.compile(f"[{_CONTROLS}]+")


def marked(html: str) -> SafeString:
    """Return escaped HTML with a mark for each odd character in it: its code, with its name in the title.

    The marks are text: who copies the line gets them, and never what they stand for.
    """
    return mark_safe(_sub(_row_of_marks, html))  # noqa: S308 -- only marks are added to what is escaped


def spelled(text: str) -> str:
    """Return the text with odd characters as ‹U+202E›, for places that hold no marks: titles, labels, options."""
    return _sub(_row_of_codes, text)


def mark(character: str) -> SafeString:
    """Return the mark of an odd character."""
    return format_html('<span class="odd" title="{}">{}</span>', _name(character), code(character))


def code(character: str) -> str:
    """Return the code of a character, as in U+202E."""
    return f"U+{ord(character):04X}"


def can_be_odd(character: str) -> bool:
    """Return whether there is a place where the character is odd, as a mark on a letter is on top of others."""
    return bool(_ODD.fullmatch(character) or _COMBINES.fullmatch(character))


def _sub(replace: Callable[[re.Match[str]], str], text: str) -> str:
    return (_ODD_ASCII if text.isascii() else _ODD).sub(replace, text)


def _row_of_marks(match: re.Match[str]) -> str:
    first, more = _taken_apart(match)
    rest = format_html('<span class="odd" title="in a row">{} more</span>', f"{more:,}") if more else ""
    return "".join(mark(each) for each in first) + rest


def _row_of_codes(match: re.Match[str]) -> str:
    first, more = _taken_apart(match)
    return "".join(f"‹{code(each)}›" for each in first) + (f"‹{more:,} more›" if more else "")


def _taken_apart(match: re.Match[str]) -> tuple[str, int]:
    row = match[0]
    return (row, 0) if len(row) <= NAMED_IN_A_ROW else (row[:NAMED_IN_A_ROW], len(row) - NAMED_IN_A_ROW)


def _name(character: str) -> str:
    if "\ud800" <= character <= "\udfff":
        return "half of a surrogate pair"
    return unicodedata.name(character, "") or _NAMES.get(character, "control character")
