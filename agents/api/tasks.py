"""Tasks: launch one, find them, run one again."""

from datetime import datetime
from typing import Annotated, Any

from django.db.models import Case, Count, IntegerField, OuterRef, Prefetch, Q, QuerySet, Subquery, Value, When
from django.http import HttpRequest
from django.urls import reverse
from ninja import Query, Router
from pydantic import BaseModel, Field

from agents import control
from agents.api.auth import caller, operator
from agents.api.errors import not_found
from agents.api.paging import Paged, PageQuery, page_of
from agents.launching import Launch
from agents.models import Budgets, Policy, Run, Status, Task
from agents.models.run import URGENCY

router = Router(tags=["tasks"])

PER_PAGE = 50
RUNS_SHOWN = 50


class RunBrief(BaseModel):
    id: int
    number: int
    status: Status


class TaskOut(BaseModel):
    id: int
    url: str
    title: str
    prompt: str
    repository: int
    repository_name: str
    base: str
    base_commit: str
    model: str
    toolset: Task.Toolset
    policy: Policy
    budgets: Budgets
    max_rounds: int
    status: Status
    created_by: str
    created_at: datetime
    runs: list[RunBrief] = Field(description="The latest 50, oldest first.")


class TasksOut(Paged):
    tasks: list[TaskOut] = Field(description="Newest first.")
    counts: dict[str, int] = Field(description="Tasks that fit `q`, by status.")


class TaskQuery(PageQuery):
    status: Status | None = None
    q: str = Field("", max_length=200, description="Words in the title or the prompt.")


@router.post("/tasks", response={201: TaskOut}, auth=operator)
def launch(request: HttpRequest, asked: Launch) -> TaskOut:
    """Launch a task: its first run is queued. Asks the repository's source for news first, which may take a while."""
    run = control.launch(caller(request), **asked.fields())
    return _out(request, _find(run.task_id))


@router.get("/tasks", response=TasksOut)
def tasks(request: HttpRequest, query: Annotated[TaskQuery, Query()]) -> TasksOut:
    """List tasks, 50 a page."""
    found = _ranked().filter(_words(query.q))
    ranks = found.order_by().values_list("rank").annotate(Count("pk"))
    counts = {URGENCY[rank].value: count for rank, count in ranks}
    if query.status is not None:
        found = found.filter(rank=URGENCY.index(query.status))
    rows, figures = page_of(_with_parts(found.order_by("-pk")), query.page, PER_PAGE)
    return TasksOut(tasks=[_out(request, row) for row in rows], counts=counts, **figures)


@router.get("/tasks/{int:task_id}", response=TaskOut)
def task(request: HttpRequest, task_id: int) -> TaskOut:
    """Give one task with its runs."""
    return _out(request, _find(task_id))


@router.post("/tasks/{int:task_id}/runs", response={201: RunBrief}, auth=operator)
def run_again(request: HttpRequest, task_id: int) -> RunBrief:
    """Queue one more attempt at the task, from the same base."""
    return _brief(control.new_run(_find(task_id), caller(request)))


def _ranked() -> QuerySet[Any, Any]:
    """Return the tasks with `rank`, the place in URGENCY of their most urgent run."""
    rank = Case(*(When(status=status, then=Value(place)) for place, status in enumerate(URGENCY)))
    ranks = Run.objects.filter(task=OuterRef("pk")).annotate(rank=rank).order_by("rank").values("rank")
    return Task.objects.annotate(rank=Subquery(ranks[:1], output_field=IntegerField())).filter(rank__isnull=False)


def _words(q: str) -> Q:
    fits = Q()
    for word in q.split()[:10]:
        fits &= Q(title__icontains=word) | Q(prompt__icontains=word)
    return fits


def _with_parts(tasks: QuerySet[Any, Any]) -> QuerySet[Any, Any]:
    latest = Run.objects.only("pk", "task", "number", "status").order_by("-number")[:RUNS_SHOWN]
    return tasks.select_related("repository", "created_by").prefetch_related(
        Prefetch("runs", queryset=latest, to_attr="latest_runs")
    )


def _find(task_id: int) -> Any:
    found = _with_parts(_ranked()).filter(pk=task_id).first()
    if found is None:
        raise not_found(f"task {task_id}")
    return found


def _out(request: HttpRequest, row: Any) -> TaskOut:
    return TaskOut(
        id=row.pk,
        url=request.build_absolute_uri(reverse("task", args=[row.pk])),
        title=row.title,
        prompt=row.prompt,
        repository=row.repository_id,
        repository_name=row.repository.name,
        base=row.base_name,
        base_commit=row.base_commit,
        model=row.model,
        toolset=row.toolset,
        policy=row.rules(),
        budgets=row.limits(),
        max_rounds=row.max_rounds,
        status=URGENCY[row.rank],
        created_by=row.created_by.get_username() if row.created_by else "",
        created_at=row.created_at,
        runs=[_brief(run) for run in reversed(row.latest_runs)],
    )


def _brief(run: Run) -> RunBrief:
    return RunBrief(id=run.pk, number=run.number, status=run.state)
