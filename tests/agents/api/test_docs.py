"""The documentation of the API."""

from typing import Any

import pytest
from django.test import Client

from tests.agents.api.conftest import Caller


@pytest.fixture
def schema(viewer: Caller) -> dict[str, Any]:
    found: dict[str, Any] = viewer.get("/openapi.json").json()
    return found


@pytest.mark.django_db
def test_the_page_needs_a_login() -> None:
    answer = Client().get("/api/v1/docs")
    assert answer.status_code == 302
    assert answer["Location"].startswith("/login/")


def test_the_page_holds_no_inline_script_or_style(viewer: Caller) -> None:
    client = Client()
    client.force_login(viewer.user)
    page = client.get("/api/v1/docs").content.decode()
    assert "<style" not in page
    assert "style=" not in page
    assert [tag for tag in page.split("<script")[1:] if "src=" not in tag and "application/json" not in tag] == []


def test_every_operation_says_what_it_does_and_how_it_refuses(schema: dict[str, Any]) -> None:
    for methods in schema["paths"].values():
        for operation in methods.values():
            assert operation["description"]
            assert "ErrorOut" in str(operation["responses"]["default"])


def test_every_shape_that_is_referred_to_is_there(schema: dict[str, Any]) -> None:
    text = str(schema)
    named = {part.split("'")[0] for part in text.split("#/components/schemas/")[1:]}
    assert named <= schema["components"]["schemas"].keys()


def test_events_are_documented_kind_by_kind(schema: dict[str, Any]) -> None:
    assert {"StatusEvent", "ToolCallEvent", "SnapshotEvent"} <= schema["components"]["schemas"].keys()


def test_text_answers_are_documented_as_text(schema: dict[str, Any]) -> None:
    answer = schema["paths"]["/api/v1/runs/{run_id}/patch"]["get"]["responses"]["200"]
    assert list(answer["content"]) == ["text/plain"]
