"""Secrets on a repository's page, and in the form and on the page of a task."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from agents import secrets
from agents.models import Role, Task
from tests.agents.views.pages import Page
from tests.conftest import TASK_FORM, person
from workspaces import credentials
from workspaces.models import Repository

pytestmark = pytest.mark.django_db
VALUE = "tok-0123456789"


@pytest.fixture
def operator(client: Client, teammate: User) -> Client:
    client.force_login(teammate)
    return client


def send(client: Client, repository: Repository, name: str, value: str) -> Any:
    return client.post(f"/repositories/{repository.pk}/secrets/", {"name": name, "value": value}, follow=True)


def test_a_secret_is_set_replaced_and_deleted_and_never_shown(operator: Client, repository: Repository) -> None:
    answer = send(operator, repository, "NPM_TOKEN", VALUE)
    words = Page(answer.content).one("section", id="secrets").words
    assert "NPM_TOKEN" in words
    assert "by teammate" in words
    assert VALUE not in answer.content.decode()
    send(operator, repository, "NPM_TOKEN", "line one\r\nline two\r\n")
    row = repository.secrets.get()
    assert credentials.unseal(bytes(row.sealed), credentials.SECRET) == "line one\nline two\n"
    answer = operator.post(f"/repositories/{repository.pk}/secrets/NPM_TOKEN/delete/", follow=True)
    assert "NPM_TOKEN is deleted" in answer.content.decode()
    assert not repository.secrets.exists()


@pytest.mark.parametrize(
    ("name", "value", "field", "said"),
    [
        ("PATH", VALUE, "secret_name", "where programs are found"),
        ("NPM_TOKEN", "shorty!", "secret_value", "ruining what agents print"),
        ("", VALUE, "secret_name", "required"),
    ],
)
def test_what_is_wrong_stands_beside_its_field_and_the_value_is_gone(
    operator: Client, repository: Repository, name: str, value: str, field: str, said: str
) -> None:
    answer = send(operator, repository, name, value)
    page = Page(answer.content)
    assert said in page.one("div", id=f"{field}_error").words
    assert value not in answer.content.decode()
    assert not repository.secrets.exists()


def test_what_is_gone_already_is_told(operator: Client, repository: Repository) -> None:
    answer = operator.post(f"/repositories/{repository.pk}/secrets/GONE/delete/", follow=True)
    assert "there is no secret “GONE”" in answer.content.decode()


def test_a_viewer_sees_the_names_and_changes_nothing(client: Client, repository: Repository, owner: User) -> None:
    secrets.put(repository, owner, "NPM_TOKEN", VALUE)
    client.force_login(person("vera", Role.VIEWER))
    page = client.get(f"/repositories/{repository.pk}/").content.decode()
    assert "NPM_TOKEN" in page
    assert "/secrets/" not in page
    assert send(client, repository, "OTHER", VALUE).status_code == 403
    assert client.post(f"/repositories/{repository.pk}/secrets/NPM_TOKEN/delete/").status_code == 403
    assert repository.secrets.count() == 1


def test_one_that_was_sealed_with_another_key_is_told_on_the_page(
    operator: Client, repository: Repository, owner: User, settings: Settings
) -> None:
    row = secrets.put(repository, owner, "NPM_TOKEN", VALUE)
    row.sealed = credentials.seal(VALUE)
    row.save()
    words = Page(operator.get(f"/repositories/{repository.pk}/").content).one("section", id="secrets").words
    assert "It was encrypted with another SAKURA_SECRET_KEY; set it again." in words


# --- tasks -----------------------------------------------------------------------------------------------


def new_task(client: Client, repository: Repository, lines: str) -> Any:
    return client.post("/tasks/new/", TASK_FORM | {"repository": repository.pk, "secrets": lines})


def test_a_task_names_its_secrets_and_shows_them(operator: Client, repository: Repository, owner: User) -> None:
    secrets.put(repository, owner, "NPM_TOKEN", VALUE)
    secrets.put(repository, owner, "PYPI", VALUE)
    answer = new_task(operator, repository, "NPM_TOKEN: npm publish *\nPYPI: twine upload *\nNPM_TOKEN:npm whoami")
    assert answer.status_code == 302, answer.content.decode()
    task = Task.objects.get()
    assert [use.model_dump() for use in task.rules().secrets] == [
        {"name": "NPM_TOKEN", "commands": ["npm publish *", "npm whoami"]},
        {"name": "PYPI", "commands": ["twine upload *"]},
    ]
    words = Page(operator.get(f"/tasks/{task.pk}/").content).one("section", **{"aria-labelledby": "s-rules"}).words
    assert "NPM_TOKEN for npm publish *, npm whoami" in words


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("OTHER: npm publish", "“calc” has no secret OTHER. There are: NPM_TOKEN."),
        ("NPM_TOKEN: *", "Line 1: `*`: it would give the secret to any program"),
        ("NPM_TOKEN: npm publish\nNPM_TOKEN: npm | tee", "Line 2: `npm | tee`: a rule names one command"),
        ("NPM_TOKEN", "Line 1: write the secret's name, a colon and a command"),
        ("NPM TOKEN: npm publish", "Line 1: write the secret's name"),
    ],
)
def test_what_is_wrong_with_a_line_stands_beside_the_field(
    operator: Client, repository: Repository, owner: User, lines: str, said: str
) -> None:
    secrets.put(repository, owner, "NPM_TOKEN", VALUE)
    page = Page(new_task(operator, repository, lines).content)
    assert said in page.one("div", id="id_secrets_error").words
    assert not Task.objects.exists()


def test_the_form_names_the_secrets_there_are(operator: Client, repository: Repository, owner: User) -> None:
    before = Page(operator.get("/tasks/new/").content).one("p", id="secret-names").words
    assert "calc has no secret yet" in before
    secrets.put(repository, owner, "NPM_TOKEN", VALUE)
    assert Page(operator.get("/tasks/new/").content).one("p", id="secret-names").words == "Secrets of calc: NPM_TOKEN"
