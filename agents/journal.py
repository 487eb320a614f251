"""The journal of calls: intent row, then execution, then result; and what a crash between them means."""

import hashlib
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from agents.events import LeaseLost
from agents.facts import snapshot_data
from agents.lease import boot_id
from agents.models import CallState, Event, Kind, ToolCall
from agents.providers.base import Call
from agents.session import Session
from agents.tools.base import Effect, Result
from agents.tools.runner import Prepared
from workspaces import paths
from workspaces.models import Snapshot

INTERRUPTED_TEXT = (
    "INTERRUPTED: the server went down while this ran. It may have run in part and was not run again. "
    "Look at what it left before you go on."
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

    def _update(self, **changes: Any) -> None:
        row = ToolCall.objects.filter(run_id=self.session.run.pk, call_id=self.call_id, epoch=self.session.lease.epoch)
        if row.update(**changes) != 1:
            raise LeaseLost(f"run {self.session.run.pk}, call {self.call_id}")


def begin(session: Session, call: Call, prepared: Prepared | None) -> None:
    """Commit the intent: the journal's row and the tool_call event, in one transaction.

    A call that an earlier worker began already keeps its row and event.
    """
    known = ToolCall.objects.filter(run_id=session.run.pk, call_id=call.call_id)
    if known.update(epoch=session.lease.epoch):
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
    }


def finish(
    session: Session,
    call: Call,
    result: Result,
    duration_ms: int,
    snapshot: Snapshot | None,
    state: CallState = CallState.DONE,
    run_changes: dict[str, Any] | None = None,
) -> Event:
    """Commit the result: snapshot and tool_result events, the journal's row, the run's changes; one transaction."""
    facts = [session.fact(Kind.SNAPSHOT, snapshot_data(snapshot), call.call_id)] if snapshot else []
    facts.append(session.fact(Kind.TOOL_RESULT, _result_data(call, result, duration_ms), call.call_id))
    with transaction.atomic():
        stored = session.append(*facts)
        ToolCall.objects.filter(run_id=session.run.pk, call_id=call.call_id).update(
            state=state, ended_at=timezone.now(), process={}
        )
        if run_changes:
            session.update(**run_changes)
    return stored[-1]


def _result_data(call: Call, result: Result, duration_ms: int) -> dict[str, Any]:
    data = {
        "call_id": call.call_id,
        "tool": call.name,
        "is_error": result.is_error,
        "code": result.code or None,
        "content": result.content,
        "data": result.data,
        "duration_ms": duration_ms,
        "truncated": result.truncated,
        "output_ref": result.output_ref,
    }
    if result.images:
        data["images"] = [list(image) for image in result.images]
    return data


# --- after a crash ---------------------------------------------------------------------------------


def recover(session: Session, call: Call) -> Result | None:
    """Return the result of a call that an earlier worker left unfinished, or None when it must (still) be carried out.

    Reads run again; a write is compared by hash: already there → done, still old → run; a command never runs twice.
    """
    row = ToolCall.objects.filter(run_id=session.run.pk, call_id=call.call_id).first()
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
