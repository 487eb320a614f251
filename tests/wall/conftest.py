"""A run to attack from."""

import os
import shutil
from pathlib import Path

import pytest

from tests.agents.tools.bench import Bench
from tests.conftest import git
from workspaces import snapshots, sources
from workspaces.models import Repository, Workspace
from workspaces.sandbox import probe


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep a source, and its mirror once it was made: so many attacks begin with them."""
    folder = tmp_path_factory.mktemp("shelf")
    source = folder / "source"
    source.mkdir()
    (source / "README.md").write_text("# calc\n\nAdds numbers.\n")
    (source / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    git(source, "init", "--quiet", "--initial-branch=main")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "First")
    return folder


@pytest.fixture
def repository(db: None, shelf: Path) -> Repository:
    row = Repository.objects.create(name="calc", source=str(shelf / "source"))
    if (shelf / "mirror.git").exists():
        shutil.copytree(shelf / "mirror.git", row.mirror)
        Repository.objects.filter(pk=row.pk).update(status=Repository.Status.READY, default_branch="main")
    else:
        sources.mirror(row.pk)
        shutil.copytree(row.mirror, shelf / "mirror.git")
    row.refresh_from_db()
    assert row.status == Repository.Status.READY, row.error
    return row


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
