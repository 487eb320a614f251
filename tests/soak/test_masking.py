"""Masking: no secret comes through, in none of its spellings, wherever the stream is cut."""

import base64
import html
import json
from urllib.parse import quote

from hypothesis import strategies as st

from tests.soak.holding import hold
from tests.soak.strategies import texts
from workspaces.masking import Mask

VALUES = st.text(st.sampled_from("abcXYZ019+/=<>&\"'\\ \n\té漢-_."), min_size=6, max_size=24)
SPELLED = (
    lambda value: value,
    lambda value: json.dumps(value)[1:-1],
    lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
    lambda value: quote(value, safe=""),
    html.escape,
    lambda value: base64.b64encode(value.encode()).decode(),
    lambda value: value.replace("\n", "\r\n"),
)


def pieces(values: tuple[str, ...], around: list[str], spellings: list[int]) -> str:
    spelled = [SPELLED[number % len(SPELLED)](values[number % len(values)]) for number in spellings]
    return "".join(text + secret for text, secret in zip([*around, *[""] * len(spelled)], spelled, strict=False))


def test_no_spelling_of_a_secret_is_shown() -> None:
    def check(one: str, other: str, around: list[str], spellings: list[int]) -> None:
        values = (one, other)
        mask = Mask({"FIRST": one, "SECOND": other})
        text = pieces(values, around, spellings)
        shown, count = mask.text(text)
        assert bool(count) == bool(spellings) or not spellings
        for value in values:
            for spell in SPELLED:
                assert spell(value) not in shown

    hold(check, VALUES, VALUES, st.lists(texts(3), max_size=4), st.lists(st.integers(0, 20), max_size=5))


def test_a_stream_is_masked_as_the_whole_would_be() -> None:
    def check(values: list[str], around: list[str], spellings: list[int], cuts: list[int]) -> None:
        mask = Mask({f"N{number}": value for number, value in enumerate(values)})
        data = pieces(tuple(values), around, spellings).encode("utf-8", "surrogatepass")
        stream, shown, at = mask.stream(), b"", 0
        for size in cuts:
            shown += stream.feed(data[at : at + size])
            at += size
        shown += stream.feed(data[at:]) + stream.end()
        assert (shown, stream.count) == mask.data(data)

    lists = st.lists(VALUES, min_size=1, max_size=4)
    hold(
        check,
        lists,
        st.lists(texts(3), max_size=4),
        st.lists(st.integers(0, 20), max_size=6),
        st.lists(st.integers(0, 9)),
    )
