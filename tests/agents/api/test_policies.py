"""The policy of a repository by the API: read, tried, proposed."""

from pathlib import Path

import pytest

from agents.policies import FILE_BYTES
from tests.agents.api.conftest import Caller
from tests.conftest import git
from workspaces import sources
from workspaces.models import Repository

pytestmark = pytest.mark.django_db
PATH = ".sakura/policy.toml"


def at(row: Repository, end: str = "") -> str:
    return f"/repositories/{row.pk}/policy{end}"


def test_the_policy_is_given_with_the_tests_that_it_keeps(viewer: Caller, repository: Repository, source: Path) -> None:
    (source / "tests").mkdir()
    (source / "tests" / "test_poem.py").write_text("x")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "A test")
    sources.refresh(repository)
    body = viewer.get(at(repository)).json()
    assert (body["state"], body["text"], body["blob"], body["branch"]) == ("none", None, "", "main")
    assert body["tests"] == {"count": 1, "paths": ["tests/test_poem.py"], "is_whole": True}
    (source / ".sakura").mkdir(exist_ok=True)
    (source / PATH).write_text('tests = ["poem.txt"]\nrules = ["allow host:packages.example.org:443"]\n')
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "A policy")
    sources.refresh(repository)
    body = viewer.get(at(repository)).json()
    assert (body["state"], body["commit"]) == ("valid", git(source, "rev-parse", "main"))
    assert body["blob"] == git(source, "rev-parse", f"main:{PATH}")
    assert body["tests"]["paths"] == ["poem.txt", "tests/test_poem.py"]
    assert "only a task opens the network" in body["notes"][0]


def test_tries_tell_what_each_would_get(operator: Caller, repository: Repository) -> None:
    tries = [{"kind": "write", "text": "docs/a"}, {"kind": "command", "text": "sudo ls"}]
    body = operator.post(at(repository, "/tries"), {"text": 'protected = ["docs/**"]', "tries": tries}).json()
    assert [(each["allowed"], each["rule"], each["source"]) for each in body["tries"]] == [
        (False, "docs/**", "repository"),
        (False, "sudo", "defaults"),
    ]
    body = operator.post(at(repository, "/tries"), {"text": "x = 1", "tries": tries}).json()
    assert (len(body["faults"]), body["tries"]) == (1, [])


@pytest.mark.parametrize(
    "wish",
    [
        {"tries": [{"kind": "look", "text": "x"}]},
        {"tries": [{"kind": "read", "text": " "}]},
        {"tries": [{"kind": "read", "text": "x"}] * 51},
        {"text": "x" * (FILE_BYTES + 1)},
        {"file": "x"},
    ],
)
def test_a_wrong_wish_is_refused(operator: Caller, repository: Repository, wish: dict[str, object]) -> None:
    assert operator.post(at(repository, "/tries"), wish).status_code == 422


def test_a_proposal_gives_branch_and_commit(operator: Caller, repository: Repository, source: Path) -> None:
    answer = operator.post(at(repository, "/proposals"), {"text": "verify = []\n", "seen": ""})
    assert answer.status_code == 201
    body = answer.json()
    assert (body["branch"], body["base"]) == ("sakura/policy-1", git(source, "rev-parse", "main"))
    assert git(source, "rev-parse", "sakura/policy-1") == body["commit"]
    assert any("merge sakura/policy-1" in command for command in body["merge_commands"])


@pytest.mark.parametrize(
    ("wish", "status", "code"),
    [
        ({"text": "verify = ["}, 422, "INVALID_INPUT"),
        ({"text": "verify = []", "seen": "0" * 40}, 409, "STALE"),
    ],
)
def test_what_can_not_be_proposed_says_why(
    operator: Caller, repository: Repository, source: Path, wish: dict[str, str], status: int, code: str
) -> None:
    answer = operator.post(at(repository, "/proposals"), wish)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert git(source, "branch", "--list", "sakura/*") == ""


def test_a_repository_that_is_not_ready_is_told(operator: Caller, repository: Repository) -> None:
    Repository.objects.update(status="mirroring")
    assert operator.get(at(repository)).json()["state"] == "unread"
    for end, wish in (("/tries", {}), ("/proposals", {"text": "verify = []"})):
        answer = operator.post(at(repository, end), wish)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "NOT_READY")
