"""Who the API lets in, and how it sends others away."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from agents.models import ApiToken, Role
from tests.agents.api.conftest import JSON, Caller
from tests.conftest import person

pytestmark = pytest.mark.django_db


def _status(secret: str) -> int:
    return Client(headers={"Authorization": secret}).get("/api/v1/tasks").status_code


def test_nobody_gets_in_without_a_token_or_a_session() -> None:
    answer = Client().get("/api/v1/tasks")
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Bearer"
    assert answer.json()["error"]["code"] == "UNAUTHORIZED"


@pytest.mark.parametrize("header", ["Bearer sakura_wrong", "Bearer", "Basic dTpw", "sakura_wrong", ""])
def test_a_header_that_is_no_live_token_is_unauthorized(header: str) -> None:
    assert _status(header) == 401


def test_an_expired_token_is_unauthorized() -> None:
    row, secret = ApiToken.make(person("vera", Role.VIEWER), "old")
    ApiToken.objects.filter(pk=row.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert _status(f"Bearer {secret}") == 401


def test_the_token_of_an_inactive_user_is_unauthorized() -> None:
    _, secret = ApiToken.make(person("vera", Role.VIEWER), "x")
    User.objects.update(is_active=False)
    assert _status(f"Bearer {secret}") == 401


def test_a_token_gives_no_more_than_its_own_roles() -> None:
    _, secret = ApiToken.make(person("ada", Role.ADMIN), "x", [Role.VIEWER])
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    assert client.get("/api/v1/tasks").status_code == 200
    assert client.post("/api/v1/runs/1/pause", content_type=JSON).status_code == 403


def test_a_token_loses_the_role_that_its_user_loses(operator: Caller) -> None:
    operator.user.groups.set([])
    assert operator.get("/tasks").status_code == 403


def test_a_session_reads_without_a_csrf_token() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(person("olga", Role.OPERATOR))
    assert client.get("/api/v1/tasks").status_code == 200


def test_a_session_changes_nothing_without_a_csrf_token() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(person("olga", Role.OPERATOR))
    answer = client.post("/api/v1/runs/1/pause", content_type=JSON)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "CSRF")


def test_a_session_changes_things_with_the_csrf_token_of_the_page() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(person("olga", Role.OPERATOR))
    client.get("/api/v1/docs")
    token = client.cookies["csrftoken"].value
    assert client.post("/api/v1/runs/1/pause", content_type=JSON, headers={"X-CSRFToken": token}).status_code == 404


def test_a_token_needs_no_csrf_token() -> None:
    _, secret = ApiToken.make(person("olga", Role.OPERATOR), "x")
    client = Client(enforce_csrf_checks=True, headers={"Authorization": f"Bearer {secret}"})
    assert client.post("/api/v1/runs/1/pause", content_type=JSON).status_code == 404


def test_a_wrong_token_is_not_made_good_by_a_session() -> None:
    client = Client(headers={"Authorization": "Bearer sakura_wrong"})
    client.force_login(person("olga", Role.OPERATOR))
    assert client.get("/api/v1/tasks").status_code == 401


def test_who_has_no_role_is_told_so() -> None:
    answer = Caller(person("stranger")).get("/tasks")
    assert answer.status_code == 403
    assert "no role yet" in answer.json()["error"]["message"]


def test_a_refusal_names_the_role_that_is_missing(viewer: Caller) -> None:
    answer = viewer.post("/runs/1/pause")
    assert answer.status_code == 403
    assert "role operator" in answer.json()["error"]["message"]


def test_a_program_that_polls_does_not_write(viewer: Caller, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    viewer.get("/runs/1")
    assert ApiToken.objects.get().last_used_at is not None
    with django_assert_num_queries(4) as asked:  # token, roles, page, whether there are secrets to mask
        viewer.get("/runs/1")
    assert all(query["sql"].startswith("SELECT") for query in asked.captured_queries)
