"""JSON on the wire: what we send, and the arguments that a model wrote."""

import json
import math
from typing import Any


def dumps(value: object) -> bytes:
    """Return compact JSON as UTF-8; a lone surrogate becomes a question mark."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


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
