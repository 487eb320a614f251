"""The board: every task in its group, with what it does now; one partial serves the page and the live rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import Case, Count, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum, Value, When
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.http import require_safe

from agents.access import requires
from agents.models import Event, Kind, Role, Run, Status, Task
from agents.models.run import URGENCY
from agents.now import Now, now_of
from agents.proof_shown import Glance, glance
from agents.views.asked import whole_number
from workspaces.models import Repository

PER_PAGE = 50
WORDS = 10
CHOICES = 200
"""Repositories and models that the filter offers, at most."""
SHOWN_KINDS = (Kind.TOOL_CALL, Kind.MODEL_RESPONSE, Kind.REVIEW, Kind.NOTE)


@dataclass(frozen=True)
class Group:
    """A part of the board."""

    name: str
    title: str
    statuses: tuple[Status, ...]


GROUPS = (
    Group("needs", "Needs a human", (Status.NEEDS_ATTENTION, Status.AWAITING_HUMAN, Status.FAILED)),
    Group("working", "Working", (Status.PREPARING, Status.IMPLEMENTING, Status.REVIEWING)),
    Group("waiting", "Queued and paused", (Status.QUEUED, Status.PAUSED)),
    Group("done", "Done", (Status.APPROVED, Status.REJECTED, Status.CANCELLED)),
)
NEEDS = 0
BUDGET_WORDS = {"usd": "money", "seconds": "time"}


@dataclass(frozen=True)
class Budget:
    """The budget that is used up most: what the meter of a row shows."""

    name: str
    percent: int


@dataclass(frozen=True)
class Row:
    """A task with its most urgent run, as templates/agents/_board_row.html shows it."""

    task: Task
    run: Run
    now: Now
    group: Group

    @property
    def budget(self) -> Budget:
        limits = self.task.limits().model_dump()
        shares = {BUDGET_WORDS.get(name, name): used / limits[name] for name, used in self.run.used().items()}
        name = max(shares, key=lambda key: shares[key]) if max(shares.values()) >= 0.01 else "money"
        return Budget(name, min(100, round(100 * shares[name])))

    @property
    def sandbox_warning(self) -> str:
        """What is to be said of the sandbox of the last command, where it was not whole."""
        level = self.run.sandbox.get("level", "full")
        return "" if level == "full" else f"Sandbox {level}"

    @property
    def proof(self) -> Glance | None:
        """What its row tells of the proof of done."""
        return glance(self.run)

    @property
    def url_name(self) -> str:
        """The page to go to: the review when it waits for one."""
        return "review" if self.run.state is Status.AWAITING_HUMAN else "run"


@dataclass(frozen=True)
class Filter:
    """What the board is asked to show; what can't be understood is left out."""

    q: str = ""
    repository: int | None = None
    model: str = ""
    show: str = "all"

    @classmethod
    def of(cls, query: QueryDict) -> "Filter":
        show = query.get("show", "all")
        return cls(
            q=query.get("q", "")[:200].replace("\0", "").strip(),
            repository=whole_number(query.get("repository", "")),
            model=query.get("model", "")[:100].replace("\0", ""),
            show=show if show in ("mine", "needs") else "all",
        )

    @property
    def narrows(self) -> bool:
        return self != Filter()

    @property
    def chosen(self) -> int:
        """How many choices of the filter menu are made."""
        return bool(self.repository) + bool(self.model)

    def query(self) -> str:
        """Return the filter as a query string, for links to other pages of it."""
        given = {"q": self.q, "repository": self.repository or "", "model": self.model, "show": self.show}
        return urlencode({name: value for name, value in given.items() if value and value != "all"})

    def of_tasks(self, user: Any) -> Q:
        fits = Q()
        for word in self.q.split()[:WORDS]:
            fits &= Q(title__icontains=word) | Q(prompt__icontains=word) | Q(repository__name__icontains=word)
        if self.repository:
            fits &= Q(repository_id=self.repository)
        if self.model:
            fits &= Q(model=self.model)
        if self.show == "mine":
            fits &= Q(created_by=user)
        return fits


@require_safe
@requires(Role.VIEWER)
def board(request: HttpRequest) -> HttpResponse:
    """Show one page of the board, 50 tasks. The number of queries does not grow with the tasks."""
    wanted = Filter.of(request.GET)
    fitting: Any = _grouped().filter(wanted.of_tasks(request.user))
    counts = dict(fitting.order_by().values_list("group").annotate(count=Count("pk")))
    if wanted.show == "needs":
        fitting = fitting.filter(group=NEEDS)
    page = Paginator(fitting.order_by("group", "-pk"), PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "filter": wanted,
        "page": page,
        "groups": _groups(page, counts),
        "needs": counts.get(NEEDS, 0),
        "total": sum(counts.values()),
        "spent_today": _spent_today(),
        **_choices(),
    }
    return render(request, "agents/board.html", context)


def row_html(run: Run) -> str:
    """Return the row of the run's task, for the live board. Three queries."""
    rows = _rows(_grouped().filter(pk=run.task_id))
    return "".join(render_to_string("agents/_board_row.html", {"row": row}) for row in rows)


def _grouped() -> QuerySet[Task, Any]:
    """Return the tasks with `lead`, the id of their most urgent run, and `group`, the index of its group."""
    rank = Case(*(When(status=status, then=Value(place)) for place, status in enumerate(URGENCY)))
    leads = Run.objects.filter(task=OuterRef("pk")).annotate(rank=rank).order_by("rank", "-number")
    group = Case(
        *(When(lead_status__in=group.statuses, then=Value(place)) for place, group in enumerate(GROUPS)),
        default=Value(len(GROUPS) - 1),
        output_field=IntegerField(),
    )
    tasks = Task.objects.annotate(
        lead=Subquery(leads.values("pk")[:1]), lead_status=Subquery(leads.values("status")[:1])
    )
    return cast("QuerySet[Task, Any]", tasks.annotate(group=group))


def _rows(tasks: Iterable[Any]) -> list[Row]:
    """Return the rows of tasks of `_grouped`, at most 50. Three queries."""
    found = list(tasks.select_related("repository", "created_by")[:PER_PAGE] if isinstance(tasks, QuerySet) else tasks)
    runs = _runs([task.lead for task in found if task.lead is not None])
    events = Event.objects.in_bulk([run.shown_event for run in runs.values() if run.shown_event])
    return [
        Row(task, run, now_of(run, events.get(run.shown_event)), GROUPS[task.group])
        for task in found
        if (run := runs.get(task.lead))
    ]


def _runs(ids: list[int]) -> dict[int, Any]:
    last = Event.objects.filter(run=OuterRef("pk"), kind__in=SHOWN_KINDS).order_by("-seq").values("pk")[:1]
    return Run.objects.annotate(shown_event=Subquery(last)).in_bulk(ids)


def _groups(page: Page[Any], counts: dict[int, int]) -> list[dict[str, Any]]:
    """Return every group with its rows on this page; an empty one is there too, hidden, for rows that move into it."""
    rows = _rows(page.object_list)
    return [
        {"group": group, "count": counts.get(place, 0), "rows": [row for row in rows if row.group is group]}
        for place, group in enumerate(GROUPS)
    ]


def _spent_today() -> Decimal:
    midnight = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    spent = Run.objects.filter(updated_at__gte=midnight, created_at__gte=midnight).aggregate(usd=Sum("usd"))["usd"]
    return spent or Decimal(0)


def _choices() -> dict[str, Any]:
    """Return what the filter offers. Two queries."""
    models = Task.objects.order_by("model").values_list("model", flat=True).distinct()
    return {
        "repositories": list(Repository.objects.values("pk", "name", "status")[:CHOICES]),
        "models": list(models[:CHOICES]),
    }
