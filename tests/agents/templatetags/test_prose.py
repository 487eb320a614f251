"""Texts of others: Markdown without danger, odd characters made visible, bounded time."""

import time

import pytest

from agents.templatetags import prose


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<div onclick=x>y</div>",
        "<img src=x onerror=alert(1)>",
        "[a](javascript:alert(1))",
        "[a](JaVaScRiPt:alert(1))",
        "[a](data:text/html,x)",
        "![a](http://example.org/track.png)",
        "<javascript:alert(1)>",
        "`<b>`",
        '[a](http://x "><script>")',
        "| a |\n|---|\n| <style>x</style> |",
    ],
)
def test_markdown_lets_nothing_dangerous_through(text: str) -> None:
    html = prose.render(text).lower()
    assert not any(
        part in html for part in ("<script", "<img", "<div", "<style", 'href="javascript', 'href="data', "<b>")
    )


def test_html_is_shown_as_text() -> None:
    assert "&lt;T&gt;" in prose.render("A list<T> of <T>")


@pytest.mark.parametrize("address", ["https://example.org/", "http://example.org/", "mailto:ann@example.org"])
def test_links_open_without_handing_over_the_page(address: str) -> None:
    html = prose.render(f"[a]({address})")
    assert f'href="{address}"' in html
    assert "noopener" in html


def test_headings_do_not_change_the_outline_of_the_page() -> None:
    assert prose.render("# Big\n\n###### Small").count('<p class="head">') == 2


def test_code_lists_and_tables_are_rendered() -> None:
    html = prose.render("```py\nx < 1\n```\n\n- a\n\n|a|b|\n|-|-|\n|1|2|")
    assert all(part in html for part in ("<pre><code", "x &lt; 1", "<li>a</li>", "<td>1</td>"))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a\u202eb", "U+202E"),
        ("a\u200bb", "U+200B"),
        ("\ufeffa", "U+FEFF"),
        ("a\x07", "U+0007"),
        ("a\u200db", "U+200D"),
    ],
)
def test_characters_that_hide_or_reorder_are_shown(text: str, code: str) -> None:
    assert f">{code}</span>" in prose.visible(text)
    assert f"‹{code}›" in prose.render(text)


@pytest.mark.parametrize("text", ["👩\u200d💻", "می\u200cخواهم", "tab\there", "line\nbreak", "naïve – “quoted”"])
def test_ordinary_spelling_stays_as_it_is(text: str) -> None:
    assert prose.visible(text) == text


def test_markup_in_plain_text_is_escaped() -> None:
    assert prose.visible("<b>&\u202e") == '&lt;b&gt;&amp;<span class="odd" title="RIGHT-TO-LEFT OVERRIDE">U+202E</span>'


def test_a_text_that_is_too_long_is_shown_as_it_is() -> None:
    assert prose.render("**a** " * 10_000).startswith('<pre class="plain">**a**')


@pytest.mark.parametrize("piece", ["[a", "[a](", "*_", ">", "> - ", "`", "<", "![a", "- a\n", "|-|\n", "[a][", "\\"])
def test_no_text_takes_long(piece: str) -> None:
    begun = time.monotonic()
    prose.render((piece * prose.MARKDOWN_LIMIT)[: prose.MARKDOWN_LIMIT])
    assert time.monotonic() - begun < 5
