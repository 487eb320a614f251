"""What the tools that follow and end background commands share: how a command stands, as data and in words."""

from typing import Any

from pydantic import Field

from agents.tools.base import Output
from workspaces import sandbox
from workspaces.background import Job
from workspaces.sandbox import Ending


class JobOutput(Output):
    """A background command. `state`: running, exited, timeout, stopped, failed, or output_, memory_ or disk_limit."""

    id: str
    command: str
    state: str
    exit_code: int | None = None
    ending: str = ""
    signal: str = ""
    limit: str = Field("", description="The limit that ended it, or that it ran into and failed (sandbox.Limit).")
    duration_ms: int = 0
    total_bytes: int = 0
    applied: dict[str, Any] = Field({}, description="What the sandbox was, once it ended.")
    offset: int = Field(0, description="Where what is shown of its output begins, in bytes.")
    output: str = Field("", description="What is shown, where that has colours: bounded, with SGR escapes.")


def standing(job: Job, *, running: bool, size: int, text: str) -> dict[str, Any]:
    """Return how a command stands, as fields of JobOutput; it ran on, and had printed `size` bytes, when looked at.

    `text` is what is shown of them.
    """
    outcome = None if running else job.outcome
    return {
        "id": job.id,
        "command": job.command,
        "state": "running" if running else _state(job),
        "exit_code": outcome.exit_code if outcome else None,
        "ending": outcome.ending if outcome else "",
        "signal": outcome.signal if outcome else "",
        "limit": sandbox.met(outcome, job.limits, text) if outcome else "",
        "duration_ms": job.duration_ms,
        "total_bytes": size,
        "applied": outcome.applied if outcome else {},
    }


def _state(job: Job) -> str:
    if job.outcome is None:
        return "failed"
    words = {Ending.EXIT: "exited", Ending.CANCELLED: "stopped", Ending.UNAVAILABLE: "failed"}
    return words.get(job.outcome.ending, job.outcome.ending.value)


def ending_words(job: Job, *, running: bool) -> str:
    """Return how a command stands in words for the model."""
    if running:
        return f"It still runs, after {job.duration_ms} ms"
    if job.outcome is None:
        return f"It failed: {job.fault.strerror if job.fault else 'a fault in Sakura, which is in the log'}"
    return sandbox.how_it_ended(job.outcome, job.limits)
