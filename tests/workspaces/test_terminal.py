"""What a terminal would show in the end, and in which colours."""

import time

import pytest

from workspaces import sgr, terminal

RED, GREEN, OFF = "\x1b[31m", "\x1b[32m", "\x1b[0m"


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("plain\n", "plain\n"),
        (f"a{RED}b{OFF}c\n", f"a{RED}b{OFF}c\n"),
        (f"{RED}one\ntwo{OFF}", f"{RED}one\ntwo{OFF}"),
        (f"{GREEN} 10%\r 50%\r100%{OFF} done\n", f"{GREEN}100%{OFF} done\n"),
        (f"{RED}long line\r{GREEN}short\n", f"{GREEN}short{OFF}{RED}line{OFF}{GREEN}\n{OFF}"),
        (f"{RED}downloading\r\x1b[K{GREEN}done{OFF}\n", f"{GREEN}done{OFF}\n"),
        ("\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\x1b[?25l\x1b[2J\x1bP0q\x1b\\", "link"),
        ("\x1b[38;5;1mx\x1b[38;5;200my\x1b[38;2;1;2;3mz", f"{RED}xyz{OFF}"),
        ("\x1b[>4;1m\x1b[?4mx", "x"),
        (f"broken {RED}x\x1b[3", f"broken {RED}x{OFF}"),
    ],
)
def test_colours_stay_and_other_escapes_go(printed: str, shown: str) -> None:
    assert terminal.coloured(printed) == shown


def cells(text: str) -> list[tuple[str, sgr.Style]]:
    return [(cell, style) for part, style in terminal.runs(text) for cell in part]


@pytest.mark.parametrize("chars", range(1, 24))
def test_an_end_cuts_no_escape_in_two_and_keeps_its_colours(chars: int) -> None:
    text = f"ab{RED}cdef{OFF}gh"
    head, tail = cells(terminal.first(text, chars)), cells(terminal.last(text, chars))
    assert head == cells(text)[: len(head)]
    assert tail == cells(text)[8 - len(tail) :]
    assert terminal.style_after(terminal.first(text, chars)) == sgr.PLAIN


def test_a_tail_begins_in_the_colour_that_was_set_long_before() -> None:
    assert terminal.last(f"{RED}{'x' * 1000}", 3) == f"{RED}xxx"


@pytest.mark.parametrize("more", ["y\b", "\x1b[1K", "\x1b[2K", "\r", "\x1b[31m", "\x1b]"])
def test_a_hostile_line_takes_no_time(more: str) -> None:
    started = time.monotonic()
    terminal.plain("x" * 500_000 + more * 200_000)
    assert time.monotonic() - started < 10
