"""Claims runs, owns their threads, and is the outermost catch: what a run ends with is decided here."""

import asyncio
import logging
import threading
import time
import traceback
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from channels.worker import Worker
from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, close_old_connections, connections, transaction
from django.db.models import Q
from django.utils import timezone
from redis import RedisError

from agents import doorbell, events, expiry, full_disk, lease, proofs, team
from agents.events import LeaseLost, TranscriptFull
from agents.lease import Renewer
from agents.models import Control, Kind, Proof, Run, Status
from agents.models.run import FINAL, WORKING
from agents.providers.base import ProviderError, Trouble
from agents.session import Session, Stopped
from workspaces import cuts, sandbox, setup, snapshots, sources, tidying
from workspaces.git import GitError
from workspaces.models import Repository
from workspaces.store import StoreError
from workspaces.trees import TreeError

log = logging.getLogger(__name__)

POLL_S = 1.0
DRAIN_S = 20.0
TIDY_EVERY_S = 600.0
TIDY_AFTER = timedelta(hours=1)
MIRRORS_AT_ONCE = 2
PROOFS_AT_ONCE = 1
"""Of runs that wait for a human, in one process."""
AGAIN_S = 1.0
"""How long to wait before a run is told once more where it stops, when the database could not take it."""
PROOF_FOUND_NO_ROOM = "The disk is full. Make room, then have it proven again."
LAYER_FAULTS = (OSError, RuntimeError, ValueError, RedisError)


class Supervisor(threading.Thread):
    """Looks each second, and whenever its bell rings, for runs to claim and for words to the runs it holds."""

    def __init__(self, concurrency: int) -> None:
        super().__init__(name="supervisor", daemon=True)
        self.bell = threading.Event()
        self.stopping = threading.Event()
        self._concurrency = concurrency
        self._sessions: dict[threading.Thread, Session] = {}
        self._mirrors: dict[threading.Thread, int] = {}
        self._proving: dict[threading.Thread, proofs.Claim] = {}
        self._renewer = Renewer(self._held)
        self._tidied_at = time.monotonic()

    def run(self) -> None:
        self._renewer.start()
        _sweep()
        while not self.stopping.is_set():
            self._tick_safely()
            self.bell.wait(POLL_S)
            self.bell.clear()

    def _held(self) -> list[int]:
        return [session.lease.run_id for session in list(self._sessions.values())]

    def _tick_safely(self) -> None:
        """A database that is away for a while, or full, must not end the worker; it is asked again in a second."""
        try:
            if self._renewer.is_late:
                self._stop_all()
            self._tick()
        except DatabaseError as error:
            if full_disk.says(error):
                log.warning("The database has no room; trying again: %s", error)
            else:
                log.exception("The database could not be asked; trying again")
        finally:
            close_old_connections()

    def _tick(self) -> None:
        self._mirrors = {thread: pk for thread, pk in self._mirrors.items() if thread.is_alive()}
        self._pass_on_words()
        self._let_go()
        while self._may_claim() and (held := lease.claim(self._held())):
            self._start(held)
        self._prove()
        if time.monotonic() - self._tidied_at > TIDY_EVERY_S:
            self._tidied_at = time.monotonic()
            threading.Thread(target=_tidy, name="tidy", daemon=True).start()
        while len(self._mirrors) < MIRRORS_AT_ONCE and (repository := _claim_repository()):
            self._start_mirror(repository)

    def _may_claim(self) -> bool:
        return len(self._sessions) < self._concurrency and not self._renewer.is_late

    def _stop_all(self) -> None:
        for session in self._sessions.values():
            session.cancelled.set()
            session.interrupt.set()

    def _let_go(self) -> None:
        """Forget the runs whose threads have ended, and give back those that are still ours."""
        for thread, session in list(self._sessions.items()):
            if not thread.is_alive():
                lease.release(session.lease.run_id, session.lease.epoch)
                del self._sessions[thread]

    def _start(self, held: lease.Lease) -> None:
        session = Session(held)
        thread = threading.Thread(target=work, args=(session,), name=f"run-{held.run_id}", daemon=True)
        self._sessions[thread] = session
        thread.start()

    def _prove(self) -> None:
        """Keep the hold on the proofs that are being made, and begin one that waits."""
        self._proving = {thread: claimed for thread, claimed in self._proving.items() if thread.is_alive()}
        for held in self._proving.values():
            held.keep()
        if not self.stopping.is_set() and len(self._proving) < PROOFS_AT_ONCE and (claimed := proofs.claim()):
            name = f"proof-{claimed.proof.run_id}"
            thread = threading.Thread(target=prove, args=(claimed,), name=name, daemon=True)
            self._proving[thread] = claimed
            thread.start()

    def _start_mirror(self, repository: Repository) -> None:
        thread = threading.Thread(target=_mirror, args=(repository.pk,), name=f"mirror-{repository.pk}", daemon=True)
        self._mirrors[thread] = repository.pk
        thread.start()

    def _pass_on_words(self) -> None:
        """Set the events of the held runs by what humans asked for, and by leases that are gone."""
        held = {session.lease.run_id: session for session in self._sessions.values()}
        if not held:
            return
        words = Control.objects.filter(run__in=held, taken_at=None).exclude(verb=Control.Verb.STEER)
        for run_id, verb in words.values_list("run_id", "verb")[:500]:
            if verb == Control.Verb.CANCEL:
                held[run_id].cancelled.set()
            held[run_id].interrupt.set()
        ours = Q(lease_owner=lease.owner(), status__in=WORKING)
        kept = dict(Run.objects.filter(ours, pk__in=held).values_list("pk", "lease_epoch"))
        for run_id, session in held.items():
            if kept.get(run_id) != session.lease.epoch:
                session.cancelled.set()
                session.interrupt.set()

    def drain(self, grace_s: float = DRAIN_S) -> None:
        """Stop claiming, let steps finish for a while, then end what still runs. Returns when all threads are done."""
        self.stopping.set()
        self.bell.set()
        if self.is_alive():
            self.join(5)  # what it is just claiming drains with the rest
        for session in list(self._sessions.values()):
            session.draining.set()
            session.interrupt.set()
        for claimed in self._proving.values():
            claimed.draining = True
            claimed.stop.set()
        deadline = time.monotonic() + grace_s
        for thread in [*self._sessions, *self._proving]:
            thread.join(max(0.0, deadline - time.monotonic()))
        for session in list(self._sessions.values()):
            session.cancelled.set()
        for thread in list(self._sessions):
            thread.join(5)
        self._renewer.stop()
        try:
            self._let_go()
        except DatabaseError:
            log.exception("Runs could not be given back; others take them over when their leases end")
        finally:
            close_old_connections()


def _claim_repository() -> Repository | None:
    """Take a repository that waits to be mirrored, or whose mirroring was cut off by a crash."""
    now = timezone.now()
    waits = Q(claimed_until=None) | Q(claimed_until__lt=now)
    for repository in Repository.objects.filter(waits, status=Repository.Status.MIRRORING).order_by("pk")[:5]:
        row = Repository.objects.filter(waits, pk=repository.pk, status=Repository.Status.MIRRORING)
        if row.update(claimed_until=now + timedelta(seconds=60)):
            return repository
    return None


def _mirror(repository_id: int) -> None:
    """Mirror a source, then look what its files say about set-up and checks."""
    try:
        sources.mirror(repository_id)
        row = Repository.objects.filter(pk=repository_id, status=Repository.Status.READY).first()
        if row is not None:
            row.suggestions = setup.suggest(row)
            row.save(update_fields=["suggestions"])
    except (DatabaseError, OSError):  # its claim runs out, and it is begun again
        log.exception("Repository %s could not be mirrored; it is tried again in a minute", repository_id)
    finally:
        connections.close_all()


def _sweep() -> None:
    """End what a killed server left running, before any run goes on; a disk that fails keeps no worker away."""
    try:
        sandbox.sweep()
    except OSError:
        log.exception("Could not look for what an earlier server left running")


def _tidy() -> None:
    """Remove what has run out, and the trees of runs that ended for good an hour ago or more, 100 at a time."""
    ended = Run.objects.filter(status__in=FINAL, finished_at__lt=timezone.now() - TIDY_AFTER, workspace__epoch__gt=0)
    try:
        for run in ended.select_related("workspace")[:100]:
            tidying.forget_tree(run.place)
        expiry.forget()
    except (DatabaseError, OSError):
        log.exception("Not all that has run out could be removed; it is tried again in ten minutes")
    finally:
        connections.close_all()


# --- one run ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ending:
    """Where a run goes as it leaves our hands; `fault` is what the event of a bug of ours says."""

    to: Status
    reason: str
    fault: dict[str, str] | None = None


def work(session: Session) -> None:
    """Work on a claimed run until it leaves our hands. Nothing that happens in it goes further than here."""
    try:
        ending = _drive(session)
        if ending is not None and _end(session, ending) and ending.to in (Status.CANCELLED, Status.FAILED):
            _pack(session)
    except Exception:  # a bug in what follows the catch below: the supervisor gives the run back
        log.exception("Run %s could not be ended", session.run.pk)
    finally:
        connections.close_all()


def _drive(session: Session) -> Ending | None:
    """Work on the run; return where it is to go then, None where it went there by itself, or is another's."""
    try:
        team.drive(session)
    except LeaseLost as lost:
        log.info("Gave up %s: another holds it now", lost)
    except Stopped as stopped:
        return Ending(stopped.to, stopped.reason)
    except ProviderError as error:
        to = Status.NEEDS_ATTENTION if error.trouble is Trouble.CONTEXT_FULL else Status.FAILED
        return Ending(to, error.sentence)
    except TranscriptFull as full:
        return Ending(Status.NEEDS_ATTENTION, str(full))
    except Exception as error:  # noqa: BLE001 -- the outermost catch: a bug fails the run, not the server
        return _ending_of(session, error)
    return None


def _ending_of(session: Session, error: Exception) -> Ending | None:
    run_id = session.run.pk
    if full_disk.is_behind(error, session.place.folder):
        log.warning("Run %s found no room: %s", run_id, error)
        return Ending(Status.PAUSED, full_disk.SENTENCE)
    match error:
        case GitError() | StoreError() | TreeError():
            log.warning("Run %s: %s", run_id, error)
            return Ending(Status.FAILED, f"The tree could not be kept or laid out: {error}")
        case OperationalError() | InterfaceError():  # the supervisor gives the run back once the database answers
            log.exception("Run %s lost the database; it goes on from what is stored", run_id)
            return None
    log.exception("Run %s failed", run_id)
    detail = cuts.tail("".join(traceback.format_exception(error)), 8000)
    sentence = f"A fault in Sakura ended the run: {type(error).__name__}: {cuts.head(str(error), 500)}"
    return Ending(Status.FAILED, sentence, {"code": "INTERNAL_ERROR", "message": sentence, "detail": detail})


def _end(session: Session, ending: Ending) -> bool:
    """Move the run to where it stops, and return whether that was still ours to do.

    A database that is full, or away, is asked until it answers: the run stands where it stood meanwhile. Where the
    server stops first, the next one goes on from what is stored.
    """
    was_told = False
    while True:
        try:
            _move(session, ending)
            return True
        except LeaseLost:
            log.info("Run %s had left our hands before it could move to %s", session.run.pk, ending.to)
            return False
        except (OperationalError, InterfaceError) as error:
            if not was_told:
                log.warning("Run %s can't be moved to %s yet, trying again: %s", session.run.pk, ending.to, error)
            was_told = True
        connections.close_all()
        if session.draining.wait(AGAIN_S):
            return False


def _move(session: Session, ending: Ending) -> None:
    """Move the run, with its events; it goes on from its phase when it is queued again."""
    run = session.run
    run.refresh_from_db(fields=["status", "resume_to", "round", "step"])  # what was rolled back is in the object still
    phase = run.status if run.state in (Status.IMPLEMENTING, Status.REVIEWING) else run.resume_to
    with transaction.atomic():
        if ending.fault is not None:  # fenced by the move, and not too many for a transcript that is full
            events.append(run.pk, session.fact(Kind.ERROR, ending.fault))
        session.move(ending.to, ending.reason, resume_to=phase)
        proofs.drop(run, proofs.OPEN)


def _pack(session: Session) -> None:
    try:
        snapshots.pack(session.task.repository)
    except (GitError, OSError) as error:
        log.warning("The run store of %s could not be packed: %s", session.task.repository, error)


# --- one proof -------------------------------------------------------------------------------------


def prove(claimed: proofs.Claim) -> None:
    """Make a claimed proof of a run that waits for a human. Nothing that happens in it goes further than here."""
    proof = claimed.proof
    try:
        proofs.prove_again(proof, claimed)
    except (OperationalError, InterfaceError):  # the claim runs out, and another makes it
        log.exception("Proof %s lost the database", proof.pk)
    except Exception as error:  # the outermost catch of this thread: people are told, the server goes on
        log.exception("Proof %s of run %s failed", proof.pk, proof.run_id)
        _give_up(proof, error)
    finally:
        connections.close_all()


def _give_up(proof: Proof, error: Exception) -> None:
    reason = f"A fault in Sakura ended it: {type(error).__name__}: {cuts.head(str(error), 500)}"
    try:
        proofs.fail(proof, PROOF_FOUND_NO_ROOM if full_disk.says(error) else reason)
    except DatabaseError:
        log.exception("Proof %s could not be ended", proof.pk)


# --- the process -----------------------------------------------------------------------------------

_supervisor: Supervisor | None = None


def supervisor() -> Supervisor | None:
    """Return the supervisor of this process, if it is a worker."""
    return _supervisor


def start() -> Supervisor:
    """Start this process's supervisor."""
    global _supervisor
    _supervisor = Supervisor(settings.SAKURA_CONCURRENCY)
    _supervisor.start()
    return _supervisor


class AgentWorker(Worker):  # type: ignore[misc] # channels has no types
    """A Channels worker on the channel `agents`: a message rings the supervisor's bell, whose poll backs it."""

    async def handle(self) -> None:
        """Listen until drained; a layer that fails is listened to again, and meanwhile the poll does."""
        loop = asyncio.get_running_loop()
        doorbell.use_loop(loop)
        supervisor = start()
        while not supervisor.stopping.is_set():
            try:
                await super().handle()
            except LAYER_FAULTS:
                log.exception("The channel layer failed; listening again in a second")
                await asyncio.sleep(1)


async def stop() -> None:
    """Drain this process's supervisor without blocking the loop."""
    if _supervisor is not None:
        await asyncio.get_running_loop().run_in_executor(None, _supervisor.drain)


class Bell:
    """The ASGI application of the channel `agents`: any message rings."""

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        while True:
            message = await receive()
            if message["type"] == "wake" and _supervisor is not None:
                _supervisor.bell.set()
