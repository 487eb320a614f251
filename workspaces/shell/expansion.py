"""Words of the syntax tree resolved as the shell would, as far as the source says."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, product

from tree_sitter import Node

from workspaces.shell import parameters, words
from workspaces.shell.scope import VALUES_LIMIT, Scope, Value
from workspaces.shell.words import UNKNOWN, Kind, Piece, Word
from workspaces.shell.work import Work

Pieces = list[Piece]
Substitute = Callable[[Node], tuple[str | None, frozenset[int]]]
"""Reads the commands in `$(…)` or `<(…)`; returns what they print where that is plain, and their indexes."""

EXPANSIONS = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"}
)
_VARIABLE = re.compile(r"\$([A-Za-z_]\w*|[0-9@*])")
_DEFAULTS = frozenset({":-", "-", ":=", "="})


class Expander:
    """Resolves words of one source in one scope. `fed_by` collects the commands whose output stands in them."""

    def __init__(self, source: bytes, scope: Scope, substitute: Substitute, work: Work) -> None:
        self._source = source
        self._scope = scope
        self._work = work
        self._substitute = substitute
        self.fed_by: set[int] = set()

    def words(self, *parts: Node) -> list[list[Word]]:
        """Return the words that a word of the source, in its parts, becomes: once for each way it may turn out."""
        self.fed_by.clear()
        versions = _joined(self._pieces(part) for part in parts)
        if any("$" in piece.text for version in versions for piece in version if piece.kind == "bare"):
            versions = [self._missed(version) for version in versions]
        return [words.fields(version, frozenset(self.fed_by), self._scope.separators) for version in versions]

    def _missed(self, version: Pieces) -> Pieces:
        """Expand the variables that the grammar took for text, as in `{a,b}$x`; of several values the first."""
        found: Pieces = []
        for kind, pieces in groupby(version, key=lambda piece: piece.kind):
            if kind != "bare":
                found += pieces
                continue
            for number, part in enumerate(_VARIABLE.split("".join(piece.text for piece in pieces))):
                found += self._variable(part, "split")[0] if number % 2 else [Piece(part, "bare")] if part else []
        return found

    def parts(self) -> "Parts":
        return Parts(self._source)

    def values(self, node: Node) -> list[Value]:
        """Return the values that an assignment may give: text as it is, not split into words."""
        self.fed_by.clear()
        if node.type == "array":
            elements = [word.text for part in node.named_children for word in self.words(part)[0]]
            return [tuple(elements)]
        return [("".join(piece.text for piece in version),) for version in self._pieces(node)]

    def quoted(self, node: Node) -> str:
        """Return what a string is, expanded; of several values the first."""
        self.fed_by.clear()
        return "".join(piece.text for piece in self._quoted_string(node)[0])

    def _pieces(self, node: Node) -> list[Pieces]:
        versions = self._resolved(node) if self._work.down() else [[Piece(UNKNOWN, "split")]]
        self._work.up()
        return versions

    def _resolved(self, node: Node) -> list[Pieces]:
        match node.type:
            case "concatenation" | "command_name":
                return _joined(self._pieces(child) for child in node.children)
            case "string" | "translated_string":
                return self._quoted_string(node)
            case "raw_string":
                return [[Piece(self._text(node).strip()[1:-1], "quoted")]]
            case "ansi_c_string":
                return [[Piece(words.ansi_c(self._text(node).strip()[2:-1]), "quoted")]]
            case kind if kind in EXPANSIONS:
                return self._expansion(node, "split")
            case _:
                return self._literal(node)

    def _literal(self, node: Node) -> list[Pieces]:
        """Resolve what is no word of its own, such as a pattern; what is expanded in it is unknown."""
        text = self._text(node)
        if node.child_count and any(kind in text for kind in ("$", "`", "(")):
            self._visit_inside(node)
            return [[Piece(UNKNOWN, "split")]]
        return [words.bare(text)]

    def _quoted_string(self, node: Node) -> list[Pieces]:
        if node.type == "translated_string":  # $"…": the string stands in it
            node = node.children[-1]
        start, end = node.start_byte, node.end_byte
        opening = self._source.find(b'"', start, end)
        closes = end - 1 if self._source[end - 1 : end] == b'"' and end - 1 > opening else end
        versions = self._string(node, opening + 1, closes)
        return [[Piece("", "quoted"), *version] for version in versions] if _is_plain(versions) else versions

    def _string(self, node: Node, start: int, end: int) -> list[Pieces]:
        """Resolve what stands in double quotes between two bytes; the grammar leaves out spaces between its parts."""
        parts: list[list[Pieces]] = []
        at = start
        for child in node.children:
            if child.type not in EXPANSIONS or child.start_byte < start:
                continue
            raw = self._text(child)
            begin = child.start_byte + len(raw) - len(raw.lstrip(" \t\n"))
            parts.append([[Piece(self._plain(at, begin), "quoted")]])
            parts.append(self._expansion(child, "quoted"))
            at = child.end_byte
        parts.append([[Piece(self._plain(at, end), "quoted")]])
        return _joined(parts)

    def _plain(self, start: int, end: int) -> str:
        return words.in_double_quotes(self._source[start:end].decode(errors="replace"))

    # --- what a dollar begins --------------------------------------------------------------------

    def _expansion(self, node: Node, kind: Kind) -> list[Pieces]:
        match node.type:
            case "simple_expansion":
                return self._variable(self._text(node).strip()[1:], kind)
            case "expansion":
                return self._braced(node, kind)
            case "command_substitution":
                printed, fed_by = self._substitute(node)
                self.fed_by |= fed_by
                return [[Piece(UNKNOWN if printed is None else printed.rstrip("\n"), kind)]]
            case "process_substitution":
                _, fed_by = self._substitute(node)
                self.fed_by |= fed_by
                return [[Piece(f"/dev/fd/{UNKNOWN}", "quoted")]]
            case _:
                self._visit_inside(node)
                return [[Piece(UNKNOWN, "quoted")]]

    def _variable(self, name: str, kind: Kind) -> list[Pieces]:
        self.fed_by |= self._scope.sources.get(name, frozenset())
        return [_elements(value, name == "@", kind) for value in self._scope.get(name)]

    def _braced(self, node: Node, kind: Kind) -> list[Pieces]:
        text = self._text(node).strip()
        children = node.named_children
        if not children:
            return self._variable(text[2:-1], kind) if len(text) > 3 else [[Piece(UNKNOWN, kind)]]
        subject = children[0]
        operators = [self._text(child).strip() for child in node.children[1:-1] if not child.is_named]
        name = self._text(subject).strip()
        if subject.type == "subscript":
            return self._subscript(subject, kind) if not operators else self._unknown(node, kind)
        if subject.type not in ("variable_name", "special_variable_name"):
            return self._unknown(node, kind)
        if not operators:
            return self._variable(name, kind)
        return self._modified(name, operators, node, kind)

    def _modified(self, name: str, operators: list[str], node: Node, kind: Kind) -> list[Pieces]:
        rest = node.named_children[1:]
        known = name in self._scope.values
        match operators:
            case [operator] if operator in _DEFAULTS:
                return self._variable(name, kind) if known or not rest else self._default(rest, kind)
            case [":+" | "+"]:
                return self._default(rest, kind) if rest else [[]]
            case ["!"]:
                return self._indirect(name, kind)
            case _:
                return self._changed(name, node, kind)

    def _changed(self, name: str, node: Node, kind: Kind) -> list[Pieces]:
        """Resolve `${name#…}` and the like for each value of which the outcome can be told."""
        change = self._text(node).strip()[2:-1].removeprefix(name)
        values = [value[0] for value in self._scope.get(name) if len(value) == 1 and UNKNOWN not in value[0]]
        found = [text for value in values if (text := parameters.modified(value, change)) is not None]
        if not found:
            return self._unknown(node, kind)
        self.fed_by |= self._scope.sources.get(name, frozenset())
        return [[Piece(text, kind)] for text in found]

    def _indirect(self, name: str, kind: Kind) -> list[Pieces]:
        names = [value[0] for value in self._scope.get(name) if value]
        return [pieces for other in names for pieces in self._variable(other or UNKNOWN, kind)][:VALUES_LIMIT]

    def _default(self, nodes: Sequence[Node], kind: Kind) -> list[Pieces]:
        versions = _joined(self._pieces(node) for node in nodes)
        kept: dict[Kind, Kind] = {"bare": kind}
        return [[Piece(piece.text, kept.get(piece.kind, piece.kind)) for piece in pieces] for pieces in versions]

    def _subscript(self, node: Node, kind: Kind) -> list[Pieces]:
        self._visit_inside(node)
        name, index = self._text(node).strip().rstrip("]").split("[", 1)
        self.fed_by |= self._scope.sources.get(name, frozenset())
        found: list[Pieces] = []
        for value in self._scope.get(name):
            if index in ("@", "*"):
                found.append(_elements(value, index == "@", kind))
            elif index.isdecimal() and int(index[:6]) < len(value):
                found.append([Piece(value[int(index[:6])], kind)])
            else:
                found.append([Piece(UNKNOWN, kind)])
        return found

    def _unknown(self, node: Node, kind: Kind) -> list[Pieces]:
        self._visit_inside(node)
        return [[Piece(UNKNOWN, kind)]]

    def _visit_inside(self, node: Node) -> None:
        self.fed_by |= visit_substitutions(node, self._substitute)

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode(errors="replace")


class Parts:
    """Nodes of a command gathered into words: the grammar often takes one word, such as `a"b"$(c)`, for several."""

    def __init__(self, source: bytes) -> None:
        self.words: list[list[Node]] = []
        self._source = source
        self._end: int | None = None

    def add(self, node: Node) -> None:
        """Add a node to the word before, if nothing parts them, else as a word of its own."""
        raw = self._source[node.start_byte : node.end_byte]
        start = node.start_byte + len(raw) - len(raw.lstrip(b" \t"))
        between = self._source[self._end : start] if self._end is not None else b" "
        if between:
            self.words.append([node])
        else:
            self.words[-1].append(node)
        self._end = node.end_byte


def visit_substitutions(node: Node, substitute: Substitute) -> frozenset[int]:
    """Read the commands in each `$(…)` and `<(…)` at any depth below a node; return their indexes."""
    found: set[int] = set()
    waiting = list(node.children)
    while waiting:
        child = waiting.pop()
        if child.type in ("command_substitution", "process_substitution"):
            found |= substitute(child)[1]
        else:
            waiting += child.children
    return frozenset(found)


def _is_plain(versions: list[Pieces]) -> bool:
    return all(piece.kind != "break" for version in versions for piece in version)


def _elements(value: Value, apart: bool, kind: Kind) -> Pieces:
    """Return the pieces of a variable's elements; `apart`: each is a word of its own, also in quotes."""
    if not apart and kind == "quoted":
        return [Piece(" ".join(value), kind)]
    found: Pieces = []
    for number, element in enumerate(value):
        found += [Piece("", "break")] if number else []
        found.append(Piece(element, kind))
    return found


def _joined(parts: Iterable[list[Pieces]]) -> list[Pieces]:
    """Return each way to choose one version of every part, VALUES_LIMIT at most."""
    versions: list[Pieces] = [[]]
    for part in parts:
        if len(part) == 1:
            for version in versions:
                version += part[0]
            continue
        versions = [[*before, *after] for before, after in product(versions, part)][:VALUES_LIMIT]
    return versions
