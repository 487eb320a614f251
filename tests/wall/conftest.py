"""A run to attack from."""

import os

import pytest

from tests.agents.tools.bench import Bench
from workspaces import snapshots, sources
from workspaces.models import Repository, Workspace
from workspaces.sandbox import probe


@pytest.fixture
def attacker(repository: Repository) -> Bench:
    """An implementer at a run whose user no other test shares: an attack's control may end all of its processes."""
    if probe().level != "full":
        pytest.skip(f"no sandbox here: {probe().reasons}")
    row = Workspace.objects.create(
        pk=440 + os.getpid() % 37,
        repository=repository,
        base_name="main",
        base_commit=sources.resolve(repository, "main"),
        epoch=1,
    )
    snapshots.prepare(row)
    return Bench(row)
