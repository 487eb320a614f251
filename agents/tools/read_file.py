"""The tool read_file: numbered lines of a text file."""

import os
from dataclasses import asdict, dataclass
from typing import BinaryIO

from pydantic import Field

from agents.tools.base import Effect, Fact, FilePath, Input, Limits, Output, Result, ToolContext, ToolError, tool
from workspaces import encodings, lines, names, paths, reads, windows

WHOLE_BYTES = 1024 * 1024
"""Up to here a file is loaded; a window of a larger one is streamed."""
UTF16_BYTES = 16 * 1024 * 1024
"""The same for UTF-16, whose lines can't be counted by bytes."""


class ReadFile(Input):
    file_path: FilePath
    offset: int | None = Field(None, ge=1, description="The first line to show, from 1.")
    limit: int | None = Field(None, ge=1, description="How many lines to show.")


@dataclass(frozen=True)
class _Part:
    """Some lines of a file, ends included. `total` is None where the file was not read to its end."""

    lines: list[str]
    total: int | None
    file: reads.ReadFile


@tool(effect=Effect.READ, input=ReadFile, output=Output, minimal=True)
def read_file(ctx: ToolContext, args: ReadFile) -> Result:
    """Read a text file, with line numbers. Read a file before you edit it.

    Use offset and limit for a part of a long file. Each line is shown as its number, a tab, and its text: what comes
    before the text is not part of the file, so never copy it into an edit. Use list_directory for folders, glob to find
    files by name and search_in_files to find text.
    """
    path = paths.resolve(ctx.tree, args.file_path)
    ctx.rules.may_read(path.relative)
    first = args.offset or 1
    wanted = min(args.limit or ctx.limits.read_lines, ctx.limits.read_lines)
    with open(paths.open_file(ctx.tree, path), "rb") as file:
        stat = os.fstat(file.fileno())
        if stat.st_size <= (UTF16_BYTES if encodings.is_utf16(file.read(2)) else WHOLE_BYTES):
            part = _load(file, path, first, wanted, ctx.limits)
        elif args.offset is None and args.limit is None:
            raise _too_large(args.file_path, windows.count_lines(file), stat.st_size)
        else:
            part = _stream(file, path, first, wanted, ctx.limits)
    return _answer(ctx, args, path, stat, part)


def _load(file: BinaryIO, path: paths.WorkspacePath, first: int, wanted: int, limits: Limits) -> _Part:
    file.seek(0)
    decoded = encodings.decode(file.read(UTF16_BYTES), path.given)
    every = lines.split(decoded.text)
    known = reads.ReadFile(decoded.text, decoded.encoding, decoded.newline, limits.read_line_chars)
    return _Part(every[first - 1 : first - 1 + wanted], len(every), known)


def _stream(file: BinaryIO, path: paths.WorkspacePath, first: int, wanted: int, limits: Limits) -> _Part:
    window = windows.read(file, first, wanted)
    decoded = encodings.decode(window.data, path.given)
    if decoded.guessed or decoded.encoding != "utf-8":
        raise ToolError("UNSUPPORTED_ENCODING", f"{path.given} is large and not UTF-8; look at it with a command.")
    known = reads.ReadFile(None, decoded.encoding, decoded.newline, limits.read_line_chars)
    return _Part(lines.split(decoded.text), window.total, known)


def _answer(ctx: ToolContext, args: ReadFile, path: paths.WorkspacePath, stat: os.stat_result, part: _Part) -> Result:
    first = args.offset or 1
    if part.total == 0 and first == 1:
        ctx.reads.note_read(path, stat, [], 1, ctx.step, part.file)
        return Result(f"{args.file_path} is empty (0 lines).", _data(path, 1, 0, 0, ""))
    if not part.lines:
        raise ToolError("RANGE", f"{args.file_path} has {part.total} lines, so it has no line {first}.")
    shown, rows = _numbered(part.lines, first, ctx.limits)
    last = first + len(shown) - 1
    ended = part.total is not None and last >= part.total
    if args.offset is None and args.limit is None and not ended:
        raise _too_large(args.file_path, part.total, stat.st_size)
    text = "".join(shown)
    data = _data(path, first, last, part.total, reads.text_hash(text))
    step = ctx.reads.shown_at(path, first, last, shown)
    if step is not None:
        said = f"{args.file_path}: lines {first}–{last} are unchanged since your read at step {step}"
        return Result(f"{said}; that result still holds.", data)
    ctx.reads.note_read(path, stat, shown, first, ctx.step, part.file)
    cut = not ended and len(shown) < (args.limit or len(shown) + 1)
    return Result("\n".join([*rows, *_note(first, last, part.total, ended)]), data, truncated=cut)


def _numbered(wanted: list[str], first: int, limits: Limits) -> tuple[list[str], list[str]]:
    """Return the lines that fit into the caps (one at least), and how they are shown."""
    rows: list[str] = []
    size = 0
    for number, line in enumerate(wanted, first):
        text = lines.clipped(line.removesuffix("\n").removesuffix("\r"), limits.read_line_chars)
        size += len(text) + 1
        if size > limits.read_chars and rows:
            break
        rows.append(f"{number:6}\t{text}")
    return wanted[: len(rows)], rows


def _note(first: int, last: int, total: int | None, ended: bool) -> list[str]:
    if first == 1 and ended:
        return []
    of = f" of {total}" if total is not None else ", and there are more"
    more = "" if ended else f"; go on with offset {last + 1}"
    return [f"[lines {first}–{last}{of}{more}]"]


def _too_large(given: str, total: int | None, size: int) -> ToolError:
    count = f"{total} lines" if total is not None else "more lines than were counted"
    return ToolError(
        "TOO_LARGE",
        f"{given} has {count} ({size} bytes), too much for one read. Ask for a part with offset and limit, "
        "for example offset 1, limit 200, or find the place with search_in_files.",
        {"total": total},
    )


def _data(path: paths.WorkspacePath, first: int, last: int, total: int | None, fingerprint: str) -> dict[str, object]:
    name = names.shown(path.relative)
    fact = Fact("read_file", name, f"{first}-{last}", fingerprint, refresh=f"read_file {name} {first}-{last}")
    return {"path": name, "start": first, "end": last, "total": total, "fact": asdict(fact)}
