"""finish_task and submit_review."""

import pytest

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
