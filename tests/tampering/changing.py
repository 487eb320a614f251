"""How a trick, or an honest piece of work, changes a project: edits of files, written as a table."""

from collections.abc import Mapping
from dataclasses import dataclass

from workspaces.integrity.findings import FindingKind


@dataclass(frozen=True)
class Edit:
    """Replace a text that stands once in a file."""

    path: str
    old: str
    new: str


@dataclass(frozen=True)
class Write:
    """Write a file, new or not."""

    path: str
    text: str


@dataclass(frozen=True)
class Remove:
    path: str


@dataclass(frozen=True)
class Move:
    path: str
    to: str


Change = Edit | Write | Remove | Move


@dataclass(frozen=True)
class Trick:
    """A way to turn tests green without mending the code: of which kinds one finding at least must be, and where."""

    name: str
    kinds: frozenset[FindingKind]
    path: str
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Honest:
    """Ordinary work, in which nothing is suspect."""

    name: str
    changes: tuple[Change, ...]


def trick(name: str, kinds: FindingKind | tuple[FindingKind, ...], path: str, *changes: Change) -> Trick:
    return Trick(name, frozenset(kinds if isinstance(kinds, tuple) else (kinds,)), path, changes)


def honest(name: str, *changes: Change) -> Honest:
    return Honest(name, changes)


def changed(files: Mapping[str, str], changes: tuple[Change, ...]) -> dict[str, str | None]:
    """Return what the changes make of the files: the new text of each that differs, None for one that is gone."""
    now: dict[str, str | None] = dict(files)
    for change in changes:
        match change:
            case Edit(path, old, new):
                text = now[path]
                assert text is not None
                assert text.count(old) == 1, (path, old, text.count(old))
                now[path] = text.replace(old, new)
            case Write(path, text):
                now[path] = text
            case Remove(path):
                assert now[path] is not None
                now[path] = None
            case Move(path, to):
                now[to], now[path] = now[path], None
    return {path: text for path, text in now.items() if files.get(path) != text}
