"""A request in the words of Anthropic's Messages API."""

import re
from collections.abc import Sequence
from typing import Any

from agents.providers.base import Answer, AnswersTurn, ModelTurn, Request, ToolSpec, Turn, UserTurn
from agents.providers.calls import as_object
from agents.providers.jsontext import Fragments, dumps, with_member
from agents.providers.models import ModelInfo

NAME = "anthropic"
CACHED = {"cache_control": {"type": "ephemeral"}}
"""A breakpoint of the prompt cache; four are allowed: tools, system and the last two user messages."""
MARKED_MESSAGES = 2

BEGIN, END = b'"content":[', b"]}"
"""What the blocks of a written message stand between."""

Block = dict[str, Any]
Message = tuple[str, list[Block]]


class Writer:
    """Writes the requests of one run; the history is written once and kept as bytes."""

    def __init__(self, info: ModelInfo) -> None:
        self._info = info
        self._fragments = Fragments(self._written)

    def body(self, request: Request) -> bytes:
        """Return the JSON body of a streaming request."""
        head: dict[str, Any] = {
            "model": self._info.id,
            "max_tokens": min(request.max_output_tokens, self._info.max_output_tokens),
            "stream": True,
            **self._info.options,
        }
        if request.system:
            head["system"] = [{"type": "text", "text": request.system, **CACHED}]
        if request.tools:
            head["tools"] = _tools(request.tools)
        return with_member(dumps(head), "messages", self._messages(request.turns))

    def _messages(self, turns: Sequence[Turn]) -> list[bytes]:
        """Return the messages; turns of one role in a row become one, as the roles must alternate."""
        messages: list[bytes] = []
        users: list[int] = []
        before = ""
        for role, message in self._fragments.of(turns):
            if not message:
                continue
            if role == before:
                messages[-1] = messages[-1].removesuffix(END) + b"," + message.partition(BEGIN)[2]
                continue
            if role == "user":
                users.append(len(messages))
            messages.append(message)
            before = role
        for index in users[-MARKED_MESSAGES:]:
            messages[index] = _marked(messages[index])
        return messages

    def _written(self, turn: Turn) -> tuple[str, bytes]:
        """Return the turn's role and its message, which is empty when the turn says nothing."""
        role, blocks = self._message(turn)
        inner = b",".join(dumps(block) for block in blocks)
        return role, b'{"role":"%s",%s%s%s' % (role.encode(), BEGIN, inner, END) if inner else b""

    def _message(self, turn: Turn) -> Message:
        match turn:
            case UserTurn():
                return "user", [{"type": "text", "text": turn.text}] if turn.text.strip() else []
            case ModelTurn():
                return "assistant", self._own(turn) or _rebuilt(turn)
            case AnswersTurn():
                return "user", [self._result(answer) for answer in turn.answers]

    def _own(self, turn: ModelTurn) -> list[Block]:
        """Return the turn's own blocks, verbatim; signed thinking holds for the model that thought it only."""
        match turn.blocks:
            case {"model": str() as model, "content": list() as content} if turn.provider == NAME:
                return content if model == self._info.id else []
            case _:
                return []

    def _result(self, answer: Answer) -> Block:
        content: list[Block] = [{"type": "text", "text": answer.content}] if answer.content.strip() else []
        if self._info.sees_images:
            content += [_image(*image) for image in answer.images]
        result: Block = {"type": "tool_result", "tool_use_id": _id(answer.call_id), "content": content or "(empty)"}
        return {**result, "is_error": True} if answer.is_error else result


def _tools(tools: Sequence[ToolSpec]) -> list[Block]:
    written: list[Block] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.schema} for tool in tools
    ]
    written[-1] |= CACHED
    return written


def _rebuilt(turn: ModelTurn) -> list[Block]:
    text: list[Block] = [{"type": "text", "text": turn.text}] if turn.text.strip() else []
    return text + [
        {"type": "tool_use", "id": _id(call.call_id), "name": call.name or "unknown", "input": as_object(call.input)}
        for call in turn.calls
    ]


def _id(call_id: str) -> str:
    """Return a call id in the characters that the API takes."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)


def _image(media_type: str, data: str) -> Block:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def _marked(message: bytes) -> bytes:
    """Return a written message with a cache breakpoint in its last block."""
    return message.removesuffix(b"}" + END) + b"," + dumps(CACHED)[1:] + END
