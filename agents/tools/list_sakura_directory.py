"""The tool list_sakura_directory: what lies in a folder of `.sakura`."""

import hashlib

from pydantic import BaseModel, Field

from agents.tools.base import Effect, Fact, Input, Output, Result, ToolContext, tool
from workspaces import globs, listing, names, sakura_docs


class ListSakuraDirectory(Input):
    subdirectory: str | None = Field(None, description="A folder below .sakura, as memory; none: .sakura itself.")


class SakuraEntry(BaseModel):
    """One name in the folder. `kind`: folder, file, link or special; only files have a size, in bytes."""

    name: str
    kind: str
    size: int | None


class ListSakuraDirectoryOutput(Output):
    path: str
    """From the workspace root."""
    exists: bool
    entries: list[SakuraEntry]
    total: int


@tool(effect=Effect.READ, input=ListSakuraDirectory, output=ListSakuraDirectoryOutput)
def list_sakura_directory(ctx: ToolContext, args: ListSakuraDirectory) -> Result:
    """List a folder of .sakura, where people keep instructions and notes for agents: folders first, with sizes.

    Use read_sakura_docs without arguments for an overview of all of them, and to read one.
    """
    if not sakura_docs.is_there(ctx.tree):
        return _answer(sakura_docs.FOLDER, listing.Listing([], 0), f"There is no {sakura_docs.FOLDER}/ here.", False)
    path = sakura_docs.resolve(ctx.tree, args.subdirectory or "")
    ctx.rules.may_read(path.relative)
    hides = globs.covering(ctx.rules.hidden) if ctx.rules.hidden else None
    found = listing.folder(ctx.tree, path, ctx.limits.list_entries, hides)
    rows = [listing.row(entry) for entry in found.entries]
    if len(rows) < found.total:
        rows.append(f"[{len(rows)} of {found.total} entries shown]")
    where = names.shown(path.relative)
    return _answer(where, found, "\n".join(rows) or f"{where} is empty.", True)


def _answer(where: str, found: listing.Listing, content: str, exists: bool) -> Result:
    data = ListSakuraDirectoryOutput(
        path=where,
        exists=exists,
        entries=[SakuraEntry(name=names.shown(each.name), kind=each.kind, size=each.size) for each in found.entries],
        total=found.total,
        fact=Fact(
            "list_sakura_directory",
            where,
            range=f"{len(found.entries)} of {found.total}",
            fingerprint=hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16],
            refresh=f"list_sakura_directory {where}",
        ),
    )
    return Result(content, data.dump(), truncated=len(found.entries) < found.total)
