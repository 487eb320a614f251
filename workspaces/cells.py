"""Edits of a notebook's cells that leave every byte of the file as it is but those of the cell that is meant."""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nbformat.validator import iter_validate

from workspaces import cuts, jsonspans, lines
from workspaces.editing import Edit, Region, applied
from workspaces.jsonspans import Container, Part
from workspaces.paths import WorkspaceError

LIMIT_CHARS = 16 << 20
"""Characters of a notebook that can be edited by cell."""
NAMED = 40
"""Ids that a refusal names."""
_faults: Callable[[Any], Iterator[Any]] = iter_validate  # nbformat leaves it untyped
_TOP = ("nbformat", "nbformat_minor", "cells")
_CLEARED = {"execution_count": "null", "outputs": "[]"}
"""What only a cell of code has, as it is before it runs."""


class CellError(WorkspaceError):
    """INVALID_INPUT, TOO_LARGE, NO_MATCH, NOT_UNIQUE, RANGE or NO_CHANGE."""


@dataclass(frozen=True)
class Cell:
    """One cell: what it is, and where in the text."""

    index: int
    id: str
    type: str
    source: str
    at: Container


@dataclass(frozen=True)
class Notebook:
    """A notebook's text, its cells and where their list stands."""

    name: str
    text: str
    minor: int
    cells: tuple[Cell, ...]
    top: Container
    listed: Container


@dataclass(frozen=True)
class CellEdit:
    """An edit, and the cell that it is of: as it is afterwards, or was where it is deleted."""

    edit: Edit
    index: int
    id: str
    type: str
    before: str
    after: str


# --- finding -------------------------------------------------------------------------------------


def parse(text: str, name: str) -> Notebook:
    """Return the notebook in the text. Raises CellError TOO_LARGE, INVALID_INPUT for what is none of version 4."""
    if len(text) > LIMIT_CHARS:
        raise CellError(
            "TOO_LARGE",
            f"{name} has {len(text):,} characters; up to {LIMIT_CHARS:,} can be edited by cell. Use a command.",
        )
    try:
        return _parsed(text, name)
    except (ValueError, RecursionError) as error:
        said = cuts.head(str(error), 200) if isinstance(error, ValueError) else "it is nested too deep"
        raise CellError(
            "INVALID_INPUT", f"{name} is no notebook that can be edited by cell: {said}. Put it right first."
        ) from None


def _parsed(text: str, name: str) -> Notebook:
    start = jsonspans.after_space(text, 0)
    top = jsonspans.object_at(text, start)
    if jsonspans.after_space(text, top.end) != len(text):
        raise ValueError(f"something follows its end at character {top.end}")
    major, minor, cells = (part.value if (part := top.get(key)) else None for key in _TOP)
    if major != 4:
        raise ValueError(
            f"its nbformat is {json.dumps(major)[:20]}, only 4 can be edited (`jupyter nbconvert` converts)"
        )
    if type(minor) is not int or not 0 <= minor < 1000:
        raise ValueError("its nbformat_minor is no such number")
    part = top.get("cells")
    if part is None or not isinstance(cells, list):
        raise ValueError("it has no list of cells")
    listed = jsonspans.list_at(text, part.value_start)
    found = tuple(_cell(text, index, each) for index, each in enumerate(listed.parts))
    return Notebook(name, text, minor, found, top, listed)


def _cell(text: str, index: int, part: Part) -> Cell:
    value = part.value
    if not isinstance(value, dict) or not isinstance(value.get("cell_type"), str):
        raise ValueError(f"its cell {index} is none")
    source = source_of(value)
    if source is None:
        raise ValueError(f"its cell {index} has no source")
    return Cell(
        index, str(value.get("id", "")), value["cell_type"], source, jsonspans.object_at(text, part.value_start)
    )


def source_of(cell: Mapping[str, Any]) -> str | None:
    """Return a cell's source, which is a text or a list of lines; None where it is neither."""
    source = cell.get("source")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        return "".join(source)
    return source if isinstance(source, str) else None


def find(notebook: Notebook, cell_id: str | None, index: int | None) -> Cell:
    """Return the cell with the id, or the index. Raises CellError NO_MATCH, NOT_UNIQUE, RANGE, INVALID_INPUT."""
    name, cells = notebook.name, notebook.cells
    if cell_id is None and index is None:
        raise CellError("INVALID_INPUT", f"{name}: say which cell is meant, by cell_id or index.")
    if cell_id is None:
        assert index is not None
        if index >= len(cells):
            raise CellError("RANGE", f"{name} has {_count(cells)}, so none has the index {index} (they count from 0).")
        return cells[index]
    found = [cell for cell in cells if cell.id == cell_id and cell_id]
    if not found:
        raise CellError("NO_MATCH", f"{name} has no cell with the id {cell_id[:80]!r}; {_ids(notebook)}.")
    if len(found) > 1 and index is None:
        at = ", ".join(str(cell.index) for cell in found[:NAMED])
        raise CellError("NOT_UNIQUE", f"{name}: the cells {at} have the id {cell_id[:80]!r}; give the index too.")
    chosen = found[0] if index is None else next((cell for cell in found if cell.index == index), None)
    if chosen is None:
        raise CellError(
            "INVALID_INPUT", f"{name}: cell_id {cell_id[:80]!r} is the cell {found[0].index}, not {index}; give one."
        )
    return chosen


def _count(cells: tuple[Cell, ...]) -> str:
    return "1 cell" if len(cells) == 1 else f"{len(cells)} cells"


def _ids(notebook: Notebook) -> str:
    ids = [cell.id for cell in notebook.cells if cell.id]
    if not ids:
        return f"its {_count(notebook.cells)} have no ids, so use index"
    return "there are: " + ", ".join(ids[:NAMED]) + (", …" if len(ids) > NAMED else "")


# --- edits ---------------------------------------------------------------------------------------


def replace(notebook: Notebook, cell: Cell, source: str, type: str | None) -> CellEdit:
    """Return the edit that gives a cell another source, and maybe type; its outputs are cleared. Raises CellError."""
    source, type = source.replace("\r\n", "\n"), type or cell.type
    if (source, type) == (cell.source, cell.type):
        raise CellError("NO_CHANGE", f"{notebook.name}: cell {cell.index} holds just this source already.")
    style = _style(notebook, cell)
    old = cell.at.get("source")
    assert old is not None
    values = {"source": _source_text(source, style, notebook.text, old)} if source != cell.source else {}
    gone: set[str] = set()
    if type != cell.type:
        values["cell_type"] = json.dumps(type)
        gone = {"attachments"} if type == "code" else set(_CLEARED)
    if type == "code":
        values |= {key: text for key, text in _CLEARED.items() if _is_full(cell, key)}
    text = _rebuilt(notebook.text, cell, style, values, gone)
    return _checked(notebook, Region(cell.at.start, cell.at.end, text), cell, source, type)


def _is_full(cell: Cell, key: str) -> bool:
    part = cell.at.get(key)
    return part is None or part.value not in (None, [])


def insert(notebook: Notebook, after: Cell | None, source: str, type: str) -> CellEdit:
    """Return the edit that puts a new cell after another, None: before all others. Raises CellError."""
    source = source.replace("\r\n", "\n")
    index = after.index + 1 if after else 0
    near = after or next(iter(notebook.cells), None)
    style = _style(notebook, near)
    members = {"cell_type": json.dumps(type), "metadata": "{}", **(_CLEARED if type == "code" else {})}
    new_id = ""
    if notebook.minor >= 5:
        new_id = _new_id(notebook)
        members["id"] = json.dumps(new_id)
    members["source"] = _source_text(source, style, notebook.text, near.at.get("source") if near else None)
    text = _written(members, style)
    cell = Cell(index, new_id, type, "", notebook.listed)
    return _checked(notebook, _placed(notebook, index, text, style), cell, source, type)


def _new_id(notebook: Notebook) -> str:
    taken = {cell.id for cell in notebook.cells}
    return next(made for made in iter(lambda: secrets.token_hex(4), "") if made not in taken)


def _placed(notebook: Notebook, index: int, cell: str, style: "_Style") -> Region:
    listed, text = notebook.listed, notebook.text
    if not listed.parts:
        outer = style.newline + style.outer if style.newline else ""
        around = style.newline + style.brace if style.newline else ""
        return Region(listed.start + 1, listed.end - 1, f"{around}{cell}{outer}")
    if index == 0:
        first, next_ = listed.parts[0], listed.parts[min(1, len(listed.parts) - 1)]
        return Region(first.first, first.first, f"{cell},{text[next_.start : next_.first]}")
    before = listed.parts[index - 1]
    lead = text[before.start : before.first]
    return Region(before.value_end, before.value_end, f",{lead}{cell}")


def delete(notebook: Notebook, cell: Cell) -> CellEdit:
    """Return the edit that takes a cell out. Raises CellError."""
    listed = notebook.listed
    parts, index = listed.parts, cell.index
    if len(parts) == 1:
        region = Region(listed.start + 1, listed.end - 1, "")
    elif index == 0:
        region = Region(parts[0].first, parts[1].first, "")
    else:
        region = Region(parts[index - 1].value_end, parts[index].value_end, "")
    return _checked(notebook, region, cell, "", cell.type)


def _checked(notebook: Notebook, region: Region, cell: Cell, after: str, type: str) -> CellEdit:
    edit = Edit(notebook.text, applied(notebook.text, [region]), (region,), "cell")
    if fault := fault_of(edit.text):
        was = " It was not valid before either." if fault_of(notebook.text) else ""
        raise CellError("INVALID_INPUT", f"{notebook.name} would be no valid notebook: {fault}.{was}")
    return CellEdit(edit, cell.index, cell.id, type, cell.source, after)


def fault_of(text: str) -> str:
    """Return what a notebook's text breaks of its schema, "" for nothing. That cells have no ids is let pass."""
    try:
        book = json.loads(text)
    except (ValueError, RecursionError) as error:
        return cuts.head(str(error), 200)
    for number, cell in enumerate(book["cells"] if book.get("nbformat_minor", 0) >= 5 else ()):
        cell.setdefault("id", f"cell-{number}")
    fault = next(_faults(book), None)
    return "" if fault is None else cuts.head(str(getattr(fault, "message", fault)), 200)


# --- the file's own style ------------------------------------------------------------------------


@dataclass(frozen=True)
class _Style:
    """How a cell is written: on one line, or (with a `newline`) its brace, members and list items indented."""

    newline: str
    outer: str
    brace: str
    member: str
    item: str
    colon: str
    comma: str
    ascii: bool


def _style(notebook: Notebook, cell: Cell | None) -> _Style:
    text = notebook.text
    near = cell.at if cell else notebook.top
    first = near.parts[0]
    lead = text[near.start + 1 : first.first]
    colon = text[first.key_end : first.value_start]
    is_ascii = text.isascii() and "\\u" in text
    if "\n" not in lead:
        comma = "," + (text[near.parts[1].start : near.parts[1].first] if len(near.parts) > 1 else " ")
        return _Style("", "", "", "", "", colon, comma, is_ascii)
    newline, member = "\r\n" if "\r\n" in lead else "\n", lead[lead.rfind("\n") + 1 :]
    if cell is None:
        return _Style(newline, member, member * 2, member * 3, member * 4, colon, ",", is_ascii)
    tail = text[near.parts[-1].value_end : near.end - 1]
    brace = tail[tail.rfind("\n") + 1 :] if "\n" in tail else ""
    unit = member.removeprefix(brace) or " "
    return _Style(newline, "", brace, member, member + unit, colon, ",", is_ascii)


def _source_text(source: str, style: _Style, text: str, like: Part | None) -> str:
    """Return a source as JSON, as a list of lines or a text as `like` is; lines that stay keep their escapes."""
    if like is not None and isinstance(like.value, str):
        return json.dumps(source, ensure_ascii=style.ascii)
    old = jsonspans.list_at(text, like.value_start).parts if like is not None else ()
    known = {part.value: text[part.value_start : part.value_end] for part in old}
    items = [known.get(line) or json.dumps(line, ensure_ascii=style.ascii) for line in lines.split(source)]
    if not items:
        return "[]"
    lead = text[old[0].start : old[0].first] if old else f"{style.newline}{style.item}" if style.newline else ""
    if "\n" not in lead:
        between = text[old[1].start : old[1].first] if len(old) > 1 else " "
        return f"[{f',{between}'.join(items)}]"
    tail = text[old[-1].value_end : old[-1].end] if old else f"{style.newline}{style.member}"
    return "[" + ",".join(lead + item for item in items) + tail + "]"


def _rebuilt(text: str, cell: Cell, style: _Style, values: Mapping[str, str], gone: set[str]) -> str:
    """Return the cell's text with other values, new members and without those that are gone."""
    parts = cell.at.parts
    lead, tail = text[parts[0].start : parts[0].first], text[parts[-1].value_end : parts[-1].end]
    written = [(part.key, text[part.start : part.value_start] + _value(text, part, values)) for part in parts]
    written = [(key, body) for key, body in written if key not in gone]
    keys = [part.key for part in parts]
    for key in sorted(values.keys() - set(keys)):
        body = f'{lead}"{key}"{style.colon}{values[key]}'
        at = sum(1 for other, _ in written if other < key) if keys == sorted(keys) else len(written)
        written.insert(at, (key, body))
    return "{" + ",".join(body for _, body in written) + tail + "}"


def _value(text: str, part: Part, values: Mapping[str, str]) -> str:
    return values.get(part.key, text[part.value_start : part.value_end])


def _written(members: Mapping[str, str], style: _Style) -> str:
    """Return a new object with its keys in order, as Jupyter writes them."""
    pairs: Iterator[str] = (f'"{key}"{style.colon}{members[key]}' for key in sorted(members))
    if not style.newline:
        return "{" + style.comma.join(pairs) + "}"
    lead = style.newline + style.member
    return "{" + ",".join(lead + pair for pair in pairs) + style.newline + style.brace + "}"
