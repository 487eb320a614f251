"""Turns what a command printed into HTML: colours as classes, other escapes gone, odd characters made visible."""

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from agents.templatetags import prose
from workspaces import terminal
from workspaces.sgr import Style

_MARKS = {1: "b", 2: "d", 3: "i", 4: "u", 7: "r", 9: "s"}


def html(text: str) -> SafeString:
    """Return the text as HTML for a <pre>: `<span class="a-31 a-b">` for colours, nothing else of the terminal's."""
    parts = (_part(part, style) for part, style in terminal.runs(text) if part)
    return mark_safe("".join(parts))  # noqa: S308 -- every part is escaped in _part


def _part(text: str, style: Style) -> str:
    shown = prose.visible(text)
    return format_html('<span class="{}">{}</span>', _classes(style), shown) if style.codes else shown


def _classes(style: Style) -> str:
    numbers = [f"a-{code}" for code in (style.colour, style.ground) if code]
    return " ".join([*numbers, *sorted(f"a-{_MARKS[mark]}" for mark in style.marks)])
