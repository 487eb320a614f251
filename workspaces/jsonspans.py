"""Where the parts of a JSON text stand, so that one of them can be replaced and every other byte kept."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_SPACE = re.compile(r"[ \t\n\r]*")
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True)
class Part:
    """An element of a list, or a member of an object with its `key`; all numbers are offsets.

    It starts, with white space, after what opens the container or a comma, and ends before a comma or what closes it.
    """

    start: int
    first: int
    key_end: int
    value_start: int
    value_end: int
    end: int
    key: str = ""
    value: Any = None


@dataclass(frozen=True)
class Container:
    """A list or object from its bracket at `start` to just past the other; the parts in between in order."""

    start: int
    end: int
    parts: tuple[Part, ...]

    def get(self, key: str) -> Part | None:
        return next((part for part in self.parts if part.key == key), None)


def object_at(text: str, offset: int) -> Container:
    """Return the members of the object that begins at the offset.

    Raises ValueError, also for a key that is there twice.
    """
    found = _container(text, offset, "{", "}", _member)
    keys = [part.key for part in found.parts]
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"an object has the key {twice[:40]!r} twice")
    return found


def list_at(text: str, offset: int) -> Container:
    """Return the elements of the list that begins at the offset. Raises ValueError."""
    return _container(text, offset, "[", "]", _element)


def after_space(text: str, offset: int) -> int:
    """Return the offset of what comes after white space."""
    found = _SPACE.match(text, offset)
    assert found is not None  # it matches nothing, too
    return found.end()


def _container(text: str, offset: int, opens: str, closes: str, part: Callable[[str, int], Part]) -> Container:
    if text[offset : offset + 1] != opens:
        raise ValueError(f"a {opens} is missing at character {offset}")
    parts: list[Part] = []
    at = after_space(text, offset + 1)
    if text[at : at + 1] == closes:
        return Container(offset, at + 1, ())
    at = offset
    while True:
        parts.append(part(text, at + 1))
        at = parts[-1].end
        if text[at : at + 1] == closes:
            return Container(offset, at + 1, tuple(parts))
        if text[at : at + 1] != ",":
            raise ValueError(f"a comma is missing at character {at}")


def _member(text: str, start: int) -> Part:
    first = after_space(text, start)
    key, key_end = _decode(text, first)
    if not isinstance(key, str):
        raise ValueError(f"a key is missing at character {first}")
    at = after_space(text, key_end)
    if text[at : at + 1] != ":":
        raise ValueError(f"a colon is missing at character {at}")
    value_start = after_space(text, at + 1)
    value, value_end = _decode(text, value_start)
    return Part(start, first, key_end, value_start, value_end, after_space(text, value_end), key, value)


def _element(text: str, start: int) -> Part:
    first = after_space(text, start)
    value, value_end = _decode(text, first)
    return Part(start, first, first, first, value_end, after_space(text, value_end), value=value)
