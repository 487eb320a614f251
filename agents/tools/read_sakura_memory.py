"""The tool read_sakura_memory: the newest entries of the project's memory in `.sakura`."""

import hashlib

from pydantic import BaseModel, Field

from agents.tools.base import Effect, Fact, Input, Output, Result, ToolContext, ToolError, tool
from workspaces import cuts, globs, names, paths, sakura_docs

HEAD_CHARS = 2000


class ReadSakuraMemory(Input):
    file_name: str | None = Field(None, description="One file of the memory, as memory.md; none: all of them.")
    count: int = Field(5, ge=1, le=50, description="How many entries, newest first.")


class MemoryEntry(BaseModel):
    file: str
    """From the workspace root."""
    line: int
    heading: str
    date: str
    """As its heading has it; empty where it has none."""
    text: str
    """As far as it is shown."""


class ReadSakuraMemoryOutput(Output):
    path: str
    """The file, or `.sakura` for all of them."""
    exists: bool
    head: str = ""
    """What stands before the entries, where one file was asked for."""
    entries: list[MemoryEntry] = []
    total: int = 0
    files: list[str] = []


@tool(effect=Effect.READ, input=ReadSakuraMemory, output=ReadSakuraMemoryOutput)
def read_sakura_memory(ctx: ToolContext, args: ReadSakuraMemory) -> Result:
    """Read the project's memory, newest entries first: .sakura/memory.md and the files in .sakura/memory/.

    An entry is a section that begins with "## ". Use it to learn what was found out or decided before.
    """
    hides = globs.covering(ctx.rules.hidden) if ctx.rules.hidden else None
    files = sakura_docs.memory_files(ctx.tree, hides) if sakura_docs.is_there(ctx.tree) else []
    if args.file_name and sakura_docs.is_there(ctx.tree):
        files = [_named(ctx, args.file_name, files)]
    if not files:
        data = ReadSakuraMemoryOutput(path=sakura_docs.FOLDER, exists=False)
        return _answer(args, data, f"There is no memory here: no {sakura_docs.MEMORY_FILE}, no {sakura_docs.MEMORY}/.")
    head, found = sakura_docs.memories(ctx.tree, files)
    data = ReadSakuraMemoryOutput(
        path=names.shown(files[0].path) if args.file_name else sakura_docs.FOLDER,
        exists=True,
        head=cuts.head(head, HEAD_CHARS),
        entries=_shown(found[: args.count], ctx.limits.other_chars - HEAD_CHARS - 500),
        total=len(found),
        files=[names.shown(file.path) for file in files],
    )
    return _answer(args, data, _words(data) or f"{data.path} holds no entry.")


def _named(ctx: ToolContext, given: str, files: list[sakura_docs.MemoryFile]) -> sakura_docs.MemoryFile:
    """Return the file of the memory that is meant, its name written with or without the folder."""
    tried = [sakura_docs.resolve(ctx.tree, given), sakura_docs.resolve(ctx.tree, f"memory/{given}")]
    for path in tried:
        ctx.rules.may_read(path.relative)
    for path in tried:
        found = next((file for file in files if file.path == path.relative), None)
        if found:
            return found
    there = ", ".join(sakura_docs.shown(file.path) for file in files)
    raise ToolError("NOT_FOUND", f"{given} is no file of the memory. There {'are: ' + there if there else 'is none'}.")


def _shown(found: list[sakura_docs.Memory], chars: int) -> list[MemoryEntry]:
    """Return the entries as far as they fit; one that does not is cut, and says where to read on."""
    shown: list[MemoryEntry] = []
    for entry in found:
        text = entry.text.rstrip()
        if len(text) > chars:
            if shown and chars < HEAD_CHARS:
                break
            where = f"read_sakura_docs {sakura_docs.shown(entry.file)} offset {entry.line}"
            text = f"{cuts.head(text, chars)}\n[cut; {where} shows it all]"
        chars = max(0, chars - len(text))
        shown.append(
            MemoryEntry(
                file=names.shown(entry.file), line=entry.line, heading=entry.heading, date=entry.date, text=text
            )
        )
    return shown


def _words(data: ReadSakuraMemoryOutput) -> str:
    parts = [data.head] if data.head else []
    several = len(data.files) > 1
    parts += [f"[{each.file}]\n{each.text}" if several else each.text for each in data.entries]
    if len(data.entries) < data.total:
        parts.append(
            f"[the newest {len(data.entries)} of {data.total} entries; ask for a higher count, or read a file]"
        )
    return "\n\n".join(parts)


def _answer(args: ReadSakuraMemory, data: ReadSakuraMemoryOutput, content: str) -> Result:
    name = f" {paths.split(data.path)[1]}" if args.file_name else ""
    data.fact = Fact(
        "read_sakura_memory",
        data.path,
        range=f"{len(data.entries)} of {data.total}",
        fingerprint=hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16],
        refresh=f"read_sakura_memory{name} count {args.count}",
    )
    return Result(content, data.dump(), truncated=len(data.entries) < data.total)
