"""The events that more than one place makes: each has its shape (agents/schema.py) from here."""

from collections.abc import Sequence
from typing import Any

from agents.events import Fact
from agents.models import Kind, Proof, ProofState, Review
from workspaces import snapshots
from workspaces.models import Snapshot, Workspace

PROOF_TAIL = 6000
"""Characters of the output of a failed verify command in the event of its proof; of one that passed a sixth of it."""
PROOF_TAILS = 24_000
"""Of all of them together."""
PROOF_ITEMS = 50


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
        "left_out": snapshot.skipped,
        "left_out_count": snapshot.skipped_count,
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
        "despite": review.despite,
        "snapshot": review.snapshot,
        "unproven": list(unproven),
    }


def proof(data: dict[str, Any], *, round: int, step: int) -> Fact:
    """Return the event of a proof; no agent makes one."""
    return Fact(Kind.PROOF, data, round=round, step=step)


def proof_begun(row: Proof, commands: Sequence[str]) -> dict[str, Any]:
    """Return the data of the event that a proof's verify commands begin."""
    return {
        "state": ProofState.RUNNING,
        "snapshot": row.snapshot,
        "tree": row.tree,
        "commands": [{"command": command} for command in commands],
    }


def proof_data(row: Proof, snapshot: int) -> dict[str, Any]:
    """Return a proof that has ended as the data of its event; the row has what is left out here."""
    report = row.integrity or {}
    return {
        "state": row.state,
        "snapshot": snapshot,
        "tree": row.tree,
        "proved_tree": row.proved_tree,
        "reasons": row.reasons,
        "commands": _proof_commands(row.commands),
        "tests": row.tests,
        "integrity": report.get("counts") or {},
        "findings": (report.get("findings") or [])[:PROOF_ITEMS],
        "put_back": row.put_back[:PROOF_ITEMS],
        "left_out": row.left_out[:PROOF_ITEMS],
    }


def _proof_commands(commands: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the commands with less of what they printed: those that failed have most of the room."""
    told, room = [], PROOF_TAILS
    for command in commands:
        most = min(room, PROOF_TAIL if command["exit_code"] != 0 else PROOF_TAIL // 6)
        tail = str(command.get("output_tail") or "")
        told.append({**command, "output_tail": tail[-most:] if most else ""})
        room -= len(told[-1]["output_tail"])
    return told
