"""The card of each tool, made of what the real tool said: its head in a few words, its body with what it found."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents import bodies, cards, codelines
from agents.cards import BODY_CHARS
from agents.tools.base import REGISTRY
from tests.agents.tools.bench import Bench
from tests.agents.tools.carding import FILES, SCENES, Balanced, card, card_of, furnished, head, show, write
from tests.workspaces.test_skills import workspace_with
from workspaces.models import Repository

pytestmark = pytest.mark.django_db


@pytest.fixture
def bench(repository: Repository, source: Path) -> Iterator[Bench]:
    made = furnished(workspace_with(repository, source, FILES))
    yield made
    made.jobs.stop(made.jobs.running())


@pytest.mark.parametrize("tool", sorted(REGISTRY))
def test_each_tool_has_a_card_of_its_own(bench: Bench, tool: str) -> None:
    scene, verb, words, pieces = SCENES[tool]
    made = scene(bench)
    assert (made.tool, made.verb) == (tool, verb)
    assert head(made)[: len(words) or None] == words
    body = made.body_html()
    for piece in pieces:
        assert piece in body
    assert cards.get_body(tool).template.name == f"agents/cards/_{tool}.html"
    Balanced(made.html())
    Balanced(body)


def test_a_tool_that_nobody_knows_shows_what_went_in_and_out() -> None:
    made = card("glob", {"a": "<b>"}, {}, "out <i>")
    made.call.data["tool"] = "body"
    assert made.verb == "Called"
    assert "&lt;b&gt;" in made.body_html()
    assert "out &lt;i&gt;" in made.body_html()


# --- kinds of files ------------------------------------------------------------------------------


def test_a_picture_is_shown_small(bench: Bench) -> None:
    made = show(bench, "read_file", file_path="logo.png")
    assert (made.icon, head(made)) == ("image", "PNG 80 × 60")
    assert '<img src="data:image/png;base64,' in made.body_html()
    assert 'alt="logo.png, small"' in made.body_html()
    again = show(bench, "read_file", file_path="logo.png")
    assert head(again) == "unchanged"
    assert "unchanged since" in again.body_html()


@pytest.mark.parametrize("thumbnail", ["javascript:alert(1)", "data:text/html;base64,AAAA", 'data:image/png;base64,"x'])
def test_only_a_small_png_becomes_a_picture(thumbnail: str) -> None:
    image = {"media_type": "image/png", "width": 8, "height": 6, "thumbnail": thumbnail}
    body = card("read_file", {"file_path": "a.png"}, {"path": "a.png", "kind": "image", "image": image}).body_html()
    assert "<img" not in body
    assert "8 × 6 pixels" in body


def test_a_pdf_is_shown_by_page(bench: Bench) -> None:
    made = show(bench, "read_file", file_path="a.pdf", pages="2-3")
    assert head(made) == "PDF pages 2–3 of 3"
    assert re.findall(r"<h3>(.*?)</h3>", made.body_html()) == ["Page 2", "Page 3"]


def test_a_notebook_is_shown_by_cell(bench: Bench) -> None:
    made = show(bench, "read_file", file_path="a.ipynb")
    assert made.icon == "notebook"
    assert head(made).startswith("2 cells")
    body = made.body_html()
    assert body.count('<section class="part">') == 2
    assert 'aria-label="Outputs"' in body
    Balanced(body)


def test_a_source_that_looks_like_the_title_of_a_cell_makes_no_cell() -> None:
    content = "[notebook: 2 cells]\n\n[cell 0 · code]\na = 1\n[cell 0 · code]\n\n[cell 1 · code]\nb = 2"
    cells = [{"index": 0, "id": "", "type": "code", "lines": 2, "outputs": 0}]
    data = {"path": "a.ipynb", "kind": "notebook", "notebook": {"cells": cells, "total": 2}}
    shown = bodies.body(card("read_file", {}, data, content).told)["cells"]
    assert [cell.number for cell in shown] == [0, 1]
    assert [str(line.html) for line in shown[0].lines][1] == '[cell <span class="n">0</span> · code]'


def test_line_numbers_are_no_part_of_the_text(bench: Bench) -> None:
    body = show(bench, "read_file", file_path="calc.py").body_html()
    found = re.search(r'<pre class="lines".*?</pre>', body, re.DOTALL)
    assert found
    assert re.sub(r"<[^>]+>", "", found[0]) == (bench.tree / "calc.py").read_text()


def test_a_long_text_is_cut_between_lines(bench: Bench) -> None:
    bench.write("long.txt", "".join(f"line {number}\n" for number in range(1, 1800)))
    result = bench.call("read_file", file_path="long.txt")
    made = dataclasses.replace(card_of(result, "read_file", {"file_path": "long.txt"}), chars=BODY_CHARS)
    body = made.body_html()
    numbers = [int(number) for number in re.findall(r'data-n="(\d+)"', body)]
    assert numbers[0] == 1
    assert numbers[-1] == 1799
    assert len(numbers) < 1799
    assert all(f'data-n="{number}">line {number}\n' in body for number in numbers)
    assert "characters left out" in body
    assert made.call_url in body
    assert "left out" not in card_of(result, "read_file", {}).body_html()


def test_the_lines_between_two_changes_are_a_gap(bench: Bench) -> None:
    bench.write("long.txt", "".join(f"{number % 20}.\n" for number in range(1, 40)))
    bench.call("read_file", file_path="long.txt")
    edit = {"file_path": "long.txt", "old_string": "\n5.\n", "new_string": "\nfive\n", "replace_all": True}
    body = show(bench, "edit_file", **edit).body_html()
    numbers = re.findall(r'class="gap"|data-n="(\d+)"', body)
    assert numbers == ["2", "3", "4", "5", "5", "6", "7", "8", "", "22", "23", "24", "25", "25", "26", "27", "28"]


def test_the_hunks_of_a_diff_are_numbered() -> None:
    text = "@@ -1,2 +1,2 @@ def a\n-old\n+new\n same\n@@ -9 +9,2 @@\n same\n+more\n\\ No newline at end of file"
    found = [(line.kind, line.number) for line in codelines.unified(text)]
    assert found == [("-", 1), ("+", 1), (" ", 2), ("…", None), (" ", 9), ("+", 10), ("…", None)]


def test_putting_back_what_is_as_it_was_says_so(bench: Bench) -> None:
    made = show(bench, "revert_file", file_path="calc.py")
    assert head(made) == "no difference"
    assert "already" in made.body_html()


def test_a_file_that_is_put_back_to_nothing_has_no_page(bench: Bench) -> None:
    write(bench)
    made = show(bench, "revert_file", file_path="notes.md")
    assert head(made) == "gone · +0 · −1"
    assert made.subject_url == ""


# --- searches ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "marked"),
    [
        ({"pattern": "add"}, "add"),
        ({"pattern": "x|add"}, "add"),
        ({"pattern": "ADD", "case_insensitive": True}, "add"),
        ({"pattern": "a[d]d"}, ""),
        ({"pattern": "(a+)+$"}, ""),
        ({"pattern": "a.d", "fixed_strings": True}, ""),
    ],
)
def test_plain_words_are_marked_and_patterns_are_not_run_again(given: dict[str, Any], marked: str) -> None:
    matches = [{"path": "a.py", "line": 3, "text": "<b> add"}]
    data = {"mode": "content", "matches": matches, "total": 1, "files": 1}
    body = card("search_in_files", given, data).body_html()
    assert ("<mark" in body) == bool(marked)
    assert "&lt;b&gt; " + (f'<mark class="w">{marked}</mark>' if marked else "add") in body


def test_a_search_says_how_many_more_there_are(bench: Bench) -> None:
    bench.write("long.txt", "needle\n" * 400)
    made = show(bench, "search_in_files", pattern="needle", output_mode="content")
    assert head(made) == "400 matches in 1 file"
    assert "and 150 more" in made.body_html()
    assert head(show(bench, "search_in_files", pattern="needles")) == "no match"


# --- commands ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "words", "tone"),
    [
        ({"exit_code": 0, "ending": "exit"}, "Exit 0", "ok"),
        ({"exit_code": 3, "ending": "exit"}, "Exit 3", "bad"),
        ({"exit_code": 139, "ending": "exit", "signal": "SIGSEGV"}, "SIGSEGV", "bad"),
        ({"exit_code": 137, "ending": "memory_limit"}, "Memory limit", "bad"),
        ({"background": True, "id": "bg1", "state": "running"}, "bg1 running", "info"),
    ],
)
def test_how_a_command_ended_is_a_badge(data: dict[str, Any], words: str, tone: str) -> None:
    (part,) = card("run_command", {"command": "x"}, data).outcome
    assert (part.text, part.tone, part.is_badge) == (words, tone, True)


def test_a_command_that_was_to_be_stopped_did_not_fail(bench: Bench) -> None:
    assert card("stop_command", {"id": "bg1"}, {"id": "bg1", "exit_code": 137, "state": "stopped"}).tone == ""
    assert card("command_output", {"id": "bg1"}, {"id": "bg1", "exit_code": 1, "state": "exited"}).tone == "wrong"


# --- errors and data of other shapes -------------------------------------------------------------


def test_an_error_shows_what_was_asked_and_what_was_told(bench: Bench) -> None:
    given = {"pattern": "add("}
    made = card_of(bench.call("search_in_files", **given), "search_in_files", given)
    assert made.is_open
    assert "INVALID_PATTERN" in made.html()
    assert "add(" in made.body_html()
    assert "unclosed group" in made.body_html()


def test_an_edit_that_failed_shows_what_it_wanted(bench: Bench) -> None:
    given = {"file_path": "calc.py", "old_string": "no\nsuch", "new_string": "<i>"}
    body = card_of(bench.call("edit_file", **given), "edit_file", given).body_html()
    assert '<span class="del">− no</span>' in body
    assert '<span class="add">+ &lt;i&gt;</span>' in body
    assert "NOT_READ" in body
