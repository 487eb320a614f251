"""Estimates of tokens."""

import pytest

from agents.providers.base import Answer, AnswersTurn, Call, ModelTurn, Turn, UserTurn
from agents.providers.tokens import IMAGE_TOKENS, context_used, estimate_tokens
from tests.agents.providers.support import TOOLS


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("夢夢夢夢", 3), ("\udc80", 1)]
)
def test_a_text_costs_a_token_for_four_bytes(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_a_request_costs_all_that_is_in_it() -> None:
    turns: list[Turn] = [UserTurn("x" * 40), ModelTurn("x" * 40, (Call("1", "read", {"a": "x" * 32}),))]
    answers = AnswersTurn((Answer("1", "x" * 400, images=(("image/png", "xxxx"),)),))
    assert context_used("x" * 40, (), turns) == 40
    assert context_used("", (), [answers]) == 100 + IMAGE_TOKENS
    assert context_used("", TOOLS, []) > 20
