"""An implementer at a prepared workspace."""

from pathlib import Path

import pytest

from tests.agents.tools.bench import Bench
from tests.conftest import git
from workspaces import snapshots, sources
from workspaces.models import Repository, Workspace


def prepared(repository: Repository) -> Workspace:
    row = Workspace.objects.create(
        pk=1, repository=repository, base_name="main", base_commit=sources.resolve(repository, "main"), epoch=1
    )
    snapshots.prepare(row)
    return row


@pytest.fixture
def workspace(repository: Repository) -> Workspace:
    return prepared(repository)


@pytest.fixture
def ignoring(source: Path, repository: Repository) -> Bench:
    """An implementer at a workspace whose baseline ignores `*.log` and `*.db`."""
    (source / ".gitignore").write_text("*.log\n*.db\n")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "rules")
    sources.refresh(repository)
    return Bench(prepared(repository))


@pytest.fixture
def bench(workspace: Workspace) -> Bench:
    return Bench(workspace)
