"""No text, whatever it is made of, keeps who reads sources for long, in any language and up to the largest size."""

from typing import Any

from hypothesis import strategies as st

from tests.soak.holding import IS_SOAK, hold
from tests.workspaces.integrity.hostile import NAMES, TEXTS, ends_within_bounds
from workspaces.integrity.sources import FILE_LIMIT, Pair

LARGEST = FILE_LIMIT if IS_SOAK else FILE_LIMIT // 32
PIECES = (
    *("(", ")", "[", "]", "{", "}", '"', "'", "`", "\\", "/*", "*/", "//", "#", "<<A", "${", "#{", "f'{", "=>", "->"),
    *(".b()", "f(", "a, ", "1 + ", "not ", "if x:", "if (x) {", "def test_a():", "it('a', () => {", "#[test]"),
    *("fn a() {", "func TestA(t *testing.T) {", "@Test void a() {", "describe 'a' do", "end", "assert ", "expect("),
    *("\n", "\n    ", " ", "x", "é", "\ufffd", "="),
)


def repeated(pieces: list[str]) -> bytes:
    data = "".join(pieces).encode()
    return data * (LARGEST // len(data))


def test_no_text_of_few_pieces_takes_long() -> None:
    def check(pieces: list[str], path: str) -> None:
        ends_within_bounds([Pair(path, b"", repeated(pieces))], seconds=20)

    hold(check, st.lists(st.sampled_from(PIECES), min_size=1, max_size=5), st.sampled_from(list(NAMES.values())), few=8)


def test_no_hostile_text_takes_long_in_any_language() -> None:
    def check(text: bytes, path: str) -> None:
        ends_within_bounds([Pair(path, b"", text[:LARGEST])], seconds=20)

    texts: Any = st.sampled_from(list(TEXTS.values()))
    hold(check, texts, st.sampled_from(list(NAMES.values())), few=1)
