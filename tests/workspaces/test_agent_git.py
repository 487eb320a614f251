"""The agent's own repository in its tree, as a command inside the sandbox meets it."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import GIT_ENV, git
from tests.workspaces.places import prepared, taken
from workspaces import snapshots
from workspaces.models import Repository, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(repository: Repository, source: Path) -> Workspace:
    return prepared(repository)


def inside(workspace: Workspace, *args: str) -> str:
    """Run git in the tree with the mirror's objects in reach, as the sandbox mounts them."""
    objects = workspace.repository.mirror / "objects"
    env = GIT_ENV | {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }
    done = subprocess.run(["git", *args], cwd=workspace.tree, env=env, capture_output=True, check=True, text=True)
    return done.stdout


def test_it_stands_on_its_branch_at_the_base_and_is_clean(workspace: Workspace) -> None:
    assert inside(workspace, "status", "--porcelain=v2", "--branch").splitlines() == [
        f"# branch.oid {workspace.base_commit}",
        "# branch.head sakura/work",
    ]
    assert "First" in inside(workspace, "log", "--oneline")


def test_no_file_needs_to_be_read_for_a_status_even_with_another_owner(workspace: Workspace) -> None:
    if os.geteuid() == 0:  # as in the user namespace of the sandbox, where the owner's number is another
        for path in workspace.tree.rglob("*"):
            os.chown(path, 61555, 61555, follow_symlinks=False)
    assert inside(workspace, "diff-files", "--name-only") == ""


def test_a_change_right_after_it_was_laid_out_is_seen(workspace: Workspace) -> None:
    path = workspace.tree / "calc.py"
    path.write_text(path.read_text().replace("a - b", "a + b"))
    assert inside(workspace, "status", "--porcelain") == " M calc.py\n"


def test_the_agent_can_commit_and_the_snapshots_do_not_care(workspace: Workspace) -> None:
    (workspace.tree / "new").write_text("x\n")
    inside(workspace, "add", "--all")
    inside(workspace, "commit", "--quiet", "-m", "agent's own")
    taken(workspace)
    assert [file.path for file in snapshots.changes(workspace).files] == ["new"]


def test_the_objects_are_named_by_a_path_that_exists_only_in_the_sandbox(workspace: Workspace) -> None:
    alternates = workspace.tree / ".git" / "objects" / "info" / "alternates"
    assert alternates.read_text() == f"{snapshots.AGENT_OBJECTS}\n"


def test_a_tree_laid_out_at_a_later_snapshot_shows_its_changes_against_the_base(workspace: Workspace) -> None:
    (workspace.tree / "calc.py").write_text("changed\n")
    taken(workspace)
    workspace.epoch = 2
    workspace.save()
    snapshots.prepare(workspace)
    assert inside(workspace, "status", "--porcelain") == " M calc.py\n"


def test_the_mirrors_objects_can_be_read_by_others_and_the_run_store_can_not(workspace: Workspace) -> None:
    repository = workspace.repository
    for path in (repository.mirror / "objects").rglob("*"):
        assert path.stat().st_mode & (0o005 if path.is_dir() else 0o004)
    assert repository.store.stat().st_mode & 0o077 == 0


def test_a_prepare_that_broke_off_is_made_anew(workspace: Workspace, source: Path) -> None:
    half = workspace.tree.with_name("tree.new")
    half.mkdir()
    (half / "rubbish").symlink_to("/etc")
    (workspace.tree / "calc.py").unlink()
    snapshots.prepare(workspace)
    assert not half.exists()
    assert (workspace.tree / "calc.py").read_text() == (source / "calc.py").read_text()
    assert git(source, "status", "--porcelain") == ""
