"""The files of a run's snapshots, what its agents have read, where its files started, and `.sakura`."""

import mimetypes
from datetime import datetime
from typing import Annotated, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field

from agents.api.changes import At, PageQuery, Path, number
from agents.api.errors import not_found
from agents.api.runs import find_run
from agents.encoding import safe_text
from agents.models import Run
from workspaces import snapshots
from workspaces.models import Baseline

router = Router(tags=["files"])

PER_PAGE = 500
FILE_LIMIT = 10_000_000
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


class ReadsOut(BaseModel):
    reads: list[ReadOut]
    page: int
    pages: int
    count: int


class BaselineOut(BaseModel):
    path: str
    kind: Baseline.Kind
    mode: str
    blob: str
    size: int
    ignored: bool
    created_at: datetime


class BaselinesOut(BaseModel):
    baselines: list[BaselineOut]
    page: int
    pages: int
    count: int


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
    return TreeOut(path=safe_text(query.path), snapshot=at, entries=_entries(run, at, query.path))


@router.get("/runs/{int:run_id}/file", response={200: str})
def file(request: HttpRequest, run_id: int, query: Annotated[FileQuery, Query()]) -> HttpResponse:
    """Give the bytes of a file of a snapshot, 10 MB at most; X-Truncated says whether they are all."""
    run = find_run(run_id)
    blob = _read(run, number(run, query.at), query.path)
    response = HttpResponse(blob.data, content_type=_content_type(blob.data))
    response["X-Size"] = str(blob.size)
    response["X-Mode"] = blob.mode
    response["X-Truncated"] = "true" if blob.truncated else "false"
    return response
