"""edit_file: the file's own style is kept, and races are told."""

import threading
from pathlib import Path

import pytest
from django.db import connections

from agents.models import Policy
from agents.tools import runner
from agents.tools.base import Result
from tests.agents.tools.bench import Bench

pytestmark = pytest.mark.django_db


def edit(bench: Bench, path: str, old: str, new: str, **more: object) -> Result:
    return bench.call("edit_file", file_path=path, old_string=old, new_string=new, **more)


def read_and_edit(bench: Bench, path: str, old: str, new: str, **more: object) -> Result:
    bench.call("read_file", file_path=path)
    return edit(bench, path, old, new, **more)


def test_the_result_shows_the_changed_lines_with_three_around(bench: Bench) -> None:
    bench.write("a", "".join(f"{n}\n" for n in range(1, 12)))
    result = read_and_edit(bench, "a", "6\n", "six\nsechs\n")
    assert result.content.split("\n")[1:] == [
        "     3\t3",
        "     4\t4",
        "     5\t5",
        "     6\tsix",
        "     7\tsechs",
        "     8\t7",
        "     9\t8",
        "    10\t9",
    ]
    assert (result.data["additions"], result.data["deletions"]) == (2, 1)


def test_bytes_of_an_unknown_encoding_are_kept(bench: Bench) -> None:
    before = "# coût en £\ntotal = 10\nnaïve = 1\n".encode("latin-1")
    bench.write("l.py", before)
    assert not read_and_edit(bench, "l.py", "total = 10", "total = 12").is_error
    assert (bench.tree / "l.py").read_bytes() == before.replace(b"10", b"12")


def test_a_guessed_encoding_takes_ascii_only(bench: Bench) -> None:
    bench.write("menu.txt", b"Caf\xe9 -> bar\n")
    assert read_and_edit(bench, "menu.txt", "->", "→").code == "UNSUPPORTED_ENCODING"


def test_an_empty_old_text_creates_or_fills(bench: Bench) -> None:
    bench.write("empty", "")
    assert edit(bench, "new", "", "made\n").data["created"] is True
    assert not edit(bench, "empty", "", "filled\n").is_error
    assert edit(bench, "calc.py", "", "x").code == "ALREADY_EXISTS"


def test_a_missing_file_is_not_found(bench: Bench) -> None:
    assert edit(bench, "nope", "a", "b").code == "NOT_FOUND"


def test_a_notebook_is_left_to_its_own_tool(bench: Bench) -> None:
    bench.write("n.ipynb", "{}")
    assert read_and_edit(bench, "n.ipynb", "{", "[").code == "USE_NOTEBOOK_TOOL"


def test_a_formatter_makes_the_read_stale(bench: Bench) -> None:
    bench.call("read_file", file_path="calc.py")
    assert bench.call("run_command", command="sed -i s/add/plus/ calc.py").data["exit_code"] == 0
    assert edit(bench, "calc.py", "plus", "sum").code == "STALE"


def test_a_touched_but_equal_file_is_fresh(bench: Bench) -> None:
    bench.call("read_file", file_path="calc.py")
    (bench.tree / "calc.py").touch()
    assert not edit(bench, "calc.py", "return a - b", "return a + b").is_error


def test_a_hard_link_is_told(bench: Bench) -> None:
    file = bench.write("one", "text\n")
    Path(bench.tree / "two").hardlink_to(file)
    assert "keep the old content" in read_and_edit(bench, "one", "text", "new").content


def test_an_edit_that_the_files_style_makes_none_is_no_change(bench: Bench) -> None:
    bench.write("a", "if x:\n\treturn\n")
    assert read_and_edit(bench, "a", "if x:\n    return", "if x:\n\treturn").code == "NO_CHANGE"
    assert edit(bench, "a", "    return", "        return").code == ""
    assert (bench.tree / "a").read_text() == "if x:\n\t\treturn\n"


def test_a_secret_is_refused_with_its_line_unless_the_policy_allows_it(bench: Bench) -> None:
    key = "AKIA" + "ABCDEFGHIJKLMNOP"
    bench.write("fixtures/a", "one\ntwo\nthree\n")
    result = read_and_edit(bench, "fixtures/a", "two", f"two = '{key}'")
    assert (result.code, "line 2" in result.content, key in result.content) == ("SECRET_DETECTED", True, False)
    bench.policy = Policy(secrets_allowed=["fixtures/**"])
    assert not edit(bench, "fixtures/a", "two", f"two = '{key}'").is_error


def test_the_region_is_told_for_the_card(bench: Bench) -> None:
    bench.write("a", "".join(f"x{n}\n" for n in range(1, 21)))
    data = read_and_edit(bench, "a", "x5\n", "").data
    assert (data["start_line"], data["end_line"], data["deletions"]) == (5, 5, 1)
    data = edit(bench, "a", "x", "y", replace_all=True).data
    assert (data["start_line"], data["end_line"], data["additions"]) == (1, 19, 19)


@pytest.mark.django_db(transaction=True)
def test_of_twenty_edits_at_once_none_is_lost(bench: Bench) -> None:
    bench.write("p.txt", "".join(f"<{n}>\n" for n in range(20)))
    bench.call("read_file", file_path="p.txt")
    tools = runner.available("implementer", "full")
    results: list[Result] = []

    def one(number: int) -> None:
        arguments = {"file_path": "p.txt", "old_string": f"<{number}>", "new_string": f"done {number}"}
        prepared = runner.prepare(_Call("edit_file", arguments), tools)
        results.append(runner.execute(prepared, bench.context()))
        connections.close_all()

    threads = [threading.Thread(target=one, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = (bench.tree / "p.txt").read_text()
    assert len(results) == 20
    assert text.count("done") == sum(not result.is_error for result in results)
    assert all(result.code in ("", "STALE") for result in results)


class _Call:
    def __init__(self, name: str, arguments: dict[str, str]) -> None:
        self.name = name
        self.input = arguments


def test_eight_spaces_are_two_tabs_without_a_second_line_to_tell(bench: Bench) -> None:
    path = bench.write("a.py", "class A:\n\tdef f(self):\n\t\treturn 1\n")
    assert not read_and_edit(bench, "a.py", "        return 1", "        x = 2\n        return x").is_error
    assert path.read_text() == "class A:\n\tdef f(self):\n\t\tx = 2\n\t\treturn x\n"


def test_a_width_of_tabs_that_decides_which_line_is_meant_is_not_guessed(bench: Bench) -> None:
    bench.write("a.py", "\tx = 1\n\t\tx = 1\n")
    assert read_and_edit(bench, "a.py", "        x = 1", "        x = 2").code == "NOT_UNIQUE"


def test_an_empty_file_with_a_mark_keeps_one_mark(bench: Bench) -> None:
    path = bench.write("a.txt", b"\xef\xbb\xbf")
    assert not edit(bench, "a.txt", "", "\ufeffx\n").is_error
    assert path.read_bytes() == b"\xef\xbb\xbfx\n"
