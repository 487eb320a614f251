"""What a human does with a result, by the API: comment, revert, decide, push."""

from pathlib import Path

import pytest

from agents.models import Comment, Policy, Proof, ProofState, Review, Run, Task
from tests.agents.api.conftest import Caller
from tests.conftest import git
from workspaces.models import Snapshot

pytestmark = pytest.mark.django_db


def _poem(viewer: Caller, run: Run) -> str:
    return str(viewer.get(f"/runs/{run.pk}/file", path="poem.txt").content.decode())


def test_a_comment_stays_open_until_the_review(reviewer: Caller, changed: Run) -> None:
    answer = reviewer.post(f"/runs/{changed.pk}/comments", {"path": "poem.txt", "line": 2, "body": "No."})
    assert answer.status_code == 201
    assert answer.json()["side"] == "new"
    assert Comment.objects.get(pk=answer.json()["id"]).review is None


def test_an_approval_makes_the_branch(reviewer: Caller, changed: Run) -> None:
    answer = reviewer.post(f"/runs/{changed.pk}/reviews", {"verdict": "approve", "summary": "Fine."})
    assert answer.status_code == 201
    body = answer.json()
    assert body["branch"] == f"sakura/{changed.task_id}-make-it-rhyme"
    assert reviewer.get(f"/runs/{changed.pk}").json()["commit"] == body["commit"]
    assert len(body["commit"]) == 40


def _verified(run: Run, state: ProofState) -> None:
    """Let the run have a verify command, and a proof of its latest files."""
    Task.objects.filter(pk=run.task_id).update(policy=Policy(verify=["make test"]).model_dump())
    tree = Snapshot.objects.get(workspace_id=run.pk, number=run.snapshot).tree
    Proof.objects.create(run=run, tree=tree, snapshot=run.snapshot, state=state, reasons=["One test fails."])


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (ProofState.RED, "PROOF_RED"),
        (ProofState.WAITING, "PROOF_RUNNING"),
        (ProofState.RUNNING, "PROOF_RUNNING"),
        (ProofState.GREEN, None),
        (ProofState.UNPROVEN, None),
    ],
)
def test_an_approval_against_the_proof_needs_a_sentence(
    reviewer: Caller, changed: Run, state: ProofState, code: str | None
) -> None:
    _verified(changed, state)
    answer = reviewer.post(f"/runs/{changed.pk}/reviews", {"verdict": "approve"})
    if code is None:
        assert answer.status_code == 201
        return
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, code)
    wish = {"verdict": "approve", "despite_proof": "The test is about another season."}
    assert reviewer.post(f"/runs/{changed.pk}/reviews", wish).status_code == 201
    assert Review.objects.get(run=changed).despite == wish["despite_proof"]


def test_a_revert_asks_for_another_proof(reviewer: Caller, changed: Run) -> None:
    _verified(changed, ProofState.GREEN)
    assert reviewer.post(f"/runs/{changed.pk}/reverts", {"path": "new.txt"}).status_code == 200
    told = reviewer.get(f"/runs/{changed.pk}").json()["proof"]
    assert (told["state"], told["snapshot"]) == ("waiting", 3)
    reviewer.post(f"/runs/{changed.pk}/reverts", {"path": "new.txt", "to": 2})
    assert reviewer.get(f"/runs/{changed.pk}").json()["proof"]["state"] == "green"


def test_asking_for_changes_queues_the_next_round(reviewer: Caller, changed: Run) -> None:
    comments = [{"path": "poem.txt", "line": 2, "side": "new", "body": "This does not rhyme."}]
    wish = {"verdict": "request_changes", "summary": "Nearly.", "comments": comments}
    answer = reviewer.post(f"/runs/{changed.pk}/reviews", wish)
    assert answer.status_code == 201
    assert answer.json()["branch"] is None
    run = reviewer.get(f"/runs/{changed.pk}").json()
    assert (run["status"], run["round"]) == ("queued", 2)


def test_who_decides_second_is_told(reviewer: Caller, admin: Caller, changed: Run) -> None:
    reviewer.post(f"/runs/{changed.pk}/reviews", {"verdict": "reject", "summary": "No."})
    answer = admin.post(f"/runs/{changed.pk}/reviews", {"verdict": "approve"})
    assert answer.status_code == 409
    assert "rosa" in answer.json()["error"]["message"]


def test_a_decision_on_an_older_snapshot_is_refused(reviewer: Caller, changed: Run) -> None:
    answer = reviewer.post(f"/runs/{changed.pk}/reviews", {"verdict": "approve", "snapshot": 1})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "STALE")


def test_an_unknown_verdict_is_invalid(reviewer: Caller, changed: Run) -> None:
    assert reviewer.post(f"/runs/{changed.pk}/reviews", {"verdict": "maybe"}).json()["error"]["fields"] == ["verdict"]


def test_a_file_is_reverted_to_the_baseline(reviewer: Caller, changed: Run) -> None:
    answer = reviewer.post(f"/runs/{changed.pk}/reverts", {"path": "poem.txt"})
    assert answer.status_code == 200
    body = answer.json()
    assert (body["snapshot"], [file["path"] for file in body["files"]]) == (3, ["poem.txt"])
    assert "line 2\n" in _poem(reviewer, changed)
    assert reviewer.get(f"/runs/{changed.pk}/changes").json()["tree"] == body["tree"]


def test_one_hunk_is_reverted(reviewer: Caller, changed: Run) -> None:
    hunks = reviewer.get(f"/runs/{changed.pk}/diff", path="poem.txt").json()["hunks"]
    answer = reviewer.post(f"/runs/{changed.pk}/reverts", {"path": "poem.txt", "hunks": [hunks[0]["id"]]})
    assert answer.status_code == 200
    text = _poem(reviewer, changed)
    assert "line 2\n" in text
    assert "line twenty-eight\n" in text


def test_a_dry_run_tells_the_exact_tree_and_changes_nothing(reviewer: Caller, changed: Run) -> None:
    wish = {"path": "new.txt"}
    tried = reviewer.post(f"/runs/{changed.pk}/reverts", {**wish, "dry_run": True}).json()
    assert tried["snapshot"] is None
    assert reviewer.get(f"/runs/{changed.pk}/file", path="new.txt").status_code == 200
    assert reviewer.post(f"/runs/{changed.pk}/reverts", wish).json()["tree"] == tried["tree"]


def test_a_revert_is_undone_by_a_revert_to_the_snapshot_before(reviewer: Caller, changed: Run) -> None:
    before = _poem(reviewer, changed)
    reviewer.post(f"/runs/{changed.pk}/reverts", {"path": "poem.txt"})
    reviewer.post(f"/runs/{changed.pk}/reverts", {"path": "poem.txt", "to": 2})
    assert _poem(reviewer, changed) == before


def test_a_deleted_file_comes_back(reviewer: Caller, changed: Run) -> None:
    reviewer.post(f"/runs/{changed.pk}/reverts", {"path": "old.txt"})
    assert reviewer.get(f"/runs/{changed.pk}/file", path="old.txt").content == b"to be deleted\n"


def test_nothing_is_reverted_while_a_worker_holds_the_run(reviewer: Caller, changed: Run) -> None:
    Run.objects.filter(pk=changed.pk).update(status="implementing")
    answer = reviewer.post(f"/runs/{changed.pk}/reverts", {"path": "poem.txt"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "HELD")
    assert "ause" in answer.json()["error"]["message"]


@pytest.mark.parametrize("wish", [{"path": "poem.txt", "hunks": ["unknown"]}, {"path": "poem.txt", "to": 9}])
def test_what_cannot_be_reverted_is_refused(reviewer: Caller, changed: Run, wish: dict[str, object]) -> None:
    answer = reviewer.post(f"/runs/{changed.pk}/reverts", wish)
    assert answer.status_code in (404, 409)
    assert answer.json()["error"]["message"]


def test_an_approved_run_is_pushed_as_a_new_branch(reviewer: Caller, changed: Run, source: Path) -> None:
    approved = reviewer.post(f"/runs/{changed.pk}/reviews", {"verdict": "approve"}).json()
    answer = reviewer.post(f"/runs/{changed.pk}/push")
    assert answer.json() == {"branch": approved["branch"], "commit": approved["commit"]}
    assert git(source, "rev-parse", approved["branch"]) == approved["commit"]
    assert git(source, "branch", "--show-current") == "main"


def test_only_an_approved_run_is_pushed(reviewer: Caller, changed: Run) -> None:
    assert reviewer.post(f"/runs/{changed.pk}/push").status_code == 409


@pytest.mark.parametrize("path", ["..", "../x", "/etc/passwd", "a//b", ".", "a\x00b", "\\xff", ":(glob)*", "--help"])
def test_an_odd_path_is_refused_and_never_a_fault(reviewer: Caller, changed: Run, path: str) -> None:
    for dry_run in (True, False):
        answer = reviewer.post(f"/runs/{changed.pk}/reverts", {"path": path, "dry_run": dry_run})
        assert answer.status_code in (404, 409, 422)
