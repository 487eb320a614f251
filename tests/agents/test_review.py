"""What a human does with a run's result."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from agents import reverts, review
from agents.models import Comment, Kind, Role, Run, Status
from agents.review import Remark
from tests.agents.reviewing import FIXED, Scene, kinds, refusal, scene
from tests.conftest import git, person
from workspaces.models import Repository

pytestmark = pytest.mark.django_db


# --- comments ------------------------------------------------------------------------------------


def test_a_comment_is_kept_with_the_snapshot_it_was_made_on(done: Scene, teammate: User) -> None:
    row = review.comment(done.run, teammate, path="calc.py", line=2, side="new", body=" Why? ")
    assert (row.path, row.line, row.body, row.snapshot, row.review) == ("calc.py", 2, "Why?", 2, None)
    event = done.run.events.last()
    assert event is not None
    assert (event.kind, event.data["comment_id"], event.data["author"]) == (Kind.COMMENT, row.pk, "teammate")


def test_an_empty_comment_is_refused(done: Scene, teammate: User) -> None:
    assert refusal(review.comment, done.run, teammate, path="", line=None, side="new", body="  ").code == "EMPTY"


def test_a_line_without_a_path_is_refused(done: Scene, teammate: User) -> None:
    assert refusal(review.comment, done.run, teammate, path="", line=3, side="new", body="x").status == 422


def test_who_may_only_watch_can_not_comment(done: Scene) -> None:
    viewer = person("vera", Role.VIEWER)
    assert refusal(review.comment, done.run, viewer, path="", line=None, side="new", body="x").status == 403


def test_an_open_comment_can_be_taken_back_by_who_wrote_it(done: Scene, teammate: User, owner: User) -> None:
    row = review.comment(done.run, teammate, path="calc.py", line=2, side="new", body="Why?")
    assert refusal(review.comment_delete, done.run, owner, row.pk).code == "NOT_YOURS"
    review.comment_delete(done.run, teammate, row.pk)
    assert not Comment.objects.exists()
    assert kinds(done.run)[-1] == Kind.NOTE


def test_a_comment_that_went_out_stays(done: Scene, teammate: User) -> None:
    row = review.comment(done.run, teammate, path="calc.py", line=2, side="new", body="Why?")
    review.decide(done.run, teammate, "request_changes", "")
    assert refusal(review.comment_delete, done.run, teammate, row.pk).code == "SENT"


# --- approve, reject, request changes ------------------------------------------------------------


def test_approval_makes_one_commit_on_a_branch_of_the_run_store(done: Scene, teammate: User) -> None:
    run = done.run
    review.decide(run, teammate, "approve", "Good.")
    assert (run.state, run.branch) == (Status.APPROVED, f"sakura/{run.task_id}-mend-add")
    store = run.place.repository.store
    assert git(store, "rev-parse", f"{run.commit}^") == run.place.base_commit
    assert git(store, "show", f"{run.commit}:calc.py") == FIXED.rstrip("\n")
    assert git(store, "log", "-1", "--format=%an|%s|%b", run.commit).startswith("teammate|Mend add|Good.")


def test_approval_leaves_the_source_as_it_was(done: Scene, teammate: User, source: Path) -> None:
    (source / "calc.py").write_text("uncommitted\n")
    before = (git(source, "show-ref"), git(source, "status", "--porcelain"))
    review.decide(done.run, teammate, "approve", "")
    assert (git(source, "show-ref"), git(source, "status", "--porcelain")) == before
    assert (source / "calc.py").read_text() == "uncommitted\n"


def test_a_second_run_of_the_task_gets_a_branch_of_its_own(done: Scene, repository: Repository, teammate: User) -> None:
    review.decide(done.run, teammate, "approve", "")
    other = scene(repository)
    Run.objects.filter(pk=other.run.pk).update(task=done.run.task, number=2)
    other.call("edit_file", files={"calc.py": FIXED})
    other.stand(Status.AWAITING_HUMAN)
    review.decide(Run.objects.get(pk=other.run.pk), teammate, "approve", "")
    assert Run.objects.get(pk=other.run.pk).branch == f"{done.run.branch}-2"


def test_a_run_that_changed_nothing_can_not_be_approved(repository: Repository, teammate: User) -> None:
    assert refusal(review.decide, scene(repository).run, teammate, "approve", "").code == "NO_CHANGES"


def test_changes_asked_for_start_the_next_round_with_the_comments(done: Scene, teammate: User) -> None:
    run = done.run
    review.comment(run, teammate, path="calc.py", line=2, side="new", body="Say why.")
    row = review.decide(run, teammate, "request_changes", "Nearly.", [Remark("No.", "NOTES.md")])
    assert (run.state, run.resume_to, run.round) == (Status.QUEUED, "implementing", 2)
    assert [(each["file"], each["line"], each["message"]) for each in row.findings] == [
        ("calc.py", 2, "Say why."),
        ("NOTES.md", None, "No."),
    ]
    assert set(row.comments.values_list("body", flat=True)) == {"Say why.", "No."}
    event = run.events.get(kind=Kind.REVIEW)
    assert (event.data["findings"], event.data["by_human"], event.round) == (row.findings, True, 1)
    assert kinds(run)[-3:] == [Kind.COMMENT, Kind.REVIEW, Kind.STATUS]


def test_a_comment_on_a_removed_line_says_so_to_the_agent(done: Scene, teammate: User) -> None:
    review.comment(done.run, teammate, path="calc.py", line=2, side="old", body="Keep it.")
    (finding,) = review.decide(done.run, teammate, "request_changes", "").findings
    assert (finding["line"], finding["message"]) == (None, "(On line 2 of the baseline.) Keep it.")


def test_a_comment_names_the_line_where_it_is_today(done: Scene, teammate: User) -> None:
    done.call("edit_file", files={"calc.py": f"# one\n{FIXED}"})
    review.comment(done.run, teammate, path="calc.py", line=3, side="new", body="Why?")
    review.comment(done.run, teammate, path="calc.py", line=1, side="new", body="Drop it.")
    reverts.revert(done.run, teammate, "calc.py", to=2)
    moved, gone = review.decide(done.run, teammate, "request_changes", "").findings
    assert (moved["line"], moved["message"]) == (2, "Why?")
    assert gone["line"] is None
    assert "line 1 as it was in snapshot 3" in gone["message"]


def test_changes_can_not_be_asked_for_without_a_word(done: Scene, teammate: User) -> None:
    error = refusal(review.decide, done.run, teammate, "request_changes", "  ")
    assert (error.code, error.status) == ("EMPTY", 422)
    assert not done.run.reviews.exists()


def test_rejection_is_final_and_makes_no_branch(done: Scene, teammate: User) -> None:
    review.decide(done.run, teammate, "reject", "Wrong idea.")
    assert (done.run.state, done.run.branch) == (Status.REJECTED, "")
    assert refusal(review.decide, done.run, teammate, "approve", "").code == "TOO_LATE"


def test_who_decides_second_is_told_who_was_first(done: Scene, teammate: User, owner: User) -> None:
    stale = Run.objects.get(pk=done.run.pk)
    review.decide(done.run, teammate, "approve", "")
    error = refusal(review.decide, stale, owner, "reject", "", [Remark("Lost?")])
    assert error.status == 409
    assert "teammate approved this run at" in error.message
    assert not Comment.objects.exists()


def test_a_verdict_on_what_was_not_seen_is_refused(done: Scene, teammate: User) -> None:
    assert refusal(review.decide, done.run, teammate, "approve", "", seen=1).code == "STALE"


def test_no_verdict_while_the_agents_work(done: Scene, teammate: User) -> None:
    run = done.stand(Status.IMPLEMENTING)
    assert "Implementing" in refusal(review.decide, run, teammate, "request_changes", "x").message


def test_an_unknown_verdict_is_refused(done: Scene, teammate: User) -> None:
    assert refusal(review.decide, done.run, teammate, "maybe", "").status == 422


# --- push ----------------------------------------------------------------------------------------


def test_a_push_makes_a_new_branch_in_the_source_and_nothing_else(done: Scene, teammate: User, source: Path) -> None:
    (source / "README.md").write_text("uncommitted\n")
    head = git(source, "rev-parse", "HEAD")
    review.decide(done.run, teammate, "approve", "")
    branch, commit = review.push(done.run, teammate)
    assert git(source, "rev-parse", branch) == commit
    assert (git(source, "rev-parse", "HEAD"), git(source, "branch", "--show-current")) == (head, "main")
    assert (source / "README.md").read_text() == "uncommitted\n"
    assert done.run.pushed_at is not None
    assert kinds(done.run)[-1] == Kind.NOTE


def test_only_an_approved_run_is_pushed(done: Scene, teammate: User) -> None:
    assert refusal(review.push, done.run, teammate).code == "NOT_APPROVED"


def test_a_second_push_says_when_the_first_was(done: Scene, teammate: User) -> None:
    review.decide(done.run, teammate, "approve", "")
    review.push(done.run, teammate)
    error = refusal(review.push, done.run, teammate)
    assert (error.code, error.status) == ("PUSHED", 409)


def test_a_branch_that_is_there_with_other_commits_stays(done: Scene, teammate: User, source: Path) -> None:
    review.decide(done.run, teammate, "approve", "")
    git(source, "branch", done.run.branch)
    before = git(source, "rev-parse", done.run.branch)
    error = refusal(review.push, done.run, teammate)
    assert (error.code, error.status) == ("BRANCH_EXISTS", 409)
    assert git(source, "rev-parse", done.run.branch) == before
    assert Run.objects.get(pk=done.run.pk).pushed_at is None
