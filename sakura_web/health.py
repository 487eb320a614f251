"""Whether this process lives, whether it can serve, and a few figures for Prometheus."""

from collections.abc import Iterator
from functools import cache
from ipaddress import ip_address

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Count, Min, Sum
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from agents import doorbell
from agents.access import refusal
from agents.api.auth import by_token
from agents.control import Refused
from agents.models import Role, Run, Status
from workspaces.models import Repository

LAYER_TIMEOUT_S = 2.0


@login_not_required
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer that the process lives; asks nothing else."""
    return JsonResponse({"status": "ok"})


@login_not_required
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Answer whether database, migrations and channel layer are in order; never what is wrong."""
    ready = _database_is_ready() and doorbell.answers(LAYER_TIMEOUT_S)
    return JsonResponse({"status": "ok" if ready else "unavailable"}, status=200 if ready else 503)


class _NotMigrated(Exception):
    """The database lacks migrations of this version."""


def _database_is_ready() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        _check_migrations()
    except (DatabaseError, _NotMigrated):
        return False
    return True


@cache
def _check_migrations() -> None:
    """Raise _NotMigrated if one is missing. It reads all migration files, so a good answer is kept."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise _NotMigrated


@login_not_required
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer in the text format of Prometheus, to this machine or to who sends a token. Four queries."""
    sentence = "" if _is_local(request) else _refusal(request)
    if sentence:
        return HttpResponse(f"{sentence}\n", status=403, content_type="text/plain; charset=utf-8")
    return HttpResponse("\n".join(_figures()) + "\n", content_type="text/plain; version=0.0.4; charset=utf-8")


def _is_local(request: HttpRequest) -> bool:
    """A proxy on this machine also comes from loopback, but it says for whom it asks."""
    if "X-Forwarded-For" in request.headers or "Forwarded" in request.headers:
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


def _refusal(request: HttpRequest) -> str:
    try:
        user = by_token(request.headers.get("Authorization", ""))
    except Refused as refused:
        return refused.message
    return refusal(user, Role.VIEWER)


def _figures() -> Iterator[str]:
    yield from _family("sakura_runs", "gauge", "Runs by status.")
    found = dict(Run.objects.order_by().values_list("status").annotate(Count("pk")))
    for status in Status.values:
        yield f'sakura_runs{{status="{status}"}} {found.get(status, 0)}'
    yield from _totals()
    yield from _family("sakura_oldest_queued_seconds", "gauge", "How long the oldest queued run has not moved.")
    oldest = Run.objects.filter(status=Status.QUEUED).aggregate(at=Min("updated_at"))["at"]
    yield f"sakura_oldest_queued_seconds {(timezone.now() - oldest).total_seconds() if oldest else 0:.1f}"
    yield from _family("sakura_repositories", "gauge", "Repositories by status.")
    mirrors = dict(Repository.objects.order_by().values_list("status").annotate(Count("pk")))
    for state in Repository.Status.values:
        yield f'sakura_repositories{{status="{state}"}} {mirrors.get(state, 0)}'


TOTALS = {
    "last_seq": ("sakura_events_total", "Events of all runs."),
    "step": ("sakura_steps_total", "Model responses of all runs."),
    "input_tokens": ("sakura_input_tokens_total", "Tokens sent to models."),
    "output_tokens": ("sakura_output_tokens_total", "Tokens that models answered with."),
    "usd": ("sakura_usd_total", "What the models cost."),
}


def _totals() -> Iterator[str]:
    sums = Run.objects.aggregate(**{f"sum_{field}": Sum(field) for field in TOTALS})
    for field, (name, meaning) in TOTALS.items():
        yield from _family(name, "counter", meaning)
        yield f"{name} {sums[f'sum_{field}'] or 0}"


def _family(name: str, kind: str, meaning: str) -> Iterator[str]:
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"
