"""The tool check_changes: what differs from the baseline, as the tree lies there now."""

from dataclasses import dataclass
from operator import attrgetter
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.tools.base import Effect, Fact, Input, Output, Result, ToolContext, tool
from workspaces import comparing, cuts, globs, lines, names, paths
from workspaces.diffs import FileChange

FILES = 300
"""Files that are listed."""
LEFT_OUT = 50
"""Paths that can't be kept and are listed."""
LEFT_OUT_SAID = 10
LINE_CHARS = 1000
LEAST_CHARS = 300
"""What each diff may have, however many there are."""
NOTE_CHARS = 150
"""What a note on what was cut takes, but for paths in it."""
HIDDEN = "hidden by policy"


class CheckChanges(Input):
    mode: Literal["summary", "full"] = Field("summary", description="The files with counts, or their diffs as well.")
    paths: list[str] = Field(default_factory=list, max_length=100, description="Only these files or folders.")


class ChangedFile(BaseModel):
    """One file that differs. Sizes are known for binaries; modes are git's, "000000" where there is no file."""

    model_config = ConfigDict(extra="forbid")

    path: str
    old_path: str
    status: Literal["added", "modified", "deleted", "renamed", "type"]
    additions: int
    deletions: int
    binary: bool
    old_mode: str
    new_mode: str
    size_old: int
    size_new: int
    stored: bool
    """False: over 50 MB, so that only size and hash are kept."""
    newly_ignored: bool
    """Only a rule that the run added would ignore it."""
    hidden: bool
    """The policy hides what is in it from agents."""


class LeftOut(BaseModel):
    """One path that can't be kept, such as a device, and why."""

    model_config = ConfigDict(extra="forbid")

    path: str
    why: str


class CheckChangesOutput(Output):
    mode: Literal["summary", "full"]
    paths: list[str]
    """What was asked for; empty: everything."""
    files: list[ChangedFile]
    total: int
    """How many files differ in all, of which the first 300 are in `files`."""
    additions: int
    deletions: int
    truncated: bool
    """Files or parts of diffs were left out of what the model was told."""
    cut: list[str]
    """Files whose diffs were cut or left out."""
    tree: str
    """The tree that was compared; equal trees hold the very same bytes."""
    left_out: list[LeftOut]
    """What lies in the workspace and can't be kept, so that it is in no diff and no branch: the first 50."""
    left_out_count: int


@tool(effect=Effect.READ, input=CheckChanges, output=CheckChangesOutput, cap=attrgetter("changes_chars"))
def check_changes(ctx: ToolContext, args: CheckChanges) -> Result:
    """Show what changed in the workspace since the run started, whatever was staged or committed since.

    New, deleted and renamed files and changed modes too; mode full shows the diffs. Use it before you finish, to see
    that only what you meant was changed; use it rather than git commands, which know only what git tracks.
    """
    wanted = [names.shown(paths.resolve_parent(ctx.tree, path).relative) for path in args.paths]
    found = comparing.compare_with_baseline(ctx.workspace, _filter(wanted), texts=args.mode == "full")
    hidden = {file.path for file in found.files if ctx.rules.hides(file.path) or ctx.rules.hides(file.old_path)}
    missing = _missing(ctx, args.paths, wanted, found.files)
    told = _told(ctx, args, found, hidden, [*missing, *_left_out(found.left_out)])
    shown_files = found.files[:FILES]
    output = CheckChangesOutput(
        mode=args.mode,
        paths=wanted,
        files=[_row(file, file.path in hidden) for file in shown_files],
        total=found.file_count,
        additions=sum(file.additions for file in found.files),
        deletions=sum(file.deletions for file in found.files),
        truncated=told.whole is not None,
        cut=told.cut[:FILES],
        tree=found.tree,
        left_out=[LeftOut(**each) for each in found.left_out[:LEFT_OUT]],
        left_out_count=len(found.left_out),
        fact=Fact("check_changes", ", ".join(args.paths) or ".", "", found.tree, "derived", _again(args)),
    )
    return Result(told.text, output.dump(), truncated=told.whole is not None, whole=told.whole)


def _filter(wanted: list[str]) -> comparing.Wanted | None:
    if not wanted or "" in wanted:
        return None
    return lambda path, old: any(globs.is_below(each, folder) for each in (path, old) for folder in wanted)


def _again(args: CheckChanges) -> str:
    return " ".join(["check_changes", args.mode, *args.paths])[:500]


def _missing(ctx: ToolContext, given: list[str], wanted: list[str], files: list[FileChange]) -> list[str]:
    """Return a sentence for each path that was asked for in vain."""
    words = {
        "tree": "is as it was at the baseline",
        "baseline": "is gone, as it was before",
        "ignored": "is ignored, so it is not compared",
        "": "does not exist, now or at the baseline",
    }
    rest = [
        (asked, path)
        for asked, path in zip(given, wanted, strict=True)
        if path and not any(globs.is_below(each, path) for file in files for each in (file.path, file.old_path))
    ]
    return [
        f"{asked} is {HIDDEN}." if ctx.rules.hides(path) else f"{asked} {words[comparing.where(ctx.workspace, path)]}."
        for asked, path in rest[:20]
    ]


def _left_out(rows: list[dict[str, str]]) -> list[str]:
    """Return lines on what can't be kept; the model is told fewer of them than the page has."""
    if not rows:
        return []
    said = [f"  {each['path']}: {each['why']}" for each in rows[:LEFT_OUT_SAID]]
    more = [f"  … and {len(rows) - len(said):,} more"] if len(rows) > len(said) else []
    return ["Not kept, so in no diff and no branch:", *said, *more]


def _row(file: FileChange, hidden: bool) -> ChangedFile:
    return ChangedFile(
        path=file.path,
        old_path=file.old_path,
        status=file.status,
        additions=file.additions,
        deletions=file.deletions,
        binary=file.binary,
        old_mode=file.old_mode,
        new_mode=file.new_mode,
        size_old=file.size_old,
        size_new=file.size_new,
        stored=file.stored,
        newly_ignored=file.hidden,
        hidden=hidden,
    )


# --- for the model -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Told:
    text: str
    cut: list[str]
    whole: str | None = None
    """All of it, where that is more."""


def _told(
    ctx: ToolContext, args: CheckChanges, found: comparing.Compared, hidden: set[str], missing: list[str]
) -> _Told:
    """Return the words for the model: the files, then their diffs, within the cap."""
    if not found.files:
        where = " there." if args.paths else "."
        return _Told("\n".join([f"Nothing is changed against the baseline{where}", *missing]), [])
    cap = ctx.limits.changes_chars
    every = [_line(file, file.path in hidden) for file in found.files]
    rows = _fitting(every[:FILES], cap // 2 if args.mode == "full" else cap)
    end = [_count(found), *missing]
    if len(rows) < found.file_count:
        end.insert(0, f"[{len(rows)} of {found.file_count:,} files shown; name paths to see the others]")
    text, whole = "\n".join([*rows, *end]), "\n".join([*every, _count(found), *missing])
    if args.mode == "summary":
        return _Told(text, [], whole if len(rows) < found.file_count else None)
    diffs = _diffs(found, hidden, cap - len(text))
    is_cut = len(rows) < found.file_count or bool(diffs.cut)
    told, all_of_it = "\n\n".join([text, *diffs.said]), "\n\n".join([whole, *diffs.whole])
    return _Told(told, diffs.cut, all_of_it if is_cut else None)


def _count(found: comparing.Compared) -> str:
    additions, deletions = sum(file.additions for file in found.files), sum(file.deletions for file in found.files)
    verb = "file differs" if found.file_count == 1 else "files differ"
    return f"[{found.file_count:,} {verb} from the baseline, +{additions} −{deletions}]"


def _fitting(rows: list[str], room: int) -> list[str]:
    """Return as many of the rows as there is room for, one at least."""
    for count, row in enumerate(rows):
        room -= len(row) + 1
        if room < 0:
            return rows[: max(count, 1)]
    return rows


def _line(file: FileChange, hidden: bool) -> str:
    renamed = f"{file.old_path} → " if file.old_path and file.old_path != file.path else ""
    notes = [HIDDEN if hidden else _size(file)]
    if file.old_mode != file.new_mode and file.status not in ("added", "deleted"):
        notes.append(f"mode {file.old_mode} → {file.new_mode}")
    if file.hidden:
        notes.append("a rule of yours would ignore it")
    return f"{file.status:8}  {renamed}{file.path} ({', '.join(notes)})"


def _size(file: FileChange) -> str:
    if not file.binary:
        return f"+{file.additions} −{file.deletions}"
    kind = "binary" if file.stored else "over 50 MB"
    match file.status:
        case "added":
            return f"{kind}, {file.size_new:,} bytes"
        case "deleted":
            return f"{kind}, {file.size_old:,} bytes"
        case _:
            return f"{kind}, {file.size_old:,} → {file.size_new:,} bytes"


@dataclass(frozen=True)
class _Diffs:
    """The diffs as they are told, all of them uncut, and the paths of those that were cut."""

    said: list[str]
    whole: list[str]
    cut: list[str]


def _diffs(found: comparing.Compared, hidden: set[str], room: int) -> _Diffs:
    """Return the diffs, each cut to its share of the room."""
    files = [file for file in found.files[:FILES] if file.path not in hidden and not file.binary]
    texts = {file.path: _text(found.hunks[file.path]) for file in files if found.hunks.get(file.path)}
    cut = [file.path for file in files if file.path not in found.hunks]
    share = _share([len(_whole(path, text)) + 2 for path, text in texts.items()], room - NOTE_CHARS)
    said: list[str] = []
    for file in files:
        if file.path not in texts:
            continue
        part = _cut(file, texts[file.path], share - 2, alone=len(files) == 1)
        if part.cut or len(part.text) > room:
            cut.append(file.path)
        if len(part.text) <= room:
            said.append(part.text)
            room -= len(part.text) + 2
    unsaid = len(files) - len(said) - sum(found.hunks.get(file.path) == b"" for file in files)
    if unsaid > 0:
        said.append(f"[{unsaid:,} more diffs are left out; name paths to see them]")
    return _Diffs(said, [_whole(path, text) for path, text in texts.items()], cut)


def _whole(path: str, text: str) -> str:
    return f"--- {path}\n{text}"


def _text(hunks: bytes) -> str:
    rows = hunks.decode(errors="replace").removesuffix("\n").split("\n")
    return "\n".join(lines.clipped(row, LINE_CHARS) for row in rows)


def _share(sizes: list[int], room: int) -> int:
    """Return how much each may have so that all fit: what short ones leave goes to the long ones."""
    left, share = sorted(sizes), room
    while left:
        share = room // len(left)
        if left[0] > share:
            break
        room -= left.pop(0)
    return max(LEAST_CHARS, share if left else max(sizes, default=0))


@dataclass(frozen=True)
class _Part:
    text: str
    cut: bool = False


def _cut(file: FileChange, text: str, room: int, *, alone: bool) -> _Part:
    """Return a file's diff, or as many of its lines as fit and where the others are."""
    whole = _whole(file.path, text)
    if len(whole) <= room:
        return _Part(whole)
    kept = whole[: max(room - NOTE_CHARS - 2 * len(file.path), LEAST_CHARS // 2)].rpartition("\n")[0] or cuts.head(
        whole, LEAST_CHARS
    )
    left = whole.count("\n") - kept.count("\n")
    see = [] if alone else [f'check_changes with mode full and paths ["{file.path}"]']
    see += [f"read_file {file.path} from line {_line_reached(kept)}"] if file.status != "deleted" else []
    how = f"; see {' or '.join(see)}" if see else ""
    return _Part(f"{kept}\n[… {left:,} more lines of this diff{how}]", cut=True)


def _line_reached(text: str) -> int:
    """Return the number, in the new file, of the line after the last one in this beginning of a diff."""
    head, number = text.rpartition("\n@@ ")[2].split("\n"), 1
    if (plus := head[0].partition("+")[2]).split(",")[0].split(" ")[0].isdigit():
        number = int(plus.split(",")[0].split(" ")[0])
    return number + sum(not row.startswith("-") for row in head[1:])
