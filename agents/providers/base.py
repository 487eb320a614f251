"""The contract between the loop and a model: a neutral conversation in, a response with calls and usage out."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


@dataclass(frozen=True)
class ToolSpec:
    """A tool as a model sees it; `schema` is the JSON schema of its input."""

    name: str
    description: str
    schema: dict[str, Any]


@dataclass(frozen=True)
class Call:
    """A call that the model asked for. `input` is verbatim: a JSON object, or the raw text if it was none."""

    call_id: str
    name: str
    input: Any


@dataclass(frozen=True)
class Usage:
    """Tokens of one response. `input_tokens` counts the whole prompt, `cached_tokens` the part read from the cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    estimated: bool = False
    """The server counted nothing; these are our estimates."""


@dataclass(frozen=True)
class UserTurn:
    """Words to the agent: the task, a human's message, a note of Sakura."""

    text: str


@dataclass(frozen=True)
class ModelTurn:
    """What the model answered before; `blocks` are its provider's own, replayed verbatim to that provider."""

    text: str
    calls: tuple[Call, ...] = ()
    blocks: Any = None
    provider: str = ""


@dataclass(frozen=True)
class Answer:
    """The result of one call. `images` are (media type, base64)."""

    call_id: str
    content: str
    is_error: bool = False
    images: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class AnswersTurn:
    """The results of all calls of the model turn before it, in their order."""

    answers: tuple[Answer, ...]


Turn = UserTurn | ModelTurn | AnswersTurn


@dataclass(frozen=True)
class Request:
    """What a model is asked. `position` is how many responses this agent has given before (the script's line)."""

    agent: str
    system: str
    turns: Sequence[Turn]
    tools: Sequence[ToolSpec]
    max_output_tokens: int
    position: int = 0
    script: dict[str, Any] | None = None


class Stop(StrEnum):
    """Why a response ended."""

    END = "end"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    REFUSAL = "refusal"
    PAUSE = "pause"


@dataclass(frozen=True)
class Response:
    """A whole response. `raw_stop` is the provider's own word."""

    text: str
    calls: tuple[Call, ...] = ()
    usage: Usage = field(default_factory=Usage)
    stop: Stop = Stop.END
    raw_stop: str = ""
    blocks: Any = None
    model: str = ""


class Trouble(StrEnum):
    """What can go wrong with a provider."""

    WRONG_KEY = "wrong_key"
    UNKNOWN_MODEL = "unknown_model"
    QUOTA = "quota"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    CONTEXT_FULL = "context_full"
    BAD_REQUEST = "bad_request"
    BAD_ANSWER = "bad_answer"


class ProviderError(Exception):
    """A failed request, as a plain sentence for the human. `retryable`: the same request may succeed later."""

    def __init__(
        self, trouble: Trouble, sentence: str, *, retryable: bool = False, retry_after_s: float | None = None
    ) -> None:
        super().__init__(sentence)
        self.trouble = trouble
        self.sentence = sentence
        self.retryable = retryable
        self.retry_after_s = retry_after_s


class Cancelled(Exception):
    """The request was given up because the run was cancelled, paused or lost."""


class Provider(Protocol):
    """One way to ask a model. Instances belong to one run and are used by one thread."""

    name: str

    def respond(self, request: Request, on_text: Callable[[str], None], cancelled: threading.Event) -> Response:
        """Ask, stream words to `on_text`, return the whole response.

        Raises ProviderError, and Cancelled within a second of `cancelled` being set (the connection is closed).
        """
