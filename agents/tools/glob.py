"""The tool glob: files by name."""

import os
import stat
from collections.abc import Iterable

from pydantic import Field

from agents.tools.base import Effect, Input, Output, Result, ToolContext, ToolError, tool
from workspaces import globs, listing, names, paths

NEWEST_UP_TO = 2000
MAX_MATCHES = 200_000


class Glob(Input):
    pattern: str = Field(description="As in **/*.py or src/*.{ts,tsx}; ** spans folders, * does not cross a slash.")
    path: str = Field(".", description="The folder to look in, relative to the workspace root.")


@tool(effect=Effect.READ, input=Glob, output=Output)
def glob(ctx: ToolContext, args: Glob) -> Result:
    """Find files by name, newest first. Use this rather than commands such as find or ls.

    The pattern is matched against the path below `path`, so *.py finds files right there and **/*.py at any depth.
    What .gitignore names, dependencies, build output and caches are left out, unless path or pattern names them.
    """
    folder, pattern = _base(ctx, args)
    ctx.rules.may_read(folder.relative)
    if not folder.real.is_dir():
        return _answer(ctx, args, [folder.relative] if not pattern and folder.real.is_file() else [], "")
    prefix = f"{folder.relative}/" if folder.relative else ""
    found = _matching(listing.files(ctx.tree, folder.relative, ctx.cancelled), prefix, pattern)
    ordered, order = _ordered(ctx, found)
    return _answer(ctx, args, ordered, order)


def _base(ctx: ToolContext, args: Glob) -> tuple[paths.WorkspacePath, str]:
    """Return the folder to list and what is left of the pattern: its leading parts that name a folder are taken off.

    So a folder that is ignored can be named, and one called `[id]` is meant literally.
    """
    if not args.pattern.strip():
        raise ToolError("INVALID_INPUT", "The pattern is empty; **/* finds every file.")
    given, pattern = args.path, args.pattern
    if pattern.startswith("/"):
        given, pattern = "/", pattern.lstrip("/")
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    above = "" if given == "/" else given
    taken = 0
    for part in parts:
        step = f"{above}/{part}"
        if globs.has_magic(part) and not _exists(ctx, step):
            break
        if taken == len(parts) - 1 and not _is_folder(ctx, step):
            break
        above = step
        taken += 1
    folder = paths.resolve(ctx.tree, above or "/")
    return folder, "/".join(parts[taken:]) or ("**" if parts and folder.real.is_dir() else "")


def _exists(ctx: ToolContext, step: str) -> bool:
    try:
        return os.path.lexists(paths.resolve(ctx.tree, step).real)
    except paths.PathError:
        return False


def _is_folder(ctx: ToolContext, step: str) -> bool:
    return paths.resolve(ctx.tree, step).real.is_dir()


def _matching(files: Iterable[str], prefix: str, pattern: str) -> list[str]:
    """Return the files that match; brackets are tried as themselves first, then as a set of characters."""
    literal, sets = globs.compiled(pattern, brackets=False), globs.compiled(pattern)
    exact: list[str] = []
    loose: list[str] = []
    for file in files:
        below = file.removeprefix(prefix)
        if literal.match(below):
            exact.append(file)
        elif sets.match(below):
            loose.append(file)
        if len(exact) + len(loose) >= MAX_MATCHES:
            break
    return exact or loose


def _ordered(ctx: ToolContext, found: list[str]) -> tuple[list[str], str]:
    if len(found) > NEWEST_UP_TO:
        return sorted(found), "by path, since there are so many"
    dated = [(_changed(ctx, file), file) for file in found]
    return [file for at, file in sorted(dated, key=lambda each: (-each[0], each[1])) if at >= 0], "newest first"


def _changed(ctx: ToolContext, file: str) -> int:
    """Return the time of the last change in ns, -1 for what is no regular file."""
    try:
        found = os.lstat(ctx.tree / file)
    except OSError:
        return -1
    return found.st_mtime_ns if stat.S_ISREG(found.st_mode) else -1


def _answer(ctx: ToolContext, args: Glob, found: list[str], order: str) -> Result:
    shown = [names.shown(file) for file in found[: ctx.limits.glob_entries]]
    data = {"pattern": args.pattern, "paths": shown, "total": len(found)}
    if not found:
        hint = "" if "/" in args.pattern or "**" in args.pattern else f" **/{args.pattern} looks in all folders below."
        return Result(f"No file matches {args.pattern} in {args.path}.{hint}", data)
    rows = list(shown)
    cut = len(found) > len(shown)
    if cut:
        rows.append(f"[{len(shown)} of {len(found)} files shown, {order}; narrow the pattern to see the others]")
    return Result("\n".join(rows), data, truncated=cut)
