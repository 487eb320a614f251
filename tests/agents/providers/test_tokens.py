"""Estimates of tokens."""

import pytest

from agents.providers.tokens import estimate_tokens


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("夢夢夢夢", 3), ("\udc80", 1)]
)
def test_a_text_costs_a_token_for_four_bytes(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens
