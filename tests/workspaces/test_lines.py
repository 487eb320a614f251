r"""Lines end at `\n` only; form feeds, U+2028 and the like are ordinary characters."""

from hypothesis import given
from hypothesis import strategies as st

from workspaces import lines

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


def test_how_lines_end_is_told() -> None:
    assert [lines.newline_style(text) for text in ("a\n", "a\r\n", "a\r\nb\n", "a\rb", "")] == [
        "lf",
        "crlf",
        "mixed",
        "lf",
        "lf",
    ]
