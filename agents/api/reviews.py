"""What a human does with a run's result: comment, revert, decide, push."""

from typing import Annotated

from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

from agents import reverts
from agents import review as reviewing
from agents.api.auth import caller, reviewer
from agents.api.changes import FileOut, Path, file_out
from agents.api.runs import find_run
from agents.models import Comment, Verdict
from agents.review import LIMIT_BODY, LIMIT_COMMENTS, Remark

router = Router(tags=["reviews"])


class CommentIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    path: Path = Field("", description="Empty for a remark on the whole.")
    line: int | None = Field(None, ge=1, le=2**31 - 1)
    side: Comment.Side = Comment.Side.NEW
    body: str = Field(min_length=1, max_length=LIMIT_BODY)


class ReviewIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    verdict: Verdict
    summary: str = Field("", max_length=LIMIT_BODY)
    comments: list[CommentIn] = Field(default_factory=list, max_length=LIMIT_COMMENTS)
    snapshot: int | None = Field(None, ge=0, description="The snapshot you looked at; refused if it is not the latest.")
    despite_proof: str = Field(
        "",
        max_length=LIMIT_BODY,
        description="A sentence on why to approve although the proof is red, or not made yet; it goes into the commit.",
    )


class ReviewOut(BaseModel):
    id: int
    verdict: Verdict
    branch: str | None = None
    commit: str | None = None


class CommentOut(BaseModel):
    id: int
    path: str
    line: int | None
    side: Comment.Side
    body: str


class RevertIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    path: Path = Field(min_length=1)
    to: int = Field(0, ge=0, description="The snapshot to go back to; 0 is the baseline.")
    hunks: Annotated[list[str], Field(max_length=10_000)] | None = Field(
        None, description="Only these hunks of the diff from `to` to the latest snapshot."
    )
    dry_run: bool = False


class RevertOut(BaseModel):
    snapshot: int | None = Field(description="The new snapshot; null for a dry run.")
    tree: str = Field(description="The resulting tree, of a dry run too.")
    files: list[FileOut] = Field(description="What the revert changes.")


class PushOut(BaseModel):
    branch: str
    commit: str


@router.post("/runs/{int:run_id}/comments", response={201: CommentOut}, auth=reviewer)
def comment(request: HttpRequest, run_id: int, asked: CommentIn) -> CommentOut:
    """Comment on a line, a file or the whole; it goes to the agent with the next review."""
    remark = _remark(asked)
    row = reviewing.comment(
        find_run(run_id), caller(request), path=remark.path, line=remark.line, side=remark.side, body=remark.body
    )
    return CommentOut(id=row.pk, path=row.path, line=row.line, side=Comment.Side(row.side), body=row.body)


@router.post("/runs/{int:run_id}/reviews", response={201: ReviewOut}, auth=reviewer)
def review(request: HttpRequest, run_id: int, asked: ReviewIn) -> ReviewOut:
    """Decide on a run that waits for a human. Approving makes the branch, requesting changes starts the next round.

    An approval against the proof is refused (409) without `despite_proof`: PROOF_RED, or PROOF_RUNNING while it is
    made.
    """
    run = find_run(run_id)
    remarks = [_remark(each) for each in asked.comments]
    row = reviewing.decide(
        run,
        caller(request),
        asked.verdict,
        asked.summary,
        remarks,
        seen=asked.snapshot,
        despite=asked.despite_proof,
    )
    return ReviewOut(id=row.pk, verdict=Verdict(row.verdict), branch=run.branch or None, commit=run.commit or None)


@router.post("/runs/{int:run_id}/reverts", response=RevertOut, auth=reviewer)
def revert(request: HttpRequest, run_id: int, asked: RevertIn) -> RevertOut:
    """Put a file, or hunks of it, back. Refused (409) while an agent is at work: pause the run first."""
    done = reverts.revert(
        find_run(run_id),
        caller(request),
        asked.path,
        to=asked.to,
        hunks=asked.hunks,
        dry_run=asked.dry_run,
    )
    number = None if done.snapshot is None else done.snapshot.number
    return RevertOut(snapshot=number, tree=done.tree, files=[file_out(file) for file in done.files])


@router.post("/runs/{int:run_id}/push", response=PushOut, auth=reviewer)
def push(request: HttpRequest, run_id: int) -> PushOut:
    """Push the approved branch to the source, as a new branch."""
    branch, commit = reviewing.push(find_run(run_id), caller(request))
    return PushOut(branch=branch, commit=commit)


def _remark(asked: CommentIn) -> Remark:
    return Remark(body=asked.body, path=asked.path, line=asked.line, side=asked.side)
