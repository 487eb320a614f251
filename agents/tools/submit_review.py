"""The tool submit_review: the reviewer's verdict."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.tools.base import Effect, Input, Output, Result, ToolContext, ToolError, tool

DESPITE_CHARS = 20
"""What a word on why a red proof is no hindrance must have at least."""


class Finding(BaseModel):
    model_config = ConfigDict(extra="forbid")

    severity: Literal["critical", "major", "minor", "suggestion"]
    file: str = Field("", max_length=4096)
    line: int | None = Field(None, ge=1)
    message: str = Field(min_length=1, max_length=5000)
    suggestion: str = Field("", max_length=5000)


class SubmitReview(Input):
    verdict: Literal["approve", "request_changes", "reject"]
    score: int = Field(ge=1, le=10, description="The quality of the work, from 1 to 10.")
    summary: str = Field(min_length=1, max_length=20_000, description="What you looked at, and why you decided so.")
    findings: list[Finding] = Field(default_factory=list, max_length=200)
    despite: str = Field(
        "",
        max_length=2000,
        description="Only to approve against a proof that is not green, or an integrity report that names bad changes: "
        "a sentence on why. People see it.",
    )


class SubmitReviewOutput(Output):
    """The verdict as it was given; `unproven` are sentences on what of it the facts do not bear out."""

    verdict: Literal["approve", "request_changes", "reject"]
    score: int
    summary: str
    findings: list[Finding]
    despite: str = ""
    unproven: list[str] = []


@tool(effect=Effect.FINISH, input=SubmitReview, output=SubmitReviewOutput, minimal=True, agents=("reviewer",))
def submit_review(ctx: ToolContext, args: SubmitReview) -> Result:
    """Give your verdict on the work: approve, request_changes or reject. Call it alone, as the last thing.

    Say in the findings what is wrong, where, and what to do about it.
    """
    _must_say_why(ctx, args)
    claim = args.model_dump(exclude=set() if args.despite else {"despite"})
    return Result("The review is submitted.", SubmitReviewOutput(**claim).dump(), finish=claim)


def _must_say_why(ctx: ToolContext, args: SubmitReview) -> None:
    """A verdict is no better than the proof allows, unless it says why."""
    if args.verdict != "approve" or not ctx.proof.against or len(args.despite.strip()) >= DESPITE_CHARS:
        return
    raise ToolError(
        "INVALID_INPUT",
        f"an approval that the facts speak against needs a word on why. {' '.join(ctx.proof.against)} "
        "Ask for changes, or give the sentence that says why this is no hindrance in `despite`, in at least "
        f"{DESPITE_CHARS} characters; people see it.",
        {"despite": "missing", "proof": ctx.proof.state},
    )
