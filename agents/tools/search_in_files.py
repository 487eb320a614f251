"""The tool search_in_files: text in files, by regular expression."""

import hashlib
import os
import re
import stat
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal

from pydantic import BaseModel, Field

from agents.tools.base import Effect, Fact, Input, Output, Result, ToolContext, ToolError, tool
from workspaces import globs, names, paths, ripgrep, searching

NO_LIMIT = 5000
"""What "no limit" is: as many lines, or files, as the whole stored output may have."""
CONTEXT_LINES = 30_000
"""Lines, context included, that one call may show."""
DATA_MATCHES = 250
_LOOKS = {"content": searching.content, "count": searching.counts, "files_with_matches": searching.files}


class SearchInFiles(Input):
    pattern: str = Field(min_length=1, description="A regular expression (Rust syntax, as in ripgrep).")
    path: str = Field(".", description="A folder or a file, relative to the workspace root.")
    glob: str | None = Field(None, description="Only files that match, as *.py or src/**/*.ts; !*.md leaves out.")
    type: str | None = Field(None, description="Only files of a type that ripgrep knows, as py, js, rust.")
    output_mode: Literal["files_with_matches", "content", "count"] = Field(
        "files_with_matches", description="File names, matching lines, or the number of them in each file."
    )
    case_insensitive: bool = False
    fixed_strings: bool = Field(False, description="Take the pattern literally.")
    multiline: bool = Field(False, description="Let the pattern span lines; . matches a newline.")
    before: int = Field(0, ge=0, le=50, description="Lines to show before each match.")
    after: int = Field(0, ge=0, le=50, description="Lines to show after each match.")
    context: int = Field(0, ge=0, le=50, description="Lines to show before and after each match.")
    head_limit: int | None = Field(None, ge=0, description="At most so many lines, or files; 0: no limit. Default 250.")
    offset: int = Field(0, ge=0, le=100_000, description="How many of them to leave out first.")


class FoundMatch(BaseModel):
    """A matching line; or, without a line, a file: then `count` is how many of its lines match, where that is known."""

    path: str
    line: int | None = None
    text: str | None = None
    count: int | None = None


class SearchInFilesOutput(Output):
    pattern: str
    path: str
    mode: str
    matches: list[FoundMatch]
    """The first of them; at most 250."""
    total: int
    """Matching lines, shown or not; in mode files_with_matches, files."""
    files: int
    """Files that match, shown or not."""
    first: int
    """The number of the first that is shown, from 1; 0: none is."""
    shown: int


@dataclass(frozen=True)
class _Page:
    """What is shown of what was found; `total` is that of what is counted by `head_limit`."""

    rows: list[str]
    matches: list[FoundMatch]
    shown: int
    total: int
    what: str


@tool(effect=Effect.READ, input=SearchInFiles, output=SearchInFilesOutput, minimal=True, cap=attrgetter("search_chars"))
def search_in_files(ctx: ToolContext, args: SearchInFiles) -> Result:
    """Search the text of files. Use this rather than commands such as grep or rg.

    By default it names the files; output_mode content shows the matching lines with numbers. What .gitignore names,
    dependencies, build output, caches and binary files are left out, unless the path names them.
    """
    path = paths.resolve(ctx.tree, args.path)
    ctx.rules.may_read(path.relative)
    kind = _kind(ctx, path)
    if kind == "special":
        return _answer(args, path, searching.Found([], 0, 0), _Page([], [], 0, 0, ""), _SPECIAL.format(args.path))
    limit = _limit(ctx, args)
    found = _search(ctx, args, path, kind, limit)
    if not found.total_files:
        nothing = f"No match for {args.pattern}{_narrowed(args)}."
        return _answer(args, path, found, _Page([], [], 0, 0, ""), nothing)
    page = _lines(ctx, args, found, limit) if args.output_mode == "content" else _files(args, found, limit)
    return _answer(args, path, found, page, "\n".join([*page.rows, *_notes(args, found, page)]))


_SPECIAL = "{} is no regular file or folder; nothing was searched."


def _kind(ctx: ToolContext, path: paths.WorkspacePath) -> str:
    try:
        mode = path.real.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise ToolError("NOT_FOUND", paths.missing(ctx.tree, path)) from None
    return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "special"


def _limit(ctx: ToolContext, args: SearchInFiles) -> int:
    wanted = ctx.limits.search_results if args.head_limit is None else args.head_limit or NO_LIMIT
    around = 1 + max(args.before, args.context) + max(args.after, args.context)
    return min(wanted, NO_LIMIT, CONTEXT_LINES // around)


# --- what is asked of ripgrep ---------------------------------------------------------------------


def _search(ctx: ToolContext, args: SearchInFiles, path: paths.WorkspacePath, kind: str, limit: int) -> searching.Found:
    pattern, options = _pattern(args)
    if len(os.fsencode(pattern)) > ripgrep.PATTERN_BYTES:
        raise ToolError("INVALID_PATTERN", f"the pattern is longer than {ripgrep.PATTERN_BYTES} bytes; give less.")
    found = searching.Found([], 0, 0)
    for wanted in _wanted(ctx, args, path.relative):
        search = searching.Search(
            pattern=pattern,
            options=[*options, *_options(args)],
            keep=args.offset + limit,
            line_chars=ctx.limits.search_line_chars,
            wanted=wanted,
            is_file=kind == "file",
        )
        found = searching.look(_LOOKS[args.output_mode], ctx.tree, path.relative, search, ctx.cancelled)
        if found.total_files:
            break
    return found


def _pattern(args: SearchInFiles) -> tuple[str, list[str]]:
    """Return the pattern and how to read it. A literal text of several lines is one, not one for each line."""
    try:
        if b"\0" in os.fsencode(args.pattern):
            raise ToolError("INVALID_PATTERN", "the pattern holds a NUL character; write \\x00 for it.")
    except UnicodeEncodeError:
        raise ToolError("INVALID_PATTERN", "the pattern holds half a surrogate pair, which no text has.") from None
    if args.fixed_strings and "\n" in args.pattern:
        lines = (re.escape(line.removesuffix("\r")) for line in args.pattern.split("\n"))
        return r"\r?\n".join(lines), ["--multiline"]
    if args.multiline:
        return args.pattern, ["--multiline", "--multiline-dotall"] + (["--fixed-strings"] if args.fixed_strings else [])
    return args.pattern, ["--fixed-strings"] if args.fixed_strings else []


def _options(args: SearchInFiles) -> list[str]:
    options = ["--ignore-case"] if args.case_insensitive else []
    if args.output_mode == "content":
        options.append(f"--before-context={max(args.before, args.context)}")
        options.append(f"--after-context={max(args.after, args.context)}")
    if args.type:
        if not re.fullmatch(r"[\w+-]{1,50}", args.type, re.ASCII):
            raise ToolError("INVALID_INPUT", f"{args.type[:50]!r} is no type of files; py, js or rust are.")
        options.append(f"--type={args.type}")
    elif args.glob and not args.glob.startswith("!"):
        options += ripgrep.by_name(args.glob.rpartition("/")[2])
    return options


def _wanted(ctx: ToolContext, args: SearchInFiles, folder: str) -> Iterator[Callable[[str], bool] | None]:
    """Yield tests of paths, to try one after the other until files match: brackets as themselves, then as a set."""
    hides = globs.covering(ctx.rules.hidden) if ctx.rules.hidden else None
    if not args.glob:
        yield None if hides is None else lambda path: not hides(path)
        return
    for brackets in (False, True) if "[" in args.glob else (True,):
        fits = _fits(args.glob, folder, brackets)
        yield fits if hides is None else lambda path, fits=fits: fits(path) and not hides(path)  # type: ignore[misc]


def _fits(given: str, folder: str, brackets: bool) -> Callable[[str], bool]:
    """Return a test for the glob: against the whole path, the path below the folder, or at any depth."""
    negated, glob = given.startswith("!"), given.removeprefix("!").removeprefix("/")
    regex = globs.compiled(glob if "/" in glob else f"**/{glob}", brackets=brackets)
    start = len(folder) + 1 if folder else 0

    def fits(path: str) -> bool:
        return bool(regex.match(path) or regex.match(path, start)) != negated

    return fits


# --- what is shown --------------------------------------------------------------------------------


def _lines(ctx: ToolContext, args: SearchInFiles, found: searching.Found, limit: int) -> _Page:
    rows: list[str] = []
    matches: list[FoundMatch] = []
    seen = shown = 0
    for hits in found.files:
        if seen >= args.offset + limit:
            break
        lines = list(hits.lines(ctx.limits.search_line_chars))
        here = [line for line in lines if line.start is not None]
        chosen = here[max(0, args.offset - seen) : args.offset + limit - seen]
        seen += len(here)
        shown += len(chosen)
        rows += [names.shown(hits.path), *_block(args, lines, chosen)] if chosen else []
        for line in chosen[: DATA_MATCHES - len(matches)]:
            matches.append(FoundMatch(path=names.shown(hits.path), line=line.number or None, text=line.text))
    return _Page(rows, matches, shown, found.total_lines, "matching lines")


def _block(args: SearchInFiles, lines: list[searching.Line], chosen: list[searching.Line]) -> list[str]:
    """Return the chosen lines of a file with the lines around them; of these, too, one may match."""
    before, after = max(args.before, args.context), max(args.after, args.context)
    picked, numbers = set(chosen), sorted(line.number for line in chosen)
    rows: list[str] = []
    last = 0
    for line in lines:
        at = bisect_left(numbers, line.number)
        is_chosen = line in picked
        is_before = at < len(numbers) and numbers[at] - line.number <= before
        is_after = at > 0 and line.number - numbers[at - 1] <= after
        if not (is_chosen or is_before or is_after):
            continue
        if last and line.number > last + 1 and (before or after):
            rows.append("   --")
        last = line.number
        rows.append(f"{line.number:6}{':' if is_chosen else '-'} {line.text}")
    return rows


def _files(args: SearchInFiles, found: searching.Found, limit: int) -> _Page:
    chosen = found.files[args.offset : args.offset + limit]
    counted = args.output_mode == "count"
    rows = [names.shown(hits.path) + (f": {hits.count}" if counted else "") for hits in chosen]
    matches = [
        FoundMatch(path=names.shown(hits.path), count=hits.count if counted else None) for hits in chosen[:DATA_MATCHES]
    ]
    return _Page(rows, matches, len(chosen), found.total_files, "files")


def _notes(args: SearchInFiles, found: searching.Found, page: _Page) -> list[str]:
    notes = []
    if args.output_mode == "count":
        notes.append(f"[{found.total_lines} matching lines in {found.total_files} files]")
    last = args.offset + page.shown
    if args.offset >= page.total:
        notes.append(f"[{page.total} {page.what} in all; offset {args.offset} is past the last]")
    elif last < page.total or args.offset:
        more = f"; go on with offset {last}, or narrow the search" if last < page.total else ""
        notes.append(f"[{page.what} {args.offset + 1}–{last} of {page.total}{more}]")
    return notes


def _narrowed(args: SearchInFiles) -> str:
    said = [f" in {args.path}"] if args.path != "." else []
    said += [f" in files like {args.glob}"] if args.glob else []
    said += [f" in files of type {args.type}"] if args.type else []
    return "".join(said)


def _answer(
    args: SearchInFiles, path: paths.WorkspacePath, found: searching.Found, page: _Page, content: str
) -> Result:
    where = names.shown(path.relative) or "."
    call = f"search_in_files {args.pattern} in {where}"
    data = SearchInFilesOutput(
        pattern=args.pattern,
        path=where,
        mode=args.output_mode,
        matches=page.matches,
        total=found.total_files if args.output_mode == "files_with_matches" else found.total_lines,
        files=found.total_files,
        first=args.offset + 1 if page.shown else 0,
        shown=page.shown,
        fact=Fact(
            "search_in_files",
            call.removeprefix("search_in_files "),
            range=f"{args.offset + 1}-{args.offset + page.shown} of {page.total}" if page.shown else "",
            fingerprint=hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16],
            refresh=call + (f" {args.output_mode}" if args.output_mode != "files_with_matches" else ""),
        ),
    )
    return Result(content, data.dump(), truncated=args.offset + page.shown < page.total)
