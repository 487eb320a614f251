"""The tool replace_lines: some lines replaced, or deleted, by their numbers."""

from pydantic import Field

from agents.tools import writing
from agents.tools.base import Effect, FilePath, Input, Result, ToolContext, tool
from workspaces import editing


class ReplaceLines(Input):
    file_path: FilePath
    start_line: int = Field(ge=1, description="The first line to replace, as read_file numbers them, from 1.")
    end_line: int = Field(ge=1, description="The last line to replace; it is replaced too.")
    new_content: str = Field(description="The lines to put there, without line numbers. Empty to delete the lines.")


@tool(effect=Effect.WRITE, input=ReplaceLines, output=writing.WriteOutput)
def replace_lines(ctx: ToolContext, args: ReplaceLines) -> Result:
    """Replace whole lines of a file, by their numbers, or delete them; read the lines before you replace them.

    Good for a long passage, or for a text that is not unique; for a small change prefer edit_file, which can't hit the
    wrong lines. An edit moves the lines below it, so go by the numbers of the last result. Never copy the line-number
    prefix of read_file. Line ends, encoding, mode and the file's final newline are kept.
    """
    writing.refuse_notebook(args.file_path)
    with writing.target(ctx, args.file_path) as target:
        text = writing.fresh_text(ctx, target)
        edit = editing.replace_lines(text, args.start_line, args.end_line, args.new_content, name=args.file_path)
        addressed = editing.line_region(text, args.start_line, args.end_line)
        ctx.reads.require_seen(target.path, text, [addressed])
        saved = writing.save(ctx, target, edit)
    one = args.start_line == args.end_line
    which = f"line {args.start_line}" if one else f"lines {args.start_line}–{args.end_line}"
    return saved.told(f"{args.file_path}: {which} {'replaced' if args.new_content else 'deleted'}.")
