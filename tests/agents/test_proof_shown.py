"""A proof in the shapes of pages: from rows and events of any shape, and the word that a run's own row gives."""

from typing import Any

import pytest
from django.template.loader import render_to_string

from agents import integrity_shown, panels, proof_shown, strip, transcript
from agents.models import Kind, ProofState, Run, Status
from agents.proofs import State
from tests.agents.proven import COMMAND, RED, REPORT, proven
from tests.agents.reviewing import Scene
from tests.agents.transcripts import Writer, make_run

ODD: list[Any] = [None, 7, "red", [], {}, [[]], [None], {"commands": 3}, [{"path": []}], True, -1, [{"kind": ["a"]}]]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    "key", ["state", "commands", "tests", "reasons", "put_back", "left_out", "integrity", "tree", "snapshot"]
)
def test_an_event_of_another_shape_is_still_shown(key: str, odd: Any) -> None:
    shown = proof_shown.of_data({"state": "red", **RED, key: odd})
    assert render_to_string("agents/proof/_tests.html", {"proof": shown}) is not None
    assert shown.look.word


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("key", ["findings", "count", "counts", "locks", "unread"])
def test_a_report_of_another_shape_is_still_shown(key: str, odd: Any) -> None:
    assert integrity_shown.of(REPORT | {key: odd}).more >= 0


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("key", ["command", "exit_code", "ending", "duration_ms", "output_tail", "test_count", "why"])
def test_a_command_of_another_shape_is_still_shown(key: str, odd: Any) -> None:
    shown = proof_shown.of_data({"state": "red", "commands": [COMMAND | {key: odd}]})
    assert len(shown.commands) == 1


def test_findings_beyond_those_that_a_report_names_are_counted() -> None:
    named = [{"kind": "removed", "path": f"{n}.py", "why": "Gone."} for n in range(300)]
    shown = integrity_shown.of({"findings": named, "count": 900, "counts": {"removed": 850, "added": 50}})
    removed, added = shown.groups
    assert (removed.count, removed.more, removed.is_open) == (850, 550, False)
    assert (added.count, added.is_suspect) == (50, False)
    assert shown.suspect == "850 removed"


# --- the word of a run's own row ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "snapshot", "status", "word"),
    [
        ("green", 3, Status.AWAITING_HUMAN, "Proof green"),
        ("red", 3, Status.AWAITING_HUMAN, "Proof red"),
        ("red", 2, Status.IMPLEMENTING, "Proof stale"),
        ("running", 3, Status.REVIEWING, "Proof running"),
        ("waiting", 3, Status.AWAITING_HUMAN, "Proof waits"),
        ("unproven", 3, Status.APPROVED, "Unproven"),
        ("running", 3, Status.CANCELLED, ""),
        ("", 0, Status.IMPLEMENTING, ""),
    ],
)
def test_a_runs_row_tells_how_its_proof_stands(state: str, snapshot: int, status: Status, word: str) -> None:
    run = Run(proof_state=state, proof_snapshot=snapshot, snapshot=3, status=status)
    glance = proof_shown.glance(run)
    assert (glance.look.word if glance else "") == word


def test_the_kinds_that_may_be_bad_are_named_in_order() -> None:
    run = Run(proof_state="green", proof_snapshot=1, snapshot=1, integrity={"added": 4, "loosened": 1, "skipped": 2})
    glance = proof_shown.glance(run)
    assert glance is not None
    assert glance.suspect == "2 skipped · 1 loosened"


# --- in the transcript and on the run page --------------------------------------------------------


@pytest.mark.django_db
def test_a_proof_is_a_line_while_it_runs_and_a_card_when_it_ended() -> None:
    run = make_run()
    writer = Writer(run)
    writer.put(Kind.PROOF, {"state": "running", "snapshot": 1, "commands": [{"command": "pytest -q"}]})
    told = {"state": "red", "snapshot": 1, "proved_tree": "ab12cd34" * 5, "integrity": {"removed": 2}, **RED}
    writer.put(Kind.PROOF, told)
    run.refresh_from_db()
    began, ended = [patch["html"] for patch in transcript.latest(run).patches][-2:]
    assert "proofrun" in began
    assert "Running" in began
    assert "pytest -q" in began
    assert "proofend wrong" in ended
    assert "data-failed" in ended
    assert "2 removed" in ended
    assert "tests/test_calc.py::test_add" in ended
    assert "ab12cd3" in ended


@pytest.mark.django_db
@pytest.mark.parametrize(("states", "marks"), [(["running"], 1), (["running", "red"], 1), (["running", "red"] * 2, 2)])
def test_a_proof_has_one_mark_on_the_strip(states: list[str], marks: int) -> None:
    run = make_run()
    for state in states:
        Writer(run).put(Kind.PROOF, {"state": state})
    run.refresh_from_db()
    assert sum(mark.label.startswith("Proof: ") for mark in strip.of(run).marks) == marks


@pytest.mark.django_db
def test_a_review_against_the_proof_shows_why() -> None:
    run = make_run()
    Writer(run).put(Kind.REVIEW, {"verdict": "approve", "summary": "Fine.", "despite": "The test is <b>wrong</b>."})
    run.refresh_from_db()
    html = transcript.latest(run).patches[-1]["html"]
    assert "Approved although the proof speaks against it: “The test is &lt;b&gt;wrong&lt;/b&gt;.”" in html


@pytest.mark.django_db
def test_the_panel_tells_of_the_proof_and_leads_to_the_review_page(done: Scene) -> None:
    proven(done, ProofState.RED, integrity=REPORT, put_back=["tests/test_calc.py"])
    html = panels.render(panels.load(done.run.pk))
    assert 'id="panel-proof"' in html["proof"]
    assert "1 test that passed at the base fails now." in html["proof"]
    assert "1 removed · 1 loosened" in html["proof"]
    assert "#integrity" in html["proof"]
    assert "Proof red" in html["head"]


@pytest.mark.django_db
def test_a_run_without_a_proof_costs_no_query_for_it(done: Scene, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert proof_shown.of_run(done.run).state is State.NONE
