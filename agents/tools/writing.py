"""What all tools that write text share: read the file as it is, hold the edit against the rules, write, tell."""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from agents.tools.base import Fact, Output, Result, ToolContext, ToolError
from workspaces import editing, encodings, files, leaks, linediff, names, paths

EDIT_BYTES = 50 * 1024 * 1024
SHOWN_CHARS = 6000
MARK = "\ufeff"
"""The byte order mark, as the first character of a text."""
BESIDE_BYTES = 1024 * 1024
"""From here on a thread of its own is worth its start."""

_beside = ThreadPoolExecutor(2, thread_name_prefix="sha256")


class WriteOutput(Output):
    """What a write did. `diff` has rows [kind, line before, line after, text], at most 400; the counts are true.

    `start_line` and `end_line` are the lines, as the file is now, from the first to the last change; 0 in an empty
    file. `diff_cut`: there are more rows. `notes` are sentences for people and the model.
    """

    path: str
    created: bool = False
    diff: list[linediff.Row] = []
    diff_cut: bool = False
    additions: int = 0
    deletions: int = 0
    start_line: int = 0
    end_line: int = 0
    notes: list[str] = []


@dataclass(frozen=True)
class Target:
    """A path to write, locked. The other fields are of the file as it is; None and empty where there is none."""

    tree: Path
    path: paths.WorkspacePath
    decoded: encodings.Decoded | None = None
    data: bytes = b""
    sha: str = ""
    stat: os.stat_result | None = None

    @property
    def text(self) -> str:
        return self.decoded.text if self.decoded else ""

    @property
    def text_sha(self) -> str:
        """The hash of the text as the read state has it, where that is known without reckoning."""
        return _text_sha(self.decoded, self.sha) if self.decoded else ""


def _text_sha(decoded: encodings.Decoded, sha: str) -> str:
    """Return the hash of bytes as that of their text, "" where these differ (read states hash the UTF-8 of a text)."""
    return sha if decoded.encoding == "utf-8" and not decoded.bom else ""


@contextlib.contextmanager
def target(ctx: ToolContext, file_path: str) -> Iterator[Target]:
    """Resolve a path, ask the policy, and hold the path's lock while the file is checked and written."""
    tree = ctx.tree
    path = paths.resolve(tree, file_path)
    ctx.rules.may_write(path.relative)
    ctx.rules.may_read(path.relative)  # what is hidden can't be written either: the answer would show it
    with files.lock(ctx.workspace.folder / "locks", path):
        if not os.path.lexists(path.real):
            yield Target(tree, path)
            return
        content = files.read(tree, path, EDIT_BYTES)
        decoded = encodings.decode(content.data, path.given)
        yield Target(tree, path, decoded, content.data, files.sha256(content.data), content.stat)


def fresh_text(ctx: ToolContext, target: Target) -> str:
    """Return the text of a file that was read and did not change since. Raises NOT_FOUND, NOT_READ, STALE."""
    if target.decoded is None:
        raise ToolError("NOT_FOUND", f"{paths.missing(target.tree, target.path)} To create it use write_file.")
    ctx.reads.require_fresh(target.path, target.text, target.stat, target.text_sha)
    return target.text


def refuse_notebook(file_path: str) -> None:
    """Raise USE_NOTEBOOK_TOOL for a notebook, which is JSON that only looks like text."""
    if file_path.lower().endswith(".ipynb"):
        raise ToolError("USE_NOTEBOOK_TOOL", f"{file_path} is a notebook, which is edited by cell: use edit_notebook.")


@dataclass(frozen=True)
class Saved:
    """What was written, for the card, and what changed."""

    output: WriteOutput
    change: linediff.Change

    def told(self, said: str) -> Result:
        """Return the result: what was said, the notes, and the changed lines as they are now."""
        head = " ".join([said, *self.output.notes])
        shown = region_shown(self.change) or "(the file is empty now)"
        return Result(f"{head}\n{shown}", self.output.dump(), touched=(self.output.path,))


def save(ctx: ToolContext, target: Target, edit: editing.Edit) -> Saved:
    """Write the edited text through the door, after the baseline and the journal know of it."""
    path, blocks = target.path, list(linediff.blocks(edit))
    if not ctx.rules.may_hold_secrets(path.relative):
        _refuse_secrets(path, edit, blocks)
    decoded = target.decoded or encodings.Decoded("")
    added = editing.added(edit) if decoded.guessed else ""
    data = decoded.edited(target.data, edit.regions, path.given, added=added)
    name, sha = names.shown(path.relative), _hashed(data)
    ctx.reads.baselines.remember(name)
    written = files.write_workspace_bytes(
        target.tree,
        path,
        data,
        rescue=ctx.workspace.folder / "rescue",
        announce=lambda: ctx.journal.will_write(name, target.sha, sha()),
    )
    text_sha = files.sha256(data[3:]) if _brings_mark(decoded, edit) else _text_sha(decoded, sha())
    ctx.reads.note_written(path, written.stat, edit, decoded, ctx.step, text_sha)
    change = linediff.change_of(blocks)
    output = WriteOutput(
        path=name,
        created=written.created,
        diff=change.rows,
        diff_cut=change.cut,
        additions=change.additions,
        deletions=change.deletions,
        start_line=change.first,
        end_line=change.last,
        notes=_notes(written),
        fact=Fact(ctx.tool, name, f"{change.first}-{change.last}", sha(), refresh=f"read_file {name}"),
    )
    return Saved(output, change)


def unmarked(target: Target, content: str) -> str:
    """Return a whole new content without the byte order mark at its start, where the file has one already."""
    return content.removeprefix(MARK) if target.decoded and target.decoded.bom else content


def _brings_mark(decoded: encodings.Decoded, edit: editing.Edit) -> bool:
    """Return whether an edit puts a byte order mark at the start of UTF-8, which is no part of its text then."""
    first = edit.regions[0] if edit.regions else None
    starts = first is not None and not first.start and first.text.startswith(MARK)
    return starts and decoded.encoding == "utf-8" and not decoded.bom


def _hashed(data: bytes) -> Callable[[], str]:
    """Return what gives the sha256 of the bytes; of many it is reckoned beside, while they are written to disk."""
    if len(data) < BESIDE_BYTES:
        sha = files.sha256(data)
        return lambda: sha
    return _beside.submit(files.sha256, data).result


def _refuse_secrets(path: paths.WorkspacePath, edit: editing.Edit, blocks: Sequence[linediff.Block]) -> None:
    for block in blocks:
        leak = leaks.find(block.new, known=edit.before)
        if leak:
            raise ToolError(
                "SECRET_DETECTED",
                f"{path.given}: line {block.new_line + leak.line - 1} would hold what looks like a secret "
                f"({leak.kind}); nothing was written. Read it from the environment, or use a plainly made-up value.",
            )


def _notes(written: files.Written) -> list[str]:
    notes = []
    if written.links_broken:
        notes.append(f"The file had {written.links_broken} other name(s) by hard link; they keep the old content.")
    if written.in_place:
        notes.append("Its folder forbids replacing it, so it was rewritten in place.")
    return notes


def region_shown(change: linediff.Change) -> str:
    """Return the lines around each change as they are now, numbered as read_file does."""
    shown: list[str] = []
    previous = 0
    size = 0
    for kind, _, number, text in change.rows:
        if kind == "-" or not isinstance(number, int):
            continue
        if previous and number > previous + 1:
            shown.append("   …")
        previous = number
        shown.append(f"{number:6}\t{text}")
        size += len(shown[-1]) + 1
        if size > SHOWN_CHARS:
            return "\n".join([*shown, "   … (more was changed; read_file shows it)"])
    return "\n".join([*shown, "   … (more was changed; read_file shows it)"] if change.cut else shown)
