"""Texts of others: Markdown without danger, odd characters made visible, bounded time."""

import re
import time
from pathlib import Path

import pytest

from agents.templatetags import prose, sakura
from workspaces import odd


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
        part in html for part in ("<script", "<img", "<div on", "<style", 'href="javascript', 'href="data', "<b>")
    )


def test_html_is_shown_as_text() -> None:
    assert "&lt;T&gt;" in prose.render("A list<T> of <T>")


@pytest.mark.parametrize("address", ["https://example.org/", "http://example.org/", "mailto:ann@example.org"])
def test_links_open_without_handing_over_the_page(address: str) -> None:
    html = prose.render(f"[a]({address})")
    assert f'href="{address}"' in html
    assert 'rel="noopener noreferrer nofollow"' in html


@pytest.mark.parametrize(
    "address", ["/logout/", "//example.org/", "\\\\\\\\example.org/", "?a", "#log", "http:logout/", "ftp://a/"]
)
def test_an_address_that_the_own_page_would_complete_is_no_link(address: str) -> None:
    assert "href" not in prose.render(f"[a]({address})")


@pytest.mark.parametrize(
    ("link", "host"),
    [
        ("[https://github.com/](https://phish.example/)", "phish.example"),
        ("[a](https://github.com@phish.example/ 'github.com')", "phish.example"),
        ("[a](https://аррӏе.example/)", "xn--80ak6aa92e.example"),
        ("[a](mailto:ann@example.org?bcc=b)", "ann@example.org"),
    ],
)
def test_a_link_says_where_it_leads_whatever_its_words_are(link: str, host: str) -> None:
    html = prose.render(link)
    assert f'data-host="{host}"' in html
    assert "title=" not in html


def test_a_link_that_is_its_own_words_needs_no_more() -> None:
    assert "data-host" not in prose.render("<https://example.org/a?b&c>")


def test_an_entity_hides_nothing_either() -> None:
    assert ">U+202E</span>" in prose.render("a&#8238;b&#x202e;")


def test_what_only_looks_like_a_mark_stays_text() -> None:
    assert prose.render("‹U+0041› ‹U+FFFFFF›") == "<p>‹U+0041› ‹U+FFFFFF›</p>\n"


def test_a_long_row_of_odd_characters_is_counted() -> None:
    html = prose.visible("a" + "\U000e0041" * 5000)
    assert html.count(">U+E0041<") == odd.NAMED_IN_A_ROW
    assert "4,992 more" in html


def test_what_is_nested_too_deep_is_shown_as_it_is() -> None:
    assert prose.render(">" * 10_000 + " deep").endswith(" deep</pre>")
    assert prose.render("- " * 12 + "deep").count("<ul>") == 12


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
        ("é\u200d\u200dé", "U+200D"),
        ("a\ufe01", "U+FE01"),
        ("❤\ufe0f\ufe0f", "U+FE0F"),
        ("a\U000e0101", "U+E0101"),
        ("a\U000e0041", "U+E0041"),
        ("\ud83d", "U+D83D"),
        ("z\u0301\u0302\u0303\u0304\u0305", "U+0305"),
    ],
)
def test_characters_that_hide_or_reorder_are_shown(text: str, code: str) -> None:
    assert f">{code}</span>" in prose.visible(text)
    assert f">{code}</span>" in prose.render(text)
    assert f"‹{code}›" in sakura.spelled(text)


@pytest.mark.parametrize(
    "text",
    [
        "👩\u200d💻",
        "می\u200cخواهم",
        "❤️\u200d🔥 1️⃣",
        "葛\U000e0100",
        "בְּרֵאשִׁ֖ית",
        "ก็ที่",
        "tab\there",
        "line\nbreak",
        "naïve – “quoted”",
    ],
)
def test_ordinary_spelling_stays_as_it_is(text: str) -> None:
    assert prose.visible(text) == text


def test_markup_in_plain_text_is_escaped() -> None:
    assert prose.visible("<b>&\u202e") == '&lt;b&gt;&amp;<span class="odd" title="RIGHT-TO-LEFT OVERRIDE">U+202E</span>'


def test_a_text_that_is_too_long_is_shown_as_it_is() -> None:
    assert prose.render("**a** " * 10_000).startswith('<pre class="plain">**a**')


@pytest.mark.parametrize(
    "piece",
    ["[a", "[a](", "*_", ">", "> - ", "`", "``a`", "<", "![a", "- a\n", "=\n-\n", "|-|\n", "[a][", "\\", "# a\n"],
)
def test_no_text_takes_long(piece: str) -> None:
    begun = time.monotonic()
    prose.render((piece * prose.MARKDOWN_LIMIT)[: prose.MARKDOWN_LIMIT])
    assert time.monotonic() - begun < 5


def test_passing_text_of_the_live_page_marks_what_the_server_marks_anywhere() -> None:
    script = (Path(__file__).parents[3] / "static" / "js" / "run.js").read_text()
    found = re.search(r"^const ODD = /(\[.*\])/gu;$", script, re.MULTILINE)
    assert found is not None
    in_page = re.sub(r"\\u\{([0-9a-f]+)\}", lambda match: f"\\U{int(match[1], 16):08x}", found[1])
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    differ = set(re.findall(in_page, every)) ^ set(re.findall(f"[{odd._HIDDEN}]", every))
    variants = {chr(code) for code in range(0xE0100, 0xE01F0)}  # the server knows where they are in place
    assert differ == {"\b", *variants}  # a backspace is among the escapes that go
