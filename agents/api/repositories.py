"""Repositories: add a source, see how its mirror is doing, refresh it, take it away."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from agents import policy_file
from agents import repositories as acting
from agents.api.auth import admin, caller, operator
from agents.api.errors import not_found
from agents.api.paging import Paged, PageQuery, page_of
from agents.control import Refused
from agents.models.task import Target
from agents.policies import FILE_BYTES, PATH, PolicyFault
from agents.policy_file import Try
from workspaces import proposing
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


class TestsOut(BaseModel):
    count: int
    paths: list[str] = Field(description="The first 50 of them.")
    is_whole: bool = Field(description="Whether all files were looked at.")


class PolicyOut(BaseModel):
    path: str
    branch: str
    commit: str
    state: str = Field(description="valid, none, broken, or unread: the repository can't be read now.")
    text: str | None
    faults: list[str]
    notes: list[str] = Field(description="What of the file is ignored, and why.")
    blob: str = Field(description="The file's object; give it as `seen` to propose a change of it.")
    tests: TestsOut | None = Field(description="Tests that no agent may change.")


class TryIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    kind: policy_file.Kind
    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=policy_file.TRY_LENGTH)]


class TriesIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str | None = Field(None, max_length=FILE_BYTES, description="The policy; that of the default branch if null.")
    tries: list[TryIn] = Field([], max_length=policy_file.TRIES)


class OutcomeOut(BaseModel):
    kind: str
    text: str
    allowed: bool
    rule: str
    source: str = Field(description="Whose rule it is: repository, defaults or installation.")
    why: str


class TriedOut(BaseModel):
    faults: list[str] = []
    notes: list[str] = []
    tries: list[OutcomeOut] = []
    left_out: int = Field(0, description="Tries that were left out, as those before them took too long.")


class ProposalIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str = Field(max_length=FILE_BYTES)
    seen: str | None = Field(
        None, max_length=40, description="The blob that the text began from; another one by now is refused as STALE."
    )


class ProposalOut(BaseModel):
    branch: str
    commit: str
    base: str
    merge_commands: list[str]


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


@router.get("/repositories/{int:repository_id}/policy", response=PolicyOut)
def policy(request: HttpRequest, repository_id: int) -> PolicyOut:
    """Give the policy file of the default branch, what is wrong with it, and the tests that it keeps."""
    row = _find(repository_id)
    standing = policy_file.look(row)
    kept = policy_file.kept(row, standing, standing.text or "")
    return PolicyOut(
        path=PATH,
        branch=row.default_branch,
        commit=standing.commit,
        state=standing.state,
        text=standing.text,
        faults=[standing.unread] if standing.unread else list(standing.faults),
        notes=list(standing.notes),
        blob=standing.blob,
        tests=TestsOut(count=kept.count, paths=list(kept.first), is_whole=kept.is_whole) if kept else None,
    )


@router.post("/repositories/{int:repository_id}/policy/tries", response=TriedOut, auth=operator)
def policy_tries(request: HttpRequest, repository_id: int, asked: TriesIn) -> TriedOut:
    """Tell what is wrong with a text, and what each try would get under it. Nothing is done or kept."""
    row = _find(repository_id)
    standing = policy_file.look(row)
    if standing.unread:
        raise Refused("NOT_READY", f"“{row.name}”: {standing.unread}")
    text = asked.text if asked.text is not None else standing.text or ""
    try:
        file = policy_file.check(text)
    except PolicyFault as fault:
        return TriedOut(faults=fault.sentences)
    found = policy_file.tried(row, standing.commit, file, _wanted(asked.tries))
    return TriedOut(
        notes=file.notes(),
        left_out=len(asked.tries) - len(found),
        tries=[OutcomeOut(kind=each.tried.kind, text=each.tried.text, **asdict(each.decision)) for each in found],
    )


@router.post("/repositories/{int:repository_id}/policy/proposals", response={201: ProposalOut}, auth=operator)
def policy_propose(request: HttpRequest, repository_id: int, asked: ProposalIn) -> ProposalOut:
    """Push a text as the policy file, on a new branch of the source. The default branch is not touched."""
    row = _find(repository_id)
    try:
        made = policy_file.propose(row, caller(request), asked.text, asked.seen)
    except PolicyFault as fault:
        raise Refused("INVALID_INPUT", f"text: {' '.join(fault.sentences)}", 422) from None
    commands = proposing.merge_commands(row, made.branch)
    return ProposalOut(branch=made.branch, commit=made.commit, base=made.base, merge_commands=commands)


@router.delete("/repositories/{int:repository_id}", response={204: None}, auth=admin)
def delete(request: HttpRequest, repository_id: int) -> None:
    """Take a repository and its mirror away; the source is never touched. Refused while tasks use it."""
    acting.remove(_find(repository_id))


def _wanted(tries: list[TryIn]) -> list[Try]:
    """Return what is to be tried, read as lines of the page are. Raises Refused for one that can't be."""
    try:
        return [policy_file.read_try(f"{each.kind} {each.text}") for each in tries]
    except ValueError as error:
        raise Refused("INVALID_INPUT", f"tries: {error}", 422) from None


def _find(repository_id: int) -> Repository:
    row = Repository.objects.filter(pk=repository_id).first()
    if row is None:
        raise not_found(f"repository {repository_id}")
    return row


def _out(row: Repository) -> RepositoryOut:
    fields = {name: getattr(row, name) for name in RepositoryOut.model_fields}
    return RepositoryOut(**fields)
