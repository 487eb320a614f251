"""The pages of faults in front of views: they need no person and no database, and yet say that the sandbox is off."""

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from agents.context import sandbox_is_off


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request that is not understood, such as one for a host that is not ours."""
    return _page("400.html", 400)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer where a bug ended the view; the log has it."""
    return _page("500.html", 500)


def _page(template: str, status: int) -> HttpResponse:
    return HttpResponse(render_to_string(template, {"sandbox_is_off": sandbox_is_off()}), status=status)
