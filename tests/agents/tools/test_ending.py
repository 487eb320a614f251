"""finish_task and submit_review."""

import pytest

from agents.tools.base import ProofWord
from tests.agents.tools.bench import Bench

pytestmark = pytest.mark.django_db


def test_the_claim_of_a_finished_task_is_kept_verbatim(bench: Bench) -> None:
    claim = {"summary": "Mended.", "modified_files": ["calc.py"], "risk_level": "low", "test_result": "passed"}
    result = bench.call("finish_task", **claim)
    assert result.finish == claim
    assert {name: result.data[name] for name in claim} == claim
    assert result.data["unproven"] == []


def test_a_review_is_checked_and_kept(bench: Bench) -> None:
    reviewer = Bench(bench.workspace, agent="reviewer")
    finding = {"severity": "major", "file": "calc.py", "line": 2, "message": "wrong", "suggestion": "add"}
    claim = {"verdict": "request_changes", "score": 4, "summary": "Not yet.", "findings": [finding]}
    assert reviewer.call("submit_review", **claim).finish == claim
    assert reviewer.call("submit_review", **(claim | {"score": 11})).code == "INVALID_INPUT"
    assert reviewer.call("submit_review", **(claim | {"verdict": "maybe"})).code == "INVALID_INPUT"
    assert bench.call("submit_review", **claim).code == "UNKNOWN_TOOL"
    assert reviewer.call("finish_task", summary="x").code == "UNKNOWN_TOOL"


APPROVAL = {"verdict": "approve", "score": 8, "summary": "Good.", "findings": []}
RED = ProofWord("red", ("The proof of snapshot 2 is red: test_add fails.",))


@pytest.mark.parametrize("despite", ["", "Trust me.", " " * 30])
def test_an_approval_against_the_proof_needs_a_sentence(bench: Bench, despite: str) -> None:
    reviewer = Bench(bench.workspace, agent="reviewer", proof=RED)
    refused = reviewer.call("submit_review", **APPROVAL, despite=despite)
    assert (refused.code, refused.finish) == ("INVALID_INPUT", None)
    assert "test_add fails" in refused.content
    assert "`despite`" in refused.content


def test_a_sentence_on_why_is_kept_with_the_approval(bench: Bench) -> None:
    reviewer = Bench(bench.workspace, agent="reviewer", proof=RED)
    given = APPROVAL | {"despite": "The test itself asks for the wrong sum."}
    done = reviewer.call("submit_review", **given)
    assert (done.finish, done.data["despite"]) == (given, given["despite"])


@pytest.mark.parametrize("verdict", ["request_changes", "reject"])
def test_no_other_verdict_needs_a_sentence(bench: Bench, verdict: str) -> None:
    reviewer = Bench(bench.workspace, agent="reviewer", proof=RED)
    assert reviewer.call("submit_review", **(APPROVAL | {"verdict": verdict})).code == ""
