"""insert_lines: new lines where they are wanted, and all others untouched."""

import pytest

from agents.tools.base import Result
from tests.agents.tools.bench import Bench

pytestmark = pytest.mark.django_db


def insert(bench: Bench, path: str, after: int, content: str) -> Result:
    return bench.call("insert_lines", file_path=path, after_line=after, content=content)


def read_and_insert(bench: Bench, path: str, after: int, content: str) -> Result:
    bench.call("read_file", file_path=path)
    return insert(bench, path, after, content)


def test_the_result_says_what_was_done_and_shows_the_lines_around(bench: Bench) -> None:
    bench.write("a", "".join(f"{n}\n" for n in range(1, 9)))
    result = read_and_insert(bench, "a", 4, "new\nnewer")
    assert result.content.split("\n") == [
        "a: 2 lines inserted after line 4.",
        "     2\t2",
        "     3\t3",
        "     4\t4",
        "     5\tnew",
        "     6\tnewer",
        "     7\t5",
        "     8\t6",
        "     9\t7",
    ]
    assert (result.data["start_line"], result.data["end_line"]) == (5, 6)
    assert (result.data["additions"], result.data["deletions"]) == (2, 0)


@pytest.mark.parametrize(
    ("before", "after_line", "content", "after"),
    [
        ("a\nb\n", 0, "top", "top\na\nb\n"),
        ("a\nb\n", 2, "end", "a\nb\nend\n"),
        ("a\nb", 2, "end\n", "a\nb\nend"),
        ("a\nb", 1, "x", "a\nx\nb"),
        ("a\r\nb\r\n", 1, "x\ny", "a\r\nx\r\ny\r\nb\r\n"),
        ("a\r\nb", 2, "x", "a\r\nb\r\nx"),
        ("a\nb\r\nc\n", 1, "x", "a\nx\r\nb\r\nc\n"),
        ("", 0, "x\r\ny", "x\r\ny"),
        ("a\n", 1, "\n", "a\n\n"),
    ],
)
def test_line_ends_and_the_end_of_the_file_are_kept(
    bench: Bench, before: str, after_line: int, content: str, after: str
) -> None:
    file = bench.write("a", before.encode())
    result = read_and_insert(bench, "a", after_line, content)
    assert not result.is_error, result.content
    assert file.read_bytes() == after.encode()


def test_a_place_past_the_end_is_refused_with_the_number_of_lines(bench: Bench) -> None:
    bench.write("a", "one\ntwo\n")
    result = read_and_insert(bench, "a", 3, "x")
    assert (result.code, "2 lines" in result.content) == ("RANGE", True)
    assert insert(bench, "a", -1, "x").code == "INVALID_INPUT"


def test_a_line_beside_the_new_ones_must_have_been_read(bench: Bench) -> None:
    bench.write("a", "".join(f"{n}\n" for n in range(1, 40)))
    assert insert(bench, "a", 3, "x").code == "NOT_READ"
    bench.call("read_file", file_path="a", offset=10, limit=10)
    assert insert(bench, "a", 8, "x").code == "PARTIALLY_READ"
    assert insert(bench, "a", 20, "x").code == "PARTIALLY_READ"
    assert not insert(bench, "a", 19, "below").is_error
    assert not insert(bench, "a", 9, "above").is_error


def test_what_was_inserted_counts_as_read(bench: Bench) -> None:
    bench.write("a", "".join(f"{n}\n" for n in range(1, 40)))
    bench.call("read_file", file_path="a", offset=10, limit=10)
    insert(bench, "a", 19, "one\ntwo\n")
    arguments = {"file_path": "a", "start_line": 20, "end_line": 21}
    assert not bench.call("replace_lines", **arguments, new_content="three").is_error
    assert bench.call("replace_lines", **arguments, new_content="x").code == "PARTIALLY_READ"
    assert (bench.tree / "a").read_text().split("\n")[18:21] == ["19", "three", "20"]


def test_nothing_to_insert_is_no_change(bench: Bench) -> None:
    bench.write("a", "one")
    assert read_and_insert(bench, "a", 1, "").code == "NO_CHANGE"
    assert insert(bench, "a", 1, "\n").code == "NO_CHANGE"


def test_a_guessed_encoding_takes_ascii_only(bench: Bench) -> None:
    before = "# coût en £\ntotal = 10\nnaïve = 1\n".encode("latin-1")
    file = bench.write("l.py", before)
    assert read_and_insert(bench, "l.py", 2, "# dû").code == "UNSUPPORTED_ENCODING"
    assert not insert(bench, "l.py", 2, "# due").is_error
    assert file.read_bytes() == before.replace(b"10\n", b"10\n# due\n")


def test_a_missing_file_and_a_notebook_are_refused(bench: Bench) -> None:
    bench.write("n.ipynb", "{}")
    assert insert(bench, "nope", 0, "x").code == "NOT_FOUND"
    assert read_and_insert(bench, "n.ipynb", 0, "x").code == "USE_NOTEBOOK_TOOL"
