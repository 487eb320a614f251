"""Proofs as rows, for the tests of pages: what a worker would have stored of a scene's latest snapshot."""

from typing import Any

from django.utils import timezone

from agents.models import Proof, ProofState, Run
from tests.agents.reviewing import Scene

COMMAND = {
    "command": "pytest -q",
    "exit_code": 0,
    "ending": "exit",
    "duration_ms": 9400,
    "ran_as": "pytest -q --junitxml=/home/agent/.sakura-proof/1.xml",
    "output_tail": "21 passed\n",
}
TESTS = {"passed": 21, "failed": 0, "skipped": 1, "already_red": 0, "missing": [], "failing": [], "now_skipped": []}
RED = {
    "reasons": ["1 test that passed at the base fails now."],
    "commands": [COMMAND | {"exit_code": 1, "output_tail": "FAILED tests/test_calc.py::test_add"}],
    "tests": TESTS
    | {"failed": 1, "failing": ["tests/test_calc.py::test_add"], "missing": ["tests/test_calc.py::gone"]},
}
FINDINGS = [
    {
        "kind": "loosened",
        "path": "calc.py",
        "why": "The check accepts more than it did.",
        "name": "test_add",
        "old_line": 2,
        "new_line": 2,
        "old": "    return a - b",
        "new": "    return a + b",
    },
    {"kind": "removed", "path": "<b>gone</b>.py", "why": "A test is gone.", "old_line": 7, "new_line": 0},
    {"kind": "added", "path": "NOTES.md", "why": "A new test.", "name": "test_more", "new_line": 1},
]
REPORT = {
    "findings": FINDINGS,
    "count": 3,
    "counts": {"loosened": 1, "removed": 1, "added": 1},
    "locks": ["poetry.lock"],
    "unread": [["tests/huge.py", "It is over 2 MB."]],
}


def proven(made: Scene, state: ProofState = ProofState.GREEN, **fields: Any) -> Proof:
    """Store a proof of the latest snapshot, as it is told of the run too."""
    latest = made.run.place.snapshots.order_by("number").last()
    assert latest is not None
    given: dict[str, Any] = {"commands": [COMMAND], "tests": TESTS} | (RED if state == ProofState.RED else {}) | fields
    row = Proof.objects.create(
        run=made.run,
        snapshot=latest.number,
        tree=latest.tree,
        proved_tree=f"ab12cd34{'0' * 32}",
        state=state,
        ended_at=None if state.is_open else timezone.now(),
        **given,
    )
    counts = row.integrity.get("counts", {})
    Run.objects.filter(pk=made.run.pk).update(proof_state=state, proof_snapshot=latest.number, integrity=counts)
    made.run.refresh_from_db()
    return row
