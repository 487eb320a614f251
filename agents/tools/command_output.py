"""The tool command_output: what a background command has printed, and whether it still runs."""

import hashlib
from operator import attrgetter

from pydantic import Field

from agents.tools.base import Effect, Fact, Input, Result, ToolContext, tool
from agents.tools.job_output import JobOutput, ending_words, standing
from workspaces import sandbox
from workspaces.background import Job
from workspaces.sandbox.printed import Part, show_part
from workspaces.watching import Search

WAIT_MS = 30_000


class CommandOutput(Input):
    id: str = Field(min_length=1, max_length=50, description="The id that run_command returned, such as bg1.")
    offset: int = Field(
        0, ge=0, description="Show what was printed from this byte on; each result gives the next offset."
    )
    wait_ms: int | None = Field(
        None,
        ge=0,
        le=WAIT_MS,
        description="Wait up to so many milliseconds for output past the offset, for `until`, or for the end. "
        "0 by default, 30000 with `until`.",
    )
    until: str | None = Field(
        None, min_length=1, max_length=1000, description="Wait for a line past the offset that this Rust regex fits."
    )


class CommandOutputOutput(JobOutput):
    """What a background command printed from `offset` to `next_offset` (bytes); `left_out` is the gap in between."""

    next_offset: int = 0
    left_out: tuple[int, int] | None = None
    matched: bool | None = Field(None, description="Whether `until` was found; null where nothing was waited for.")
    matched_line: str = ""


@tool(effect=Effect.READ, input=CommandOutput, output=CommandOutputOutput, cap=attrgetter("command_chars"))
def command_output(ctx: ToolContext, args: CommandOutput) -> Result:
    """Show what a background command has printed, and whether it still runs.

    With `until` it waits for a line, such as "Listening on"; with `wait_ms` for anything new. Give the offset of the
    last result to see only what came after it.
    """
    job = ctx.jobs.find(args.id)
    search = Search(args.until, job.spool, args.offset) if args.until else None
    _wait(ctx, args, job, search)
    running, size = job.is_running, job.size
    if search:
        search.look(size)
    part = show_part(
        job.spool,
        args.offset,
        size,
        ctx.limits.command_chars,
        lambda at: f"offset {at} shows what begins there",
        more_comes=running,
    )
    lines = _lines(args, job, part, search, running=running)
    data = CommandOutputOutput(
        **standing(job, running=running, size=size, text=part.shown.plain),
        offset=part.start,
        next_offset=part.end,
        left_out=part.gap,
        matched=bool(search.found) if search else None,
        matched_line=search.found if search else "",
        output="\n".join([part.shown.coloured.rstrip(), *lines]) if part.shown.coloured else "",
        fact=_fact(job, part, running),
    )
    return Result(
        "\n".join([part.shown.plain.rstrip() or "(no output from there on)", *lines]),
        data.dump(),
        truncated=part.shown.is_cut,
        touched=None if job.is_unscanned else (),
        output_ref=job.spool.name,
    )


def _wait(ctx: ToolContext, args: CommandOutput, job: Job, search: Search | None) -> None:
    wait_ms = (WAIT_MS if search else 0) if args.wait_ms is None else args.wait_ms
    if wait_ms:
        so = (lambda: search.look(job.size)) if search else (lambda: job.size > args.offset)
        job.wait(so, wait_ms / 1000, ctx.cancelled)


def _lines(args: CommandOutput, job: Job, part: Part, search: Search | None, *, running: bool) -> list[str]:
    """Return what is said below the output."""
    lines = []
    if search:
        lines.append(f"Found: {search.found}" if search.found else f"No line fits {args.until!r} so far.")
    if args.offset > part.start:
        lines.append(f"Only {part.start} bytes were printed, so there is nothing at offset {args.offset} yet.")
    hints = "" if running or job.outcome is None else sandbox.hints(part.shown.plain, job.outcome, job.limits)
    return [*lines, f"{ending_words(job, running=running)}. Next offset: {part.end}{hints}"]


def _fact(job: Job, part: Part, running: bool) -> Fact:
    return Fact(
        source="command_output",
        subject=f"{job.id} {job.command}",
        range=f"bytes {part.start}-{part.end}",
        fingerprint=hashlib.sha256(part.shown.plain.encode("utf-8", "replace")).hexdigest()[:16],
        freshness="snapshot" if running else "stable",
        refresh=f"command_output {job.id} {part.start}",
    )
