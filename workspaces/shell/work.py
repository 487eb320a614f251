"""How much work one command may make: bounds on its size, its depth and the processor time it takes."""

import functools
import re
import time

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

BYTES_LIMIT = 128 * 1024
"""Longest source that is parsed; Linux takes no longer argument either."""
PIPES_LIMIT = 2000
"""Pipes in a source; the parser's time grows with their square."""
SECONDS_LIMIT = 2.0
NODES_LIMIT = 100_000
"""Nodes that are visited; half the bytes of each source count too."""
DEPTH_LIMIT = 50
"""How deep a command may nest, in nodes of the syntax tree."""
AT_ONCE_BYTES = 4096
"""A source up to this size is parsed in one go: it can't take long."""
CHUNK_BYTES = 512

_LANGUAGE = Language(tree_sitter_bash.language())
_WIDE = re.compile(rb"[\xc0-\xf7][\x80-\xbf]*")
"""A character that is not ASCII: to bash, one letter of a word like another."""
_LETTERS = {2: "é".encode(), 3: "é_".encode(), 4: "éé".encode()}
"""What the grammar reads in its place, with as many bytes. Its scanner asks C's isalpha() and its like, which read past
their table, and crash, for what is beyond Latin-1."""


class Work:
    """What is left of the bounds; shared by all the sources in one command. `is_whole`: all of it could be read."""

    def __init__(self) -> None:
        self.is_whole = True
        self._nodes = NODES_LIMIT
        self._deadline = time.thread_time() + SECONDS_LIMIT
        self._depth = 0

    def parsed(self, source: bytes) -> Node | None:
        """Return the root of the syntax tree; None where it can't be had within the bounds."""
        self._nodes -= len(source) // 2
        root = None
        if self._nodes > 0 and len(source) <= BYTES_LIMIT and source.count(b"|") <= PIPES_LIMIT:
            plain = _WIDE.sub(_letter, source)
            given = plain if len(plain) <= AT_ONCE_BYTES else functools.partial(self._chunk, plain)
            tree = Parser(_LANGUAGE).parse(given)
            root = tree.root_node if self._nodes > 0 else None
        self.is_whole &= root is not None and not root.has_error
        return root

    def _chunk(self, source: bytes, at: int, _: object) -> bytes:
        """Hand the parser its next bytes: the one place where it can be stopped, by an early end of the text.

        Nothing may be raised here: the parser, which is no Python, would go on and call again.
        """
        if at and time.thread_time() > self._deadline:
            self._nodes = 0
            return b""
        return source[at : at + CHUNK_BYTES]

    def spend(self, nodes: int = 1) -> bool:
        """Count nodes and return whether there is work left."""
        self._nodes -= nodes
        if self._nodes > 0 and not self._nodes % 512 and time.thread_time() > self._deadline:
            self._nodes = 0
        self.is_whole &= self._nodes > 0
        return self._nodes > 0

    def down(self) -> bool:
        """Go one down and return whether that is allowed; `up` comes after it in any case."""
        self._depth += 1
        self.is_whole &= self._depth <= DEPTH_LIMIT
        return self._depth <= DEPTH_LIMIT

    def up(self) -> None:
        self._depth -= 1


def _letter(match: re.Match[bytes]) -> bytes:
    return _LETTERS[len(match[0])]
