"""What the time strip knows of a run's events: few columns of the last calls, read once and then only added to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Any

from agents.kept import Kept
from agents.models import Event, Kind, Run
from workspaces import cuts

CALLS = 400
"""Calls that are kept; what came before the oldest of them is left out."""
ROWS = 3 * CALLS
"""Events that are read at once, the latest: about as many as so many calls come with."""
KINDS = tuple(kind for kind in Kind if kind not in (Kind.OUTPUT, Kind.NETWORK, Kind.NOTE, Kind.ERROR))
TEXT_CHARS = 80

COLUMNS = ("seq", "at", "kind", "agent", "round", "step", "call_id")
KEYS = {
    "author": "author",
    "by": "by",
    "by_human": "by_human",
    "code": "code",
    "command": "input__command",
    "control": "control",
    "duration_ms": "duration_ms",
    "effect": "effect",
    "exit_code": "data__exit_code",
    "file_path": "input__file_path",
    "from": "from",
    "guarded": "data__guard__put_back",
    "is_error": "is_error",
    "number": "number",
    "path": "path",
    "pattern": "input__pattern",
    "place": "input__path",
    "reason": "reason",
    "state": "state",
    "to": "to",
    "tool": "tool",
    "verb": "verb",
    "verdict": "verdict",
}
"""What is read of an event's data: the name here, and where it is."""


@dataclass(frozen=True, slots=True)
class Row:
    """One event without its long texts; `data` has those of KEYS that it says."""

    seq: int
    at: datetime
    kind: str
    agent: str = ""
    round: int = 0
    step: int = 0
    call_id: str = ""
    data: dict[str, Any] = field(default_factory=dict)

    def text(self, key: str) -> str:
        """Return a text of the data in one line, cut to 80 characters; "" if it says none."""
        value = self.data.get(key)
        return value if isinstance(value, str) else ""


def rows(run: Run) -> list[Row]:
    """Return the rows of the run's last calls and what happened between, oldest first. One query, if any is new."""
    return _traces.get((run.pk, run.created_at), _Trace).catch_up(run)


class _Trace:
    """The rows of one run. Events are only ever appended, so what was read stays true."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._seen = 0  # the run's last event at the last look, whose kind may be none of KINDS
        self._lock = Lock()

    def catch_up(self, run: Run) -> list[Row]:
        with self._lock:
            known = self._rows[-1].seq if self._rows else 0
            if run.last_seq > max(known, self._seen) and (fresh := _read(run.pk, known)):
                has_hole = len(fresh) == ROWS
                self._rows = _last_calls(fresh if has_hole else [*self._rows, *fresh])
            self._seen = max(run.last_seq, self._seen)
            return self._rows


_traces: Kept[_Trace] = Kept(64)


def _read(run_id: int, after: int) -> list[Row]:
    """Return the last rows past `after`, at most ROWS."""
    newest = Event.objects.filter(run_id=run_id, seq__gt=after, kind__in=KINDS).order_by("-seq")
    found = newest.values_list(*COLUMNS, *(f"data__{place}" for place in KEYS.values()))[:ROWS]
    return [_row(values) for values in reversed(found)]


def _row(values: Sequence[Any]) -> Row:
    said = zip(KEYS, values[len(COLUMNS) :], strict=True)
    data = {name: _short(value) for name, value in said if value not in (None, "")}
    return Row(**dict(zip(COLUMNS, values, strict=False)), data=data)


def _short(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return cuts.head(" ".join(cuts.head(value, 4 * TEXT_CHARS).split()), TEXT_CHARS)


def _last_calls(found: list[Row]) -> list[Row]:
    calls = [index for index, row in enumerate(found) if row.kind == Kind.TOOL_CALL]
    return found[calls[-CALLS] :] if len(calls) > CALLS else found[-2 * ROWS :]
