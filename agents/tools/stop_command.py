"""The tool stop_command: the end of a background command, with all it started."""

from pydantic import Field

from agents.tools.base import Effect, Fact, Input, Output, Result, ToolContext, tool
from agents.tools.command_output import ending_words, state_of
from workspaces.sandbox.printed import show_part

LAST_CHARS = 4_000
"""How much of the end of its output is shown."""


class StopCommand(Input):
    id: str = Field(min_length=1, max_length=50, description="The id that run_command returned, such as bg1.")


class StopCommandOutput(Output):
    """How the command ended; `already_ended`: by itself, before it was asked to. `state` as of command_output."""

    id: str
    command: str
    already_ended: bool
    state: str
    exit_code: int | None = None
    ending: str = ""
    signal: str = ""
    duration_ms: int = 0
    total_bytes: int = 0
    offset: int = Field(0, description="Where the shown end of its output begins, in bytes.")
    output: str = Field("", description="The end of what it printed, where that has colours.")


@tool(effect=Effect.EXECUTE, input=StopCommand, output=StopCommandOutput)
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
        id=job.id,
        command=job.command,
        already_ended=already_ended,
        state=state_of(job),
        duration_ms=job.duration_ms,
        total_bytes=job.size,
        offset=part.start,
        output=part.shown.coloured,
        fact=Fact("stop_command", f"{job.id} {job.command}", freshness="stable", refresh=f"command_output {job.id}"),
    )
    if job.outcome is not None:
        data.exit_code, data.ending, data.signal = job.outcome.exit_code, job.outcome.ending, job.outcome.signal
    said = f"{job.id} had already ended. {ending_words(job)}." if already_ended else f"{job.id}: {ending_words(job)}."
    above = f"The last of {job.size} bytes it printed (command_output shows the rest):\n" if part.start else ""
    return Result(
        f"{said}\n{above}{part.shown.plain.rstrip() or '(no output)'}",
        data.dump(),
        touched=None if job.is_unscanned else (),
        output_ref=job.spool.name,
    )
