"""The tool edit_file: one text replaced by another."""

from pydantic import Field

from agents.tools import writing
from agents.tools.base import Effect, FilePath, Input, Result, ToolContext, ToolError, tool
from workspaces import editing


class EditFile(Input):
    file_path: FilePath
    old_string: str = Field(description="The text to replace, as it is in the file, without line numbers.")
    new_string: str = Field(description="The text to put there, literally. Empty to delete.")
    replace_all: bool = Field(False, description="Replace every occurrence, not just one.")


@tool(effect=Effect.WRITE, input=EditFile, output=writing.WriteOutput, minimal=True)
def edit_file(ctx: ToolContext, args: EditFile) -> Result:
    """Replace a text in a file that you have read; prefer this to write_file for what exists.

    Copy old_string exactly, without the line-number prefix of read_file, and give 2–4 lines of context, enough to be
    unique; or set replace_all. An empty old_string creates a missing file or fills an empty one. Line ends, encoding
    and mode of the file are kept. Use this rather than commands such as sed.
    """
    writing.refuse_notebook(args.file_path)
    with writing.target(ctx, args.file_path) as target:
        edit = _edit(ctx, args, target)
        saved = writing.save(ctx, target, edit)
    verb = "created" if saved.output.created else "edited"
    times = f" in {len(edit.regions)} places" if len(edit.regions) > 1 else ""
    how = "" if edit.how in ("exact", "whole") else f" Matched with {edit.how} taken as equal."
    return saved.told(f"{args.file_path} {verb}{times}.{how}")


def _edit(ctx: ToolContext, args: EditFile, target: writing.Target) -> editing.Edit:
    if args.old_string == args.new_string:
        raise ToolError("NO_CHANGE", f"{args.file_path}: old_string and new_string are equal, so nothing would change.")
    if not args.old_string:
        if target.text:
            raise ToolError(
                "ALREADY_EXISTS",
                f"{args.file_path} exists and is not empty, so old_string must be a text in it; "
                "to replace the whole file use write_file.",
            )
        return editing.whole("", writing.unmarked(target, args.new_string))
    text = writing.fresh_text(ctx, target)
    edit = editing.replace(text, args.old_string, args.new_string, replace_all=args.replace_all, name=args.file_path)
    ctx.reads.require_seen(target.path, text, edit.regions)
    return edit
