"""A syntax tree as plain lists, in the order of the text, so that nothing that looks at it has to recurse."""

import time
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

NODES_LIMIT = 400_000
WORK_LIMIT = 6_000_000
"""Looks at nodes that one file is given; an ordinary one of a megabyte takes a third."""
SECONDS = 4.0
"""Of processor time, in which one file is parsed."""
EVERY = 4096
"""Nodes after which the clock is looked at."""
CHUNK_BYTES = 64 * 1024


class TooMuch(Exception):
    """The file is more than is looked into; the text says in what."""


def parsed(parser: Any, data: bytes) -> Any:
    """Return the tree of a text. Raises TooMuch; trying to make sense of nonsense can take a parser long."""
    until = time.process_time() + SECONDS
    try:
        return parser.parse(
            lambda at, _: data[at : at + CHUNK_BYTES], progress_callback=lambda *_: time.process_time() > until
        )
    except ValueError:
        parser.reset()
        raise TooMuch(f"it takes more than {SECONDS:.0f} seconds to parse") from None


class Nodes:
    """A tree; a node is its index. The text is kept as Latin-1, so that bytes and characters count alike."""

    def __init__(self, tree: Any, language: Any, data: bytes) -> None:
        self.text = data.decode("latin-1")
        self.kinds: list[str] = []
        self.named: list[bool] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.parents: list[int] = []
        self.lasts: list[int] = []
        """One past a node's last descendant."""
        self.fields: list[int] = []
        self.notes: dict[int, list[int]] = {}
        """What a language keeps of nodes, to look it up only once."""
        self.long_chains: set[int] = set()
        """Expressions that are known to be too long a chain, so that each part of one isn't followed anew."""
        self._field_ids: dict[str, int] = {}
        self._language = language
        self._lines: list[int] = []
        self._work = 0
        self._fill(tree.walk())

    def spend(self, looks: int) -> None:
        """Count what is looked at, so that no form of a file makes it grow past all bounds. Raises TooMuch."""
        self._work += looks
        if self._work > WORK_LIMIT:
            raise TooMuch("it is nested in a way that takes too long to read")

    def _fill(self, cursor: Any) -> None:
        names: dict[int, tuple[str, bool]] = {}
        open_nodes = [-1]
        until = time.process_time() + SECONDS
        kinds, starts, ends, parents, lasts = self.kinds, self.starts, self.ends, self.parents, self.lasts
        named, fields = self.named, self.fields
        while True:
            node = cursor.node
            kind = node.kind_id
            if kind not in names:
                names[kind] = (node.type, node.is_named)
            about = names[kind]
            at = len(kinds)
            if at >= NODES_LIMIT:
                raise TooMuch(f"it has more than {NODES_LIMIT:,} parts")
            if at % EVERY == 0 and time.process_time() > until:
                raise TooMuch(f"it takes more than {SECONDS:.0f} seconds to read")
            kinds.append(about[0])
            named.append(about[1])
            starts.append(node.start_byte)
            ends.append(node.end_byte)
            parents.append(open_nodes[-1])
            lasts.append(at + 1)
            fields.append(cursor.field_id or 0)
            if cursor.goto_first_child():
                open_nodes.append(at)
                continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return
                lasts[open_nodes.pop()] = len(kinds)

    # --- going about -------------------------------------------------------------------------------

    def children(self, node: int) -> Iterator[int]:
        at, last = node + 1, self.lasts[node]
        while at < last:
            yield at
            at = self.lasts[at]

    def inner(self, node: int) -> list[int]:
        """Return the children that the grammar names, comments aside."""
        found = [at for at in self.children(node) if self.named[at] and "comment" not in self.kinds[at]]
        self.spend(len(found))
        return found

    def field(self, node: int, name: str) -> int:
        """Return the child in a field, -1 where there is none."""
        if name not in self._field_ids:
            self._field_ids[name] = self._language.field_id_for_name(name) or -1
        wanted = self._field_ids[name]
        return next((at for at in self.children(node) if self.fields[at] == wanted), -1)

    def all_in(self, node: int, name: str) -> list[int]:
        """Return all children in a field."""
        self.field(node, name)
        return [at for at in self.children(node) if self.fields[at] == self._field_ids[name]]

    def is_leaf(self, node: int) -> bool:
        return self.lasts[node] == node + 1

    def says(self, node: int) -> str:
        """Return a node's text as it stands; "" for no node."""
        return self.text[self.starts[node] : self.ends[node]] if node >= 0 else ""

    def line(self, node: int) -> int:
        return self._line_at(self.starts[node])

    def end_line(self, node: int) -> int:
        return self._line_at(max(self.starts[node], self.ends[node] - 1))

    def _line_at(self, offset: int) -> int:
        if not self._lines:
            at, self._lines = -1, [0]
            while (at := self.text.find("\n", at + 1)) >= 0:
                self._lines.append(at + 1)
        return bisect_right(self._lines, offset)

    def first(self, node: int, *kinds: str) -> int:
        """Return the first descendant of a kind, the node itself included; -1 where there is none."""
        return next((at for at in range(node, self.lasts[node]) if self.kinds[at] in kinds), -1)
