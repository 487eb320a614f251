"""A worker's hold on one run while it works: the lease, its events, and the humans' words that reach it."""

import threading
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.text import capfirst

from agents import events, facts, full_disk
from agents.events import Fact, LeaseLost
from agents.lease import Lease
from agents.models import Agent, Control, Event, Kind, Run, Status, Task
from workspaces.models import Workspace


class Stopped(Exception):
    """The run leaves this worker's hands: a status to move to, and the reason in a sentence."""

    def __init__(self, to: Status, reason: str) -> None:
        super().__init__(reason)
        self.to = to
        self.reason = reason


@dataclass
class Session:
    """What the thread of one run shares with the supervisor. The events are set by the supervisor only."""

    lease: Lease
    cancelled: threading.Event = field(default_factory=threading.Event)
    """A human cancelled, or the lease is lost: running tools and requests end within a second."""
    draining: threading.Event = field(default_factory=threading.Event)
    """The server stops: finish the step, then give the run back."""
    interrupt: threading.Event = field(default_factory=threading.Event)
    """Give up a waiting model request: set with `cancelled`, and by a pause."""
    agent: Agent = Agent.IMPLEMENTER

    def __post_init__(self) -> None:
        self.run = Run.objects.select_related("task__repository", "workspace__repository").get(pk=self.lease.run_id)

    @property
    def task(self) -> Task:
        return self.run.task

    @property
    def place(self) -> Workspace:
        return self.run.place

    def fact(self, kind: Kind, data: dict[str, Any], call_id: str = "") -> Fact:
        """Return a fact of the present agent, round and step."""
        return Fact(kind, data, agent=self.agent, step=self.run.step, round=self.run.round, call_id=call_id)

    def append(self, *facts: Fact) -> list[Event]:
        """Store facts under the lease. Raises LeaseLost."""
        return events.append(self.run.pk, *facts, epoch=self.lease.epoch)

    def note(self, text: str, to: str = "human") -> None:
        self.append(self.fact(Kind.NOTE, {"text": text, "to": to}))

    def update(self, **changes: Any) -> None:
        """Change columns of the run under the lease. Raises LeaseLost."""
        changes["updated_at"] = timezone.now()
        held = Run.objects.filter(pk=self.run.pk, lease_epoch=self.lease.epoch, lease_until__isnull=False)
        if held.update(**changes) != 1:
            raise LeaseLost(f"run {self.run.pk}, epoch {self.lease.epoch}")
        self.run.refresh_from_db(fields=list(changes))

    def move(self, to: Status, reason: str = "", **changes: Any) -> None:
        """Move the run under the lease, with its event. Raises LeaseLost when it is not ours any more."""
        came_from = self.run.status
        with transaction.atomic():
            if not self.run.move(to, epoch=self.lease.epoch, reason=reason, **changes):
                raise LeaseLost(f"run {self.run.pk}: {came_from} → {to}")
            fact = facts.moved(came_from, to, reason, round=self.run.round, step=self.run.step)
            # Leaving the worker's hands has ended the lease; the move itself was fenced.
            events.append(self.run.pk, fact, epoch=self.lease.epoch if to.is_working else None)

    def check(self) -> None:
        """Raise Stopped where a human, the server's end or a full disk stops the run here."""
        verbs = set(
            self.run.controls.filter(taken_at=None).exclude(verb=Control.Verb.STEER).values_list("verb", flat=True)
        )
        if Control.Verb.CANCEL in verbs:
            raise Stopped(Status.CANCELLED, self._by(Control.Verb.CANCEL, "cancelled"))
        if self.cancelled.is_set():
            raise LeaseLost(f"run {self.run.pk}")
        if Control.Verb.PAUSE in verbs:
            raise Stopped(Status.PAUSED, self._by(Control.Verb.PAUSE, "paused"))
        if self.draining.is_set():
            raise Stopped(Status.QUEUED, "the server stops; the run goes on when it is back")
        if short := full_disk.shortage(self.place.folder, settings.SAKURA_DISK_FLOOR_MB):
            raise Stopped(Status.PAUSED, f"{capfirst(short)} where runs live. Make room, then resume.")

    def _by(self, verb: Control.Verb, word: str) -> str:
        """Mark all open words of that kind as taken and return whose it was."""
        rows = list(self.run.controls.filter(taken_at=None, verb=verb).select_related("created_by")[:50])
        self.run.controls.filter(pk__in=[row.pk for row in rows]).update(taken_at=timezone.now())
        who = next((row.created_by.get_username() for row in rows if row.created_by), "")
        return f"{word} by {who}" if who else word

    def take_messages(self) -> list[str]:
        """Take the waiting messages: each becomes an event of the agent that reads it. Return their texts."""
        rows = list(
            self.run.controls.filter(verb=Control.Verb.STEER, taken_at=None)
            .select_related("created_by")
            .order_by("pk")[:50]
        )
        if not rows:
            return []
        with transaction.atomic():
            self.append(*(self.fact(Kind.MESSAGE, _message(row)) for row in rows))
            self.run.controls.filter(pk__in=[row.pk for row in rows]).update(taken_at=timezone.now())
        return [row.text for row in rows]


def _message(row: Control) -> dict[str, Any]:
    author = row.created_by.get_username() if row.created_by else ""
    return {"text": row.text, "author": author, "control": row.seq}
