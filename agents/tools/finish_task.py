"""The tool finish_task: the implementer's word that the work is done."""

from typing import Literal

from pydantic import Field

from agents.tools.base import Effect, Input, Output, Result, ToolContext, tool


class FinishTask(Input):
    summary: str = Field(
        min_length=1, max_length=20_000, description="What was done and why, for the person who reviews it."
    )
    modified_files: list[str] = Field(default_factory=list, max_length=2000, description="The files that you changed.")
    risk_level: Literal["low", "medium", "high"] = Field("low", description="How much could go wrong with it.")
    test_result: str = Field("", max_length=5000, description="Which tests were run, and how they ended.")


class FinishTaskOutput(Output):
    """The claim as it was made; `unproven` are sentences on what of it the facts do not bear out."""

    summary: str
    modified_files: list[str]
    risk_level: Literal["low", "medium", "high"]
    test_result: str
    unproven: list[str] = []


@tool(effect=Effect.FINISH, input=FinishTask, output=FinishTaskOutput, minimal=True, agents=("implementer",))
def finish_task(ctx: ToolContext, args: FinishTask) -> Result:
    """Say that the task is done, and hand the work over for review. Call it alone, as the last thing.

    What you claim is held against the facts: the files that changed, and the tests that ran after the last edit.
    """
    claim = args.model_dump()
    return Result("The work is handed over for review.", FinishTaskOutput(**claim).dump(), finish=claim)
