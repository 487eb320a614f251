"""Who calls the API: a token in the header, or the session of the site (which then needs CSRF protection)."""

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.middleware.csrf import CsrfViewMiddleware
from ninja.security import HttpBearer

from agents.access import refusal
from agents.control import Refused
from agents.models import ApiToken, Role

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Door(HttpBearer):
    """Lets in who holds the role, by token or by session; `request.user` is then that user."""

    csrf = True  # the documentation page sends the token of the session along

    def __init__(self, role: Role) -> None:
        super().__init__()
        self.role = role

    def __call__(self, request: HttpRequest) -> User:
        user = _caller(request)
        sentence = refusal(user, self.role)
        if sentence:
            raise Refused("FORBIDDEN", sentence, 403)
        if request.method not in SAFE:
            _check_body(request)
            _check_origin(request)
        request.user = user
        return user

    def authenticate(self, request: HttpRequest, token: str) -> User | None:
        """Return whose live token this is."""
        return ApiToken.user_of(token)


viewer = Door(Role.VIEWER)
operator = Door(Role.OPERATOR)
reviewer = Door(Role.REVIEWER)
admin = Door(Role.ADMIN)


def caller(request: HttpRequest) -> User:
    """Return the user that the door let in."""
    assert isinstance(request.user, User)
    return request.user


def _caller(request: HttpRequest) -> User:
    header = request.headers.get("Authorization")
    return _by_session(request) if header is None else by_token(header)


def by_token(header: str) -> User:
    """Return whose token the Authorization header holds. Raises Refused with 401."""
    scheme, _, secret = header.partition(" ")
    user = ApiToken.user_of(secret.strip()) if scheme.lower() == "bearer" else None
    if user is None:
        raise Refused("UNAUTHORIZED", "The token is unknown or has expired. Send “Authorization: Bearer <token>”.", 401)
    return user


def _by_session(request: HttpRequest) -> User:
    user = request.user
    if not isinstance(user, User) or not user.is_active:
        raise Refused("UNAUTHORIZED", "Log in, or send “Authorization: Bearer <token>”.", 401)
    return user


class _Csrf(CsrfViewMiddleware):
    """Django's check, which says no without rendering a page."""

    def _reject(self, request: HttpRequest, reason: str) -> HttpResponseForbidden:
        return HttpResponseForbidden(reason)


def _nothing(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


def _check_origin(request: HttpRequest) -> None:
    """Browsers send a session's cookie for any site, but a header of ours for none."""
    if "Authorization" in request.headers:
        return
    request.csrf_processing_done = False  # type: ignore[attr-defined]  # the site's own check passes the API by
    check = _Csrf(_nothing)
    check.process_request(request)
    if check.process_view(request, _nothing, (), {}) is not None:
        raise Refused("CSRF", "The CSRF token is missing or wrong; send it as X-CSRFToken, or use an API token.", 403)


def _check_body(request: HttpRequest) -> None:
    try:
        size = len(request.body)
    except RequestDataTooBig:
        size = settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1
    if size > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        raise Refused("TOO_LARGE", f"The body may have {settings.DATA_UPLOAD_MAX_MEMORY_SIZE:,} bytes at most.", 413)
    if size and request.content_type != "application/json":
        raise Refused("UNSUPPORTED_MEDIA_TYPE", "Send JSON, with “Content-Type: application/json”.", 415)
