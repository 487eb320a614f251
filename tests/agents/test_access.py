"""How a view refuses: a page with a sentence for a browser, JSON for a program. Who may call what: test_routes.py."""

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from agents.access import requires
from agents.models import Role
from tests.conftest import person


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
