"""A human's revert of a run's files."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from agents import reverts
from agents.models import Kind, Run, Status
from tests.agents.reviewing import FIXED, Scene, kinds, refusal, scene
from workspaces import snapshots
from workspaces.models import Repository

pytestmark = pytest.mark.django_db


def text(run: Run, path: str) -> str:
    return snapshots.read(run.place, path).data.decode()


def test_a_revert_puts_the_file_back_as_a_new_snapshot(done: Scene, teammate: User, source: Path) -> None:
    made = reverts.revert(done.run, teammate, "calc.py")
    assert made.snapshot is not None
    assert made.snapshot.number == done.run.snapshot == 3
    assert text(done.run, "calc.py") == (source / "calc.py").read_text()
    assert (done.run.changed_files, done.run.additions, done.run.deletions) == (1, 1, 0)
    assert kinds(done.run)[-2:] == [Kind.SNAPSHOT, Kind.REVERT]
    event = done.run.events.get(kind=Kind.REVERT)
    assert (event.data["author"], event.data["path"], event.data["snapshot"]) == ("teammate", "calc.py", 3)


def test_a_new_file_is_gone_after_its_revert(done: Scene, teammate: User) -> None:
    reverts.revert(done.run, teammate, "NOTES.md")
    with pytest.raises(FileNotFoundError):
        text(done.run, "NOTES.md")


def test_one_hunk_goes_back_and_the_other_stays(repository: Repository, teammate: User) -> None:
    long = "".join(f"line {n}\n" for n in range(40))
    made = scene(repository)
    made.call("write_file", files={"long.txt": long})
    made.call("edit_file", files={"long.txt": long.replace("line 2\n", "two\n").replace("line 38\n", "thirty-eight\n")})
    first, second = snapshots.file_diff(made.run.place, "long.txt", 1).hunks
    reverts.revert(made.run, teammate, "long.txt", to=1, hunks=[first.id])
    assert "line 2\n" in text(made.run, "long.txt")
    assert "thirty-eight\n" in text(made.run, "long.txt")
    assert [hunk.id for hunk in snapshots.file_diff(made.run.place, "long.txt", 1).hunks] == [second.id]


def test_a_revert_is_undone_by_going_back_to_the_snapshot_before(done: Scene, teammate: User) -> None:
    before = done.run.snapshot
    reverts.revert(done.run, teammate, "calc.py")
    reverts.revert(done.run, teammate, "calc.py", to=before)
    assert text(done.run, "calc.py") == FIXED


def test_a_dry_run_says_what_comes_out_and_changes_nothing(done: Scene, teammate: User, source: Path) -> None:
    tried = reverts.revert(done.run, teammate, "calc.py", dry_run=True)
    assert (tried.snapshot, tried.before, tried.after) == (None, FIXED.encode(), (source / "calc.py").read_bytes())
    assert Run.objects.get(pk=done.run.pk).snapshot == 2
    assert Kind.REVERT not in kinds(done.run)
    assert reverts.revert(done.run, teammate, "calc.py").tree == tried.tree


@pytest.mark.parametrize("status", [Status.PREPARING, Status.IMPLEMENTING, Status.REVIEWING])
def test_no_revert_while_a_worker_holds_the_run(done: Scene, teammate: User, status: Status) -> None:
    error = refusal(reverts.revert, done.stand(status), teammate, "calc.py")
    assert (error.code, error.status) == ("HELD", 409)
    assert "Pause" in error.message


@pytest.mark.parametrize("status", [Status.APPROVED, Status.REJECTED])
def test_what_was_judged_is_not_reverted(done: Scene, teammate: User, status: Status) -> None:
    assert refusal(reverts.revert, done.stand(status), teammate, "calc.py").code == "FINAL"


@pytest.mark.parametrize("status", [Status.QUEUED, Status.PAUSED, Status.FAILED, Status.CANCELLED])
def test_a_run_that_nobody_holds_can_be_tidied(done: Scene, teammate: User, status: Status) -> None:
    assert reverts.revert(done.stand(status), teammate, "calc.py").snapshot is not None


def test_a_file_that_is_as_it_was_is_not_reverted(done: Scene, teammate: User) -> None:
    assert refusal(reverts.revert, done.run, teammate, "README.md").code == "NO_CHANGE"


def test_a_file_nobody_knows_is_not_found(done: Scene, teammate: User) -> None:
    assert refusal(reverts.revert, done.run, teammate, "nothing.py").status == 404


def test_the_tree_follows_a_revert_at_the_next_claim(done: Scene, teammate: User, source: Path) -> None:
    reverts.revert(done.run, teammate, "calc.py")
    assert snapshots.align(done.run.place) == ["calc.py"]
    assert (done.run.place.tree / "calc.py").read_text() == (source / "calc.py").read_text()
