"""Putting files of a run back by a human's word, in the run store; each revert leaves its events."""

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from agents import events, proofs
from agents.access import demand
from agents.control import Refused
from agents.events import Fact
from agents.facts import snapshot_data, totals
from agents.models import Kind, Role, Run, Status
from agents.models.run import WORKING
from agents.wording import who
from workspaces import snapshots
from workspaces.models import Snapshot

REVERTIBLE = frozenset(Status) - WORKING - {Status.APPROVED, Status.REJECTED}
"""Where files may be put back: nobody holds the run, and no verdict named its tree."""


def revert(
    run: Run, user: User, path: str, *, to: int = 0, hunks: Sequence[str] | None = None, dry_run: bool = False
) -> snapshots.Reverted:
    """Put a file, or some hunks of it, back to a snapshot (0: the baseline); `dry_run` only says what would come out.

    To undo a revert, revert to the snapshot before it. Refused while a worker holds the run, and after a verdict: what
    was judged stays what it was. A cancelled or failed run may still be tidied, since its patch can be taken. Where the
    run waits for a human, the files are proven anew.
    """
    demand(user, Role.REVIEWER)
    if dry_run:
        _must_be_revertible(run)
        return _put_back(run, user, path, to, hunks, dry_run=True)
    with transaction.atomic():
        locked = run.locked()
        _must_be_revertible(locked)
        done = _put_back(locked, user, path, to, hunks, dry_run=False)
        if done.snapshot is None:
            raise Refused("NO_CHANGE", f"{path} is already as it was in {Snapshot.called(to)}; nothing was written.")
        _count_changes(locked, done.snapshot)
        events.append(locked.pk, *_revert_facts(locked, user, path, to, hunks, done, done.snapshot))
        proofs.want(locked)
    run.refresh_from_db()
    return done


def _must_be_revertible(run: Run) -> None:
    if run.is_held:
        raise Refused("HELD", f"An agent is at work (“{run.state.label}”). Pause the run first, then revert.")
    if run.state not in REVERTIBLE:
        raise Refused("FINAL", f"The run is “{run.state.label}”: what was judged stays. Start a new task instead.")


def _put_back(
    run: Run, user: User, path: str, to: int, hunks: Sequence[str] | None, *, dry_run: bool
) -> snapshots.Reverted:
    try:
        return snapshots.revert(run.place, path, to, hunks, dry_run, author=who(user))
    except snapshots.RevertError as error:
        raise Refused(error.code, error.message, 404 if error.code in ("NOT_FOUND", "NO_BASELINE") else 409) from error
    except snapshots.StoreError as error:
        raise Refused("TOO_LATE", str(error)) from error


def _count_changes(run: Run, snapshot: Snapshot) -> None:
    Run.objects.filter(pk=run.pk).update(**totals(run.place, snapshot), updated_at=timezone.now())


def _revert_facts(
    run: Run, user: User, path: str, to: int, hunks: Sequence[str] | None, done: snapshots.Reverted, made: Snapshot
) -> tuple[Fact, Fact]:
    reverted = {
        "author": who(user),
        "path": path,
        "to": to,
        "hunks": list(hunks or ()),
        "snapshot": made.number,
        "files": [
            {"path": each.path, "status": each.status, "additions": each.additions, "deletions": each.deletions}
            for each in done.files[:200]
        ],
    }
    return Fact(Kind.SNAPSHOT, snapshot_data(made), round=run.round), Fact(Kind.REVERT, reverted, round=run.round)
