"""Edits: parts of a JSON text are where they should be, a diff's rows are true, a patch makes the very tree."""

import contextlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.conftest import GIT_ENV
from tests.soak.holding import hold
from tests.soak.strategies import texts
from tests.workspaces.places import prepared, take
from workspaces import cells, diffs, editing, jsonspans, linediff, lines, notebooks
from workspaces.models import Repository

KEYS = st.text(max_size=4) | st.sampled_from(['"', "\\", "é", "\u2028", "a"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


def test_the_parts_of_a_json_text_are_where_they_are_said_to_be() -> None:
    def check(members: dict[str, Any], elements: list[Any], indent: int | None, ascii_only: bool) -> None:
        text = " \n" + json.dumps(members, indent=indent, ensure_ascii=ascii_only)
        found = jsonspans.object_at(text, jsonspans.after_space(text, 0))
        assert {part.key: part.value for part in found.parts} == members
        assert all(json.loads(text[part.value_start : part.value_end]) == part.value for part in found.parts)
        assert found.end == len(text)
        listed = json.dumps(elements, indent=indent, ensure_ascii=ascii_only)
        parts = jsonspans.list_at(listed, 0).parts
        assert [json.loads(listed[part.value_start : part.value_end]) for part in parts] == elements
        assert "[" + ",".join(listed[part.start : part.end] for part in parts) + "]" == listed or not parts

    objects, indents = st.dictionaries(KEYS, VALUES, max_size=5), st.sampled_from([None, 0, 1, 4])
    hold(check, objects, st.lists(VALUES, max_size=5), indents, st.booleans(), few=100)


def test_no_text_is_more_than_a_notebook_or_an_error() -> None:
    def check(text: str, value: Any) -> None:
        for each in (text, json.dumps(value), json.dumps({"cells": value, "nbformat": 4, "nbformat_minor": 5})):
            with contextlib.suppress(notebooks.NoNotebook):
                assert len(notebooks.view(each, 2000).text) < 4000
            with contextlib.suppress(cells.CellError):
                cells.parse(each, "a.ipynb")

    shaped = st.lists(
        st.fixed_dictionaries(
            {"cell_type": st.sampled_from(["code", "markdown", "raw", "x"]) | VALUES, "source": VALUES | texts(4)},
            optional={
                "id": VALUES,
                "outputs": VALUES,
                "metadata": VALUES,
                "execution_count": VALUES,
                "attachments": VALUES,
            },
        ),
        max_size=4,
    )
    hold(check, texts(), shaped | VALUES, few=100)


TEXTS = st.lists(st.sampled_from(["a", "b", "", "é", "\tc", "x" * 30, "a\r"]), max_size=12).map("\n".join)


def test_the_rows_of_a_diff_are_lines_of_both_texts() -> None:
    def check(old: str, new: str) -> None:
        change = linediff.change(editing.whole(old, new))
        before, after = lines.split(old), lines.split(new)
        for kind, old_line, new_line, text in change.rows:
            if kind != "+":
                assert isinstance(old_line, int)
                assert bare(before[old_line - 1]) == text
            if kind != "-":
                assert isinstance(new_line, int)
                assert bare(after[new_line - 1]) == text
        assert change.additions - change.deletions == len(after) - len(before)
        assert bool(change.additions or change.deletions) == (old != new)

    hold(check, TEXTS, TEXTS, few=150)


def bare(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


# --- patches -------------------------------------------------------------------------------------

NAMES = st.sampled_from(
    [
        "calc.py",
        "README.md",
        "tests/test_calc.py",
        "new",
        "deep/er/new",
        "with space",
        "é漢",
        'quo"te',
        "tab\there",
        "-dash",
    ]
)
CONTENTS = st.one_of(
    TEXTS.map(str.encode), st.binary(max_size=60), st.just(b""), st.just(b"no end"), st.just(b"+++ b/x\n@@ -1 +1 @@\n")
)
ACTIONS = st.lists(
    st.tuples(NAMES, st.sampled_from(["write", "write", "write", "delete", "link", "run", "rename"]), CONTENTS, NAMES),
    max_size=6,
)


def act(tree: Path, name: str, kind: str, content: bytes, other: str) -> None:
    file = tree / name
    if file.is_symlink() or (kind != "rename" and file.exists()):
        file.unlink()
    file.parent.mkdir(parents=True, exist_ok=True)
    match kind:
        case "write" | "run":
            file.write_bytes(content)
            file.chmod(0o755 if kind == "run" else 0o644)
        case "link":
            file.symlink_to(os.fsencode(other))
        case "rename" if file.is_file() and not (tree / other).exists():
            (tree / other).parent.mkdir(parents=True, exist_ok=True)
            file.rename(tree / other)


def look(tree: Path) -> dict[str, tuple[bool, bytes]]:
    """Return the files as git keeps them: whether they can be run, and their content or the link's target."""
    files = [path for path in tree.rglob("*") if ".git" not in path.relative_to(tree).parts]
    found: dict[str, tuple[bool, bytes]] = {}
    for path in files:
        if path.is_symlink():
            found[str(path.relative_to(tree))] = (False, os.fsencode(os.readlink(path)))
        elif path.is_file():
            found[str(path.relative_to(tree))] = (bool(path.stat().st_mode & 0o100), path.read_bytes())
    return found


@pytest.mark.django_db
def test_a_patch_makes_the_very_tree(repository: Repository, source: Path, tmp_path: Path) -> None:
    workspace = prepared(repository)
    numbers = iter(range(1_000_000))

    def check(actions: list[tuple[str, str, bytes, str]]) -> None:
        for action in actions:
            act(workspace.tree, *action)
        take(workspace)
        patched = tmp_path / f"patched-{next(numbers)}"
        subprocess.run(["git", "clone", "-q", source, patched], env=GIT_ENV, check=True)
        patch = diffs.patch(workspace)
        if patch:
            subprocess.run(
                ["git", "apply", "-"], cwd=patched, input=patch, env=GIT_ENV, check=True, capture_output=True
            )
        assert look(patched) == look(workspace.tree)

    hold(check, ACTIONS, few=8)
