"""The tool read_file: numbered lines of a text file; pictures, PDFs and notebooks as what they show."""

import itertools
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import Field

from agents.tools import viewing
from agents.tools.base import Effect, FilePath, Input, Limits, Result, ToolContext, ToolError, tool
from agents.tools.viewing import Opened, ReadFileOutput
from workspaces import apart, encodings, lines, notebooks, paths, pdfs, pictures, reads, windows
from workspaces.ranges import Shown

WHOLE_BYTES = 1024 * 1024
"""Up to here a file is loaded; a window of a larger one is streamed."""
UTF16_BYTES = 16 * 1024 * 1024
"""The same for UTF-16, whose lines can't be counted by bytes."""
COMPARED_BYTES = 16 * 1024 * 1024
"""Up to here a streamed file is loaded after all, where what was read of it before has to be compared."""
HEAD_BYTES = 8000
_NUMBERED = 10_000
_PREFIXES = [f"\n{number:6}\t" for number in range(_NUMBERED + 1)]
"""What stands before the lines of nearly every file; looked up four times as fast as written anew."""
_TAILS = [f"{number:03}\t" for number in range(1000)]
"""The same for lines further down, after their thousands."""


class ReadFile(Input):
    file_path: FilePath
    offset: int | None = Field(None, ge=1, description="The first line to show, from 1.")
    limit: int | None = Field(None, ge=1, description="How many lines to show.")
    pages: str | None = Field(None, description='Which pages of a PDF, such as "3", "1-5" or "1-3,7".')


def _cap(limits: Limits) -> int:
    """What stands before each line does not count."""
    return limits.read_chars + 8 * limits.read_lines


@tool(effect=Effect.READ, input=ReadFile, output=ReadFileOutput, minimal=True, cap=_cap)
def read_file(ctx: ToolContext, args: ReadFile) -> Result:
    """Read a file: text with line numbers, a picture, pages of a PDF, or a notebook. Read a file before you edit it.

    Use offset and limit for a part of a long text, pages for a part of a PDF. Each line is shown as its number, a tab,
    and its text: what comes before the text is not part of the file, so never copy it into an edit. A notebook (.ipynb)
    is shown by cell, with outputs; with offset or limit as the lines of its JSON. Use list_directory for folders, glob
    to find files by name and search_in_files to find text.
    """
    tree = ctx.tree
    path = paths.resolve(tree, args.file_path)
    ctx.rules.may_read(path.relative)
    now = time.time_ns()
    with open(paths.open_file(tree, path), "rb", buffering=0) as file:
        stat = os.fstat(file.fileno())
        head = os.pread(file.fileno(), HEAD_BYTES, 0)
        opened = Opened(path, file, stat, windows.settled(stat, now), head)
        try:
            return _read(ctx, args, opened)
        except (apart.GivenUp, windows.Stopped):
            raise ToolError("CANCELLED", f"{args.file_path}: the run was cancelled while it was read.") from None


def _read(ctx: ToolContext, args: ReadFile, opened: Opened) -> Result:
    format = pictures.kind(opened.head)
    is_pdf = opened.head.startswith(pdfs.MAGIC)
    has_range = args.offset is not None or args.limit is not None
    if has_range and (format or is_pdf):
        what = f"a {format} picture" if format else "a PDF, whose parts are asked for by pages"
        raise ToolError("INVALID_INPUT", f"{args.file_path} is {what}: offset and limit are for text.")
    if args.pages and not is_pdf:
        raise ToolError("INVALID_INPUT", f"{args.file_path} is no PDF: pages are for PDFs only.")
    if format:
        return viewing.picture(ctx, opened, format)
    if is_pdf:
        return viewing.pdf(ctx, opened, args.pages or "")
    if args.file_path.lower().endswith(".ipynb") and not has_range and opened.stat.st_size <= notebooks.LIMIT_BYTES:
        try:
            return viewing.notebook(ctx, opened)
        except notebooks.NoNotebook as error:
            return _as_text(_text(ctx, args, opened), str(error))
    return _text(ctx, args, opened)


def _as_text(result: Result, why: str) -> Result:
    return replace(result, content=f"{result.content}\n[no notebook that can be shown by cell, so as text: {why}]")


# --- text ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    """Lines of a text, ends included. `total` is None where the file was not read to its end.

    `is_open`: the last line goes on past what was loaded of it.
    """

    text: str
    rows: list[str]
    total: int | None
    file: reads.ReadFile
    is_open: bool = False


def _text(ctx: ToolContext, args: ReadFile, opened: Opened) -> Result:
    size = opened.stat.st_size
    if size <= (UTF16_BYTES if encodings.is_utf16(opened.head) else WHOLE_BYTES):
        return _answer(ctx, args, opened, _loaded(ctx, args, opened))
    if encodings.is_binary(opened.head) and not encodings.is_utf16(opened.head):
        raise ToolError("BINARY_FILE", f"{args.file_path} holds NUL bytes, so it is no text ({size} bytes).")
    if args.offset is None and args.limit is None:
        raise _too_large(args.file_path, windows.count_lines(opened.file), size)
    return _answer(ctx, args, opened, _streamed(ctx, args, opened))


def _wanted(ctx: ToolContext, args: ReadFile) -> int:
    return min(args.limit or ctx.limits.read_lines, ctx.limits.read_lines)


def _loaded(ctx: ToolContext, args: ReadFile, opened: Opened) -> _Part:
    decoded = _decoded(opened)
    text = decoded.text
    newline = decoded.newline if "\r" in text else "lf"
    wanted = _wanted(ctx, args)
    if args.offset is None and args.limit is None:
        rows = _split(text, wanted)
        total = len(rows) if len(rows) <= wanted else lines.count(text)
        part = text
    else:
        total = lines.count(text)
        start = lines.start_of(text, args.offset or 1)
        part = text[start : lines.start_of(text, wanted + 1, start)]
        rows = _split(part, wanted)
    file = reads.ReadFile(text, decoded.encoding, newline, total, opened.settled)
    return _Part(part, rows, total, file)


def _decoded(opened: Opened) -> encodings.Decoded:
    size = opened.stat.st_size
    data = opened.head if size <= len(opened.head) else os.pread(opened.file.fileno(), size, 0)
    return encodings.decode(data, opened.path.given)


def _split(part: str, wanted: int) -> list[str]:
    """Return the lines without their ends; one more than wanted, with all the rest, where there are more."""
    rows = part.split("\n", wanted + 1)
    if not rows[-1]:
        rows.pop()
    return [row.removesuffix("\r") for row in rows] if "\r" in part else rows


def _streamed(ctx: ToolContext, args: ReadFile, opened: Opened) -> _Part:
    wanted, first = _wanted(ctx, args), args.offset or 1
    try:
        window = windows.read(opened.file, first, wanted, ctx.cancelled.is_set)
    except windows.TooFar as error:
        raise ToolError("TOO_LARGE", f"{args.file_path}: line {first} is too far down ({error}).") from None
    data = window.data.removeprefix(_BOM) if first == 1 else window.data
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise ToolError(
            "UNSUPPORTED_ENCODING", f"{args.file_path} is large and not UTF-8; look at it with a command."
        ) from None
    if "\0" in text:
        raise ToolError("BINARY_FILE", f"{args.file_path} holds NUL characters there, so it is no text.")
    newline = lines.newline_style(text) if "\r" in text else "lf"
    file = reads.ReadFile(None, "utf-8", newline, window.total, opened.settled, load=lambda: _compared(opened))
    return _Part(text, _split(text, wanted), window.total, file, window.cut)


_BOM = b"\xef\xbb\xbf"


def _compared(opened: Opened) -> str | None:
    """Return the text of a file that is not too large to be loaded when it must be."""
    if opened.stat.st_size > COMPARED_BYTES:
        return None
    try:
        return _decoded(opened).text
    except paths.WorkspaceError:
        return None


def _answer(ctx: ToolContext, args: ReadFile, opened: Opened, part: _Part) -> Result:
    first = args.offset or 1
    path = opened.path
    if part.total == 0 and first == 1:
        shown = Shown(1, 0, "")
        ctx.reads.note_read(path, opened.stat, shown, ctx.step, part.file)
        return Result(f"{args.file_path} is empty (0 lines).", _text_data(opened, shown, 0))
    if not part.rows:
        raise ToolError("RANGE", f"{args.file_path} has {part.total} lines, so it has no line {first}.")
    rows, cut = _clipped(part, first, ctx)
    last = first + len(rows) - 1
    ended = part.total is not None and last >= part.total
    if args.offset is None and args.limit is None and not ended:
        raise _too_large(args.file_path, part.total, opened.stat.st_size)
    text = part.text if len(rows) == len(part.rows) else part.text[: lines.start_of(part.text, len(rows) + 1)]
    shown = Shown(first, last, text, tuple(cut))
    data = _text_data(opened, shown, part.total)
    step = ctx.reads.shown_at(path, shown.view, shown.sha)
    if step is not None:
        said = f"{args.file_path}: lines {first}–{last} are unchanged since your read at step {step}"
        return Result(f"{said}; that result still holds.", data)
    if not part.is_open:
        ctx.reads.note_read(path, opened.stat, shown, ctx.step, part.file)
    is_less = bool(cut) or (not ended and len(rows) < (args.limit or len(rows) + 1))
    return Result(_numbered(rows, first) + _note(first, last, part, ended), data, truncated=is_less)


def _clipped(part: _Part, first: int, ctx: ToolContext) -> tuple[list[str], list[int]]:
    """Return the lines that fit into the caps (one at least), and the numbers of those that had to be cut."""
    limits, rows, cut = ctx.limits, part.rows[: ctx.limits.read_lines], []
    if _any_longer(part.text, limits.read_line_chars):
        cut = [number for number, row in enumerate(rows, first) if len(row) > limits.read_line_chars]
        rows = [lines.clipped(row, limits.read_line_chars) for row in rows]
    if (cut or len(part.text) > limits.read_chars) and len(rows) + sum(map(len, rows)) > limits.read_chars:
        ends = itertools.accumulate(len(row) + 1 for row in rows)
        rows = rows[: max(1, sum(1 for _ in itertools.takewhile(lambda end: end <= limits.read_chars, ends)))]
    return rows, [number for number in cut if number < first + len(rows)]


def _any_longer(text: str, limit: int) -> bool:
    """Return whether a line may have more characters, by looking for line ends not further apart (it seldom has)."""
    at = 0
    while len(text) - at > limit:
        at = text.rfind("\n", at, at + limit + 1) + 1
        if not at:
            return True
    return False


def _numbered(rows: Sequence[str], first: int) -> str:
    woven = [""] * (2 * len(rows))
    woven[::2], woven[1::2] = _prefixes(first, first + len(rows)), rows
    return "".join(woven)[1:]


def _prefixes(first: int, end: int) -> list[str]:
    """Return what stands before the lines from `first` to before `end`."""
    if end <= _NUMBERED:
        return _PREFIXES[first:end]
    found: list[str] = []
    while first < end:
        thousand, rest = divmod(first, 1000)
        head = f"\n{thousand:3}" if thousand else "\n   "
        tails = _TAILS if thousand else [prefix[4:] for prefix in _PREFIXES[:1000]]
        found += [head + tail for tail in tails[rest : rest + end - first]]
        first += 1000 - rest
    return found


def _note(first: int, last: int, part: _Part, ended: bool) -> str:
    if first == 1 and ended:
        return ""
    of = f" of {part.total}" if part.total is not None else ", and there are more"
    more = "" if ended else f"; go on with offset {last + 1}"
    is_open = f"; line {last} is longer than can be loaded, and what follows it out of reach" if part.is_open else ""
    return f"\n[lines {first}–{last}{of}{is_open or more}]"


def _too_large(given: str, total: int | None, size: int) -> ToolError:
    count = f"{total} lines" if total is not None else "more lines than were counted"
    return ToolError(
        "TOO_LARGE",
        f"{given} has {count} ({size} bytes), too much for one read. Ask for a part with offset and limit, "
        "for example offset 1, limit 200, or find the place with search_in_files.",
        {"total": total},
    )


def _text_data(opened: Opened, shown: Shown, total: int | None) -> dict[str, object]:
    fact = opened.fact(shown.view, shown.sha, shown.view)
    return ReadFileOutput(path=opened.name, start=shown.first, end=shown.last, total=total, fact=fact).dump()
