"""Anthropic's models, through the maker's SDK; this module is imported only where one is asked."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2

from agents.providers.anthropic_request import NAME, Block, Writer
from agents.providers.base import Call, Request, Response, Stop, Usage
from agents.providers.calls import CallIds, arguments, as_object
from agents.providers.connection import TIMEOUT, Hooks, Wired
from agents.providers.models import ModelInfo
from agents.providers.tokens import estimate_bytes, estimate_tokens
from agents.providers.troubles import Server, cut_off, translate

DEFAULT_URL = "https://api.anthropic.com"
STOPS = {
    "end_turn": Stop.END,
    "stop_sequence": Stop.END,
    "tool_use": Stop.TOOL_CALLS,
    "max_tokens": Stop.LENGTH,
    "model_context_window_exceeded": Stop.LENGTH,
    "refusal": Stop.REFUSAL,
    "pause_turn": Stop.PAUSE,
}
DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}
BETWEEN_TEXTS = "\n\n"


def provider(info: ModelInfo, key: str) -> "AnthropicProvider":
    """Return a provider for one run."""
    return AnthropicProvider(info, key)


class AnthropicProvider(Wired):
    """Asks one model of Anthropic's Messages API."""

    name = NAME

    def __init__(self, info: ModelInfo, key: str) -> None:
        url = (info.base_url or DEFAULT_URL).rstrip("/").removesuffix("/v1")
        label = "Anthropic" if not info.base_url else f"The model server {info.host}"
        self._server = Server(label, url, info.id, info.key_variable, key)
        self._writer = Writer(info)
        super().__init__()

    def _connect(self, hooks: Hooks) -> None:
        self._client = anthropic.Anthropic(
            api_key=self._server.key or "not-needed",
            base_url=self._server.url,
            max_retries=0,  # retry.py does it, where the page can say so
            http_client=anthropic.DefaultHttpxClient(timeout=TIMEOUT, event_hooks=hooks),
        )

    def _ask(self, request: Request, say: Callable[[str], None]) -> Response:
        body = self._writer.body(request)
        reading = Reading(say)
        try:
            with self._client.post(
                "/v1/messages",
                cast_to=object,
                content=body,
                options={"headers": {"Content-Type": "application/json"}},
                stream=True,
                stream_cls=anthropic.Stream[object],
            ) as stream:
                for event in stream:
                    reading.take(event)
        except (anthropic.AnthropicError, httpx2.HTTPError, httpx2.StreamError, ValueError) as error:
            # Without the cause: its text may hold a part of the key.
            raise translate(error, self._server) from None
        if not reading.raw_stop:
            raise cut_off(self._server)
        return reading.response(self._server.model, CallIds(request), len(body))


class Reading:
    """Puts the events of a stream together. They are plain JSON: what does not fit is passed over."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._blocks: dict[int, Block] = {}
        self._parts: dict[tuple[int, str], list[str]] = defaultdict(list)
        self._counts: dict[str, int] = {}
        self._model = ""
        self.raw_stop = ""

    def take(self, event: object) -> None:
        """Take one event of the stream."""
        match event:
            case {"type": "message_start", "message": dict() as message}:
                self._model = str(message.get("model") or "")
                self._count(message.get("usage"))
            case {"type": "content_block_start", "index": int() as index, "content_block": dict() as block}:
                self._begin(index, block)
            case {"type": "content_block_delta", "index": int() as index, "delta": {"type": str() as kind} as delta}:
                self._add(index, DELTAS.get(kind, ""), delta)
            case {"type": "message_delta", "delta": dict() as delta, **rest}:
                self.raw_stop = str(delta.get("stop_reason") or self.raw_stop)
                self._count(rest.get("usage"))
            case _:
                pass

    def _begin(self, index: int, block: Block) -> None:
        if block.get("type") == "text" and any(each.get("type") == "text" for each in self._blocks.values()):
            self._say(BETWEEN_TEXTS)
        self._blocks[index] = dict(block)
        if text := block.get("text"):
            self._say(str(text))

    def _add(self, index: int, key: str, delta: dict[str, Any]) -> None:
        piece = delta.get(key)
        if not isinstance(piece, str):
            return
        self._parts[index, key].append(piece)
        if key == "text":
            self._say(piece)

    def _count(self, usage: object) -> None:
        if isinstance(usage, dict):
            self._counts |= {key: value for key, value in usage.items() if isinstance(value, int)}

    def response(self, model: str, ids: CallIds, body_bytes: int) -> Response:
        """Return the whole response; `blocks` is what a later request replays verbatim."""
        calls: list[Call] = []
        content: list[Block] = []
        for index, started in sorted(self._blocks.items()):
            block = self._whole(index, started)
            if block.get("type") == "tool_use":
                call = self._call(index, block, ids)
                calls.append(call)
                block |= {"id": call.call_id, "input": as_object(call.input)}
            if block.get("type") != "text" or block["text"].strip():  # an empty text may not be replayed
                content.append(block)
        text = BETWEEN_TEXTS.join(block["text"] for block in content if block.get("type") == "text")
        stop = STOPS.get(self.raw_stop, Stop.END)
        if calls and stop is Stop.END:
            stop = Stop.TOOL_CALLS
        usage = self._usage(body_bytes, text, calls)
        blocks = {"model": model, "content": content}
        return Response(text, tuple(calls), usage, stop, self.raw_stop, blocks, self._model or model)

    def _whole(self, index: int, block: Block) -> Block:
        keys = {"text": ("text",), "thinking": ("thinking", "signature")}.get(str(block.get("type")), ())
        return {**block, **{key: str(block.get(key) or "") + "".join(self._parts[index, key]) for key in keys}}

    def _call(self, index: int, block: Block, ids: CallIds) -> Call:
        text = "".join(self._parts[index, "partial_json"])
        given = arguments(text) if text else block.get("input") or {}
        return Call(ids.next(block.get("id")), str(block.get("name") or ""), given)

    def _usage(self, body_bytes: int, text: str, calls: list[Call]) -> Usage:
        count = self._counts.get
        cached, written = count("cache_read_input_tokens", 0), count("cache_creation_input_tokens", 0)
        prompt = count("input_tokens", 0) + cached + written
        if prompt or count("output_tokens", 0):
            return Usage(prompt, count("output_tokens", 0), cached, written)
        words = text + "".join(str(call.input) for call in calls)
        return Usage(estimate_bytes(body_bytes), estimate_tokens(words), estimated=True)
