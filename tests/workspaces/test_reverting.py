"""Going back: a human's revert in the run store, the agent's own on the tree, and the two brought in line."""

import os
from pathlib import Path

import pytest

from tests.conftest import git
from tests.workspaces.places import prepared, statuses, take, taken
from workspaces import snapshots, sources, store
from workspaces.models import Baseline, Repository, Snapshot, Workspace
from workspaces.putting_back import Baselines, PutBackError, carry_out, planned
from workspaces.sandbox.identity import worker_uid

pytestmark = pytest.mark.django_db

LINES = [f"line {number}\n" for number in range(1, 61)]


@pytest.fixture
def workspace(repository: Repository, source: Path) -> Workspace:
    return prepared(repository)


@pytest.fixture
def long(workspace: Workspace) -> Workspace:
    """Snapshot 1 has a long file; snapshot 2 changed it in three places, without a newline at its end."""
    (workspace.tree / "long.txt").write_text("".join(LINES))
    taken(workspace)
    changed = [*LINES]
    changed[4] = "five\n"
    changed[30:32] = []
    changed[-1] = "the end, without a newline"
    (workspace.tree / "long.txt").write_text("".join(changed))
    taken(workspace)
    return workspace


def put_back(workspace: Workspace, path: str, to: int = 0) -> list[str]:
    """Put a path of the tree back as the tool revert_file does, and return the paths written."""
    return carry_out(workspace, planned(workspace, path, to))


def remember_baselines(workspace: Workspace, *paths: str) -> None:
    """Note what the paths are, as the write door does before it touches them."""
    baselines = Baselines(workspace)
    for path in paths:
        baselines.remember(path)
    baselines.save()


# --- a human's ---------------------------------------------------------------------------------------


def test_a_revert_is_a_new_snapshot_in_the_store_and_leaves_the_tree(workspace: Workspace) -> None:
    (workspace.tree / "calc.py").write_text("changed\n")
    (workspace.tree / "README.md").write_text("changed too\n")
    taken(workspace)
    done = snapshots.revert(workspace, "calc.py", author="Ann")
    assert done.snapshot is not None
    assert (done.snapshot.number, done.snapshot.call_id) == (2, "")
    assert statuses(workspace) == {"README.md": "modified"}
    assert (workspace.tree / "calc.py").read_text() == "changed\n"


def test_a_dry_run_gives_the_exact_tree_and_changes_nothing(workspace: Workspace) -> None:
    (workspace.tree / "calc.py").write_text("changed\n")
    taken(workspace)
    dry = snapshots.revert(workspace, "calc.py", dry_run=True)
    assert dry.snapshot is None
    assert dry.before == b"changed\n"
    assert dry.after is not None
    assert dry.after.startswith(b"def add")
    assert Snapshot.objects.filter(workspace=workspace).count() == 2
    assert snapshots.revert(workspace, "calc.py").tree == dry.tree == store.at(workspace, 0).tree


def test_a_revert_is_undone_by_reverting_to_the_snapshot_before_it(workspace: Workspace) -> None:
    (workspace.tree / "calc.py").write_text("changed\n")
    before = taken(workspace)
    snapshots.revert(workspace, "calc.py")
    assert snapshots.revert(workspace, "calc.py", to=before.number).tree == before.tree


def test_a_new_file_reverted_is_gone_and_a_deleted_one_is_back(workspace: Workspace) -> None:
    (workspace.tree / "new").write_bytes(b"\x00\xff")
    (workspace.tree / "calc.py").unlink()
    taken(workspace)
    snapshots.revert(workspace, "new")
    snapshots.revert(workspace, "calc.py")
    assert statuses(workspace) == {}


def test_a_mode_or_a_link_is_reverted(workspace: Workspace) -> None:
    (workspace.tree / "calc.py").chmod(0o755)
    (workspace.tree / "README.md").unlink()
    (workspace.tree / "README.md").symlink_to("calc.py")
    taken(workspace)
    snapshots.revert(workspace, "calc.py")
    snapshots.revert(workspace, "README.md")
    assert statuses(workspace) == {}


def test_reverting_a_renamed_file_removes_the_new_path_and_brings_the_old_one_back(workspace: Workspace) -> None:
    (workspace.tree / "calc.py").rename(workspace.tree / "sums.py")
    taken(workspace)
    snapshots.revert(workspace, "sums.py")
    assert statuses(workspace) == {}


def test_one_hunk_is_taken_back_and_the_others_stay(long: Workspace) -> None:
    first, second, third = snapshots.file_diff(long, "long.txt", 1).hunks
    done = snapshots.revert(long, "long.txt", 1, [second.id])
    assert [hunk.id for hunk in snapshots.file_diff(long, "long.txt", 1).hunks] == [first.id, third.id]
    assert done.after is not None
    assert done.after.decode().splitlines(keepends=True) == [
        *LINES[:4],
        "five\n",
        *LINES[5:-1],
        "the end, without a newline",
    ]


def test_all_hunks_taken_back_give_the_very_bytes(long: Workspace) -> None:
    hunks = [hunk.id for hunk in snapshots.file_diff(long, "long.txt", 1).hunks]
    assert snapshots.revert(long, "long.txt", 1, hunks).tree == store.at(long, 1).tree


def test_equal_changes_in_two_places_have_ids_of_their_own(workspace: Workspace) -> None:
    block = [*LINES[:20], "same\n"]
    (workspace.tree / "twice").write_text("".join(block * 2))
    taken(workspace)
    (workspace.tree / "twice").write_text("".join(block * 2).replace("same", "other"))
    taken(workspace)
    first, second = snapshots.file_diff(workspace, "twice", 1).hunks
    assert first.id != second.id
    done = snapshots.revert(workspace, "twice", 1, [second.id])
    assert done.after == ("".join([*LINES[:20], "other\n", *block])).encode()


def test_a_hunk_of_a_file_without_a_final_newline_and_with_odd_line_ends(workspace: Workspace) -> None:
    old = b"a\r\nb\xff\rc\n\n\n\n\n\n\n\n\n\nend"
    new = b"a\r\nB\xff\rc\n\n\n\n\n\n\n\n\n\nend\n"
    (workspace.tree / "odd").write_bytes(old)
    taken(workspace)
    (workspace.tree / "odd").write_bytes(new)
    taken(workspace)
    _, last = snapshots.file_diff(workspace, "odd", 1).hunks
    assert snapshots.revert(workspace, "odd", 1, [last.id]).after == new[:-1]


def test_lines_that_look_like_a_diff_do_not_mislead(workspace: Workspace) -> None:
    (workspace.tree / "d").write_text("-- a/x\n@@ -1 +1 @@\n\\ No newline\n")
    taken(workspace)
    (workspace.tree / "d").write_text("++ b/x\n@@ -9 +9 @@\n\\ No newline at end of file\n")
    taken(workspace)
    (hunk,) = snapshots.file_diff(workspace, "d", 1).hunks
    assert [line.kind + line.text for line in hunk.lines] == [
        "--- a/x", "-@@ -1 +1 @@", "-\\ No newline", "+++ b/x", "+@@ -9 +9 @@", "+\\ No newline at end of file",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "hunks", "code"),
    [
        ("no/such", None, "NOT_FOUND"),
        ("calc.py", ["0123"], "UNKNOWN_HUNK"),
        ("image", ["0123"], "BINARY_FILE"),
        ("calc.py", [], "INVALID_INPUT"),
    ],
)
def test_what_can_not_be_reverted_says_why(workspace: Workspace, path: str, hunks: list[str] | None, code: str) -> None:
    (workspace.tree / "calc.py").write_text("changed\n")
    (workspace.tree / "image").write_bytes(b"\x00\x01")
    taken(workspace)
    with pytest.raises(snapshots.RevertError) as error:
        snapshots.revert(workspace, path, 0, hunks)
    assert error.value.code == code


def test_a_file_that_became_a_folder_is_not_reverted_over_its_files(workspace: Workspace) -> None:
    (workspace.tree / "calc.py").unlink()
    (workspace.tree / "calc.py").mkdir()
    (workspace.tree / "calc.py" / "precious").write_text("x\n")
    taken(workspace)
    with pytest.raises(snapshots.RevertError, match=r"calc\.py/precious"):
        snapshots.revert(workspace, "calc.py")


# --- brought in line ---------------------------------------------------------------------------------


def test_align_brings_a_humans_revert_to_the_tree_and_nothing_else(workspace: Workspace) -> None:
    tree = workspace.tree
    (tree / "calc.py").rename(tree / "sums.py")
    (tree / "tests" / "test_calc.py").unlink()
    (tree / "tests").rmdir()
    taken(workspace)
    snapshots.revert(workspace, "sums.py")
    snapshots.revert(workspace, "tests/test_calc.py")
    (tree / "not_yet_seen").write_text("by a command that was cut off\n")
    assert snapshots.align(workspace) == ["calc.py", "sums.py", "tests/test_calc.py"]
    assert snapshots.align(workspace) == []
    assert not (tree / "sums.py").exists()
    taken(workspace)
    assert statuses(workspace) == {"not_yet_seen": "added"}


def test_align_never_writes_through_a_link(workspace: Workspace, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    tree = workspace.tree
    (tree / "tests" / "test_calc.py").unlink()
    (tree / "tests").rmdir()
    taken(workspace)
    snapshots.revert(workspace, "tests/test_calc.py")
    (tree / "tests").symlink_to(outside)
    with pytest.raises(snapshots.TreeError, match="no folder"):
        snapshots.align(workspace)
    assert list(outside.iterdir()) == []


def test_prepare_lays_a_new_epoch_out_at_the_latest_snapshot(workspace: Workspace) -> None:
    (workspace.tree / "calc.py").write_text("changed\n")
    taken(workspace)
    workspace.epoch = 2
    workspace.save()
    snapshots.prepare(workspace)
    assert (workspace.tree / "calc.py").read_text() == "changed\n"
    assert take(workspace) is None


# --- the agent's own ---------------------------------------------------------------------------------


def test_put_back_restores_content_mode_link_and_absence(workspace: Workspace) -> None:
    tree = workspace.tree
    (tree / "calc.py").unlink()
    (tree / "calc.py").symlink_to("/etc/passwd")
    (tree / "README.md").chmod(0o755)
    (tree / "new").write_text("x\n")
    (tree / "tests" / "test_calc.py").unlink()
    (tree / "tests").rmdir()
    taken(workspace)
    for path in ("calc.py", "README.md", "new", "tests/test_calc.py"):
        assert put_back(workspace, path) == [path]
    taken(workspace)
    assert statuses(workspace) == {}
    assert not (tree / "calc.py").is_symlink()


def test_put_back_goes_to_any_snapshot(workspace: Workspace) -> None:
    path = workspace.tree / "calc.py"
    for text in ("one\n", "two\n"):
        path.write_text(text)
        taken(workspace)
    put_back(workspace, "calc.py", 1)
    assert path.read_text() == "one\n"


def test_put_back_of_a_renamed_file_undoes_the_rename(workspace: Workspace) -> None:
    (workspace.tree / "calc.py").rename(workspace.tree / "sums.py")
    taken(workspace)
    assert put_back(workspace, "sums.py") == ["calc.py", "sums.py"]
    assert not (workspace.tree / "sums.py").exists()


def test_an_ignored_file_that_was_touched_goes_back_to_its_first_bytes(source: Path, repository: Repository) -> None:
    (source / ".gitignore").write_text("*.env\n")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "rules")
    assert sources.refresh(repository)
    workspace = prepared(repository)
    secret, fresh = workspace.tree / "a.env", workspace.tree / "b.env"
    secret.write_bytes(b"\xffFIRST\n")
    remember_baselines(workspace, "a.env", "b.env")
    remember_baselines(workspace, "a.env")
    secret.write_text("second\n")
    fresh.write_text("new\n")
    put_back(workspace, "a.env")
    put_back(workspace, "b.env")
    assert secret.read_bytes() == b"\xffFIRST\n"
    assert not fresh.exists()
    assert dict(Baseline.objects.values_list("path", "kind")) == {"a.env": "file", "b.env": "absent"}


def test_baseline_rows_say_what_a_touched_file_was(workspace: Workspace) -> None:
    remember_baselines(workspace, "calc.py", "new.py")
    rows = {row.path: row for row in Baseline.objects.all()}
    assert (rows["calc.py"].kind, rows["calc.py"].mode, rows["calc.py"].ignored) == ("file", "100644", False)
    assert rows["calc.py"].size == (workspace.tree / "calc.py").stat().st_size
    assert rows["new.py"].kind == "absent"


def test_put_back_over_a_folder_says_what_would_be_lost(workspace: Workspace) -> None:
    place = workspace.tree / "calc.py"
    place.unlink()
    (place / "deep").mkdir(parents=True)
    (place / "deep" / "precious").write_text("x\n")
    with pytest.raises(PutBackError, match=r"calc\.py/deep/precious"):
        put_back(workspace, "calc.py")
    (place / "deep" / "precious").unlink()
    put_back(workspace, "calc.py")
    assert place.is_file()


def test_nothing_to_go_back_to_is_said(workspace: Workspace) -> None:
    for path, to in (("never/was", 0), ("calc.py", 99)):
        with pytest.raises(PutBackError) as error:
            put_back(workspace, path, to)
        assert error.value.code == "NO_BASELINE"


def test_put_back_never_writes_through_a_link(workspace: Workspace, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (workspace.tree / "tests" / "test_calc.py").unlink()
    (workspace.tree / "tests").rmdir()
    (workspace.tree / "tests").symlink_to(outside)
    with pytest.raises(PutBackError):
        put_back(workspace, "tests/test_calc.py")
    assert list(outside.iterdir()) == []


def test_what_is_put_back_belongs_to_the_runs_user(workspace: Workspace) -> None:
    uid = (workspace.tree / "calc.py").stat().st_uid
    assert uid == worker_uid(workspace.pk) if os.geteuid() == 0 else os.geteuid()
    (workspace.tree / "calc.py").unlink()
    put_back(workspace, "calc.py")
    assert (workspace.tree / "calc.py").stat().st_uid == uid
