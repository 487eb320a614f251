"""What a process opened, for the time of a test; and whether a text shows a part of it."""

from collections.abc import Iterator
from contextlib import contextmanager

from workspaces.logs import opened

SECRET = "tok-7Rq2vXw9Kd4Zs8Bn1Lc6Hp3Jt5Gf0Ym_QaEuTo"
"""Any six characters of it stand in it but once, and in no other text of a test."""


@contextmanager
def knowing(*values: str) -> Iterator[None]:
    """Have opened these secrets, each by the name TOKEN, and no others."""
    before, opened.changes = opened._values, opened.changes + 1
    opened._values, opened._mask = dict.fromkeys(values, "TOKEN"), None
    try:
        yield
    finally:
        opened._values, opened._mask, opened.changes = before, None, opened.changes + 1


def parts(text: str, size: int = 6) -> list[str]:
    """Return what of SECRET stands in the text: pieces of so many characters."""
    pieces = (SECRET[at : at + size] for at in range(len(SECRET) - size + 1))
    return [piece for piece in pieces if piece in text]
