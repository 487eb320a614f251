"""The policy page of a repository: how its file stands, what an edited one would do, and proposing it to the source."""

import re
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from agents import policy_file
from agents.access import requires
from agents.control import Refused
from agents.forms.policies import PolicyForm
from agents.models import Role
from agents.policies import PATH
from agents.policy_file import EXAMPLE, STEM, Standing
from agents.views import asked
from workspaces import odd, proposing
from workspaces.git import GitError
from workspaces.models import Repository

CHECK, TRY, PROPOSE = "check", "try", "propose"


@requires(Role.VIEWER)
@require_http_methods(["GET", "HEAD", "POST"])
def policy(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the policy file of the default branch; an operator's POST checks, tries or proposes an edited one."""
    row = get_object_or_404(Repository, pk=pk)
    if request.method == "POST":
        return _edited(request, pk=pk)
    standing = policy_file.look(row)
    proposal = _proposed(row, request.GET.get("proposed", ""))
    form = PolicyForm(initial={"text": EXAMPLE if standing.text is None else standing.text})
    shown = {"proposal": proposal, "merge_commands": proposing.merge_commands(row, proposal.branch) if proposal else []}
    return _show(request, row, standing, form, **shown)


@requires(Role.OPERATOR)
def _edited(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Repository, pk=pk)
    form = PolicyForm(request.POST)
    do, seen = request.POST.get("do", CHECK), request.POST.get("seen")
    if do != TRY:
        form.errors.pop("tries", None)  # nobody asked for these yet
    if do == PROPOSE and form.file is not None:
        try:
            made = policy_file.propose(row, asked.user(request), form.cleaned_data["text"], seen)
        except Refused as refused:
            form.add_error(None, refused.message)
        else:
            number = made.branch.rpartition("-")[2]
            return redirect(f"{reverse('repository_policy', args=[pk])}?proposed={number}")
    standing = policy_file.look(row)
    outcomes = _outcomes(row, standing, form) if do == TRY and form.is_valid() else None
    is_checked = do == CHECK and form.file is not None
    moved = seen is not None and seen != standing.blob
    left_out = len(form.cleaned_data["tries"]) - len(outcomes) if outcomes is not None and form.is_valid() else 0
    shown = {"outcomes": outcomes, "left_out": left_out, "is_checked": is_checked, "moved": moved}
    return _show(request, row, standing, form, **shown)


def _outcomes(row: Repository, standing: Standing, form: PolicyForm) -> list[policy_file.Outcome]:
    if not form.cleaned_data["tries"]:
        form.add_error("tries", "Write what to try, such as write tests/test_x.py.")
        return []
    if form.file is None or standing.unread:
        return []
    try:
        return policy_file.tried(row, standing.commit, form.file, form.cleaned_data["tries"])
    except Refused as refused:
        form.add_error(None, refused.message)
        return []


def _proposed(row: Repository, number: str) -> proposing.Proposal | None:
    """Return the proposal that an address names, None for one that was not made here."""
    if not re.fullmatch("[0-9]{1,9}", number):
        return None
    try:
        return proposing.proposed(row, f"{STEM}-{number}")
    except GitError:
        return None


def _show(request: HttpRequest, row: Repository, standing: Standing, form: PolicyForm, **more: Any) -> HttpResponse:
    text = form["text"].value() or ""
    context = {
        "repository": row,
        "standing": standing,
        "form": form,
        "path": PATH,
        "stem": STEM,
        "notes": form.file.notes() if form.file else () if form.is_bound else standing.notes,
        "kept": policy_file.kept(row, standing, form.cleaned_data["text"] if form.file else text),
        "has_odd": odd.spelled(policy_file.one_ending(text)) != policy_file.one_ending(text),
    }
    return render(request, "agents/policy.html", context | more)
