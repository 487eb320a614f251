"""A snapshot costs two processes, counts what git counts, and is never built on what was not kept."""

import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import GIT_ENV, git
from tests.workspaces.places import prepared, statuses, take, taken
from workspaces import keeping, known, snapshots, sources, store
from workspaces.diffs import LISTED
from workspaces.git import Git
from workspaces.models import Repository, Snapshot, Workspace
from workspaces.store import StoreError

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(repository: Repository) -> Workspace:
    return prepared(repository)


@pytest.fixture
def gits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The git processes that are started, by their subcommand."""
    started: list[str] = []
    real: Callable[..., object] = Git._start

    def start(self: Git, args: tuple[str, ...], *, piped: bool) -> object:
        started.append(args[0])
        return real(self, args, piped=piped)

    monkeypatch.setattr(Git, "_start", start)
    return started


def test_a_snapshot_of_an_edit_starts_two_gits_and_its_totals_none(workspace: Workspace, gits: list[str]) -> None:
    for number in range(3):
        (workspace.tree / "calc.py").write_text(f"{number}\n")
        gits.clear()
        snapshot = taken(workspace, "calc.py")
        assert sorted(gits) == ["diff-tree", "update-ref"]
        assert snapshots.totals(workspace, snapshot) == snapshots.Totals(1, 1, 6)
        assert sorted(gits) == ["diff-tree", "update-ref"]


def test_a_look_that_finds_nothing_starts_none(workspace: Workspace, gits: list[str]) -> None:
    assert take(workspace) is None
    assert gits == []


def linked(path: Path, target: str) -> Path:
    path.symlink_to(target)
    return path


def changing(tree: Path) -> list[Callable[[], object]]:
    """Changes of every sort, one after the other."""
    big = "".join(f"line {number}\n" for number in range(50))
    return [
        lambda: (tree / "calc.py").write_text("one\ntwo\n"),
        lambda: (tree / "new.txt").write_text(big),
        lambda: (tree / "new.txt").write_text(big.replace("line 7", "other")),
        lambda: (tree / "README.md").unlink(),
        lambda: (tree / "new.txt").rename(tree / "moved.txt"),
        lambda: (tree / "README.md").write_text("# calc\n\nAdds numbers.\n"),
        lambda: (tree / "img").write_bytes(b"\0\1\2"),
        lambda: (tree / "calc.py").rename(tree / "sums.py"),
        lambda: (tree / "tests" / "test_calc.py").chmod(0o755),
        lambda: os.replace(linked(tree / "link", "img"), tree / "sums.py"),
        lambda: (tree / "moved.txt").unlink(),
        lambda: [(tree / f"many{number}").write_text("x\n") for number in range(150)],
        lambda: subprocess.run(["rm", *(tree / f"many{number}" for number in range(150))], check=True),
    ]


def test_the_totals_kept_along_the_way_are_those_of_a_full_comparison(workspace: Workspace) -> None:
    for change in changing(workspace.tree):
        change()
        snapshot = taken(workspace)
        kept = snapshots.totals(workspace, snapshot)
        full = snapshots.changes(workspace)
        assert kept == snapshots.Totals(full.file_count, full.additions, full.deletions)


def test_the_totals_of_a_new_process_and_of_a_file_over_50_mb(workspace: Workspace) -> None:
    with (workspace.tree / "big.bin").open("wb") as file:
        file.truncate(store.STORED_LIMIT + 1)
    assert snapshots.totals(workspace, taken(workspace)) == snapshots.Totals(1, 0, 0)
    known.memory._known.clear()
    (workspace.tree / "x").write_text("x\n")
    snapshot = taken(workspace)
    assert snapshots.totals(workspace, snapshot) == snapshots.Totals(2, 1, 0)
    assert snapshot.files == [{"path": "x", "status": "added", "additions": 1, "deletions": 0}]


def test_each_snapshot_is_the_tree_that_git_itself_would_make(workspace: Workspace, tmp_path: Path) -> None:
    objects = tmp_path / "objects"
    objects.mkdir()
    env = GIT_ENV | {
        "GIT_INDEX_FILE": str(tmp_path / "index"),
        "GIT_OBJECT_DIRECTORY": str(objects),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(workspace.repository.mirror / "objects"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }
    for change in changing(workspace.tree):
        change()
        snapshot = taken(workspace)
        (tmp_path / "index").unlink(missing_ok=True)
        subprocess.run(["git", "add", "--all"], cwd=workspace.tree, env=env, check=True)
        done = subprocess.run(["git", "write-tree"], cwd=workspace.tree, env=env, check=True, capture_output=True)
        assert done.stdout.decode().strip() == snapshot.tree
        assert git(workspace.repository.store, "rev-parse", f"{snapshot.commit}^{{tree}}") == snapshot.tree


def test_what_a_broken_off_look_saw_is_seen_again(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace.tree / "a.txt").write_text("a" * 600)
    (workspace.tree / "calc.py").write_text("b" * 600)
    for path in ("a.txt", "calc.py"):
        os.utime(workspace.tree / path, ns=(1, 1))
    with monkeypatch.context() as patch:
        patch.setattr(keeping, "STORE_LIMIT", 1000)
        with pytest.raises(StoreError, match="too much"):
            take(workspace)
    taken(workspace)
    assert statuses(workspace) == {"a.txt": "added", "calc.py": "modified"}
    assert list((workspace.repository.store / "objects").glob("tmp_obj_*")) == []


def test_a_ref_that_lost_its_last_move_in_a_crash_is_moved_on(workspace: Workspace) -> None:
    (workspace.tree / "x").write_text("1\n")
    first = taken(workspace)
    (workspace.tree / "x").write_text("2\n")
    taken(workspace)
    git(workspace.repository.store, "update-ref", store.run_ref(workspace), first.commit)
    (workspace.tree / "x").write_text("3\n")
    third = taken(workspace)
    assert git(workspace.repository.store, "rev-parse", store.run_ref(workspace)) == third.commit


def test_the_objects_of_a_snapshot_survive_a_pack_and_a_new_epoch(workspace: Workspace) -> None:
    for number in range(3):
        (workspace.tree / "tests" / "deep").mkdir(exist_ok=True)
        (workspace.tree / "tests" / "deep" / "x").write_text(f"{number}\n")
        taken(workspace)
    snapshots.pack(workspace.repository)
    (workspace.tree / "y").write_text("y\n")
    taken(workspace, "y")
    git(workspace.repository.store, "fsck", "--full", "--strict", "--no-dangling")
    workspace.epoch = 2
    workspace.save()
    snapshots.prepare(workspace)
    assert (workspace.tree / "tests" / "deep" / "x").read_text() == "2\n"
    assert take(workspace) is None


def test_a_base_with_an_empty_folder_in_it_is_changed_by_git(source: Path, repository: Repository) -> None:
    empty = git(source, "mktree")
    blob = git(source, "hash-object", "-w", "calc.py")
    listing = f"100644 blob {blob}\tcalc.py\n040000 tree {empty}\tempty\n"
    done = subprocess.run(["git", "mktree"], cwd=source, env=GIT_ENV, input=listing.encode(), capture_output=True)
    tree = done.stdout.decode().strip()
    git(source, "update-ref", "refs/heads/main", git(source, "commit-tree", tree, "-m", "odd"))
    sources.refresh(repository)
    workspace = prepared(repository)
    (workspace.tree / "calc.py").write_text("changed\n")
    taken(workspace, "calc.py")
    (workspace.tree / "new").write_text("x\n")
    taken(workspace)
    assert statuses(workspace) == {"calc.py": "modified", "new": "added"}


@pytest.mark.django_db(transaction=True)
def test_two_threads_at_one_tree_take_one_snapshot_of_a_change(repository: Repository) -> None:
    workspace = prepared(repository)
    (workspace.tree / "x").write_text("x\n")
    results: list[Snapshot | None] = []
    barrier = threading.Barrier(4)

    def look(number: int) -> None:
        barrier.wait()
        results.append(snapshots.take(workspace, call_id=f"c{number}", step=1, paths=None))

    threads = [threading.Thread(target=look, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([each for each in results if each is not None]) == 1


def test_what_can_not_be_stored_is_named_by_the_latest_snapshot_though_nothing_changed(workspace: Workspace) -> None:
    def left_out() -> tuple[list[str], int]:
        latest = store.latest(workspace)
        assert all("device, FIFO or socket" in row["why"] for row in latest.skipped)
        return [row["path"] for row in latest.skipped], latest.skipped_count

    os.mkfifo(workspace.tree / "pipe")
    assert take(workspace) is None
    assert left_out() == (["pipe"], 1)
    (workspace.tree / "calc.py").write_text("changed\n")
    os.mkfifo(workspace.tree / "tests" / "pipe")
    taken(workspace, "calc.py")
    assert left_out() == (["pipe"], 1)
    taken_nothing = take(workspace, "tests/pipe")
    assert taken_nothing is None
    assert left_out() == (["pipe", "tests/pipe"], 2)
    (workspace.tree / "pipe").unlink()
    assert take(workspace) is None
    assert left_out() == (["tests/pipe"], 1)


def test_more_than_is_listed_is_counted(workspace: Workspace) -> None:
    for number in range(LISTED + 5):
        os.mkfifo(workspace.tree / f"pipe-{number:03}")
    assert take(workspace) is None
    latest = store.latest(workspace)
    assert (len(latest.skipped), latest.skipped_count) == (LISTED, LISTED + 5)


def test_a_tree_laid_out_anew_forgets_what_only_the_old_one_had(workspace: Workspace) -> None:
    os.mkfifo(workspace.tree / "pipe")
    assert take(workspace) is None
    workspace.epoch = 2
    workspace.save()
    snapshots.prepare(workspace)
    assert store.latest(workspace).skipped_count == 0
