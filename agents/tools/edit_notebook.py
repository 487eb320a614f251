"""The tool edit_notebook: one cell of a notebook replaced, added or taken out."""

from typing import Literal

from pydantic import BaseModel, Field

from agents.tools import writing
from agents.tools.base import Effect, FilePath, Input, Result, ToolContext, ToolError, tool
from workspaces import cells, cuts, leaks
from workspaces.editing import Region

SHOWN_CHARS = 8000
"""Of a source in a card."""


class EditNotebook(Input):
    file_path: FilePath
    cell_id: str | None = Field(None, description="The cell's id, as read_file shows it.")
    index: int | None = Field(None, ge=0, description="The cell's number, from 0; for a cell without an id.")
    source: str | None = Field(None, description="The cell's whole new source. Not for mode delete.")
    mode: Literal["replace", "insert", "delete"] = Field("replace", description="What is done with the cell.")
    cell_type: Literal["code", "markdown", "raw"] | None = Field(
        None, description="Of a new cell (code by default), or what a replaced cell becomes."
    )


class EditedCell(BaseModel):
    """The cell: as it is now, or was where it is deleted."""

    index: int
    id: str
    type: str
    mode: str


class EditNotebookOutput(writing.WriteOutput):
    """The cell's source before and after; `cut` says that one of them is longer."""

    cell: EditedCell
    before: str
    after: str
    cut: bool = False


@tool(effect=Effect.WRITE, input=EditNotebook, output=EditNotebookOutput)
def edit_notebook(ctx: ToolContext, args: EditNotebook) -> Result:
    """Replace, insert or delete one cell of a notebook (.ipynb) that you have read with read_file.

    Use this for notebooks rather than edit_file. Name the cell by cell_id, or by index where it has no id. mode
    replace gives the cell the whole new source and clears its outputs; insert puts a new cell after the one named,
    or before all others if none is; delete takes it out. The rest of the file keeps every byte.
    """
    if not args.file_path.lower().endswith(".ipynb"):
        raise ToolError("INVALID_INPUT", f"{args.file_path} is no notebook (.ipynb); use edit_file.")
    if args.source is None and args.mode != "delete":
        raise ToolError("INVALID_INPUT", f"{args.file_path}: source is missing; mode {args.mode} needs it.")
    with writing.target(ctx, args.file_path) as target:
        text = _existing(target)
        ctx.reads.require_fresh(target.path, text)
        notebook = cells.parse(text, args.file_path)
        done = _edit(notebook, args)
        ctx.reads.require_seen(target.path, text, [_seen_region(notebook, done)])
        _refuse_secrets(ctx, target, done)
        saved = writing.save(ctx, target, done.edit)
    return _answer(args, done, saved)


def _existing(target: writing.Target) -> str:
    if target.decoded is None:
        raise ToolError(
            "NOT_FOUND",
            f"{target.path.given} does not exist. Create a notebook with write_file: "
            '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, then insert cells.',
        )
    return target.decoded.text


def _edit(notebook: cells.Notebook, args: EditNotebook) -> cells.CellEdit:
    named = args.cell_id is not None or args.index is not None
    match args.mode:
        case "insert":
            after = cells.find(notebook, args.cell_id, args.index) if named else None
            return cells.insert(notebook, after, args.source or "", args.cell_type or "code")
        case "delete":
            return cells.delete(notebook, cells.find(notebook, args.cell_id, args.index))
        case "replace":
            cell = cells.find(notebook, args.cell_id, args.index)
            return cells.replace(notebook, cell, args.source or "", args.cell_type)


def _seen_region(notebook: cells.Notebook, done: cells.CellEdit) -> Region:
    """Return what must have been read, where not all of the file was: the whole cell, or the one beside a new one."""
    region = done.edit.regions[0]
    near = notebook.cells[max(0, min(done.index, len(notebook.cells) - 1))].at if notebook.cells else notebook.listed
    return Region(min(region.start, near.start), max(region.end, near.end), "")


def _refuse_secrets(ctx: ToolContext, target: writing.Target, done: cells.CellEdit) -> None:
    """Look at the source itself, too: in the file its lines are apart, each a text of its own."""
    leak = leaks.find(done.after, known=done.before) if not ctx.rules.may_hold_secrets(target.path.relative) else None
    if leak:
        raise ToolError(
            "SECRET_DETECTED",
            f"{target.path.given}: line {leak.line} of the cell would hold what looks like a secret ({leak.kind}); "
            "nothing was written. Read it from the environment, or use a plainly made-up value.",
        )


def _answer(args: EditNotebook, done: cells.CellEdit, saved: writing.Saved) -> Result:
    called = f"cell {done.index}" + (f" (id {done.id})" if done.id else "")
    said = {
        "replace": f"{called} replaced; what it had put out is cleared.",
        "insert": f"{called} inserted, of type {done.type}.",
        "delete": f"{called} deleted; the cells below it move up by one.",
    }[args.mode]
    output = EditNotebookOutput(
        **saved.output.model_dump(),
        cell=EditedCell(index=done.index, id=done.id, type=done.type, mode=args.mode),
        before=cuts.head(done.before, SHOWN_CHARS),
        after=cuts.head(done.after, SHOWN_CHARS),
        cut=max(len(done.before), len(done.after)) > SHOWN_CHARS,
    )
    content = " ".join([f"{args.file_path}: {said}", *saved.output.notes])
    return Result(content, output.dump(), touched=(saved.output.path,))
