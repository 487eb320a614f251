"""What all bodies share: how much of a list is shown."""

from typing import Any, NamedTuple

from agents import told

BLOCKS = 100
"""Cells, pages, files with their diffs, memories: parts of a card that have parts."""
WORDS = 50
"""Names in a row, such as the tools that are left."""
NAME_CHARS = 200


class Names(NamedTuple):
    """Names, the first of them, and how many more there are."""

    first: list[str]
    more: int


def names_of(value: Any) -> Names:
    """Return the names of a list, at most WORDS."""
    found = [told.text(each, NAME_CHARS) for each in told.texts(value)[:WORDS]]
    return Names(found, max(0, len(value) - len(found)) if isinstance(value, list) else 0)
