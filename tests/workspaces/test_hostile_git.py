"""Each trap that plain git runs into, Sakura's own git passes by: in a source, in an agent's `.git`, in its tree."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import git
from tests.workspaces.places import mirrored, prepared
from tests.workspaces.traps import TRAPS, Snare, Trap, everything, snare
from workspaces import sources, tidying

pytestmark = pytest.mark.django_db


@pytest.fixture
def laid(tmp_path: Path) -> Snare:
    return snare(tmp_path / "snare")


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)
def test_what_plain_git_runs_sakuras_does_not(trap: Trap, source: Path, laid: Snare, tmp_path: Path) -> None:
    if trap.files:
        laid.lay(Trap(trap.name, "", files=tuple(each for each in trap.files if "/.git" not in each[0])), source)
        git(source, "add", "--all")
        git(source, "commit", "--quiet", "--allow-empty", "-m", "files")
    laid.lay(trap, source)
    control = shutil.copytree(source, tmp_path / "control", symlinks=True)
    assert laid.sprung_by(trap.spring, control), "plain git runs it"

    (source / "calc.py").write_text("an uncommitted change\n")
    row = mirrored(source)
    assert sources.uncommitted(row) >= 1
    assert sources.refresh(row), row.error
    workspace = prepared(row)
    laid.lay(trap, workspace.tree)
    (workspace.tree / "calc.py").write_text("changed\n")
    everything(workspace)
    tidying.forget_tree(workspace)
    sources.delete(row)
    assert not laid.mark.exists()
    assert git(source, "branch", "--list", "sakura/1-x"), "it was pushed"
