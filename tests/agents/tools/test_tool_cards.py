"""The card of each tool, made of what the real tool said: its head in a few words, its body with what it found."""

import copy
import dataclasses
import itertools
import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from agents import bodies, cards, outcomes
from agents.cards import BODY_CHARS, Card
from agents.models import Event, Kind
from agents.skills import AgentSkills
from agents.tools import runner
from agents.tools.base import REGISTRY, Result
from tests.agents.tools.bench import Bench
from tests.agents.tools.test_read_file import png
from tests.workspaces.test_notebooks import FILE
from tests.workspaces.test_pdfs import pdf
from tests.workspaces.test_skills import text, workspace_with
from workspaces.models import Repository, Workspace

pytestmark = pytest.mark.django_db

RULES = "# Rules\n\nKeep **functions** short.\n"
MEMORY = "# Memory\n\n## 2025-03-01 Rounding\n\nHalf to even.\n\n## 2025-04-11 Floats\n\nNever `==`.\n"
SKILL = text("careful", body="Edit $1 with **care**.\n", more="allowed-tools: Read, Bash(git *)\n")
NUMBERS = itertools.count(1)


@pytest.fixture
def prepared(repository: Repository, source: Path) -> Workspace:
    files = {
        ".sakura/SAKURA.md": RULES,
        ".sakura/memory.md": MEMORY,
        ".sakura/skills/careful/SKILL.md": SKILL,
        "pyproject.toml": '[project]\nname = "calc"\n[tool.pytest.ini_options]\n',
    }
    return workspace_with(repository, source, files)


@pytest.fixture
def bench(prepared: Workspace) -> Iterator[Bench]:
    made = Bench(prepared)
    made.skills = AgentSkills(prepared, tools=[tool.name for tool in runner.available("implementer", "standard")])
    made.write("logo.png", png(80, 60))
    made.write("a.pdf", pdf("first", "second", "third"))
    made.write("a.ipynb", FILE)
    yield made
    made.jobs.stop(made.jobs.running())


def card(tool: str, given: Any, data: Any, content: Any = "", **more: Any) -> Card:
    """Return a card of events that no database has."""
    asked = {"call_id": "c", "tool": tool, "input": given, "resolved": {}, "effect": str(REGISTRY[tool].effect)}
    told = {"call_id": "c", "tool": tool, "is_error": False, "code": "", "content": content, "data": data}
    told |= {"duration_ms": 12, "output_ref": ""} | more
    call, result = (
        Event(pk=next(NUMBERS), run_id=1, seq=seq, at=timezone.now(), kind=kind, call_id="c", data=row)
        for seq, (kind, row) in enumerate([(Kind.TOOL_CALL, asked), (Kind.TOOL_RESULT, told)], 1)
    )
    return Card(call, result)


def card_of(result: Result, tool: str, given: dict[str, Any]) -> Card:
    stored = json.loads(json.dumps(result.data))
    return card(tool, given, stored, result.content, is_error=result.is_error, code=result.code)


def show(bench: Bench, tool: str, **given: Any) -> Card:
    result = bench.call(tool, **given)
    assert not result.is_error, result.content
    return card_of(result, tool, given)


def head(made: Card) -> str:
    """The words at the end of the card's head."""
    return " · ".join(part.text for part in made.outcome)


class Balanced(HTMLParser):
    """Fails at an element that is not closed by its own end."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.feed(html)
        assert not self.stack, self.stack

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "script"
        assert not {"style", "onclick", "onerror"} & {name for name, _ in attrs}
        if tag not in ("img", "br", "hr", "use"):
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag


# --- each tool -----------------------------------------------------------------------------------


def read(bench: Bench) -> Card:
    return show(bench, "read_file", file_path="calc.py", offset=1, limit=2)


def write(bench: Bench) -> Card:
    return show(bench, "write_file", file_path="notes.md", content="# Notes\n")


def edit(bench: Bench) -> Card:
    bench.call("read_file", file_path="calc.py")
    return show(bench, "edit_file", file_path="calc.py", old_string="a - b", new_string="a + b")


def replace(bench: Bench) -> Card:
    bench.call("read_file", file_path="calc.py")
    return show(bench, "replace_lines", file_path="calc.py", start_line=2, end_line=2, new_content="    return a + b")


def insert(bench: Bench) -> Card:
    bench.call("read_file", file_path="calc.py")
    return show(bench, "insert_lines", file_path="calc.py", after_line=0, content="# sums")


def edit_cell(bench: Bench) -> Card:
    bench.call("read_file", file_path="a.ipynb")
    return show(bench, "edit_notebook", file_path="a.ipynb", cell_id="aa", source="x = 2")


def revert(bench: Bench) -> Card:
    edit(bench)
    return show(bench, "revert_file", file_path="calc.py")


def compare(bench: Bench) -> Card:
    edit(bench)
    return show(bench, "check_changes", mode="full", paths=["calc.py"])


def background(bench: Bench) -> str:
    given = {"command": "echo up; sleep 600", "run_in_background": True}
    return str(bench.call("run_command", **given).data["id"])


def follow(bench: Bench) -> Card:
    return show(bench, "command_output", id=background(bench), until="up")


def stop(bench: Bench) -> Card:
    return show(bench, "stop_command", id=background(bench))


def finish(bench: Bench) -> Card:
    return show(bench, "finish_task", summary="Done.", modified_files=["calc.py"], risk_level="low")


def judge(bench: Bench) -> Card:
    return show(Bench(bench.workspace, "reviewer"), "submit_review", verdict="approve", score=8, summary="Good.")


Scene = tuple[Callable[[Bench], Card], str, str, tuple[str, ...]]
SCENES: dict[str, Scene] = {
    "read_file": (read, "Read", "lines 1–2 of 6", ('data-n="2"', '<span class="k">return</span>')),
    "write_file": (write, "Created", "+1 · −0", ('<span class="add" data-n="1">+ # Notes</span>',)),
    "edit_file": (edit, "Edited", "+1 · −1", ('<span class="del" data-n="2">−     return a - b</span>', "a + b")),
    "replace_lines": (replace, "Replaced lines", "+1 · −1", ("return a + b",)),
    "insert_lines": (insert, "Inserted lines", "+1 · −0", ("+ # sums",)),
    "edit_notebook": (edit_cell, "Edited cell 0 of", "+1 · −2", ("− first", "+ x = 2")),
    "revert_file": (revert, "Put back", "+1 · −1", ("To undo it", "+     return a - b")),
    "list_directory": (
        lambda bench: show(bench, "list_directory", path="."),
        "Listed",
        "8 entries",
        ("/workspace/?path=tests", "/workspace/file/?path=calc.py"),
    ),
    "glob": (lambda bench: show(bench, "glob", pattern="**/*.py"), "Found", "2 files", ("path=tests%2Ftest_calc.py",)),
    "search_in_files": (
        lambda bench: show(bench, "search_in_files", pattern=r"add\(", output_mode="content", glob="*.py"),
        "Searched",
        "3 matches in 2 files",
        ("path=calc.py&amp;line=6#L6", '<mark class="w">add(</mark>'),
    ),
    "run_command": (
        lambda bench: show(bench, "run_command", command="echo hello"),
        "Ran",
        "Exit 0",
        ("hello", "Sandbox full, no network"),
    ),
    "command_output": (follow, "Followed", "found · Running", ("up", "Bytes 0–3 of 3")),
    "stop_command": (stop, "Stopped", "", ("It ran",)),
    "check_changes": (compare, "Compared with the baseline", "1 file · +1 · −1", ("/review/?path=calc.py", "a - b")),
    "detect_project": (
        lambda bench: show(bench, "detect_project"),
        "Looked at the project",
        "Python · 2 commands",
        ("python3 -m pytest", "path=pyproject.toml"),
    ),
    "read_sakura_docs": (
        lambda bench: show(bench, "read_sakura_docs", doc_path="SAKURA.md"),
        "Read docs",
        "3 lines",
        ("<strong>functions</strong>",),
    ),
    "list_sakura_directory": (
        lambda bench: show(bench, "list_sakura_directory"),
        "Listed .sakura",
        "3 entries",
        ("path=.sakura%2Fskills", "path=.sakura%2FSAKURA.md"),
    ),
    "read_sakura_memory": (
        lambda bench: show(bench, "read_sakura_memory", count=1),
        "Read memory",
        "1 of 2 entries",
        ("<code>==</code>", "#L7", "and 1 more"),
    ),
    "use_skill": (
        lambda bench: show(bench, "use_skill", skill="careful", args="calc.py"),
        "Loaded skill",
        "narrows to",
        ("<strong>care</strong>", '<span class="tag">read_file</span>', "git *"),
    ),
    "finish_task": (finish, "Finished", "low risk", ("Done.",)),
    "submit_review": (judge, "Reviewed", "approve, 8 of 10", ("Good.",)),
}


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
    assert re.findall(r"<h4>(.*?)</h4>", made.body_html()) == ["Page 2", "Page 3"]


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
    bench.write("long.txt", "".join(f"line {number}\n" for number in range(1, 40)))
    bench.call("read_file", file_path="long.txt")
    bench.call("run_command", command="sed -i '2d;30d' long.txt")
    body = show(bench, "check_changes", mode="full", paths=["long.txt"]).body_html()
    assert "long.txt" in body
    result = bench.call("revert_file", file_path="calc.py")
    assert head(card_of(result, "revert_file", {"file_path": "calc.py"})) == "no difference"


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


SCRIPT = "<script>alert(1)</script>\u202e"
JUNK: tuple[Any, ...] = (
    None,
    True,
    -1,
    1.5,
    10**20,
    "",
    SCRIPT,
    [],
    [None, 1, SCRIPT, [], {}],
    [[SCRIPT, -1, None, {}], ["+", 1, 2], ["-", "x", [], SCRIPT]],
    [{"path": [], "line": "x", "name": {}, "commands": 3, "kind": [1], "text": SCRIPT, "index": -1}],
    {},
    {"$body": SCRIPT, "size": 9, "head": SCRIPT, "tail": "b"},
    {"$body": 1},
)


def spoiled(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The data with each value, to a depth of three, missing or of another shape."""
    for path in paths_in(data, 3):
        for junk in (*JUNK, ...):
            changed = copy.deepcopy(data)
            holder: Any = changed
            for step in path[:-1]:
                holder = holder[step]
            if junk is not ...:
                holder[path[-1]] = junk
            elif isinstance(holder, dict):
                del holder[path[-1]]
            yield changed


def paths_in(value: Any, depth: int) -> Iterator[tuple[Any, ...]]:
    keys: Any = (
        value.keys() if isinstance(value, dict) else range(min(1, len(value))) if isinstance(value, list) else ()
    )
    for key in keys if depth else ():
        yield (key,)
        yield from ((key, *rest) for rest in paths_in(value[key], depth - 1))


@pytest.mark.parametrize("tool", sorted(REGISTRY))
def test_data_of_another_shape_never_break_a_card(bench: Bench, tool: str) -> None:
    made = SCENES[tool][0](bench)
    for data in spoiled(made.data | {"fact": None}):
        odd = card(tool, made.input, data, made.content)
        html = odd.html() + odd.body_html()
        assert "<script" not in html
        assert "\u202e" not in html


@pytest.mark.parametrize("tool", sorted(REGISTRY))
@pytest.mark.parametrize("junk", JUNK)
def test_input_and_content_of_another_shape_never_break_a_card(tool: str, junk: Any) -> None:
    given = dict.fromkeys(REGISTRY[tool].input.model_fields, junk) if junk is not None else None
    for more in ({}, {"is_error": True, "code": junk}, {"duration_ms": junk, "output_ref": junk}):
        odd = card(tool, given, junk, junk, **more)
        odd.call.data["resolved"] = junk
        html = odd.html() + odd.body_html() + odd.verb
        assert "<script" not in html
    busy = Card(odd.call)
    assert "<script" not in busy.html() + busy.body_html()


def swollen(value: Any) -> Any:
    """The data with every list and every text as long as no tool makes them."""
    match value:
        case dict():
            return {key: swollen(item) for key, item in value.items()}
        case list():
            return [swollen(item) if index < 1 else item for index, item in enumerate(value)] * 3000
        case str() if not value.startswith("data:") and len(value) > 8:
            return value * 3000
        case _:
            return value


@pytest.mark.parametrize("tool", sorted(REGISTRY))
def test_a_card_is_bounded_whatever_the_tool_said(bench: Bench, tool: str) -> None:
    made = SCENES[tool][0](bench)
    huge = card(tool, made.input, swollen(made.data), made.content * 2000)
    assert len(huge.body_html()) < 1_000_000
    assert len(huge.html()) < 30_000
    assert len(outcomes.outcome(huge.told)) < 5
