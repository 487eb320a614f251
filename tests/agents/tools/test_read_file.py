"""read_file: numbers, parts, caps, encodings."""

import codecs
from dataclasses import replace
from pathlib import Path

import pytest

from agents.tools import read_file
from tests.agents.tools.bench import Bench

pytestmark = pytest.mark.django_db


def test_lines_are_numbered_and_told_in_data(bench: Bench) -> None:
    bench.write("a.txt", "one\ntwo\n")
    result = bench.call("read_file", file_path="a.txt")
    assert result.content == "     1\tone\n     2\ttwo"
    fact = result.data.pop("fact")
    assert result.data == {"path": "a.txt", "start": 1, "end": 2, "total": 2}
    assert (fact["source"], fact["subject"], fact["range"]) == ("read_file", "a.txt", "1-2")


def test_a_part_says_what_it_is_part_of(bench: Bench) -> None:
    bench.write("a.txt", "".join(f"{n}\n" for n in range(1, 11)))
    result = bench.call("read_file", file_path="a.txt", offset=4, limit=2)
    assert result.content == "     4\t4\n     5\t5\n[lines 4–5 of 10; go on with offset 6]"


def test_only_a_newline_ends_a_line(bench: Bench) -> None:
    bench.write("odd.txt", "a\x0cb\u2028c\x85d\re\r\nf")
    assert bench.call("read_file", file_path="odd.txt").content == "     1\ta\x0cb\u2028c\x85d\re\n     2\tf"


def test_an_empty_file_says_so(bench: Bench) -> None:
    bench.write("none", "")
    assert "is empty" in bench.call("read_file", file_path="none").content
    assert bench.call("read_file", file_path="none", offset=2).code == "RANGE"


def test_past_the_end_is_told_the_length(bench: Bench) -> None:
    bench.write("a", "x\ny\n")
    result = bench.call("read_file", file_path="a", offset=3)
    assert (result.code, "has 2 lines" in result.content) == ("RANGE", True)


def test_too_much_is_refused_with_the_way_to_ask(bench: Bench) -> None:
    bench.write("a", "x\n" * 2001)
    result = bench.call("read_file", file_path="a")
    assert (result.code, "2001 lines" in result.content) == ("TOO_LARGE", True)
    part = bench.call("read_file", file_path="a", offset=1)
    assert (part.truncated, part.data["end"]) == (True, 2000)


def test_characters_are_capped_too(bench: Bench) -> None:
    bench.write("a", ("y" * 1500 + "\n") * 100)
    assert bench.call("read_file", file_path="a").code == "TOO_LARGE"
    part = bench.call("read_file", file_path="a", offset=1, limit=100)
    assert part.truncated
    assert 50_000 < len(part.content) < 61_000


def test_a_long_line_is_cut_and_says_so(bench: Bench) -> None:
    bench.write("wide", "first\n" + "k" * 200_000 + "\nlast\n")
    content = bench.call("read_file", file_path="wide").content
    assert "line cut: it has 200000 characters" in content
    assert content.endswith("     3\tlast")


def test_an_unchanged_part_is_not_shown_twice(bench: Bench) -> None:
    bench.call("read_file", file_path="calc.py")
    again = bench.call("read_file", file_path="calc.py")
    assert "unchanged since your read at step 1" in again.content
    bench.reads.forget_context(1)
    assert "def add" in bench.call("read_file", file_path="calc.py").content


def test_a_changed_part_is_shown_again(bench: Bench) -> None:
    bench.call("read_file", file_path="calc.py")
    bench.write("calc.py", "changed\n")
    assert "changed" in bench.call("read_file", file_path="calc.py").content


@pytest.mark.parametrize(
    "data",
    [
        codecs.BOM_UTF8 + "größe\n".encode(),
        codecs.BOM_UTF16_LE + "größe\n".encode("utf-16-le"),
        codecs.BOM_UTF16_BE + "größe\n".encode("utf-16-be"),
    ],
)
def test_a_mark_of_the_encoding_is_obeyed_and_not_shown(bench: Bench, data: bytes) -> None:
    bench.write("a", data)
    assert bench.call("read_file", file_path="a").content == "     1\tgröße"


@pytest.mark.parametrize("data", [b"a\0b", b"%PDF-1.7\ntext", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0"])
def test_what_is_no_text_is_called_binary(bench: Bench, data: bytes) -> None:
    bench.write("a", data)
    assert bench.call("read_file", file_path="a").code == "BINARY_FILE"


def test_bytes_that_lie_about_their_encoding_are_refused(bench: Bench) -> None:
    bench.write("a", codecs.BOM_UTF16_LE + b"a\0b")
    assert bench.call("read_file", file_path="a").code == "UNSUPPORTED_ENCODING"


@pytest.fixture
def huge(bench: Bench) -> Path:
    return bench.write("huge.txt", "".join(f"line {n}\n" for n in range(1, 1_000_001)))


@pytest.mark.usefixtures("huge")
def test_a_part_of_a_huge_file_is_streamed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_file, "_load", None)
    middle = bench.call("read_file", file_path="huge.txt", offset=654_321, limit=2)
    assert middle.content == (
        "654321\tline 654321\n654322\tline 654322\n[lines 654321–654322, and there are more; go on with offset 654323]"
    )
    end = bench.call("read_file", file_path="huge.txt", offset=1_000_000, limit=5)
    assert "1000000\tline 1000000" in end.content
    assert bench.call("read_file", file_path="huge.txt", offset=1_000_001).code == "RANGE"
    assert "1000000 lines" in bench.call("read_file", file_path="huge.txt").content


@pytest.mark.usefixtures("huge")
def test_a_part_of_a_huge_file_may_be_edited(bench: Bench) -> None:
    bench.call("read_file", file_path="huge.txt", offset=500, limit=3)
    assert not bench.call("edit_file", file_path="huge.txt", old_string="line 501\n", new_string="LINE\n").is_error
    refused = bench.call("edit_file", file_path="huge.txt", old_string="line 9999\n", new_string="x\n")
    assert refused.code == "PARTIALLY_READ"


def test_caps_are_those_of_the_context(bench: Bench) -> None:
    bench.limits = replace(bench.limits, read_lines=1)
    bench.write("a", "x\ny\n")
    assert bench.call("read_file", file_path="a").code == "TOO_LARGE"
