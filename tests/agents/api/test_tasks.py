"""Tasks by the API: launch, list, run again."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from agents.models import Event, Run, Task
from tests.agents.api.conftest import Caller
from tests.conftest import git
from workspaces.models import Repository

pytestmark = pytest.mark.django_db
SCRIPT = {"implementer": [{"text": "Hi", "tool_calls": [{"name": "read_file", "input": {"file_path": "poem.txt"}}]}]}


def _wish(repository: Repository, **more: Any) -> dict[str, Any]:
    return {"repository": repository.pk, "title": "T", "prompt": "P", "script": SCRIPT, **more}


def test_a_task_is_launched_with_its_first_run_queued(operator: Caller, repository: Repository) -> None:
    answer = operator.post("/tasks", _wish(repository, budgets={"steps": 7}, policy={"verify": ["true"]}))
    assert answer.status_code == 201
    body = answer.json()
    run = Run.objects.get()
    assert [(row["id"], row["status"]) for row in body["runs"]] == [(run.pk, "queued")]
    assert (body["status"], body["model"], body["base"]) == ("queued", "scripted", "main")
    assert (body["budgets"]["steps"], body["budgets"]["seconds"]) == (7, 2700)
    assert body["policy"]["verify"] == ["true"]
    assert run.task.script == SCRIPT
    assert run.task.created_by == operator.user


def test_hidden_paths_and_paths_with_secrets_are_part_of_the_policy(operator: Caller, repository: Repository) -> None:
    policy = {"hidden": ["secrets/**"], "secrets_allowed": ["tests/**"], "blocklist": ["write_file", "npm publish *"]}
    body = operator.post("/tasks", _wish(repository, policy=policy)).json()
    assert {name: body["policy"][name] for name in policy} == policy


@pytest.mark.parametrize(
    ("field", "value"), [("blocklist", "run_comand(x)"), ("blocklist", "a (b"), ("hidden", "../x"), ("protected", "")]
)
def test_a_rule_that_cannot_be_read_is_refused(
    operator: Caller, repository: Repository, field: str, value: str
) -> None:
    answer = operator.post("/tasks", _wish(repository, policy={field: [value]}))
    assert answer.status_code == 422
    assert field in answer.content.decode()
    assert not Task.objects.exists()


def test_the_url_of_a_task_is_its_page(operator: Caller, repository: Repository) -> None:
    body = operator.post("/tasks", _wish(repository)).json()
    assert body["url"] == f"http://testserver/tasks/{body['id']}/"


def test_the_prompt_is_the_first_message(operator: Caller, repository: Repository) -> None:
    operator.post("/tasks", _wish(repository, prompt="Make it rhyme."))
    message = Event.objects.get(kind="message")
    assert message.data == {"text": "Make it rhyme.", "author": "olga"}


@pytest.mark.parametrize("key", ["pk", "name"])
def test_a_repository_is_named_by_id_or_name(operator: Caller, repository: Repository, key: str) -> None:
    wish = _wish(repository) | {"repository": getattr(repository, key)}
    assert operator.post("/tasks", wish).json()["repository"] == repository.pk


def test_a_launch_starts_from_what_the_source_has_now(operator: Caller, repository: Repository, source: Path) -> None:
    git(source, "commit", "-q", "--allow-empty", "-m", "Second")
    tip = git(source, "rev-parse", "HEAD")
    assert operator.post("/tasks", _wish(repository)).json()["base_commit"] == tip


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"repository": "nowhere"}, "repository"),
        ({"repository": 999}, "repository"),
        ({"model": "no-such-model", "script": None}, "model"),
        ({"model": "gpt", "script": {"implementer": []}}, "model"),
        ({"model": "scripted", "script": None}, "script"),
        ({"script": {"implementer": "not a list"}}, "script"),
        ({"script": {"nobody": []}}, "script"),
    ],
)
def test_what_cannot_be_launched_is_refused_by_its_field(
    operator: Caller, repository: Repository, change: dict[str, Any], field: str
) -> None:
    answer = operator.post("/tasks", _wish(repository) | change)
    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith(f"{field}:")
    assert not Task.objects.exists()


def test_a_base_that_is_not_there_is_refused(operator: Caller, repository: Repository) -> None:
    answer = operator.post("/tasks", _wish(repository, base="mian"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "NO_SUCH_BASE")


def test_a_repository_that_is_not_ready_is_refused(operator: Caller) -> None:
    row = Repository.objects.create(name="slow", source="/x")
    answer = operator.post("/tasks", _wish(row))
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "NOT_READY")


def test_text_that_no_database_takes_is_kept_in_escapes(operator: Caller, repository: Repository) -> None:
    answer = operator.post("/tasks", _wish(repository, prompt="a\x00b"))
    assert answer.status_code == 201
    assert answer.json()["prompt"] == "a\\x00b"


def test_a_task_gets_another_run(operator: Caller, run: Run) -> None:
    answer = operator.post(f"/tasks/{run.task_id}/runs")
    assert answer.status_code == 201
    assert answer.json() == {"id": run.pk + 1, "number": 2, "status": "queued"}
    assert [row["number"] for row in operator.get(f"/tasks/{run.task_id}").json()["runs"]] == [1, 2]


def test_the_status_of_a_task_is_that_of_its_most_urgent_run(operator: Caller, run: Run) -> None:
    operator.post(f"/tasks/{run.task_id}/runs")
    Run.objects.filter(pk=run.pk).update(status="awaiting_human")
    assert operator.get(f"/tasks/{run.task_id}").json()["status"] == "awaiting_human"


@pytest.fixture
def many(run: Run) -> list[Task]:
    """51 tasks in all, those beside the first approved."""
    first = run.task
    for number in range(50):
        task = Task.objects.create(
            repository=first.repository, title=f"Task {number}", prompt="Dance", model="scripted"
        )
        Run.objects.create(task=task, number=1, status="approved")
    return list(Task.objects.all())


def test_tasks_are_listed_newest_first_in_pages(viewer: Caller, many: list[Task]) -> None:
    first, second = viewer.get("/tasks").json(), viewer.get("/tasks", page=2).json()
    assert (first["count"], first["pages"], first["page"]) == (51, 2, 1)
    assert first["tasks"][0]["title"] == "Task 49"
    assert [row["title"] for row in second["tasks"]] == ["Make it rhyme"]


def test_the_list_counts_by_status(viewer: Caller, many: list[Task]) -> None:
    body = viewer.get("/tasks", status="queued").json()
    assert body["counts"] == {"queued": 1, "approved": 50}
    assert (body["count"], body["tasks"][0]["status"]) == (1, "queued")


def test_the_list_finds_words_in_titles_and_prompts(viewer: Caller, many: list[Task]) -> None:
    assert viewer.get("/tasks", q="RHYME poem").json()["count"] == 1
    assert viewer.get("/tasks", q="task 49 dance").json()["count"] == 1
    assert viewer.get("/tasks", q="elephant").json()["count"] == 0


def test_the_list_asks_as_often_for_many_as_for_few(
    viewer: Caller, many: list[Task], django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(9):
        assert len(viewer.get("/tasks").json()["tasks"]) == 50


def test_a_task_that_is_not_there_is_not_found(operator: Caller) -> None:
    assert operator.get("/tasks/7").status_code == 404
    assert operator.post("/tasks/7/runs").status_code == 404


def test_the_site_itself_may_ask_with_its_session(operator: Caller, run: Run) -> None:
    client = Client()
    client.force_login(operator.user)
    assert client.get(f"/api/v1/tasks/{run.task_id}").json()["title"] == "Make it rhyme"
