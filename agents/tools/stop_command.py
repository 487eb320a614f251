"""The tool stop_command: the end of a background command, with all it started."""

from operator import attrgetter

from pydantic import Field

from agents.tools.base import Effect, Fact, Input, Result, ToolContext, tool
from agents.tools.job_output import JobOutput, ending_words, standing
from workspaces.sandbox.printed import show_part

LAST_CHARS = 4_000
"""How much of the end of its output is shown."""


class StopCommand(Input):
    id: str = Field(min_length=1, max_length=50, description="The id that run_command returned, such as bg1.")


class StopCommandOutput(JobOutput):
    """How the command ended; `already_ended`: by itself, before it was asked to."""

    already_ended: bool


@tool(effect=Effect.EXECUTE, input=StopCommand, output=StopCommandOutput, cap=attrgetter("command_chars"))
def stop_command(ctx: ToolContext, args: StopCommand) -> Result:
    """End a background command with everything it started, and show the last it printed.

    Use it for what is not needed any more, such as a server after the test; what still runs at the end of your work is
    stopped anyway.
    """
    job = ctx.jobs.find(args.id)
    already_ended = not job.is_running
    if not already_ended:
        ctx.jobs.stop([job])
    part = show_part(job.spool, max(0, job.size - LAST_CHARS), job.size, LAST_CHARS, str, more_comes=False)
    data = StopCommandOutput(
        **standing(job, running=job.is_running, size=job.size, text=part.shown.plain),
        already_ended=already_ended,
        offset=part.start,
        output=part.shown.coloured,
        fact=Fact("stop_command", f"{job.id} {job.command}", freshness="stable", refresh=f"command_output {job.id}"),
    )
    ended = ending_words(job, running=job.is_running)
    said = f"{job.id} had already ended. {ended}." if already_ended else f"{job.id}: {ended}."
    above = f"The last of {job.size} bytes it printed (command_output shows the rest):\n" if part.start else ""
    return Result(
        f"{said}\n{above}{part.shown.plain.rstrip() or '(no output)'}",
        data.dump(),
        touched=None if job.is_unscanned else (),
        output_ref=job.spool.name,
    )
