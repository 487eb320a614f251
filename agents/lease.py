"""Leases: who works on a run, for how long, and how a run is taken over from a worker that is gone."""

import os
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path

from django.db import DatabaseError, close_old_connections, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from agents import events, facts
from agents.events import Fact
from agents.models import Run, Status
from agents.models.run import WORKING

LIFE = timedelta(seconds=30)
RENEW_EVERY_S = 10.0
FENCE_S = 20.0
"""A worker that could not renew for this long stops by itself, before others may take over."""
TAKEOVERS = 3


@dataclass(frozen=True)
class Lease:
    """One worker's hold on a run. `kept_tree`: the tree on disk is the run's own, as its last owner left it."""

    run_id: int
    epoch: int
    kept_tree: bool
    took_over: bool


@cache
def owner() -> str:
    """Return who this process is: machine, boot, pid, start time; no two processes ever share it."""
    return f"{_machine()}:{boot_id()}:{os.getpid()}:{start_time(os.getpid())}"


def _machine() -> str:
    """Return what names this machine; containers and clones share its id, so host name and space of pids count too."""
    space = os.stat("/proc/self/ns/pid").st_ino if os.path.exists("/proc/self/ns/pid") else 0
    return f"{_text('/etc/machine-id')}.{os.uname().nodename[:64]}.{space}"


def boot_id() -> str:
    """Return what names this boot of the machine; process ids mean nothing beyond it."""
    return _text("/proc/sys/kernel/random/boot_id")


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def start_time(pid: int) -> int:
    """Return when a process started, in clock ticks since boot; 0 when there is none, or it is dead and only not yet
    waited for. See proc(5), fields 3 and 22.
    """
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return int(fields[19]) if fields and fields[0] not in "ZX" else 0


def is_gone(who: str) -> bool:
    """Return whether that owner is proven dead: it ran on this machine, and no such process is there."""
    machine, boot, pid, start = ([*who.split(":"), "", "", "", ""])[:4]
    mine = owner().split(":")
    if machine != mine[0] or not pid.isdigit():
        return False
    started = start_time(int(pid))
    return boot != mine[1] or started == 0 or started != int(start or 0)


def claim(held: Collection[int] = ()) -> Lease | None:
    """Take the oldest run that waits for a worker, or whose worker is gone; None when there is none.

    One conditional update decides; of two workers one wins and the other looks further. `held`: runs that this process
    still works on, also where it could not renew their leases.
    """
    for run in _candidates(held):
        lease = _take(run)
        if lease is not None:
            return lease
    return None


def _candidates(held: Collection[int]) -> list[Run]:
    free = Q(status=Status.QUEUED)
    expired = Q(status__in=WORKING) & (Q(lease_until=None) | Q(lease_until__lt=Now()))
    found = list(Run.objects.filter(free | expired).exclude(pk__in=held).order_by("pk")[:20])
    others = Run.objects.filter(status__in=WORKING, lease_until__gte=Now()).exclude(lease_owner=owner())[:200]
    return found + [run for run in others if is_gone(run.lease_owner)]


def _take(run: Run) -> Lease | None:
    took_over = run.state.is_working
    gone = is_gone(run.lease_owner) if took_over else True
    if took_over and run.takeovers >= TAKEOVERS:
        _give_up(run)
        return None
    epoch = run.lease_epoch + 1
    with transaction.atomic():
        won = Run.objects.filter(pk=run.pk, status=run.status, lease_epoch=run.lease_epoch).update(
            status=run.status if took_over else Status.PREPARING,
            lease_owner=owner(),
            lease_epoch=epoch,
            lease_until=Now() + LIFE,
            held_since=timezone.now(),
            worked_ms=run.elapsed_ms(run.lease_until) if took_over else run.worked_ms,
            takeovers=F("takeovers") + (1 if took_over else 0),
            updated_at=timezone.now(),
        )
        if won != 1:
            return None
        events.append(run.pk, _claimed(run, took_over), epoch=epoch)
    return Lease(run.pk, epoch, kept_tree=gone, took_over=took_over)


def _claimed(run: Run, took_over: bool) -> Fact:
    if took_over:
        lost = "The database was away" if run.lease_owner == owner() else "The server went down"
        return facts.note(f"{lost} while it worked on this run; it goes on from here.")
    return facts.moved(run.status, Status.PREPARING, round=run.round)


def release(run_id: int, epoch: int) -> None:
    """Give back a run whose thread ended without moving it on (the database was away); anyone may take it over."""
    Run.objects.filter(pk=run_id, lease_epoch=epoch, lease_owner=owner(), status__in=WORKING).update(lease_until=None)


def _give_up(run: Run) -> None:
    lost = f"{TAKEOVERS} workers in a row were lost on this run without a step of progress."
    reason = f"{lost} Look at the server's log, then retry."
    came_from = run.status
    with transaction.atomic():
        if run.move(Status.NEEDS_ATTENTION, reason=reason, resume_to=came_from, lease_epoch=run.lease_epoch + 1):
            events.append(run.pk, facts.moved(came_from, run.status, reason))


class Renewer(threading.Thread):
    """Renews the leases of the runs that are worked on each 10 s, from a thread of its own: no tool can starve it."""

    def __init__(self, held: Callable[[], Collection[int]]) -> None:
        super().__init__(name="lease-renewer", daemon=True)
        self._held = held
        self._stop_asked = threading.Event()
        self._last = timezone.now()

    def run(self) -> None:
        while not self._stop_asked.wait(RENEW_EVERY_S):
            if renew(self._held()):
                self._last = timezone.now()

    def stop(self) -> None:
        self._stop_asked.set()

    @property
    def is_late(self) -> bool:
        """No renewal for so long that others may soon take over: stop working."""
        return (timezone.now() - self._last).total_seconds() > FENCE_S


def renew(held: Collection[int]) -> bool:
    """Extend this process's leases on these runs; False when the database could not be asked.

    One that was claimed and is worked on by nobody, as the database failed in between, is left to run out.
    """
    if not held:
        return True
    try:
        ours = Run.objects.filter(pk__in=held, lease_owner=owner(), status__in=WORKING)
        ours.update(lease_until=Now() + LIFE)
    except DatabaseError:
        return False
    finally:
        close_old_connections()
    return True
