"""The tool insert_lines: new lines after the line of a number."""

from pydantic import Field

from agents.tools import writing
from agents.tools.base import Effect, FilePath, Input, Result, ToolContext, tool
from workspaces import editing, lines
from workspaces.reads import ReadError


class InsertLines(Input):
    file_path: FilePath
    after_line: int = Field(ge=0, description="The line, as read_file numbers them, to insert after; 0 for the top.")
    content: str = Field(description="The lines to insert, without line numbers.")


@tool(effect=Effect.WRITE, input=InsertLines, output=writing.WriteOutput)
def insert_lines(ctx: ToolContext, args: InsertLines) -> Result:
    """Insert new lines after a line of a file that you have read; after_line 0 puts them before the first.

    What is there stays as it is. Use it for what is new, and edit_file or replace_lines for what changes. An edit moves
    the lines below it, so go by the numbers of the last result. Never copy the line-number prefix of read_file. Line
    ends, encoding, mode and the file's final newline are kept.
    """
    writing.refuse_notebook(args.file_path)
    with writing.target(ctx, args.file_path) as target:
        text = writing.fresh_text(ctx, target)
        edit = editing.insert_lines(text, args.after_line, args.content, name=args.file_path)
        _require_neighbour(ctx, target, args.after_line)
        saved = writing.save(ctx, target, edit)
    count = lines.count(args.content)
    where = f"after line {args.after_line}" if args.after_line else "before the first line"
    return saved.told(f"{args.file_path}: {count} {'line' if count == 1 else 'lines'} inserted {where}.")


def _require_neighbour(ctx: ToolContext, target: writing.Target, after: int) -> None:
    """Raise ReadError unless the line before the new ones, or the one that will follow, was seen.

    One of them tells where the new lines go: who read the lines 20 to 40 can insert above 20 and below 40. An empty
    file has neither.
    """
    near = [number for number in (after, after + 1) if 1 <= number <= lines.count(target.text)]
    refusal: ReadError | None = None
    for number in near:
        try:
            ctx.reads.require_seen(target.path, target.text, [editing.line_region(target.text, number, number)])
        except ReadError as error:
            refusal = refusal or error
        else:
            return
    if refusal:
        raise refusal
