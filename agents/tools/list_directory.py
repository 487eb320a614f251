"""The tool list_directory: what lies in a folder."""

import hashlib

from pydantic import BaseModel, Field

from agents.tools.base import Effect, Fact, Input, Output, Result, ToolContext, tool
from workspaces import globs, listing, names, paths


class ListDirectory(Input):
    path: str = Field(".", description="The folder, relative to the workspace root.")
    recursive: bool = Field(False, description="Also list what is in its folders.")


class ListedEntry(BaseModel):
    """One name below the folder. `kind`: folder, file, link or special; only files have a size, in bytes."""

    name: str
    kind: str
    size: int | None


class ListDirectoryOutput(Output):
    path: str
    recursive: bool
    entries: list[ListedEntry]
    total: int
    """How many there are, shown or not; at least so many where `complete` is false."""
    complete: bool


@tool(effect=Effect.READ, input=ListDirectory, output=ListDirectoryOutput, minimal=True)
def list_directory(ctx: ToolContext, args: ListDirectory) -> Result:
    """List a folder of the workspace: folders first, hidden names too, files with their sizes in bytes.

    Use it to look around; use glob to find files by name. With recursive, it shows all files below and the folders
    that hold them; what .gitignore names, dependencies, build output and caches are left out unless path names them.
    """
    path = paths.resolve(ctx.tree, args.path)
    ctx.rules.may_read(path.relative)
    hides = globs.covering(ctx.rules.hidden) if ctx.rules.hidden else None
    keep = ctx.limits.list_entries
    if args.recursive:
        found = listing.tree(ctx.tree, path, ctx.cancelled, keep, hides)
    else:
        found = listing.folder(ctx.tree, path, keep, hides)
    content = "\n".join(_rows(found)) or f"{args.path} is empty."
    return Result(content, _output(path, args, found, content).dump(), truncated=len(found.entries) < found.total)


def _rows(found: listing.Listing) -> list[str]:
    rows = [listing.row(entry) for entry in found.entries]
    if len(found.entries) < found.total:
        rows.append(f"[{len(rows)} of {found.total} entries shown; list a folder below, or use glob]")
    if not found.complete:
        rows.append(f"[there are more: counting stopped at {found.total}]")
    return rows


def _output(
    path: paths.WorkspacePath, args: ListDirectory, found: listing.Listing, content: str
) -> ListDirectoryOutput:
    where = names.shown(path.relative) or "."
    return ListDirectoryOutput(
        path=where,
        recursive=args.recursive,
        entries=[ListedEntry(name=names.shown(each.name), kind=each.kind, size=each.size) for each in found.entries],
        total=found.total,
        complete=found.complete,
        fact=Fact(
            "list_directory",
            where,
            range=f"{len(found.entries)} of {found.total}",
            fingerprint=hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16],
            refresh=f"list_directory {where}" + (" recursive" if args.recursive else ""),
        ),
    )
