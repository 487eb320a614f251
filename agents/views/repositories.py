"""Repositories: add a source, watch its mirror being made, say how it is set up, refresh it, take it away."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agents import doorbell, policy_file
from agents import repositories as acting
from agents import secrets as keeping
from agents.access import requires
from agents.control import Refused
from agents.forms.repository import RepositoryAddForm, RepositoryForm, SecretForm
from agents.models import Role, has_role
from agents.views import asked
from workspaces import credentials, sources
from workspaces.models import Repository

PER_PAGE = 50
TAKEN = {"setup": "setup", "verify": "verify", "hosts": "setup_hosts"}
"""The kinds of suggestions, and the field that each one goes to."""


@requires(Role.VIEWER)
@require_safe
def repositories(request: HttpRequest) -> HttpResponse:
    """List the repositories, 50 a page; `?part=list` gives the list alone, for the page to refresh itself."""
    rows = Repository.objects.annotate(task_count=Count("tasks"))
    page = Paginator(rows.order_by("name"), PER_PAGE).get_page(request.GET.get("page"))
    template = "agents/_repository_list.html" if request.GET.get("part") == "list" else "agents/repositories.html"
    return render(request, template, {"page": page})


@requires(Role.OPERATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    """Add a source; a worker mirrors it next."""
    form = RepositoryAddForm(request.POST or None, is_admin=has_role(request.user, Role.ADMIN))
    if request.method == "POST" and form.is_valid():
        row = _create(request, form)
        if row is not None:
            return redirect("repository", row.pk)
    return render(request, "agents/repository_add.html", {"form": form})


def _create(request: HttpRequest, form: RepositoryAddForm) -> Repository | None:
    data = form.cleaned_data
    try:
        return acting.add(asked.user(request), name=data["name"], source=data["source"], credential=data["credential"])
    except Refused as refused:  # somebody took the name since the form was checked
        form.add_error(None, refused.message)
    except sources.SourceError as error:
        form.add_error("source", str(error))
    return None


@requires(Role.VIEWER)
@require_http_methods(["GET", "HEAD", "POST"])
def repository(request: HttpRequest, pk: int) -> HttpResponse:
    """Show one repository; an operator's POST changes its commands. `?part=status` gives its state alone."""
    row = found(pk)
    if request.GET.get("part") == "status":
        return render(request, "agents/_repository_status.html", {"repository": row})
    if request.method == "POST":
        return _save(request, pk=pk)
    return show(request, row)


def found(pk: int) -> Any:
    """Return a repository with its `task_count`. Raises Http404."""
    return get_object_or_404(Repository.objects.annotate(task_count=Count("tasks")), pk=pk)


def _kept(row: Repository) -> dict[str, Any]:
    return {"setup": row.setup, "setup_hosts": row.setup_hosts, "verify": row.verify}


@requires(Role.OPERATOR)
def _save(request: HttpRequest, pk: int) -> HttpResponse:
    row = found(pk)
    form = RepositoryForm(_taken_over(request, row))
    if not form.is_valid():
        return show(request, row, form)
    data = form.cleaned_data
    row.setup, row.setup_hosts, row.verify = data["setup"], data["setup_hosts"], data["verify"]
    changed = ["setup", "setup_hosts", "verify"]
    if data["credential"]:
        row.credential = credentials.seal(data["credential"])
        changed.append("credential")
    row.save(update_fields=changed)
    messages.success(request, f"{row.name}: saved. It holds for runs that start from now on.")
    return redirect("repository", row.pk)


def _taken_over(request: HttpRequest, row: Repository) -> dict[str, Any]:
    """Return the posted fields, with the suggestion whose button was pressed ("setup:0") added to its field."""
    posted = request.POST.dict()
    kind, _, place = str(posted.get("take", "")).partition(":")
    known = (row.suggestions or {}).get(kind)
    if kind in TAKEN and isinstance(known, list) and place.isdecimal() and int(place) < len(known):
        field, suggestion = TAKEN[kind], _words(known[int(place)])
        lines = str(posted.get(field, "")).splitlines()
        posted[field] = "\n".join([*lines, *([suggestion] if suggestion not in lines else [])])
    return posted


def _words(suggestion: Any) -> str:
    return str(suggestion.get("command", "")) if isinstance(suggestion, dict) else str(suggestion)


def show(
    request: HttpRequest, row: Repository, form: RepositoryForm | None = None, secret_form: SecretForm | None = None
) -> HttpResponse:
    """Return the page of a repository, with forms as they were sent, or new ones."""
    context = {
        "repository": row,
        "form": form or RepositoryForm(initial=_kept(row)),
        "suggestions": _suggestions(row),
        "size_bytes": _size(row),
        "secrets": _secrets(row),
        "secret_form": secret_form or SecretForm(),
        "standing": policy_file.look(row),
    }
    return render(request, "agents/repository.html", context)


def _secrets(row: Repository) -> list[dict[str, Any]]:
    kept = row.secrets.select_related("set_by").order_by("name")[: keeping.PER_REPOSITORY]
    return [{"secret": each, "readable": keeping.is_readable(each)} for each in kept]


def _suggestions(row: Repository) -> list[dict[str, str]]:
    """Return what was found in the repository and is not in use yet."""
    found = []
    for kind, field in TAKEN.items():
        known = (row.suggestions or {}).get(kind)
        for place, suggestion in enumerate(known if isinstance(known, list) else []):
            if _words(suggestion) not in getattr(row, field):
                because = str(suggestion.get("because", "")) if isinstance(suggestion, dict) else ""
                found.append(
                    {"take": f"{kind}:{place}", "kind": field, "words": _words(suggestion), "because": because}
                )
    return found[:20]


def _size(row: Repository) -> int:
    """Return the bytes of the mirror's packs (its objects but for a few), 0 where there is none."""
    try:
        return sum(path.stat().st_size for path in (row.mirror / "objects" / "pack").iterdir())
    except OSError:
        return 0


@requires(Role.OPERATOR)
@require_POST
def refresh(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask the source for news now; a mirror that failed is made again by a worker."""
    row = get_object_or_404(Repository, pk=pk)
    try:
        acting.refresh(row)
    except Refused as refused:
        messages.error(request, refused.message)
    else:
        if row.status == Repository.Status.READY:
            messages.success(request, f"{row.name}: up to date with its source.")
    return redirect("repository", pk)


@requires(Role.OPERATOR)
@require_POST
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask the worker that mirrors to stop."""
    asked = Repository.objects.filter(pk=pk, status=Repository.Status.MIRRORING).update(cancel_requested=True)
    if asked:
        doorbell.ring_workers()
    else:
        messages.warning(request, "Nothing to cancel: it is not being mirrored any more.")
    return redirect("repository", pk)


@requires(Role.ADMIN)
@require_POST
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a repository and its mirror away; the source is never touched. Refused while it has tasks."""
    row = get_object_or_404(Repository, pk=pk)
    try:
        acting.remove(row)
    except Refused as refused:
        messages.error(request, refused.message)
        return redirect("repository", pk)
    messages.success(request, f"{row.name} is deleted here. Its source was not touched.")
    return redirect("repositories")
