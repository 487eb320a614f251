"""Secrets are taken out of what streams by, wherever it is cut."""

import base64
import json
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from workspaces.masking import Mask

VALUE = 'tok/en+"<1>"\nend'


def test_every_usual_spelling_of_a_secret_is_masked() -> None:
    mask = Mask({"TOKEN": VALUE})
    spellings = [VALUE, json.dumps(VALUE), quote(VALUE, safe=""), base64.b64encode(VALUE.encode()).decode()]
    for spelling in spellings:
        text, count = mask.text(f"a {spelling} b")
        assert "[masked TOKEN]" in text, spelling
        assert "tok" not in text
        assert count == 1


def test_nothing_is_changed_without_secrets() -> None:
    mask = Mask()
    assert not mask
    assert mask.text("plain") == ("plain", 0)
    assert mask.stream().feed(b"plain") == b"plain"


@given(st.lists(st.sampled_from(["a", "ab", "abc", "abcd", "x", "\n"]), max_size=40), st.data())
def test_a_stream_masks_what_the_whole_would_however_it_is_cut(parts: list[str], data: st.DataObject) -> None:
    mask = Mask({"SHORT": "abcab", "LONG": "abcabcabcd"})
    whole = "".join(parts).encode()
    stream, shown, at = mask.stream(), b"", 0
    while at < len(whole):
        step = data.draw(st.integers(1, 7))
        shown += stream.feed(whole[at : at + step])
        at += step
    shown += stream.end()
    assert (shown, stream.count) == mask.data(whole)


def test_only_what_may_be_a_secret_waits() -> None:
    stream = Mask({"TOKEN": "0123456789"}).stream()
    assert stream.feed(b"Password: ") == b"Password: "
    assert stream.feed(b"is 0123") == b"is "
    assert stream.feed(b"4!") == b"01234!"
