"""What a page may hold: a strict look at HTML, by another parser than the one that made it."""

import re
from html.parser import HTMLParser

VOID = {"br", "hr"}
RAW = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
"""Controls, what reorders or hides text, halves of surrogate pairs: each must be shown as a mark."""


class Look(HTMLParser):
    """Collects text outside of marks for odd characters; fails on a tag, attribute or nesting that is not allowed."""

    def __init__(self, allowed: dict[str, set[str]]) -> None:
        super().__init__(convert_charrefs=True)
        self.allowed, self.open, self.text, self.links = allowed, list[str](), "", list[str]()
        self.odd = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.allowed, tag
        assert {name for name, _ in attrs} <= self.allowed[tag], attrs
        self.links += [value or "" for name, value in attrs if name == "href"]
        if tag in VOID:
            return
        self.odd += bool(self.odd) or ("class", "odd") in attrs
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag
        self.odd -= bool(self.odd)

    def handle_data(self, data: str) -> None:
        self.text += "" if self.odd else data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl!r}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"a processing instruction: {data!r}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data!r}")


def look(html: str, allowed: dict[str, set[str]]) -> Look:
    """Return what a parser sees; nothing raw, every tag allowed and closed in its order."""
    assert not RAW.search(html), RAW.search(html)
    seen = Look(allowed)
    seen.feed(html)
    seen.close()
    assert not seen.open, seen.open
    return seen
