"""How the documentation describes answers that are not an operation's JSON: plain text, bytes, and errors."""

from typing import Any

from pydantic import BaseModel


class Problem(BaseModel):
    code: str
    message: str
    fields: list[str] = []


class ErrorOut(BaseModel):
    """What every refusal looks like; `fields` names the fields that were wrong, in a 422."""

    error: Problem


def _as(media_type: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"responses": {200: {"description": "OK", "content": {media_type: {"schema": schema}}}}}


AS_TEXT = _as("text/plain", {"type": "string"})
AS_BYTES = _as("application/octet-stream", {"type": "string", "format": "binary"})


def document_errors(schema: Any) -> None:
    """Add to each operation of an OpenAPI schema what it answers when it refuses."""
    shape = ErrorOut.model_json_schema(ref_template="#/components/schemas/{model}")
    schema["components"]["schemas"] |= shape.pop("$defs") | {"ErrorOut": shape}
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorOut"}}}
    for methods in schema["paths"].values():
        for operation in methods.values():
            operation["responses"]["default"] = {"description": "Refused", "content": content}
