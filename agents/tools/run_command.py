"""The tool run_command: a shell command in the sandbox."""

import codecs
import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import AliasChoices, Field

from agents.tools.base import Effect, Input, Output, Result, Rules, ToolContext, ToolError, tool
from workspaces import outputs, sandbox, terminal

SHOWN_BYTES = 1 << 20
"""How much of each end of a long output is looked at."""
_AROUND = 1000
"""Characters of what is put before, between and after what a command printed."""
_MISSING = re.compile(r"^(?:[\w./-]+: )*(?:line \d+: )?([\w.+/-]+): (?:command )?not found$", re.MULTILINE)
_LIMITS = {
    "SIGXCPU": "the limit of processor time",
    "SIGXFSZ": "the limit of a file's size",
}


class RunCommand(Input):
    command: str = Field(min_length=1, description="A bash command, run at the workspace root.")
    timeout_ms: int | None = Field(
        None,
        ge=1,
        le=600_000,
        validation_alias=AliasChoices("timeout_ms", "timeout"),
        description="Milliseconds until it is ended; 120000 by default.",
    )
    description: str = Field("", max_length=500, description="What it is for, in a few words.")


def _decide(args: RunCommand, rules: Rules) -> None:
    if "\0" in args.command:
        raise ToolError("INVALID_INPUT", "The command holds a NUL character, which no shell takes.")
    rules.may_run(args.command)


@tool(effect=Effect.EXECUTE, input=RunCommand, output=Output, minimal=True, decide=_decide)
def run_command(ctx: ToolContext, args: RunCommand) -> Result:
    """Run a shell command in a sandbox: tests, builds, version control.

    It starts at the workspace root, reads nothing from standard input, and ends with everything that it started; there
    is no network unless the task allows some. Do not use it to read, find, search or edit files: read_file, glob,
    search_in_files and edit_file do that better.
    """
    spool = ctx.workspace.outputs / outputs.ref_of(ctx.call_id)
    spool.parent.mkdir(parents=True, exist_ok=True)
    outcome = sandbox.run_command(
        args.command,
        ctx.place,
        _limits(ctx, args),
        spool=spool,
        on_bytes=_Live(ctx),
        cancelled=ctx.cancelled,
        on_start=ctx.journal.started,
    )
    if outcome.ending is sandbox.Ending.UNAVAILABLE:
        raise ToolError(
            "SANDBOX_UNAVAILABLE",
            "no command can be run here; people see the reason. Go on with the file tools, and say so in your summary.",
            {"command": args.command, "ending": outcome.ending, "why": outcome.why},
        )
    return _result(ctx, args, outcome, spool)


def _limits(ctx: ToolContext, args: RunCommand) -> sandbox.Limits:
    timeout_ms = min(args.timeout_ms or ctx.limits.command_timeout_ms, ctx.limits.command_timeout_max_ms)
    return sandbox.Limits(timeout_s=timeout_ms / 1000, output_bytes=ctx.limits.command_output_bytes)


class _Live:
    """Hands bytes on as text, as they come; a character split between two pieces waits for its rest."""

    def __init__(self, ctx: ToolContext) -> None:
        self._emit = ctx.emit
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def __call__(self, piece: bytes) -> None:
        if text := self._decode(piece):
            self._emit(text)


def _result(ctx: ToolContext, args: RunCommand, outcome: sandbox.Outcome, spool: Path) -> Result:
    printed = _read(spool)
    plain, coloured = (show(printed, ctx.limits.command_chars) for show in (_plain, _coloured))
    data = {
        "command": args.command,
        "exit_code": outcome.exit_code,
        "ending": outcome.ending,
        "signal": outcome.signal,
        "duration_ms": outcome.duration_ms,
        "total_bytes": outcome.total_bytes,
        "applied": outcome.applied,
    }
    code, said = _verdict(args, outcome, ctx)
    head = f"<tool_use_error>{code}: {said}</tool_use_error>\n" if code else ""
    tail = "" if code else f"\n{said}"
    hint = _hint(plain.text) if outcome.exit_code == 127 else ""
    if coloured.text:
        data["output"] = f"{head}{coloured.text.rstrip()}{tail}{hint}"
    is_kept = plain.is_cut or coloured.is_cut
    if not is_kept:
        spool.unlink(missing_ok=True)
    return Result(
        f"{head}{plain.text.rstrip() or '(no output)'}{tail}{hint}",
        data,
        truncated=plain.is_cut,
        output_ref=spool.name if is_kept else "",
        touched=None if ctx.place.mode is sandbox.Tree.WRITE else (),
        is_error=bool(code),
        code=code,
    )


def _verdict(args: RunCommand, outcome: sandbox.Outcome, ctx: ToolContext) -> tuple[str, str]:
    """Return the error code, if it is one, and how the command ended in words."""
    match outcome.ending:
        case sandbox.Ending.TIMEOUT:
            limit = round(_limits(ctx, args).timeout_s * 1000)
            return "TIMEOUT", f"the command was ended after {limit} ms with all it started. What it printed until then:"
        case sandbox.Ending.CANCELLED:
            return "CANCELLED", "the command was ended since the run was stopped. What it printed until then:"
        case sandbox.Ending.OUTPUT_LIMIT:
            return "", f"{_exit(outcome)} (ended: it printed more than {ctx.limits.command_output_bytes} bytes)"
        case sandbox.Ending.MEMORY_LIMIT:
            return (
                "",
                f"{_exit(outcome)} (ended: it used more memory than allowed; {outcome.why or 'use less at once'})",
            )
        case _:
            limit_name = _LIMITS.get(outcome.signal)
            by = f" (ended by {outcome.signal}{f', {limit_name}' if limit_name else ''})" if outcome.signal else ""
            return "", f"{_exit(outcome)}{by}"


def _exit(outcome: sandbox.Outcome) -> str:
    return "No exit code" if outcome.exit_code is None else f"Exit code {outcome.exit_code}"


def _hint(text: str) -> str:
    missing = sorted({match[1][:100] for match in _MISSING.finditer(text)})[:5]
    if not missing:
        return ""
    return f"\n{', '.join(missing)}: not installed here; a person can add a set-up command to the repository."


# --- what it printed ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Printed:
    """The two ends of what a command printed; `tail` is empty where `head` is all of it."""

    head: str
    tail: str
    total_bytes: int


@dataclass(frozen=True)
class _Shown:
    """What is shown of it, and whether some is left out."""

    text: str
    is_cut: bool


def _read(spool: Path) -> _Printed:
    try:
        with spool.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            head = file.read(2 * SHOWN_BYTES if size <= 2 * SHOWN_BYTES else SHOWN_BYTES)
            file.seek(max(len(head), size - SHOWN_BYTES))
            tail = file.read(SHOWN_BYTES)
    except FileNotFoundError:
        return _Printed("", "", 0)
    return _Printed(head.decode("utf-8", "replace"), tail.decode("utf-8", "replace"), size)


def _plain(printed: _Printed, limit: int) -> _Shown:
    """Return what a terminal would show, head and tail of it."""
    how = "the whole output is kept for people; to see more, write it to a file, or filter it with grep, head or tail"
    text = terminal.plain(printed.head)
    if not printed.tail:
        return _Shown(outputs.head_and_tail(text, limit, how), len(text) > limit)
    end = terminal.plain(printed.tail)
    note = f"[… most of {printed.total_bytes} bytes left out here; {how} …]"
    return _Shown(f"{text[: limit // 2]}\n{note}\n{end[-(limit - limit // 2) :]}", True)


def _coloured(printed: _Printed, limit: int) -> _Shown:
    """Return the same in its colours, or no text where no colour is shown; `limit` counts what is put around it too."""
    room, head, tail = limit - _AROUND, terminal.coloured(printed.head), terminal.coloured(printed.tail)
    is_cut = bool(tail) or len(head) > room
    if is_cut:
        note = f"[… the middle of {printed.total_bytes} bytes left out here …]"
        head = f"{terminal.first(head, room // 2)}\n{note}\n{terminal.last(tail or head, room // 2)}"
    return _Shown(head, is_cut) if terminal.has_colours(head) else _Shown("", False)
