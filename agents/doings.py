"""Who did what when, as a run's rows tell it: calls, thoughts of the models, and what people did."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from agents.axis import Span
from agents.cards import DENIALS, LOOKS
from agents.models import Agent, Kind, Status
from agents.trace import Row

LOOK_OF = {"WRITE": "write", "EXECUTE": "execute", "NETWORK": "execute", "FINISH": "finish"}

Seconds = Callable[[datetime], float]


# --- calls -----------------------------------------------------------------------------------------------


class Call(NamedTuple):
    row: Row
    result: Row | None
    span: Span
    look: str


def calls(rows: Sequence[Row], seconds: Seconds, now: float | None) -> list[Call]:
    """Return the calls with when they ran; `now` is None when nothing runs any more."""
    results = {row.call_id: row for row in rows if row.kind == Kind.TOOL_RESULT}
    return [_call(row, results.get(row.call_id), seconds, now) for row in rows if row.kind == Kind.TOOL_CALL]


def _call(row: Row, result: Row | None, seconds: Seconds, now: float | None) -> Call:
    start = seconds(row.at)
    if result is None:
        return Call(row, None, (start, start), "failed") if now is None else Call(row, None, (start, now), "running")
    end = seconds(result.at)
    return Call(row, result, (max(start, end - _duration(result)), end), _look(row, result))


def _look(row: Row, result: Row) -> str:
    if result.data.get("is_error"):
        return "denied" if result.text("code") in DENIALS else "failed"
    if result.data.get("exit_code") or "guarded" in result.data:
        return "failed"
    return LOOK_OF.get(row.text("effect"), "read")


def _duration(row: Row) -> float:
    """Return the seconds that the row says something took."""
    value = row.data.get("duration_ms")
    return value / 1000 if isinstance(value, int | float) else 0.0


def words(call: Call) -> str:
    tool = call.row.text("tool")
    known = LOOKS.get(tool)
    verb = known.done.lower() if known else f"called {tool}"
    if call.look == "running":
        return f"{known.doing.lower() if known else verb}{_subject(call.row)}"
    outcome = {"failed": f", {_failure(call)}", "denied": ", denied"}.get(call.look, "")
    if outcome and known and (call.result is None or call.result.data.get("is_error")):
        verb = tool.replace("_", " ")
    return f"{verb}{_subject(call.row)}{outcome}"


def _subject(row: Row) -> str:
    found = (row.text(key) for key in ("file_path", "command", "pattern", "place"))
    return next((f" {text}" for text in found if text), "")


def _failure(call: Call) -> str:
    if call.result is None:
        return "no result"
    if "guarded" in call.result.data:
        return "protected files put back"
    return call.result.text("code") or f"exit {call.result.data.get('exit_code')}"


# --- thoughts and deeds ----------------------------------------------------------------------------------

Thought = tuple[str, Span]
ENDS_OF_THOUGHT = (Kind.MODEL_RESPONSE, Kind.TOOL_RESULT, Kind.STATUS)


def thoughts(rows: Sequence[Row], seconds: Seconds) -> list[Thought]:
    """Return when each agent's model was at work, and when the place was prepared."""
    found: list[Thought] = []
    reached = preparing = 0.0
    is_preparing = False
    for row in rows:
        if row.kind not in ENDS_OF_THOUGHT:
            continue
        at = seconds(row.at)
        if row.kind == Kind.MODEL_RESPONSE:
            found.append((row.agent, (max(reached, at - _duration(row)), at)))
        elif row.kind == Kind.STATUS:
            if is_preparing:
                found.append((Agent.IMPLEMENTER, (preparing, at)))
            is_preparing, preparing = row.text("to") == Status.PREPARING, at
        reached = at
    return found


def present_thought(rows: Sequence[Row], seconds: Seconds, status: Status, now: float) -> Thought:
    agent = Agent.REVIEWER if status is Status.REVIEWING else Agent.IMPLEMENTER
    since = next((seconds(row.at) for row in reversed(rows) if row.kind in ENDS_OF_THOUGHT), now)
    return agent, (since, now)


def deed(row: Row) -> str:
    """Return what a human did there; "" for what no human did, or what another event says already."""
    who = row.text("author") or row.text("by") or "Someone"
    match row.kind:
        case Kind.MESSAGE if "control" not in row.data:
            return f"{who} launched the task"
        case Kind.CONTROL:
            return f"{who} {'left a message' if row.text('verb') == 'steer' else 'asked to ' + row.text('verb')}"
        case Kind.COMMENT:
            return f"{who} commented on {row.text('path') or 'the whole'}"
        case Kind.REVERT:
            return f"{who} put back {row.text('path')}"
        case Kind.REVIEW if row.data.get("by_human"):
            return f"{who} reviewed: {row.text('verdict').replace('_', ' ')}"
        case Kind.STATUS if row.text("by") and row.text("from"):
            return row.text("reason") or f"{who}: {row.text('to').replace('_', ' ')}"
        case _:
            return ""
