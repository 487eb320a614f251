"""What the tests of both real providers share."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from agents.providers.base import Provider, Request, Response, ToolSpec, Turn, UserTurn
from agents.providers.models import ModelInfo

TOOLS = (
    ToolSpec(
        "read_file",
        "Read a file.",
        {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]},
    ),
    ToolSpec("list_directory", "List a folder.", {"type": "object", "properties": {}}),
)


def request(*turns: Turn | str, tools: Sequence[ToolSpec] = TOOLS, **fields: Any) -> Request:
    """Return a request of the implementer; a text stands for a user's turn."""
    given = [UserTurn(turn) if isinstance(turn, str) else turn for turn in turns]
    return Request(
        **{"agent": "implementer", "system": "You edit code.", "turns": given, "tools": tools}
        | {"max_output_tokens": 1000}
        | fields
    )


def info(provider: str, base_url: str, **fields: Any) -> ModelInfo:
    """Return a model at a server of the test."""
    given = {"name": "test", "provider": provider, "id": "test-model", "base_url": base_url, "sees_images": True}
    return ModelInfo.model_validate({**given, **fields})


def ask(provider: Provider, asked: Request, on_text: Callable[[str], None] = lambda _: None) -> Response:
    """Ask without ever cancelling."""
    return provider.respond(asked, on_text, threading.Event())
