r"""Lines end at `\n` only, whether a text is loaded or a huge file is streamed."""

import io

from hypothesis import given
from hypothesis import strategies as st

from workspaces import lines, windows

TEXTS = st.text(alphabet="ab\n\r\x0c\u2028\x85", max_size=80)


@given(TEXTS)
def test_the_lines_together_are_the_text(text: str) -> None:
    parts = lines.split(text)
    assert "".join(parts) == text
    assert len(parts) == lines.count(text)
    assert all(part.count("\n") <= 1 and part.rstrip("\n").count("\n") == 0 for part in parts)


@given(TEXTS, st.integers(1, 30), st.integers(0, 30))
def test_lines_between_two_numbers(text: str, first: int, more: int) -> None:
    assert lines.between(text, first, first + more) == "".join(lines.split(text)[first - 1 : first + more])


def test_lines_far_down_are_found() -> None:
    text = "".join(f"{n}\n" for n in range(1, 20_001))
    assert lines.between(text, 19_999, 30_000) == "19999\n20000\n"
    assert lines.between(text, 20_001, 20_002) == ""


@given(st.text(alphabet="ab\n", max_size=80), st.integers(1, 30), st.integers(1, 30))
def test_a_window_is_what_the_whole_has_there(text: str, first: int, count: int) -> None:
    window = windows.read(io.BytesIO(text.encode()), first, count)
    assert window.data.decode() == "".join(lines.split(text)[first - 1 : first - 1 + count])
    assert window.total in (None, lines.count(text))
    assert windows.count_lines(io.BytesIO(text.encode())) == lines.count(text)


def test_a_window_spans_the_blocks_it_is_read_in() -> None:
    text = "".join(f"line {n}\n" for n in range(1, 100_001))
    window = windows.read(io.BytesIO(text.encode()), 30_000, 2)
    assert window.data == b"line 30000\nline 30001\n"
    assert windows.read(io.BytesIO(text.encode()), 100_001, 5) == windows.Window(b"", 100_000)


def test_a_line_longer_than_a_window_is_cut_there() -> None:
    window = windows.read(io.BytesIO(b"x" * (2 * windows.WINDOW_BYTES) + b"\nend\n"), 1, 2)
    assert windows.WINDOW_BYTES <= len(window.data) < 2 * windows.WINDOW_BYTES
    assert window.total is None


def test_how_lines_end_is_told() -> None:
    assert [lines.newline_style(text) for text in ("a\n", "a\r\n", "a\r\nb\n", "a\rb", "")] == [
        "lf",
        "crlf",
        "mixed",
        "lf",
        "lf",
    ]
