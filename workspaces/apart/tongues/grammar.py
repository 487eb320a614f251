"""What is told of a language's grammar, and what is read by it alone: tokens without layout, chains of calls."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from .nodes import Nodes

CHAIN_LIMIT = 40
"""Links of a chain of calls that are followed."""
TOKENS_LIMIT = 4_000
"""Tokens of one statement that are kept; the rest is only counted."""
_CLOSING = frozenset((")", "]", "}", "|", ">"))


class Grammar(NamedTuple):
    """Names of the kinds of nodes, by what they are to a reader of tests."""

    strings: frozenset[str]
    blocks: frozenset[str]
    """Hold statements, one after the other."""
    names: frozenset[str]
    calls: Mapping[str, tuple[str, str, str]]
    """Of calls and members: the fields of what stands before, of the name, of the arguments; "" where it has none."""
    guards: Mapping[str, str]
    """What a compound statement is to what stands in it: if, loop, try, with or function."""
    interpolations: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    """Say nothing of what happens: annotations of types."""
    parens: str = "parenthesized_expression"
    bare: frozenset[str] = frozenset()
    """In these, parentheses around an operand mean nothing."""
    binary: frozenset[str] = frozenset()
    negations: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    """Literals of several values."""
    wrappers: frozenset[str] = frozenset()
    """Stand around an expression and say nothing of it, such as an await."""
    passes: frozenset[str] = frozenset()
    """Statements that do nothing."""
    macros: Mapping[str, tuple[str, str]] = {}
    """Of calls whose arguments are mere tokens: the field of the name, the kind of what holds the tokens."""


def tokens(g: Grammar, n: Nodes, node: int, without: Iterable[int] = ()) -> list[str]:
    """Return what a node says, without layout, comments, and the nodes of `without`."""
    found: list[str] = []
    left_out = set(without)
    at, last = node, n.lasts[node]
    kinds, lasts = n.kinds, n.lasts
    n.spend(min(last - at, TOKENS_LIMIT))
    while at < last and len(found) < TOKENS_LIMIT:
        kind = kinds[at]
        if at in left_out or kind in g.dropped or "comment" in kind:
            at = lasts[at]
        elif kind in g.strings and not _is_filled(g, n, at):
            found.append(_string(n.says(at)))
            at = lasts[at]
        elif lasts[at] == at + 1:
            _add(g, n, at, found)
            at += 1
        else:
            at += 1
    return found


def _add(g: Grammar, n: Nodes, at: int, found: list[str]) -> None:
    text = n.text[n.starts[at] : n.ends[at]]
    if text.isidentifier():
        found.append(text)
        return
    if not text or text == ";" or (text in "()" and _is_idle(g, n, at)):
        return
    if text in _CLOSING and found and found[-1] == "," and not _is_tuple_of_one(n, n.parents[at]):
        found.pop()
    if text[0].isdigit():
        text = text.replace("_", "").lower()
    found.append(text.strip().replace("\n", "\\n"))


def _is_tuple_of_one(n: Nodes, node: int) -> bool:
    return n.kinds[node] == "tuple" and len(n.inner(node)) == 1


def _is_idle(g: Grammar, n: Nodes, at: int) -> bool:
    """Return whether a parenthesis stands only for layout."""
    parent = n.parents[at]
    return parent >= 0 and n.kinds[parent] == g.parens and n.kinds[n.parents[parent]] in g.bare


def _is_filled(g: Grammar, n: Nodes, node: int) -> bool:
    """Return whether a string holds expressions."""
    return any(n.kinds[at] in g.interpolations for at in range(node + 1, n.lasts[node]))


def _string(text: str) -> str:
    """Return a literal with one sort of quotes, whichever it has."""
    start = next((at for at, char in enumerate(text) if char in "\"'`"), -1)
    if start < 0 or len(text) < start + 2:
        return text.replace("\n", "\\n")
    prefix, quote = text[:start].lower().replace("u", ""), text[start]
    width = 3 if text[start : start + 3] == quote * 3 and len(text) >= start + 6 else 1
    inner = text[start + width : -width].replace("\\'", "'").replace('\\"', '"').replace("\n", "\\n")
    return f'{prefix}"{inner}"'


def joined(words: Iterable[str]) -> str:
    return "\n".join(words)


def norm(g: Grammar, n: Nodes, node: int, without: Iterable[int] = ()) -> str:
    return joined(tokens(g, n, node, without)) if node >= 0 else ""


class Link(NamedTuple):
    """One name of a chain, and the arguments that it is called with (-1: it isn't called)."""

    name: str
    args: int = -1
    node: int = -1


def chain(g: Grammar, n: Nodes, node: int) -> list[Link]:
    """Return `a(1).b.c(2)` as its links, the first first; [] where it is too long."""
    found: list[Link] = []
    args = -1
    start = node
    for _ in range(CHAIN_LIMIT):
        n.spend(4)
        node = unwrapped(g, n, node)
        if node in n.long_chains:
            return []
        shape = g.calls.get(n.kinds[node])
        if n.kinds[node] in g.macros:
            found.append(_macro(g, n, node))
            return found[::-1]
        if shape is None:
            said = "".join(tokens(g, n, node)) if n.lasts[node] - node < 12 else n.kinds[node]
            found.append(Link(said, args, node))
            return found[::-1]
        before, name, given = shape
        held = n.field(node, given) if given else -1
        if name:
            named = n.field(node, name)
            found.append(Link(n.says(named), held if held >= 0 else args, node))
            args = -1
        elif args >= 0:
            found.append(Link("", args, node))
            args = held
        else:
            args = held
        inner = n.field(node, before)
        if inner < 0:
            return found[::-1]
        node = inner
    _note_long(g, n, start)
    return []


def _note_long(g: Grammar, n: Nodes, node: int) -> None:
    """Keep which parts of a chain are too long themselves."""
    path: list[int] = []
    while node >= 0:
        n.spend(4)
        node = unwrapped(g, n, node)
        path.append(node)
        shape = None if n.kinds[node] in g.macros else g.calls.get(n.kinds[node])
        node = n.field(node, shape[0]) if shape else -1
    n.long_chains.update(path[:-CHAIN_LIMIT])


def _macro(g: Grammar, n: Nodes, node: int) -> Link:
    name, held = g.macros[n.kinds[node]]
    tree = next((at for at in n.children(node) if n.kinds[at] == held), -1)
    return Link(f"{n.says(n.field(node, name))}!", tree, node)


def dotted(links: Iterable[Link]) -> str:
    return ".".join(link.name for link in links)


def unwrapped(g: Grammar, n: Nodes, node: int) -> int:
    """Return the expression inside parentheses and wrappers."""
    while n.kinds[node] == g.parens or n.kinds[node] in g.wrappers:
        inner = n.inner(node)
        if not inner:
            break
        node = inner[0]
    return node


def calls_in(g: Grammar, n: Nodes, node: int, without: Iterable[int]) -> Iterator[tuple[int, list[Link]]]:
    """Yield the calls below a node with their chains, outer ones before those in their arguments."""
    left_out = set(without)
    seen: set[int] = set()
    at, last = node, n.lasts[node]
    n.spend(last - at)
    while at < last:
        if at in left_out:
            at = n.lasts[at]
            continue
        shape = g.calls.get(n.kinds[at])
        if at not in seen and ((shape is not None and shape[2]) or n.kinds[at] in g.macros):
            links = chain(g, n, at)
            seen.update(link.node for link in links)
            seen.add(at)
            if links:
                yield at, links
        at += 1


def arguments(n: Nodes, args: int) -> list[int]:
    """Return the arguments of a call, in order."""
    return n.inner(args) if args >= 0 else []
