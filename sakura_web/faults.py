"""The pages of faults in front of views: they need no person and no database, and yet say that the sandbox is off."""

import sys

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from agents import full_disk
from agents.context import sandbox_is_off

AGAIN_S = 30
"""When a client may ask again that found the disk full."""


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request that is not understood, such as one for a host that is not ours."""
    return _page("400.html", 400)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer where a full disk or a bug ended the view; the log has it. To be called while the error is handled."""
    error = sys.exc_info()[1]
    if error is None or not full_disk.says(error):
        return _page("500.html", 500)
    answer = _page("503.html", 503)
    answer["Retry-After"] = str(AGAIN_S)
    return answer


def _page(template: str, status: int) -> HttpResponse:
    return HttpResponse(render_to_string(template, {"sandbox_is_off": sandbox_is_off()}), status=status)
