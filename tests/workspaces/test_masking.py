"""Secrets are taken out of what streams by, wherever it is cut, in whatever spelling, in linear time."""

import base64
import json
import os
import shlex
import subprocess
import time
from html import escape
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workspaces.masking import Mask

VALUE = 'tok/en+"<1>"\nend'
KEY = "-----BEGIN KEY-----\n" + "\n".join(base64.b64encode(os.urandom(48)).decode() for _ in range(6)) + "\n-----END KEY-----\n"  # fmt: skip  # noqa: E501
VALUES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=8, max_size=60)


@pytest.mark.parametrize("value", [VALUE, "plain-0123456789", "spa ce's $x `y` \\z", "naïve–密码-token", KEY])
def test_every_usual_spelling_of_a_secret_is_masked(value: str) -> None:
    mask = Mask({"TOKEN": value})
    spellings = [
        *(value, value.replace("\n", "\r\n"), json.dumps(value), json.dumps(value, ensure_ascii=False)),
        *(json.dumps(json.dumps(value)), quote(value, safe=""), quote(value), quote_plus(value), repr(value)),
        *(quote(value, safe="").lower() if value.islower() else value, escape(value), escape(value, quote=False)),
        *(base64.b64encode(value.encode()).decode(), base64.urlsafe_b64encode(value.encode()).decode()),
        *(value.encode().hex(), value.encode().hex().upper()),
        *(value.lower(), value.upper()),
        *(shlex.quote(value), value.encode("utf-16-le").decode("latin-1") if value.isascii() else value),
    ]
    for spelling in spellings:
        text, count = mask.text(f"a {spelling} b")
        left = text.replace("[masked TOKEN]", "").strip("ab \"'=\\")
        assert (left, count) == ("", 1), spelling


@pytest.mark.parametrize("value", ["plain-0123456789", "spa ce's $x `y` \\z"])
def test_what_a_real_shell_prints_of_its_variables_is_masked(value: str) -> None:
    mask = Mask({"TOKEN": value})
    commands = (
        *("env", "export -p", 'exec 2>&1; set -x; : "$TOKEN"', "printenv TOKEN | base64"),
        *('printf user:"$TOKEN" | base64 -w0', "printenv TOKEN | iconv -t UTF-16"),
    )
    for command in commands:
        run = subprocess.run(["bash", "-c", command], env={"TOKEN": value, "PATH": os.environ["PATH"]}, capture_output=True, check=True)  # fmt: skip  # noqa: E501
        assert mask.data(run.stdout)[1] == 1, (command, run.stdout)
    assert shlex.split(shlex.quote(value)) == [value]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VALUES, st.binary(max_size=40), st.binary(max_size=40))
def test_base64_of_a_longer_text_shows_nothing_of_a_secret_in_it(value: str, before: bytes, after: bytes) -> None:
    encoded = base64.b64encode(before + value.encode() + after)
    masked, count = Mask({"TOKEN": value}).data(encoded)
    assert count >= 1
    shown = masked.replace(b"[masked TOKEN]", b"")
    assert len(encoded) - len(shown) >= len(value.encode()) * 8 // 6 - 4


@pytest.mark.parametrize("wrap", [76, 64])
def test_base64_in_lines_is_masked_line_by_line(wrap: int) -> None:
    encoded = base64.b64encode(KEY.encode()).decode()
    lines = "\n".join(encoded[at : at + wrap] for at in range(0, len(encoded), wrap))
    masked, count = Mask({"KEY": KEY}).text(lines)
    assert count >= len(lines.splitlines()) - 1
    assert len(masked.replace("[masked KEY]", "").strip()) < 16


def test_each_long_line_of_a_key_is_masked_by_itself() -> None:
    mask = Mask({"KEY": KEY})
    for line in KEY.splitlines()[1:-1]:
        assert mask.text(f"+{line}") == ("+[masked KEY]", 1)
    assert mask.text("-----BEGIN KEY-----")[1] == 0
    assert mask.text(KEY.strip()) == ("[masked KEY]", 1)


def test_nothing_is_changed_without_secrets() -> None:
    mask = Mask()
    assert not mask
    assert mask.text("plain") == ("plain", 0)
    assert mask.value({"a": ["plain"]}) == ({"a": ["plain"]}, 0)
    assert mask.stream().feed(b"plain") == b"plain"


def test_data_is_masked_in_every_text_and_key() -> None:
    mask = Mask({"TOKEN": "0123456789"})
    given = {"a 0123456789": ["0123456789", 7, None, {"b": ("x0123456789x",)}]}
    assert mask.value(given) == ({"a [masked TOKEN]": ["[masked TOKEN]", 7, None, {"b": ["x[masked TOKEN]x"]}]}, 3)


def test_of_secrets_within_others_the_longest_is_masked() -> None:
    mask = Mask({"SHORT": "abcdefgh", "LONG": "abcdefghijkl", "INNER": "cdefghij"})
    assert mask.text("abcdefghijkl abcdefghi cdefghij") == ("[masked LONG] [masked SHORT]i [masked INNER]", 3)


def _fed(mask: Mask, whole: bytes, cuts: list[int]) -> tuple[bytes, int]:
    stream, shown, at = mask.stream(), [], 0
    for step in (*cuts, len(whole)):
        shown.append(stream.feed(whole[at : at + step]))
        at += step
    return b"".join([*shown, stream.end()]), stream.count


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(["a", "ab", "abc", "abcd", "x", "\n"]), max_size=40), st.lists(st.integers(1, 7)))
def test_a_stream_masks_what_the_whole_would_however_it_is_cut(parts: list[str], cuts: list[int]) -> None:
    mask = Mask({"SHORT": "abcabcab", "LONG": "abcabcabcd", "LINES": "x\nx\nabcab"})
    whole = "".join(parts).encode()
    assert _fed(mask, whole, cuts) == mask.data(whole)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(VALUES, min_size=1, max_size=4), st.data(), st.lists(st.integers(1, 9), max_size=60))
def test_no_value_is_left_whatever_it_is_and_however_it_is_cut(
    values: list[str], data: st.DataObject, cuts: list[int]
) -> None:
    mask = Mask({f"N{number}": value for number, value in enumerate(values)})
    parts = st.lists(st.sampled_from([*values, *(value[:-1] for value in values), " ", "é", "\n"]), max_size=12)
    whole = "".join(data.draw(parts)).encode()
    shown, count = _fed(mask, whole, cuts)
    assert (shown, count) == mask.data(whole)
    assert (count > 0) == any(value.encode() in whole for value in values) or count
    shown.decode()
    for value in values:
        assert value.encode() not in shown or value in "[masked N0]" * 2


def test_only_what_may_be_a_secret_waits() -> None:
    stream = Mask({"TOKEN": "0123456789"}).stream()
    assert stream.feed(b"Password: ") == b"Password: "
    assert stream.feed(b"is 0123") == b"is "
    assert stream.feed(b"4!") == b"01234!"


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        ("a" * 39 + "b", b"a"),
        ("a" * 8191 + "b", b"a"),
        ("a" * 4000 + "b" + "a" * 4000, b"a"),
        ("ab" * 2000 + "c", b"ab"),
        ("npm_" + "0aZ9" * 9, b"npm_0aZ9"),
    ],
    ids=["short", "long", "middle", "pairs", "token"],
)
def test_what_is_almost_a_secret_takes_time_in_proportion_to_its_length(value: str, unit: bytes) -> None:
    mask = Mask({"TOKEN": value})

    def seconds(size: int) -> float:
        stream, data = mask.stream(), unit * (size // len(unit))
        began = time.process_time()
        for at in range(0, size, 64 * 1024):
            stream.feed(data[at : at + 64 * 1024])
        stream.end()
        return time.process_time() - began

    seconds(64 * 1024)
    small, large = seconds(512 * 1024), seconds(4 * 1024 * 1024)
    assert large < max(24 * small, 0.3)  # eight times the data
