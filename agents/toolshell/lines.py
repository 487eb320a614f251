"""The protocol's lines: bounded JSON objects in, JSON objects out, and nothing else on standard output."""

import json
import os
import select
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LINE_BYTES = 32 * 1024 * 1024
"""A request may be so long; a longer one is refused, and what follows it is read on."""
PIECE = 1 << 20


class BadLine(Exception):
    """A line that is no request; the message says why."""


class Channel:
    """Standard input and output, taken away from whatever else might read or print there."""

    def __init__(self) -> None:
        self._in, self._out = os.dup(0), os.dup(1)
        self._wake_read, self.waker = os.pipe()
        os.set_blocking(self.waker, False)
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)  # a library that prints speaks to people, on stderr
        self._rest = bytearray()
        self._too_long = False

    def lines(self) -> Iterator[bytes | None]:
        """Yield each line that is not blank, None for one that was too long; end with the input or at a wake-up."""
        while not self._is_woken():
            piece = os.read(self._in, PIECE)
            if not piece:
                yield from self._last()
                return
            yield from self._taken(piece)

    def _is_woken(self) -> bool:
        ready, _, _ = select.select([self._in, self._wake_read], [], [])
        return self._wake_read in ready

    def _taken(self, piece: bytes) -> Iterator[bytes | None]:
        start = len(self._rest)
        self._rest += piece
        while (end := self._rest.find(b"\n", start)) >= 0:
            line = bytes(self._rest[:end])
            del self._rest[: end + 1]
            start = 0
            yield from self._whole(line)
            if self._is_woken_now():
                return
        if len(self._rest) > LINE_BYTES:
            self._rest.clear()
            self._too_long = True

    def _is_woken_now(self) -> bool:
        return bool(select.select([self._wake_read], [], [], 0)[0])

    def _whole(self, line: bytes) -> Iterator[bytes | None]:
        if self._too_long or len(line) > LINE_BYTES:
            self._too_long = False
            yield None
        elif line.strip():
            yield line

    def _last(self) -> Iterator[bytes | None]:
        line = bytes(self._rest)
        self._rest.clear()
        yield from self._whole(line)

    def send(self, message: dict[str, Any]) -> None:
        """Print one object as a line. Raises BrokenPipeError when nobody reads any more."""
        rest = memoryview(json.dumps(message, ensure_ascii=True, default=_as_text).encode("ascii") + b"\n")
        while rest:
            rest = rest[os.write(self._out, rest) :]


def _as_text(value: object) -> str:
    """Return a value that JSON has no form for as text, such as a path."""
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} in a result is no JSON")


def read_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line. Raises BadLine."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLine(f"the line is no JSON: {error}"[:300]) from None
    if not isinstance(found, dict):
        raise BadLine(f"the line is no JSON object, but a {type(found).__name__}")
    return found
