"""The calls in a response: their ids made unique, their arguments read without trusting them."""

import json
import math
from typing import Any

from agents.providers.base import ModelTurn, Request

MAX_ID_CHARS = 200


class CallIds:
    """Gives the calls of one response ids that no other call of the conversation has."""

    def __init__(self, request: Request) -> None:
        self._own = f"{request.agent}-{request.position}"
        self._taken = {call.call_id for turn in request.turns if isinstance(turn, ModelTurn) for call in turn.calls}
        self._count = 0

    def next(self, given: Any) -> str:
        """Return the given id, or one of our own (agent-position-index) where it is missing, odd or taken."""
        usable = isinstance(given, str) and 0 < len(given) <= MAX_ID_CHARS and given not in self._taken
        call_id = str(given) if usable else f"{self._own}-{self._count}"
        self._count += 1
        self._taken.add(call_id)
        return call_id


def arguments(text: str) -> Any:
    """Return the object that a call's arguments spell, or the text itself where they spell none.

    No text at all is a call without arguments. NaN and numbers out of range are no JSON (RFC 8259).
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text


def as_object(value: Any) -> dict[str, Any]:
    """Return a call's input as the object that APIs insist on; a raw text is wrapped."""
    return value if isinstance(value, dict) else {"malformed_arguments": value}


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


def _finite(word: str) -> float:
    number = float(word)
    if math.isinf(number):
        raise ValueError(f"{word} is out of range")
    return number
