"""Settings: what the sandbox is, which models can be asked, one's tokens and password, and the team."""

from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.models import Group, User
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from agents import expiry
from agents.access import requires
from agents.forms.people import PasswordForm, TokenForm, UserForm
from agents.models import ApiToken, LoginLink, Role, has_role, roles_of
from agents.providers import models
from agents.views import asked
from workspaces import sandbox

TOKENS = 100
USERS_PER_PAGE = 50


@requires(Role.VIEWER)
@never_cache
@require_safe
def settings(request: HttpRequest) -> HttpResponse:
    """Show the settings; `?probe=fresh` looks at the sandbox again."""
    return _page(request)


def _page(request: HttpRequest, **more: Any) -> HttpResponse:
    """Render the page; `more` brings a form with errors, or a secret that is shown this once."""
    user = asked.user(request)
    report = sandbox.probe(fresh=request.GET.get("probe") == "fresh" and has_role(user, Role.OPERATOR))
    context: dict[str, Any] = {
        "report": report,
        "bounds": sandbox.bounds(report),
        "models": [{"info": info, "availability": models.availability(info)} for info in models.all_models()],
        "tokens": list(ApiToken.objects.filter(user=user).order_by("-pk")[:TOKENS]),
        "now": timezone.now(),
        "token_form": TokenForm(held=roles_of(user), auto_id="token_%s"),
        "password_form": PasswordForm(user=user, auto_id="password_%s"),
    }
    if has_role(user, Role.ADMIN):
        users = User.objects.order_by("-is_active", "username").prefetch_related("groups")
        people = Paginator(users, USERS_PER_PAGE).get_page(request.GET.get("people"))
        context |= {
            "people": people,
            "rows": [_person(person) for person in people],
            "user_form": UserForm(auto_id="user_%s"),
            "all_roles": list(Role),
        }
    return render(request, "agents/settings.html", context | more)


def _person(user: User) -> dict[str, Any]:
    names = {group.name for group in user.groups.all()}
    return {"user": user, "roles": [role.value for role in Role if role.value in names], "is_root": user.is_superuser}


# --- one's own -----------------------------------------------------------------------------------------


@requires(Role.VIEWER)
@never_cache
@require_POST
def token_make(request: HttpRequest) -> HttpResponse:
    """Make an API token and show its secret, this once."""
    user = asked.user(request)
    form = TokenForm(request.POST, held=roles_of(user), auto_id="token_%s")
    if not form.is_valid():
        return _page(request, token_form=form)
    if ApiToken.objects.filter(user=user).count() >= TOKENS:
        form.add_error(None, f"You have {TOKENS} tokens; delete one first.")
        return _page(request, token_form=form)
    data = form.cleaned_data
    roles = [Role(name) for name in data["roles"]]
    token, secret = ApiToken.make(user, data["name"], roles, timedelta(days=data["days"]))
    return _page(request, token=token, secret=secret)


@requires(Role.VIEWER)
@require_POST
def token_delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete one of one's own tokens; what uses it is shut out at once."""
    token = get_object_or_404(ApiToken, pk=pk, user=asked.user(request))
    token.delete()
    messages.success(request, f"The token “{token.name}” is deleted; what uses it is shut out.")
    return redirect(f"{reverse('settings')}#tokens")


@requires(Role.VIEWER)
@never_cache
@sensitive_post_parameters("password")
@require_POST
def password_set(request: HttpRequest) -> HttpResponse:
    """Set one's own password; other sessions of the account end, and links that nobody used yet."""
    user = asked.user(request)
    form = PasswordForm(request.POST, user=user, auto_id="password_%s")
    if not form.is_valid():
        return _page(request, password_form=form)
    user.set_password(form.cleaned_data["password"])
    user.save(update_fields=["password"])
    update_session_auth_hash(request, user)
    LoginLink.objects.filter(user=user).delete()
    messages.success(request, "The new password is set. Your other sessions have ended.")
    return redirect(f"{reverse('settings')}#account")


# --- the team ------------------------------------------------------------------------------------------


@requires(Role.ADMIN)
@never_cache
@require_POST
def user_save(request: HttpRequest) -> HttpResponse:
    """Add a user, change one's roles, let one in by a link, or shut one out; `do` says which."""
    match request.POST.get("do"):
        case "add":
            return _add(request)
        case "roles":
            return _set_roles(request, _other(request))
        case "link":
            return _page(request, linked=(person := _other(request)), link=_link(request, person))
        case "shut_out" | "let_in" as word:
            return _set_active(request, _other(request), word == "let_in")
        case _:
            messages.error(request, "Nothing was changed: the form did not say what to do.")
            return redirect("settings")


def _add(request: HttpRequest) -> HttpResponse:
    form = UserForm(request.POST, auto_id="user_%s")
    if form.is_valid() and User.objects.filter(username__iexact=form.cleaned_data["username"]).exists():
        form.add_error("username", f"There is a user “{form.cleaned_data['username']}” already.")
    if not form.is_valid():
        return _page(request, user_form=form)
    with transaction.atomic():
        person = User.objects.create_user(form.cleaned_data["username"])
        _give(person, form.cleaned_data["roles"])
    return _page(request, linked=person, link=_link(request, person))


def _other(request: HttpRequest) -> User:
    return get_object_or_404(User, pk=asked.whole_number(request.POST.get("user", "")))


def _set_roles(request: HttpRequest, person: User) -> HttpResponse:
    wanted = [name for name in request.POST.getlist("roles") if name in Role.values]
    if person == request.user and Role.ADMIN not in wanted and not person.is_superuser:
        messages.error(request, "You can’t take the role admin from yourself; ask another admin to.")
    else:
        _give(person, wanted)
        messages.success(request, f"{person.username}: {', '.join(wanted) or 'no role any more'}.")
    return redirect(f"{reverse('settings')}#people")


def _give(person: User, roles: list[str]) -> None:
    groups = [Group.objects.get_or_create(name=name)[0] for name in roles]
    others = person.groups.exclude(name__in=Role.values)
    person.groups.set([*others, *groups])


def _set_active(request: HttpRequest, person: User, active: bool) -> HttpResponse:
    if person == request.user:
        messages.error(request, "You can’t shut yourself out; ask another admin to.")
        return redirect(f"{reverse('settings')}#people")
    person.is_active = active
    person.save(update_fields=["is_active"])
    if not active:
        expiry.shut_out(person)
    words = "may log in again" if active else "is shut out: their sessions, tokens and login links are gone"
    messages.success(request, f"{person.username} {words}.")
    return redirect(f"{reverse('settings')}#people")


def _link(request: HttpRequest, person: User) -> str:
    return request.build_absolute_uri(reverse("login_link", args=[LoginLink.make(person)]))
