"""What all tools that write text share: read the file as it is, hold the edit against the rules, write, tell."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agents.tools.base import ToolContext, ToolError
from workspaces import editing, encodings, files, leaks, linediff, names, paths, snapshots

EDIT_BYTES = 50 * 1024 * 1024


@dataclass(frozen=True)
class Target:
    """A path to write, locked. `decoded` and `sha` are of the file as it is; None and "" where there is none."""

    path: paths.WorkspacePath
    decoded: encodings.Decoded | None
    sha: str

    @property
    def text(self) -> str:
        return self.decoded.text if self.decoded else ""


@contextlib.contextmanager
def target(ctx: ToolContext, file_path: str) -> Iterator[Target]:
    """Resolve a path, ask the policy, and hold the path's lock while the file is checked and written."""
    path = paths.resolve(ctx.tree, file_path)
    ctx.rules.may_write(path.relative)
    with files.lock(ctx.workspace.folder / "locks", path):
        try:
            content = files.read(ctx.tree, path, EDIT_BYTES)
        except paths.PathError as error:
            if error.code != "NOT_FOUND":
                raise
            yield Target(path, None, "")
            return
        yield Target(path, encodings.decode(content.data, path.given), files.sha256(content.data))


@dataclass(frozen=True)
class Saved:
    """What was written: the data for the card, what changed, and sentences worth telling."""

    data: dict[str, Any]
    change: linediff.Change
    notes: tuple[str, ...]


def save(ctx: ToolContext, target: Target, edit: editing.Edit) -> Saved:
    """Write the edited text through the door, after the baseline and the journal know of it."""
    path = target.path
    _refuse_secrets(path, edit)
    decoded = target.decoded or encodings.Decoded("")
    data = decoded.encode(edit.text, path.given, before=edit.before)
    name = names.shown(path.relative)
    snapshots.remember_baseline(ctx.workspace, name)
    ctx.journal.will_write(name, target.sha, files.sha256(data))
    written = files.write_workspace_bytes(ctx.tree, path, data, rescue=ctx.workspace.folder / "rescue")
    ctx.reads.note_written(path, written.stat, edit, decoded, ctx.step)
    change = linediff.change(edit)
    card = {
        "path": name,
        "created": written.created,
        "diff": change.rows,
        "diff_cut": change.cut,
        "additions": change.additions,
        "deletions": change.deletions,
    }
    return Saved(card, change, _notes(written))


def _refuse_secrets(path: paths.WorkspacePath, edit: editing.Edit) -> None:
    for block in linediff.blocks(edit):
        leak = leaks.find(block.new, known=edit.before)
        if leak:
            raise ToolError(
                "SECRET_DETECTED",
                f"{path.given}: line {block.new_line + leak.line - 1} would hold what looks like a secret "
                f"({leak.kind}); nothing was written. Read it from the environment, or use a plainly made-up value.",
            )


def _notes(written: files.Written) -> tuple[str, ...]:
    notes = []
    if written.links_broken:
        notes.append(f"The file had {written.links_broken} other name(s) by hard link; they keep the old content.")
    if written.in_place:
        notes.append("Its folder forbids replacing it, so it was rewritten in place.")
    return tuple(notes)


def region_shown(change: linediff.Change, limit_chars: int = 6000) -> str:
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
        if size > limit_chars:
            return "\n".join([*shown, "   … (more was changed; read_file shows it)"])
    return "\n".join([*shown, "   … (more was changed; read_file shows it)"] if change.cut else shown)
