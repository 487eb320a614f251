"""A run by the API: where it stands, its events and outputs, and words to it."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from agents import events
from agents.events import Fact
from agents.models import Control, Event, Kind, Proof, ProofState, Run
from tests.agents.api.conftest import Caller
from workspaces.models import Snapshot

pytestmark = pytest.mark.django_db


def test_a_run_tells_where_it_stands(viewer: Caller, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(input_tokens=900, cached_tokens=100, output_tokens=40, usd=Decimal("0.25"))
    body = viewer.get(f"/runs/{run.pk}").json()
    assert (body["id"], body["task"], body["status"], body["round"], body["step"]) == (
        run.pk,
        run.task_id,
        "queued",
        1,
        0,
    )
    assert body["last_seq"] == run.last_seq == 2
    assert body["usage"] == {"input_tokens": 900, "cached_tokens": 100, "output_tokens": 40, "usd": 0.25}
    assert (body["proof"]["state"], body["proof"]["commands"], body["proof"]["snapshot"]) == ("none", [], None)
    assert (body["sandbox"], body["snapshot"], body["branch"], body["commit"]) == ({}, 0, "", "")
    assert body["url"] == f"http://testserver/runs/{run.pk}/"
    assert body["budgets"]["steps"] == 60


def test_events_have_the_shape_of_the_contract(viewer: Caller, run: Run) -> None:
    body = viewer.get(f"/runs/{run.pk}/events").json()
    assert body["last_seq"] == 2
    assert [list(event) for event in body["events"]] == [["seq", "at", "agent", "step", "kind", "data"]] * 2
    assert body["events"][0]["data"] == {"from": "", "to": "queued", "reason": "launched", "by": "olga"}
    assert body["events"][0]["at"].endswith("Z")


def test_events_are_read_on_from_a_number(viewer: Caller, run: Run) -> None:
    events.append(run.pk, *(Fact(Kind.NOTE, {"text": str(number), "to": "human"}) for number in range(5)))
    body = viewer.get(f"/runs/{run.pk}/events", after=3, limit=2).json()
    assert [event["seq"] for event in body["events"]] == [4, 5]
    assert body["last_seq"] == 7
    assert viewer.get(f"/runs/{run.pk}/events", after=7).json() == {"events": [], "last_seq": 7}


@pytest.mark.parametrize("limit", [0, 501, "all"])
def test_a_page_of_events_has_bounds(viewer: Caller, run: Run, limit: int | str) -> None:
    assert viewer.get(f"/runs/{run.pk}/events", limit=limit).status_code == 422


def test_private_keys_are_not_shown(viewer: Caller, run: Run) -> None:
    data = {"text": "Hi", "tool_calls": [], "blocks": [{"signature": "s3cret"}], "provider": "anthropic"}
    events.append(run.pk, Fact(Kind.MODEL_RESPONSE, data))
    answer = viewer.get(f"/runs/{run.pk}/events", after=2)
    assert b"s3cret" not in answer.content
    assert answer.json()["events"][0]["data"] == {"text": "Hi", "tool_calls": []}


def test_a_long_text_comes_as_its_ends_and_its_whole_by_reference(viewer: Caller, run: Run) -> None:
    text = "".join(f"{number:07}\n" for number in range(10_000))
    events.append(run.pk, Fact(Kind.NOTE, {"text": text, "to": "human"}))
    shown = viewer.get(f"/runs/{run.pk}/events", after=2).json()["events"][0]["data"]["text"]
    assert shown["truncated"] is True
    assert (shown["size"], shown["head"][:8], shown["tail"][-8:]) == (80_000, "0000000\n", "0009999\n")
    whole = viewer.get(f"/runs/{run.pk}/outputs/{shown['ref']}")
    assert whole.content.decode() == text
    assert whole["Content-Type"] == "text/plain; charset=utf-8"
    assert whole["X-Content-Type-Options"] == "nosniff"


def test_an_output_is_read_piece_by_piece(viewer: Caller, run: Run) -> None:
    run.place.outputs.mkdir(parents=True)
    (run.place.outputs / "call-1.txt").write_bytes(b"0123456789")
    answer = viewer.get(f"/runs/{run.pk}/outputs/call-1.txt", offset=3, limit=4)
    assert (answer.content, answer["X-Output-Size"]) == (b"3456", "10")


@pytest.mark.parametrize("ref", ["..", "%2e%2e%2fsecret", "..%2Fsecret", "a%00b", "link", "sub", ".hidden", "nothing"])
def test_an_output_is_a_plain_file_of_the_runs_own(viewer: Caller, run: Run, ref: str) -> None:
    outputs: Path = run.place.outputs
    (outputs / "sub").mkdir(parents=True)
    (outputs.parent / "secret").write_text("secret")
    (outputs / "link").symlink_to(outputs.parent / "secret")
    (outputs / ".hidden").write_text("secret")
    assert viewer.client.get(f"/api/v1/runs/{run.pk}/outputs/{ref}").status_code == 404


def test_a_message_steers_the_run(operator: Caller, run: Run) -> None:
    answer = operator.post(f"/runs/{run.pk}/messages", {"text": "Use couplets."})
    assert answer.status_code == 201
    assert answer.json()["last_seq"] == 3
    assert Control.objects.get().text == "Use couplets."


def test_an_empty_message_is_refused(operator: Caller, run: Run) -> None:
    assert operator.post(f"/runs/{run.pk}/messages", {"text": " "}).status_code == 422


def test_a_run_is_paused_and_resumed(operator: Caller, run: Run) -> None:
    assert operator.post(f"/runs/{run.pk}/pause").json()["status"] == "paused"
    assert operator.post(f"/runs/{run.pk}/resume").json()["status"] == "queued"
    assert Event.objects.filter(run=run, kind=Kind.STATUS).count() == 3


def test_a_run_is_cancelled_once(operator: Caller, run: Run) -> None:
    assert operator.post(f"/runs/{run.pk}/cancel").json()["status"] == "cancelled"
    answer = operator.post(f"/runs/{run.pk}/cancel")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "ENDED")


def test_a_failed_run_is_retried(operator: Caller, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(status="failed")
    assert operator.post(f"/runs/{run.pk}/retry").json()["status"] == "queued"


def test_what_a_run_cannot_do_now_is_a_conflict(operator: Caller, run: Run) -> None:
    for verb in ("resume", "retry"):
        assert operator.post(f"/runs/{run.pk}/{verb}").status_code == 409


def _proven(run: Run, snapshot: int, state: ProofState, **fields: Any) -> Proof:
    tree = Snapshot.objects.get(workspace_id=run.pk, number=snapshot).tree
    ended = None if state.is_open else timezone.now()
    return Proof.objects.create(run=run, tree=tree, snapshot=snapshot, state=state, ended_at=ended, **fields)


def test_a_proof_is_told_with_what_it_rests_on(viewer: Caller, changed: Run) -> None:
    commands = [{"command": "pytest", "exit_code": 1, "output_tail": "1 failed"}]
    findings = [{"kind": "removed", "path": f"test_{number}.py", "why": "It is gone."} for number in range(60)]
    report = {"findings": findings, "count": 60, "counts": {"removed": 60}, "locks": ["poetry.lock"], "unread": []}
    _proven(
        changed, 2, ProofState.RED, reasons=["One fails."], commands=commands, tests={"failed": 1}, integrity=report
    )
    told = viewer.get(f"/runs/{changed.pk}").json()["proof"]
    integrity = told.pop("integrity")
    assert told == {
        "state": "red",
        "snapshot": 2,
        "since": None,
        "reasons": ["One fails."],
        "commands": commands,
        "tests": {"failed": 1},
    }
    assert (integrity["counts"], integrity["locks"]) == ({"removed": 60}, ["poetry.lock"])
    assert integrity["findings"] == findings[:50]


@pytest.mark.parametrize(("snapshot", "state", "since"), [(2, "green", None), (1, "stale", 2)])
def test_a_proof_is_stale_once_the_tree_has_changed(
    viewer: Caller, changed: Run, snapshot: int, state: str, since: int | None
) -> None:
    _proven(changed, snapshot, ProofState.GREEN)
    told = viewer.get(f"/runs/{changed.pk}").json()["proof"]
    assert (told["state"], told["snapshot"], told["since"]) == (state, snapshot, since)


def test_a_proof_that_nobody_waits_for_any_more_is_not_told(viewer: Caller, changed: Run) -> None:
    _proven(changed, 2, ProofState.WAITING)
    assert viewer.get(f"/runs/{changed.pk}").json()["proof"]["state"] == "waiting"
    Run.objects.filter(pk=changed.pk).update(status="cancelled")
    assert viewer.get(f"/runs/{changed.pk}").json()["proof"]["state"] == "none"
