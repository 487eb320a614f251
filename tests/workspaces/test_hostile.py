"""Nothing that a tree, a source or the server's environment holds makes our git run a program."""

import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import GIT_ENV, git
from tests.workspaces.places import prepared, statuses, take, taken
from workspaces import putting_back, scanning, snapshots, sources, store
from workspaces.git import Bounds, Git, GitError, GitFull, GitStopped, GitTimeout, make_bare
from workspaces.models import Repository, Workspace

pytestmark = pytest.mark.django_db

Trap = Callable[[str], str]


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """The file that a trap makes when it runs."""
    return tmp_path / "it-ran"


@pytest.fixture
def trap(tmp_path: Path, mark: Path) -> str:
    """A program that leaves a mark, and works as a filter."""
    script = tmp_path / "trap"
    script.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    script.chmod(0o755)
    return str(script)


def set_traps(git_dir: Path, trap: str) -> None:
    """Set every trap that a repository's own configuration can hold."""
    for key in (
        "core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.alternateRefsCommand",
        "diff.external", "diff.evil.command", "diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge",
        "filter.evil.process", "merge.evil.driver", "uploadpack.packObjectsHook", "gpg.program", "credential.helper",
    ):  # fmt: skip
        git(git_dir, "config", "--file", str(git_dir / "config"), key, trap)
    git(git_dir, "config", "--file", str(git_dir / "config"), "filter.evil.required", "true")
    hooks = git_dir / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in (
        "pre-receive", "update", "post-receive", "post-update", "reference-transaction", "post-checkout", "pre-commit",
        "post-index-change", "fsmonitor-watchman", "push-to-checkout", "proc-receive", "pre-push", "pre-auto-gc",
    ):  # fmt: skip
        (hooks / name).unlink(missing_ok=True)
        (hooks / name).symlink_to(trap)


ATTRIBUTES = "* filter=evil diff=evil merge=evil text eol=crlf ident working-tree-encoding=UTF-16 export-subst\n"


def everything(workspace: Workspace) -> None:
    """Do all that reads the tree or its history."""
    number = taken(workspace).number
    snapshots.changes(workspace)
    snapshots.patch(workspace)
    for file in snapshots.changes(workspace).files:
        snapshots.file_diff(workspace, file.path)
        snapshots.revert(workspace, file.path)
    snapshots.align(workspace)
    putting_back.carry_out(workspace, putting_back.planned(workspace, "calc.py", number))
    take(workspace)
    snapshots.commit_branch(workspace, "sakura/1-x", "x", "Ann", "a@example.org")
    snapshots.push(workspace, "sakura/1-x")
    workspace.epoch += 1
    workspace.save()
    snapshots.prepare(workspace)


def test_nothing_of_the_agents_own_git_or_a_nested_one_runs(repository: Repository, trap: str, mark: Path) -> None:
    workspace = prepared(repository)
    set_traps(workspace.tree / ".git", trap)
    nested = workspace.tree / "nested"
    nested.mkdir()
    git(nested, "init", "--quiet")
    git(nested, "commit", "--quiet", "--allow-empty", "-m", "x")
    set_traps(nested / ".git", trap)
    (workspace.tree / ".gitattributes").write_text(ATTRIBUTES)
    (nested / ".gitattributes").write_text(ATTRIBUTES)
    (nested / "file").write_text("x\n")
    (workspace.tree / "calc.py").write_text("changed\n")
    everything(workspace)
    assert not mark.exists()


def test_a_tree_that_names_its_own_config_and_attributes_is_stored_as_bytes(repository: Repository) -> None:
    workspace = prepared(repository)
    (workspace.tree / ".gitattributes").write_text(ATTRIBUTES)
    data = b"$Id$ one\r\ntwo\n\xff\xfe"
    (workspace.tree / "file.txt").write_bytes(data)
    taken(workspace)
    assert snapshots.read(workspace, "file.txt").data == data
    workspace.epoch = 2
    workspace.save()
    snapshots.prepare(workspace)
    assert (workspace.tree / "file.txt").read_bytes() == data


def test_nothing_that_a_local_source_configures_runs(source: Path, trap: str, mark: Path) -> None:
    (source / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "attributes")
    set_traps(source / ".git", trap)
    git(source, "config", "--file", str(source / ".git" / "config"), "core.hooksPath", str(source / ".git" / "hooks"))
    (source / "calc.py").write_text("an uncommitted change\n")
    os.utime(source / "README.md")
    row = Repository.objects.create(name="x", source=str(source))
    sources.mirror(row.pk)
    row.refresh_from_db()
    assert row.status == "ready", row.error
    assert sources.uncommitted(row) >= 1
    sources.refresh(row)
    workspace = prepared(row)
    (workspace.tree / "calc.py").write_text("changed\n")
    everything(workspace)
    assert not mark.exists()


def test_the_traps_of_these_tests_do_catch_plain_git(source: Path, trap: str, mark: Path) -> None:
    set_traps(source / ".git", trap)
    subprocess.run(["git", "status"], cwd=source, env=GIT_ENV, capture_output=True, check=False)
    assert mark.exists()


def test_ext_urls_and_other_helpers_are_not_run(tmp_path: Path, mark: Path) -> None:
    git_dir = make_bare(tmp_path / "x.git")
    for url in (f"ext::touch {mark}", f"ext::sh -c touch% {mark}", "fd::3"):
        with pytest.raises(GitError, match="not allowed"):
            git_dir.run("fetch", "--", url)
        row = Repository.objects.create(name=url, source=url)
        sources.mirror(row.pk)
        row.refresh_from_db()
        assert row.status == "failed"
    assert not mark.exists()


def test_the_servers_environment_does_not_reach_git(
    repository: Repository, trap: str, mark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "evil.config"
    config.write_text(f"[core]\n\tfsmonitor = {trap}\n\tpager = {trap}\n[diff]\n\texternal = {trap}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", str(config))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", trap)
    monkeypatch.setenv("GIT_SSH_COMMAND", trap)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_TRACE", str(mark))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", trap)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "s3cret")
    workspace = prepared(repository)
    (workspace.tree / "calc.py").write_text("changed\n")
    everything(workspace)
    assert not mark.exists()
    seen = Git(None).run("-c", "alias.env=!env", "env").decode()
    assert "s3cret" not in seen
    assert "ANTHROPIC" not in seen


def make_tree(source: Path, entry: str) -> str:
    done = subprocess.run(["git", "mktree"], cwd=source, env=GIT_ENV, input=f"{entry}\n".encode(), capture_output=True)
    return done.stdout.decode().strip()


def test_hostile_paths_in_a_base_are_refused_not_written(source: Path) -> None:
    blob = git(source, "hash-object", "-w", "calc.py")
    root = make_tree(source, f"040000 tree {make_tree(source, f'100644 blob {blob}{chr(9)}config')}{chr(9)}.GIT")
    git(source, "update-ref", "refs/heads/main", git(source, "commit-tree", root, "-m", "evil"))
    row = Repository.objects.create(name="x", source=str(source))
    sources.mirror(row.pk)
    row.refresh_from_db()
    with pytest.raises(GitError, match="invalid path"):
        prepared(row)


def test_a_link_swapped_in_for_a_folder_is_not_followed(repository: Repository, tmp_path: Path) -> None:
    workspace = prepared(repository)
    secret = tmp_path / "outside"
    secret.mkdir()
    (secret / "test_calc.py").write_text("secret\n")
    (workspace.tree / "tests" / "test_calc.py").unlink()
    (workspace.tree / "tests").rmdir()
    (workspace.tree / "tests").symlink_to(secret)
    taken(workspace, "tests/test_calc.py")
    assert statuses(workspace) == {"tests/test_calc.py": "deleted"}
    taken(workspace)
    assert statuses(workspace) == {"tests": "added", "tests/test_calc.py": "deleted"}


def test_a_scan_of_a_tree_that_changes_under_it_reads_nothing_from_outside(
    repository: Repository, tmp_path: Path
) -> None:
    workspace = prepared(repository)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("the secret\n")
    place, stop = workspace.tree / "flip", threading.Event()

    def flip() -> None:
        while not stop.is_set():
            place.mkdir()
            (place / "secret").write_text("plain\n")
            subprocess.run(["rm", "-r", place], check=True)
            place.symlink_to(outside)
            place.unlink()

    thread = threading.Thread(target=flip)
    thread.start()
    deadline = time.monotonic() + 3
    try:
        while time.monotonic() < deadline:
            take(workspace)
    finally:
        stop.set()
        thread.join()
    git_store = store.ensure(repository)
    secret = store.blob_id(11, (b"the secret\n",))
    assert store.blob_sizes(git_store, [secret]) == {}


def test_a_tree_too_deep_is_cut_and_named(repository: Repository) -> None:
    workspace = prepared(repository)
    here = os.getcwd()
    os.chdir(workspace.tree)
    try:
        for _ in range(scanning.DEPTH_LIMIT + 50):
            os.mkdir("d")
            os.chdir("d")
        Path("bottom").write_text("x\n")
    finally:
        os.chdir(here)
    (workspace.tree / "x").write_text("x\n")
    snapshot = taken(workspace)
    assert statuses(workspace) == {"x": "added"}
    assert "folders deep" in snapshot.skipped[0]["why"]


def is_gone(pid: int) -> bool:
    """Whether the process ends within two seconds; one that only waits to be reaped has."""
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False


# --- bounds ------------------------------------------------------------------------------------------


def test_a_git_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    started = time.monotonic()
    pid_file = tmp_path / "pid"
    with pytest.raises(GitTimeout):
        Git(None).run("-c", f"alias.hang=!echo $$ > {pid_file}; sleep 60; true", "hang", timeout_s=1)
    assert time.monotonic() - started < 5
    assert is_gone(int(pid_file.read_text()))


def test_a_git_that_is_stopped_ends_within_a_second() -> None:
    started = time.monotonic()
    with pytest.raises(GitStopped):
        Git(None).run_within(
            Bounds(stop=lambda: time.monotonic() - started > 0.1), "-c", "alias.hang=!sleep 60", "hang"
        )
    assert time.monotonic() - started < 2


def test_a_git_that_says_too_much_is_ended() -> None:
    with pytest.raises(GitFull):
        Git(None).run("-c", "alias.yes=!yes", "yes", limit_bytes=100_000)


def test_a_git_that_fails_says_so_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(GitError) as error:
        make_bare(tmp_path / "x.git").run("cat-file", "blob", "0" * 40)
    assert str(error.value).startswith("git cat-file failed: ")
    assert error.value.args_shown == f"git cat-file blob {'0' * 40}"
    assert error.value.stderr
