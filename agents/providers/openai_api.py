"""OpenAI's models and every server that speaks its chat completions; imported only where one is asked."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2
import openai

from agents.providers.base import Call, Request, Response, Stop, Usage
from agents.providers.calls import CallIds, arguments
from agents.providers.connection import TIMEOUT, Hooks, Wired
from agents.providers.jsontext import dumps
from agents.providers.models import ModelInfo
from agents.providers.openai_request import NAME, Writer
from agents.providers.tokens import estimate_bytes, estimate_tokens
from agents.providers.troubles import Server, cut_off, failure, refused, translate

DEFAULT_URL = "https://api.openai.com/v1"
MAKERS = (".openai.com", ".openai.azure.com")
MAX_ADAPTATIONS = 3
MAX_CALLS = 200
STOPS = {
    "stop": Stop.END,
    "tool_calls": Stop.TOOL_CALLS,
    "function_call": Stop.TOOL_CALLS,
    "length": Stop.LENGTH,
    "content_filter": Stop.REFUSAL,
}
REASONING = ("reasoning_content", "reasoning")
"""Where compatible servers put what a model thinks."""


def provider(info: ModelInfo, key: str) -> "OpenAIProvider":
    """Return a provider for one run."""
    return OpenAIProvider(info, key)


class OpenAIProvider(Wired):
    """Asks one model by chat completions."""

    name = NAME

    def __init__(self, info: ModelInfo, key: str) -> None:
        is_maker = not info.base_url or info.host.endswith(MAKERS)
        label = "OpenAI" if is_maker else f"The model server {info.host}"
        self._server = Server(label, info.base_url or DEFAULT_URL, info.id, info.key_variable, key)
        self._writer = Writer(info, is_maker)
        super().__init__()

    def _connect(self, hooks: Hooks) -> None:
        self._client = openai.OpenAI(
            api_key=self._server.key or "not-needed",
            base_url=self._server.url,
            max_retries=0,  # retry.py does it, where the page can say so
            http_client=openai.DefaultHttpxClient(timeout=TIMEOUT, event_hooks=hooks),
        )

    def _ask(self, request: Request, say: Callable[[str], None]) -> Response:
        reading = Reading(say)
        try:
            body_bytes = self._stream(request, reading)
        except (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError, ValueError) as error:
            # Without the cause: its text may hold a part of the key.
            raise translate(error, self._server) from None
        if reading.is_cut_off():
            raise cut_off(self._server)
        return reading.response(self._server.model, CallIds(request), body_bytes)

    def _stream(self, request: Request, reading: "Reading") -> int:
        """Ask, once more where a server refuses a field that can be left out; return the size of the request."""
        for _ in range(MAX_ADAPTATIONS):
            body = self._writer.body(request)
            try:
                self._read(body, reading)
            except openai.BadRequestError as error:
                what = failure(error, self._server)
                if not self._writer.adapt(what.detail):
                    raise refused(what, self._server) from None
            else:
                return len(body)
        body = self._writer.body(request)
        self._read(body, reading)
        return len(body)

    def _read(self, body: bytes, reading: "Reading") -> None:
        with self._client.post(
            "/chat/completions",
            cast_to=object,
            content=body,
            options={"headers": {"Content-Type": "application/json"}},
            stream=True,
            stream_cls=openai.Stream[object],
        ) as stream:
            for chunk in stream:
                reading.take(chunk)


@dataclass
class _Open:
    """A call whose pieces are still coming."""

    given_id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "".join(self.parts)


class Reading:
    """Puts the chunks of a stream together. They are plain JSON: what does not fit is passed over."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._text: list[str] = []
        self._reasoning: dict[str, list[str]] = {}
        self._calls: list[_Open] = []
        self._at: dict[int, _Open] = {}
        self._usage: dict[str, Any] = {}
        self._model = ""
        self._refused = False
        self.raw_stop = ""

    def take(self, chunk: object) -> None:
        """Take one chunk of the stream."""
        if not isinstance(chunk, dict):
            return
        self._model = self._model or str(chunk.get("model") or "")
        if isinstance(usage := chunk.get("usage"), dict):
            self._usage = usage
        match chunk.get("choices"):
            case [dict() as choice, *_]:
                self.raw_stop = str(choice.get("finish_reason") or self.raw_stop)
                # A server that does not stream sends the message whole.
                self._take_delta(choice.get("delta") or choice.get("message"))
            case _:
                pass

    def _take_delta(self, delta: object) -> None:
        if not isinstance(delta, dict):
            return
        self._hear(delta.get("content"))
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            self._refused = True
            self._hear(refusal)
        for key in REASONING:
            if isinstance(piece := delta.get(key), str):
                self._reasoning.setdefault(key, []).append(piece)
        calls = delta.get("tool_calls")
        for position, piece in enumerate(calls if isinstance(calls, list) else []):
            if isinstance(piece, dict):
                self._take_call(position, piece)

    def _hear(self, content: object) -> None:
        match content:
            case str() if content:
                self._text.append(content)
                self._say(content)
            case list():
                for part in content:
                    self._hear(part.get("text") if isinstance(part, dict) else None)
            case _:
                pass

    def _take_call(self, position: int, piece: dict[str, Any]) -> None:
        index = piece.get("index")
        index = index if isinstance(index, int) else position
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        given_id, name = str(piece.get("id") or ""), str(function.get("name") or "")
        call = self._at.get(index)
        if call is None or _is_another(call, given_id, name):
            if len(self._calls) >= MAX_CALLS:
                return
            call = self._at[index] = _Open()
            self._calls.append(call)
        call.given_id = call.given_id or given_id
        call.name = call.name or name
        if isinstance(extra := piece.get("extra_content"), dict):
            call.extra = {"extra_content": extra}
        match function.get("arguments"):
            case str() as part:
                call.parts.append(part)
            case dict() as whole:
                call.parts.append(dumps(whole).decode())
            case _:
                pass

    def is_cut_off(self) -> bool:
        """Say whether the stream ended too early; some servers never name a reason, so a whole answer will do."""
        if self.raw_stop:
            return False
        if self._calls:
            return isinstance(arguments(self._calls[-1].text), str)
        return not self._text

    def response(self, model: str, ids: CallIds, body_bytes: int) -> Response:
        """Return the whole response; `blocks` keeps the reasoning and what servers hang on their calls."""
        text = "".join(self._text)
        calls = [Call(ids.next(each.given_id), each.name, arguments(each.text)) for each in self._calls]
        extras = {call.call_id: each.extra for call, each in zip(calls, self._calls, strict=True) if each.extra}
        reasoning = {key: "".join(parts) for key, parts in self._reasoning.items()}
        blocks = {"reasoning": reasoning, "extras": extras} if reasoning or extras else None
        usage = self._counted() or self._estimated(body_bytes, text)
        return Response(text, tuple(calls), usage, self._stop(bool(calls)), self.raw_stop, blocks, self._model or model)

    def _stop(self, has_calls: bool) -> Stop:
        stop = STOPS.get(self.raw_stop, Stop.END)
        if self._refused and stop is Stop.END:
            return Stop.REFUSAL
        return Stop.TOOL_CALLS if has_calls and stop is Stop.END else stop

    def _counted(self) -> Usage | None:
        """Return what the server counted, or None where it sent nothing or zeros."""
        prompt, output = _count(self._usage, "prompt_tokens"), _count(self._usage, "completion_tokens")
        details = self._usage.get("prompt_tokens_details")
        cached = _count(details, "cached_tokens") if isinstance(details, dict) else 0
        written = _count(details, "cache_write_tokens") if isinstance(details, dict) else 0
        return Usage(prompt, output, cached, written) if prompt or output else None

    def _estimated(self, body_bytes: int, text: str) -> Usage:
        words = text + "".join(call.name + call.text for call in self._calls)
        return Usage(estimate_bytes(body_bytes), estimate_tokens(words), estimated=True)


def _is_another(call: _Open, given_id: str, name: str) -> bool:
    """Say whether a piece begins another call although its index is in use; some servers always say 0."""
    if given_id and call.given_id:
        return given_id != call.given_id
    return bool(name and call.parts) and isinstance(arguments(call.text), dict)


def _count(usage: dict[str, Any], key: str) -> int:
    value = usage.get(key)
    return value if isinstance(value, int) and value > 0 else 0
