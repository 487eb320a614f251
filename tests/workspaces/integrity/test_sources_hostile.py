"""No source, however it is made, ends anything but its own process, or takes long."""

import itertools
import time
from pathlib import Path

import pytest

from tests.workspaces.integrity.hostile import MIB, NAMES, TEXTS, WORST, ends_within_bounds
from workspaces import apart
from workspaces.integrity import sources
from workspaces.integrity.findings import FindingKind as Kind
from workspaces.integrity.sources import Pair

PART = 16


@pytest.mark.parametrize("text", TEXTS)
def test_a_hostile_source_ends_within_bounds_in_each_language(text: str) -> None:
    data = TEXTS[text][: len(TEXTS[text]) // PART]
    ends_within_bounds([Pair(path, b"", data) for path in NAMES.values()], seconds=6)


@pytest.mark.parametrize(("text", "language"), WORST.items())
def test_a_hostile_source_of_the_largest_size_ends_within_bounds(text: str, language: str) -> None:
    ends_within_bounds([Pair(NAMES[language], b"", TEXTS[text])], seconds=20)


def test_every_hostile_source_is_read_at_its_largest() -> None:
    assert WORST.keys() == TEXTS.keys()


def rows(form: bytes, change: int = 0) -> bytes:
    return b"".join(form % {b"at": at, b"value": at + change} for at in range(4000))


CHANGED = {
    "tests": rows(b"def test_%(at)d():\n    x = f()\n    assert x == %(value)d\n"),
    "checks": b"def test():\n" + rows(b"    assert f(%(at)d) == %(value)d\n"),
    "statements": b"def test():\n" + rows(b"    x%(at)d = f(%(value)d)\n"),
    "classes": rows(b"class Test%(value)d:\n    def test(self):\n        assert f() == %(value)d\n"),
    "imports": rows(b"from a%(value)d import x%(at)d\n"),
    "cases": b"X = [" + rows(b"(%(at)d, %(value)d), ") + b"]\n",
}


@pytest.mark.parametrize("what", CHANGED)
def test_a_source_in_which_all_is_changed_is_compared_in_little_time(what: str) -> None:
    old, new = CHANGED[what], CHANGED[what].replace(b"f(", b"g(").replace(b"1", b"7")
    started = time.process_time()
    found, unread = sources.compare([Pair("tests/test_a.py", old, new)])
    assert time.process_time() - started < 12
    assert unread == []
    assert len(found) <= 150


@pytest.mark.parametrize("path", NAMES.values())
@pytest.mark.parametrize("data", [b"", b"\n", b"\xef\xbb\xbf", b"\xff\xfe", b"\r\n\r\n"])
def test_next_to_nothing_is_read(path: str, data: bytes) -> None:
    assert sources.compare([Pair(path, data, b""), Pair(path, b"", data), Pair(path, None, data)]) == ([], [])


def test_what_is_too_large_binary_or_in_a_strange_encoding_is_told() -> None:
    pairs = [
        Pair("tests/test_a.py", b"", b"#" * (MIB + 1)),
        Pair("tests/test_b.py", b"", b"x = 1\0\n"),
        Pair("tests/test_c.py", b"x = 1\n", b"# coding: utf-7\nx = 1\n"),
        Pair("tests/test_d.py", b"", b"\xff\xfe\x00\xd8\x00"),
    ]
    found, unread = sources.compare(pairs)
    assert found == []
    assert [path for path, _ in unread] == [pair.path for pair in pairs]


def test_more_sources_than_are_looked_into_are_told() -> None:
    pairs = [Pair(f"tests/test_{at}.py", b"", b"x = 1\n") for at in range(sources.FILES_LIMIT + 3)]
    _, unread = sources.compare(pairs)
    assert [path for path, _ in unread] == [pair.path for pair in pairs[-3:]]


@pytest.mark.parametrize("ends", list(itertools.product((b"\n", b"\r\n", b"\r"), repeat=2)), ids=str)
def test_line_ends_are_no_change_and_lines_are_counted(ends: tuple[bytes, bytes]) -> None:
    base = b"def test_a():\n    x = f()\n    assert x == 1\n"
    old, new = (text.replace(b"\n", end) for text, end in zip((base, base.replace(b"1", b"2")), ends, strict=True))
    assert sources.compare([Pair("test_a.py", old, base.replace(b"\n", ends[1]))]) == ([], [])
    (found,), _ = sources.compare([Pair("test_a.py", old, new)])
    assert (found.kind, found.old_line, found.new_line, found.new) == (Kind.RETUNED, 3, 3, "assert x == 2")


def test_other_encodings_are_no_change() -> None:
    text = "def test_a():\n    assert f() == 'ä'\n"
    for data in (text.encode("utf-16"), b"\xef\xbb\xbf" + text.encode()):
        assert sources.compare([Pair("test_a.py", text.encode(), data)]) == ([], [])


def test_names_are_told_as_they_are_written() -> None:
    (found,), _ = sources.compare([Pair("a.test.js", None, "it('zählt ✓', () => {});\n".encode())])
    assert found.name == "zählt ✓"


def test_what_is_no_valid_code_is_told_to_be_unread() -> None:
    old, new = b"def test_a():\n    assert f() == 1\n", b"def test_a(:\n    assert f( == 1\n((\n"
    _, unread = sources.compare([Pair("test_a.py", old, new)])
    assert unread == [("test_a.py", "parts of it are no valid Python")]
    assert sources.compare([Pair("test_a.py", new, new + b"\n")])[1] == []


# --- a process that comes to nothing -----------------------------------------------------------------


@pytest.fixture
def crashing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "FOLDERS", (Path(__file__).parent / "crashing", *apart.FOLDERS))
    monkeypatch.setattr(sources, "ALONE_CAPS", apart.Caps(cpu_seconds=2, seconds=2))


def pairs_with(word: bytes) -> list[Pair]:
    good = b"def test_a():\n    assert f() == 1\n"
    fine = [
        Pair(f"tests/test_{at}.py", good.replace(b"f()", b"f%d()" % at), good.replace(b"f() == 1", b"f%d() == 2" % at))
        for at in range(3)
    ]
    return [*fine, Pair("tests/test_bad.py", good, b"# " + word + b"\n")]


@pytest.mark.usefixtures("crashing")
@pytest.mark.parametrize("word", [b"CRASH", b"SHORT"])
def test_a_source_that_ends_its_reader_is_unread_and_the_others_are_read(word: bytes) -> None:
    found, unread = sources.compare(pairs_with(word))
    assert [each.path for each in found] == [f"tests/test_{at}.py" for at in range(3)]
    assert [path for path, _ in unread] == ["tests/test_bad.py"]


@pytest.mark.usefixtures("crashing")
def test_an_answer_of_another_shape_is_no_reading() -> None:
    found, unread = sources.compare(pairs_with(b"RUBBISH"))
    assert found == []
    assert {why for _, why in unread} == {"it can't be understood"}


@pytest.mark.usefixtures("crashing")
def test_a_reader_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "BATCH_CAPS", apart.Caps(cpu_seconds=2, seconds=2))
    found, unread = sources.compare(pairs_with(b"SLEEP"))
    assert len(found) == 3
    assert unread == [("tests/test_bad.py", "it takes more than 2 seconds")]


@pytest.mark.usefixtures("crashing")
def test_readings_one_by_one_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "ALONE_LIMIT", 4)
    _, unread = sources.compare(pairs_with(b"CRASH"))
    assert ("tests/test_2.py", "too many sources beside it could not be read") in unread


def test_a_look_that_is_stopped_tells_what_it_did_not_read() -> None:
    found, unread = sources.compare(pairs_with(b""), stop=lambda: True)
    assert found == []
    assert len(unread) == 4
