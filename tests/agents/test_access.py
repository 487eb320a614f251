"""Who may call which address: every route of the site and the API stands in one table."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver

from agents.access import requires
from agents.models import ApiToken, Role
from tests.conftest import person

WATCH, OPERATE, REVIEW, ADMINISTER = Role.VIEWER, Role.OPERATOR, Role.REVIEWER, Role.ADMIN
ANYBODY = "anybody"
LOGGED_IN = "logged in"

SITE: dict[str, dict[str, str]] = {
    "healthz": {"GET": ANYBODY},
    "readyz": {"GET": ANYBODY},
    "metrics": {"GET": ANYBODY},
    "": {"GET": WATCH},
    "login/": {"GET": ANYBODY},
    "login/<str:secret>/": {"GET": ANYBODY},
    "logout/": {"POST": LOGGED_IN},
    "demo/": {"POST": OPERATE},
    "settings/": {"GET": WATCH},
    "settings/password/": {"POST": WATCH},
    "settings/tokens/": {"POST": WATCH},
    "settings/tokens/<int:pk>/delete/": {"POST": WATCH},
    "settings/users/": {"POST": ADMINISTER},
    "settings/skills/": {"GET": WATCH},
    "settings/skills/switch/": {"POST": ADMINISTER},
    "repositories/": {"GET": WATCH},
    "repositories/add/": {"GET": OPERATE, "POST": OPERATE},
    "repositories/<int:pk>/": {"GET": WATCH},
    "repositories/<int:pk>/refresh/": {"POST": OPERATE},
    "repositories/<int:pk>/cancel/": {"POST": OPERATE},
    "repositories/<int:pk>/delete/": {"POST": ADMINISTER},
    "tasks/new/": {"GET": OPERATE, "POST": OPERATE},
    "tasks/preview/": {"POST": OPERATE},
    "tasks/<int:pk>/": {"GET": WATCH},
    "tasks/<int:pk>/runs/": {"POST": OPERATE},
    "runs/<int:pk>/": {"GET": WATCH},
    "runs/<int:pk>/events/": {"GET": WATCH},
    "runs/<int:pk>/calls/<int:seq>/": {"GET": WATCH},
    "runs/<int:pk>/outputs/<str:ref>/": {"GET": WATCH},
    "runs/<int:pk>/messages/": {"POST": OPERATE},
    "runs/<int:pk>/pause/": {"POST": OPERATE},
    "runs/<int:pk>/resume/": {"POST": OPERATE},
    "runs/<int:pk>/cancel/": {"POST": OPERATE},
    "runs/<int:pk>/retry/": {"POST": OPERATE},
    "runs/<int:pk>/review/": {"GET": WATCH},
    "runs/<int:pk>/comments/": {"POST": REVIEW},
    "runs/<int:pk>/comments/<int:comment>/delete/": {"POST": REVIEW},
    "runs/<int:pk>/reverts/": {"POST": REVIEW},
    "runs/<int:pk>/decide/": {"POST": REVIEW},
    "runs/<int:pk>/push/": {"POST": REVIEW},
    "runs/<int:pk>/patch/": {"GET": WATCH},
    "runs/<int:pk>/workspace/": {"GET": WATCH},
    "runs/<int:pk>/workspace/file/": {"GET": WATCH},
    "runs/<int:pk>/workspace/reads/": {"GET": WATCH},
    "runs/<int:pk>/workspace/baselines/": {"GET": WATCH},
    "runs/<int:pk>/workspace/sakura/": {"GET": WATCH},
    "api/v1/docs": {"GET": WATCH},
}
RUN = "api/v1/runs/<int:run_id>"
API: dict[str, dict[str, str]] = {
    "api/v1/": {"GET": ANYBODY},
    "api/v1/^": {"GET": ANYBODY},
    "api/v1/openapi.json": {"GET": WATCH},
    "api/v1/repositories": {"GET": WATCH, "POST": OPERATE},
    "api/v1/repositories/<int:repository_id>": {"GET": WATCH, "DELETE": ADMINISTER},
    "api/v1/repositories/<int:repository_id>/refresh": {"POST": OPERATE},
    "api/v1/tasks": {"GET": WATCH, "POST": OPERATE},
    "api/v1/tasks/<int:task_id>": {"GET": WATCH},
    "api/v1/tasks/<int:task_id>/runs": {"POST": OPERATE},
    RUN: {"GET": WATCH},
    f"{RUN}/events": {"GET": WATCH},
    f"{RUN}/outputs/<ref>": {"GET": WATCH},
    f"{RUN}/messages": {"POST": OPERATE},
    f"{RUN}/pause": {"POST": OPERATE},
    f"{RUN}/resume": {"POST": OPERATE},
    f"{RUN}/cancel": {"POST": OPERATE},
    f"{RUN}/retry": {"POST": OPERATE},
    f"{RUN}/changes": {"GET": WATCH},
    f"{RUN}/diff": {"GET": WATCH},
    f"{RUN}/patch": {"GET": WATCH},
    f"{RUN}/snapshots": {"GET": WATCH},
    f"{RUN}/tree": {"GET": WATCH},
    f"{RUN}/file": {"GET": WATCH},
    f"{RUN}/reads": {"GET": WATCH},
    f"{RUN}/baselines": {"GET": WATCH},
    f"{RUN}/sakura": {"GET": WATCH},
    f"{RUN}/reverts": {"POST": REVIEW},
    f"{RUN}/reviews": {"POST": REVIEW},
    f"{RUN}/comments": {"POST": REVIEW},
    f"{RUN}/push": {"POST": REVIEW},
}
Call = tuple[str, str, str]
CALLS: list[Call] = [
    (route, method, need)
    for table in (SITE, API)
    for route, methods in table.items()
    for method, need in methods.items()
]


def _routes(patterns: list[Any], prefix: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        match pattern:
            case URLResolver():
                yield from _routes(pattern.url_patterns, route)
            case URLPattern():
                yield route


def _address(route: str) -> str:
    for placeholder in (
        "<int:pk>",
        "<int:seq>",
        "<int:comment>",
        "<int:run_id>",
        "<int:task_id>",
        "<int:repository_id>",
    ):
        route = route.replace(placeholder, "987")
    for placeholder in ("<str:secret>", "<str:ref>", "<ref>"):
        route = route.replace(placeholder, "unknown")
    return "/" + route.replace("^", "unknown")


def _statuses(*roles: Role | None) -> Iterator[tuple[Call, int]]:
    """Yield every call with the status that a person of these roles gets; no role at all: nobody, not logged in."""
    site, api = Client(raise_request_exception=False), Client(raise_request_exception=False)
    if roles:
        user = person("somebody", *(role for role in roles if role))
        _, secret = ApiToken.make(user, "test")
        api = Client(raise_request_exception=False, headers={"Authorization": f"Bearer {secret}"})
    for route, method, need in CALLS:
        if roles and route in SITE:
            site.force_login(user)  # some of the calls log out
        yield (route, method, need), _send(api if route in API else site, route, method)


def _send(client: Client, route: str, method: str) -> int:
    kind = "application/json" if route in API else "application/x-www-form-urlencoded"
    body = "{}" if route in API and method == "POST" else ""
    return int(client.generic(method, _address(route), body, content_type=kind).status_code)


def test_every_route_stands_in_the_table() -> None:
    assert set(_routes(get_resolver().url_patterns)) == SITE.keys() | API.keys()


@pytest.mark.django_db
def test_nobody_gets_in_unknown() -> None:
    for call, status in _statuses():
        route, _, need = call
        if need == ANYBODY:
            assert status not in (401, 403), call
        else:
            assert status == (401 if route in API else 302), call


@pytest.mark.django_db
def test_who_has_no_role_sees_nothing() -> None:
    for call, status in _statuses(None):
        assert (status == 403) == (call[2] not in (ANYBODY, LOGGED_IN)), call


@pytest.mark.django_db
@pytest.mark.parametrize("role", list(Role))
def test_each_role_may_what_it_is_for_and_no_more(role: Role) -> None:
    for call, status in _statuses(role):
        allowed = role is ADMINISTER or call[2] in (ANYBODY, LOGGED_IN, WATCH, role)
        assert (status != 403) == allowed, call
        assert status not in (401, 500), call


@requires(Role.REVIEWER)
def _view(request: HttpRequest) -> HttpResponse:
    return HttpResponse("done")


@pytest.mark.django_db
def test_a_refusal_is_json_for_who_takes_no_html() -> None:
    request = RequestFactory().get("/", headers={"Accept": "application/json"})
    request.user = person("vera", Role.VIEWER)
    answer = _view(request)
    assert answer.status_code == 403
    assert b"role reviewer" in answer.content


@pytest.mark.django_db
def test_a_refusal_is_a_page_with_a_sentence_for_a_browser() -> None:
    client = Client()
    client.force_login(person("stranger"))
    answer = client.get("/", headers={"Accept": "text/html"})
    assert answer.status_code == 403
    assert "Your account has no role yet" in answer.content.decode()
