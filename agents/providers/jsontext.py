"""JSON as it goes over the wire, each turn of a conversation written once."""

import json
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from agents.providers.base import Turn

Written = TypeVar("Written")


def dumps(value: object) -> bytes:
    """Return compact JSON as UTF-8; a lone surrogate becomes a question mark."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def with_member(body: bytes, name: str, items: Sequence[bytes]) -> bytes:
    """Return the JSON object `body` with one more member, a list of items that are JSON already."""
    return b'%s,"%s":[%s]}' % (body[:-1], name.encode(), b",".join(items))


class Fragments(Generic[Written]):
    """Remembers what each turn was written as, so that a step costs the new turns and not the whole history."""

    def __init__(self, write: Callable[[Turn], Written]) -> None:
        self._write = write
        self._turns: list[Turn] = []
        self._written: list[Written] = []

    def of(self, turns: Sequence[Turn]) -> list[Written]:
        """Return the turns as written. A turn is written anew where another stood in its place before."""
        kept = min(len(turns), len(self._turns))
        for index in [index for index in range(kept) if turns[index] is not self._turns[index]]:
            self._written[index] = self._write(turns[index])
        self._written[kept:] = [self._write(turn) for turn in turns[kept:]]
        self._turns = list(turns)
        return self._written
