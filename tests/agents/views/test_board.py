"""The board: groups, rows, search, filters, pages, and that its queries do not grow."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from agents import control, events
from agents.events import Fact
from agents.models import Budgets, Kind, Role, Run, Status, Task
from agents.views import board
from tests.agents.views.pages import Page
from tests.conftest import person
from workspaces.models import Repository

pytestmark = pytest.mark.django_db
Make = Callable[..., Run]


@pytest.fixture
def plain_repository(db: None) -> Repository:
    """A repository as a row alone: the board asks no git."""
    return Repository.objects.create(name="calc", source="/srv/calc", status="ready", default_branch="main")


@pytest.fixture
def make(plain_repository: Repository) -> Make:
    """Make a task with a run of the given status: make(title, status, by=None, **task)."""

    def task(title: str, status: Status = Status.QUEUED, by: User | None = None, **fields: Any) -> Run:
        given = {
            "repository": plain_repository,
            "prompt": "Mend it.",
            "base_name": "main",
            "base_commit": "a" * 40,
            "model": "claude-sonnet-5-5",
            "budgets": Budgets().model_dump(),
        }
        run = control.launch(by, title=title, **(given | fields))
        Run.objects.filter(pk=run.pk).update(status=status)
        return Run.objects.get(pk=run.pk)

    return task


@pytest.fixture
def page_of(client: Client, teammate: User) -> Callable[..., Page]:
    """Return the board as the teammate sees it: page_of(q=…)."""
    client.force_login(teammate)

    def get(**query: Any) -> Page:
        answer = client.get(reverse("board"), query)
        assert answer.status_code == 200
        return Page(answer.content)

    return get


def titles(page: Page, group: str = "") -> list[str]:
    rows = [a for a in page.find("a") if "data-row" in a.attrs]
    return [a.words for a in rows if not group or any(p.attrs.get("id") == f"group-{group}" for p in a.parents)]


@pytest.mark.parametrize(
    ("status", "group"),
    [
        (Status.AWAITING_HUMAN, "needs"),
        (Status.NEEDS_ATTENTION, "needs"),
        (Status.FAILED, "needs"),
        (Status.IMPLEMENTING, "working"),
        (Status.REVIEWING, "working"),
        (Status.PREPARING, "working"),
        (Status.QUEUED, "waiting"),
        (Status.PAUSED, "waiting"),
        (Status.APPROVED, "done"),
        (Status.REJECTED, "done"),
        (Status.CANCELLED, "done"),
    ],
)
def test_each_status_has_its_group(make: Make, page_of: Callable[..., Page], status: Status, group: str) -> None:
    make("Mend add", status)
    page = page_of()
    assert titles(page, group) == ["Mend add"]
    assert len(titles(page)) == 1


def test_a_task_stands_where_its_most_urgent_run_stands(make: Make, page_of: Callable[..., Page]) -> None:
    first = make("Mend add", Status.AWAITING_HUMAN)
    second = control.new_run(first.task, None)
    Run.objects.filter(pk=second.pk).update(status=Status.CANCELLED)
    page = page_of()
    assert titles(page, "needs") == ["Mend add"]
    assert page.one("a", href=reverse("review", args=[first.pk])).words == "Mend add"


def test_a_row_says_what_its_agent_does_now(make: Make, page_of: Callable[..., Page]) -> None:
    run = make("Mend add", Status.IMPLEMENTING)
    call = {
        "call_id": "c1",
        "tool": "run_command",
        "input": {"command": "pytest -q"},
        "resolved": {},
        "effect": "EXECUTE",
    }
    events.append(run.pk, Fact(Kind.TOOL_CALL, call, call_id="c1", step=1))
    assert "Running pytest -q" in page_of().one("div", class_="now").words


def test_a_row_that_waits_shows_the_reviewers_verdict(make: Make, page_of: Callable[..., Page]) -> None:
    run = make("Mend add", Status.AWAITING_HUMAN)
    review = {
        "verdict": "approve",
        "score": 8,
        "summary": "Small and well tested.",
        "by_human": False,
        "author": "reviewer",
    }
    events.append(run.pk, Fact(Kind.REVIEW, review))
    words = page_of().one("div", class_="now").words
    assert "Reviewer: approve, 8 of 10." in words
    assert "“Small and well tested.”" in words


def test_a_failed_row_says_why(make: Make, page_of: Callable[..., Page]) -> None:
    run = make("Mend add", Status.FAILED)
    Run.objects.filter(pk=run.pk).update(reason="The model server answered 503 five times.")
    assert "answered 503 five times" in page_of().one("div", class_="now").words


def test_the_meter_shows_the_budget_that_is_used_most(make: Make, page_of: Callable[..., Page]) -> None:
    run = make("Mend add", Status.IMPLEMENTING, budgets=Budgets(steps=10, usd=5).model_dump())
    Run.objects.filter(pk=run.pk).update(step=9, usd=Decimal("1"))
    meter = page_of().one("meter")
    assert (meter.attrs["value"], meter.attrs["aria-label"]) == ("90", "Most used budget: steps")


def test_a_title_that_is_markup_stays_text(make: Make, page_of: Callable[..., Page]) -> None:
    make("<img src=x onerror=alert(1)>")
    page = page_of()
    assert titles(page) == ["<img src=x onerror=alert(1)>"]
    assert not page.find("img")


def test_characters_that_reorder_text_are_shown(make: Make, page_of: Callable[..., Page]) -> None:
    make("abc\u202edef")
    assert page_of().one("span", class_="odd").words == "U+202E"


def test_scripted_tasks_are_labelled(make: Make, page_of: Callable[..., Page]) -> None:
    make("Mend add", model="scripted", script={"implementer": []})
    assert page_of().one("span", class_="scripted").words == "Scripted"


@pytest.mark.parametrize("words", ["payment", "PAYMENT client", "Stripe", "calc payment"])
def test_search_looks_at_titles_prompts_and_repositories(make: Make, page_of: Callable[..., Page], words: str) -> None:
    make("Upgrade the payment client", prompt="Use the new Stripe API.")
    make("Speed up the report")
    assert titles(page_of(q=words)) == ["Upgrade the payment client"]


def test_a_search_without_hits_says_what_was_searched(make: Make, page_of: Callable[..., Page]) -> None:
    make("Mend add")
    words = page_of(q="renewl").one("div", class_="empty").words
    assert "Nothing matches “renewl”" in words
    assert "titles, prompts and repositories" in words


def test_mine_shows_only_ones_own_tasks(make: Make, page_of: Callable[..., Page], teammate: User, owner: User) -> None:
    make("Mine", by=teammate)
    make("Theirs", by=owner)
    assert titles(page_of(show="mine")) == ["Mine"]


def test_needs_a_human_shows_only_those(make: Make, page_of: Callable[..., Page]) -> None:
    make("Waits", Status.AWAITING_HUMAN)
    make("Works", Status.IMPLEMENTING)
    assert titles(page_of(show="needs")) == ["Waits"]


def test_the_filter_narrows_by_model_and_repository(make: Make, page_of: Callable[..., Page]) -> None:
    other = Repository.objects.create(name="other", source="/srv/other", status="ready")
    make("One", model="gpt-6-sol")
    make("Two", repository=other)
    assert titles(page_of(model="gpt-6-sol")) == ["One"]
    assert titles(page_of(repository=str(other.pk))) == ["Two"]


@pytest.mark.parametrize(
    "query", [{"repository": "1 or 1"}, {"repository": "9" * 30}, {"page": "x"}, {"show": "?"}, {"q": "\0a"}]
)
def test_a_senseless_filter_is_no_error(make: Make, page_of: Callable[..., Page], query: dict[str, str]) -> None:
    make("A task")
    page_of(**query)


def test_fifty_tasks_make_a_page(make: Make, page_of: Callable[..., Page]) -> None:
    for number in range(53):
        make(f"Task {number}")
    assert len(titles(page_of())) == 50
    last = page_of(page="2")
    assert titles(last) == ["Task 2", "Task 1", "Task 0"]
    assert last.one("a", rel="prev").attrs["href"] == "?page=1"


def test_the_queries_do_not_grow_with_the_tasks(make: Make, page_of: Callable[..., Page]) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            page_of()
        return len(queries)

    def busy(number: int) -> None:
        run = make(f"Task {number}", Status.IMPLEMENTING)
        call = {"call_id": "c", "tool": "read_file", "input": {"file_path": "a"}, "resolved": {}, "effect": "READ"}
        events.append(run.pk, Fact(Kind.TOOL_CALL, call, call_id="c"))

    busy(0)
    few = count()
    for number in range(1, 30):
        busy(number)
    assert count() == few
    assert few <= 12


def test_a_live_row_is_the_row_of_the_page(make: Make, client: Client, teammate: User) -> None:
    run = make("Mend add", Status.IMPLEMENTING)
    client.force_login(teammate)
    page = client.get(reverse("board")).content.decode()
    row = board.row_html(run)
    assert f'id="task-{run.task_id}"' in row
    assert "".join(row.split()) in "".join(page.split())


def test_an_empty_board_leads_to_the_first_steps(client: Client, teammate: User) -> None:
    client.force_login(teammate)
    page = Page(client.get(reverse("board")).content)
    empty = page.one("div", class_="empty")
    assert "No task yet." in empty.words
    assert "Add a repository" in empty.words
    assert page.one("form", action=reverse("demo"))


def test_a_viewer_sees_the_board_without_actions(make: Make, client: Client) -> None:
    viewer = person("viewer", Role.VIEWER)
    make("Mend add", Status.PAUSED)
    client.force_login(viewer)
    page = Page(client.get(reverse("board")).content)
    assert titles(page) == ["Mend add"]
    assert "data-can-operate" not in page.one("body").attrs
    assert not page.find("a", href=reverse("task_new"))


def test_tasks_without_runs_are_left_out(plain_repository: Repository, page_of: Callable[..., Page]) -> None:
    Task.objects.create(
        repository=plain_repository, title="No run", prompt="x", base_name="main", base_commit="a" * 40, model="m"
    )
    assert titles(page_of()) == []


# --- proofs ---------------------------------------------------------------------------------------


def test_a_row_tells_how_its_proof_stands_and_what_may_be_bad(make: Make, page_of: Callable[..., Page]) -> None:
    run = make("Mend add", Status.AWAITING_HUMAN)
    counts = {"skipped": 2, "loosened": 1, "added": 3}
    Run.objects.filter(pk=run.pk).update(proof_state="red", proof_snapshot=2, snapshot=2, integrity=counts)
    assert page_of().one("span", class_="proofnote").words == "Proof red2 skipped · 1 loosened"
    Run.objects.filter(pk=run.pk).update(snapshot=3)
    assert "Proof stale" in page_of().one("span", class_="proofnote").words


def test_a_row_without_a_proof_says_nothing_of_one(make: Make, page_of: Callable[..., Page]) -> None:
    make("Mend add", Status.IMPLEMENTING)
    assert not page_of().find("span", class_="proofnote")
