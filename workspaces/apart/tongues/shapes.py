"""What a language tells of a source: what is defined in it, what is said of tests beside them, what the file does."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from .conditions import Check
from .grammar import Grammar, Link, joined, norm, tokens
from .nodes import Nodes

CASES_LIMIT = 20_000

Guard = tuple[str, str]


class Mark(NamedTuple):
    """Something said of a test beside it. `what`: skip, xfail, only, retry, cases, test, … or "other"."""

    what: str
    words: str
    line: int
    cases: tuple[tuple[str, int], ...] = ()

    def told(self) -> list[Any]:
        return [self.what, self.words, self.line, [list(each) for each in self.cases]]


class Definition(NamedTuple):
    """What a statement defines. `kind`: suite, test, helper, config; `parts`: the nodes that hold its statements."""

    kind: str
    name: str
    parts: tuple[int, ...] = ()
    marks: tuple[Mark, ...] = ()
    params: str = ""
    node: int = -1
    checks: tuple[Check, ...] = ()


class Fact(NamedTuple):
    """What a whole file does. `code` says what, `name` on what; the parent has the words for each code."""

    code: str
    name: str
    words: str
    line: int

    def told(self) -> list[Any]:
        return [self.code, self.name, self.words, self.line]


def nothing(*_: Any) -> Any:
    return None


def no_facts(n: Nodes) -> Iterator[Fact]:
    return iter(())


class Tongue(NamedTuple):
    """A language, as far as its tests go."""

    grammar: Grammar
    define: Callable[[Nodes, int, str], Definition | None]
    """What a statement defines, given the kind of the unit around it."""
    check: Callable[[Nodes, int, list[Link]], list[Check] | None]
    """What a call, or a statement (no links), checks; None: it is no check."""
    roles: Mapping[str, str]
    """By the name of a call, or its last links after a dot: skip, exit, mock, retry, fail."""
    binds: Mapping[str, str]
    """By kind of node, the field that is bound."""
    stops: Mapping[str, str]
    """By kind of statement: return, raise."""
    facts: Callable[[Nodes], Iterable[Fact]] = no_facts
    elements: Callable[[Nodes, int], list[int] | None] = nothing
    """The elements of what is a list only to this language."""
    handlers: frozenset[str] = frozenset()
    imports: Callable[[Nodes], Iterable[tuple[str, str, int]]] = no_facts  # type: ignore[assignment]
    """The names that are imported, each with where from, and the line."""


class Unit(NamedTuple):
    kind: str
    name: str
    line: int
    end: int
    marks: tuple[Mark, ...]
    params: str
    guards: tuple[Guard, ...]
    steps: list[list[Any]]

    def told(self) -> dict[str, Any]:
        marks = [mark.told() for mark in self.marks]
        about = {"kind": self.kind, "name": self.name, "line": self.line, "end": self.end, "params": self.params}
        return about | {"marks": marks, "guards": [list(each) for each in self.guards], "steps": self.steps}


def listed(g: Grammar, n: Nodes, args: int) -> tuple[str, tuple[tuple[str, int], ...]]:
    """Return arguments without the elements of their outermost lists, and those elements."""
    if args < 0:
        return "", ()
    found: list[tuple[str, int]] = []
    without: list[int] = []
    at = args
    while at < n.lasts[args]:
        if n.kinds[at] in g.lists:
            found += [(norm(g, n, each), n.line(each)) for each in n.inner(at)]
            without.append(at)
            at = n.lasts[at]
        else:
            at += 1
    return joined(tokens(g, n, args, without)), tuple(found[:CASES_LIMIT])
