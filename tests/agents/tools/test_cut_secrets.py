"""No tool cuts a secret in two: of halves nothing that masks later would know (workspaces/cuts.py)."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agents.tools.base import Result
from tests.agents.tools.bench import Bench
from tests.agents.tools.conftest import prepared
from tests.conftest import git
from tests.workspaces.opened import SECRET, knowing, parts
from workspaces import contents, diffs, sources
from workspaces.masking import Mask
from workspaces.models import Repository

pytestmark = pytest.mark.django_db

Do = Callable[[Bench, str], Result]


def _read(bench: Bench, text: str) -> Result:
    bench.write("a.txt", f"{text}\n")
    return bench.call("read_file", file_path="a.txt")


def _search(bench: Bench, text: str) -> Result:
    bench.write("a.txt", f"needle{text[6:]}\n")
    return bench.call("search_in_files", pattern="needle", output_mode="content")


def _search_behind(bench: Bench, text: str) -> Result:
    bench.write("a.txt", f"{'x' * 3000}{SECRET}{'y' * 105}needle{text}\n")
    return bench.call("search_in_files", pattern="needle", output_mode="content")


def _changes(bench: Bench, text: str) -> Result:
    bench.write("a.txt", f"{text[1:]}\n")
    return bench.call("check_changes", mode="full")


def _document(bench: Bench, text: str) -> Result:
    bench.write(".sakura/a.md", f"{text}\n")
    return bench.call("read_sakura_docs", doc_path="a.md")


def _heading(bench: Bench, text: str) -> Result:
    bench.write(".sakura/a.md", f"# {text}\n")
    return bench.call("read_sakura_docs")


def _memory(bench: Bench, text: str) -> Result:
    bench.write(".sakura/memory.md", f"{text}\n\n## One\n\nx\n")
    return bench.call("read_sakura_memory", file_name="memory.md")


def _near(bench: Bench, text: str) -> Result:
    line = ("def compute(first, second):  # " + "lorem ipsum dolor sit amet, " * 20)[: text.index(SECRET)]
    bench.write("a.py", f"{line}{text[len(line) :]}\n")
    bench.call("read_file", file_path="a.py")
    wanted = line[:150].replace("first", "frist")
    return bench.call("edit_file", file_path="a.py", old_string=wanted, new_string="y")


def _cell(bench: Bench, text: str) -> Result:
    bench.write("a.ipynb", json.dumps({"nbformat": 4, "cells": [{"cell_type": text, "source": ""}]}))
    return bench.call("read_file", file_path="a.ipynb")


@pytest.mark.parametrize(
    ("do", "cut"),
    [
        (_read, 2000),
        (_search, 500),
        (_search_behind, 4000),
        (_changes, 1000),
        (_document, 19_900),
        (_heading, 120),
        (_memory, 2000),
        (_near, 300),
        (_cell, 80),
    ],
)
def test_a_tool_that_cuts_a_text_shows_no_part_of_a_secret(bench: Bench, do: Do, cut: int) -> None:
    text = "x" * (cut - 20) + SECRET + "y" * (5000 - cut % 5000)
    leaking = do(bench, text)
    assert parts(json.dumps(leaking.data) + leaking.content)
    with knowing(SECRET):
        result = do(bench, f"{text}z")
    assert not parts(Mask({"TOKEN": SECRET}).text(json.dumps(result.data) + result.content)[0])
    assert result.is_error == leaking.is_error


def test_a_command_that_prints_too_much_ends_in_no_half_of_a_secret(bench: Bench) -> None:
    bench.limits = replace(bench.limits, command_output_bytes=100_000)
    bench.secrets = (("TOKEN", SECRET),)
    size = len(SECRET) + 1
    for shift in range(0, size, 7):
        command = f'printf %s {"x" * shift}; yes "$TOKEN"'
        result = bench.call("run_command", command=command)
        assert result.data["limit"] == "output"
        spool = (bench.workspace.outputs / result.output_ref).read_text()
        assert spool.startswith("x" * shift + "[masked TOKEN]\n[masked TOKEN]\n")
        assert not parts(spool + result.content)


def test_no_diff_shows_the_line_of_a_function_that_git_cut(source: Path, repository: Repository) -> None:
    lines = [f"def f(a='{'x' * 50}{SECRET}'):", *(f"    a{number} = 0" for number in range(20))]
    (source / "long.py").write_text("\n".join(lines) + "\n")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "long")
    sources.refresh(repository)
    bench = Bench(prepared(repository))
    bench.call("read_file", file_path="long.py")
    bench.call("edit_file", file_path="long.py", old_string="a17 = 0", new_string="a17 = 1")
    told = bench.call("check_changes", mode="full")
    assert "+    a17 = 1" in told.content
    shown = diffs.file_diff(bench.workspace, "long.py").hunks[0].header
    patch = diffs.patch(bench.workspace).decode()
    assert not parts(f"{told.content}\n{shown}\n{patch}")


def test_a_file_that_is_shown_in_part_ends_in_no_half_of_a_secret(bench: Bench) -> None:
    text = f"{'x' * 1000}{SECRET}{'y' * 1000}"
    bench.call("write_file", file_path="a.txt", content=text)
    assert parts(contents.read(bench.workspace, "a.txt", limit_bytes=1020).data.decode())
    with knowing(SECRET):
        cut = contents.read(bench.workspace, "a.txt", limit_bytes=1020)
        assert (cut.data, cut.size, cut.truncated) == (b"x" * 1000 + b"*" * 20, len(text), True)
        assert contents.read(bench.workspace, "a.txt").data.decode() == text
