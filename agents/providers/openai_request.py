"""A request in the words of OpenAI's chat completions, which many servers speak."""

from collections.abc import Sequence
from typing import Any

from agents.providers.base import Answer, AnswersTurn, ModelTurn, Request, ToolSpec, Turn, UserTurn
from agents.providers.calls import as_object
from agents.providers.jsontext import Fragments, dumps, with_member
from agents.providers.models import ModelInfo

NAME = "openai"

Json = dict[str, Any]


class Writer:
    """Writes the requests of one run; the history is written once and kept as bytes.

    What a server refused once is left out from then on (`adapt`).
    """

    def __init__(self, info: ModelInfo, is_maker: bool) -> None:
        self._info = info
        self._fragments = Fragments(self._written)
        self._options = dict(info.options)
        self._counts_stream = True
        # OpenAI wants max_completion_tokens; other servers know the older name.
        self._limit = "max_completion_tokens" if is_maker else "max_tokens"
        self._adapted: set[str] = set()

    def body(self, request: Request) -> bytes:
        """Return the JSON body of a streaming request."""
        head: Json = {"model": self._info.id, "stream": True}
        if self._counts_stream:
            head["stream_options"] = {"include_usage": True}
        if self._limit:
            head[self._limit] = min(request.max_output_tokens, self._info.max_output_tokens)
        if request.tools:
            head["tools"] = [_tool(tool) for tool in request.tools]
        system = [dumps({"role": "system", "content": request.system})] if request.system else []
        turns = [written for written in self._fragments.of(request.turns) if written]
        return with_member(dumps({**head, **self._options}), "messages", [*system, *turns])

    def adapt(self, complaint: str) -> bool:
        """Change what a refusal complains of; return whether there is something new to try."""
        for field, change in (
            ("stream_options", self._without_count),
            ("max_completion_tokens", self._with_other_limit),
            ("max_tokens", self._with_other_limit),
            ("reasoning_effort", self._with_other_effort),
        ):
            if field in complaint and change.__name__ not in self._adapted:
                self._adapted.add(change.__name__)
                change(complaint)
                return True
        return False

    def _without_count(self, _: str) -> None:
        self._counts_stream = False

    def _with_other_limit(self, complaint: str) -> None:
        self._limit = "max_tokens" if self._limit == "max_completion_tokens" else "max_completion_tokens"

    def _with_other_effort(self, complaint: str) -> None:
        """Newer models of OpenAI take tools here with the effort "none" only; other servers don't know the field."""
        if self._options.pop("reasoning_effort", None) != "none" and "none" in complaint:
            self._options["reasoning_effort"] = "none"

    def _written(self, turn: Turn) -> bytes:
        return b",".join(dumps(message) for message in self._messages(turn))

    def _messages(self, turn: Turn) -> list[Json]:
        match turn:
            case UserTurn():
                return [{"role": "user", "content": turn.text}] if turn.text.strip() else []
            case ModelTurn():
                return [self._assistant(turn)] if turn.text.strip() or turn.calls else []
            case AnswersTurn():
                return [_result(answer) for answer in turn.answers] + self._images(turn.answers)

    def _assistant(self, turn: ModelTurn) -> Json:
        own = turn.blocks if turn.provider == NAME and isinstance(turn.blocks, dict) else {}
        extras = own.get("extras") or {}
        message: Json = {"role": "assistant", "content": turn.text or None}
        if turn.calls:
            message["tool_calls"] = [
                {
                    "id": call.call_id,
                    "type": "function",
                    "function": {
                        "name": call.name or "unknown",
                        "arguments": dumps(as_object(call.input)).decode(),
                    },
                    **extras.get(call.call_id, {}),
                }
                for call in turn.calls
            ]
        if self._info.replay_reasoning:
            message |= own.get("reasoning") or {}
        return message

    def _images(self, answers: Sequence[Answer]) -> list[Json]:
        """Return the images of results as one more user message; a tool message can't hold any."""
        parts: list[Json] = [
            {"type": "image_url", "image_url": {"url": f"data:{media_type};base64,{data}"}}
            for answer in answers
            for media_type, data in answer.images
        ]
        if not parts or not self._info.sees_images:
            return []
        return [{"role": "user", "content": [{"type": "text", "text": "The images of these results:"}, *parts]}]


def _tool(tool: ToolSpec) -> Json:
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
    }


def _result(answer: Answer) -> Json:
    """Return a result; there is no flag for errors, their text says it."""
    return {"role": "tool", "tool_call_id": answer.call_id, "content": answer.content or "(empty)"}
