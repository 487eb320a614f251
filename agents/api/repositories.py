"""Repositories: add a source, see how its mirror is doing, refresh it, take it away."""

from datetime import datetime
from typing import Annotated, Any

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.http import HttpRequest
from ninja import Query, Router
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from agents import doorbell
from agents.api.auth import admin, caller, operator
from agents.api.errors import not_found
from agents.control import Refused
from agents.models import Role, has_role
from workspaces import sources
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
    setup_hosts: Annotated[list[Command], Field(max_length=50)] = []
    verify: Commands = []


class RepositoryOut(BaseModel):
    id: int
    name: str
    source: str
    status: Repository.Status
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


class RepositoriesOut(BaseModel):
    repositories: list[RepositoryOut]
    page: int
    pages: int
    count: int


class PageQuery(BaseModel):
    page: int = Field(1, ge=1, le=100_000)


@router.get("/repositories", response=RepositoriesOut)
def repositories(request: HttpRequest, query: Annotated[PageQuery, Query()]) -> RepositoriesOut:
    """List repositories by name, 50 a page."""
    count = Repository.objects.count()
    start = (query.page - 1) * PER_PAGE
    rows = Repository.objects.order_by("name")[start : start + PER_PAGE]
    pages = max(1, -(-count // PER_PAGE))
    return RepositoriesOut(repositories=[_out(row) for row in rows], page=query.page, pages=pages, count=count)


@router.post("/repositories", response={201: RepositoryOut}, auth=operator)
def add(request: HttpRequest, asked: RepositoryIn) -> RepositoryOut:
    """Add a source; a worker mirrors it next. Local paths are for admins, or below SAKURA_REPOSITORY_ROOTS."""
    source = sources.check_source(asked.source, is_admin=has_role(caller(request), Role.ADMIN))
    try:
        with transaction.atomic():
            row = Repository.objects.create(**asked.model_dump(exclude={"source"}), source=source)
            transaction.on_commit(doorbell.ring_workers, robust=True)
    except IntegrityError:
        raise Refused("NAME_TAKEN", f"name: there is a repository “{asked.name}” already; choose another name.") from None
    return _out(row)


@router.get("/repositories/{int:repository_id}", response=RepositoryOut)
def repository(request: HttpRequest, repository_id: int) -> RepositoryOut:
    """Give one repository."""
    return _out(_find(repository_id))


@router.post("/repositories/{int:repository_id}/refresh", response=RepositoryOut, auth=operator)
def refresh(request: HttpRequest, repository_id: int) -> RepositoryOut:
    """Ask the source for news, which may take a minute."""
    row = _find(repository_id)
    sources.refresh(row)
    row.refresh_from_db()
    return _out(row)


@router.delete("/repositories/{int:repository_id}", response={204: None}, auth=admin)
def delete(request: HttpRequest, repository_id: int) -> None:
    """Take a repository and its mirror away; the source is never touched. Refused while tasks use it."""
    row = _find(repository_id)
    try:
        sources.delete(row)
    except ProtectedError:
        raise Refused("IN_USE", f"“{row.name}” has tasks, whose transcripts would be lost.") from None


def _find(repository_id: int) -> Repository:
    row = Repository.objects.filter(pk=repository_id).first()
    if row is None:
        raise not_found(f"repository {repository_id}")
    return row


def _out(row: Repository) -> RepositoryOut:
    fields = {name: getattr(row, name) for name in RepositoryOut.model_fields}
    return RepositoryOut(**fields)
