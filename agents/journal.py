"""The journal of calls: intent row, then execution, then result; and what a crash between them means."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from agents import claims, guard, network
from agents.events import LeaseLost
from agents.facts import snapshot_data, totals
from agents.guard import Guard, Guarded
from agents.lease import boot_id
from agents.models import Agent, CallState, Event, Kind, ToolCall
from agents.providers.base import Call
from agents.session import Session
from agents.tools.base import Effect, Result
from agents.tools.runner import Prepared
from workspaces import background, paths, snapshots
from workspaces.models import Snapshot
from workspaces.sandbox import Connection

UNTOLD = 20
"""Snapshots that one result may tell of."""
INTERRUPTED_TEXT = (
    "INTERRUPTED: the server went down while this ran, or had no room for its result. It may have run in part and was "
    "not run again. Look at what it left before you go on."
)


@dataclass
class CallJournal:
    """The journal as one running tool sees it (the `Journal` of agents.tools.base)."""

    session: Session
    call_id: str

    def will_write(self, path: str, before: str, after: str) -> None:
        """Commit what is about to be written, so that a crash can tell whether it happened."""
        self._update(writes={path: [before, after]})

    def started(self, pid: int, start_time: int) -> None:
        """Commit which process runs the command, so that the next server can end it."""
        self._update(process={"pid": pid, "start": start_time, "boot": boot_id()})

    def connected(self, connection: Connection) -> None:
        """Commit what became of a connection to the outside; called from the thread that tells them."""
        network.record(self.session, self.call_id, connection)

    def _update(self, **changes: Any) -> None:
        row = ToolCall.objects.filter(run_id=self.session.run.pk, call_id=self.call_id, epoch=self.session.lease.epoch)
        if row.update(**changes) != 1:
            raise LeaseLost(f"run {self.session.run.pk}, call {self.call_id}")


def known(session: Session, calls: Sequence[Call]) -> dict[str, ToolCall]:
    """Return the rows of those calls that an earlier worker began already, by id. One query."""
    ids = [call.call_id for call in calls]
    return {row.call_id: row for row in ToolCall.objects.filter(run_id=session.run.pk, call_id__in=ids)}


def begin(session: Session, call: Call, prepared: Prepared | None, row: ToolCall | None) -> None:
    """Commit the intent: the journal's row and the tool_call event, in one transaction.

    A call that an earlier worker began already keeps its `row` and event.
    """
    if row is not None:
        ToolCall.objects.filter(pk=row.pk).update(epoch=session.lease.epoch)
        return
    with transaction.atomic():
        session.append(session.fact(Kind.TOOL_CALL, _call_data(call, prepared), call.call_id))
        ToolCall.objects.create(
            run_id=session.run.pk,
            call_id=call.call_id,
            agent=session.agent,
            step=session.run.step,
            tool=call.name[:100],
            effect=prepared.effect if prepared else "",
            epoch=session.lease.epoch,
        )


def _call_data(call: Call, prepared: Prepared | None) -> dict[str, Any]:
    return {
        "call_id": call.call_id,
        "tool": call.name,
        "input": call.input,
        "resolved": prepared.resolved if prepared else {},
        "effect": prepared.effect if prepared else "",
        "decision": (prepared.decision or None) if prepared else None,
    }


def finish(
    session: Session,
    call: Call,
    result: Result,
    taken: Sequence[Snapshot] = (),
    state: CallState = CallState.DONE,
    run_changes: dict[str, Any] | None = None,
    *,
    runs_on: bool = False,
    guarded: Guarded | None = None,
) -> Event:
    """Commit the result: snapshot and tool_result events, the journal's row, the run's changes; one transaction.

    `guarded`: what was put back of what the call did, with its snapshot and event.
    `runs_on`: what the call started is still there, in the background, so its process stays known (see job_ended).
    """
    facts = [session.fact(Kind.SNAPSHOT, snapshot_data(each), each.call_id) for each in taken]
    facts += guarded.facts(session, call.call_id) if guarded else []
    result = claims.held(session.run, result)
    if lost := network.unstored(session.run.pk):
        facts.append(session.fact(Kind.NOTE, {"text": lost, "to": "human"}))
    facts.append(session.fact(Kind.TOOL_RESULT, _result_data(call, result), call.call_id))
    changes = {"state": state, "ended_at": timezone.now()} | ({} if runs_on else {"process": {}})
    with transaction.atomic():
        stored = session.append(*facts)
        ToolCall.objects.filter(run_id=session.run.pk, call_id=call.call_id).update(**changes)
        if run_changes:
            session.update(**run_changes)
    return stored[-1]


def _result_data(call: Call, result: Result) -> dict[str, Any]:
    data = {
        "call_id": call.call_id,
        "tool": call.name,
        "is_error": result.is_error,
        "code": result.code or None,
        "content": result.content,
        "data": result.data,
        "duration_ms": round(result.duration_ms),
        "truncated": result.truncated,
        "output_ref": result.output_ref,
    }
    if result.images:
        data["images"] = [list(image) for image in result.images]
    return data


# --- in the background -----------------------------------------------------------------------------


def next_job(session: Session) -> int:
    """Return the number of the run's next background command: no agent of the run was ever told it. One query."""
    results = session.run.events.filter(kind=Kind.TOOL_RESULT, data__tool="run_command", data__data__background=True)
    told = results.values_list("data__data__id", flat=True)
    return 1 + max((background.number_of(str(job_id)) for job_id in told), default=0)


def jobs_ended(session: Session, call_ids: Sequence[str]) -> None:
    """Forget the processes of background commands that are gone."""
    if call_ids:
        ToolCall.objects.filter(run_id=session.run.pk, call_id__in=call_ids).update(process={})


def untold(session: Session) -> list[Snapshot]:
    """Return the snapshots that came since the last one that the run knows of, at most 20."""
    return list(session.place.snapshots.filter(number__gt=session.run.snapshot).order_by("number")[:UNTOLD])


def keep_tree(session: Session, keeper: Guard | None = None) -> str:
    """Take a snapshot of what no call accounts for, with its event; nothing where nothing changed.

    Protected paths are put back; return what the implementer is to be told of that, which is kept as a note already.
    Goes into a transaction with what is told of it, so that no snapshot is without an event.
    """
    with transaction.atomic():
        snapshots.take(session.place, call_id="", step=session.run.step, paths=None)
        taken = untold(session)
        guarded = (keeper or guard.of(session)).after(taken)
        facts = [session.fact(Kind.SNAPSHOT, snapshot_data(each), each.call_id) for each in taken]
        facts += guarded.facts(session) if guarded else []
        words = guarded.words("What you had in the background") if guarded else ""
        facts += [session.fact(Kind.NOTE, {"text": words, "to": Agent.IMPLEMENTER})] if words else []
        if facts:
            session.append(*facts)
            last = guarded.after if guarded and guarded.after else taken[-1]
            session.update(**totals(session.place, last))
    return words


# --- after a crash ---------------------------------------------------------------------------------


def recover(session: Session, row: ToolCall | None) -> Result | None:
    """Return the result of a call that an earlier worker left unfinished, or None when it must (still) be carried out.

    Reads run again; a write is compared by hash: already there → done, still old → run; a command never runs twice.
    """
    if row is None or row.state != CallState.INTENT or row.effect in ("", Effect.READ, Effect.FINISH):
        return None
    if row.effect == Effect.WRITE:
        return _recover_write(session, row)
    return _interrupted()


def _recover_write(session: Session, row: ToolCall) -> Result | None:
    if not row.writes:
        return None
    now = {path: fingerprint(session, path) for path in row.writes}
    if all(now[path] == after for path, (_, after) in row.writes.items()):
        text = "Done: the server went down just after the file was written; its bytes are as you asked for."
        return Result(text, data={"path": next(iter(row.writes))}, touched=tuple(row.writes))
    if all(now[path] == before for path, (before, _) in row.writes.items()):
        return None
    return _interrupted()


def _interrupted() -> Result:
    content = f"<tool_use_error>{INTERRUPTED_TEXT}</tool_use_error>"
    return Result(content, is_error=True, code="INTERRUPTED", touched=None)


def fingerprint(session: Session, path: str) -> str:
    """Return the sha256 of a workspace file's bytes, "" when there is none."""
    try:
        real = paths.resolve(session.place.tree, path).real
        with real.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, paths.WorkspaceError):
        return ""
