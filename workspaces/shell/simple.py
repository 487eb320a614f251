"""One simple command of the syntax tree: its words, assignments and redirections, in the order of the source."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Protocol

from tree_sitter import Node

from workspaces.shell.expansion import EXPANSIONS, Expander
from workspaces.shell.scope import VALUES_LIMIT, Scope
from workspaces.shell.script import Redirect
from workspaces.shell.words import UNKNOWN, Word
from workspaces.shell.work import Work

WORDS = EXPANSIONS | {
    "command_name",
    *("word", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "number"),
    *("brace_expression", "extglob_pattern", "regex", "variable_name", "special_variable_name", "test_operator"),
}
"""The kinds of nodes that are words."""


@dataclass(frozen=True)
class Flow:
    """What surrounds a node: what it reads, where its output goes, and through what it is run."""

    fed_by: frozenset[int] = frozenset()
    input: str | None = None
    redirects: tuple[Redirect, ...] = ()
    inside: tuple[str, ...] = ()
    via: tuple[str, ...] = ()
    is_background: bool = False
    is_conditional: bool = False


class Surroundings(Protocol):
    """What reads the source around a command (workspaces.shell.syntax)."""

    work: Work

    def expander(self, scope: Scope, flow: Flow) -> Expander: ...
    def text(self, node: Node) -> str: ...
    def assign(self, node: Node, scope: Scope, flow: Flow) -> str: ...
    def printed(self, indexes: Iterable[int]) -> str | None: ...
    def document(self, target: Word, scope: Scope, flow: Flow) -> tuple[str, frozenset[int]] | None: ...


class Simple:
    """The parts of one simple command, taken in the order of the source."""

    def __init__(self, reader: Surroundings, scope: Scope, flow: Flow) -> None:
        self._reader = reader
        self._scope = scope
        self._flow = flow
        self._expander = reader.expander(scope, flow)
        self._parts = self._expander.parts()
        self.assignments: list[str] = []
        self.redirects: list[Redirect] = []
        self.groups: list[Node] = []
        self._input: str | None = None
        self._fed_by: frozenset[int] | None = None

    def take(self, node: Node) -> None:
        match node.type:
            case "variable_assignment":
                self._assign(node)
            case "file_redirect":
                self._redirect(node)
            case "herestring_redirect":
                texts = self._expander.words(node.named_children[-1]) if node.named_children else []
                self._feed(" ".join(word.text for word in texts[0]) + "\n" if texts else UNKNOWN)
            case kind if kind in WORDS:
                self._parts.add(node)
            case _ if node.is_named and node.type not in ("comment", "heredoc_redirect"):
                self.groups.append(node)
            case "heredoc_redirect":
                self._reader.work.is_whole = False
            case "==" | "=~" | "=":
                self._parts.add(node)

    def _assign(self, node: Node) -> None:
        if self._parts.words:  # `a b=c`: an argument
            self._parts.add(node)
            return
        self.assignments.append(self._reader.assign(node, self._scope, self._flow))

    def _redirect(self, node: Node) -> None:
        """The grammar takes words after a redirection for further targets of it: they are arguments."""
        operator = next((child.type.strip() for child in node.children if not child.is_named), "")
        descriptor = next((self._reader.text(c) for c in node.children if c.type == "file_descriptor"), "")
        targets = node.children_by_field_name("destination")
        if not targets:
            self.redirects.append(Redirect(operator, None, descriptor))
            return
        parts = self._expander.parts()
        for target_node in targets:
            parts.add(target_node)
        for words in self._expander.words(*parts.words[0])[:1]:
            target = words[0] if len(words) == 1 else Word(UNKNOWN)
            document = self._reader.document(target, self._scope, self._flow)
            if document is not None:
                self._input, self._fed_by = document
                self.redirects.append(Redirect("<<", None, descriptor))
            else:
                self.redirects.append(Redirect(operator, target, descriptor))
                if operator == "<":
                    is_substitution = target.text.startswith("/dev/fd/")
                    self._feed(self._reader.printed(self._expander.fed_by) if is_substitution else None)
        self._parts.words += parts.words[1:]

    def _feed(self, text: str | None) -> None:
        self._input, self._fed_by = text, frozenset(self._expander.fed_by)

    @property
    def is_group(self) -> bool:
        """Whether it is no simple command, but a group of them with redirections."""
        return bool(self.groups) and not self._parts.words and not self.assignments

    def outcome(self, flow: Flow) -> Flow:
        """Return the flow with what the redirections feed in instead of a pipe."""
        return flow if self._fed_by is None else replace(flow, input=self._input, fed_by=self._fed_by)

    def versions(self) -> Iterator[tuple[Word, ...]]:
        """Return the words in each way they may turn out, VALUES_LIMIT at most."""
        words = [self._expander.words(*parts) for parts in self._parts.words]
        for number, chosen in enumerate(product(*words)):
            if number >= VALUES_LIMIT:
                return
            yield tuple(word for words in chosen for word in words)
