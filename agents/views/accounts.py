"""Log in with a password or a one-time link, and log out."""

from django.contrib.auth import authenticate
from django.contrib.auth import login as begin_session
from django.contrib.auth import logout as end_session
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from agents.forms.people import LoginForm
from agents.models import LoginAttempts, LoginLink

BACKEND = "django.contrib.auth.backends.ModelBackend"
LOCKED = "Too many attempts for this name from your address. Wait 10 minutes, or log in by a link."
WRONG = "No active account has this name and password."


@login_not_required
@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def login(request: HttpRequest) -> HttpResponse:
    """Ask for name and password; ten wrong ones lock the name for the address for ten minutes."""
    if request.user.is_authenticated and request.method != "POST":
        return _go_on(request)
    form = LoginForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        user = _check(request, form)
        if user is not None:
            begin_session(request, user)
            return _go_on(request)
    return render(request, "agents/login.html", {"form": form, "next": _wanted(request)})


def _check(request: HttpRequest, form: LoginForm) -> User | None:
    """Return the user whose password it is; else put the reason on the form."""
    name, address = form.cleaned_data["username"], request.META.get("REMOTE_ADDR") or ""
    if not LoginAttempts.may_try(name, address):
        form.add_error(None, LOCKED)
        return None
    user = authenticate(request, username=name, password=form.cleaned_data["password"])
    if not isinstance(user, User):
        form.add_error(None, WRONG)
        return None
    LoginAttempts.succeeded(name, address)
    return user


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def login_link(request: HttpRequest, secret: str) -> HttpResponse:
    """Show whom a one-time link logs in; the button (not a preview of the link) spends it."""
    if request.method == "POST":
        user = LoginLink.use(secret)
        if user is not None:
            begin_session(request, user, backend=BACKEND)
            return redirect("board")
    person = LoginLink.peek(secret)
    return render(request, "agents/login_link.html", {"person": person}, status=200 if person else 404)


@login_not_required
@require_POST
def logout(request: HttpRequest) -> HttpResponse:
    """End the session."""
    end_session(request)
    return redirect("login")


def _wanted(request: HttpRequest) -> str:
    """Return the page of this site that the person wanted, or ""."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    here = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if here else ""


def _go_on(request: HttpRequest) -> HttpResponse:
    return HttpResponseRedirect(_wanted(request) or resolve_url("board"))
