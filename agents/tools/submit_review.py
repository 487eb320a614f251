"""The tool submit_review: the reviewer's verdict."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.tools.base import Effect, Input, Output, Result, ToolContext, tool


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


class SubmitReviewOutput(Output):
    """The verdict as it was given; `unproven` are sentences on what of it the facts do not bear out."""

    verdict: Literal["approve", "request_changes", "reject"]
    score: int
    summary: str
    findings: list[Finding]
    unproven: list[str] = []


@tool(effect=Effect.FINISH, input=SubmitReview, output=SubmitReviewOutput, minimal=True, agents=("reviewer",))
def submit_review(ctx: ToolContext, args: SubmitReview) -> Result:
    """Give your verdict on the work: approve, request_changes or reject. Call it alone, as the last thing.

    Say in the findings what is wrong, where, and what to do about it.
    """
    claim = args.model_dump()
    return Result("The review is submitted.", SubmitReviewOutput(**claim).dump(), finish=claim)
