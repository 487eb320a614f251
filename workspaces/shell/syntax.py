"""Parsing a shell command: every simple command in it, wherever it stands, with its words resolved.

Nothing runs. What only running would tell is marked unknown. Bounded in size, depth and work: no input hangs it.
"""

import functools
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from workspaces.shell import builtins
from workspaces.shell.expansion import Expander, visit_substitutions
from workspaces.shell.heredocs import MARKED, HereDocument, take_out
from workspaces.shell.printed import printed_by
from workspaces.shell.scope import SOURCES_LIMIT, VALUES_LIMIT, Function, Scope, added, with_element
from workspaces.shell.script import Command, Redirect, Script
from workspaces.shell.simple import WORDS, Flow, Simple
from workspaces.shell.words import UNKNOWN, Word
from workspaces.shell.work import BYTES_LIMIT, Work
from workspaces.shell.wrappers import SHELLS, Inner, Text, code_of, inner_of, operands_of, reads_code

COMMANDS_LIMIT = 2000
CODE_DEPTH_LIMIT = 8
"""`sh -c` in `sh -c`, functions in functions."""
WRAPPER_DEPTH_LIMIT = 16
SHORT = 4096
"""Characters up to which many parsed commands are remembered."""

_CONDITIONAL = frozenset({"if_statement", "while_statement", "c_style_for_statement", "case_statement"})
_READERS = frozenset({"source", "."})
_LETTERS = re.compile("[\v\f\r\ufeff]")
"""What the grammar takes for a blank, and bash for a letter: a comment may begin after the one, not the other."""


def parse(command: str) -> Script:
    """Return what a command for bash consists of. Never raises; an ordinary one costs about 0.1 ms, once."""
    return _parse_short(command) if len(command) <= SHORT else _parse_long(command)


@functools.lru_cache(maxsize=128)
def _parse_short(command: str) -> Script:
    return _parse(command)


@functools.lru_cache(maxsize=4)
def _parse_long(command: str) -> Script:
    return _parse(command)


def _parse(command: str) -> Script:
    reader = _Reader()
    reader.read(command, Scope(), Flow())
    commands = tuple(found or Command(()) for found in reader.commands)  # the indexes in `fed_by` must hold
    return Script(commands, reader.work.is_whole, reader.has_functions, reader.is_too_deep)


@dataclass
class _Place:
    """A parsed text: its bytes and the here-documents that were taken out of it."""

    source: bytes
    documents: Sequence[HereDocument]


class _Reader:
    """Walks over the tree as a shell would run it, and collects commands. Shared by all the sources in one command."""

    def __init__(self) -> None:
        self.commands: list[Command | None] = []
        self.work = Work()
        self.has_functions = False
        self.is_too_deep = False
        self._code_depth = 0
        self._trailing: dict[int, Sequence[Node]] = {}
        self._place = _Place(b"", ())

    def read(self, text: str, scope: Scope, flow: Flow) -> None:
        """Read a text of shell code."""
        data = text.encode(errors="replace")
        if self._code_depth >= CODE_DEPTH_LIMIT:
            self._is_too_deep()
            return
        if len(data) > BYTES_LIMIT:
            self.work.is_whole = False
            return
        source, documents = take_out(_LETTERS.sub(UNKNOWN, data.decode()))
        before = self._place
        self._place = _Place(source.encode(), documents)
        self._code_depth += 1
        if root := self.work.parsed(self._place.source):
            self._visit(root, scope, flow)
        self._code_depth -= 1
        self._place = before

    def _is_too_deep(self) -> None:
        self.work.is_whole = False
        self.is_too_deep = True

    # --- statements ------------------------------------------------------------------------------

    def _visit(self, node: Node, scope: Scope, flow: Flow) -> None:
        if not self.work.spend() or len(self.commands) >= COMMANDS_LIMIT:
            self.work.is_whole = False
            return
        if self.work.down():
            self._dispatch(node, scope, flow)
        self.work.up()

    def _dispatch(self, node: Node, scope: Scope, flow: Flow) -> None:
        trailing = self._trailing.pop(node.id, ())
        match node.type:
            case "comment" | "heredoc_body" | "word":
                return
            case "redirected_statement" if not trailing and self._hand_on(node):
                self._visit(node.children[0], scope, flow)
            case "list" | "pipeline" if trailing and node.named_children:
                self._trailing[node.named_children[-1].id] = trailing
                self._list(node, scope, flow) if node.type == "list" else self._pipeline(node, scope, flow)
            case "command" | "redirected_statement":
                self._statement(node, scope, flow, trailing)
            case _ if trailing:
                self._statement(node, scope, flow, trailing)
            case "list":
                self._list(node, scope, flow)
            case "pipeline":
                self._pipeline(node, scope, flow)
            case "subshell":
                self._sequence(node.children, scope.copy(), flow)
            case "command_substitution" | "process_substitution":
                self._substitute(node, scope, flow)
            case "variable_assignment" | "variable_assignments" | "declaration_command" | "unset_command":
                self._declaration(node, scope, flow)
            case "function_definition":
                self._function(node, scope, flow)
            case "for_statement":
                self._for(node, scope, flow)
            case "test_command":
                visit_substitutions(node, lambda child: self._substitute(child, scope, flow))
                self._emit([(Word("["),)], (), (), flow, scope)
            case kind if kind in _CONDITIONAL:
                self._sequence(node.children, scope, replace(flow, is_conditional=True))
            case _:
                self._sequence(node.children, scope, flow)

    def _hand_on(self, node: Node) -> bool:
        """`a | b > f`: the grammar gives the redirection to the whole; it is that of the last command."""
        if not node.children or node.children[0].type not in ("list", "pipeline"):
            return False
        self._trailing[node.children[0].id] = node.children[1:]
        return True

    def _sequence(self, nodes: Sequence[Node], scope: Scope, flow: Flow) -> None:
        for number, node in enumerate(nodes):
            if not node.is_named and node.child_count == 0:
                continue
            follower = nodes[number + 1] if number + 1 < len(nodes) else None
            is_background = follower is not None and follower.type == "&"
            self._visit(node, scope, replace(flow, is_background=True) if is_background else flow)

    def _list(self, node: Node, scope: Scope, flow: Flow) -> None:
        """`a && b && c` nests to the left: as deep as it is long."""
        rest: list[Node] = []
        while node.type == "list" and node.children:
            rest += reversed(node.children[1:])
            node = node.children[0]
        self._sequence([node, *reversed(rest)], scope, flow)

    def _pipeline(self, node: Node, scope: Scope, flow: Flow) -> None:
        stages = [child for child in node.children if child.is_named]
        for stage in stages:
            start = len(self.commands)
            inner = flow if stage is stages[-1] else replace(flow, redirects=())  # what it prints goes into the pipe
            self._visit(stage, scope.copy() if len(stages) > 1 else scope, inner)
            made = range(start, len(self.commands))
            fed_by = sorted(flow.fed_by.union(made))[-SOURCES_LIMIT:]
            flow = replace(flow, fed_by=frozenset(fed_by), input=self.printed(made))

    def printed(self, indexes: Iterable[int]) -> str | None:
        """Return what the commands of these indexes print together; None where only running them would tell."""
        return printed_by({index: found for index in indexes if (found := self.commands[index]) is not None})

    def _substitute(self, node: Node, scope: Scope, flow: Flow) -> tuple[str | None, frozenset[int]]:
        """Read the commands in `$(…)`, `<(…)` or `>(…)`; the last read what comes to the surrounding command."""
        start = len(self.commands)
        is_fed = node.type == "process_substitution" and node.children and node.children[0].type.strip() == ">("
        inner = Flow(
            flow.fed_by if is_fed else frozenset(), flow.input if is_fed else None, inside=flow.inside, via=flow.via
        )
        self._sequence(node.children, scope.copy(), inner)
        made = range(start, len(self.commands))
        return self.printed(made), frozenset(made)

    def _for(self, node: Node, scope: Scope, flow: Flow) -> None:
        expander = self.expander(scope, flow)
        found = [words for value in node.children_by_field_name("value") for words in expander.words(value)]
        name = node.child_by_field_name("variable")
        if name is not None:
            values = [(word.text,) for words in found for word in words] or [(UNKNOWN,)]
            fed_by = frozenset(index for words in found for word in words for index in word.fed_by)
            scope.put(self.text(name), values[:VALUES_LIMIT], fed_by)
        body = node.child_by_field_name("body")
        if body is not None:
            self._visit(body, scope, replace(flow, is_conditional=True))

    def _function(self, node: Node, scope: Scope, flow: Flow) -> None:
        self.has_functions = True
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            self._sequence(node.children, scope, flow)
            return
        called = self.text(name)
        scope.functions[called] = Function(body, self._place.source)
        inner = replace(flow, inside=(*flow.inside, called), is_background=False, fed_by=frozenset(), input=None)
        self._visit(body, scope.copy(), inner)

    def _declaration(self, node: Node, scope: Scope, flow: Flow) -> None:
        assignments = [child for child in node.named_children if child.type == "variable_assignment"]
        assignments = [node] if node.type == "variable_assignment" else assignments
        names = [self.assign(child, scope, flow) for child in assignments]
        words = (Word(node.children[0].type.strip()),) if node.type.endswith("_command") else ()
        expander = self.expander(scope, flow)
        for child in node.named_children if words else ():
            if child.type in WORDS:
                words = (*words, *expander.words(child)[0])
        self._emit([words], tuple(names), (), flow, scope)

    def assign(self, node: Node, scope: Scope, flow: Flow) -> str:
        target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        name = self.text(target) if target is not None else ""
        expander = self.expander(scope, flow)
        values = expander.values(value) if value is not None else [("",)]
        if "[" in name and target is not None:
            visit_substitutions(target, lambda child: self._substitute(child, scope, flow))
            name, _, index = name.rstrip("]").partition("[")
            values = with_element(scope.get(name), index, values)
        if "+=" in self.text(node)[: len(name) + 2]:
            values = added(scope.get(name), values, is_array=value is not None and value.type == "array")
        scope.put(name, values, frozenset(expander.fed_by), adds=flow.is_conditional)
        return name

    # --- simple commands -------------------------------------------------------------------------

    def _statement(self, node: Node, scope: Scope, flow: Flow, trailing: Sequence[Node]) -> None:
        """Read a command with its redirections; those of a group hold for each command in it."""
        own = len(self.commands)
        self.commands.append(None)
        children = [*(node.children if node.type in ("command", "redirected_statement") else (node,)), *trailing]
        parts = [part for child in children for part in (child.children if child.type == "command" else (child,))]
        simple = Simple(self, scope, replace(flow, fed_by=flow.fed_by | {own}))
        for part in parts:
            simple.take(part)
        flow = simple.outcome(flow)
        if simple.is_group:
            self.commands[own] = Command((), redirects=tuple(simple.redirects))
        else:
            self._emit(simple.versions(), tuple(simple.assignments), tuple(simple.redirects), flow, scope, own)
        for group in simple.groups:
            self._visit(group, scope, replace(flow, redirects=(*flow.redirects, *simple.redirects)))

    def _emit(
        self,
        versions: Iterable[tuple[Word, ...]],
        assignments: tuple[str, ...],
        redirects: tuple[Redirect, ...],
        flow: Flow,
        scope: Scope,
        own: int | None = None,
    ) -> None:
        """Add a command, once for each way its words may turn out, and what it runs in turn."""
        for words in versions:
            index = own if own is not None and self.commands[own] is None else len(self.commands)
            made = Command(
                words,
                assignments,
                (*flow.redirects, *redirects),
                flow.fed_by,
                flow.input,
                flow.via,
                flow.inside,
                flow.is_background,
                False,
                scope.folder,
            )
            if index == len(self.commands):
                self.commands.append(made)
            self.commands[index] = made
            if words:
                self._look_through(index, made, flow, scope)

    def _look_through(self, index: int, command: Command, flow: Flow, scope: Scope) -> None:
        name = command.name
        inners = inner_of(command.words, name, command.input, command.fed_by)
        if inners and len(flow.via) >= WRAPPER_DEPTH_LIMIT:
            self._is_too_deep()
            inners = []
        inner_flow = replace(flow, via=(*flow.via, name), redirects=command.redirects)
        if inners:
            self.commands[index] = replace(command, is_wrapper=True)
        for inner in inners:
            self._inner(inner, scope, inner_flow)
        if name in SHELLS | _READERS and (code := self._code_read(command)) is not None:
            within = scope.copy()
            within.arguments = operands_of(command.words) if name in SHELLS else within.arguments
            self.read(code, within, replace(inner_flow, input=None))
        builtins.apply(command, scope)
        if name in scope.functions and name not in flow.inside:
            self._call(name, command, scope, flow)
        elif (value := scope.aliases.get(name)) is not None and name not in flow.via:
            self.read(" ".join([value, *map(_quoted, command.arguments)]), scope, inner_flow)

    def _code_read(self, command: Command) -> str | None:
        """Return the code that a shell or `source` takes from its input or from `<(…)`; None where it is unknown."""
        if _reads_input(command):
            return command.input
        file = code_of(command.words) if command.name in SHELLS else next(iter(command.arguments), None)
        return self.printed(file.fed_by) if file is not None and file.text.startswith(f"/dev/fd/{UNKNOWN}") else None

    def _inner(self, inner: Inner, scope: Scope, flow: Flow) -> None:
        if not isinstance(inner, Text):
            if inner:
                self._emit([inner], (), (), replace(flow, redirects=()), scope)
            return
        within = scope if inner.is_here else scope.copy()
        if not inner.is_here:
            texts = [word.text for word in inner.arguments]
            within.called, within.arguments = texts[0] if texts else UNKNOWN, tuple(texts[1:])
        if inner.code.guess.strip():
            self.read(inner.code.text, within, flow)

    def _call(self, name: str, command: Command, scope: Scope, flow: Flow) -> None:
        """Read a function's body again with what it is called with."""
        function = scope.functions[name]
        body = function.source[function.body.start_byte : function.body.end_byte]
        if b"$" not in body or not self.work.spend(len(body) // 8):
            return
        if self._code_depth >= CODE_DEPTH_LIMIT:
            self.work.is_whole = False
            return
        within = scope.copy()
        within.arguments = tuple(word.text for word in command.arguments)
        before = self._place
        self._place = _Place(function.source, ())
        self._code_depth += 1
        self._visit(function.body, within, replace(flow, inside=(*flow.inside, name), is_background=False))
        self._code_depth -= 1
        self._place = before

    # --- parts -----------------------------------------------------------------------------------

    def expander(self, scope: Scope, flow: Flow) -> Expander:
        return Expander(self._place.source, scope, lambda node: self._substitute(node, scope, flow), self.work)

    def text(self, node: Node) -> str:
        return self._place.source[node.start_byte : node.end_byte].decode(errors="replace").strip()

    def document(self, target: Word, scope: Scope, flow: Flow) -> tuple[str, frozenset[int]] | None:
        """Return the text of a here-document, expanded, and the commands in it; None for any other target."""
        mark = MARKED.fullmatch(target.text)
        if mark is None or int(mark[1][:6]) >= len(self._place.documents):
            return None
        document = self._place.documents[int(mark[1][:6])]
        if document.is_literal or not set(document.text) & {"$", "`", "\\"}:
            return document.text, frozenset()
        return self._expanded(document.text, scope, flow)

    def _expanded(self, text: str, scope: Scope, flow: Flow) -> tuple[str, frozenset[int]]:
        """Expand a here-document's text, which the grammar reads best as a string."""
        text, documents = take_out(text, is_document=True)
        source = f'x "{text}"'.encode()
        root = self.work.parsed(source)
        body = _first(root, "string") if root is not None else None
        if body is None or (body.start_byte, body.end_byte) != (2, len(source)):
            return UNKNOWN, frozenset()
        before = self._place
        self._place = _Place(source, documents)
        expander = self.expander(scope, flow)
        expanded = expander.quoted(body)
        self._place = before
        return expanded, frozenset(expander.fed_by)


def _quoted(word: Word) -> str:
    return shlex.quote(word.text) if word.is_known else word.text


def _reads_input(command: Command) -> bool:
    if command.name in _READERS:
        return bool(command.arguments) and command.arguments[0].text in ("/dev/stdin", "/dev/fd/0")
    return reads_code(command.words)


def _first(node: Node, kind: str) -> Node | None:
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current.type == kind:
            return current
        waiting += current.children
    return None
