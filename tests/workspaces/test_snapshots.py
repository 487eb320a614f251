"""Taking snapshots of a real tree, whatever a run did to it."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import GIT_ENV, git
from tests.workspaces.places import prepared, statuses, take, taken
from workspaces import scanning, snapshots, sources, store
from workspaces.models import Repository, Snapshot, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(repository: Repository) -> Workspace:
    return prepared(repository)


def test_a_prepared_tree_is_the_base_and_snapshot_0_its_tree(workspace: Workspace, source: Path) -> None:
    assert (workspace.tree / "calc.py").read_bytes() == (source / "calc.py").read_bytes()
    assert Snapshot.objects.get(workspace=workspace).tree == git(source, "rev-parse", "HEAD^{tree}")


def test_an_untouched_tree_gives_no_snapshot(workspace: Workspace) -> None:
    assert take(workspace) is None


def test_a_full_scan_finds_new_changed_and_deleted_files(workspace: Workspace) -> None:
    (workspace.tree / "calc.py").write_text("changed\n")
    (workspace.tree / "new.txt").write_text("new\n")
    (workspace.tree / "README.md").unlink()
    snapshot = taken(workspace)
    assert snapshot.number == 1
    assert statuses(workspace) == {"README.md": "deleted", "calc.py": "modified", "new.txt": "added"}


def test_a_file_tools_snapshot_takes_only_the_path_it_touched(workspace: Workspace) -> None:
    (workspace.tree / "calc.py").write_text("changed\n")
    (workspace.tree / "other.txt").write_text("by somebody else\n")
    taken(workspace, "calc.py")
    assert statuses(workspace) == {"calc.py": "modified"}
    taken(workspace)
    assert statuses(workspace, 1) == {"other.txt": "added"}


def test_a_file_that_was_checked_out_or_read_is_not_read_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr("workspaces.scanning.Scan._look", refuse)
    assert take(workspace) is None


def test_a_change_of_the_same_size_right_after_a_snapshot_is_seen(workspace: Workspace) -> None:
    path = workspace.tree / "calc.py"
    path.write_text("aaaa\n")
    times = path.stat()
    taken(workspace)
    path.write_text("bbbb\n")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    taken(workspace)
    assert snapshots.read(workspace, "calc.py").data == b"bbbb\n"


def test_names_of_every_sort_come_through(workspace: Workspace) -> None:
    names = [b"a b/ b/c d", b"new\nline", "née/日本".encode(), b"raw\xff\xfe", b"-x", b'quo"te', b":(top)x", b"a*?[b]"]
    for name in names:
        place = os.path.join(os.fsencode(workspace.tree), name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        Path(os.fsdecode(place)).write_bytes(name)
    taken(workspace)
    files = snapshots.changes(workspace).files
    assert {file.path for file in files} == {
        "a b/ b/c d",
        "new\nline",
        "née/日本",
        "raw\\xff\\xfe",
        "-x",
        'quo"te',
        ":(top)x",
        "a*?[b]",
    }
    for file in files:
        assert snapshots.read(workspace, file.path).data in names
        assert snapshots.file_diff(workspace, file.path).hunks
        snapshots.revert(workspace, file.path)
    assert statuses(workspace) == {}


def test_a_name_that_looks_like_an_escape_is_itself(workspace: Workspace) -> None:
    (workspace.tree / "lit\\xff").write_text("one\n")
    taken(workspace)
    assert snapshots.read(workspace, "lit\\xff").data == b"one\n"
    assert snapshots.file_diff(workspace, "lit\\xff").hunks


def test_links_modes_and_types_are_kept(workspace: Workspace) -> None:
    (workspace.tree / "calc.py").chmod(0o755)
    (workspace.tree / "README.md").unlink()
    (workspace.tree / "README.md").symlink_to("/etc/passwd")
    (workspace.tree / "to_folder").symlink_to("tests")
    taken(workspace)
    by_path = {file.path: file for file in snapshots.changes(workspace).files}
    assert (by_path["calc.py"].old_mode, by_path["calc.py"].new_mode) == ("100644", "100755")
    assert (by_path["README.md"].status, by_path["README.md"].new_mode) == ("type", "120000")
    assert snapshots.read(workspace, "README.md").data == b"/etc/passwd"
    assert by_path["to_folder"].new_mode == "120000"


def test_a_file_swapped_for_a_folder_and_back(workspace: Workspace) -> None:
    path = workspace.tree / "calc.py"
    path.unlink()
    path.mkdir()
    (path / "inner").write_text("x\n")
    taken(workspace)
    assert statuses(workspace) == {"calc.py": "deleted", "calc.py/inner": "added"}
    (path / "inner").unlink()
    path.rmdir()
    path.write_text("again\n")
    taken(workspace)
    assert statuses(workspace) == {"calc.py": "modified"}


def test_a_folder_replaced_by_a_file_through_a_file_tool(workspace: Workspace) -> None:
    subprocess.run(["rm", "-r", workspace.tree / "tests"], check=True)
    (workspace.tree / "tests").write_text("a file\n")
    taken(workspace, "tests")
    assert statuses(workspace) == {"tests": "added", "tests/test_calc.py": "deleted"}


def test_a_fifo_is_skipped_and_named(workspace: Workspace) -> None:
    os.mkfifo(workspace.tree / "pipe")
    (workspace.tree / "x").write_text("x\n")
    snapshot = taken(workspace)
    assert statuses(workspace) == {"x": "added"}
    assert snapshot.skipped == [{"path": "pipe", "why": "it is a device, FIFO or socket"}]


def test_a_nested_repository_is_walked_as_plain_files(workspace: Workspace) -> None:
    nested = workspace.tree / "vendored"
    nested.mkdir()
    git(nested, "init", "--quiet")
    (nested / "lib.py").write_text("x = 1\n")
    git(nested, "add", "--all")
    git(nested, "commit", "--quiet", "-m", "x")
    (nested / ".GIT").mkdir()
    (nested / ".GIT" / "config").write_text("evil\n")
    taken(workspace)
    assert statuses(workspace) == {"vendored/lib.py": "added"}


def test_a_name_that_may_pass_for_dot_git_is_skipped_and_named(workspace: Workspace) -> None:
    for name in ("git~1", ".git ", ".g\u200cit"):
        (workspace.tree / name).write_text("x\n")
    (workspace.tree / ".gitmodules").symlink_to("README.md")
    (workspace.tree / "x").write_text("x\n")
    snapshot = taken(workspace)
    assert statuses(workspace) == {"x": "added"}
    assert sorted(each["path"] for each in snapshot.skipped) == sorted(["git~1", ".git ", ".g\u200cit", ".gitmodules"])


def test_a_file_over_50_mb_is_recorded_and_not_stored(workspace: Workspace) -> None:
    big = workspace.tree / "big.bin"
    with big.open("wb") as file:
        file.truncate(store.STORED_LIMIT + 1)
    taken(workspace)
    (file_change,) = snapshots.changes(workspace).files
    assert (file_change.size_new, file_change.stored, file_change.binary) == (store.STORED_LIMIT + 1, False, True)
    assert snapshots.read(workspace, "big.bin").size == store.STORED_LIMIT + 1
    assert take(workspace) is None
    with pytest.raises(sources.SourceError, match="over 50 MB"):
        snapshots.commit_branch(workspace, "sakura/1", "x", "Ann", "a@example.org")
    assert b"Left out, over 50 MB" in snapshots.patch(workspace)


def test_a_snapshot_can_be_taken_again_after_its_transaction_was_rolled_back(workspace: Workspace) -> None:
    (workspace.tree / "x").write_text("x\n")
    taken(workspace).delete()
    assert taken(workspace).number == 1


def test_of_two_writers_the_second_is_told(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    stale = store.latest(workspace)
    (workspace.tree / "x").write_text("x\n")
    taken(workspace)
    (workspace.tree / "y").write_text("y\n")
    monkeypatch.setattr(store, "latest", lambda _: stale)
    with pytest.raises(snapshots.StoreError, match="in the meantime"):
        snapshots.take(workspace, call_id="late", step=2, paths=None)


# --- what is ignored ---------------------------------------------------------------------------------


@pytest.fixture
def ignoring(source: Path) -> None:
    """The source has rules, and a file that is tracked although they ignore it."""
    (source / ".gitignore").write_text("build/\n*.log\n/only_here\nkeep/*\n!keep/this\n")
    (source / "build").mkdir()
    (source / "build" / "tracked.txt").write_text("tracked\n")
    git(source, "add", "--all", "--force")
    git(source, "commit", "--quiet", "-m", "rules")


@pytest.mark.usefixtures("ignoring")
def test_ignored_means_ignored_by_the_baselines_rules(repository: Repository) -> None:
    workspace = prepared(repository)
    for name in ("build/out.o", "a.log", "sub/b.log", "only_here", "sub/only_here", "keep/this", "keep/that"):
        (workspace.tree / name).parent.mkdir(exist_ok=True)
        (workspace.tree / name).write_text("x\n")
    (workspace.tree / "build" / "tracked.txt").write_text("changed\n")
    taken(workspace)
    assert statuses(workspace) == {"build/tracked.txt": "modified", "keep/this": "added", "sub/only_here": "added"}


@pytest.mark.usefixtures("ignoring")
def test_what_only_a_new_rule_would_hide_is_stored_and_marked(repository: Repository) -> None:
    workspace = prepared(repository)
    (workspace.tree / ".gitignore").write_text("*.py\n")
    (workspace.tree / "evil.py").write_text("x\n")
    (workspace.tree / "plain.txt").write_text("x\n")
    (workspace.tree / "a.log").write_text("still ignored by the baseline\n")
    snapshot = taken(workspace)
    assert snapshot.hidden == ["evil.py"]
    assert {file.path: file.hidden for file in snapshots.changes(workspace).files} == {
        ".gitignore": False, "evil.py": True, "plain.txt": False,
    }  # fmt: skip


@pytest.mark.usefixtures("ignoring")
def test_a_tracked_file_that_rules_ignore_is_seen_again_after_it_was_away(repository: Repository) -> None:
    workspace = prepared(repository)
    place = workspace.tree / "build" / "tracked.txt"
    place.unlink()
    taken(workspace)
    assert statuses(workspace) == {"build/tracked.txt": "deleted"}
    place.write_text("back\n")
    taken(workspace)
    assert statuses(workspace) == {"build/tracked.txt": "modified"}


@pytest.mark.usefixtures("ignoring")
def test_a_file_tools_touch_of_an_ignored_file_gives_no_snapshot(repository: Repository) -> None:
    workspace = prepared(repository)
    (workspace.tree / "a.log").write_text("x\n")
    assert take(workspace, "a.log") is None


@pytest.mark.usefixtures("ignoring")
def test_a_huge_ignored_folder_is_not_read_beyond_a_first_look(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "AHEAD", 5)
    monkeypatch.setattr(scanning, "ENTRY_LIMIT", 40)
    workspace = prepared(repository)
    for folder in ("sub/build/deep", "sub/src/a", "sub/src/b"):
        (workspace.tree / folder).mkdir(parents=True)
    for number in range(100):
        (workspace.tree / "sub" / "build" / "deep" / f"{number}.o").touch()
    for number in range(10):
        (workspace.tree / "sub" / "src" / "b" / f"{number}.c").touch()
    taken(workspace)
    assert set(statuses(workspace)) == {f"sub/src/b/{number}.c" for number in range(10)}
    assert take(workspace) is None


def test_more_files_than_a_workspace_may_have_are_refused_in_a_sentence(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "ENTRY_LIMIT", 5)
    for number in range(10):
        (workspace.tree / str(number)).touch()
    with pytest.raises(snapshots.StoreError, match="more than 5 files"):
        take(workspace)


# --- the patch, the branch ---------------------------------------------------------------------------


def test_the_patch_applies_and_gives_the_very_tree(workspace: Workspace, source: Path) -> None:
    tree = workspace.tree
    (tree / "calc.py").rename(tree / "moved calc.py")
    (tree / "README.md").write_bytes(b"no newline, \xff\xfe, CR\r\n\x00")
    (tree / "tests" / "test_calc.py").chmod(0o755)
    (tree / "link").symlink_to("calc.py")
    (tree / "empty").touch()
    (tree / "tab\tname ü").write_bytes(b"\r\n" * 3 + b"end")
    snapshot = taken(workspace)
    subprocess.run(
        ["git", "apply", "--index", "-"], cwd=source, env=GIT_ENV, input=snapshots.patch(workspace), check=True
    )
    assert git(source, "write-tree") == snapshot.tree


def test_a_rename_is_one_change(workspace: Workspace) -> None:
    (workspace.tree / "calc.py").rename(workspace.tree / "sums.py")
    taken(workspace)
    (file,) = snapshots.changes(workspace).files
    assert (file.status, file.old_path, file.path) == ("renamed", "calc.py", "sums.py")


def test_the_branch_is_one_commit_on_the_base_by_its_author(workspace: Workspace) -> None:
    (workspace.tree / "x").write_text("x\n")
    snapshot = taken(workspace)
    commit = snapshots.commit_branch(workspace, "sakura/1-x", "Title\n\nBody\n", "Ann", "ann@example.org")
    shown = git(workspace.repository.store, "log", "-1", "--format=%P %T %an %ae %s", commit).split(" ", 2)
    assert shown == [workspace.base_commit, snapshot.tree, "Ann ann@example.org Title"]


def test_packing_loses_nothing(workspace: Workspace) -> None:
    (workspace.tree / "x").write_text("x\n")
    taken(workspace)
    kept = store.write_blob(workspace.repository.store, b"only a baseline row knows this")
    snapshots.pack(workspace.repository)
    assert snapshots.read(workspace, "x").data == b"x\n"
    assert store.read_blob(store.ensure(workspace.repository), kept) == b"only a baseline row knows this"


def test_entries_lists_folders_first(workspace: Workspace) -> None:
    assert [(entry.name, entry.kind) for entry in snapshots.entries(workspace)] == [
        ("tests", "dir"), ("calc.py", "file"), ("README.md", "file"),
    ]  # fmt: skip
    assert [entry.path for entry in snapshots.entries(workspace, path="tests")] == ["tests/test_calc.py"]
    with pytest.raises(FileNotFoundError):
        snapshots.entries(workspace, path="../..")


def test_a_read_is_cut_at_its_limit(workspace: Workspace) -> None:
    blob = snapshots.read(workspace, "calc.py", limit_bytes=5)
    assert (blob.data, blob.truncated) == (b"def a", True)
    with pytest.raises(FileNotFoundError):
        snapshots.read(workspace, "tests")
