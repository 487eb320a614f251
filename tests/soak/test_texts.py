"""Escaping: what models, tools and files write reaches a page, a database and a name only in a harmless form."""

import json
import os
import re
from typing import Any

import pytest
from django.utils.html import escape
from hypothesis import strategies as st

from agents import codelines, encoding
from agents import terminal as shown_terminal
from agents.templatetags import prose
from tests.soak.holding import hold
from tests.soak.markup import RAW, look
from tests.soak.strategies import texts
from workspaces import highlight, names, terminal

SPANS = {"span": {"class", "title"}, "mark": {"class"}}
TAGS = "blockquote br code del div em hr li p pre s strong table tbody td th thead tr ul"
PROSE = {tag: {"class"} for tag in TAGS.split()} | {
    "a": {"href", "title", "rel", "class", "data-host"},
    "ol": {"start"},
    "span": {"class", "title"},
}
NAMES = ("a.py", "a.js", "a.html", "a.md", "Makefile", "a.c", "a.sh", "a.json", "a.unknown", "a.yml", "a.php", "a.diff")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | texts(6),
    lambda inner: st.lists(inner) | st.dictionaries(texts(3), inner),
)


def test_what_goes_into_a_database_holds_no_nul_and_no_half_character() -> None:
    def check(value: Any) -> None:
        safe = encoding.safe(value)
        assert encoding.safe(safe) == safe
        written = json.dumps(safe, ensure_ascii=False)
        assert "\0" not in written.encode().decode()

    hold(check, JSON)


def test_a_clean_text_goes_into_a_database_as_it_is() -> None:
    hold(
        lambda text: equal(encoding.safe_text(text), text),
        st.text(st.characters(exclude_characters="\0", codec="utf-8")),
    )


def equal(one: object, other: object) -> None:
    assert one == other


def test_a_text_on_a_page_is_text() -> None:
    def check(text: str) -> None:
        seen = look(prose.visible(text), SPANS)
        assert RAW.sub("", seen.text.replace("\r", "")) in RAW.sub("", text.replace("\r", "")) or odd(text)
        assert not odd(text) or len(seen.text) <= len(text)

    hold(check, texts(), few=80)


def odd(text: str) -> bool:
    return prose.visible(text) != escape(text)


def test_markdown_on_a_page_has_allowed_tags_and_links_only() -> None:
    def check(text: str) -> None:
        seen = look(prose.render(text), PROSE)
        assert all(re.match(r"(?i)(?:https?:|mailto:|[^:]*$|[/#?])", link) for link in seen.links), seen.links

    hold(check, texts(40), few=60)


def test_what_a_terminal_printed_is_shown_without_its_escapes() -> None:
    def check(text: str) -> None:
        seen = look(shown_terminal.html(text), SPANS)
        plain = terminal.plain(text)
        assert "\x1b" not in plain
        assert "\r" not in plain
        assert re.sub(r"\x1b\[[0-9;]*m", "", terminal.coloured(text)).count("\x1b") == 0
        assert terminal.plain(terminal.coloured(text)).rstrip() == terminal.plain(
            terminal.coloured(plain)
        ).rstrip() or ("\n" in text or "\b" in text)
        assert len(seen.text) <= len(text)

    hold(check, texts(), few=60)


def test_the_ends_of_a_long_output_are_bounded_and_cut_no_escape() -> None:
    def check(text: str, chars: int) -> None:
        longest = 2 * len(text) if "\x1b" in text else chars
        for part in (terminal.first(text, chars), terminal.last(text, chars)):
            assert len(part) <= max(longest, chars) + 64
            assert "\x1b" not in terminal.plain(part)

    hold(check, texts(60), st.integers(0, 80))


@pytest.mark.parametrize("name", NAMES)
def test_code_is_coloured_without_becoming_markup(name: str) -> None:
    def check(text: str) -> None:
        lines = highlight.lines(name, text)
        assert len(lines) == text.count("\n") + 1
        for line, wanted in zip(lines, text.split("\n"), strict=True):
            assert unmarked(line) == wanted
            look(highlight.visible(line), SPANS)
            spans = ((0, len(wanted) // 2), (len(wanted) // 2 + 1, len(wanted)))
            assert unmarked(highlight.marked(line, spans)) == wanted

    hold(check, texts(), few=10)


def unmarked(html: str) -> str:
    """Return the text of a line of HTML whose elements are closed in their order."""
    assert not re.sub(r"</?(?:span|mark)(?: class=\"[a-z]\")?>", "", html).count("<"), html
    depth = 0
    for tag in re.findall(r"</?(?:span|mark)", html):
        depth += -1 if tag.startswith("</") else 1
        assert depth >= 0
    assert depth == 0
    plain = re.sub(r"<[^>]*>", "", html)
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#x27;", "'"), ("&amp;", "&")):
        plain = plain.replace(entity, character)
    return plain


def test_lines_of_cards_and_diffs_are_harmless() -> None:
    def check(text: str, name: str) -> None:
        numbered = "".join(f"{n:6}\t{line}\n" for n, line in enumerate(text.split("\n"), 1))
        rows = [[kind, 1, 1, text] for kind in (" ", "+", "-", "<b>")]
        found = [*codelines.numbered(numbered, name), *codelines.unified(text), *codelines.diff(rows, 1000).lines]
        for line in [*found, *codelines.plain(text, name)]:
            look(line.html, SPANS)

    hold(check, texts(), st.sampled_from(NAMES), few=40)


def test_a_name_of_any_bytes_is_shown_and_found_again() -> None:
    def check(path: bytes) -> None:
        shown = names.shown(path)
        shown.encode()
        assert names.find(shown, {path}) == path
        assert names.raw(os.fsdecode(path)) == path

    plain = st.binary(min_size=1, max_size=30).filter(lambda path: b"\\x" not in path)
    hold(check, plain, few=80)
