"""Every error of the API has one shape and the status that fits."""

from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from agents.api import runs
from tests.agents.api.conftest import Caller


def _error(answer: Any) -> dict[str, Any]:
    assert answer["Content-Type"].startswith("application/json")
    body: dict[str, Any] = answer.json()
    assert list(body) == ["error"]
    assert body["error"]["message"]
    return dict(body["error"])


@pytest.mark.parametrize("path", ["/nothing", "/", "/tasks/1/", "/runs/x", "/runs/1", "/tasks/1", f"/runs/{10**30}"])
def test_what_is_not_there_is_a_404_in_json(viewer: Caller, path: str) -> None:
    answer = viewer.get(path)
    assert answer.status_code == 404
    assert _error(answer)["code"] == "NOT_FOUND"


def test_a_wrong_method_is_a_405_that_names_the_right_ones(viewer: Caller) -> None:
    answer = viewer.delete("/tasks")
    assert answer.status_code == 405
    assert sorted(answer["Allow"].split(", ")) == ["GET", "POST"]
    assert _error(answer)["code"] == "METHOD_NOT_ALLOWED"


def test_a_body_that_is_not_json_is_a_400(operator: Caller) -> None:
    answer = operator.post("/tasks", '{"title"')
    assert answer.status_code == 400
    assert "not JSON" in _error(answer)["message"]


def test_a_body_of_another_type_is_a_415(operator: Caller) -> None:
    answer = operator.client.post("/api/v1/tasks", {"title": "form"})
    assert answer.status_code == 415
    assert "application/json" in _error(answer)["message"]


def test_a_body_that_is_too_large_is_a_413(operator: Caller, settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    answer = operator.post("/tasks", {"prompt": "x" * 1001})
    assert answer.status_code == 413
    assert _error(answer)["code"] == "TOO_LARGE"


def test_a_422_names_every_field_that_is_wrong(operator: Caller) -> None:
    answer = operator.post("/tasks", {"title": " ", "budgets": {"steps": 0}, "colour": "pink", "prompt": "p"})
    assert answer.status_code == 422
    error = _error(answer)
    assert sorted(error["fields"]) == ["budgets.steps", "colour", "repository", "title"]
    assert all(field in error["message"] for field in error["fields"])


def test_a_422_names_a_wrong_parameter(viewer: Caller) -> None:
    answer = viewer.get("/tasks", status="odd", page=0)
    assert answer.status_code == 422
    assert sorted(_error(answer)["fields"]) == ["page", "status"]


def test_a_bug_is_a_500_without_inner_details(viewer: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(run_id: int) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(runs, "find_run", broken)
    answer = viewer.get("/runs/1")
    assert answer.status_code == 500
    assert _error(answer)["code"] == "INTERNAL_ERROR"
    assert b"secret" not in answer.content


@pytest.mark.django_db
def test_an_unknown_address_tells_strangers_no_more_than_that() -> None:
    assert _error(Client().get("/api/v1/nothing"))["code"] == "NOT_FOUND"


@pytest.mark.django_db
def test_a_post_to_an_unknown_address_is_a_404_in_json_too() -> None:
    answer = Client(enforce_csrf_checks=True).post("/api/v1/nothing", "{}", "application/json")
    assert answer.status_code == 404
    assert _error(answer)["code"] == "NOT_FOUND"
