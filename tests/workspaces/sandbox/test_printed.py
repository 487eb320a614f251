"""The ends of what a command printed, as they are shown."""

from pathlib import Path

import pytest

from workspaces.sandbox.printed import WINDOWS, Part, show, show_part

RED, OFF = b"\x1b[31m", b"\x1b[0m"


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    return tmp_path / "spool"


def part(spool: Path, start: int, end: int, limit: int, *, more_comes: bool = True) -> Part:
    return show_part(spool, start, end, limit, lambda at: f"see {at}", more_comes=more_comes)


def test_nothing_printed_is_nothing_shown(spool: Path) -> None:
    assert (show(spool, 100).plain, part(spool, 0, 0, 100).shown.plain) == ("", "")


def test_short_output_is_shown_as_it_is(spool: Path) -> None:
    spool.write_bytes(b"a\r\nb\n")
    assert (show(spool, 100).plain, show(spool, 100).coloured, show(spool, 100).is_cut) == ("a\nb\n", "", False)


@pytest.mark.parametrize("size", [2 * WINDOWS[0] - 5, 2 * WINDOWS[0] + 5, 2 * WINDOWS[1] + 5])
def test_long_output_shows_both_ends(spool: Path, size: int) -> None:
    spool.write_bytes(b"HEAD\n" + b"x" * (size - 10) + b"\nTAIL")
    shown = show(spool, 4000)
    assert shown.is_cut
    assert shown.plain.startswith("HEAD\nx")
    assert shown.plain.endswith("x\nTAIL")
    assert "left out here" in shown.plain
    assert len(shown.plain) < 4300


def test_much_progress_that_comes_to_little_is_not_cut(spool: Path) -> None:
    lines = b"".join(b"%d%%\r" % (number % 100) for number in range(200_000))
    spool.write_bytes(b"begin\n" + lines + b"done\n")
    assert show(spool, 1000).plain == "begin\ndone\n"
    assert not show(spool, 1000).is_cut


def test_more_is_looked_at_where_progress_fills_the_ends(spool: Path) -> None:
    progress = b"\r".join(b"%07d" % number for number in range(20_000)) + b"\n"
    text = b"".join(b"line %d\n" % number for number in range(100))
    spool.write_bytes(progress + text + b"x\n" * WINDOWS[1] + text + progress)
    shown = show(spool, 2000).plain
    assert shown.startswith("0019999\nline 0\nline 1\n")
    assert shown.endswith("line 99\n0019999\n")


def test_both_ends_keep_their_colours(spool: Path) -> None:
    spool.write_bytes(RED + b"HEAD" + OFF + b"\nx" * WINDOWS[1] + b"\n" + RED + b"TAIL" + OFF)
    coloured = show(spool, 10_000).coloured
    assert coloured.startswith("\x1b[31mHEAD\x1b[0m\nx")
    assert coloured.endswith("\x1b[31mTAIL\x1b[0m")
    assert "\x1b" not in show(spool, 10_000).plain


def test_the_parts_of_an_output_are_the_whole(spool: Path) -> None:
    text = "".join(f"line {number} é\n" for number in range(3000)).encode()
    spool.write_bytes(text)
    seen, at = "", 0
    while at < len(text):
        piece = part(spool, at, len(text), 5000)
        end = piece.gap[0] if piece.gap else piece.end
        seen, at = seen + piece.shown.plain.split("\n[…")[0], end
        if piece.gap:
            assert f"[… bytes {piece.gap[0]} to {piece.gap[1]} left out here; see {end} …]" in piece.shown.plain
            seen += "\n"
    assert seen.replace("\n\n", "\n") == text.decode()


@pytest.mark.parametrize("cut", range(1, 5))
def test_a_character_cut_in_two_waits_for_its_rest(spool: Path, cut: int) -> None:
    spool.write_bytes("a🌸b".encode()[: 1 + cut])
    assert part(spool, 0, 1 + cut, 100).end == (5 if cut == 4 else 1)
    assert part(spool, 0, 1 + cut, 100, more_comes=False).end == 1 + cut


@pytest.mark.parametrize("data", [b"\xff", b"a\x80\x80\x80\x80", b"caf\xe9 ok"])
def test_bytes_that_are_no_characters_do_not_wait(spool: Path, data: bytes) -> None:
    spool.write_bytes(data)
    assert part(spool, 0, len(data), 100).end == len(data)
