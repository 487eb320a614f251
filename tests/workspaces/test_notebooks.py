"""Notebooks: read by cell, and edited so that only the cell that is meant changes."""

import base64
import io
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from PIL import Image

from workspaces import cells, notebooks

Json = dict[str, Any]


def code(source: object = "1 + 1\n", **more: object) -> Json:
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
    return cell | more


def book(*found: Json, minor: int = 5, **more: object) -> Json:
    metadata = {"language_info": {"name": "python"}}
    return {"cells": list(found), "metadata": metadata, "nbformat": 4, "nbformat_minor": minor} | more


def stream(text: object) -> Json:
    return {"output_type": "stream", "name": "stdout", "text": text}


def display(**data: object) -> Json:
    return {"output_type": "display_data", "metadata": {}, "data": {key.replace("_", "/"): data[key] for key in data}}


def picture() -> str:
    out = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(out, "PNG")
    return base64.b64encode(out.getvalue()).decode()


# --- reading -------------------------------------------------------------------------------------


def shown(*found: Json, chars: int = 60_000, pictures: int = 4) -> notebooks.View:
    return notebooks.view(json.dumps(book(*found)), chars, pictures)


def test_cells_come_with_index_id_type_and_outputs() -> None:
    view = shown(
        code(["import os\n", "os.name"], id="a1", execution_count=3, outputs=[stream(["one\n", "two\n"])]),
        {"cell_type": "markdown", "id": "b2", "metadata": {}, "source": "# Title"},
    )
    assert view.text == (
        "[notebook: 2 cells, nbformat 4.5, python]\n\n"
        "[cell 0 · code · id a1 · run 3]\nimport os\nos.name\n[output: stdout]\none\ntwo\n\n"
        "[cell 1 · markdown · id b2]\n# Title"
    )
    assert view.cells == (notebooks.Cell(0, "a1", "code", 2, 1), notebooks.Cell(1, "b2", "markdown", 1, 0))
    assert view.fits


def test_a_traceback_comes_without_its_colours() -> None:
    error = {
        "output_type": "error",
        "ename": "KeyError",
        "evalue": "'x'",
        "traceback": ["\x1b[31mKeyError\x1b[0m: 'x'"],
    }
    assert "[output: error KeyError: 'x']\nKeyError: 'x'" in shown(code(outputs=[error])).text


def test_pictures_of_outputs_are_numbered_and_handed_over() -> None:
    view = shown(code(outputs=[display(image_png=picture(), text_plain="<Figure>", text_html="<b>x</b>")]))
    assert "shown as picture 1]\n[output]\n<Figure>\n[output also as: text/html, 8 characters]" in view.text
    assert view.pictures == (base64.b64decode(picture()),)


def test_only_so_many_pictures_are_handed_over() -> None:
    found = [code(outputs=[display(image_png=picture())]) for _ in range(6)]
    view = shown(*found)
    assert len(view.pictures) == notebooks.PICTURES
    assert view.text.count("not shown") == 2
    assert shown(*found, pictures=0).pictures == ()


def test_a_picture_that_is_no_base64_is_called_broken() -> None:
    assert "image/png, broken" in shown(code(outputs=[display(image_png="A")])).text


def test_long_outputs_are_cut_before_sources_are() -> None:
    found = [code("keep\n" * 50, outputs=[stream("long\n" * 2000)]) for _ in range(10)]
    view = shown(*found, chars=6000)
    assert view.fits
    assert len(view.text) <= 6000
    assert view.text.count("keep") == 500
    assert "characters, left out" in view.text


def test_sources_that_do_not_fit_are_told() -> None:
    assert not shown(code("x" * 5000), chars=4000).fits


@pytest.mark.parametrize("minor", [0, 2, 4, 5])
def test_cells_without_ids_are_read(minor: int) -> None:
    view = notebooks.view(json.dumps(book(code(), minor=minor)), 1000)
    assert "[cell 0 · code]\n1 + 1" in view.text


def test_a_notebook_of_version_3_is_read() -> None:
    old = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {},
        "worksheets": [
            {
                "metadata": {},
                "cells": [
                    {"cell_type": "heading", "level": 1, "metadata": {}, "source": "Old"},
                    {"cell_type": "code", "language": "python", "collapsed": False, "metadata": {}, "input": ["1"],
                     "outputs": [{"output_type": "stream", "stream": "stdout", "text": "out"}]},
                ],
            }
        ],
    }  # fmt: skip
    view = notebooks.view(json.dumps(old), 1000)
    assert "# Old" in view.text
    assert "1\n[output: stdout]\nout" in view.text


@pytest.mark.parametrize(
    "text",
    ["", "not json", "[]", "{}", '{"cells": 3}', '{"cells": [1]}', '{"nbformat": 3}', "[" * 100_000, '{"cells": [{}]'],
)
def test_what_is_no_notebook_says_why(text: str) -> None:
    with pytest.raises(notebooks.NoNotebook):
        notebooks.view(text, 1000)


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["source", "outputs", "data", "text", "output_type", "traceback", "id", "image/png"]),
                inner,
            )
        ),
        max_leaves=12,
    )
)
def test_cells_of_any_shape_are_read_without_a_fault(value: object) -> None:
    assume(isinstance(value, dict))
    assert notebooks.view(json.dumps({"cells": [value], "metadata": value}), 10_000).text


# --- editing -------------------------------------------------------------------------------------


def edited(text: str, mode: str, index: int | None = None, source: str = "", **how: Any) -> cells.CellEdit:
    notebook = cells.parse(text, "a.ipynb")
    cell = cells.find(notebook, None, index) if index is not None else None
    if mode == "insert":
        return cells.insert(notebook, cell, source, how.get("type", "code"))
    assert cell is not None
    return cells.delete(notebook, cell) if mode == "delete" else cells.replace(notebook, cell, source, how.get("type"))


def refusal(text: str, *args: Any, **how: Any) -> str:
    with pytest.raises(cells.CellError) as caught:
        edited(text, *args, **how)
    return caught.value.code


FILE = """{
 "cells": [
  {
   "cell_type": "code",
   "execution_count": 7,
   "id": "aa",
   "metadata": {"x": 1.50},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "caf\\u00e9\\n"
     ]
    }
   ],
   "source": [
    "first\\n",
    "tr\\u00e8s"
   ]
  },
  {
   "cell_type": "markdown",
   "id": "bb",
   "metadata": {},
   "source": [
    "# Title"
   ]
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
"""


def test_a_replaced_cell_loses_its_outputs_and_nothing_else_changes() -> None:
    done = edited(FILE, "replace", 0, "second\ntr\u00e8s")
    start, end = FILE.index('"outputs"'), FILE.index("   ]\n  },")
    assert done.edit.text == (
        FILE[:start].replace('"execution_count": 7', '"execution_count": null')
        + '"outputs": [],\n   "source": [\n    "second\\n",\n    "tr\\u00e8s"\n'
        + FILE[end:]
    )
    assert (done.before, done.after) == ("first\ntr\u00e8s", "second\ntr\u00e8s")


def test_a_new_cell_looks_like_those_beside_it() -> None:
    done = edited(FILE, "insert", 0, "a = 1\nb = 2")
    new = (
        '  {\n   "cell_type": "code",\n   "execution_count": null,\n   "id": "ID",\n   "metadata": {},\n'
        '   "outputs": [],\n   "source": [\n    "a = 1\\n",\n    "b = 2"\n   ]\n  },\n'
    ).replace("ID", done.id)
    assert done.edit.text == FILE.replace('  {\n   "cell_type": "markdown"', new + '  {\n   "cell_type": "markdown"')
    assert done.index == 1
    assert json.loads(edited(FILE, "insert", 1, "x").edit.text)["cells"][2]["source"] == ["x"]
    assert json.loads(edited(FILE, "insert", None, "x").edit.text)["cells"][0]["source"] == ["x"]


def test_a_cell_is_taken_out_wherever_it_is() -> None:
    assert [cell["id"] for cell in json.loads(edited(FILE, "delete", 0).edit.text)["cells"]] == ["bb"]
    last = edited(FILE, "delete", 1).edit.text
    assert [cell["id"] for cell in json.loads(last)["cells"]] == ["aa"]
    assert json.loads(edited(last, "delete", 0).edit.text)["cells"] == []


def test_a_cell_that_becomes_markdown_has_no_outputs_any_more() -> None:
    done = edited(FILE, "replace", 0, "text", type="markdown")
    assert json.loads(done.edit.text)["cells"][0] == {
        "cell_type": "markdown",
        "id": "aa",
        "metadata": {"x": 1.5},
        "source": ["text"],
    }
    back = edited(done.edit.text, "replace", 0, "text", type="code")
    assert json.loads(back.edit.text)["cells"][0]["outputs"] == []


def test_an_id_is_given_only_where_the_version_has_them() -> None:
    old = json.dumps(book(code(), minor=4))
    assert "id" not in json.loads(edited(old, "insert", 0, "x").edit.text)["cells"][1]
    new = edited(json.dumps(book(code(id="x"))), "insert", 0, "x")
    assert new.id
    assert json.loads(new.edit.text)["cells"][1]["id"] == new.id


def test_the_first_cell_of_an_empty_notebook_is_indented_like_the_rest() -> None:
    after = edited(json.dumps(book(minor=4), indent=2), "insert", None, "x").edit.text
    assert after == json.dumps(
        book({"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": ["x"]}, minor=4),
        indent=2,
    )


def test_line_ends_of_the_file_are_used() -> None:
    text = FILE.replace("\n", "\r\n")
    done = edited(text, "insert", 0, "a\r\nb").edit.text
    assert done.count("\n") == done.count("\r\n")
    assert json.loads(done)["cells"][1]["source"] == ["a\n", "b"]


def test_a_notebook_without_the_ids_it_should_have_is_still_edited() -> None:
    done = edited(json.dumps(book(code(), code())), "replace", 1, "2")
    assert json.loads(done.edit.text)["cells"][1]["source"] == "2"


def test_what_would_not_be_valid_is_refused() -> None:
    assert refusal(json.dumps(book(code(id="a", surprise=1))), "replace", 0, "2") == "INVALID_INPUT"
    assert cells.fault_of(FILE) == ""


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "[]", "{}", "[" * 100_000, '{"nbformat": 4, "cells": [{"cell_type": "code"}]}'),
        *('{"nbformat": 3, "worksheets": []}', '{"nbformat": 4, "cells": {}}', FILE + "x", FILE[:-10]),
        *('{"cells": [], "cells": [], "nbformat": 4}', '{"nbformat": 4, "cells": [1]}', "1" * 5000),
    ],
)
def test_what_is_no_notebook_is_not_edited(text: str) -> None:
    assert refusal(text, "insert", None, "x") == "INVALID_INPUT"


def test_a_cell_is_found_by_id_or_index() -> None:
    found = cells.parse(json.dumps(book(code(id="a"), code(id="b"), code(id="b"))), "a.ipynb")
    assert cells.find(found, "a", None).index == 0
    assert cells.find(found, None, 2).id == "b"
    assert cells.find(found, "b", 2).index == 2
    for given_id, index, expected in (
        ("c", None, "NO_MATCH"),
        ("b", None, "NOT_UNIQUE"),
        (None, 3, "RANGE"),
        (None, None, "INVALID_INPUT"),
        ("a", 1, "INVALID_INPUT"),
        ("", None, "NO_MATCH"),
    ):
        with pytest.raises(cells.CellError) as caught:
            cells.find(found, given_id, index)
        assert caught.value.code == expected
    with pytest.raises(cells.CellError, match="there are: a, b, b"):
        cells.find(found, "c", None)


def test_the_same_source_is_no_change() -> None:
    assert refusal(FILE, "replace", 1, "# Title") == "NO_CHANGE"


# --- any notebook in any format ------------------------------------------------------------------

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
SOURCES = st.lists(WORDS, max_size=4).map("\n".join)


@st.composite
def a_cell(draw: st.DrawFn, number: int) -> Json:
    source: object = draw(SOURCES)
    if draw(st.booleans()):
        source = str(source).splitlines(keepends=True)
    kind = draw(st.sampled_from(["code", "markdown", "raw"]))
    cell: Json = {"cell_type": kind, "metadata": draw(st.dictionaries(WORDS, WORDS, max_size=2)), "source": source}
    if kind == "code":
        outputs = draw(st.lists(st.builds(stream, WORDS), max_size=2))
        cell |= {"outputs": outputs, "execution_count": draw(st.none() | st.integers(0, 9))}
    cell["id"] = f"id-{number}"
    return {key: cell[key] for key in draw(st.permutations(list(cell)))}


@st.composite
def written(draw: st.DrawFn) -> str:
    """A notebook, in some format."""
    count = draw(st.integers(0, 4))
    found = book(*(draw(a_cell(number)) for number in range(count)))
    found = {key: found[key] for key in draw(st.permutations(list(found)))}
    indent = draw(st.sampled_from([None, 1, 2, 4, "\t"]))
    separators = draw(st.sampled_from([None, (",", ":"), (", ", " : ")])) if indent is None else None
    text = json.dumps(found, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    text = draw(st.sampled_from(["", "\n", " \n"])) + text + draw(st.sampled_from(["", "\n", "\n\n"]))
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


def spans(text: str) -> list[str]:
    notebook = cells.parse(text, "a.ipynb")
    return [text[cell.at.start : cell.at.end] for cell in notebook.cells]


def without_cells(book_: Mapping[str, Any]) -> Json:
    return {key: value for key, value in book_.items() if key != "cells"}


@settings(max_examples=150, deadline=None)
@given(text=written(), data=st.data(), source=SOURCES, kind=st.sampled_from(["code", "markdown", "raw"]))
def test_a_replacement_changes_nothing_outside_the_cell(text: str, data: st.DataObject, source: str, kind: str) -> None:
    notebook = cells.parse(text, "a.ipynb")
    assume(notebook.cells)
    cell = data.draw(st.sampled_from(notebook.cells))
    assume((source, kind) != (cell.source, cell.type))
    done = cells.replace(notebook, cell, source, kind)
    after = done.edit.text
    assert after.startswith(text[: cell.at.start])
    assert after.endswith(text[cell.at.end :])
    old, new = json.loads(text), json.loads(after)
    changed = new["cells"][cell.index]
    assert cells.source_of(changed) == source.replace("\r\n", "\n")
    assert type(changed["source"]) is type(old["cells"][cell.index]["source"])
    assert changed["cell_type"] == kind
    assert changed["metadata"] == old["cells"][cell.index]["metadata"]
    assert changed.get("outputs", []) == []
    assert cells.fault_of(after) == ""


@settings(max_examples=150, deadline=None)
@given(text=written(), data=st.data(), source=SOURCES, kind=st.sampled_from(["code", "markdown", "raw"]))
def test_a_new_cell_leaves_every_other_as_it_was(text: str, data: st.DataObject, source: str, kind: str) -> None:
    notebook = cells.parse(text, "a.ipynb")
    after = data.draw(st.none() | st.sampled_from(notebook.cells)) if notebook.cells else None
    done = cells.insert(notebook, after, source, kind)
    found = spans(done.edit.text)
    new = json.loads(found.pop(done.index))
    assert found == spans(text)
    assert (cells.source_of(new), new["cell_type"]) == (source.replace("\r\n", "\n"), kind)
    assert without_cells(json.loads(done.edit.text)) == without_cells(json.loads(text))
    outside = notebook.listed
    assert done.edit.text.startswith(text[: outside.start])
    assert done.edit.text.endswith(text[outside.end :])
    assert cells.delete(cells.parse(done.edit.text, "a"), cells.parse(done.edit.text, "a").cells[done.index])


@settings(max_examples=100, deadline=None)
@given(text=written(), data=st.data())
def test_a_cell_taken_out_leaves_every_other_as_it_was(text: str, data: st.DataObject) -> None:
    notebook = cells.parse(text, "a.ipynb")
    assume(notebook.cells)
    cell = data.draw(st.sampled_from(notebook.cells))
    after = cells.delete(notebook, cell).edit.text
    left = spans(text)
    del left[cell.index]
    assert spans(after) == left
    assert without_cells(json.loads(after)) == without_cells(json.loads(text))
    if len(notebook.cells) > 1:
        back = cells.parse(after, "a.ipynb")
        assert after.startswith(text[: back.listed.start])
