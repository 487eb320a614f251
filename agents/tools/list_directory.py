"""The tool list_directory: what lies in a folder."""

from dataclasses import replace

from pydantic import Field

from agents.tools.base import Effect, Input, Output, Result, ToolContext, tool
from workspaces import listing, names, paths


class ListDirectory(Input):
    path: str = Field(".", description="The folder, relative to the workspace root.")
    recursive: bool = Field(False, description="Also list what is in its folders.")


@tool(effect=Effect.READ, input=ListDirectory, output=Output, minimal=True)
def list_directory(ctx: ToolContext, args: ListDirectory) -> Result:
    """List a folder of the workspace: folders first, hidden names too, files with their sizes in bytes.

    Use it to look around; use glob to find files by name. With recursive, what .gitignore names, dependencies, build
    output and caches are left out; name such a folder to list it.
    """
    path = paths.resolve(ctx.tree, args.path)
    ctx.rules.may_read(path.relative)
    entries = listing.tree(ctx.tree, path, ctx.cancelled) if args.recursive else listing.folder(ctx.tree, path)
    shown = [_sized(ctx, path, entry) for entry in entries[: ctx.limits.list_entries]]
    cut = len(entries) > len(shown)
    data = {
        "path": names.shown(path.relative) or ".",
        "entries": [{"name": names.shown(e.name), "kind": e.kind, "size": e.size} for e in shown],
        "total": len(entries),
    }
    rows = [_row(entry) for entry in shown]
    if cut:
        rows.append(f"[{len(shown)} of {len(entries)} entries shown; list a folder below, or use glob]")
    if len(entries) >= listing.MAX_ENTRIES:
        rows.append(f"[counting stopped at {listing.MAX_ENTRIES} entries]")
    return Result("\n".join(rows) or f"{args.path} is empty.", data, truncated=cut)


def _sized(ctx: ToolContext, path: paths.WorkspacePath, entry: listing.Entry) -> listing.Entry:
    if entry.kind != "file" or entry.size is not None:
        return entry
    return replace(entry, size=listing.size(path.real, entry.name))


def _row(entry: listing.Entry) -> str:
    name = names.shown(entry.name)
    if entry.kind == "folder":
        return f"{name}/"
    return f"{name}  {entry.size}" if entry.kind == "file" else f"{name}  ({entry.kind})"
