"""The secrets of a repository, as its page sets and deletes them; none is ever shown."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.text import capfirst
from django.views.decorators.http import require_POST

from agents import secrets
from agents.access import requires
from agents.control import Refused
from agents.forms.repository import SecretForm
from agents.models import Role
from agents.views import asked
from agents.views.repositories import found, show
from workspaces.models import Repository


@requires(Role.OPERATOR)
@require_POST
def secret_set(request: HttpRequest, pk: int) -> HttpResponse:
    """Set or replace a secret; what is wrong with it comes back beside its field, the value does not."""
    row = found(pk)
    form = SecretForm(request.POST)
    if form.is_valid() and _put(request, row, form):
        messages.success(request, f"{form.cleaned_data['name']} is kept. It is masked in whatever runs show.")
        return redirect("repository", row.pk)
    return show(request, row, secret_form=form)


def _put(request: HttpRequest, row: Repository, form: SecretForm) -> bool:
    try:
        secrets.put(row, asked.user(request), form.cleaned_data["name"], form.cleaned_data["value"])
    except Refused as refused:
        field, _, sentence = refused.message.partition(": ")
        form.add_error(field if field in form.fields else None, capfirst(sentence))
        return False
    return True


@requires(Role.OPERATOR)
@require_POST
def secret_delete(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """Forget a secret."""
    row = get_object_or_404(Repository, pk=pk)
    try:
        secrets.delete(row, asked.user(request), name)
    except Refused as refused:
        messages.error(request, refused.message)
    else:
        messages.success(request, f"{name} is deleted. Tasks that name it go on without it.")
    return redirect("repository", row.pk)
