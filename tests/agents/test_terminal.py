"""What a command printed, as HTML."""

from agents import terminal


def test_colours_become_classes() -> None:
    assert terminal.html("a\x1b[31;1mb\x1b[0mc") == 'a<span class="a-31 a-b">b</span>c'


def test_sixteen_colours_have_names_in_the_long_form_and_others_are_dropped() -> None:
    assert terminal.html("\x1b[38;5;1mx") == '<span class="a-31">x</span>'
    assert terminal.html("\x1b[38;5;9mx") == '<span class="a-91">x</span>'
    assert terminal.html("\x1b[38;5;200mx\x1b[38;2;1;2;3my\x1b[48;5") == "xy"


def test_titles_links_and_cursor_moves_leave_nothing() -> None:
    text = "\x1b]0;title\x07a\x1b]8;;http://x.example\x1b\\b\x1b[2J\x1b[3;4Hc\x1b(B\x1bPq\x1b\\d"
    assert terminal.html(text) == "abcd"


def test_an_unfinished_escape_eats_no_later_line() -> None:
    assert terminal.html("a\x1b]0;title\nb") == "a\nb"


def test_progress_shows_what_a_terminal_would_leave() -> None:
    assert terminal.html("10%\r50%\r100%\r\ndone\r\n") == "100%\ndone\n"


def test_a_colour_set_before_the_progress_stays() -> None:
    assert terminal.html("\x1b[32m10%\r20%") == '<span class="a-32">20%</span>'


def test_everything_else_is_escaped_or_made_visible() -> None:
    assert terminal.html("<b>&\x1b[31m<i>") == '&lt;b&gt;&amp;<span class="a-31">&lt;i&gt;</span>'
    assert "U+202E" in terminal.html("x\u202ey")
    assert "\x07" not in terminal.html("bell\x07")
