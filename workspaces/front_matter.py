"""The YAML front matter of a Markdown text, read within bounds: no aliases, no deep nesting, no types but text."""

import re
from typing import Any

import yaml

from workspaces import cuts

HEAD_CHARS = 20 * 1024
"""Characters that a front matter may have."""
DEPTH = 20

_FENCE = re.compile(r"---[ \t]*\r?")
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE)


class FrontMatterError(Exception):
    """A front matter that can't be read; the message is a sentence that says why."""


class _Loader(yaml.BaseLoader):
    """YAML's safe loader that keeps every scalar as text. Aliases are refused: a few can stand for millions."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise FrontMatterError("Its front matter uses YAML aliases; write the values out.")
        self.depth += 1
        if self.depth > DEPTH:
            raise FrontMatterError(f"Its front matter is nested more than {DEPTH} deep.")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def split(text: str) -> tuple[dict[str, Any], str]:
    """Return the fields between the two `---` lines, and the text after them. Raises FrontMatterError.

    A value is a text, or a list or mapping of such.
    """
    first, newline, rest = text.partition("\n")
    if not newline or not _FENCE.fullmatch(first):
        raise FrontMatterError("It has no front matter: it must begin with a line “---”, then name and description.")
    end = _END.search(rest, 0, HEAD_CHARS)
    if end is None:
        raise FrontMatterError(f"No line “---” ends its front matter within the first {HEAD_CHARS // 1024} KB.")
    return _fields(rest[: end.start()]), rest[end.end() :].removeprefix("\n")


def _fields(head: str) -> dict[str, Any]:
    try:
        found = yaml.load(head, Loader=_Loader)  # noqa: S506 -- made of BaseLoader, which makes nothing but text
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 2}" if error.problem_mark else ""
        raise FrontMatterError(
            f"Its front matter is no valid YAML{line}: {error.problem or 'it can’t be read'}. "
            "Put a text with “: ” or “#” in it in quotes."
        ) from None
    except yaml.YAMLError as error:
        raise FrontMatterError(f"Its front matter is no valid YAML: {cuts.head(str(error), 200)}") from None
    if found in (None, ""):
        return {}
    if not isinstance(found, dict):
        raise FrontMatterError("Its front matter holds no fields such as “name: …”.")
    return found
