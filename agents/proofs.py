"""Proof of done: made by Sakura itself on a snapshot, kept by tree, and how it stands to the run as it is now."""

from dataclasses import dataclass
from enum import StrEnum

from agents.models import Proof, ProofState, Run
from workspaces.models import Snapshot


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

    A proof is of a tree: files that went back to what was proven are proven again.
    """
    tree = Snapshot.objects.filter(workspace_id=run.pk, number=run.snapshot).values_list("tree", flat=True).first()
    same = run.proofs.filter(tree=tree).last() if tree else None
    proof = same or run.proofs.last()
    if proof is None:
        return Standing(State.NONE)
    state = State(ProofState(proof.state).value)
    if same is None and not ProofState(proof.state).is_open:
        return Standing(State.STALE, proof, proof.snapshot + 1)
    return Standing(state, proof)
