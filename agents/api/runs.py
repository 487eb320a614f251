"""One run: where it stands, its transcript, and a human's words to it."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from ninja import Query, Router
from pydantic import BaseModel, ConfigDict, Field

from agents import control, events, leaving, network, proofs
from agents.api.answers import AS_TEXT
from agents.api.auth import caller, operator
from agents.api.errors import not_found
from agents.models import Budgets, Run, Status
from agents.outputs import read_output
from agents.schema import EventsOut, event_json

router = Router(tags=["runs"])

FINDINGS = 50


class Usage(BaseModel):
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    usd: float


class Integrity(BaseModel):
    """What the run changed of what decides what the tests mean."""

    counts: dict[str, int] = Field({}, description="How many findings of each kind.")
    findings: list[dict[str, Any]] = Field([], description="The first 50, worst first.")
    locks: list[str] = Field([], description="Lock files that differ, at most 50.")


class Proof(BaseModel):
    """What Sakura itself found of the files, and how that stands to them now."""

    state: str = Field(
        description="none, waiting, running, green, red, unproven, or stale: the files changed since, and are no "
        "others that were proven."
    )
    snapshot: int | None = Field(None, description="The snapshot that it was made of.")
    since: int | None = Field(None, description="Of a stale one: the first snapshot past it.")
    reasons: list[str] = Field([], description="Sentences on why it is red, or unproven.")
    commands: list[Any] = Field([], description="Each with command, exit_code, ending, duration_ms, output_tail.")
    tests: dict[str, Any] = Field({}, description="How many passed, failed, were skipped; the names of bad ones.")
    integrity: Integrity = Integrity()


class ModelTraffic(BaseModel):
    """What went to who runs the model."""

    provider: str = Field(description="Anthropic or OpenAI; empty where the model has an address of its own.")
    host: str = Field(description="The host of that address; empty for the maker's own.")
    model: str
    requests: int
    input_tokens: int = Field(description="Tokens that left.")
    output_tokens: int = Field(description="Tokens that came back.")


class TargetTraffic(BaseModel):
    """The connections of commands, and of set-up, to one host:port."""

    target: str = Field(description="host:port; empty for requests that named none.")
    opened: int
    open: int = Field(description="Opened, and not closed as far as is told.")
    refused: int = Field(description="Not on the list of hosts, or an address of a private network.")
    failed: int = Field(description="Allowed, and not reached.")
    sent: int = Field(description="Bytes that left the sandbox, of connections that are closed.")
    received: int
    why: str = Field(description="Why one was refused or failed.")
    last_at: datetime
    calls: list[str] = Field(description="Ids of the calls that connected, the last ten; empty text: set-up.")
    call_count: int


class PushedBranch(BaseModel):
    host: str = Field(description="Empty for a repository on the server's own machine.")
    branch: str
    commit: str
    at: datetime


class NetworkOut(BaseModel):
    """What left the house in this run: sums of its `network` events, beside what the model and the source got."""

    model: ModelTraffic | None = Field(description="None where no model was asked.")
    targets: list[TargetTraffic] = Field(description="The 50 that were used last.")
    more: int = Field(description="How many targets are not listed; their connections are in the sums.")
    opened: int
    refused: int
    failed: int
    untold: int = Field(description="Connections past the 200 of a command that are told one by one.")
    sent: int
    received: int
    pushed: PushedBranch | None


class RunOut(BaseModel):
    id: int
    url: str
    task: int
    number: int
    status: Status
    reason: str
    agent: str = Field(description="Who is at work: implementer, reviewer, or nobody (empty).")
    resume_to: str
    round: int
    max_rounds: int
    step: int
    last_seq: int
    snapshot: int
    usage: Usage
    budgets: Budgets
    worked_ms: int
    changed_files: int
    additions: int
    deletions: int
    sandbox: dict[str, Any] = Field(description="The wall as it was around the last command.")
    masked: int = Field(description="How often a secret was masked in what the run showed.")
    network: NetworkOut
    proof: Proof
    model: str
    base: str
    base_commit: str
    branch: str
    commit: str
    pushed_at: datetime | None
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str


class EventQuery(BaseModel):
    after: int = Field(0, ge=0, description="Give events past this number.")
    limit: int = Field(100, ge=1, le=events.PAGE)


class PieceQuery(BaseModel):
    offset: int = Field(0, ge=0, description="Bytes to pass over.")
    limit: int = Field(1_000_000, ge=1, le=10_000_000, description="Bytes to give at most.")


@router.get("/runs/{int:run_id}", response=RunOut)
def run(request: HttpRequest, run_id: int) -> RunOut:
    """Give one run. Five queries at most."""
    return _out(request, find_run(run_id))


@router.get("/runs/{int:run_id}/events", response=EventsOut)
def run_events(request: HttpRequest, run_id: int, query: Annotated[EventQuery, Query()]) -> JsonResponse:
    """Give the events past `after`, oldest first. Long texts come as their ends, with the `ref` of the whole."""
    row = find_run(run_id)
    found = events.after(row.pk, query.after, query.limit)
    last_seq = max([row.last_seq, *(event.seq for event in found[-1:])])
    return JsonResponse({"events": [event_json(event) for event in found], "last_seq": last_seq})


@router.get("/runs/{int:run_id}/outputs/{ref}", openapi_extra=AS_TEXT)
def output(request: HttpRequest, run_id: int, ref: str, query: Annotated[PieceQuery, Query()]) -> HttpResponse:
    """Give a whole output, or the long text of an event. X-Output-Size is the size of the whole, in bytes."""
    try:
        piece = read_output(find_run(run_id).place, ref, query.offset, query.limit)
    except FileNotFoundError:
        raise not_found(f"output “{ref}” of run {run_id}") from None
    response = HttpResponse(piece.data, content_type="text/plain; charset=utf-8")
    response["X-Output-Size"] = str(piece.size)
    return response


@router.post("/runs/{int:run_id}/messages", response={201: RunOut}, auth=operator)
def message(request: HttpRequest, run_id: int, asked: Message) -> RunOut:
    """Steer the run: its agent reads the text before its next step."""
    row = find_run(run_id)
    control.steer(row, caller(request), asked.text)
    return _out(request, find_run(run_id))


@router.post("/runs/{int:run_id}/pause", response=RunOut, auth=operator)
def pause(request: HttpRequest, run_id: int) -> RunOut:
    """Pause the run; a worker that holds it does so after the call that is running."""
    control.pause(find_run(run_id), caller(request))
    return _out(request, find_run(run_id))


@router.post("/runs/{int:run_id}/resume", response=RunOut, auth=operator)
def resume(request: HttpRequest, run_id: int) -> RunOut:
    """Let a paused run go on."""
    control.resume(find_run(run_id), caller(request))
    return _out(request, find_run(run_id))


@router.post("/runs/{int:run_id}/cancel", response=RunOut, auth=operator)
def cancel(request: HttpRequest, run_id: int) -> RunOut:
    """End the run; what its commands started is killed."""
    control.cancel(find_run(run_id), caller(request))
    return _out(request, find_run(run_id))


@router.post("/runs/{int:run_id}/retry", response=RunOut, auth=operator)
def retry(request: HttpRequest, run_id: int) -> RunOut:
    """Let a failed run, or one that needs attention, go on where it stood."""
    control.retry(find_run(run_id), caller(request))
    return _out(request, find_run(run_id))


def find_run(run_id: int) -> Run:
    """Return the run with its task and workspace. Raises Refused with 404. One query."""
    row = Run.objects.select_related("task__repository", "workspace__repository").filter(pk=run_id).first()
    if row is None:
        raise not_found(f"run {run_id}")
    return row


def _out(request: HttpRequest, row: Run) -> RunOut:
    task = row.task
    return RunOut(
        id=row.pk,
        url=request.build_absolute_uri(reverse("run", args=[row.pk])),
        task=task.pk,
        number=row.number,
        status=row.state,
        reason=row.reason,
        agent=AGENT_AT_WORK.get(row.state, ""),
        resume_to=row.resume_to,
        round=row.round,
        max_rounds=task.max_rounds,
        step=row.step,
        last_seq=row.last_seq,
        snapshot=row.snapshot,
        usage=Usage(
            input_tokens=row.input_tokens,
            cached_tokens=row.cached_tokens,
            output_tokens=row.output_tokens,
            usd=float(row.usd),
        ),
        budgets=task.limits(),
        worked_ms=row.elapsed_ms(),
        changed_files=row.changed_files,
        additions=row.additions,
        deletions=row.deletions,
        sandbox=row.sandbox,
        masked=row.masked,
        network=_network(row),
        proof=_proof(row),
        model=task.model,
        base=task.base_name,
        base_commit=task.base_commit,
        branch=row.branch,
        commit=row.commit,
        pushed_at=row.pushed_at,
        created_at=row.created_at,
        updated_at=row.updated_at,
        finished_at=row.finished_at,
    )


def _network(row: Run) -> NetworkOut:
    """Return what left the house. One query, if any event is new."""
    asked, pushed = leaving.asked(row), leaving.pushed(row)
    found = asdict(network.traffic(row))
    beside = {"model": asdict(asked) if asked else None, "pushed": asdict(pushed) if pushed else None}
    return NetworkOut.model_validate(found | beside)


AGENT_AT_WORK = {Status.IMPLEMENTING: "implementer", Status.REVIEWING: "reviewer"}


def _proof(row: Run) -> Proof:
    """Return how the run's proof stands to its files. Three queries at most."""
    found = proofs.standing(row)
    proof = found.proof
    if proof is None:
        return Proof(state=found.state)
    report: dict[str, Any] = proof.integrity or {}
    return Proof(
        state=found.state,
        snapshot=proof.snapshot,
        since=found.since or None,
        reasons=proof.reasons,
        commands=proof.commands,
        tests=proof.tests,
        integrity=Integrity(
            counts=report.get("counts") or {},
            findings=(report.get("findings") or [])[:FINDINGS],
            locks=(report.get("locks") or [])[:FINDINGS],
        ),
    )
