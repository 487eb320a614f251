"""What probes and Prometheus get."""

from collections.abc import Iterator

import pytest
from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from agents import doorbell
from agents.models import ApiToken, Role, Run, Task
from sakura_web import health
from tests.conftest import person
from workspaces.models import Repository


@pytest.fixture(autouse=True)
def forget_what_was_found() -> Iterator[None]:
    health._check_migrations.cache_clear()
    yield
    health._check_migrations.cache_clear()


def test_healthz_asks_nothing_of_the_database() -> None:
    answer = Client().get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.django_db
def test_readyz_is_open_and_tells_no_details() -> None:
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.django_db
def test_readyz_is_503_without_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise OperationalError("password wrong")

    monkeypatch.setattr(connection, "cursor", broken)
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()) == (503, {"status": "unavailable"})


@pytest.mark.django_db
def test_readyz_is_503_while_a_migration_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MigrationExecutor, "migration_plan", lambda self, targets: [("agents", "0002")])
    assert Client().get("/readyz").status_code == 503


@pytest.mark.django_db
def test_readyz_is_503_without_the_channel_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doorbell, "get_channel_layer", lambda: None)
    assert Client().get("/readyz").status_code == 503


@pytest.mark.django_db
def test_metrics_are_for_this_machine() -> None:
    assert Client().get("/metrics", REMOTE_ADDR="::1").status_code == 200
    assert Client().get("/metrics", REMOTE_ADDR="10.0.0.1").status_code == 403


@pytest.mark.django_db
def test_metrics_are_not_for_whom_a_proxy_on_this_machine_asks() -> None:
    assert Client().get("/metrics", headers={"X-Forwarded-For": "10.0.0.1"}).status_code == 403


@pytest.mark.django_db
def test_metrics_are_for_who_sends_a_token() -> None:
    _, secret = ApiToken.make(person("vera", Role.VIEWER), "prometheus")
    client = Client(headers={"Authorization": f"Bearer {secret}"}, REMOTE_ADDR="10.0.0.1")
    assert client.get("/metrics").status_code == 200


@pytest.mark.django_db
def test_metrics_count_runs_and_events(django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    repository = Repository.objects.create(name="poems", source="/x", status="ready")
    task = Task.objects.create(repository=repository, title="T", prompt="P", model="scripted")
    Run.objects.create(task=task, number=1, status="approved", last_seq=7)
    Run.objects.create(task=task, number=2, status="queued", last_seq=2)
    with django_assert_max_num_queries(4):
        lines = Client().get("/metrics").content.decode().splitlines()
    assert 'sakura_runs{status="approved"} 1' in lines
    assert 'sakura_runs{status="queued"} 1' in lines
    assert "sakura_events_total 9" in lines
    assert 'sakura_repositories{status="ready"} 1' in lines
    assert "# TYPE sakura_events_total counter" in lines
