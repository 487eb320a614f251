"""replace_lines: lines by their numbers, never others, and only those that were read."""

from typing import Any

import pytest

from agents.models import Policy
from agents.tools.base import Result
from tests.agents.tools.bench import Bench

pytestmark = pytest.mark.django_db
KEY = "AKIA" + "ABCDEFGHIJKLMNOP"


def replace(bench: Bench, path: str, start: int, end: int, new: str) -> Result:
    return bench.call("replace_lines", file_path=path, start_line=start, end_line=end, new_content=new)


def read_and_replace(bench: Bench, path: str, start: int, end: int, new: str) -> Result:
    bench.call("read_file", file_path=path)
    return replace(bench, path, start, end, new)


def test_the_result_says_what_was_done_and_shows_the_lines_around(bench: Bench) -> None:
    bench.write("a", "".join(f"{n}\n" for n in range(1, 12)))
    result = read_and_replace(bench, "a", 6, 7, "six\nsechs\nsix")
    assert result.content.split("\n") == [
        "a: lines 6–7 replaced.",
        "     3\t3",
        "     4\t4",
        "     5\t5",
        "     6\tsix",
        "     7\tsechs",
        "     8\tsix",
        "     9\t8",
        "    10\t9",
        "    11\t10",
    ]
    data = result.data
    assert (data["path"], data["start_line"], data["end_line"]) == ("a", 6, 8)
    assert (data["additions"], data["deletions"], data["created"]) == (3, 2, False)


def test_empty_text_deletes_the_lines_and_leaves_nothing(bench: Bench) -> None:
    file = bench.write("a", "one\ntwo\nthree\n")
    assert read_and_replace(bench, "a", 2, 2, "").content.startswith("a: line 2 deleted.")
    assert file.read_text() == "one\nthree\n"
    assert "the file is empty now" in replace(bench, "a", 1, 2, "").content
    assert file.read_bytes() == b""


@pytest.mark.parametrize(
    ("before", "start", "end", "new", "after"),
    [
        ("a\nb\nc\n", 2, 2, "B", "a\nB\nc\n"),
        ("a\nb\nc\n", 2, 2, "B\n", "a\nB\nc\n"),
        ("a\nb\nc\n", 2, 2, "B\n\n", "a\nB\n\nc\n"),
        ("a\nb\nc\n", 2, 2, "\n", "a\n\nc\n"),
        ("a\nb", 2, 2, "B\n", "a\nB"),
        ("a\nb\n", 2, 2, "B", "a\nB\n"),
        ("a\nb", 2, 2, "", "a"),
        ("a\r\nb\r\nc", 2, 3, "x\ny", "a\r\nx\r\ny"),
        ("a\r\nb\nc\r\n", 2, 2, "x\r\ny", "a\r\nx\ny\nc\r\n"),
        ("a\nb\n", 1, 2, "x\r\ny\r\n", "x\ny\n"),
        ("a\r\nb\nc\r\nd\n", 1, 4, "a\nX\nb\nc\nd", "a\r\nX\nb\nc\r\nd\n"),
    ],
)
def test_line_ends_and_the_end_of_the_file_are_kept(
    bench: Bench, before: str, start: int, end: int, new: str, after: str
) -> None:
    file = bench.write("a", before.encode())
    result = read_and_replace(bench, "a", start, end, new)
    assert not result.is_error, result.content
    assert file.read_bytes() == after.encode()


def test_encoding_mark_and_mode_are_kept(bench: Bench) -> None:
    file = bench.write("a", "\ufeffeins\r\nzwei\r\n".encode("utf-16-be"))
    file.chmod(0o755)
    assert not read_and_replace(bench, "a", 2, 2, "größer").is_error
    assert file.read_bytes() == "\ufeffeins\r\ngrößer\r\n".encode("utf-16-be")
    assert file.stat().st_mode & 0o777 == 0o755


def test_a_range_past_the_end_is_refused_with_the_number_of_lines(bench: Bench) -> None:
    bench.write("a", "one\ntwo\n")
    bench.write("empty", "")
    result = read_and_replace(bench, "a", 2, 3, "x")
    assert (result.code, "2 lines" in result.content) == ("RANGE", True)
    assert replace(bench, "a", 3, 3, "x").code == "RANGE"
    assert read_and_replace(bench, "empty", 1, 1, "x").code == "RANGE"
    assert (bench.tree / "a").read_text() == "one\ntwo\n"


@pytest.mark.parametrize(("start", "end"), [(0, 1), (-1, 2), (2, 1), (1, 0)])
def test_what_is_no_range_is_invalid(bench: Bench, start: int, end: int) -> None:
    bench.write("a", "one\ntwo\n")
    assert read_and_replace(bench, "a", start, end, "x").code == "INVALID_INPUT"


def test_only_lines_that_were_read_may_be_replaced(bench: Bench) -> None:
    bench.write("a", "".join(f"{n}\n" for n in range(1, 40)))
    assert replace(bench, "a", 1, 1, "x").code == "NOT_READ"
    bench.call("read_file", file_path="a", offset=10, limit=10)
    assert replace(bench, "a", 9, 10, "x").code == "PARTIALLY_READ"
    assert replace(bench, "a", 19, 20, "x").code == "PARTIALLY_READ"
    assert not replace(bench, "a", 10, 19, "x\ny").is_error
    assert not replace(bench, "a", 10, 11, "z").is_error
    assert (bench.tree / "a").read_text().split("\n")[8:12] == ["9", "z", "20", "21"]


def test_a_change_behind_the_agents_back_is_stale(bench: Bench) -> None:
    bench.write("a", "one\ntwo\n")
    bench.call("read_file", file_path="a")
    bench.write("a", "zero\none\ntwo\n")
    assert replace(bench, "a", 1, 1, "x").code == "STALE"


def test_equal_lines_are_no_change(bench: Bench) -> None:
    file = bench.write("a", "one\r\ntwo")
    inode = file.stat().st_ino
    assert read_and_replace(bench, "a", 1, 1, "one\n").code == "NO_CHANGE"
    assert replace(bench, "a", 2, 2, "two\n").code == "NO_CHANGE"
    assert file.stat().st_ino == inode


def test_notebooks_missing_files_and_protected_paths_are_refused(bench: Bench) -> None:
    bench.write("n.IPYNB", "{}")
    bench.write(".envrc", "x\n")
    assert read_and_replace(bench, "n.IPYNB", 1, 1, "[]").code == "USE_NOTEBOOK_TOOL"
    assert replace(bench, "nope", 1, 1, "x").code == "NOT_FOUND"
    assert read_and_replace(bench, ".envrc", 1, 1, "y").code == "PROTECTED_PATH"


def test_a_secret_is_refused_unless_the_policy_lets_the_path_hold_it(bench: Bench) -> None:
    bench.write("tests/fixture.py", "a\nkey\n")
    bench.call("read_file", file_path="tests/fixture.py")
    result = replace(bench, "tests/fixture.py", 2, 2, f"key = '{KEY}'")
    assert (result.code, "line 2" in result.content, KEY in result.content) == ("SECRET_DETECTED", True, False)
    bench.policy = Policy(secrets_allowed=["tests/**"])
    assert not replace(bench, "tests/fixture.py", 2, 2, f"key = '{KEY}'").is_error


def test_a_hidden_path_is_denied(bench: Bench) -> None:
    bench.write("private.txt", "one\n")
    bench.call("read_file", file_path="private.txt")
    bench.policy = Policy(hidden=["private.txt"])
    calls: dict[str, dict[str, Any]] = {
        "replace_lines": {"start_line": 1, "end_line": 1, "new_content": "x"},
        "insert_lines": {"after_line": 1, "content": "x"},
        "edit_file": {"old_string": "one", "new_string": "x"},
        "write_file": {"content": "x"},
    }
    for tool, arguments in calls.items():
        assert bench.call(tool, file_path="private.txt", **arguments).code == "DENIED", tool
