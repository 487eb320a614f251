"""Repositories: add a source, see how its mirror is doing, refresh it, take it away."""

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from agents import repositories as acting
from agents.api.auth import admin, caller, operator
from agents.api.errors import not_found
from agents.api.paging import Paged, PageQuery, page_of
from agents.models.task import Target
from workspaces.models import Repository

router = Router(tags=["repositories"])

PER_PAGE = 50

Command = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
Commands = Annotated[list[Command], Field(max_length=20)]


class RepositoryIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
    source: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
    setup: Commands = []
    setup_hosts: Annotated[list[Target], Field(max_length=50, description="host:port that set-up may reach.")] = []
    verify: Commands = []
    credential: str = Field(
        "", max_length=2000, description="For an https source: a token, or user:token. Never shown."
    )


class RepositoryOut(BaseModel):
    id: int
    name: str
    source: str
    status: str = Field(description="mirroring, ready or failed")
    error: str
    progress: str
    percent: int | None
    default_branch: str
    setup: list[str]
    setup_hosts: list[str]
    verify: list[str]
    notices: list[str]
    suggestions: dict[str, Any]
    fetched_at: datetime | None
    created_at: datetime


class RepositoriesOut(Paged):
    repositories: list[RepositoryOut]


@router.get("/repositories", response=RepositoriesOut)
def repositories(request: HttpRequest, query: Annotated[PageQuery, Query()]) -> RepositoriesOut:
    """List repositories by name, 50 a page."""
    rows, figures = page_of(Repository.objects.order_by("name"), query.page, PER_PAGE)
    return RepositoriesOut(repositories=[_out(row) for row in rows], **figures)


@router.post("/repositories", response={201: RepositoryOut}, auth=operator)
def add(request: HttpRequest, asked: RepositoryIn) -> RepositoryOut:
    """Add a source; a worker mirrors it next. Local paths are for admins, or below SAKURA_REPOSITORY_ROOTS."""
    return _out(acting.add(caller(request), **asked.model_dump()))


@router.get("/repositories/{int:repository_id}", response=RepositoryOut)
def repository(request: HttpRequest, repository_id: int) -> RepositoryOut:
    """Give one repository."""
    return _out(_find(repository_id))


@router.post("/repositories/{int:repository_id}/refresh", response=RepositoryOut, auth=operator)
def refresh(request: HttpRequest, repository_id: int) -> RepositoryOut:
    """Ask the source for news, which may take a minute; a mirror that failed is made again by a worker."""
    row = _find(repository_id)
    acting.refresh(row)
    return _out(row)


@router.delete("/repositories/{int:repository_id}", response={204: None}, auth=admin)
def delete(request: HttpRequest, repository_id: int) -> None:
    """Take a repository and its mirror away; the source is never touched. Refused while tasks use it."""
    acting.remove(_find(repository_id))


def _find(repository_id: int) -> Repository:
    row = Repository.objects.filter(pk=repository_id).first()
    if row is None:
        raise not_found(f"repository {repository_id}")
    return row


def _out(row: Repository) -> RepositoryOut:
    fields = {name: getattr(row, name) for name in RepositoryOut.model_fields}
    return RepositoryOut(**fields)
