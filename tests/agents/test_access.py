"""Who may call which address: every route of the site and the API stands in one table."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
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
    "settings/tokens/": {"POST": WATCH},
    "settings/tokens/<int:pk>/delete/": {"POST": WATCH},
    "settings/users/": {"POST": ADMINISTER},
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
    "runs/<int:pk>/calls/<str:call_id>/": {"GET": WATCH},
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
CALLS = [
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
    for placeholder in ("<int:pk>", "<int:comment>", "<int:run_id>", "<int:task_id>", "<int:repository_id>"):
        route = route.replace(placeholder, "987")
    for placeholder in ("<str:secret>", "<str:call_id>", "<str:ref>", "<ref>"):
        route = route.replace(placeholder, "unknown")
    return "/" + route.replace("^", "unknown")


def _call(client: Client, route: str, method: str) -> int:
    body = {"content_type": "application/json", "data": "{}"} if route in API and method == "POST" else {}
    return int(client.generic(method, _address(route), **body).status_code)  # type: ignore[arg-type]


def _client(user: User, route: str) -> Client:
    if route in API:
        _, secret = ApiToken.make(user, "test")
        return Client(raise_request_exception=False, headers={"Authorization": f"Bearer {secret}"})
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def _person(*roles: Role) -> User:
    return person("-".join(roles) or "stranger", *roles)


def test_every_route_stands_in_the_table() -> None:
    assert sorted(_routes(get_resolver().url_patterns)) == sorted([*SITE, *API])


@pytest.mark.django_db
@pytest.mark.parametrize(("route", "method", "need"), CALLS)
def test_nobody_gets_in_unknown(route: str, method: str, need: str) -> None:
    client = Client(raise_request_exception=False)
    status = _call(client, route, method)
    if need == ANYBODY:
        assert status not in (401, 403)
    else:
        assert status == (401 if route in API else 302)


@pytest.mark.django_db
@pytest.mark.parametrize(("route", "method", "need"), CALLS)
def test_who_has_no_role_sees_nothing(route: str, method: str, need: str) -> None:
    status = _call(_client(_person(), route), route, method)
    assert (status == 403) == (need not in (ANYBODY, LOGGED_IN))


@pytest.mark.django_db
@pytest.mark.parametrize("role", [WATCH, OPERATE, REVIEW])
@pytest.mark.parametrize(("route", "method", "need"), CALLS)
def test_each_role_may_what_it_is_for_and_no_more(route: str, method: str, need: str, role: Role) -> None:
    status = _call(_client(_person(role), route), route, method)
    allowed = need in (ANYBODY, LOGGED_IN, WATCH, role)
    assert (status == 403) != allowed
    assert status < 500


@pytest.mark.django_db
@pytest.mark.parametrize(("route", "method", "need"), CALLS)
def test_an_admin_may_everything(route: str, method: str, need: str) -> None:
    status = _call(_client(_person(ADMINISTER), route), route, method)
    assert status not in (401, 403)
    assert status < 500


@requires(Role.REVIEWER)
def _view(request: HttpRequest) -> HttpResponse:
    return HttpResponse("done")


@pytest.mark.django_db
def test_a_refusal_is_json_for_who_takes_no_html() -> None:
    request = RequestFactory().get("/", headers={"Accept": "application/json"})
    request.user = _person(Role.VIEWER)
    answer = _view(request)
    assert answer.status_code == 403
    assert b"role reviewer" in answer.content


@pytest.mark.django_db
def test_a_refusal_is_a_page_with_a_sentence_for_a_browser() -> None:
    client = Client()
    client.force_login(_person())
    answer = client.get("/", headers={"Accept": "text/html"})
    assert answer.status_code == 403
    assert "Your account has no role yet" in answer.content.decode()
