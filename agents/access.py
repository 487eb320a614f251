"""Who may call a view: a role per view, and no page at all for users without one. What they see is kept nowhere."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.utils.deprecation import MiddlewareMixin

from agents.control import Refused
from agents.models import Role, has_role, roles_of

View = TypeVar("View", bound=Callable[..., HttpResponseBase])

NO_ROLE = "Your account has no role yet. Ask an administrator to give you one (at least viewer)."
OPEN_TO_ALL = frozenset({"login", "login_link", "logout"})

MAY = {
    Role.VIEWER: "watch",
    Role.OPERATOR: "launch, steer and stop runs",
    Role.REVIEWER: "comment, revert and decide",
    Role.ADMIN: "administer this installation",
}


def refusal(user: AbstractBaseUser | AnonymousUser, role: Role) -> str:
    """Return why the user may not do what the role is for, in a sentence, or "" if they may."""
    if has_role(user, role):
        return ""
    if not roles_of(user):
        return NO_ROLE
    return f"This needs the role {role.value} (to {MAY[role]}). Ask an administrator to give it to you."


def demand(user: AbstractBaseUser | AnonymousUser, role: Role) -> None:
    """Raise Refused (403) unless the user may do what the role is for."""
    if sentence := refusal(user, role):
        raise Refused("FORBIDDEN", sentence, 403)


def requires(role: Role) -> Callable[[View], View]:
    """Let only users with the role call the view; others get 403 with a sentence, as a page or as JSON."""

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            sentence = refusal(request.user, role)
            return forbidden(request, sentence) if sentence else view(request, *args, **kwargs)

        guarded.required_role = role  # type: ignore[attr-defined]  # the test of all routes reads it
        return cast(View, guarded)

    return decorate


def forbidden(request: HttpRequest, sentence: str) -> JsonResponse:
    """Return 403 as JSON to those who do not take HTML; the others get the page of 403.html.

    Raises PermissionDenied for the page.
    """
    if request.accepts("text/html"):
        raise PermissionDenied(sentence)
    return JsonResponse({"error": {"code": "FORBIDDEN", "message": sentence}}, status=403)


class NothingKeptMiddleware(MiddlewareMixin):
    """Let no browser or proxy keep what only some may see: after a log-out, "back" shows nothing."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response


class RoleRequiredMiddleware(MiddlewareMixin):
    """Refuse users without any role everywhere but where they log in and out."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> JsonResponse | None:
        if not getattr(view, "login_required", True):
            return None
        match = request.resolver_match
        if match is not None and match.view_name in OPEN_TO_ALL:
            return None
        sentence = refusal(request.user, Role.VIEWER)
        return forbidden(request, sentence) if sentence else None
