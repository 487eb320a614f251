"""The tool revert_file: a path back to what it was."""

from pydantic import Field

from agents.tools.base import Effect, FilePath, Input, Output, Result, ToolContext, tool
from workspaces import files, names, paths, snapshots


class RevertFile(Input):
    file_path: FilePath
    to: int = Field(0, ge=0, description="The snapshot to go back to; 0 is the start of the run.")


@tool(effect=Effect.WRITE, input=RevertFile, output=Output)
def revert_file(ctx: ToolContext, args: RevertFile) -> Result:
    """Put one file back to what it was when the run started, or to a snapshot: content, mode, link or absence.

    Works on changed, new, deleted and renamed files. Use it rather than git commands; it can itself be undone.
    """
    path = paths.resolve_parent(ctx.tree, args.file_path)
    ctx.rules.may_write(path.relative)
    name = names.shown(path.relative)
    with files.lock(ctx.workspace.folder / "locks", path):
        written = snapshots.put_back(ctx.workspace, name, args.to)
        for each in written:
            ctx.reads.forget(each)
    what = "the start of the run" if args.to == 0 else f"snapshot {args.to}"
    data = {"path": name, "to": args.to}
    if not written:
        return Result(f"{args.file_path} is as it was at {what} already; nothing was changed.", data)
    others = [each for each in written if each != name]
    also = f" With it: {', '.join(others[:10])}." if others else ""
    again = " Read it again before you edit it." if (ctx.tree / path.relative).is_file() else ""
    return Result(f"{args.file_path} is back to {what}.{also}{again}", data, touched=tuple(written))
