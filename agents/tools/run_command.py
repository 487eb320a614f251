"""The tool run_command: a shell command in the sandbox, waited for or left running in the background."""

import codecs
import hashlib
import os
import time
from dataclasses import replace
from operator import attrgetter
from typing import Any

from pydantic import AliasChoices, Field

from agents.tools.base import Effect, Fact, Input, Output, Result, Rules, ToolContext, ToolError, tool
from workspaces import outputs, sandbox
from workspaces.background import Job
from workspaces.known import memory
from workspaces.sandbox import Ending, Limit, Outcome, Tree
from workspaces.sandbox.printed import Shown, show
from workspaces.shell import is_read_only, seconds_waited

COMMAND_BYTES = 128 * 1024
"""What Linux takes as one argument of a program (MAX_ARG_STRLEN of execve(2))."""
SLEEP_S = 2.0
"""From so many seconds on a command that does nothing but wait is refused."""
LIVE_CHARS = 256 * 1024
LIVE_EVERY_S = 0.08
"""Past so many characters only a piece each so often is pushed: nobody reads faster, and no more is kept for them."""


class RunCommand(Input):
    command: str = Field(min_length=1, description="A bash command, run at the workspace root.")
    timeout_ms: int | None = Field(
        None,
        ge=1,
        le=600_000,
        validation_alias=AliasChoices("timeout_ms", "timeout"),
        description="Milliseconds until it is ended; 120000 by default, 600000 in the background.",
    )
    description: str = Field("", max_length=500, description="What it is for, in a few words.")
    run_in_background: bool = Field(
        False,
        description="Return an id at once and let it run on, as for a server; see command_output and stop_command.",
    )


class RunCommandOutput(Output):
    """How the command ended. In the background: its id, and `state` is "running" while all below is still open."""

    command: str
    background: bool = False
    id: str = ""
    state: str = "ended"
    exit_code: int | None = None
    ending: str = ""
    signal: str = ""
    limit: str = Field("", description="The limit that ended it, or that it ran into and failed (sandbox.Limit).")
    duration_ms: int = 0
    timeout_ms: int = 0
    total_bytes: int = 0
    applied: dict[str, Any] = {}
    output: str = Field("", description="What it printed, where that has colours: bounded, with SGR escapes.")


def _decide(args: RunCommand, rules: Rules) -> None:
    if "\0" in args.command:
        raise ToolError("INVALID_INPUT", "The command holds a NUL character, which no shell takes.")
    try:
        size = len(os.fsencode(args.command))
    except UnicodeEncodeError:
        raise ToolError("INVALID_INPUT", "The command holds half a character (a lone surrogate).") from None
    if size >= COMMAND_BYTES:
        raise ToolError("INVALID_INPUT", f"The command has {size} bytes; write a script file and run that.")
    rules.may_run(args.command)
    if not args.run_in_background and seconds_waited(args.command) >= SLEEP_S:
        raise ToolError(
            "BLOCKED_COMMAND",
            "rule `sleep`: waiting alone does no work. Start what you wait for with run_in_background, and follow it "
            "with command_output and its wait_ms.",
            {"rule": "sleep"},
        )


def _effect_of(args: RunCommand) -> Effect:
    only_reads = not args.run_in_background and is_read_only(args.command)
    return Effect.READ if only_reads else Effect.EXECUTE


@tool(
    effect=Effect.EXECUTE,
    input=RunCommand,
    output=RunCommandOutput,
    minimal=True,
    cap=attrgetter("command_chars"),
    effect_of=_effect_of,
    decide=_decide,
)
def run_command(ctx: ToolContext, args: RunCommand) -> Result:
    """Run a shell command in a sandbox: tests, builds, version control.

    It starts at the workspace root, reads nothing from standard input, and ends with everything that it started; there
    is no network unless the task allows some. What must run on, such as a server, goes into the background. Do not use
    it to read, find, search or edit files: read_file, glob, search_in_files and edit_file do that better.
    """
    place = _place(ctx, args)
    ctx.workspace.outputs.mkdir(parents=True, exist_ok=True)
    result = _in_background(ctx, args, place) if args.run_in_background else _in_foreground(ctx, args, place)
    return replace(result, content=result.content + ctx.secrets.hint(args.command, dict(place.secrets)))


def _place(ctx: ToolContext, args: RunCommand) -> sandbox.Place:
    """Return where this command runs: what only reads gets a read-only tree."""
    only_reads = ctx.effect is Effect.READ or (args.run_in_background and is_read_only(args.command))
    mode = Tree.READ if only_reads else ctx.place.mode
    secrets = ctx.secrets.for_command(args.command)
    place = replace(ctx.place, mode=mode, secrets=secrets, runs_on=args.run_in_background)
    return sandbox.covered(place, is_written=memory.is_written(place.tree))


def _limits(ctx: ToolContext, args: RunCommand) -> sandbox.Limits:
    most = ctx.limits.command_timeout_max_ms
    usual = most if args.run_in_background else ctx.limits.command_timeout_ms
    timeout_ms = min(args.timeout_ms or usual, most)
    return sandbox.Limits(timeout_s=timeout_ms / 1000, output_bytes=ctx.limits.command_output_bytes)


# --- waited for ------------------------------------------------------------------------------------------


def _in_foreground(ctx: ToolContext, args: RunCommand, place: sandbox.Place) -> Result:
    spool = ctx.workspace.outputs / outputs.ref_of(ctx.call_id)
    limits = _limits(ctx, args)
    outcome = sandbox.run_command(
        args.command,
        place,
        limits,
        spool=spool,
        on_bytes=_Live(ctx),
        cancelled=ctx.cancelled,
        on_start=ctx.journal.started,
        on_connection=ctx.journal.connected,
    )
    if outcome.ending is Ending.UNAVAILABLE:
        raise _unavailable(args.command, outcome)
    shown = show(spool, ctx.limits.command_chars)
    if not shown.is_cut:
        spool.unlink(missing_ok=True)
    result = _result(args, outcome, limits, shown)
    return replace(
        result,
        output_ref=spool.name if shown.is_cut else "",
        touched=None if place.mode is Tree.WRITE else (),
    )


def _unavailable(command: str, outcome: Outcome) -> ToolError:
    return ToolError(
        "SANDBOX_UNAVAILABLE",
        "no command can be run here; people see the reason. Go on with the file tools, and say so in your summary.",
        {"command": command, "ending": outcome.ending, "why": outcome.why},
    )


class _Live:
    """Hands bytes on as text, as they come; a character split between two pieces waits for its rest."""

    def __init__(self, ctx: ToolContext) -> None:
        self._emit = ctx.emit
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._chars = 0
        self._next = 0.0

    def __call__(self, piece: bytes) -> None:
        if self._chars > LIVE_CHARS:
            now = time.monotonic()
            if now < self._next:
                return
            self._next = now + LIVE_EVERY_S
        if text := self._decode(piece):
            self._chars += len(text)
            self._emit(text)


def _result(args: RunCommand, outcome: Outcome, limits: sandbox.Limits, shown: Shown) -> Result:
    code, said = _verdict(outcome, limits)
    head = f"<tool_use_error>{code}: {said}</tool_use_error>\n" if code else ""
    tail = ("" if code else f"\n{said}") + sandbox.hints(shown.plain, outcome, limits)
    data = RunCommandOutput(
        command=args.command,
        exit_code=outcome.exit_code,
        ending=outcome.ending,
        signal=outcome.signal,
        limit=sandbox.met(outcome, limits, shown.plain),
        duration_ms=outcome.duration_ms,
        timeout_ms=round(limits.timeout_s * 1000),
        total_bytes=outcome.total_bytes,
        applied=outcome.applied,
        output=f"{head}{shown.coloured.rstrip()}{tail}" if shown.coloured else "",
        fact=None if code else _fact(args.command, shown.plain),
    )
    content = f"{head}{shown.plain.rstrip() or '(no output)'}{tail}"
    return Result(content, data.dump(), truncated=shown.is_cut, is_error=bool(code), code=code)


def _fact(command: str, text: str) -> Fact:
    seen = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    return Fact("run_command", command, fingerprint=seen, freshness="derived", refresh=f"run_command {command}")


def _verdict(outcome: Outcome, limits: sandbox.Limits) -> tuple[str, str]:
    """Return the error code, if it is one, and how the command ended in words."""
    match outcome.ending:
        case Ending.TIMEOUT:
            limit = round(limits.timeout_s * 1000)
            return "TIMEOUT", f"the command was ended after {limit} ms with all it started. What it printed until then:"
        case Ending.CANCELLED:
            return "CANCELLED", "the command was ended since the run was stopped. What it printed until then:"
        case Ending.DISK_LIMIT:
            return "DISK_FULL", f"the command {_stopped_by_disk(outcome, limits)}. What it printed:"
        case _:
            return "", sandbox.how_it_ended(outcome, limits)


def _stopped_by_disk(outcome: Outcome, limits: sandbox.Limits) -> str:
    how = "was ended with all it started" if outcome.total_bytes or outcome.duration_ms else "was not started"
    return f"{how}: {sandbox.disk_is_full(outcome, limits)}"


# --- in the background -----------------------------------------------------------------------------------


def _in_background(ctx: ToolContext, args: RunCommand, place: sandbox.Place) -> Result:
    limits = _limits(ctx, args)
    spool = ctx.workspace.outputs / outputs.ref_of(ctx.call_id)
    job = ctx.jobs.start(
        args.command,
        place,
        limits,
        call_id=ctx.call_id,
        spool=spool,
        cancelled=ctx.cancelled,
        on_connection=ctx.journal.connected,
    )
    _must_have_started(job, limits)
    if job.process is not None:
        ctx.journal.started(*job.process)
    timeout_ms = round(limits.timeout_s * 1000)
    data = RunCommandOutput(
        command=args.command,
        background=True,
        id=job.id,
        state="running" if job.is_running else "ended",
        timeout_ms=timeout_ms,
        applied=job.applied,
        fact=Fact("run_command", args.command, freshness="snapshot", refresh=f"command_output {job.id}"),
    )
    return Result(
        f"Started in the background as {job.id}. command_output shows what it prints, stop_command ends it. It is "
        f"ended after {timeout_ms} ms, and when your turn of work ends.",
        data.dump(),
        touched=None if job.may_write else (),
        output_ref=spool.name,
    )


def _must_have_started(job: Job, limits: sandbox.Limits) -> None:
    if job.fault is not None:
        raise job.fault
    if job.outcome is not None and job.outcome.ending is Ending.UNAVAILABLE:
        raise _unavailable(job.command, job.outcome)
    if job.outcome is not None and job.outcome.ending is Ending.DISK_LIMIT:
        said = f"the command {_stopped_by_disk(job.outcome, limits)}."
        raise ToolError("DISK_FULL", said, {"command": job.command, "limit": Limit.DISK})
