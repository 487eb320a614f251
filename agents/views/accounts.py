"""Log in with a password or a one-time link, and log out."""

from datetime import timedelta

from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth import login as begin_session
from django.contrib.auth import logout as end_session
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render, resolve_url
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from agents import throttle
from agents.forms.people import LoginForm
from agents.models import LoginLink

BACKEND = "django.contrib.auth.backends.ModelBackend"
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
        data = form.cleaned_data
        user = authenticate(request, username=data["username"], password=data["password"])
        if isinstance(user, User):
            _let_in(request, user)
            return _go_on(request)
        form.add_error(None, WRONG)
    return render(request, "agents/login.html", {"form": form, "next": _wanted(request)})


def locked(request: HttpRequest, answer: HttpResponse | None, credentials: object) -> HttpResponse:
    """Say that the account is locked for this address and when it opens again; django-axes asks for this page."""
    opens = throttle.opens_again(request) or timezone.now()
    left = max(timedelta(seconds=1), opens - timezone.now())
    context = {"opens": opens, "minutes": -(-left // timedelta(minutes=1))}
    response = render(request, "agents/login.html", context, status=429)
    response["Retry-After"] = str(-(-left // timedelta(seconds=1)))
    add_never_cache_headers(response)
    return response


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def login_link(request: HttpRequest, secret: str) -> HttpResponse:
    """Show whom a one-time link logs in; the button (not a preview of the link) spends it."""
    if request.method == "POST":
        user = LoginLink.use(secret)
        if user is not None:
            _let_in(request, user)
            return redirect("board")
    person = LoginLink.peek(secret)
    response = render(request, "agents/login_link.html", {"person": person}, status=200 if person else 404)
    # No page is told the link; "no-referrer" would take the Origin from the form, too, which CSRF protection reads.
    response["Referrer-Policy"] = "strict-origin"
    return response


def _let_in(request: HttpRequest, user: User) -> None:
    """Begin a session that ends at a fixed time, however often it is used."""
    begin_session(request, user, backend=BACKEND)
    request.session.set_expiry(timezone.now() + timedelta(seconds=settings.SESSION_COOKIE_AGE))


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
