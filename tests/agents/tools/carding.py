"""Cards of what the real tools said, one of each tool."""

import itertools
import json
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

from django.utils import timezone

from agents.cards import Card
from agents.models import Event, Kind
from agents.skills import AgentSkills
from agents.tools import runner
from agents.tools.base import REGISTRY, Result
from tests.agents.tools.bench import Bench
from tests.agents.tools.test_read_file import png
from tests.workspaces.test_notebooks import FILE
from tests.workspaces.test_pdfs import pdf
from tests.workspaces.test_skills import text
from workspaces.models import Workspace

RULES = "# Rules\n\nKeep **functions** short.\n"
MEMORY = "# Memory\n\n## 2025-03-01 Rounding\n\nHalf to even.\n\n## 2025-04-11 Floats\n\nNever `==`.\n"
SKILL = text("careful", body="Edit $1 with **care**.\n", more="allowed-tools: Read, Bash(git *)\n")
NUMBERS = itertools.count(1)


FILES = {
    ".sakura/SAKURA.md": RULES,
    ".sakura/memory.md": MEMORY,
    ".sakura/skills/careful/SKILL.md": SKILL,
    "pyproject.toml": '[project]\nname = "calc"\n[tool.pytest.ini_options]\n',
}


def furnished(workspace: Workspace) -> Bench:
    """Return a bench with skills, a picture, a PDF and a notebook."""
    made = Bench(workspace)
    made.skills = AgentSkills(workspace, tools=[tool.name for tool in runner.available("implementer", "standard")])
    made.write("logo.png", png(80, 60))
    made.write("a.pdf", pdf("first", "second", "third"))
    made.write("a.ipynb", FILE)
    return made


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
        "4 matches in 2 files",
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
        "Python, Jupyter · 2 commands",
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
