"""A POST with an Idempotency-Key is carried out once."""

from datetime import timedelta

import pytest
from django.utils import timezone

from agents.models import Event, IdempotencyKey, Kind, Role, Run
from tests.agents.api.conftest import Caller
from tests.conftest import person

pytestmark = pytest.mark.django_db
KEY = {"Idempotency-Key": "k-1"}


def _controls(run: Run) -> int:
    return Event.objects.filter(run=run, kind=Kind.CONTROL).count()


def test_the_same_request_gets_the_same_answer_and_is_done_once(operator: Caller, run: Run) -> None:
    first = operator.post(f"/runs/{run.pk}/messages", {"text": "Hello"}, **KEY)
    second = operator.post(f"/runs/{run.pk}/messages", {"text": "Hello"}, **KEY)
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert _controls(run) == 1


def test_without_a_key_it_is_done_twice(operator: Caller, run: Run) -> None:
    for _ in range(2):
        operator.post(f"/runs/{run.pk}/messages", {"text": "Hello"})
    assert _controls(run) == 2


def test_another_request_with_the_same_key_is_refused(operator: Caller, run: Run) -> None:
    operator.post(f"/runs/{run.pk}/messages", {"text": "Hello"}, **KEY)
    answer = operator.post(f"/runs/{run.pk}/messages", {"text": "Good-bye"}, **KEY)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "KEY_REUSED")
    assert _controls(run) == 1


def test_a_key_whose_first_request_is_at_work_is_refused(operator: Caller, run: Run) -> None:
    operator.post(f"/runs/{run.pk}/messages", {"text": "Hello"}, **KEY)
    IdempotencyKey.objects.update(status=None, body=None)
    answer = operator.post(f"/runs/{run.pk}/messages", {"text": "Hello"}, **KEY)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "IN_PROGRESS")


def test_a_refused_request_may_be_tried_again_with_its_key(operator: Caller, run: Run) -> None:
    refused = operator.post(f"/runs/{run.pk}/resume", None, **KEY)
    assert refused.status_code == 409
    assert not IdempotencyKey.objects.exists()
    operator.post(f"/runs/{run.pk}/pause")
    assert operator.post(f"/runs/{run.pk}/resume", None, **KEY).status_code == 200


def test_an_invalid_request_does_not_use_its_key_up(operator: Caller, run: Run) -> None:
    assert operator.post(f"/runs/{run.pk}/messages", {}, **KEY).status_code == 422
    assert operator.post(f"/runs/{run.pk}/messages", {"text": "Hello"}, **KEY).status_code == 201


def test_two_people_may_use_the_same_key(operator: Caller, run: Run) -> None:
    other = Caller(person("otto", Role.OPERATOR))
    for who in (operator, other):
        assert who.post(f"/runs/{run.pk}/messages", {"text": "Hello"}, **KEY).status_code == 201
    assert _controls(run) == 2


def test_a_key_is_forgotten_after_a_day(operator: Caller, run: Run) -> None:
    operator.post(f"/runs/{run.pk}/messages", {"text": "Hello"}, **KEY)
    IdempotencyKey.objects.update(created_at=timezone.now() - timedelta(days=1, seconds=1))
    assert operator.post(f"/runs/{run.pk}/messages", {"text": "Other"}, **KEY).status_code == 201


def test_a_key_that_is_too_long_is_invalid(operator: Caller, run: Run) -> None:
    answer = operator.post(f"/runs/{run.pk}/messages", {"text": "Hello"}, **{"Idempotency-Key": "k" * 201})
    assert answer.status_code == 422


def test_a_get_ignores_the_key(operator: Caller, run: Run) -> None:
    assert operator.client.get(f"/api/v1/runs/{run.pk}", headers=KEY).status_code == 200
    assert not IdempotencyKey.objects.exists()
