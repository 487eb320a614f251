"""Estimates of tokens, for budgets and the 70 % rule where no provider has counted yet."""

from collections.abc import Iterable, Sequence

from agents.providers.base import Answer, AnswersTurn, ModelTurn, ToolSpec, Turn, UserTurn
from agents.providers.jsontext import dumps

BYTES_PER_TOKEN = 4
"""English and code come to about four bytes a token; counting bytes keeps other scripts from being underrated."""
IMAGE_TOKENS = 1500


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text costs."""
    return estimate_bytes(len(text.encode("utf-8", "surrogatepass")))


def estimate_bytes(size: int) -> int:
    """Return about how many tokens a text of so many bytes costs."""
    return -(-size // BYTES_PER_TOKEN)


def context_used(system: str, tools: Sequence[ToolSpec], turns: Iterable[Turn]) -> int:
    """Return about how many tokens a request costs; prefer the count of the last response where there is one."""
    words = estimate_tokens(system) + sum(_turn(turn) for turn in turns)
    return words + sum(estimate_tokens(tool.name + tool.description) + _json(tool.schema) for tool in tools)


def _turn(turn: Turn) -> int:
    match turn:
        case UserTurn():
            return estimate_tokens(turn.text)
        case ModelTurn():
            return estimate_tokens(turn.text) + sum(_json(call.input) for call in turn.calls)
        case AnswersTurn():
            return sum(_answer(answer) for answer in turn.answers)


def _answer(answer: Answer) -> int:
    return estimate_tokens(answer.content) + IMAGE_TOKENS * len(answer.images)


def _json(value: object) -> int:
    return estimate_bytes(len(dumps(value)))
