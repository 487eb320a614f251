"""The files of a run's snapshots, what its agents have read, where its files started, and `.sakura`."""

from datetime import datetime
from typing import Annotated, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field

from agents.api.answers import AS_BYTES
from agents.api.changes import At, Path, number
from agents.api.errors import not_found
from agents.api.paging import Paged, PageQuery, page_of
from agents.api.runs import find_run
from agents.control import Refused
from agents.models import Run
from workspaces import snapshots
from workspaces.models import Baseline, ReadState

router = Router(tags=["files"])

PER_PAGE = 500
FILE_LIMIT = 10_000_000
TEXT_LIMIT = 1_000_000
SAKURA = ".sakura"


class EntryOut(BaseModel):
    path: str
    name: str
    kind: Literal["file", "dir", "link", "submodule"]
    mode: str
    size: int | None


class TreeOut(BaseModel):
    path: str
    snapshot: int
    entries: list[EntryOut]


class ReadOut(BaseModel):
    path: str
    reader: str
    ranges: list[list[int]] = Field(description="[first line, last line]; what was shown.")
    is_whole: bool
    size: int
    encoding: str
    newline: str
    step: int
    updated_at: datetime


class ReadsOut(Paged):
    reads: list[ReadOut]


class BaselineOut(BaseModel):
    path: str
    kind: Baseline.Kind
    mode: str
    blob: str
    size: int
    ignored: bool
    created_at: datetime


class BaselinesOut(Paged):
    baselines: list[BaselineOut]


class TreeQuery(BaseModel):
    at: At = "latest"
    path: Path = ""


class FileQuery(BaseModel):
    at: At = "latest"
    path: Path = Field(min_length=1)


class SakuraQuery(BaseModel):
    path: Path = Field("", description="Below .sakura; a folder lists, a file gives its text.")


class SakuraOut(BaseModel):
    path: str
    entries: list[EntryOut] = Field(description="Of a folder.")
    text: str | None = Field(description="Of a file.")
    truncated: bool


@router.get("/runs/{int:run_id}/tree", response=TreeOut)
def tree(request: HttpRequest, run_id: int, query: Annotated[TreeQuery, Query()]) -> TreeOut:
    """List a folder of a snapshot."""
    run = find_run(run_id)
    at = number(run, query.at)
    return TreeOut(path=query.path, snapshot=at, entries=_entries(run, at, query.path))


@router.get("/runs/{int:run_id}/file", openapi_extra=AS_BYTES)
def file(request: HttpRequest, run_id: int, query: Annotated[FileQuery, Query()]) -> HttpResponse:
    """Give the bytes of a file of a snapshot, 10 MB at most; X-Truncated says whether that is less than all."""
    run = find_run(run_id)
    blob = _read(run, number(run, query.at), query.path)
    response = HttpResponse(blob.data, content_type=_content_type(blob.data))
    response["X-Size"] = str(blob.size)
    response["X-Mode"] = blob.mode
    response["X-Truncated"] = str(blob.truncated).lower()
    return response


@router.get("/runs/{int:run_id}/sakura", response=SakuraOut)
def sakura(request: HttpRequest, run_id: int, query: Annotated[SakuraQuery, Query()]) -> SakuraOut:
    """Give a folder or a text of the repository's `.sakura`, as of the latest snapshot."""
    run = find_run(run_id)
    at = number(run, "latest")
    path = f"{SAKURA}/{query.path.strip('/')}".rstrip("/")
    try:
        return SakuraOut(path=query.path, entries=_entries(run, at, path), text=None, truncated=False)
    except Refused:
        blob = _read(run, at, path, TEXT_LIMIT)
    return SakuraOut(path=query.path, entries=[], text=blob.data.decode(errors="replace"), truncated=blob.truncated)


@router.get("/runs/{int:run_id}/reads", response=ReadsOut)
def reads(request: HttpRequest, run_id: int, query: Annotated[PageQuery, Query()]) -> ReadsOut:
    """List what the agents have read, by path, 500 a page."""
    rows, figures = page_of(find_run(run_id).place.reads.order_by("path", "reader"), query.page, PER_PAGE)
    return ReadsOut(reads=[_read_out(row) for row in rows], **figures)


@router.get("/runs/{int:run_id}/baselines", response=BaselinesOut)
def baselines(request: HttpRequest, run_id: int, query: Annotated[PageQuery, Query()]) -> BaselinesOut:
    """List what the touched files were at the start, by path, 500 a page."""
    rows, figures = page_of(find_run(run_id).place.baselines.order_by("path"), query.page, PER_PAGE)
    shown = [BaselineOut.model_validate(row, from_attributes=True) for row in rows]
    return BaselinesOut(baselines=shown, **figures)


def _entries(run: Run, at: int, path: str) -> list[EntryOut]:
    try:
        found = snapshots.entries(run.place, at, path)
    except (FileNotFoundError, NotADirectoryError):
        raise not_found(f"folder “{path}” in snapshot {at} of run {run.pk}") from None
    return [EntryOut.model_validate(entry, from_attributes=True) for entry in found]


def _read(run: Run, at: int, path: str, limit_bytes: int = FILE_LIMIT) -> snapshots.Blob:
    try:
        return snapshots.read(run.place, path, at, limit_bytes)
    except (FileNotFoundError, IsADirectoryError):
        raise not_found(f"file “{path}” in snapshot {at} of run {run.pk}") from None


def _content_type(data: bytes) -> str:
    """Return text or bytes, never what a browser would run or draw."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    return "application/octet-stream" if b"\0" in data else "text/plain; charset=utf-8"


def _read_out(row: ReadState) -> ReadOut:
    return ReadOut(
        path=row.path,
        reader=row.reader,
        ranges=[[first, last] for first, last, *_ in row.ranges],
        is_whole=bool(row.whole),
        size=row.size,
        encoding=row.encoding,
        newline=row.newline,
        step=row.step,
        updated_at=row.updated_at,
    )
