"""The tool glob: files by name."""

import hashlib
import heapq
import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import Field

from agents.tools.base import Effect, Fact, Input, Output, Result, ToolContext, ToolError, tool
from workspaces import globs, listing, names, paths, ripgrep

NEWEST_UP_TO = 2000
PRUNE_AT = 20_000


class Glob(Input):
    pattern: str = Field(description="As in **/*.py or src/*.{ts,tsx}; ** spans folders, * does not cross a slash.")
    path: str = Field(".", description="The folder to look in, relative to the workspace root.")


class GlobOutput(Output):
    pattern: str
    path: str
    """The folder that was looked in, the leading folders of the pattern included."""
    paths: list[str]
    """The first of them, relative to the workspace root."""
    total: int
    order: str
    """`newest first` or `by path`."""


@tool(effect=Effect.READ, input=Glob, output=GlobOutput)
def glob(ctx: ToolContext, args: Glob) -> Result:
    """Find files by name, newest first. Use this rather than commands such as find or ls.

    The pattern is matched against the path below `path`, so *.py finds files right there and **/*.py at any depth.
    What .gitignore names, dependencies, build output and caches are left out, unless path or pattern names them.
    Above 2000 matches they are in the order of paths.
    """
    folder, pattern = _base(ctx, args)
    ctx.rules.may_read(folder.relative)
    os.close(listing.open_folder(ctx.tree, folder))
    is_name = not globs.has_magic(pattern) or _exists(ctx, f"{folder.relative or '.'}/{pattern}")
    found = _named(ctx, folder, pattern) if is_name else _look(ctx, folder.relative, pattern)
    return _answer(ctx, args, names.shown(folder.relative) or ".", found)


def _base(ctx: ToolContext, args: Glob) -> tuple[paths.WorkspacePath, str]:
    """Return the folder to list and what is left of the pattern: its leading parts that name a folder are taken off.

    So a folder that is ignored can be named, and one called `[id]` is meant literally.
    """
    above, pattern = (".", _below(ctx, args.pattern)) if args.pattern.startswith("/") else (args.path, args.pattern)
    if not pattern.strip():
        raise ToolError("INVALID_INPUT", "The pattern is empty; **/* finds every file.")
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    folder = paths.resolve(ctx.tree, above)
    taken = 0
    for part in parts:
        above = f"{above}/{part}"
        if globs.has_magic(part) and not _exists(ctx, above):
            break
        step = paths.resolve(ctx.tree, above)
        if not step.real.is_dir():
            break
        folder = step
        taken += 1
    return folder, "/".join(parts[taken:]) or "**"


def _below(ctx: ToolContext, pattern: str) -> str:
    """Return the part of an absolute pattern below the root."""
    for root in (os.path.realpath(ctx.tree), str(ctx.tree), paths.INSIDE):
        if pattern == root or pattern.startswith(root + "/"):
            return pattern[len(root) :].strip("/") or "**"
    raise ToolError("OUTSIDE_WORKSPACE", f"{pattern} is not in the workspace; give a pattern relative to its root.")


def _exists(ctx: ToolContext, step: str) -> bool:
    try:
        return os.path.lexists(paths.resolve(ctx.tree, step).real)
    except paths.PathError:
        return False


# --- finding -------------------------------------------------------------------------------------


@dataclass
class _Found:
    """The paths that match: all of them while they are few enough to be ordered by time, else the first by path."""

    keep: int
    kept: list[str] = field(default_factory=list)
    total: int = 0

    def add(self, more: list[str]) -> None:
        self.kept += more
        self.total += len(more)
        if len(self.kept) > PRUNE_AT:
            self.kept = heapq.nsmallest(self.keep, self.kept)

    @property
    def order(self) -> str:
        return "newest first" if self.total <= NEWEST_UP_TO else "by path"


def _named(ctx: ToolContext, folder: paths.WorkspacePath, name: str) -> _Found:
    """Return the one file that a pattern names as it is written, whether a rule ignores it or not."""
    found = _Found(1)
    path = paths.resolve_parent(ctx.tree, f"{folder.relative}/{name}" if folder.relative else name)
    ctx.rules.may_read(path.relative)
    try:
        is_file = stat.S_ISREG(path.real.lstat().st_mode)
    except OSError:
        is_file = False
    found.add([path.relative] if is_file else [])
    return found


def _look(ctx: ToolContext, folder: str, pattern: str) -> _Found:
    """Return the files that match; brackets are tried as themselves first, then as a set of characters."""
    if "\\x" in pattern:
        pattern = os.fsdecode(names.raw(pattern))
    start = len(folder) + 1 if folder else 0
    hides = globs.covering(ctx.rules.hidden) if ctx.rules.hidden else None
    tests = _tests(pattern)
    found = [_Found(ctx.limits.glob_entries) for _ in tests]
    for batch in listing.files(ctx.tree, folder, ctx.cancelled, options=_options(pattern), hides=hides):
        for test, matching in zip(tests, found, strict=True):
            matching.add([path for path in batch if test(path, start)] if test else batch)
    best = next((matching for matching in found if matching.total), found[0])
    if best.total <= NEWEST_UP_TO:
        best.kept = listing.newest_first(ctx.tree, best.kept)
        best.total = len(best.kept)
    else:
        best.kept = heapq.nsmallest(ctx.limits.glob_entries, best.kept)
    return best


_Test = Callable[[str, int], object]


def _tests(pattern: str) -> list[_Test | None]:
    """Return tests of a path from some place in it, the one that counts first; None: ripgrep has tested it."""
    name = pattern.removeprefix("**/")
    if name in ("*", "**") or ("/" not in name and ripgrep.by_name(name)):
        return [None]
    kinds = (False, True) if "[" in pattern else (True,)
    return [globs.compiled(pattern, brackets=brackets).match for brackets in kinds]


def _options(pattern: str) -> list[str]:
    """Return what lets ripgrep list less: the name that files must have, and how deep they can lie."""
    options = ripgrep.by_name(_last(pattern))
    if "**" not in pattern.split("/") and not re.search(r"\{[^}]*/", pattern):
        options.append(f"--max-depth={pattern.count('/') + 1}")
    return options


def _last(pattern: str) -> str:
    return pattern.rpartition("/")[2]


# --- the answer ----------------------------------------------------------------------------------


def _answer(ctx: ToolContext, args: Glob, folder: str, found: _Found) -> Result:
    shown = [names.shown(file) for file in found.kept[: ctx.limits.glob_entries]]
    cut = len(shown) < found.total
    rows = list(shown)
    if cut:
        why = ", since there are so many" if found.order == "by path" else ""
        rows.append(
            f"[{len(shown)} of {found.total} files shown, {found.order}{why}; narrow the pattern to see the others]"
        )
    content = "\n".join(rows) or f"No file matches {args.pattern}{_in(args)}.{_hint(args.pattern)}"
    data = GlobOutput(
        pattern=args.pattern,
        path=folder,
        paths=shown,
        total=found.total,
        order=found.order,
        fact=Fact(
            "glob",
            args.pattern + _in(args),
            range=f"{len(shown)} of {found.total}",
            fingerprint=hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16],
            refresh=f"glob {args.pattern}{_in(args)}",
        ),
    )
    return Result(content, data.dump(), truncated=cut)


def _in(args: Glob) -> str:
    return "" if args.path == "." else f" in {args.path}"


def _hint(pattern: str) -> str:
    return "" if "/" in pattern or "**" in pattern else f" **/{pattern} looks in all folders below."
