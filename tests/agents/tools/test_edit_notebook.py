"""edit_notebook: one cell changes, under the rules that hold for every write."""

import json
from typing import Any

import pytest

from agents.models import Policy
from agents.tools.base import Result
from tests.agents.tools.bench import Bench
from tests.workspaces.test_notebooks import FILE, book, code

pytestmark = pytest.mark.django_db


def edit(bench: Bench, **arguments: Any) -> Result:
    return bench.call("edit_notebook", **({"file_path": "a.ipynb"} | arguments))


@pytest.fixture
def read(bench: Bench) -> Bench:
    bench.write("a.ipynb", FILE)
    bench.call("read_file", file_path="a.ipynb")
    return bench


def cells(bench: Bench) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((bench.tree / "a.ipynb").read_bytes())["cells"]
    return found


def test_a_cell_is_replaced_by_id(read: Bench) -> None:
    result = edit(read, cell_id="aa", source="x = 2")
    assert result.content == "a.ipynb: cell 0 (id aa) replaced; what it had put out is cleared."
    assert (cells(read)[0]["source"], cells(read)[0]["outputs"]) == (["x = 2"], [])
    assert result.data["cell"] == {"index": 0, "id": "aa", "type": "code", "mode": "replace"}
    assert (result.data["before"], result.data["after"]) == ("first\ntrès", "x = 2")
    assert (result.data["created"], result.data["path"], result.touched) == (False, "a.ipynb", ("a.ipynb",))
    assert result.data["diff"]


def test_cells_are_added_and_taken_out(read: Bench) -> None:
    assert not edit(read, mode="insert", cell_id="aa", source="# New", cell_type="markdown").is_error
    assert [cell["cell_type"] for cell in cells(read)] == ["code", "markdown", "markdown"]
    assert not edit(read, mode="insert", source="import os").is_error
    assert cells(read)[0]["source"] == ["import os"]
    assert not edit(read, mode="delete", index=1).is_error
    assert [cell["source"] for cell in cells(read)] == [["import os"], ["# New"], ["# Title"]]


def test_a_notebook_must_be_read_first(bench: Bench) -> None:
    bench.write("a.ipynb", FILE)
    assert edit(bench, index=0, source="x").code == "NOT_READ"
    bench.call("read_file", file_path="a.ipynb", offset=1, limit=6)
    assert edit(bench, index=0, source="x").code == "PARTIALLY_READ"
    assert edit(bench, index=0, mode="insert", source="x").code == "PARTIALLY_READ"


def test_a_cell_whose_lines_were_read_may_be_edited(bench: Bench) -> None:
    bench.write("a.ipynb", FILE)
    bench.call("read_file", file_path="a.ipynb", offset=22, limit=8)
    assert not edit(bench, index=1, source="x").is_error
    assert edit(bench, index=0, source="x").code == "PARTIALLY_READ"


def test_a_notebook_that_changed_is_read_again(read: Bench) -> None:
    read.write("a.ipynb", FILE.replace("Title", "Tutle"))
    assert edit(read, index=0, source="x").code == "STALE"
    assert cells(read)[1]["source"] == ["# Tutle"]


def test_the_own_edit_leaves_it_read(read: Bench) -> None:
    assert not edit(read, index=0, source="x").is_error
    assert not edit(read, index=1, source="y").is_error


def test_which_cell_is_meant_must_be_clear(read: Bench) -> None:
    unknown = edit(read, cell_id="zz", source="x")
    assert (unknown.code, "there are: aa, bb" in unknown.content) == ("NO_MATCH", True)
    assert edit(read, index=2, source="x").code == "RANGE"
    assert edit(read, index=-1, source="x").code == "INVALID_INPUT"
    assert edit(read, source="x").code == "INVALID_INPUT"
    assert edit(read, index=0).code == "INVALID_INPUT"
    twice = json.dumps(book(code(id="x"), code(id="x")))
    read.write("b.ipynb", twice)
    read.call("read_file", file_path="b.ipynb")
    assert edit(read, file_path="b.ipynb", cell_id="x", source="1").code == "NOT_UNIQUE"


def test_only_notebooks_are_edited_by_cell(bench: Bench) -> None:
    assert edit(bench, file_path="calc.py", index=0, source="x").code == "INVALID_INPUT"
    missing = edit(bench, index=0, source="x")
    assert (missing.code, "write_file" in missing.content) == ("NOT_FOUND", True)
    bench.write("a.ipynb", "{broken")
    bench.call("read_file", file_path="a.ipynb")
    assert edit(bench, index=0, source="x").code == "INVALID_INPUT"


def test_a_notebook_made_as_the_refusal_says_takes_cells(bench: Bench) -> None:
    content = '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
    assert content in edit(bench, index=0, source="x").content
    assert not bench.call("write_file", file_path="a.ipynb", content=content).is_error
    assert not edit(bench, mode="insert", source="1 + 1").is_error
    assert cells(bench)[0]["source"] == ["1 + 1"]


def test_a_secret_is_found_though_its_lines_are_apart(read: Bench) -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA" * 4 + "\n-----END RSA PRIVATE KEY-----\n"
    before = (read.tree / "a.ipynb").read_bytes()
    assert edit(read, index=0, source=key).code == "SECRET_DETECTED"
    assert (read.tree / "a.ipynb").read_bytes() == before
    read.policy = Policy(secrets_allowed=["a.ipynb"])
    assert not edit(read, index=0, source=key).is_error


def test_what_would_break_the_notebook_is_not_written(bench: Bench) -> None:
    text = json.dumps(book(code(id="a", surprise=1)))
    bench.write("a.ipynb", text)
    bench.call("read_file", file_path="a.ipynb")
    refused = edit(bench, index=0, source="x")
    assert (refused.code, "not valid before" in refused.content) == ("INVALID_INPUT", True)
    assert (bench.tree / "a.ipynb").read_text() == text


def test_the_mark_of_the_encoding_is_kept(bench: Bench) -> None:
    bench.write("a.ipynb", b"\xef\xbb\xbf" + FILE.encode())
    bench.call("read_file", file_path="a.ipynb")
    assert not edit(bench, index=1, source="größe").is_error
    data = (bench.tree / "a.ipynb").read_bytes()
    assert data.startswith(b"\xef\xbb\xbf{")
    assert json.loads(data.decode("utf-8-sig"))["cells"][1]["source"] == ["größe"]


def test_a_protected_notebook_stays(read: Bench) -> None:
    read.policy = Policy(protected=["*.ipynb"])
    assert edit(read, index=0, source="x").code == "PROTECTED_PATH"


def test_a_long_source_is_cut_for_the_card(read: Bench) -> None:
    result = edit(read, index=0, source="x" * 9000)
    assert (len(result.data["after"]), result.data["cut"]) == (8000, True)
