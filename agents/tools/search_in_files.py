"""The tool search_in_files: text in files, by regular expression."""

import stat
from collections.abc import Callable
from typing import Literal

from pydantic import Field

from agents.tools.base import Effect, Input, Output, Result, ToolContext, ToolError, tool
from workspaces import globs, names, paths, searching

NO_LIMIT = 5000
"""What "no limit" is: as many lines, or files, as the whole stored output may have."""


class SearchInFiles(Input):
    pattern: str = Field(min_length=1, description="A regular expression (Rust syntax, as in ripgrep).")
    path: str = Field(".", description="A folder or a file, relative to the workspace root.")
    glob: str | None = Field(None, description="Only files that match, as *.py or src/**/*.ts.")
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
    offset: int = Field(0, ge=0, description="How many of them to leave out first.")


@tool(effect=Effect.READ, input=SearchInFiles, output=Output, minimal=True)
def search_in_files(ctx: ToolContext, args: SearchInFiles) -> Result:
    """Search the text of files. Use this rather than commands such as grep or rg.

    By default it names the files; output_mode content shows the matching lines with numbers. What .gitignore names,
    dependencies, build output, caches and binary files are left out, unless the path names them.
    """
    path = paths.resolve(ctx.tree, args.path)
    ctx.rules.may_read(path.relative)
    if not _searchable(ctx, path):
        return Result(f"{args.path} is no regular file or folder; nothing was searched.", _data(args, 0, 0))
    limit = ctx.limits.search_results if args.head_limit is None else args.head_limit or NO_LIMIT
    search = searching.Search(
        pattern=args.pattern,
        options=_options(args),
        keep=args.offset + min(limit, NO_LIMIT),
        wanted=_wanted(args, path.relative),
    )
    look = searching.content if args.output_mode == "content" else searching.counts
    found = look(ctx.tree, path.relative, search, ctx.cancelled)
    if not found.total_files:
        return Result(f"No match for {args.pattern} in {args.path}.", _data(args, 0, 0))
    return _lines(ctx, args, found, limit) if args.output_mode == "content" else _files(args, found, limit)


def _searchable(ctx: ToolContext, path: paths.WorkspacePath) -> bool:
    try:
        mode = path.real.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise ToolError("NOT_FOUND", paths.missing(ctx.tree, path)) from None
    return stat.S_ISDIR(mode) or stat.S_ISREG(mode)


def _options(args: SearchInFiles) -> list[str]:
    options = []
    if args.case_insensitive:
        options.append("--ignore-case")
    if args.fixed_strings:
        options.append("--fixed-strings")
    if args.multiline:
        options += ["--multiline", "--multiline-dotall"]
    if args.output_mode == "content":
        options += [
            f"--before-context={max(args.before, args.context)}",
            f"--after-context={max(args.after, args.context)}",
        ]
    if args.type:
        options.append(f"--type={args.type}")
    elif args.glob and _by_name(args.glob):
        options += [f"--type-add=wanted:{args.glob}", "--type=wanted"]
    return options


def _by_name(glob: str) -> bool:
    """Return whether ripgrep's types can do the filtering; unlike its globs they don't bring ignored files back."""
    return "/" not in glob and not glob.startswith("!") and "[" not in glob


def _wanted(args: SearchInFiles, folder: str) -> Callable[[str], bool]:
    """Return a test of paths for the glob: against the whole path, the path below the folder, or at any depth."""
    if not args.glob:
        return lambda _: True
    negated, glob = args.glob.startswith("!"), args.glob.removeprefix("!").removeprefix("/")
    regex = globs.compiled(glob if "/" in glob else f"**/{glob}")
    prefix = f"{folder}/" if folder else ""

    def fits(path: str) -> bool:
        hit = regex.match(path) or regex.match(path.removeprefix(prefix))
        return bool(hit) != negated

    return fits


def _lines(ctx: ToolContext, args: SearchInFiles, found: searching.Found, limit: int) -> Result:
    rows: list[str] = []
    matches: list[dict[str, object]] = []
    seen = shown = 0
    for hits in found.files:
        block: list[str] = []
        before = 0
        for line in hits.lines(ctx.limits.search_line_chars):
            is_match = line.start is not None
            seen += is_match
            if seen > args.offset + limit:
                break
            if seen <= args.offset and (is_match or args.offset):
                continue
            shown += is_match
            if before and line.number > before + 1 and (args.before or args.after or args.context):
                block.append("   --")
            before = line.number
            block.append(f"{line.number:6}{':' if is_match else '-'} {line.text}")
            if is_match:
                matches.append({"path": names.shown(hits.path), "line": line.number, "text": line.text})
        rows += [names.shown(hits.path), *block] if block else []
        if seen > args.offset + limit:
            break
    cut = args.offset + shown < found.total_lines
    if cut or args.offset:
        rows.append(_of(args, shown, found.total_lines, "matching lines"))
    data = {**_data(args, found.total_lines, found.total_files), "matches": matches[:250]}
    return Result("\n".join(rows), data, truncated=cut)


def _files(args: SearchInFiles, found: searching.Found, limit: int) -> Result:
    chosen = found.files[args.offset : args.offset + limit]
    counted = args.output_mode == "count"
    rows = [names.shown(hits.path) + (f": {hits.count}" if counted else "") for hits in chosen]
    cut = args.offset + len(chosen) < found.total_files
    if counted:
        rows.append(f"[{found.total_lines} matching lines in {found.total_files} files]")
    if cut or args.offset:
        rows.append(_of(args, len(chosen), found.total_files, "files"))
    matches = [{"path": names.shown(hits.path), "line": None, "text": str(hits.count)} for hits in chosen[:250]]
    return Result(
        "\n".join(rows), {**_data(args, found.total_lines, found.total_files), "matches": matches}, truncated=cut
    )


def _of(args: SearchInFiles, shown: int, total: int, what: str) -> str:
    first = args.offset + 1
    more = f"; go on with offset {args.offset + shown}, or narrow the search" if args.offset + shown < total else ""
    return f"[{what} {first}–{args.offset + shown} of {total}{more}]"


def _data(args: SearchInFiles, total: int, files: int) -> dict[str, object]:
    return {"pattern": args.pattern, "mode": args.output_mode, "matches": [], "total": total, "files": files}
