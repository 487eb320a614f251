"""What a run changed: files, diffs, a patch, and the snapshots it went through."""

from datetime import datetime
from typing import Annotated, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import AfterValidator, BaseModel, Field

from agents.api.errors import not_found
from agents.api.runs import find_run
from agents.control import Refused
from agents.encoding import raw_path, safe_text
from agents.models import Run
from workspaces import snapshots

router = Router(tags=["changes"])

PER_PAGE = 100

Path = Annotated[str, Field(max_length=4096), AfterValidator(raw_path)]
"""A path as the API takes it: bytes that are not UTF-8 as \\xNN."""
At = Literal["latest"] | Annotated[int, Field(ge=0, le=2**31 - 1)]
"""The number of a snapshot, or the word for the last one."""


class FileOut(BaseModel):
    path: str
    old_path: str | None
    status: Literal["added", "modified", "deleted", "renamed", "type"]
    additions: int | None
    deletions: int | None
    binary: bool
    old_mode: str | None
    new_mode: str | None
    size_old: int | None
    size_new: int | None
    hidden: bool = Field(description="Only a rule that the run added would make git ignore it.")


class ChangesOut(BaseModel):
    files: list[FileOut]
    tree: str
    baseline_tree: str
    additions: int
    deletions: int


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
    old_path: str | None
    hunks: list[HunkOut]
    binary: bool
    truncated: bool
    old_mode: str | None
    new_mode: str | None


class SnapshotOut(BaseModel):
    number: int
    tree: str
    call_id: str
    step: int
    files: list[dict[str, object]] = Field(description="At most 200.")
    file_count: int
    hidden: list[str]
    created_at: datetime


class SnapshotsOut(BaseModel):
    snapshots: list[SnapshotOut]
    page: int
    pages: int
    count: int


class RangeQuery(BaseModel):
    start: At = Field(0, alias="from", description="A snapshot; 0 is the baseline.")
    end: At = Field("latest", alias="to")


class DiffQuery(RangeQuery):
    path: Path = Field(min_length=1)
    context: int = Field(3, ge=0, le=1000)


class PageQuery(BaseModel):
    page: int = Field(1, ge=1, le=100_000)


@router.get("/runs/{int:run_id}/changes", response=ChangesOut)
def changes(request: HttpRequest, run_id: int, query: Annotated[RangeQuery, Query()]) -> ChangesOut:
    """List the files that differ between two snapshots."""
    run = find_run(run_id)
    found = snapshots.changes(run.place, number(run, query.start), number(run, query.end))
    return ChangesOut(
        files=[file_out(file) for file in found.files],
        tree=found.tree,
        baseline_tree=found.baseline_tree,
        additions=found.additions,
        deletions=found.deletions,
    )


@router.get("/runs/{int:run_id}/diff", response=DiffOut)
def diff(request: HttpRequest, run_id: int, query: Annotated[DiffQuery, Query()]) -> DiffOut:
    """Give the diff of one file between two snapshots."""
    run = find_run(run_id)
    try:
        found = snapshots.file_diff(
            run.place, query.path, number(run, query.start), number(run, query.end), context=query.context
        )
    except FileNotFoundError:
        raise not_found(f"file “{safe_text(query.path)}” in these snapshots of run {run_id}") from None
    return _diff_out(found)


@router.get("/runs/{int:run_id}/patch", response={200: str})
def patch(request: HttpRequest, run_id: int, query: Annotated[RangeQuery, Query()]) -> HttpResponse:
    """Give the changes as one patch that `git apply` takes, binary files too."""
    run = find_run(run_id)
    data = snapshots.patch(run.place, number(run, query.start), number(run, query.end))
    return HttpResponse(data, content_type="text/x-patch; charset=utf-8")


@router.get("/runs/{int:run_id}/snapshots", response=SnapshotsOut)
def run_snapshots(request: HttpRequest, run_id: int, query: Annotated[PageQuery, Query()]) -> SnapshotsOut:
    """List the run's snapshots, oldest first, 100 a page."""
    rows = find_run(run_id).place.snapshots.order_by("number")
    count = rows.count()
    start = (query.page - 1) * PER_PAGE
    shown = [
        SnapshotOut.model_validate(row, from_attributes=True) for row in rows[start : start + PER_PAGE]
    ]
    return SnapshotsOut(snapshots=shown, page=query.page, pages=max(1, -(-count // PER_PAGE)), count=count)


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
    return FileOut(
        path=safe_text(file.path),
        old_path=None if file.old_path is None else safe_text(file.old_path),
        status=file.status,
        additions=file.additions,
        deletions=file.deletions,
        binary=file.binary,
        old_mode=file.old_mode,
        new_mode=file.new_mode,
        size_old=file.size_old,
        size_new=file.size_new,
        hidden=file.hidden,
    )


def _diff_out(found: snapshots.FileDiff) -> DiffOut:
    hunks = [
        HunkOut(
            id=hunk.id,
            header=safe_text(hunk.header),
            old_start=hunk.old_start,
            old_lines=hunk.old_lines,
            new_start=hunk.new_start,
            new_lines=hunk.new_lines,
            lines=[
                LineOut(kind=line.kind, old=line.old, new=line.new, text=safe_text(line.text), no_newline=line.no_newline)
                for line in hunk.lines
            ],
        )
        for hunk in found.hunks
    ]
    return DiffOut(
        path=safe_text(found.path),
        old_path=None if found.old_path is None else safe_text(found.old_path),
        hunks=hunks,
        binary=found.binary,
        truncated=found.truncated,
        old_mode=found.old_mode,
        new_mode=found.new_mode,
    )
