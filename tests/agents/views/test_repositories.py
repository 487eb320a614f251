"""Repositories: adding, progress, commands and suggestions, refresh, cancel, delete."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from agents import doorbell
from agents.models import Role, Run
from tests.agents.views.pages import Page
from tests.conftest import git, person
from workspaces import credentials
from workspaces.models import Repository

pytestmark = pytest.mark.django_db
ADD = "/repositories/add/"
OnCommit = Callable[..., AbstractContextManager[object]]


@pytest.fixture
def admin(client: Client, owner: User) -> Client:
    client.force_login(owner)
    return client


@pytest.fixture
def rings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was rung."""
    heard: list[str] = []
    monkeypatch.setattr(doorbell, "ring_workers", lambda: heard.append("workers"))
    return heard


def notice(client: Client, name: str = "repositories") -> str:
    return Page(client.get(reverse(name)).content).one("div", class_="notices").words


def test_adding_a_folder_makes_a_row_and_rings_for_a_worker(
    admin: Client, source: Path, rings: list[str], django_capture_on_commit_callbacks: OnCommit
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        answer = admin.post(ADD, {"source": str(source)})
    row = Repository.objects.get()
    assert answer["Location"] == reverse("repository", args=[row.pk])
    assert (row.name, row.source, row.status) == ("source", str(source.resolve()), "mirroring")
    assert rings == ["workers"]


@pytest.mark.parametrize(
    ("given", "name"),
    [("https://git.example.org/team/kernel.git", "kernel"), ("git@git.example.org:team/kernel", "kernel")],
)
def test_the_name_comes_from_the_source(admin: Client, given: str, name: str) -> None:
    admin.post(ADD, {"source": given})
    assert Repository.objects.get().name == name


@pytest.mark.parametrize(
    ("given", "expected"),
    [("relative/path", "neither an absolute path nor a URL"), ("/no/such/folder", "no such folder"), ("", "required")],
)
def test_a_source_that_can_not_be_says_why_at_its_field(admin: Client, given: str, expected: str) -> None:
    page = Page(admin.post(ADD, {"source": given, "name": "mine"}).content)
    assert expected in page.one("div", id="id_source_error").words
    assert page.one("input", name="name", id="id_name").attrs["value"] == "mine"
    assert not Repository.objects.exists()


def test_a_folder_elsewhere_is_for_admins(client: Client, teammate: User, source: Path) -> None:
    client.force_login(teammate)
    page = Page(client.post(ADD, {"source": str(source)}).content)
    assert "only an admin may add a folder" in page.one("div", id="id_source_error").words


def test_an_operator_may_add_below_the_roots(client: Client, teammate: User, source: Path, settings: Settings) -> None:
    settings.SAKURA_REPOSITORY_ROOTS = [source.parent]
    client.force_login(teammate)
    assert client.post(ADD, {"source": str(source)}).status_code == 302


def test_a_name_that_is_taken_says_so(admin: Client, repository: Repository, source: Path) -> None:
    page = Page(admin.post(ADD, {"source": str(source), "name": "calc"}).content)
    assert "There is a repository “calc” already" in page.one("div", id="id_name_error").words


def test_a_credential_is_stored_sealed_and_never_shown(admin: Client) -> None:
    admin.post(ADD, {"source": "https://git.example.org/kernel.git", "credential": "secret-token"})
    row = Repository.objects.get()
    assert b"secret-token" not in bytes(row.credential)
    assert credentials.unseal(bytes(row.credential)) == "secret-token"
    assert "secret-token" not in admin.get(reverse("repository", args=[row.pk])).content.decode()


def test_a_credential_for_a_folder_is_refused(admin: Client, source: Path) -> None:
    page = Page(admin.post(ADD, {"source": str(source), "credential": "x"}).content)
    assert "Only an https source" in page.one("div", id="id_credential_error").words


def test_the_list_shows_progress_and_refreshes_itself(admin: Client) -> None:
    Repository.objects.create(name="kernel", source="https://a.b/kernel", percent=42, progress="Receiving objects")
    page = Page(admin.get(reverse("repositories"), {"part": "list"}).content)
    assert page.elements[0].attrs["id"] == "repository-list"
    assert "data-refresh" in page.elements[0].attrs
    assert page.one("progress").attrs["value"] == "42"
    assert "Receiving objects" in page.elements[0].words


def test_a_list_without_news_does_not_refresh(admin: Client, repository: Repository) -> None:
    page = Page(admin.get(reverse("repositories")).content)
    assert "data-refresh" not in page.one("div", id="repository-list").attrs


def test_a_failed_mirror_says_why(admin: Client) -> None:
    row = Repository.objects.create(name="empty", source="/srv/empty", status="failed", error="It has no commits yet.")
    assert (
        "It has no commits yet."
        in Page(admin.get(reverse("repository", args=[row.pk])).content).one("section", id="repository-status").words
    )


def test_commands_are_saved_one_a_line(admin: Client, repository: Repository) -> None:
    fields = {
        "setup": "pip install -e .\n\n",
        "setup_hosts": "packages.example.org:443",
        "verify": "pytest -q\r\nruff check .",
    }
    admin.post(reverse("repository", args=[repository.pk]), fields)
    repository.refresh_from_db()
    assert repository.setup == ["pip install -e ."]
    assert repository.setup_hosts == ["packages.example.org:443"]
    assert repository.verify == ["pytest -q", "ruff check ."]


def test_hosts_of_set_up_are_checked_where_they_are_typed(admin: Client, repository: Repository) -> None:
    where = reverse("repository", args=[repository.pk])
    hosts = "Packages.Example.org.:0443\nhttps://a.example/\nlocalhost:5432"
    page = Page(admin.post(where, {"setup_hosts": hosts}).content)
    said = page.one("div", id="id_setup_hosts_error").words
    assert "leave out https://" in said
    assert "`localhost:5432` is this machine or a private network" in said
    admin.post(where, {"setup_hosts": "Packages.Example.org.:0443"})
    repository.refresh_from_db()
    assert repository.setup_hosts == ["packages.example.org:443"]


def test_a_suggestion_is_taken_over_by_one_click(admin: Client, repository: Repository) -> None:
    suggestion = {"command": "ruff check .", "because": "pyproject.toml"}
    Repository.objects.update(verify=["pytest -q"], suggestions={"verify": [suggestion]})
    address = reverse("repository", args=[repository.pk])
    page = Page(admin.get(address).content)
    assert "found in pyproject.toml" in page.one("div", class_="suggested").words
    admin.post(address, {"verify": "pytest -q", "take": page.one("button", name="take").attrs["value"]})
    repository.refresh_from_db()
    assert repository.verify == ["pytest -q", "ruff check ."]
    assert not Page(admin.get(address).content).find("div", class_="suggested")


@pytest.mark.parametrize("take", ["verify:9", "nothing:0", "verify:x", "verify", "__class__:0"])
def test_a_suggestion_that_is_not_there_changes_nothing(admin: Client, repository: Repository, take: str) -> None:
    admin.post(reverse("repository", args=[repository.pk]), {"verify": "pytest -q", "take": take})
    repository.refresh_from_db()
    assert repository.verify == ["pytest -q"]


def test_a_viewer_sees_a_repository_and_may_not_change_it(client: Client, repository: Repository) -> None:
    client.force_login(person("viewer", Role.VIEWER))
    address = reverse("repository", args=[repository.pk])
    page = Page(client.get(address).content)
    assert not page.find("textarea")
    assert client.post(address, {"verify": "rm"}, headers={"accept": "text/html"}).status_code == 403


def test_refresh_fetches_what_is_new(admin: Client, repository: Repository, source: Path) -> None:
    git(source, "branch", "news")
    admin.post(reverse("repository_refresh", args=[repository.pk]))
    assert "up to date with its source" in notice(admin)


def test_a_failed_mirror_is_made_again_by_a_worker(
    admin: Client, rings: list[str], django_capture_on_commit_callbacks: OnCommit
) -> None:
    row = Repository.objects.create(name="empty", source="/srv/empty", status="failed", error="x")
    with django_capture_on_commit_callbacks(execute=True):
        admin.post(reverse("repository_refresh", args=[row.pk]))
    row.refresh_from_db()
    assert (row.status, row.error) == ("mirroring", "")
    assert rings == ["workers"]


def test_cancel_asks_the_worker_to_stop(admin: Client, rings: list[str]) -> None:
    row = Repository.objects.create(name="kernel", source="https://a.b/kernel")
    admin.post(reverse("repository_cancel", args=[row.pk]))
    row.refresh_from_db()
    assert row.cancel_requested


def test_a_repository_with_tasks_stays(admin: Client, launch: Callable[..., Run], repository: Repository) -> None:
    launch({"implementer": []})
    admin.post(reverse("repository_delete", args=[repository.pk]))
    assert Repository.objects.filter(pk=repository.pk).exists()
    assert repository.mirror.exists()
    assert "has tasks" in notice(admin)


def test_deleting_takes_the_mirror_and_leaves_the_source(admin: Client, repository: Repository, source: Path) -> None:
    admin.post(reverse("repository_delete", args=[repository.pk]))
    assert not Repository.objects.exists()
    assert not repository.folder.exists()
    assert (source / "README.md").exists()


def test_only_an_admin_deletes(client: Client, teammate: User, repository: Repository) -> None:
    client.force_login(teammate)
    assert client.post(reverse("repository_delete", args=[repository.pk])).status_code == 403
    assert Repository.objects.exists()
