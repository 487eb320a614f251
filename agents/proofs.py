"""Proof of done: made by Sakura itself on a snapshot, kept by tree, and how it stands to the run as it is now."""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from django.db import Error, transaction
from django.db import connection as database
from django.db.models import QuerySet
from django.utils import timezone

from agents import doorbell, events, facts, lease, policies, proof_making
from agents.events import Fact, LeaseLost
from agents.models import Kind, Proof, ProofState, Run, Status
from agents.proof_making import Found, Interrupted, Work
from agents.session import Session
from agents.streams import OpenStream
from workspaces import fresh, sandbox, setup, store
from workspaces.integrity import planted
from workspaces.integrity.findings import Report
from workspaces.models import Snapshot
from workspaces.sandbox import Connection, Ending

log = logging.getLogger(__name__)

CLAIM = timedelta(seconds=60)
"""How long nobody else makes a proof that a worker claimed and did not renew."""
RENEW_EVERY_S = 20.0
OPEN = (ProofState.WAITING, ProofState.RUNNING)
STOPPED = "It was stopped before its end, and will be made anew when it is needed."
MOVED_ON = "It was stopped: the run went on, or its files changed, before it ended."


class State(StrEnum):
    """How the latest proof stands to the run's files."""

    NONE = "none"
    WAITING = "waiting"
    RUNNING = "running"
    GREEN = "green"
    RED = "red"
    STALE = "stale"
    UNPROVEN = "unproven"


@dataclass(frozen=True)
class Standing:
    """The state, and the proof that it rests on (None for `none`). `since`: a stale one's first snapshot past it."""

    state: State
    proof: Proof | None = None
    since: int = 0


def standing(run: Run) -> Standing:
    """Return how the run's latest proof stands to its files now. At most three queries.

    A proof is of a tree: files that went back to what was proven are proven again. One that is being made counts only
    while somebody waits for it.
    """
    tree = Snapshot.objects.filter(workspace_id=run.pk, number=run.snapshot).values_list("tree", flat=True).first()
    same = run.proofs.filter(tree=tree).last() if tree else None
    if same is not None and (same.state not in OPEN or run.state in (Status.REVIEWING, Status.AWAITING_HUMAN)):
        return Standing(State(ProofState(same.state).value), same)
    ended = run.proofs.exclude(state__in=OPEN).order_by("ended_at", "pk").last()
    return Standing(State.STALE, ended, ended.snapshot + 1) if ended else Standing(State.NONE)


def holds(proof: Proof, verify: list[str]) -> bool:
    """Return whether a proof says all that can be said of its tree, so that making it anew would show the same."""
    if proof.state in (ProofState.GREEN, ProofState.RED):
        return True
    return proof.state == ProofState.UNPROVEN and (proof_making.could_run(proof.commands) if verify else True)


# --- by who holds the run ----------------------------------------------------------------------------


def prove(session: Session, environment: Path | None) -> Proof:
    """Prove the run's latest snapshot, unless that was done: integrity report and verify commands, with their events.

    One that a lost worker left is made anew. Raises what session.check() does where somebody stops it.
    """
    run, snapshot = session.run, store.latest(session.place)
    known = run.proofs.filter(tree=snapshot.tree).first()
    verify = policies.of(run).verify
    if known is not None and holds(known, verify):
        return _tell_again(session, known, snapshot)
    proof = _begin(session, snapshot, verify)
    try:
        with OpenStream(run.pk) as stream:
            found = proof_making.make(
                Work(
                    run,
                    snapshot.tree,
                    _name(proof),
                    environment,
                    session.interrupt,
                    stream.write,
                    planted=planted.planted(session.place, verify),
                )
            )
    except Interrupted:
        _end(session, proof, _stopped(verify, STOPPED))
        session.interrupt.clear()
        session.check()
        raise LeaseLost(f"run {run.pk}") from None
    return _end(session, proof, found)


def _name(proof: Proof) -> str:
    """Return what names the fresh trees of this attempt: one that was taken over may still be in its own."""
    return f"proof-{proof.pk}-{proof.owner.rpartition(':')[2]}"


def _owner() -> str:
    return f"{lease.owner()}:{secrets.token_hex(4)}"


def _stopped(verify: list[str], reason: str) -> Found:
    commands = proof_making.not_run(verify, Ending.CANCELLED)
    return Found(ProofState.UNPROVEN, (reason,), Report(), commands=commands)


def _tell_again(session: Session, proof: Proof, snapshot: Snapshot) -> Proof:
    """Return a proof that holds, with its event where this round has none: an agent may have to hear of it again."""
    run = session.run
    if proof.round == run.round and (run.proof_state, run.proof_snapshot) == (proof.state, snapshot.number):
        return proof
    with transaction.atomic():
        Proof.objects.filter(pk=proof.pk).update(round=run.round)
        session.append(_fact(run, facts.proof_data(proof, snapshot.number)))
        session.update(**_columns(proof, snapshot.number))
    proof.refresh_from_db()
    return proof


def _begin(session: Session, snapshot: Snapshot, verify: list[str]) -> Proof:
    run = session.run
    begun = {
        "snapshot": snapshot.number,
        "round": run.round,
        "state": ProofState.RUNNING,
        "owner": _owner(),
        "claimed_until": None,
        "ended_at": None,
    }
    with transaction.atomic():
        proof, _ = Proof.objects.update_or_create(run=run, tree=snapshot.tree, defaults=begun)
        if verify:
            session.append(_fact(run, facts.proof_begun(proof, verify)))
        session.update(proof_state=proof.state, proof_snapshot=snapshot.number)
    return proof


def _end(session: Session, proof: Proof, found: Found) -> Proof:
    """Keep what was found, with its event. Raises LeaseLost where another makes this proof now."""
    run = session.run
    with transaction.atomic():
        if not _store(proof, found.fields(run)):
            raise LeaseLost(f"proof {proof.pk} of run {run.pk}")
        session.append(_fact(run, facts.proof_data(proof, proof.snapshot)))
        session.update(**_columns(proof, proof.snapshot))
    return proof


def _store(proof: Proof, fields: dict[str, Any]) -> bool:
    if _mine(proof).update(**fields, owner="", claimed_until=None, ended_at=timezone.now()) != 1:
        return False
    proof.refresh_from_db()
    return True


def _fact(run: Run, data: dict[str, Any]) -> Fact:
    return facts.proof(data, round=run.round, step=run.step)


def _columns(proof: Proof, number: int) -> dict[str, Any]:
    """Return what a run's row says of its latest proof."""
    counts = (proof.integrity or {}).get("counts") or {}
    return {"proof_state": proof.state, "proof_snapshot": number, "integrity": counts}


# --- for a run that waits for a human ----------------------------------------------------------------


def want(run: Run) -> Proof | None:
    """Note that the files of a run that waits for a human are to be proven, and ring; return the proof of them.

    Nothing is run where this tree has one already. None where the run waits for nobody, or has no files yet.
    """
    if run.state is not Status.AWAITING_HUMAN:
        return None
    with transaction.atomic():
        snapshot = store.latest(run.place)
        run.proofs.filter(state=ProofState.WAITING).exclude(tree=snapshot.tree).delete()
        proof, made = Proof.objects.get_or_create(
            run=run, tree=snapshot.tree, defaults={"snapshot": snapshot.number, "round": run.round}
        )
        if not made and proof.state not in OPEN and not holds(proof, policies.of(run).verify):
            Proof.objects.filter(pk=proof.pk, state=proof.state).update(state=ProofState.WAITING, owner="")
            proof.refresh_from_db()
        Run.objects.filter(pk=run.pk).update(**_columns(proof, snapshot.number))
        if proof.state == ProofState.WAITING:
            transaction.on_commit(doorbell.ring_workers, robust=True)
    return proof


def drop(run: Run, states: Sequence[ProofState] = (ProofState.WAITING,)) -> None:
    """Forget the proofs in these states: the run has gone where nobody waits for them.

    One that another worker is making stays by default: that worker finds out and tells of its end.
    """
    if run.proofs.filter(state__in=states).delete()[0]:
        _restate(run)


def _restate(run: Run) -> None:
    """Let the run's row tell of the latest proof that there is."""
    proof = run.proofs.exclude(state__in=OPEN).order_by("ended_at", "pk").last()
    told = _columns(proof, proof.snapshot) if proof else {"proof_state": "", "proof_snapshot": 0, "integrity": {}}
    Run.objects.filter(pk=run.pk).update(**told)


@dataclass
class Claim:
    """A worker's hold on one proof of a run that waits for a human. `stop` ends it within a second."""

    proof: Proof
    stop: threading.Event = field(default_factory=threading.Event)
    draining: bool = False
    renewed: float = field(default_factory=time.monotonic)

    def keep(self) -> None:
        """Renew the hold now and then; stop the proof where it is another's now, or nobody waits for it."""
        if not _is_wanted(self.proof):
            self.stop.set()
        elif time.monotonic() - self.renewed > RENEW_EVERY_S:
            self.renewed = time.monotonic()
            _mine(self.proof).update(claimed_until=timezone.now() + CLAIM)


def claim() -> Claim | None:
    """Take the oldest proof that waits, or whose worker is gone; None when there is none.

    One conditional update decides; of two workers one wins and the other looks further.
    """
    for row in _candidates():
        owner = _owner()
        same = Proof.objects.filter(pk=row.pk, state=row.state, owner=row.owner, run__status=Status.AWAITING_HUMAN)
        if same.update(state=ProofState.RUNNING, owner=owner, claimed_until=timezone.now() + CLAIM) != 1:
            continue
        row.refresh_from_db()
        if _is_wanted(row):
            return Claim(row)
        _leave(row, draining=False)
    return None


def _candidates() -> list[Proof]:
    rows = Proof.objects.filter(state__in=OPEN, run__status=Status.AWAITING_HUMAN).order_by("pk")[:50]
    return [row for row in rows if row.state == ProofState.WAITING or _is_left(row)]


def _is_left(row: Proof) -> bool:
    return row.claimed_until is None or row.claimed_until < timezone.now() or lease.is_gone(row.owner)


def _mine(proof: Proof) -> QuerySet[Proof]:
    return Proof.objects.filter(pk=proof.pk, owner=proof.owner, state=ProofState.RUNNING)


def _is_wanted(proof: Proof) -> bool:
    """Return whether it is still this worker's, of files that are the latest of a run that waits for a human."""
    row = _mine(proof).filter(run__status=Status.AWAITING_HUMAN).values_list("run_id", "tree").first()
    latest = Snapshot.objects.filter(workspace_id=proof.run_id).order_by("-number")
    return row is not None and latest.values_list("tree", flat=True).first() == row[1]


def prove_again(proof: Proof, claimed: Claim | None = None) -> None:
    """Make a claimed proof of a run that waits for a human; no lease is needed, as only the run store is read."""
    claimed = claimed or Claim(proof)
    run = Run.objects.select_related("task__repository", "workspace__repository").get(pk=proof.run_id)
    verify = policies.of(run).verify
    if verify:
        events.append(run.pk, _fact(run, facts.proof_begun(proof, verify)))
    Run.objects.filter(pk=run.pk).update(proof_state=proof.state, proof_snapshot=proof.snapshot)
    try:
        fresh.clear(run.place)  # of a worker that was killed in it
        with OpenStream(run.pk) as stream:
            environment, why_not = _environment(run, claimed.stop, stream.write)
            found = proof_making.make(
                Work(run, proof.tree, _name(proof), environment, claimed.stop, stream.write, why_not=why_not)
            )
    except Interrupted:
        _leave(proof, draining=claimed.draining)
        return
    _end_again(run, proof, found)


def fail(proof: Proof, reason: str) -> None:
    """End a claimed proof in which Sakura itself failed."""
    run = Run.objects.select_related("task__repository", "workspace__repository").get(pk=proof.run_id)
    _end_again(run, proof, _stopped(policies.of(run).verify, reason))


def _environment(run: Run, stop: threading.Event, on_text: Callable[[str], None]) -> tuple[Path | None, str]:
    """Return what set-up made, or why there is none. Raises Interrupted."""
    if not run.place.repository.setup or sandbox.probe().level != "full":
        return None, ""
    try:
        return setup.ensure(run.place, on_text, stop, partial(_connected, run)), ""
    except setup.SetupFailed as error:
        if stop.is_set():
            raise Interrupted from error
        return None, f"Set-up failed: {error.message}"


def _connected(run: Run, connection: Connection) -> None:
    """Store a connection of set-up as network.record does; no lease fences it here."""
    try:
        events.append(run.pk, Fact(Kind.NETWORK, {"call_id": "", **asdict(connection)}))
    except Error:
        log.exception("A connection of the set-up of run %s is not stored", run.pk)
    finally:
        database.close()


def _end_again(run: Run, proof: Proof, found: Found) -> None:
    with transaction.atomic():
        locked = run.locked()
        if not _store(proof, found.fields(run)):
            log.info("Proof %s of run %s was given up: another makes it now", proof.pk, run.pk)
            return
        events.append(run.pk, _fact(locked, facts.proof_data(proof, proof.snapshot)))
        if store.latest(locked.place).tree == proof.tree:
            Run.objects.filter(pk=run.pk).update(**_columns(proof, locked.snapshot))


def _leave(proof: Proof, *, draining: bool) -> None:
    """Give a claimed proof back where the server stops; else forget it, as nobody waits for it."""
    wanted = _is_wanted(proof)
    with transaction.atomic():
        run = Run(pk=proof.run_id).locked()
        if draining and wanted:
            _mine(proof).update(state=ProofState.WAITING, owner="", claimed_until=None)
        elif _mine(proof).delete()[0]:
            data = facts.proof_data(proof, proof.snapshot) | {"state": ProofState.UNPROVEN, "reasons": [MOVED_ON]}
            events.append(run.pk, _fact(run, data))
            if run.proof_state in OPEN and run.proof_snapshot == proof.snapshot:
                _restate(run)
