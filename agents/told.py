"""What a call was asked and told, read safely: what has another shape, as in an old event, is taken as absent."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from agents import events
from workspaces import cuts

BODY_CHARS = 16_000
"""Characters of one text in a card on the run page, head and tail; the whole is a link away."""
ROWS = 250
"""Rows of one list in a card."""
_WORD_CHARS = 1000
_MOST = 10**15


def clip(text: str, limit: int = BODY_CHARS) -> str:
    """Return the text, or its head and tail with a line that says how much is left out."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{cuts.head(text, half)}\n… {len(text) - 2 * half:,} characters left out …\n{cuts.tail(text, half)}"


def text(value: Any, limit: int = _WORD_CHARS) -> str:
    """Return a text of the data, bounded; "" for what is none."""
    is_text = isinstance(value, str) or (isinstance(value, dict) and "$body" in value)
    return clip(events.shown(value), limit) if is_text else ""


def count(value: Any) -> int | None:
    """Return a count of the data; None for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST else None


def rows(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list, the first of them."""
    return [item for item in value[:ROWS] if isinstance(item, dict)] if isinstance(value, list) else []


def texts(value: Any) -> list[str]:
    """Return the texts of a list, the first of them."""
    return [text(item) for item in value[:ROWS] if isinstance(item, str)] if isinstance(value, list) else []


@dataclass(frozen=True)
class Told:
    """A call's tool and input, and what came of it: `data` for people, `content` as the model got it.

    `chars`: how much of one text is shown. `outcomes` and `bodies` read nothing else.
    """

    run_id: int
    tool: str
    input: dict[str, Any]
    data: dict[str, Any]
    content: str
    chars: int = BODY_CHARS

    def text(self, key: str) -> str:
        return text(self.data.get(key))

    def long_text(self, key: str) -> str:
        return text(self.data.get(key), self.chars)

    def count(self, key: str) -> int | None:
        return count(self.data.get(key))

    def rows(self, key: str) -> list[dict[str, Any]]:
        return rows(self.data.get(key))

    def texts(self, key: str) -> list[str]:
        return texts(self.data.get(key))

    def part(self, key: str) -> dict[str, Any]:
        found = self.data.get(key)
        return found if isinstance(found, dict) else {}

    def more(self, key: str, shown: int) -> int:
        """Return how many the list has beyond those that are shown."""
        found = self.data.get(key)
        return max(0, (len(found) if isinstance(found, list) else 0) - shown)

    # --- where to read on ---

    @cached_property
    def _file_page(self) -> str:
        return reverse("workspace_file", args=[self.run_id])

    def file_url(self, path: str, line: int | None = None) -> str:
        """Return the page of a file, at the line if there is one."""
        if not line:
            return f"{self._file_page}?{urlencode({'path': path}, errors='replace')}"
        return f"{self._file_page}?{urlencode({'path': path, 'line': line}, errors='replace')}#L{line}"

    def folder_url(self, path: str) -> str:
        query = urlencode({"path": path}, errors="replace") if path else ""
        return f"{reverse('workspace_files', args=[self.run_id])}?{query}".removesuffix("?")

    def review_url(self, path: str) -> str:
        return f"{reverse('review', args=[self.run_id])}?{urlencode({'path': path}, errors='replace')}"
