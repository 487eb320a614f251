"""Odd requests are refused in a sentence: no parameter, body or form ends in a fault of ours."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from hypothesis import HealthCheck, given
from hypothesis import settings as tuned
from hypothesis import strategies as st

from tests.agents.routes import ANYBODY, API, SITE, World
from tests.agents.test_routes import CALLS, Person, send, undone
from tests.conftest import person
from workspaces.models import Repository

pytestmark = pytest.mark.django_db
WORDS = [
    *("", "0", "-1", "1e9", "1000000000", "9" * 19, "9" * 5000, "NaN", "Infinity", "true", "null", "[]", "{}"),
    *("\0", "٣", "²", "%", "%00", "' OR 1=1 --", "../..", "a" * 20_000, "1.5", "0x10", " 1", "+1", "1_000", "\ud7ff"),
]
PARAMETERS = [
    *("page", "people", "before", "after", "limit", "offset", "from", "to", "at", "path", "q", "line"),
    *("status", "show", "repository", "model", "part", "hunk", "context", "probe", "seq", "gaps"),
]
VALUES: list[Any] = [
    *(None, True, -1, 0, 10**30, -(10**30), 1e308, 1.5, "", "\0", "a" * 300_000, [], {}, [[]], {"a": 1}),
    *([None] * 20_000, {str(number): 1 for number in range(20_000)}, ["x"] * 20_000),
]
BODIES = [
    *(b"", b"[", b"[" * 200_000, b'{"a":' * 100_000, b"9" * 5000, b"NaN", b"null", b'"text"', b"[1]", b"\xff\xfe{}"),
    *(b'{"title": NaN}', b'{"budgets": {"usd": Infinity}}', b'{"a": 1, "a": 2}', b'{"\\ud800": "\\udfff"}', b"{}"),
]


@pytest.fixture
def world(repository: Repository) -> World:
    return World.make(repository, person("remarker"))


@pytest.fixture
def who(db: None) -> Person:
    return Person("admin")


def is_clear(answer: Any, route: str) -> bool:
    """Return whether the answer is no fault, and a refusal of the API says what is wrong."""
    if route in API and answer.status_code >= 400:
        return answer.status_code < 500 and bool(answer.json()["error"]["message"])
    return int(answer.status_code) < 500


def test_no_parameter_ends_in_a_fault(world: World, who: Person) -> None:
    for route, method, way in CALLS:
        if method == "GET" and way.need != ANYBODY:
            client, address = who.client(route), world.address(route, way).partition("?")[0]
            for word in WORDS[:: 1 if route in API else 3]:
                answer = client.get(address, dict.fromkeys(PARAMETERS, word))
                assert is_clear(answer, route), (route, word[:40], answer.status_code)


@tuned(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    route=st.sampled_from([route for route, method, way in CALLS if method == "GET" and way.need != ANYBODY]),
    query=st.dictionaries(st.sampled_from(PARAMETERS), st.text(max_size=40) | st.integers().map(str), max_size=4),
)
def test_no_mixture_of_parameters_ends_in_a_fault(world: World, who: Person, route: str, query: dict[str, str]) -> None:
    address = world.address(route, (SITE | API)[route]["GET"]).partition("?")[0]
    assert is_clear(who.client(route).get(address, query), route)


def test_no_body_of_the_api_ends_in_a_fault(world: World, who: Person) -> None:
    for route, method, way in CALLS:
        if route in API and method == "POST" and way.need != ANYBODY:
            client, address = who.client(route), world.address(route, way)
            for body in [*BODIES, *(json.dumps(way.body | {name: value}) for name in way.body for value in VALUES)]:
                with undone():
                    answer = client.post(address, body, "application/json")
                assert is_clear(answer, route), (route, body[:80], answer.content[:300])


def test_no_form_ends_in_a_fault(world: World, who: Person) -> None:
    for route, method, way in CALLS:
        if route not in API and method == "POST":
            for name in way.body:
                for word in WORDS[::5]:
                    with undone():
                        answer = who.client(route).post(
                            world.address(route, way), world.body(route, way) | {name: word}
                        )
                    assert is_clear(answer, route), (route, name, word[:40], answer.status_code)


def test_forms_of_thousands_of_fields_or_files_are_refused(world: World, who: Person) -> None:
    many = {f"field-{number}": "x" for number in range(3000)}
    files = {f"file-{number}": SimpleUploadedFile("a.txt", b"x") for number in range(200)}
    urlencoded = "&".join(f"{name}=x" for name in many)
    for address in ("/tasks/new/", "/login/"):
        assert who.client("").post(address, many).status_code == 400
        assert who.client("").post(address, files).status_code == 400
        kind = "application/x-www-form-urlencoded"
        assert who.client("").post(address, urlencoded, content_type=kind).status_code == 400
        assert who.client("").post(address, {"prompt": "x" * 5_000_000}).status_code == 400


def test_what_people_write_is_bounded(world: World, who: Person) -> None:
    long = {"prompt": 200_001, "title": 201, "base": 251, "script": 2_000_001}
    for name, length in long.items():
        way = next(way for route, method, way in CALLS if (route, method) == ("tasks/new/", "POST"))
        page = who.client("").post("/tasks/new/", world.body("tasks/new/", way) | {name: "x" * length})
        assert page.status_code == 200, name
    for route, name, length in (
        ("api/v1/runs/<int:run_id>/messages", "text", 20_001),
        ("api/v1/runs/<int:run_id>/comments", "body", 20_001),
        ("api/v1/runs/<int:run_id>/reviews", "summary", 20_001),
        ("api/v1/repositories", "name", 1001),
        ("api/v1/tasks", "title", 201),
        ("api/v1/tasks", "prompt", 200_001),
    ):
        way = API[route]["POST"]
        body = json.dumps(way.body | {name: "x" * length})
        answer = who.client(route).post(world.address(route, way), body, "application/json")
        assert answer.status_code == 422, (route, name)
    assert who.client("api/v1/tasks").post("/api/v1/tasks", "x" * 5_000_000, "application/json").status_code == 413


def test_odd_addresses_and_headers_are_no_fault(world: World, who: Person) -> None:
    run = next(iter(world.runs.values())).pk
    for number in ("0", "-1", "9" * 18, "9" * 19, "9" * 30, "9" * 5000, "1.0", "x", "%00", "٣", f"{run}%0a"):
        for start in (
            "/runs/",
            "/tasks/",
            "/repositories/",
            "/api/v1/runs/",
            "/api/v1/tasks/",
            "/api/v1/repositories/",
        ):
            for end in ("", "/"):
                client = who.client("api/v1/tasks" if "api" in start else "")
                assert client.get(f"{start}{number}{end}").status_code < 500, (start, number)
    odd = ["", "Bearer", "Bearer ", "Bearer \x00", "Basic x", "Bearer é", "bearer " + "x" * 10_000, "Bearer a b c"]
    for value in odd:
        assert Client(headers={"Authorization": value}).get("/api/v1/tasks").status_code == 401, value
    for cookie in ("", "x" * 4000, "é", '"', "\x7f", "a;b=c"):
        client = Client()
        client.cookies["sessionid"] = cookie
        assert client.get("/").status_code == 302, cookie


def test_a_repeated_request_with_an_odd_key_is_no_fault(world: World, who: Person) -> None:
    route = "api/v1/runs/<int:run_id>/messages"
    way = API[route]["POST"]
    for key in ("x" * 201, "é", "\x01", " ", "'", "x" * 200):
        answer = send(who.client(route), world, route, "POST", way, **{"Idempotency-Key": key})
        assert answer.status_code in (201, 422), key
