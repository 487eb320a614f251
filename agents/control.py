"""What a human may ask of a run: launch, steer, pause, resume, cancel, retry. Each leaves its event."""

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Max
from django.utils import timezone

from agents import doorbell, events, facts, masks, proofs
from agents.events import Fact
from agents.models import Agent, Control, Kind, Run, Status, Task
from agents.models.run import CANCELLABLE, PAUSABLE, RETRYABLE, STEERABLE
from workspaces.models import Workspace

STEER_LIMIT = 20_000
OPEN_STEERS = 20


class Refused(Exception):
    """What a human asked for can't be done now: a code, a sentence on why and what to try, an HTTP status."""

    def __init__(self, code: str, message: str, status: int = 409) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status


def launch(by: User | None, **fields: Any) -> Run:
    """Store a task (fields already checked) with its first run, queued, and ring for a worker.

    Of the repository's secrets none is stored with it, also where somebody pasted one.
    """
    mask = masks.of_repository(fields["repository"].pk)
    for name in ("title", "prompt", "script"):
        fields[name] = mask.value(fields.get(name))[0]
    with transaction.atomic():
        return new_run(Task.objects.create(created_by=by, **fields), by)


def new_run(task: Task, by: User | None) -> Run:
    """Queue one more attempt at the task, with a workspace of its own."""
    with transaction.atomic():
        number = (task.runs.aggregate(top=Max("number"))["top"] or 0) + 1
        run = Run.objects.create(task=task, number=number)
        run.workspace = Workspace.objects.create(
            pk=run.pk, repository=task.repository, base_name=task.base_name, base_commit=task.base_commit
        )
        run.save(update_fields=["workspace"])
        events.append(
            run.pk,
            facts.moved("", Status.QUEUED, "launched", _name(by)),
            Fact(Kind.MESSAGE, {"text": task.prompt, "author": _name(by)}, agent=Agent.IMPLEMENTER),
        )
        transaction.on_commit(doorbell.ring_workers, robust=True)
    run.refresh_from_db()
    return run


def steer(run: Run, by: User | None, text: str) -> Control:
    """Leave a message that the running agent reads before its next step."""
    if not text.strip():
        raise Refused("EMPTY", "The message is empty; write what the agent should know.", 422)
    if len(text) > STEER_LIMIT:
        raise Refused("TOO_LONG", f"The message has {len(text):,} characters; at most {STEER_LIMIT:,} are taken.", 422)
    if run.state not in STEERABLE:
        hint = " Request changes on its review page instead." if run.state is Status.AWAITING_HUMAN else ""
        raise Refused("NOT_RUNNING", f"No agent reads messages while the run is “{run.state.label}”.{hint}")
    if run.controls.filter(verb=Control.Verb.STEER, taken_at=None).count() >= OPEN_STEERS:
        raise Refused("TOO_MANY", f"{OPEN_STEERS} messages wait to be read already; wait for the next step.")
    return _leave(run, by, Control.Verb.STEER, text)


def pause(run: Run, by: User | None) -> None:
    """Pause a run: at once when it is queued, after its running call when a worker holds it."""
    if run.state not in PAUSABLE:
        raise Refused("NOT_RUNNING", f"The run is “{run.state.label}”; only a queued or working one can be paused.")
    if run.state.is_working:
        _leave(run, by, Control.Verb.PAUSE)
    else:
        _move(run, Status.PAUSED, by, "paused")


def resume(run: Run, by: User | None) -> None:
    """Queue a paused run again; it goes on where it stood."""
    if run.state is not Status.PAUSED:
        raise Refused("NOT_PAUSED", f"The run is “{run.state.label}”, not paused.")
    _move(run, Status.QUEUED, by, "resumed")


def retry(run: Run, by: User | None) -> None:
    """Queue a failed run, or one that needs attention, again; it goes on where it stood."""
    if run.state not in RETRYABLE:
        raise Refused("NOT_FAILED", f"The run is “{run.state.label}”; only a failed one can be retried.")
    _move(run, Status.QUEUED, by, "retried", takeovers=0, finished_at=None)


def cancel(run: Run, by: User | None) -> None:
    """End a run: its worker kills what runs within a second; one that nobody holds ends here and now."""
    if run.state not in CANCELLABLE:
        raise Refused("ENDED", f"The run is “{run.state.label}” already.")
    lease_runs = run.lease_until is not None and run.lease_until > timezone.now()
    if run.state.is_working and lease_runs:
        _leave(run, by, Control.Verb.CANCEL)
    else:
        # A worker that still believes in its lease finds the epoch gone and stops.
        _move(run, Status.CANCELLED, by, "cancelled", lease_epoch=F("lease_epoch") + 1)
        proofs.drop(run)


def _leave(run: Run, by: User | None, verb: Control.Verb, text: str = "") -> Control:
    text = masks.of_run(run.pk).text(text)[0]
    with transaction.atomic():
        (event,) = events.append(run.pk, Fact(Kind.CONTROL, {"verb": verb, "by": _name(by), "text": text}))
        row = Control.objects.create(run=run, verb=verb, text=text, created_by=by, seq=event.seq)
        transaction.on_commit(doorbell.ring_workers, robust=True)
    return row


def _move(run: Run, to: Status, by: User | None, word: str, **changes: Any) -> None:
    came_from = run.state
    with transaction.atomic():
        reason = f"{word} by {_name(by)}" if by else word
        if not run.move(to, reason=reason, **changes):
            run.refresh_from_db()
            raise Refused(
                "TOO_LATE",
                f"Someone was faster: the run is “{run.state.label}” now ({run.reason or 'no reason kept'}).",
            )
        events.append(run.pk, facts.moved(came_from, to, reason, _name(by)))
        if to is Status.QUEUED:
            transaction.on_commit(doorbell.ring_workers, robust=True)


def _name(user: User | None) -> str:
    return user.get_username() if user else ""
