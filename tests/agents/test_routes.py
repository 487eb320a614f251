"""Who may call which address: every route × method × person is really requested, with a real object behind it."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from pytest_django import Settings

from agents import consumers
from agents.models import ApiToken, Role, Run
from tests.agents.routes import ANYBODY, API, LOGGED_IN, METHODS, SITE, SOCKETS, Way, World, is_page, routes
from tests.agents.transcripts import make_run
from tests.conftest import person
from workspaces.models import Repository

ALL = SITE | API
CALLS = [(route, method, way) for route, methods in ALL.items() for method, way in methods.items()]
CHANGING = [call for call in CALLS if call[1] not in ("GET", "HEAD", "OPTIONS", "TRACE") and call[2].need != ANYBODY]
ROLES: dict[str, tuple[Role, ...]] = {
    "nobody": (),
    "stranger": (),
    **{role.value: (role,) for role in Role},
    "an expired token": (),
    "a viewer's token of an admin": (Role.VIEWER,),
    "an operator's token of a viewer": (),
}
"""What each person may do; an admin all, and whoever has a role may watch."""

NOT_COUNTED = {"sessions", "axes", "contenttypes", "auth.permission"}


class Person:
    """Somebody who calls: by the session on pages, by the token on the API."""

    def __init__(self, name: str) -> None:
        self.name = name
        roles = {"a viewer's token of an admin": (Role.ADMIN,), "an operator's token of a viewer": (Role.VIEWER,)}
        self.user = person("somebody", *roles.get(name, ROLES[name]))
        self.is_known = name not in ("nobody", "an expired token")
        self.has_session = self.is_known and "token" not in name
        self._token = self._make_token() if name != "nobody" else ""
        client = Client()
        if self.has_session:
            client.force_login(self.user)
        self._cookies = client.cookies

    def _make_token(self) -> str:
        roles = {"a viewer's token of an admin": [Role.VIEWER], "an operator's token of a viewer": [Role.OPERATOR]}
        life = timedelta(seconds=-1) if self.name == "an expired token" else timedelta(days=1)
        return ApiToken.make(self.user, "test", roles.get(self.name), life)[1]

    def client(self, route: str, **more: Any) -> Client:
        """Return a client as this person has it for the route; pages never take a token."""
        by_token = self._token and (route in API or not self.has_session)
        headers = {"Authorization": f"Bearer {self._token}"} if by_token else {}
        made = Client(raise_request_exception=False, headers=headers, **more)
        if not by_token:
            made.cookies = self._cookies.copy()  # type: ignore[assignment]
        return made

    def expected(self, route: str, way: Way) -> int:
        """Return the status that the table means for this person."""
        is_known = self.is_known and (self.has_session or route in API)
        if way.need == ANYBODY:
            return way.logged_in or way.status if self.has_session else way.status
        if not is_known:
            return 401 if route in API else 302
        held = ROLES[self.name]
        may = way.need == LOGGED_IN or Role.ADMIN in held or way.need in held or (way.need == Role.VIEWER and held)
        return way.status if may else 403


def send(client: Client, world: World, route: str, method: str, way: Way, **headers: str) -> Any:
    address = world.address(route, way)
    if route in API and way.body is not None:
        return client.generic(method, address, json.dumps(way.body), content_type="application/json", headers=headers)
    if method == "POST":
        return client.post(address, world.body(route, way), headers=headers)
    return client.generic(method, address, headers=headers)


def fingerprint() -> dict[str, Any]:
    """Return what a refused request must leave as it was: the count of every table, and where runs and people stand."""
    labels = {model._meta.label_lower: model for model in apps.get_models()}
    kept = {name: model for name, model in labels.items() if not {name, name.partition(".")[0]} & NOT_COUNTED}
    found: dict[str, Any] = {name: model._default_manager.count() for name, model in kept.items()}
    found["runs"] = list(Run.objects.order_by("pk").values_list("pk", "status", "last_seq", "snapshot", "branch"))
    found["people"] = list(User.objects.order_by("pk").values_list("pk", "is_active", "password", "groups"))
    found["repositories"] = list(Repository.objects.values_list("pk", "setup", "verify", "credential", "status"))
    return found


@contextmanager
def undone() -> Iterator[None]:
    """Take back what happens inside."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture
def world_of(repository: Repository) -> Callable[[User], World]:
    return lambda user: World.make(repository, user)


def test_every_route_stands_in_the_table() -> None:
    known = set(routes())
    assert known - ALL.keys() == set(), "these routes lack a line in tests/agents/routes.py"
    assert ALL.keys() - known == set(), "these lines have no route any more"


@pytest.mark.django_db
@pytest.mark.parametrize("name", list(ROLES))
def test_each_person_may_what_the_table_says_and_no_more(name: str, world_of: Callable[[User], World]) -> None:
    who = Person(name)
    world = world_of(who.user)
    wrong: list[tuple[object, ...]] = []
    for route, method, way in CALLS:
        expected = who.expected(route, way)
        before = fingerprint() if expected != way.status or method in ("GET", "HEAD") else None
        with undone():
            answer = send(who.client(route), world, route, method, way)
            after = fingerprint() if before else None
        turned_away = expected == 302 and way.status != 302 and way.need != ANYBODY
        if turned_away and not answer.get("Location", "").startswith("/login/?next="):
            wrong.append((method, route, "leads to", answer.get("Location")))
        if answer.status_code != expected:
            wrong.append((method, route, answer.status_code, "is not", expected))
        if before != after and "<str:secret>" not in route:
            wrong.append((method, route, "changed something"))
    assert wrong == [], wrong


@pytest.mark.django_db
def test_a_method_that_is_not_in_the_table_is_refused_even_to_an_admin(world_of: Callable[[User], World]) -> None:
    who = Person("admin")
    world = world_of(who.user)
    wrong = []
    for route, methods in ALL.items():
        for method in METHODS:
            if method not in methods:
                way = next(iter(methods.values()))
                with undone():
                    status = send(who.client(route), world, route, method, way).status_code
                if status != 405:
                    wrong.append((method, route, status))
    assert wrong == [], f"these answer a method that the table does not have: {wrong}"


@pytest.mark.django_db
def test_a_session_changes_nothing_without_the_token_of_the_form(world_of: Callable[[User], World]) -> None:
    who = Person("admin")
    world = world_of(who.user)
    for route, method, way in CHANGING:
        client = Client(enforce_csrf_checks=True)
        client.cookies = who._cookies.copy()  # type: ignore[assignment]
        for headers in ({}, {"Origin": "https://evil.example"}, {"Origin": "null"}, {"X-CSRFToken": "x" * 64}):
            before = fingerprint()
            answer = send(client, world, route, method, way, **headers)
            assert answer.status_code == 403, (method, route, headers)
            assert fingerprint() == before, (method, route, headers)


@pytest.mark.django_db
def test_a_token_needs_no_token_of_a_form(world_of: Callable[[User], World]) -> None:
    who = Person("admin")
    world = world_of(who.user)
    for route, method, way in CHANGING:
        if route in API:
            with undone():
                answer = send(who.client(route, enforce_csrf_checks=True), world, route, method, way)
            assert answer.status_code == way.status, (method, route)


@pytest.mark.django_db
@pytest.mark.parametrize("parameter", ["token", "access_token", "api_key", "authorization", "Authorization"])
def test_a_token_in_the_query_opens_nothing(world_of: Callable[[User], World], parameter: str) -> None:
    who = Person("admin")
    world = world_of(who.user)
    for route, methods in ALL.items():
        way = methods.get("GET")
        if way is not None and way.need != ANYBODY:
            address = world.address(route, Way(way.need, way.status, query=f"{parameter}={who._token}"))
            assert Client().get(address).status_code == (401 if route in API else 302), route


@pytest.mark.django_db
def test_nobody_learns_from_an_answer_what_there_is(world_of: Callable[[User], World]) -> None:
    world = world_of(person("somebody", Role.VIEWER))
    there = [(route, way.query) for route, method, way in CALLS if method == "GET" and way.need != ANYBODY]
    for route, query in there:
        address = world.address(route, Way("", 0, query=query))
        other = address
        for number in sorted({str(world.runs[Way("", 0).run].pk), str(world.call_seq), str(world.repository.pk)}):
            other = other.replace(f"/{number}", "/98765")
        real, unreal = Client().get(address), Client().get(other)
        assert real.status_code == unreal.status_code, route
        if route in API:
            assert real.content == unreal.content, route


# --- the red banner ------------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["nobody", "stranger", "admin"])
def test_a_sandbox_that_is_off_is_said_on_every_page(
    world_of: Callable[[User], World], settings: Settings, name: str
) -> None:
    settings.SAKURA_SANDBOX = "off"
    who = Person(name)
    world = world_of(who.user)
    pages = [(route, method, way) for route, method, way in CALLS if is_page(route) and method in ("GET", "POST")]
    seen = 0
    for route, method, way in pages:
        with undone():
            answer = send(who.client(route), world, route, method, way)
        if answer["Content-Type"].startswith("text/html") and b"<body" in answer.content:
            seen += 1
            assert b"The sandbox is off." in answer.content, (method, route, answer.status_code)
    assert seen > (1 if name == "nobody" else 15)


# --- sockets -------------------------------------------------------------------------------------------


def test_every_socket_stands_in_the_table() -> None:
    assert {str(pattern.pattern) for pattern in consumers.websocket_urlpatterns} == SOCKETS.keys()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("server_loop")
@pytest.mark.parametrize("name", list(ROLES))
async def test_each_person_may_listen_to_what_the_table_says(name: str) -> None:
    who = await sync_to_async(Person)(name)
    run = await sync_to_async(make_run)()
    application = URLRouter(consumers.websocket_urlpatterns)
    for route in SOCKETS:
        headers = [(b"host", b"testserver"), (b"origin", b"http://testserver")]
        if who._token and not who.has_session:
            headers.append((b"authorization", f"Bearer {who._token}".encode()))
        elif who.has_session:
            value = who._cookies[settings.SESSION_COOKIE_NAME].value
            headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={value}".encode()))
        socket = WebsocketCommunicator(application, "/" + route.replace("<int:pk>", str(run.pk)), headers)
        connected, _ = await socket.connect(10)
        assert connected == (SOCKETS[route] != "nobody"), route
        if connected:
            closed = not ROLES[name]
            said = await socket.receive_output(10) if closed or "runs" in route else {"type": "websocket.send"}
            assert (said["type"] == "websocket.close") == closed, (route, said)
            assert not closed or said["code"] == (4403 if who.is_known else 4401), (route, said)
            await socket.disconnect()
