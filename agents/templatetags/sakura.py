"""Tags and filters of every template: icons, statuses, plain numbers, times, and texts of others made safe to show."""

from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agents.models import Status
from agents.templatetags import prose
from agents.wording import utc
from workspaces import odd

register = template.Library()

TONES: dict[Status, tuple[str, str]] = {
    Status.QUEUED: ("queued", ""),
    Status.PREPARING: ("run", "info"),
    Status.IMPLEMENTING: ("run", "info"),
    Status.REVIEWING: ("run", "info"),
    Status.AWAITING_HUMAN: ("eye", "you"),
    Status.PAUSED: ("pause", ""),
    Status.APPROVED: ("pass", "ok"),
    Status.REJECTED: ("deny", ""),
    Status.CANCELLED: ("stop", ""),
    Status.FAILED: ("fail", "bad"),
    Status.NEEDS_ATTENTION: ("warn", "warn"),
}
"""The icon and the tone of each run status."""

_MESSAGE_TONES = {"success": "ok", "warning": "warn", "error": "bad"}
_TONE_ICONS = {"ok": "pass", "warn": "warn", "bad": "fail"}


# --- icons and statuses ----------------------------------------------------------------------------


@register.simple_tag
def icon(name: str, classes: str = "", data_for: str = "") -> SafeString:
    """Return an icon of the sprite (templates/_sprite.html), hidden from assistive technology."""
    shown_for = format_html(' data-for="{}"', data_for) if data_for else ""
    all_classes = f"icon {classes}".strip()
    return format_html('<svg class="{}"{} aria-hidden="true"><use href="#i-{}"/></svg>', all_classes, shown_for, name)


@register.simple_tag
def status_icon(status: str) -> SafeString:
    """Return the icon of a run status in its tone; it turns while a worker is at it."""
    name, tone = TONES[Status(status)]
    return icon(name, f"{tone}{' spin' if Status(status).is_working else ''}".strip())


@register.simple_tag
def status_badge(status: str) -> SafeString:
    """Return the badge of a run status: icon and word."""
    name, tone = TONES[Status(status)]
    return format_html('<span class="badge {}">{}{}</span>', tone, icon(name), Status(status).label)


@register.simple_tag
def status_word(status: str) -> SafeString:
    """Return the word of a run status in its tone, for a line of text."""
    return format_html('<span class="state {}">{}</span>', TONES[Status(status)][1], Status(status).label)


@register.filter
def tone(tags: str) -> str:
    """Return the tone of a message of django.contrib.messages ("" for a plain one)."""
    return _MESSAGE_TONES.get(tags.split()[-1] if tags else "", "")


@register.filter
def tone_icon(name: str) -> str:
    """Return the icon that stands for a tone."""
    return _TONE_ICONS.get(name, "flag")


# --- numbers ---------------------------------------------------------------------------------------


@register.filter
def number(value: int | float | None) -> str:
    """Return a whole number with its thousands apart; empty for None."""
    return "" if value is None else f"{int(value):,}"


@register.filter
def compact(value: int | None) -> str:
    """Return a count in at most four characters, as in 940, 12.3K, 1.2M."""
    count = float(value or 0)
    for unit in ("", "K", "M"):
        if count < 999.5:
            return f"{count:.0f}{unit}" if not unit or count >= 99.95 else f"{count:.1f}{unit}".replace(".0", "")
        count /= 1000
    return f"{count:.1f}G"


@register.filter
def money(value: Decimal | float | str | None) -> str:
    """Return US dollars: cents, or as many digits as a small sum needs."""
    try:
        amount = Decimal(str(value or 0))
    except InvalidOperation:
        return ""
    if Decimal(0) < amount < Decimal("0.01"):
        return f"${amount:.4f}"
    return f"${amount:,.2f}"


@register.filter
def size(value: int | None) -> str:
    """Return a number of bytes as B, KB, MB or GB (powers of 1024)."""
    amount = float(value or 0)
    for unit in ("B", "KB", "MB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GB"


@register.filter
def percent(value: float) -> str:
    """Return a place in a drawing, as in 12.5%."""
    return f"{round(value, 2):g}%"


@register.filter
def count_of(count: int, noun: str) -> str:
    """Return the count with its noun: "1 file", "3 files"; "branch,branches" gives both forms."""
    one, _, many = noun.partition(",")
    return f"{count:,} {one if count == 1 else many or one + 's'}"


# --- times -----------------------------------------------------------------------------------------


@register.filter
def duration(milliseconds: float | None) -> str:
    """Return a span as m:ss or h:mm:ss; below a minute as seconds, below a second as milliseconds."""
    ms = max(0, int(milliseconds or 0))
    if ms < 1000:
        return f"{ms} ms"
    if ms < 60_000:
        return f"{ms / 1000:.1f} s"
    return clock(ms)


@register.filter
def clock(milliseconds: float | None) -> str:
    """Return a span as mm:ss or h:mm:ss, as a stopwatch shows it."""
    minutes, seconds = divmod(max(0, int(milliseconds or 0)) // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"


def _span(passed: timedelta) -> str:
    seconds = max(0, int(passed.total_seconds()))
    for limit, unit, name in ((60, 1, "s"), (3600, 60, "min"), (86_400, 3600, "h")):
        if seconds < limit:
            return f"{seconds // unit} {name}"
    days = seconds // 86_400
    return f"{days} day" if days == 1 else f"{days} days"


@register.filter
def ago(at: datetime | None) -> SafeString | str:
    """Return a <time> that says how long ago; the script puts its title in the reader's zone and keeps it fresh."""
    if at is None:
        return ""
    passed = timezone.now() - at
    words = "just now" if passed < timedelta(seconds=10) else f"{_span(passed)} ago"
    return format_html('<time datetime="{}" title="{}" data-ago>{}</time>', at.isoformat(), utc(at), words)


@register.filter
def when(at: datetime | None) -> SafeString | str:
    """Return a <time> with the date and time, in UTC until the script puts it in the reader's zone."""
    if at is None:
        return ""
    return format_html('<time datetime="{}" title="{}" data-when>{}</time>', at.isoformat(), utc(at), utc(at))


# --- texts of others -------------------------------------------------------------------------------


@register.filter
def markdown(text: str | None) -> SafeString:
    """Return Markdown as sanitised HTML: no images, no HTML of its own, links only to http, https and mailto."""
    return prose.render(text or "")


@register.filter
def visible(text: object) -> SafeString:
    """Return the text escaped, with characters that hide or reorder text (bidi, zero width, control) shown as marks."""
    return prose.visible("" if text is None else str(text))


@register.filter
def spelled(text: object) -> str:
    """Return the text with such characters as ‹U+202E›, for titles, labels and options, which hold no marks."""
    return odd.spelled("" if text is None else str(text))
