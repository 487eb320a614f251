"""Source text as lines of HTML."""

import time

import pytest
from django.utils.html import strip_tags
from django.utils.safestring import SafeString

from workspaces import highlight


def test_a_line_of_the_page_is_a_line_of_the_file() -> None:
    text = 'def f():\n    """one\n    two"""\n\n\treturn 1\r\n'
    lines = highlight.lines("a.py", text)
    assert [strip_tags(line).replace("&quot;", '"') for line in lines] == text.split("\n")


def test_a_token_over_two_lines_is_coloured_on_both() -> None:
    first, second = highlight.lines("a.py", '"""one\ntwo"""')
    assert first == '<span class="s">&quot;&quot;&quot;one</span>'
    assert second == '<span class="s">two&quot;&quot;&quot;</span>'


def test_what_is_in_a_file_can_not_become_markup() -> None:
    html = "".join(highlight.lines("a.html", "<script>alert('x')</script>"))
    assert "<script" not in html


def test_an_unknown_name_gives_escaped_lines() -> None:
    assert highlight.lines("LICENSE-unknown", "a < b\nc") == ("a &lt; b", "c")


def test_a_text_over_the_limit_stays_plain() -> None:
    text = "x = 1\n" * (highlight.LIMIT_CHARACTERS // 6 + 1)
    lines = highlight.lines("a.py", text)
    assert lines[0] == "x = 1"
    assert len(lines) == text.count("\n") + 1


def test_minified_code_stays_plain() -> None:
    assert "<span" not in highlight.lines("a.js", "var a=1;" * 1000)[0]


def test_marks_stay_inside_the_elements_they_cross() -> None:
    html = SafeString('<span class="k">def</span> <span class="f">name</span>')
    marked = highlight.marked(html, ((1, 6),))
    assert marked == (
        '<span class="k">d<mark class="w">ef</mark></span><mark class="w"> </mark>'
        '<span class="f"><mark class="w">na</mark>me</span>'
    )


def test_an_escaped_character_counts_as_one() -> None:
    assert highlight.marked(SafeString("a&lt;b"), ((1, 2),)) == 'a<mark class="w">&lt;</mark>b'


def test_what_reorders_code_is_made_visible() -> None:
    (line,) = highlight.lines("a.py", "ok = 1  # \u202e evil")
    assert '<span class="odd" title="RIGHT-TO-LEFT OVERRIDE">U+202E</span>' in highlight.visible(line)


def test_a_carriage_return_at_the_end_is_no_line_break_of_the_page() -> None:
    (line, _) = highlight.lines("a.py", "# one\r\n")
    assert highlight.visible(line) == '<span class="c"># one</span>'


def test_joined_emoji_stay_as_they_are() -> None:
    text = "\U0001f469\u200d\U0001f4bb"
    assert highlight.visible(highlight.plain(text)) == text


@pytest.mark.parametrize("name", ["a.ng2", "a.hbs", "a.twig"])
def test_a_language_whose_lexer_can_be_stalled_stays_plain(name: str) -> None:
    text = "{{ (a) }} #{b}"
    assert highlight.lines(name, text) == (highlight.plain(text),)


@pytest.mark.parametrize("name", ["a.py", "a.js", "a.html", "a.vue", "a.ini", "a.sass", "a.ml", "a.md", "a.sql"])
@pytest.mark.parametrize("piece", ["(", "{", "=", "0", "a", '\\"', "<a ", "#{", "a::a", "/*"])
def test_no_line_takes_a_lexer_long(name: str, piece: str) -> None:
    begun = time.thread_time()
    highlight.lines(name, "\n".join([(piece * highlight.LIMIT_LINE)[: highlight.LIMIT_LINE]] * 4))
    assert time.thread_time() - begun < 2 * highlight.LIMIT_SECONDS


def test_a_carriage_return_within_a_line_is_marked_and_one_at_its_end_goes() -> None:
    assert highlight.visible(highlight.plain("a\rb\r")) == 'a<span class="odd" title="CARRIAGE RETURN">U+000D</span>b'
