"""Where the programs of a shell line stand in its text, so that words can be put beside them and nothing else moves."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tree_sitter import Node

from workspaces.shell.work import Work

LINE_LIMIT = 16 * 1024
"""Bytes of a line in which places are looked for."""
DEPTH_LIMIT = 20
PLACES_LIMIT = 100

_MISREAD = re.compile(r"<<|`|\\[ \t\n]|\{[^\s{},]*,|[\0\v\f\r\ufeff]")
"""What the grammar reads otherwise than bash in places: a line with it is left alone."""
_RENAMES = "alias"
"""After it a name may stand for anything."""
_PLAIN = re.compile(r"[\w./:=@%+,^#-]+")
_CLAUSES = frozenset({"program", "list", "subshell", "compound_statement", "negated_command"})
_PASSES_ON = frozenset({"tee", "cat"})
_OWN_DESCRIPTORS = frozenset({"2", "3", "4", "5", "6", "7", "8", "9"})


@dataclass(frozen=True)
class Part:
    """A word; `text` is None where only running would tell. `end`: the offset in bytes right after it."""

    text: str | None
    end: int


@dataclass(frozen=True)
class Place:
    """A simple command where it stands.

    `words` begins with the program. `prints_here`: what it prints is what the line prints. `is_last`: the line's text
    ends with its last word, so that words added to the line are its own.
    """

    words: tuple[Part, ...]
    prints_here: bool
    is_last: bool

    @property
    def texts(self) -> tuple[str | None, ...]:
        return tuple(word.text for word in self.words)


def find(line: str) -> list[Place]:
    """Return the simple commands of a line beside which words can be put.

    Not those in `$(…)`, functions, loops and conditions; none at all of a line that may be misread.
    """
    data = line.encode(errors="replace")
    if len(data) > LINE_LIMIT or _MISREAD.search(line) or data.decode() != line:
        return []
    work = Work()
    root = work.parsed(data)
    if root is None or not work.is_whole:
        return []
    walk = _Walk(data, len(data.rstrip()))
    walk.visit(root, True, 0)
    return [] if walk.is_unsure else walk.places


class _Walk:
    def __init__(self, data: bytes, end: int) -> None:
        self.places: list[Place] = []
        self.is_unsure = False
        self._data = data
        self._end = end

    def visit(self, node: Node, prints_here: bool, depth: int) -> None:
        if depth > DEPTH_LIMIT or len(self.places) >= PLACES_LIMIT:
            return
        match node.type:
            case "command":
                self._command(node, prints_here)
            case "redirected_statement":
                prints_here = prints_here and not _takes_output(node, self._data)
                if body := node.child_by_field_name("body"):
                    self.visit(body, prints_here, depth + 1)
            case "pipeline":
                self._pipeline(node.named_children, prints_here, depth)
            case "list":
                self._list(node, prints_here, depth)
            case "function_definition":
                self.is_unsure = True
            case kind if kind in _CLAUSES:
                for child in node.named_children:
                    self.visit(child, prints_here, depth + 1)

    def _list(self, node: Node, prints_here: bool, depth: int) -> None:
        """`a && b && c` nests to the left, as deep as it is long."""
        rest: list[Node] = []
        while node.type == "list" and node.named_children and len(rest) < PLACES_LIMIT:
            rest += reversed(node.named_children[1:])
            node = node.named_children[0]
        for child in [node, *reversed(rest)]:
            self.visit(child, prints_here, depth + 1)

    def _pipeline(self, stages: Sequence[Node], prints_here: bool, depth: int) -> None:
        passed_on = [self._name(stage) in _PASSES_ON for stage in stages]
        for number, stage in enumerate(stages):
            self.visit(stage, prints_here and all(passed_on[number + 1 :]), depth + 1)

    def _name(self, node: Node) -> str | None:
        name = node.child_by_field_name("name") if node.type == "command" else None
        return _text(name, self._data) if name is not None else None

    def _command(self, node: Node, prints_here: bool) -> None:
        name = node.child_by_field_name("name")
        if name is None:
            return
        nodes = [name, *node.children_by_field_name("argument")]
        words = tuple(Part(_text(child, self._data), child.end_byte) for child in nodes)
        self.is_unsure |= words[0].text == _RENAMES
        is_last = words[-1].end == node.end_byte == self._end
        self.places.append(Place(words, prints_here, is_last))


def _takes_output(node: Node, data: bytes) -> bool:
    """Return whether a redirection leads what is printed elsewhere; standard error alone may go where it wants."""
    for redirect in node.children_by_field_name("redirect"):
        text = data[redirect.start_byte : redirect.end_byte].decode()
        operator = re.match(r"(\d*)(&>>?|>>|>\||>&?|<)", text)
        if operator is None or (operator[2] != "<" and operator[1] not in _OWN_DESCRIPTORS):
            return True
    return False


def _text(node: Node, data: bytes) -> str | None:
    """Return what a word comes to, where that stands in the line."""
    if node.type == "command_name" and node.named_child_count == 1:
        node = node.named_children[0]
    text = data[node.start_byte : node.end_byte].decode()
    match node.type:
        case "word" | "number" if _PLAIN.fullmatch(text):
            return text
        case "raw_string":
            return text[1:-1]
        case "string" if not re.search(r"[\\$`!]", text):
            return text[1:-1]
        case _:
            return None
