"""New tasks: the form, its preview, the demo; and the page of one task with its runs."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.crypto import get_random_string
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agents import control, policy_file
from agents import demo as sample
from agents.access import requires
from agents.control import Refused
from agents.forms.task import TaskForm
from agents.launching import PROMPT_LIMIT, WrongField, check_policy
from agents.models import IdempotencyKey, Role, Run, Task
from agents.models.task import SCRIPTED
from agents.providers import models
from agents.secrets import PER_REPOSITORY
from agents.templatetags import prose
from agents.views import asked
from workspaces import sandbox, sources
from workspaces.git import GitError
from workspaces.models import Repository

RUNS = 100


@requires(Role.OPERATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Show the form, and launch what it asks for. Launching asks the source for news first, up to a minute."""
    ready = Repository.objects.filter(status=Repository.Status.READY)
    if request.method == "POST":
        form = TaskForm(request.POST, request.FILES, repositories=ready)
        run = _launch_once(request, form) if form.is_valid() else None
        if run is not None:
            return redirect("run", run.pk)
    else:
        form = TaskForm(repositories=ready, initial=_initial(request, ready))
    return render(request, "agents/task_new.html", _form_context(form, ready))


# --- launching ---------------------------------------------------------------------------------------


def _launch_once(request: HttpRequest, form: TaskForm) -> Run | None:
    """Launch the task; the same form sent twice gives the same run. None: the reason is on the form."""
    user, key = asked.user(request), f"form {form.cleaned_data['once']}"
    if not form.cleaned_data["once"]:
        return _launch(request, form)
    kept, is_first = IdempotencyKey.objects.get_or_create(user=user, key=key, defaults={"request": "new task"})
    if not is_first:
        return _launched_before(form, kept)
    run = None
    try:
        run = _launch(request, form)
    finally:
        if run is None:
            kept.delete()
    if run is not None:
        kept.status, kept.body = 201, {"run": run.pk}
        kept.save(update_fields=["status", "body"])
    return run


def _launched_before(form: TaskForm, kept: IdempotencyKey) -> Run | None:
    run = Run.objects.filter(pk=kept.body["run"]).first() if kept.body else None
    if run is None:
        form.add_error(None, "This form is being sent already. Look at the board in a moment.")
    return run


def _launch(request: HttpRequest, form: TaskForm) -> Run | None:
    data = form.cleaned_data
    repository: Repository = data["repository"]
    if not sources.refresh(repository):
        messages.warning(
            request, f"{repository.name}: its source did not answer; the task starts from what is mirrored."
        )
    base = data["base"] or repository.default_branch
    commit = _base_commit(form, repository, base)
    if commit is None:
        return None
    try:
        run = control.launch(
            asked.user(request),
            repository=repository,
            title=data["title"],
            prompt=data["prompt"],
            base_name=base,
            base_commit=commit,
            model=data["model"],
            toolset=data["toolset"],
            script=data["script"],
            policy=data["policy"],
            budgets=data["budgets"],
            max_rounds=data["max_rounds"],
        )
    except Refused as refused:
        form.add_error(None, refused.message)
        return None
    Repository.objects.filter(pk=repository.pk).update(may_change_tests=data["policy"]["may_change_tests"])
    return run


def _base_commit(form: TaskForm, repository: Repository, base: str) -> str | None:
    """Return the commit of a base whose policy can be read. None: the reason is on the form."""
    try:
        commit = sources.resolve(repository, base)
        check_policy(repository, commit)
    except (sources.SourceError, GitError) as error:
        form.add_error("base", str(error))
    except WrongField as wrong:
        form.add_error(wrong.field, wrong.sentence)
    else:
        return commit
    return None


# --- the form ------------------------------------------------------------------------------------------


def _initial(request: HttpRequest, ready: Any) -> dict[str, Any]:
    """Return what the form begins with: the repository asked for (or the first), its commands, a model with a key."""
    chosen = _ready_one(request.GET.get("repository", ""), ready) or ready.first()
    given: dict[str, Any] = {"model": models.default_model() or SCRIPTED, "once": get_random_string(24)}
    if chosen is None:
        return given
    return {
        **given,
        "repository": chosen.pk,
        "verify": chosen.verify,
        "may_change_tests": chosen.may_change_tests,
    }


def _form_context(form: TaskForm, ready: Any) -> dict[str, Any]:
    chosen = _ready_one(form["repository"].value(), ready)
    report, choices = sandbox.probe(), _model_choices(form)
    return {
        "form": form,
        "repository": chosen,
        "standing": policy_file.look(chosen) if chosen else None,
        "secret_names": chosen.secrets.values_list("name", flat=True)[:PER_REPOSITORY] if chosen else [],
        "no_repository": not ready.exists(),
        "unready": list(Repository.objects.exclude(status=Repository.Status.READY)[:20]) if chosen is None else [],
        "branches": _branches(chosen) if chosen else [],
        "uncommitted": sources.uncommitted(chosen) if chosen else 0,
        "sandbox": report if report.level == "none" else None,
        "choices": [choice for choice in choices if choice["ok"]],
        "unusable": [choice for choice in choices if not choice["ok"]],
        "has_real_model": models.default_model() is not None,
    }


def _branches(repository: Repository) -> list[str]:
    """Return names to offer; none where the mirror is damaged, as launching then says what is wrong."""
    try:
        return sources.branches(repository, limit=200)
    except GitError:
        return []


def _ready_one(given: object, ready: Any) -> Repository | None:
    """Return the ready repository of the given id, or None."""
    number = asked.whole_number(str(given))
    return None if number is None else ready.filter(pk=number).first()


def _model_choices(form: TaskForm) -> list[dict[str, Any]]:
    """Return every model with whether it can be asked, and why not."""
    chosen = form["model"].value()
    known = [(info, models.availability(info)) for info in models.all_models()]
    return [
        {"info": info, "ok": found.ok, "why": found.why, "checked": found.ok and info.name == chosen}
        for info, found in known
    ]


@requires(Role.OPERATOR)
@require_POST
def preview(request: HttpRequest) -> HttpResponse:
    """Return the posted Markdown as the HTML that everybody will see."""
    text = request.POST.get("text", "")[:PROMPT_LIMIT]
    return HttpResponse(prose.render(text) if text.strip() else '<p class="muted">Nothing to preview yet.</p>')


@requires(Role.OPERATOR)
@require_POST
def demo(request: HttpRequest) -> HttpResponse:
    """Launch the demo: a sample repository and a scripted team; no key is needed."""
    try:
        run = sample.start(asked.user(request))
    except (Refused, sources.SourceError) as error:
        messages.error(request, f"The demo did not start: {error}")
        return redirect("board")
    return redirect("run", run.pk)


# --- one task ------------------------------------------------------------------------------------------


@requires(Role.VIEWER)
@require_safe
def task(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what was asked for and every run of it."""
    found = get_object_or_404(Task.objects.select_related("repository", "created_by"), pk=pk)
    runs = list(found.runs.order_by("-number")[:RUNS])
    context = {"task": found, "runs": runs, "rules": found.rules(), "limits": found.limits()}
    return render(request, "agents/task.html", context)


@requires(Role.OPERATOR)
@require_POST
def run_again(request: HttpRequest, pk: int) -> HttpResponse:
    """Queue one more attempt at the task, from the same base."""
    found = get_object_or_404(Task, pk=pk)
    try:
        run = control.new_run(found, asked.user(request))
    except Refused as refused:
        messages.error(request, refused.message)
        return redirect("task", found.pk)
    return redirect("run", run.pk)
