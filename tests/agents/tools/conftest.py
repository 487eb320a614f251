"""An implementer at a prepared workspace."""

import pytest

from tests.agents.tools.bench import Bench
from workspaces import snapshots, sources
from workspaces.models import Repository, Workspace


@pytest.fixture
def workspace(repository: Repository) -> Workspace:
    row = Workspace.objects.create(
        pk=1, repository=repository, base_name="main", base_commit=sources.resolve(repository, "main"), epoch=1
    )
    snapshots.prepare(row)
    return row


@pytest.fixture
def bench(workspace: Workspace) -> Bench:
    return Bench(workspace)
