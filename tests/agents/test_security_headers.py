"""What every answer tells the browser: no frames, no guessing of types, no foreign scripts, nothing kept."""

import re
from typing import Any

import pytest
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import path
from pytest_django import Settings

from agents.models import Role
from sakura_web.urls import handler400, handler500, urlpatterns
from tests.agents.routes import ANYBODY, API, METHODS, SITE, World, is_page
from tests.agents.test_routes import CALLS, Person, send, undone
from tests.conftest import person
from workspaces.models import Repository

__all__ = ["handler400", "handler500"]
pytestmark = pytest.mark.django_db
EVIL = [
    "https://evil.example/",
    "//evil.example/",
    "///evil.example/",
    "////evil.example",
    r"\\evil.example/",
    r"/\evil.example/",
    r"\/evil.example/",
    "https:evil.example",
    "https:/evil.example",
    "http:///evil.example",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "/\t/evil.example/",
    " //evil.example/",
    "\x00//evil.example/",
    "/\r\nSet-Cookie: a=b",
    "//testserver@evil.example/",
    "https://testserver.evil.example/",
    "https://testserver:443@evil.example/",
    "%2f%2fevil.example",
    "http://[::1",
]


@login_not_required
def boom(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("a bug")


class WithABug:
    """The site's addresses, and one whose view fails."""

    urlpatterns = [*urlpatterns, path("boom/", boom)]
    handler400, handler500 = staticmethod(handler400), staticmethod(handler500)


@pytest.fixture
def world(repository: Repository) -> World:
    return World.make(repository, person("remarker", Role.REVIEWER))


def directives(answer: Any) -> dict[str, str]:
    parts = (part.strip().partition(" ") for part in answer["Content-Security-Policy"].split(";"))
    return {name: value for name, _, value in parts if name}


def check(answer: Any, where: object) -> None:
    """Check what holds for each answer, whatever it is."""
    assert answer["X-Content-Type-Options"] == "nosniff", where
    assert answer["X-Frame-Options"] == "DENY", where
    assert answer["Cross-Origin-Opener-Policy"] == "same-origin", where
    assert answer["Referrer-Policy"] in ("same-origin", "strict-origin"), where
    policy = directives(answer)
    assert policy.get("default-src") == "'none'", where
    assert "unsafe" not in answer["Content-Security-Policy"], where
    if "sandbox" not in policy:
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'", where
        assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'", where
    if answer["Content-Type"].startswith("text/html"):
        page = answer.content.decode()
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=\"|javascript:", page), where
        inline = [tag for tag in re.findall(r"<script[^>]*>", page) if "src=" not in tag and "json" not in tag]
        assert inline == [], where
    if not answer.streaming and 200 <= answer.status_code < 500:
        kept = answer.get("Cache-Control", "")
        assert "no-store" in kept or answer.status_code == 405, (where, kept)


@pytest.mark.parametrize("name", ["nobody", "stranger", "admin"])
def test_every_answer_carries_the_headers(world: World, name: str) -> None:
    who = Person(name)
    world.user = who.user
    for route, method, way in CALLS:
        with undone():
            check(send(who.client(route), world, route, method, way), (method, route))


def test_answers_of_errors_carry_the_headers_too(world: World) -> None:
    who = Person("admin")
    with override_settings(ROOT_URLCONF=WithABug):
        client = who.client("")
        answers = {
            "404": client.get("/no/such/page"),
            "404 of a path that is no UTF-8": client.get("/%ff%fe"),
            "405": client.post("/settings/skills/"),
            "400": client.get("/", headers={"host": "evil.example"}),
            "500": client.get("/boom/"),
            "413": client.post("/tasks/new/", {"prompt": "x" * 5_000_000}),
            "csrf": Client(enforce_csrf_checks=True).post("/login/", {"username": "a", "password": "b"}),
            "api 404": client.get("/api/v1/nothing"),
            "api 401": Client().get("/api/v1/tasks"),
        }
    for name, answer in answers.items():
        check(answer, name)
    assert {name: answers[name].status_code for name in ("400", "500", "413", "csrf")} == {
        "400": 400,
        "500": 500,
        "413": 400,
        "csrf": 403,
    }


def test_the_red_banner_stands_on_pages_of_errors(settings: Settings) -> None:
    settings.SAKURA_SANDBOX = "off"
    client = Client(raise_request_exception=False)
    with override_settings(ROOT_URLCONF=WithABug):
        found = [client.get("/boom/"), client.get("/", headers={"host": "evil.example"}), client.get("/login/never/")]
        client.force_login(person("sam"))
        found += [client.get("/nothing/"), client.get("/", headers={"accept": "text/html"})]
        found.append(Client(enforce_csrf_checks=True).post("/login/", {"username": "a", "password": "b"}))
    assert [answer.status_code for answer in found] == [500, 400, 404, 404, 403, 403]
    for answer in found:
        assert b"The sandbox is off." in answer.content, answer.status_code


@pytest.mark.parametrize("route", ["runs/<int:pk>/patch/", "runs/<int:pk>/outputs/<str:ref>/"])
def test_what_is_downloaded_is_never_run_by_a_browser(world: World, route: str) -> None:
    who = Person("viewer")
    answer = send(who.client(route), world, route, "GET", SITE[route]["GET"])
    assert answer["Content-Type"].startswith(("text/plain", "text/x-patch"))
    assert answer["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", ["patch", "file?path=calc.py", "outputs/output-1.txt"])
def test_bytes_of_the_api_are_downloads(world: World, path: str) -> None:
    who = Person("viewer")
    run = next(iter(world.runs.values()))
    answer = who.client(next(iter(API))).get(f"/api/v1/runs/{run.pk}/{path}")
    assert answer.status_code == 200
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer["Content-Type"] in ("text/plain; charset=utf-8", "text/x-patch; charset=utf-8")


# --- redirects, hosts, methods -------------------------------------------------------------------------


def test_next_leads_nowhere_else(world: World, settings: Settings) -> None:
    who = Person("operator")
    secret = "somebody-has-a-long-password"
    run = next(iter(world.runs.values()))
    ours = {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME}
    for wanted in EVIL:
        answers = [
            Client().post("/login/", {"username": "somebody", "password": secret, "next": wanted}),
            Client().post("/login/", {"username": "somebody", "password": secret}, query_params={"next": wanted}),
            who.client("").get("/login/", {"next": wanted}),
            *(who.client("").post(f"/runs/{run.pk}/{verb}/", {"next": wanted}) for verb in ("pause", "cancel")),
        ]
        for answer in answers:
            assert answer.status_code == 302, wanted
            assert re.fullmatch(r"/(runs/\d+/|%0D%0A.*)?|%2f%2fevil\.example", answer["Location"]), answer["Location"]
            assert set(answer.cookies) <= ours, wanted


@pytest.mark.parametrize("host", ["evil.example", "testserver.evil.example", "localhost:80@evil.example", "", "a b"])
def test_an_unknown_host_is_answered_with_400_and_made_no_link_of(host: str) -> None:
    answer = Client().get("/login/", headers={"host": host})
    assert answer.status_code == 400
    assert "evil" not in answer.content.decode()


def test_a_forwarded_host_is_not_believed() -> None:
    headers = {"x-forwarded-host": "evil.example", "x-original-url": "/settings/", "x-rewrite-url": "/settings/"}
    who = Person("admin")
    page = who.client("").post("/settings/users/", {"do": "add", "username": "newcomer"}, headers=headers)
    assert "evil.example" not in page.content.decode()
    assert Client().get("/healthz", headers=headers).json() == {"status": "ok"}


def test_a_method_is_not_overridden(world: World) -> None:
    who = Person("admin")
    run = next(iter(world.runs.values()))
    for headers in ({"X-HTTP-Method-Override": "DELETE"}, {"X-Method-Override": "DELETE"}, {"X-HTTP-Method": "DELETE"}):
        client = who.client("api/v1/tasks")
        assert client.get(f"/api/v1/repositories/{world.repository.pk}", headers=headers).status_code == 200
        assert client.get(f"/api/v1/repositories/{world.repository.pk}?_method=DELETE").status_code == 200
        answer = who.client("").post(f"/runs/{run.pk}/", {"_method": "GET"}, headers=headers)
        assert answer.status_code == 405
    assert Repository.objects.count() == 1


def test_trace_echoes_nothing() -> None:
    for address in ("/", "/login/", "/api/v1/tasks", "/healthz"):
        answer = Client().trace(address, headers={"X-Secret": "do-not-echo"})
        assert answer.status_code in (302, 401, 405), address
        assert b"do-not-echo" not in answer.content


def test_logging_in_needs_the_token_of_the_form_and_the_right_origin() -> None:
    person("vera", Role.VIEWER)
    form = {"username": "vera", "password": "vera-has-a-long-password"}
    client = Client(enforce_csrf_checks=True)
    assert client.post("/login/", form).status_code == 403
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', client.get("/login/").content.decode())
    assert token
    filled = form | {"csrfmiddlewaretoken": token[1]}
    for origin in ("https://evil.example", "null", "http://testserver.evil.example", "https://testserver"):
        assert client.post("/login/", filled, headers={"origin": origin}).status_code == 403, origin
    assert client.post("/login/", filled, headers={"origin": "http://testserver"}).status_code == 302


def test_pages_and_methods_are_all_looked_at() -> None:
    assert len([route for route in SITE if is_page(route)]) > 40
    assert {way.need for _, _, way in CALLS} >= {ANYBODY, *Role.values}
    assert "TRACE" in METHODS
