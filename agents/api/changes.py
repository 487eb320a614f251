"""What a run changed: files, diffs, a patch, and the snapshots it went through."""

from datetime import datetime
from typing import Annotated, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field

from agents.api.answers import AS_TEXT
from agents.api.errors import not_found
from agents.api.paging import Paged, PageQuery, page_of
from agents.api.runs import find_run
from agents.control import Refused
from agents.models import Run
from workspaces import snapshots

router = Router(tags=["changes"])

PER_PAGE = 100
NO_MODE = "000000"

Path = Annotated[str, Field(max_length=4096, pattern=r"^([^/][\s\S]*)?$")]
r"""A path from the workspace's root; bytes that are not UTF-8 as `\xNN`, both ways."""
At = Literal["latest"] | Annotated[int, Field(ge=0, le=2**31 - 1)]
"""The number of a snapshot, or the word for the last one."""


class FileOut(BaseModel):
    path: str
    old_path: str = Field(description="Where it was before; the same but for a renamed file.")
    status: Literal["added", "modified", "deleted", "renamed", "type"]
    additions: int
    deletions: int
    binary: bool
    old_mode: str = Field(description="As in git; 000000 where there is no file.")
    new_mode: str
    size_old: int
    size_new: int
    stored: bool = Field(description="False: over 50 MB, so that only its size and hash are known.")
    hidden: bool = Field(description="Only a rule that the run added would make git ignore it.")


class LeftOut(BaseModel):
    path: str
    why: str


class ChangesOut(BaseModel):
    files: list[FileOut]
    tree: str
    baseline_tree: str
    additions: int
    deletions: int
    left_out: list[LeftOut] = Field(
        description="What lay in the tree at `to` and can't be stored, such as a device; at most 200."
    )
    left_out_count: int


class LineOut(BaseModel):
    kind: Literal[" ", "+", "-"]
    old: int | None
    new: int | None
    text: str
    no_newline: bool


class HunkOut(BaseModel):
    id: str = Field(description="Names the hunk in a revert.")
    header: str
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: list[LineOut]


class DiffOut(BaseModel):
    path: str
    old_path: str
    hunks: list[HunkOut]
    binary: bool
    truncated: bool
    old_mode: str
    new_mode: str


class SnapshotOut(BaseModel):
    number: int
    tree: str
    call_id: str
    step: int
    files: list[dict[str, object]] = Field(description="At most 200.")
    file_count: int
    hidden: list[str]
    created_at: datetime


class SnapshotsOut(Paged):
    snapshots: list[SnapshotOut]


class RangeQuery(BaseModel):
    start: At = Field(0, alias="from", description="A snapshot; 0 is the baseline.")
    end: At = Field("latest", alias="to")


class DiffQuery(RangeQuery):
    path: Path = Field(min_length=1)
    context: int = Field(3, ge=0, le=1000)


@router.get("/runs/{int:run_id}/changes", response=ChangesOut)
def changes(request: HttpRequest, run_id: int, query: Annotated[RangeQuery, Query()]) -> ChangesOut:
    """List the files that differ between two snapshots."""
    run = find_run(run_id)
    start, end = number(run, query.start), number(run, query.end)
    found, last = snapshots.changes(run.place, start, end), run.place.snapshots.get(number=end)
    return ChangesOut(
        files=[file_out(file) for file in found.files],
        tree=found.tree,
        baseline_tree=found.baseline_tree,
        additions=found.additions,
        deletions=found.deletions,
        left_out=[LeftOut(**each) for each in last.skipped],
        left_out_count=last.skipped_count,
    )


@router.get("/runs/{int:run_id}/diff", response=DiffOut)
def diff(request: HttpRequest, run_id: int, query: Annotated[DiffQuery, Query()]) -> DiffOut:
    """Give the diff of one file between two snapshots."""
    run = find_run(run_id)
    start, end = number(run, query.start), number(run, query.end)
    found = snapshots.file_diff(run.place, query.path, start, end, context=query.context)
    if found.old_mode == found.new_mode == NO_MODE:
        _check_there(run, query.path, end)
    return _diff_out(found)


def _check_there(run: Run, path: str, at: int) -> None:
    """Tell a file that does not differ from one that is not there. Raises Refused with 404."""
    try:
        snapshots.read(run.place, path, at, limit_bytes=1)
    except FileNotFoundError:
        raise not_found(f"file “{path}” in these snapshots of run {run.pk}") from None


@router.get("/runs/{int:run_id}/patch", openapi_extra=AS_TEXT)
def patch(request: HttpRequest, run_id: int, query: Annotated[RangeQuery, Query()]) -> HttpResponse:
    """Give the changes as one patch that `git apply` takes, binary files too."""
    run = find_run(run_id)
    data = snapshots.patch(run.place, number(run, query.start), number(run, query.end))
    return HttpResponse(data, content_type="text/x-patch; charset=utf-8")


@router.get("/runs/{int:run_id}/snapshots", response=SnapshotsOut)
def run_snapshots(request: HttpRequest, run_id: int, query: Annotated[PageQuery, Query()]) -> SnapshotsOut:
    """List the run's snapshots, oldest first, 100 a page."""
    rows, figures = page_of(find_run(run_id).place.snapshots.order_by("number"), query.page, PER_PAGE)
    shown = [SnapshotOut.model_validate(row, from_attributes=True) for row in rows]
    return SnapshotsOut(snapshots=shown, **figures)


def number(run: Run, at: int | str) -> int:
    """Return the number of a snapshot that there is. Raises Refused with 404."""
    if not run.place.snapshots.exists():
        raise Refused("NO_SNAPSHOT", "The run has no snapshot yet: its workspace is not prepared.", 404)
    if at == "latest":
        return run.place.snapshots.order_by("-number").values_list("number", flat=True)[0]
    if not run.place.snapshots.filter(number=at).exists():
        raise not_found(f"snapshot {at} of run {run.pk}")
    return int(at)


def file_out(file: snapshots.FileChange) -> FileOut:
    """Return a changed file as the API gives it."""
    return FileOut.model_validate(file, from_attributes=True)


def _diff_out(found: snapshots.FileDiff) -> DiffOut:
    """Return a diff as the API gives it."""
    return DiffOut.model_validate(found, from_attributes=True)
