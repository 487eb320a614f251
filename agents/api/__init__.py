"""The JSON API under /api/v1: what the pages can do, for programs."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from csp.decorators import csp_replace
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.urls import URLPattern, path, re_path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from ninja import NinjaAPI, Swagger
from ninja.openapi.schema import OpenAPISchema

from agents.api import changes, errors, files, repositories, reviews, runs, secrets, tasks
from agents.api.answers import document_errors
from agents.api.auth import viewer
from agents.api.idempotency import once
from agents.api.parsing import SafeParser
from agents.control import Refused

ABOUT = """\
Send `Authorization: Bearer <token>` (make one on the settings page).
A POST may carry an `Idempotency-Key`: sent again within a day, it is not carried out again but answered the same.
Bytes in paths that are not UTF-8 are written `\\xNN`."""


_NO_TRUSTED_TYPES = {"require-trusted-types-for": None, "trusted-types": None}
"""Swagger makes HTML of strings itself; what it shows is our schema, and nothing that anybody wrote."""


class Docs(Swagger):
    """The documentation page, from a template of ours that the content security policy lets run."""

    template = "agents/api_docs.html"


class Api(NinjaAPI):
    """Ninja, with errors in one shape for every address below the API's root."""

    def _get_urls(self) -> list[Any]:
        *patterns, _root = super()._get_urls()
        for pattern in patterns:
            assert isinstance(pattern, URLPattern)
            if pattern.name == "openapi-json":
                pattern.callback = _own_door(require_safe(self._for_viewers(pattern.callback)))
            elif pattern.name == "openapi-view":  # the page of the documentation stays behind the site's login
                pattern.callback = require_safe(csp_replace(_NO_TRUSTED_TYPES)(pattern.callback))
            else:
                pattern.callback = _own_door(pattern.callback)
        return [*patterns, path("", _unknown, name="api-root"), re_path(r"^", _unknown, name="unknown")]

    def get_openapi_schema(self, **where: Any) -> OpenAPISchema:
        schema = super().get_openapi_schema(**where)
        document_errors(schema)
        return schema

    def _for_viewers(self, view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            try:
                viewer(request)
            except Refused as refused:
                return self.on_exception(request, refused)
            return view(request, *args, **kwargs)

        return guarded


def _own_door(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Exempt an operation from the login page, as it answers 401 itself; say 405 in JSON; give bytes as a download."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        if response.status_code == 405:
            allowed = response["Allow"]
            response = errors.error_response(405, "METHOD_NOT_ALLOWED", f"This address takes {allowed} only.")
            response["Allow"] = allowed
        if not response.get("Content-Type", "application/json").startswith("application/json"):
            response.headers.setdefault("Content-Disposition", "attachment")
        return response

    return login_not_required(answered)


@csrf_exempt  # nothing is done here
@login_not_required
def _unknown(request: HttpRequest) -> JsonResponse:
    return errors.error_response(404, "NOT_FOUND", "The API has no such address; /api/v1/docs lists those it has.")


api = Api(
    title="Sakura",
    version="1",
    urls_namespace="api",
    description=ABOUT,
    auth=viewer,
    parser=SafeParser(),
    docs=Docs(settings={"persistAuthorization": False, "defaultModelsExpandDepth": 0}),
)
errors.install(api)
api.add_decorator(once)
for part in (repositories, secrets, tasks, runs, changes, files, reviews):
    api.add_router("", part.router)
