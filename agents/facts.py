"""The events that more than one place makes: each has its shape (agents/schema.py) from here."""

from collections.abc import Sequence
from typing import Any

from agents.events import Fact
from agents.models import Kind, Review
from workspaces import snapshots
from workspaces.models import Snapshot, Workspace


def moved(came_from: str, to: str, reason: str = "", by: str = "", *, round: int = 0, step: int = 0) -> Fact:
    """Return the event of a run that moved; `by` is empty when a worker did it."""
    return Fact(Kind.STATUS, {"from": came_from, "to": to, "reason": reason, "by": by}, round=round, step=step)


def note(text: str, *, round: int = 0) -> Fact:
    """Return a word to the humans who watch."""
    return Fact(Kind.NOTE, {"text": text, "to": "human"}, round=round)


def snapshot_data(snapshot: Snapshot) -> dict[str, Any]:
    """Return a snapshot as the data of its event."""
    return {
        "number": snapshot.number,
        "call_id": snapshot.call_id,
        "tree": snapshot.tree,
        "files": snapshot.files,
        "file_count": snapshot.file_count,
        "hidden": snapshot.hidden,
    }


def totals(workspace: Workspace, snapshot: Snapshot) -> dict[str, Any]:
    """Return what a run's row says of its changes since the baseline, as of a snapshot."""
    changed = snapshots.totals(workspace, snapshot)
    return {
        "snapshot": snapshot.number,
        "changed_files": changed.file_count,
        "additions": changed.additions,
        "deletions": changed.deletions,
    }


def review_data(review: Review, author: str, unproven: Sequence[str] = ()) -> dict[str, Any]:
    """Return a review, by an agent or a human, as the data of its event; `unproven`: see agents/claims.py."""
    return {
        "review_id": review.pk,
        "author": author,
        "by_human": review.by_human,
        "verdict": review.verdict,
        "score": review.score,
        "summary": review.summary,
        "findings": review.findings,
        "snapshot": review.snapshot,
        "unproven": list(unproven),
    }
