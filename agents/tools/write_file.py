"""The tool write_file: a new file, or a whole new content."""

from pydantic import Field

from agents.tools import writing
from agents.tools.base import Effect, FilePath, Input, Result, ToolContext, tool
from workspaces import editing, lines, names


class WriteFile(Input):
    file_path: FilePath
    content: str = Field(description="The whole content, with the line ends it shall have.")


@tool(effect=Effect.WRITE, input=WriteFile, output=writing.WriteOutput, minimal=True)
def write_file(ctx: ToolContext, args: WriteFile) -> Result:
    """Create a file, or replace the whole content of one that you have read.

    Prefer edit_file for a file that exists. Create no files that nobody asked for. Missing folders are made.
    """
    with writing.target(ctx, args.file_path) as target:
        content = writing.unmarked(target, args.content)
        if target.decoded is not None:
            ctx.reads.require_whole(target.path, target.text, target.stat, target.text_sha)
            if target.text == content:
                same = writing.WriteOutput(path=names.shown(target.path.relative))
                return Result(f"{args.file_path} holds just this content already; nothing was written.", same.dump())
        edit = editing.whole(target.text, content)
        saved = writing.save(ctx, target, edit)
    count = lines.count(args.content)
    verb = "created" if saved.output.created else "updated"
    said = f"{args.file_path} {verb} ({count} {'line' if count == 1 else 'lines'})."
    return Result(" ".join([said, *saved.output.notes]), saved.output.dump(), touched=(saved.output.path,))
