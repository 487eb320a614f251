"""Repositories by the API: add, list, refresh, delete."""

from pathlib import Path

import pytest
from pytest_django import Settings

from agents.models import Run
from tests.agents.api.conftest import Caller
from tests.conftest import git
from workspaces import credentials
from workspaces.models import Repository

pytestmark = pytest.mark.django_db


def test_an_admin_adds_a_local_source(admin: Caller, source: Path) -> None:
    answer = admin.post("/repositories", {"name": "poems", "source": str(source), "verify": ["true"]})
    assert answer.status_code == 201
    body = answer.json()
    assert (body["name"], body["source"], body["status"]) == ("poems", str(source), "mirroring")
    assert (body["verify"], body["setup"], body["default_branch"]) == (["true"], [], "")
    assert Repository.objects.get(pk=body["id"]).verify == ["true"]


def test_an_operator_adds_local_sources_below_the_roots_only(
    operator: Caller, source: Path, settings: Settings
) -> None:
    wish = {"name": "poems", "source": str(source)}
    refused = operator.post("/repositories", wish)
    assert refused.status_code in (403, 422)
    settings.SAKURA_REPOSITORY_ROOTS = [source.parent]
    assert operator.post("/repositories", wish).status_code == 201


def test_a_source_of_a_wrong_kind_is_refused_in_a_sentence(admin: Caller) -> None:
    answer = admin.post("/repositories", {"name": "poems", "source": "ext::sh -c id"})
    assert answer.status_code == 422
    assert answer.json()["error"]["message"]


def test_hosts_of_set_up_are_host_and_port(admin: Caller, source: Path) -> None:
    wish = {"name": "poems", "source": str(source)}
    for host in ("https://a.example", "a.example", "169.254.169.254:80", "*.example:443"):
        answer = admin.post("/repositories", wish | {"setup_hosts": [host]})
        assert answer.status_code == 422, host
        assert "setup_hosts" in answer.json()["error"]["message"]
    answer = admin.post("/repositories", wish | {"setup_hosts": ["A.Example:0443"]})
    assert answer.json()["setup_hosts"] == ["a.example:443"]


def test_a_name_is_taken_once(admin: Caller, repository: Repository) -> None:
    answer = admin.post("/repositories", {"name": repository.name, "source": repository.source})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "NAME_TAKEN")


def test_a_credential_is_sealed_and_never_shown(admin: Caller) -> None:
    wish = {"name": "far", "source": "https://example.org/far.git", "credential": "me:s3cret"}
    answer = admin.post("/repositories", wish)
    assert answer.status_code == 201
    assert b"s3cret" not in answer.content
    assert credentials.unseal(bytes(Repository.objects.get(name="far").credential)) == "me:s3cret"


def test_a_credential_for_a_local_source_is_invalid(admin: Caller, source: Path) -> None:
    answer = admin.post("/repositories", {"name": "near", "source": str(source), "credential": "x"})
    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith("credential:")


def test_repositories_are_listed_in_pages(viewer: Caller) -> None:
    Repository.objects.bulk_create(Repository(name=f"r{number:03}", source="/x") for number in range(51))
    first, second = viewer.get("/repositories").json(), viewer.get("/repositories", page=2).json()
    assert (len(first["repositories"]), first["pages"], first["count"]) == (50, 2, 51)
    assert [row["name"] for row in second["repositories"]] == ["r050"]


def test_a_ready_repository_tells_its_default_branch(viewer: Caller, repository: Repository) -> None:
    body = viewer.get(f"/repositories/{repository.pk}").json()
    assert (body["status"], body["default_branch"], body["error"]) == ("ready", "main", "")


def test_a_refresh_fetches_what_is_new(operator: Caller, repository: Repository, source: Path) -> None:
    git(source, "commit", "-q", "--allow-empty", "-m", "Second")
    tip = git(source, "rev-parse", "HEAD")
    assert operator.post(f"/repositories/{repository.pk}/refresh").status_code == 200
    assert git(repository.mirror, "rev-parse", "main") == tip


def test_an_admin_deletes_a_repository_but_never_its_source(
    admin: Caller, repository: Repository, source: Path
) -> None:
    folder = repository.folder
    assert admin.delete(f"/repositories/{repository.pk}").status_code == 204
    assert not folder.exists()
    assert (source / "poem.txt").exists()
    assert admin.get(f"/repositories/{repository.pk}").status_code == 404


def test_a_repository_with_tasks_stays(admin: Caller, run: Run) -> None:
    answer = admin.delete(f"/repositories/{run.place.repository_id}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "IN_USE")
    assert run.place.repository.mirror.exists()


@pytest.mark.parametrize("verb", ["refresh", ""])
def test_what_is_not_there_is_not_found(admin: Caller, verb: str) -> None:
    answer = admin.post("/repositories/9/refresh") if verb else admin.delete("/repositories/9")
    assert answer.status_code == 404
