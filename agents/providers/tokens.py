"""Estimates of tokens, for budgets and the 70 % rule where no provider has counted yet."""

BYTES_PER_TOKEN = 4
"""English and code come to about four bytes a token; counting bytes keeps other scripts from being underrated."""
IMAGE_TOKENS = 1500


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text costs."""
    return estimate_bytes(len(text.encode("utf-8", "surrogatepass")))


def estimate_bytes(size: int) -> int:
    """Return about how many tokens a text of so many bytes costs."""
    return -(-size // BYTES_PER_TOKEN)
