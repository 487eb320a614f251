"""How the API says no: every error is {"error": {"code", "message"}} with the status that fits."""

import logging
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from agents import full_disk
from agents.control import Refused
from workspaces.snapshots import StoreError
from workspaces.sources import SourceError

log = logging.getLogger(__name__)

FIELDS_SHOWN = 20
CODES = {400: "BAD_REQUEST", 404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}


def error_response(status: int, code: str, message: str, fields: list[str] | None = None) -> JsonResponse:
    """Return an error as the API gives it."""
    problem: dict[str, Any] = {"code": code, "message": message}
    if fields:
        problem["fields"] = fields
    return JsonResponse({"error": problem}, status=status)


def not_found(what: str) -> Refused:
    """Return the refusal for something that is not there; `what` reads like "run 7"."""
    return Refused("NOT_FOUND", f"There is no {what}.", 404)


def install(api: NinjaAPI) -> None:
    """Make the API answer each kind of failure in its one shape."""
    api.add_exception_handler(Refused, _refused)
    api.add_exception_handler(SourceError, _source_error)
    api.add_exception_handler(StoreError, _store_error)
    api.add_exception_handler(ValidationError, _invalid)
    api.add_exception_handler(Http404, _missing)
    api.add_exception_handler(HttpError, _http_error)
    api.add_exception_handler(Exception, _bug)


def _refused(request: HttpRequest, error: Any) -> HttpResponse:
    response = error_response(error.status, error.code, error.message)
    if error.status == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


def _source_error(request: HttpRequest, error: Any) -> HttpResponse:
    return error_response(422, error.code, str(error))


def _store_error(request: HttpRequest, error: Any) -> HttpResponse:
    return error_response(409, "STORE", str(error))


def _invalid(request: HttpRequest, error: Any) -> HttpResponse:
    """Name every field that was wrong. Ninja's place of an error is (source, parameter, field…)."""
    problems = [(_field(item["loc"]), item["msg"]) for item in error.errors[:FIELDS_SHOWN]]
    message = "; ".join(f"{field}: {sentence}" if field else sentence for field, sentence in problems)
    return error_response(422, "INVALID_INPUT", message, [field for field, _ in problems if field])


def _field(place: tuple[Any, ...]) -> str:
    parts = place[2:] if place[:1] == ("body",) else place[1:]
    return ".".join(str(part) for part in parts)


def _missing(request: HttpRequest, error: Any) -> HttpResponse:
    return error_response(404, "NOT_FOUND", "There is no such thing.")


def _http_error(request: HttpRequest, error: Any) -> HttpResponse:
    code = CODES.get(error.status_code, "ERROR")
    if error.status_code == 400:
        return error_response(400, code, "The body of the request is not JSON.")
    return error_response(error.status_code, code, str(error))


def _bug(request: HttpRequest, error: Any) -> HttpResponse:
    if full_disk.says(error):
        log.warning("%s %s found no room on the disk.", request.method, request.path)
        return error_response(503, "DISK_FULL", "The disk of the server is full; make room, then try again.")
    log.error("%s %s failed.", request.method, request.path, exc_info=error)
    return error_response(500, "INTERNAL_ERROR", "Something failed inside Sakura; the server's log says what.")
