"""Characters that hide or reorder text ("Trojan Source", CVE-2021-42574): which they are, and how one is shown."""

import re
import unicodedata

from django.utils.html import format_html
from django.utils.safestring import SafeString

# Controls, soft hyphen, zero widths, direction marks and overrides, invisible operators, BOM, tag characters.
# A joiner between two characters beyond ASCII is ordinary spelling (emoji, Persian, Hindi) and stays.
ODD = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
)


def mark(match: re.Match[str]) -> SafeString:
    """Return the mark that stands for an odd character: its code, with its name in the title."""
    name = unicodedata.name(match[0], "control character")
    return format_html('<span class="odd" title="{}">U+{}</span>', name, f"{ord(match[0]):04X}")
