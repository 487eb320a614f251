"""The tool check_changes: what differs from the baseline."""

from typing import Literal

from pydantic import Field

from agents.tools.base import Effect, Input, Output, Result, ToolContext, tool
from workspaces import globs, outputs, paths, snapshots

FILES = 300
DIFFS = 100


class CheckChanges(Input):
    mode: Literal["summary", "full"] = Field("summary", description="The files with counts, or their diffs as well.")
    paths: list[str] = Field(default_factory=list, max_length=100, description="Only these files or folders.")


@tool(effect=Effect.READ, input=CheckChanges, output=Output)
def check_changes(ctx: ToolContext, args: CheckChanges) -> Result:
    """Show what changed in the workspace since the run started, whatever was staged or committed since.

    Use it before you finish, to see that only what you meant was changed.
    """
    wanted = [paths.resolve_parent(ctx.tree, path).relative for path in args.paths]
    changes = snapshots.changes(ctx.workspace)
    files = [file for file in changes.files if not wanted or any(_below(file, path) for path in wanted)]
    if not files:
        return Result("Nothing is changed against the baseline" + (" there." if wanted else "."), {"files": []})
    rows = [_row(file) for file in files[:FILES]]
    total = len(files) if wanted else changes.file_count
    if total > FILES:
        rows.append(f"[{FILES} of {total} files shown; name paths to see the others]")
    additions, deletions = sum(f.additions for f in files), sum(f.deletions for f in files)
    rows.append(f"[{total} files, +{additions} −{deletions}]")
    content = "\n".join(rows)
    if args.mode == "full":
        content += _diffs(ctx, files[:DIFFS], ctx.limits.changes_chars - len(content))
    return Result(content, {"files": [_listed(file) for file in files[:FILES]]}, truncated=total > FILES)


def _below(file: snapshots.FileChange, path: str) -> bool:
    return not path or any(globs.is_below(each, path) for each in (file.path, file.old_path) if each)


def _row(file: snapshots.FileChange) -> str:
    renamed = f"{file.old_path} → " if file.old_path and file.old_path != file.path else ""
    size = f"binary, {file.size_old} → {file.size_new} bytes" if file.binary else f"+{file.additions} −{file.deletions}"
    mode = f", mode {file.old_mode} → {file.new_mode}" if _mode_changed(file) else ""
    return f"{file.status:8} {renamed}{file.path} ({size}{mode})"


def _mode_changed(file: snapshots.FileChange) -> bool:
    return file.old_mode != file.new_mode and file.status not in ("added", "deleted")


def _listed(file: snapshots.FileChange) -> dict[str, object]:
    return {
        "path": file.path,
        "old_path": file.old_path,
        "status": file.status,
        "additions": file.additions,
        "deletions": file.deletions,
        "binary": file.binary,
    }


def _diffs(ctx: ToolContext, files: list[snapshots.FileChange], room: int) -> str:
    """Return the diffs, each cut to its share of the room."""
    share = max(500, room // len(files))
    said = []
    for file in files:
        if file.binary:
            continue
        diff = snapshots.file_diff(ctx.workspace, file.path)
        lines = [f"--- {file.path}"]
        for hunk in diff.hunks:
            lines.append(hunk.header)
            lines += [f"{line.kind}{line.text}" for line in hunk.lines]
        cut = outputs.head_and_tail("\n".join(lines), share, "name the path alone to see more of it")
        said.append(cut + ("\n[the diff is longer]" if diff.truncated else ""))
    return "\n\n" + "\n\n".join(said) if said else ""
