"""Texts as an attacker would write them."""

from hypothesis import strategies as st

HOSTILE = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</pre>", "</span>", "<", ">", "&", "&lt;", "&#60;",
    '"', "'", '" onclick="x', "javascript:alert(1)", "data:text/html,<script>", "<!--", "-->", "]]>",
    "<svg/onload=x>", "\x1b[31m", "\x1b[0m", "\x1b[1;38;5;200m", "\x1b[2K", "\x1b[1K", "\x1b]0;title\x07",
    "\x1b]8;;http://x\x1b\\", "\x1b", "\x1bP1$r\x1b\\", "\x9b31m", "\x9d0;x\x9c", "\r", "\b", "\x00", "\x07", "\x7f",
    "\x85", "\x1b[99999999999m", "\x1b[;;;m", "\u202e", "\u202a", "\u2066", "\u2069", "\u200b", "\u200c", "\u200d",
    "\u2060", "\ufeff", "\u00ad", "\u061c", "\ufe0f", "\ud800", "\udc80", "\udcff", "\U000e0041",
    "e\u0301\u0301\u0301\u0301\u0301\u0301", "👩\u200d💻", "שלום", "漢字", "é", "\u2028", "\u2029", "\u3164", "\x0c",
    "\x0b", "\t", "\n", "\n\n", "\r\n", " ", "    ", "a", "word", "1", "x = 1  # ", "# ", "* ", "- ", "1. ", "> ",
    "```", "~~~", "`", "**", "_", "[x](", "](http://a)", "![i](http://a/p.png)", ")", "|", "[a]: http://x",
    "<http://x>", "http://x", "|---|", '"""', "'''", "/*", "*/", "//", "--", "${", "{{", "{%", "%}", "\\",
)  # fmt: skip


def texts(most: int = 25) -> st.SearchStrategy[str]:
    """Return texts of hostile pieces, with any other character in between."""
    any_character = st.characters(codec=None)  # halves of surrogate pairs too
    return st.lists(st.sampled_from(HOSTILE) | any_character, max_size=most).map("".join)
