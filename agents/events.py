"""The only writer of events: numbered facts of a run, each batch one small transaction, then a ring."""

import hashlib
import os
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from agents import doorbell, full_disk, masks
from agents.encoding import safe
from agents.models import Event, Kind, Run
from workspaces.models import Workspace

BODY_LIMIT = 32 * 1024
"""Characters of one text that stay in the row; a longer one goes to a file."""
HEAD, TAIL = 8 * 1024, 8 * 1024
EVENTS_PER_RUN = 100_000
PAGE = 500


class LeaseLost(Exception):
    """Another worker holds the run now, or it left the worker's hands; whoever gets this stops quietly."""


class TranscriptFull(Exception):
    """The run has as many events as a run may have."""


@dataclass(frozen=True)
class Fact:
    """One event to be: its data have the shape that agents/schema.py gives for its kind."""

    kind: Kind
    data: dict[str, Any] = field(default_factory=dict)
    agent: str = ""
    step: int = 0
    round: int = 0
    call_id: str = ""


def append(run_id: int, *facts: Fact, epoch: int | None = None) -> list[Event]:
    """Store the facts in order as the run's next events and ring on commit.

    With `epoch` (a worker's) nothing is stored and LeaseLost is raised when the lease is not that one any more.
    The update of the run's row locks it, so that the order of commits is the order of numbers. The secrets of the
    run's repository are masked, and counted in its row.
    Raises TranscriptFull at 100,000 events; full_disk.NoRoom where a long text finds no room for its file, as the
    database does for a row. Two statements; three or four after a secret was set.
    """
    with transaction.atomic():
        last, masked = _reserve(run_id, [fact.data for fact in facts], epoch)
        if last > EVENTS_PER_RUN and epoch is not None:
            raise TranscriptFull(f"The run has {EVENTS_PER_RUN:,} events, as many as a run may have.")
        now = timezone.now()
        rows = [
            Event(
                run_id=run_id,
                seq=last - len(facts) + 1 + index,
                at=now,
                agent=fact.agent,
                round=fact.round,
                step=fact.step,
                kind=fact.kind,
                call_id=fact.call_id,
                data=_spill(run_id, safe(data)),
            )
            for index, (fact, data) in enumerate(zip(facts, masked, strict=True))
        ]
        Event.objects.bulk_create(rows)
        transaction.on_commit(partial(doorbell.ring_run, run_id), robust=True)
    return rows


def _reserve(run_id: int, data: list[dict[str, Any]], epoch: int | None) -> tuple[int, list[dict[str, Any]]]:
    """Take the next numbers; return the last of them, and the data masked.

    They are masked before, so that one statement counts; it also tells which secrets there are now.
    """
    version, mask = masks.kept(run_id)
    masked, count = mask.value(data)
    sql = "UPDATE agents_run SET last_seq = last_seq + %s, masked = masked + %s WHERE id = %s"
    values: list[int] = [len(data), count, run_id]
    if epoch is not None:
        sql += " AND lease_epoch = %s AND lease_until IS NOT NULL"
        values.append(epoch)
    with connection.cursor() as cursor:
        cursor.execute(f"{sql} RETURNING last_seq, {masks.VERSION_SQL}", values)
        row = cursor.fetchone()
    if row is None:
        raise LeaseLost(f"run {run_id}, epoch {epoch}")
    now = masks.of_version(run_id, str(row[1]))
    if str(row[1]) != version:
        masked, more = now.value(masked)
        if more:
            Run.objects.filter(pk=run_id).update(masked=F("masked") + more)
    return int(row[0]), masked


def after(run_id: int, seq: int, limit: int = PAGE) -> list[Event]:
    """Return the run's events past `seq`, at most `limit`, oldest first."""
    return list(Event.objects.filter(run_id=run_id, seq__gt=seq).order_by("seq")[: min(limit, PAGE)])


# --- long texts ------------------------------------------------------------------------------------


def _spill(run_id: int, data: dict[str, Any]) -> dict[str, Any]:
    """Move texts over 32 K characters to files; the row keeps {"$body": ref, "size", "head", "tail"} in their place."""
    return {key: _spill_value(run_id, value) for key, value in data.items()}


def _spill_value(run_id: int, value: Any) -> Any:
    if isinstance(value, str) and len(value) > BODY_LIMIT:
        encoded = value.encode()
        ref = f"body-{hashlib.sha256(encoded).hexdigest()[:32]}"
        _write_body(_bodies(run_id) / ref, encoded)
        return {"$body": ref, "size": len(value), "head": value[:HEAD], "tail": value[-TAIL:]}
    if isinstance(value, dict) and "$body" not in value:
        return _spill(run_id, value)
    if isinstance(value, list):
        return [_spill_value(run_id, item) for item in value]
    return value


def _write_body(path: Path, data: bytes) -> None:
    if path.exists():
        return
    temporary = path.with_suffix(".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        if full_disk.says(error):
            raise full_disk.NoRoom(error.errno, error.strerror, str(path)) from error
        raise


def whole(run_id: int, value: Any) -> Any:
    """Return event data with every text that went to a file read back."""
    match value:
        case {"$body": str(ref)}:
            return body(run_id, ref)
        case dict():
            return {key: whole(run_id, item) for key, item in value.items()}
        case list():
            return [whole(run_id, item) for item in value]
        case _:
            return value


def body(run_id: int, ref: str) -> str:
    """Return the text stored under a `$body` reference. Raises FileNotFoundError."""
    return (_bodies(run_id) / Path(ref).name).read_text(encoding="utf-8")


def _bodies(run_id: int) -> Path:
    return Workspace(pk=run_id).outputs


def shown(value: Any) -> str:
    """Return what a page shows of a text: itself, or head and tail with what is left out between."""
    match value:
        case {"$body": _, "size": int(size), "head": str(head), "tail": str(tail)}:
            return f"{head}\n… {size - len(head) - len(tail):,} characters left out …\n{tail}"
        case _:
            return str(value)
