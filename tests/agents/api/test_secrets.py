"""Secrets by the API: set, list without values, delete, and named in a task's policy."""

from typing import Any

import pytest

from tests.agents.api.conftest import JSON, Caller
from workspaces import credentials
from workspaces.models import Repository

pytestmark = pytest.mark.django_db
VALUE = "tok-0123456789"


def put(caller: Caller, repository: Repository, name: str, body: Any) -> Any:
    return caller.client.put(f"/api/v1/repositories/{repository.pk}/secrets/{name}", body, content_type=JSON)


def test_a_secret_is_set_listed_replaced_and_deleted_and_never_given_back(
    operator: Caller, viewer: Caller, repository: Repository
) -> None:
    address = f"/repositories/{repository.pk}/secrets"
    made = put(operator, repository, "NPM_TOKEN", {"value": VALUE})
    assert made.status_code == 200
    assert made.json().keys() == {"name", "set_by", "set_at", "readable"}
    assert put(operator, repository, "NPM_TOKEN", {"value": f"{VALUE}!"}).status_code == 200
    listed = viewer.get(address)
    assert [(each["name"], each["set_by"], each["readable"]) for each in listed.json()["secrets"]] == [
        ("NPM_TOKEN", "olga", True)
    ]
    assert VALUE.encode() not in made.content + listed.content
    row = repository.secrets.get()
    assert credentials.unseal(bytes(row.sealed), credentials.SECRET) == f"{VALUE}!"
    assert operator.delete(f"{address}/NPM_TOKEN").status_code == 204
    assert operator.delete(f"{address}/NPM_TOKEN").status_code == 404
    assert viewer.get(address).json() == {"secrets": []}


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("LD_PRELOAD", {"value": VALUE}, "name: LD_PRELOAD says where programs are found"),
        ("a-b", {"value": VALUE}, "name: the name of an environment variable"),
        ("TOKEN", {"value": "short!!"}, "value: it has 7 characters"),
        ("TOKEN", {"value": "x" * 20_000}, "value"),
        ("TOKEN", {}, "value"),
        ("TOKEN", {"value": VALUE, "other": 1}, "other"),
    ],
)
def test_what_is_wrong_is_said_of_its_field(
    operator: Caller, repository: Repository, name: str, body: Any, said: str
) -> None:
    answer = put(operator, repository, name, body)
    assert answer.status_code == 422
    assert said in answer.json()["error"]["message"]
    assert not repository.secrets.exists()


def test_a_viewer_changes_nothing(viewer: Caller, repository: Repository) -> None:
    assert put(viewer, repository, "TOKEN", {"value": VALUE}).status_code == 403
    assert viewer.delete(f"/repositories/{repository.pk}/secrets/TOKEN").status_code == 403


def test_a_repository_that_is_not_there_is_told(operator: Caller) -> None:
    assert operator.get("/repositories/987/secrets").status_code == 404


def test_a_policy_names_secrets_and_their_commands(operator: Caller, repository: Repository) -> None:
    put(operator, repository, "NPM_TOKEN", {"value": VALUE})
    uses = [{"name": "NPM_TOKEN", "commands": ["npm publish *"]}]
    wish = {"repository": repository.pk, "title": "Publish", "prompt": f"Use {VALUE}.", "script": {"implementer": []}}
    answer = operator.post("/tasks", wish | {"policy": {"secrets": uses}}, **{"Idempotency-Key": "one"})
    assert answer.status_code == 201
    assert answer.json()["policy"]["secrets"] == uses
    assert answer.json()["prompt"] == "Use [masked NPM_TOKEN]."
    for secrets, said in (
        ([{"name": "OTHER", "commands": ["npm publish"]}], "policy.secrets: “calc” has no secret OTHER."),
        ([{"name": "NPM_TOKEN", "commands": ["*"]}], "any program"),
        ([{"name": "NPM_TOKEN", "commands": []}], "commands"),
        ([{"name": "not a name", "commands": ["npm publish"]}], "name"),
    ):
        refused = operator.post("/tasks", wish | {"policy": {"secrets": secrets}})
        assert refused.status_code == 422
        assert said in refused.json()["error"]["message"]
