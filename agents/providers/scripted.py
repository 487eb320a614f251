"""The scripted model: plays a script, for trying, testing and the demo."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from agents.models import Agent
from agents.models.task import SCRIPTED
from agents.providers.base import (
    Call,
    Cancelled,
    ProviderError,
    Request,
    Response,
    Stop,
    Trouble,
    Usage,
)
from agents.providers.calls import CallIds

END_OF_SCRIPT = "(end of script)"
MAX_DELAY_MS = 600_000
MAX_PIECES = 40
"""Pieces that a text is streamed in, at most."""
PIECE_CHARS = 16
MAX_ENTRIES = 10_000
MAX_COMPLAINTS = 20

ENTRY_KEYS = frozenset({"text", "tool_calls", "usage", "delay_ms", "error"})
CALL_KEYS = frozenset({"name", "input", "id"})
USAGE_KEYS = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens")
ERROR_KEYS = frozenset({"trouble", "sentence", "retryable", "retry_after_s", "times"})


class ScriptedProvider:
    """Plays `Request.script`. What is malformed in it comes out as a misbehaving model would say it."""

    name = SCRIPTED

    def __init__(self) -> None:
        self._failures: Counter[tuple[str, int]] = Counter()

    def respond(self, request: Request, on_text: Callable[[str], None], cancelled: threading.Event) -> Response:
        """Play the entry at the request's position; beyond the end answer "(end of script)".

        An entry's `error` is raised for the first `times` tries (by default for every try).
        """
        entry = _entry(request)
        text = _text(entry)
        _play(text, _number(entry.get("delay_ms"), MAX_DELAY_MS) / 1000, on_text, cancelled)
        self._fail(request, entry.get("error"))
        calls = _calls(request, entry.get("tool_calls"))
        stop = Stop.TOOL_CALLS if calls else Stop.END
        return Response(text, calls, _usage(entry.get("usage")), stop, raw_stop=stop, model=self.name)

    def _fail(self, request: Request, error: Any) -> None:
        if not isinstance(error, dict):
            return
        key = (request.agent, request.position)
        if self._failures[key] < _number(error.get("times"), 1_000_000, default=1_000_000):
            self._failures[key] += 1
            raise _error(error)


def _entry(request: Request) -> dict[str, Any]:
    script = request.script if isinstance(request.script, dict) else {}
    entries = script.get(request.agent)
    if not isinstance(entries, list) or request.position >= len(entries):
        return {"text": END_OF_SCRIPT}
    entry = entries[request.position]
    return entry if isinstance(entry, dict) else {"text": str(entry)}


def _text(entry: dict[str, Any]) -> str:
    text = entry.get("text")
    return "" if text is None else str(text)


def _play(text: str, seconds: float, on_text: Callable[[str], None], cancelled: threading.Event) -> None:
    pieces = list(_pieces(text)) or [""]
    for piece in pieces:
        if cancelled.wait(seconds / len(pieces)) if seconds else cancelled.is_set():
            raise Cancelled
        if piece:
            on_text(piece)


def _pieces(text: str) -> Iterator[str]:
    size = max(PIECE_CHARS, -(-len(text) // MAX_PIECES))
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _calls(request: Request, given: Any) -> tuple[Call, ...]:
    if given is None:
        return ()
    ids = CallIds(request)
    return tuple(_call(item, ids) for item in (given if isinstance(given, list) else [given]))


def _call(item: Any, ids: CallIds) -> Call:
    if not isinstance(item, dict):
        return Call(ids.next(None), "", item)
    name = item.get("name")
    return Call(ids.next(item.get("id")), "" if name is None else str(name), item.get("input", {}))


def _usage(given: Any) -> Usage:
    if not isinstance(given, dict):
        return Usage()
    fresh, output, cached, written = (int(_number(given.get(key), 1_000_000_000)) for key in USAGE_KEYS)
    return Usage(fresh, output, cached, written)


def _error(error: dict[str, Any]) -> ProviderError:
    word = error.get("trouble")
    trouble = Trouble(word) if word in set(Trouble) else Trouble.BAD_ANSWER
    wait = error.get("retry_after_s")
    return ProviderError(
        trouble,
        str(error.get("sentence") or f"The script says that the model fails here ({trouble})."),
        retryable=bool(error.get("retryable")),
        retry_after_s=_number(wait, 3600) if wait is not None else None,
    )


def _number(value: Any, at_most: float, default: float = 0) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return min(max(value, 0), at_most)


def validate_script(script: object) -> list[str]:
    """Return what is wrong with the shape of a script, each with its path; at most 20 complaints.

    What a model may get wrong (unknown tools, odd inputs) is no complaint: scripts try that on purpose.
    """
    complaints: list[str] = []
    for complaint in _complaints(script):
        if len(complaints) == MAX_COMPLAINTS:
            return [*complaints, "There is more; these come first."]
        complaints.append(complaint)
    return complaints


def _complaints(script: object) -> Iterator[str]:
    if not isinstance(script, dict):
        yield 'The script must be an object, as in {"implementer": [{"text": "Hello."}]}.'
        return
    for agent, entries in script.items():
        if agent not in Agent.values:
            yield f"{agent}: is no agent; use {' or '.join(Agent.values)}."
        elif not isinstance(entries, list):
            yield f"{agent}: must be a list of responses."
        elif len(entries) > MAX_ENTRIES:
            yield f"{agent}: has {len(entries)} responses; {MAX_ENTRIES} are allowed."
        else:
            for index, entry in enumerate(entries):
                yield from _entry_complaints(f"{agent}[{index}]", entry)


def _entry_complaints(path: str, entry: object) -> Iterator[str]:
    if not isinstance(entry, dict):
        yield f"{path}: must be an object with text, tool_calls or both."
        return
    yield from _unknown(path, entry, ENTRY_KEYS)
    if not isinstance(entry.get("text", ""), str):
        yield f"{path}.text: must be a text."
    if not _is_number(entry.get("delay_ms", 0), MAX_DELAY_MS):
        yield f"{path}.delay_ms: must be a number from 0 to {MAX_DELAY_MS}."
    if not isinstance(entry.get("error", {}), dict):
        yield f"{path}.error: must be an object."
    else:
        yield from _unknown(f"{path}.error", entry.get("error", {}), ERROR_KEYS)
    yield from _usage_complaints(f"{path}.usage", entry.get("usage", {}))
    calls = entry.get("tool_calls", [])
    if not isinstance(calls, list):
        yield f"{path}.tool_calls: must be a list."
        return
    for index, call in enumerate(calls):
        yield from _call_complaints(f"{path}.tool_calls[{index}]", call)


def _call_complaints(path: str, call: object) -> Iterator[str]:
    if not isinstance(call, dict):
        yield f"{path}: must be an object with name and input."
        return
    yield from _unknown(path, call, CALL_KEYS)
    if not isinstance(call.get("name"), str):
        yield f"{path}.name: must be the name of a tool."
    if not isinstance(call.get("id", ""), str):
        yield f"{path}.id: must be a text."


def _usage_complaints(path: str, usage: object) -> Iterator[str]:
    if not isinstance(usage, dict):
        yield f"{path}: must be an object."
        return
    yield from _unknown(path, usage, frozenset(USAGE_KEYS))
    for key in USAGE_KEYS:
        if not _is_number(usage.get(key, 0), 1_000_000_000):
            yield f"{path}.{key}: must be a number from 0."


def _unknown(path: str, given: dict[Any, Any], known: frozenset[str]) -> Iterator[str]:
    for key in given:
        if key not in known:
            yield f"{path}.{key}: is unknown; known are {', '.join(sorted(known))}."


def _is_number(value: object, at_most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= at_most
