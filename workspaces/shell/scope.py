"""What a shell knows while it runs: variables, functions, arguments and the folder."""

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from tree_sitter import Node

from workspaces.sandbox.environment import HOME, TMP, TREE
from workspaces.shell.words import TEXT_LIMIT, UNKNOWN, Word

VALUES_LIMIT = 8
"""Values that a variable may have at one place, such as after an `if`; further ones are let go."""

SOURCES_LIMIT = 64
"""Commands that are remembered as feeding a variable or a command."""

Value = tuple[str, ...]
"""A variable's elements: one for all but an array."""


@dataclass
class Function:
    """A function's body, and the text that the node belongs to."""

    body: Node
    source: bytes


@dataclass
class Scope:
    """The state of one shell; a subshell gets a copy. A variable holds each of the values that it may have."""

    values: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    sources: dict[str, frozenset[int]] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] | None = None
    called: str = UNKNOWN
    """What `$0` is."""
    folder: str | None = TREE
    folders: tuple[str | None, ...] = ()
    """What `popd` goes back to."""

    def copy(self) -> "Scope":
        return replace(
            self,
            values=dict(self.values),
            sources=dict(self.sources),
            functions=dict(self.functions),
            aliases=dict(self.aliases),
        )

    def get(self, name: str) -> tuple[Value, ...]:
        """Return the values that a variable may have; one unknown where the source does not say."""
        if name in self.values:
            return self.values[name]
        if name.isdecimal() or name in "@*":
            return self._argument(name)
        known = {"HOME": HOME, "IFS": " \t\n", "TMPDIR": TMP, "SHELL": "/bin/bash", "USER": "agent", "PWD": self.folder}
        return ((known.get(name) or UNKNOWN,),)

    def _argument(self, name: str) -> tuple[Value, ...]:
        if name == "0":
            return ((self.called,),)
        if self.arguments is None:
            return ((UNKNOWN,),)
        if name in "@*":
            return (self.arguments,)
        number = int(name[:4]) - 1
        return ((self.arguments[number],),) if number < len(self.arguments) else (("",),)

    def put(self, name: str, values: Iterable[Value], fed_by: frozenset[int], *, adds: bool = False) -> None:
        """Set a variable; `adds`: it may also keep what it had, as it is set under a condition."""
        new = [tuple(_short(text) for text in value[:VALUES_LIMIT]) for value in values]
        old = list(self.values.get(name, ())) if adds else []
        self.values[name] = tuple(dict.fromkeys([*old, *new]))[:VALUES_LIMIT]
        sources = (self.sources.get(name, frozenset()) if adds else frozenset()) | fed_by
        self.sources[name] = frozenset(sorted(sources)[:SOURCES_LIMIT])

    @property
    def separators(self) -> str:
        """The characters at which words are split: blanks, and what IFS was set to anywhere."""
        return " \t\n" + "".join(value[0] for value in self.values.get("IFS", ()) if value and len(value[0]) < 20)

    def go(self, words: tuple[Word, ...]) -> None:
        """Change the folder as `cd` does."""
        operands = [word for word in words if not word.text.startswith("-")]
        if not operands and not words:
            self.folder = HOME
        elif len(operands) == 1 and operands[0].is_known and not operands[0].globs:
            self.folder = within(self.folder, operands[0].text)
        else:
            self.folder = None


def within(folder: str | None, path: str) -> str | None:
    """Return the path made absolute and plain; None where the folder counts but is unknown."""
    if path.startswith("/"):
        return "/" + posixpath.normpath(path).lstrip("/")
    return posixpath.normpath(posixpath.join(folder, path)) if folder is not None else None


def with_element(old: Sequence[Value], index: str, new: Sequence[Value]) -> list[Value]:
    """Return the values of an array after `name[index]=value`; unknown but for the next index."""
    before = old[0] if old and UNKNOWN not in old[0] else ()
    return [(*before, *value) for value in new] if index == str(len(before)) else [(UNKNOWN,)]


def added(old: Sequence[Value], new: Sequence[Value], *, is_array: bool) -> list[Value]:
    """Return the values of `name+=value`."""
    pairs = list(product(old, new))[:VALUES_LIMIT]
    if is_array:
        return [(*before, *after) for before, after in pairs]
    return [("".join((*before[:1], *after[:1])),) for before, after in pairs]


def _short(text: str) -> str:
    return text if len(text) <= TEXT_LIMIT else UNKNOWN
