"""Who calls the API in these tests, and the run that they call it about."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.models import ApiToken, Role, Run
from tests.conftest import git, person
from workspaces import snapshots

JSON = "application/json"


class Caller:
    """Someone with a token; answers come as Django's test client gives them."""

    def __init__(self, user: User) -> None:
        self.user = user
        _, secret = ApiToken.make(user, "test")
        self.client = Client(headers={"Authorization": f"Bearer {secret}"})

    def get(self, address: str, /, **query: Any) -> Any:
        return self.client.get(f"/api/v1{address}", query)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.client.post(f"/api/v1{path}", body, content_type=JSON, headers=headers)

    def delete(self, path: str) -> Any:
        return self.client.delete(f"/api/v1{path}")


@pytest.fixture
def viewer(db: None) -> Caller:
    return Caller(person("vera", Role.VIEWER))


@pytest.fixture
def operator(db: None) -> Caller:
    return Caller(person("olga", Role.OPERATOR))


@pytest.fixture
def reviewer(db: None) -> Caller:
    return Caller(person("rosa", Role.REVIEWER))


@pytest.fixture
def admin(db: None) -> Caller:
    return Caller(person("ada", Role.ADMIN))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A source with one commit."""
    folder = tmp_path / "source"
    (folder / ".sakura").mkdir(parents=True)
    (folder / "poem.txt").write_text("".join(f"line {number}\n" for number in range(1, 31)))
    (folder / "old.txt").write_text("to be deleted\n")
    (folder / ".sakura" / "SAKURA.md").write_text("# How we work\n")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "First")
    return folder


@pytest.fixture
def run(launch: Callable[..., Run], operator: Caller) -> Run:
    """A queued run."""
    return launch({"implementer": []}, operator.user, title="Make it rhyme", prompt="Make the poem rhyme.")


@pytest.fixture
def changed(run: Run) -> Run:
    """A run that was worked on: one file edited at two places, one added, one deleted; it waits for a human."""
    workspace = run.place
    workspace.epoch = 1
    workspace.save()
    snapshots.prepare(workspace)
    poem = workspace.tree / "poem.txt"
    poem.write_text(poem.read_text().replace("line 2\n", "line two\n").replace("line 28\n", "line twenty-eight\n"))
    _take(run, "call-1", ["poem.txt"])
    (workspace.tree / "new.txt").write_text("new\n")
    (workspace.tree / "old.txt").unlink()
    _take(run, "call-2", None)
    Run.objects.filter(pk=run.pk).update(status="awaiting_human")
    run.refresh_from_db()
    return run


def _take(run: Run, call_id: str, paths: list[str] | None) -> None:
    snapshot = snapshots.take(run.place, call_id=call_id, step=1, paths=paths)
    assert snapshot is not None
    Run.objects.filter(pk=run.pk).update(snapshot=snapshot.number)
