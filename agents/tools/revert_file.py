"""The tool revert_file: a path back to what it was."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.tools import writing
from agents.tools.base import Effect, FilePath, Input, Result, ToolContext, ToolError, tool
from agents.tools.writing import WriteOutput
from workspaces import (
    editing,
    encodings,
    files,
    linediff,
    lines,
    names,
    paths,
    provenance,
    putting_back,
    snapshots,
    store,
)
from workspaces.models import Snapshot

WAS = {None: "absent", store.LINK: "link", store.EXECUTABLE: "executable", store.SUBMODULE: "submodule"}


class RevertFile(Input):
    file_path: FilePath
    to: int = Field(0, ge=0, description="The snapshot to go back to; 0 is the start of the run.")


class RevertedPath(BaseModel):
    """One path that was written, and what it is now."""

    model_config = ConfigDict(extra="forbid")

    path: str
    now: Literal["file", "executable", "link", "submodule", "absent"]


class RevertFileOutput(WriteOutput):
    """The diff and its counts are of the text at `path`, from before the revert to after it; none for a binary."""

    to: int
    files: list[RevertedPath]
    """All that was written; more than one path for a renamed file, none where nothing differed."""
    undo: int | None = None
    """The snapshot that holds the state before; None where none does, as of an ignored file."""
    binary: bool = False


@tool(effect=Effect.WRITE, input=RevertFile, output=RevertFileOutput)
def revert_file(ctx: ToolContext, args: RevertFile) -> Result:
    """Put one file back to what it was when the run started, or to a snapshot: content, mode, link or absence.

    Works on changed, new, deleted, renamed and binary files. Use it rather than git commands; it can itself be undone.
    """
    path = paths.resolve_parent(ctx.tree, args.file_path)
    if not path.relative:
        raise ToolError("IS_DIRECTORY", f"{args.file_path} is the workspace itself; name a file in it.")
    name = names.shown(path.relative)
    _must_be_allowed(ctx, [name])
    with files.lock(ctx.workspace.folder / "locks", path):
        _keep(ctx, [name])
        planned = putting_back.planned(ctx.workspace, name, args.to, ctx.rules.hides)
        others = [shown for each in planned if (shown := names.shown(each)) != name]
        _must_be_allowed(ctx, others)
        _keep(ctx, others)
        wanted = putting_back.differing(ctx.workspace, planned)
        undo = store.latest(ctx.workspace).number if putting_back.is_kept(ctx.workspace, wanted) else None
        with _compared(ctx, path) as comparison:
            _tell_journal(ctx, path, wanted)
            written = putting_back.carry_out(ctx.workspace, wanted, ctx.rules.hides)
    return _result(ctx, args, wanted, written, undo, comparison)


def _must_be_allowed(ctx: ToolContext, paths_named: list[str]) -> None:
    for each in paths_named:
        ctx.rules.may_write(each)
        ctx.rules.may_read(each)  # the answer shows what is in it


def _keep(ctx: ToolContext, paths_named: list[str]) -> None:
    """Have these paths, as they are now, in a snapshot: also what changed from outside since the last one."""
    if paths_named:
        snapshots.take(ctx.workspace, call_id="", step=ctx.step, paths=paths_named)


def _tell_journal(ctx: ToolContext, path: paths.WorkspacePath, wanted: putting_back.Wanted) -> None:
    """Note the one file's bytes before and after, so that a crash can tell whether it happened.

    A renamed file, a link or a mode is put back once more after a crash, which changes nothing.
    """
    if len(wanted) != 1 or (ctx.tree / path.relative).is_symlink():
        return
    entry = next(iter(wanted.values()))
    if entry is not None and entry.mode not in (store.FILE, store.EXECUTABLE):
        return
    before, after = _sha256(ctx, path), ""
    if entry is not None:
        after = files.sha256(store.read_blob(store.ensure(ctx.workspace.repository), entry.oid))
    if before is not None and before != after:
        ctx.journal.will_write(names.shown(path.relative), before, after)


def _sha256(ctx: ToolContext, path: paths.WorkspacePath) -> str | None:
    """Return the hash of the file there, "" where there is none, None for what is no file that can be read."""
    try:
        return files.sha256(files.read(ctx.tree, path, store.STORED_LIMIT).data)
    except paths.WorkspaceError as error:
        return "" if error.code == "NOT_FOUND" else None


# --- what it changed ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Text:
    decoded: encodings.Decoded
    stat: os.stat_result


@dataclass
class _Comparison:
    """What differs between the text before and after. `change` stays None for a binary or a link.

    `is_seen`: the reader knows what the file holds now; None where there is no text.
    """

    change: linediff.Change | None = None
    shown: str = ""
    is_seen: bool | None = None


@contextlib.contextmanager
def _compared(ctx: ToolContext, path: paths.WorkspacePath) -> Iterator[_Comparison]:
    """Compare the file's text before the block with that after it, and let the read state follow.

    Who had seen the file as it was before, and is shown all that changed, has seen what it is now: as after an edit.
    """
    found = _Comparison()
    before, was_text = _text(ctx, path)
    had_seen = before is not None and _is_fresh(ctx, path, before)
    yield found
    after, is_text = _text(ctx, path)
    if not (was_text and is_text):
        return
    edit = _edit(before.decoded.text if before else "", after.decoded.text if after else "")
    found.change = linediff.change(edit)
    found.shown = writing.region_shown(found.change)
    if after is not None:
        if had_seen and not found.change.cut and len(found.shown) <= writing.SHOWN_CHARS:
            ctx.reads.note_written(path, after.stat, edit, after.decoded, ctx.step)
        found.is_seen = _is_fresh(ctx, path, after)


def _text(ctx: ToolContext, path: paths.WorkspacePath) -> tuple[_Text | None, bool]:
    """Return the file's text, None where there is none, and whether that can be compared as text."""
    place = ctx.tree / path.relative
    if place.is_symlink():
        return None, False
    if not place.is_file():
        return None, True
    try:
        content = files.read(ctx.tree, path, writing.EDIT_BYTES)
        return _Text(encodings.decode(content.data, path.given), content.stat), True
    except paths.WorkspaceError:
        return None, False  # binary, too large, or gone meanwhile


def _is_fresh(ctx: ToolContext, path: paths.WorkspacePath, text: _Text) -> bool:
    try:
        ctx.reads.require_fresh(path, text.decoded.text)
    except paths.WorkspaceError:
        return False
    return True


def _edit(before: str, after: str) -> editing.Edit:
    """Return the edit that makes one text of the other, by the lines that differ."""
    old, new = lines.split(before), lines.split(after)
    starts, ends = [0], [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    for line in new:
        ends.append(ends[-1] + len(line))
    regions = tuple(
        editing.Region(starts[a1], starts[a2], after[ends[b1] : ends[b2]])
        for a1, a2, b1, b2 in provenance.changed_blocks(old, new)
    )
    return editing.Edit(before, after, regions, "whole")


# --- the answer --------------------------------------------------------------------------------------


def _result(
    ctx: ToolContext,
    args: RevertFile,
    wanted: putting_back.Wanted,
    written: list[str],
    undo: int | None,
    comparison: _Comparison,
) -> Result:
    name = names.shown(paths.resolve_parent(ctx.tree, args.file_path).relative)
    output = RevertFileOutput(path=name, to=args.to, files=[_path(each, wanted) for each in written])
    what = "the start of the run" if args.to == 0 else Snapshot.called(args.to)
    if not written:
        return Result(f"{args.file_path} is as it was at {what} already; nothing was changed.", output.dump())
    output.undo = None if putting_back.is_ignored(ctx.workspace, name) else undo
    change, output.binary = comparison.change, comparison.change is None
    if change is not None:
        output.diff, output.diff_cut = change.rows, change.cut
        output.additions, output.deletions = change.additions, change.deletions
        output.start_line, output.end_line = change.first, change.last
    output.notes = _notes(output, comparison)
    head = " ".join([f"{args.file_path} is back to {what}.", *output.notes])
    return Result(f"{head}\n{comparison.shown}".rstrip("\n"), output.dump(), touched=tuple(written))


def _path(shown: str, wanted: putting_back.Wanted) -> RevertedPath:
    entry = next((entry for path, entry in wanted.items() if names.shown(path) == shown), None)
    return RevertedPath.model_validate({"path": shown, "now": WAS.get(entry.mode if entry else None, "file")})


def _notes(output: RevertFileOutput, comparison: _Comparison) -> list[str]:
    """Return sentences on what the diff does not show."""
    words = {"absent": "gone", "file": "a file again", "executable": "an executable file", "link": "a link again"}
    notes = [
        f"{each.path} is {words.get(each.now, f'a {each.now}')}."
        for each in output.files
        if each.path != output.path or each.now != "file"
    ]
    if comparison.is_seen is False:
        notes.append("Read it again before you edit it.")
    if output.undo is not None:
        notes.append(f"To undo it: revert_file with to={output.undo}.")
    return notes
