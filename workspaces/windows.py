"""A few lines out of a file that is too large to load: streamed, in bounded memory."""

from dataclasses import dataclass
from typing import BinaryIO

BLOCK_BYTES = 1 << 18
WINDOW_BYTES = 4 << 20
COUNT_BYTES = 1 << 30


@dataclass(frozen=True)
class Window:
    """The bytes of the lines, whole ones but for a single line longer than WINDOW_BYTES.

    `total` is the number of lines, known only if the file was read to its end.
    """

    data: bytes
    total: int | None


def read(file: BinaryIO, first: int, count: int) -> Window:
    """Return `count` lines from the line `first` on, fewer past WINDOW_BYTES. Reads up to there, no further."""
    file.seek(0)
    before, rest = _skip(file, first - 1)
    if before < first - 1:
        return Window(b"", before + bool(rest))
    parts, found = [], 0
    size = 0
    block = rest or file.read(BLOCK_BYTES)
    while block and found < count and size < WINDOW_BYTES:
        parts.append(block)
        found += block.count(b"\n")
        size += len(block)
        block = file.read(BLOCK_BYTES) if found < count else b""
    data = b"".join(parts)
    ended = not block and found < count
    wanted = _first_lines(data, count)
    if ended:
        return Window(wanted, before + found + (not data.endswith(b"\n") if data else 0))
    return Window(wanted if found >= count else wanted[: wanted.rfind(b"\n") + 1] or wanted, None)


def _skip(file: BinaryIO, count: int) -> tuple[int, bytes]:
    """Read past `count` line ends; return how many were passed, and what was read beyond the last one."""
    passed = 0
    last = b""
    while passed < count:
        block = file.read(BLOCK_BYTES)
        if not block:
            return passed, b"" if last.endswith(b"\n") else last[-1:]
        here = block.count(b"\n")
        if passed + here >= count:
            return count, block[len(_first_lines(block, count - passed)) :]
        passed += here
        last = block
    return passed, b""


def _first_lines(data: bytes, count: int) -> bytes:
    at = 0
    for _ in range(count):
        at = data.find(b"\n", at) + 1
        if not at:
            return data
    return data[:at]


def count_lines(file: BinaryIO) -> int | None:
    """Return the number of lines, None for a file of more than COUNT_BYTES."""
    file.seek(0)
    total, last, size = 0, b"", 0
    while block := file.read(1 << 20):
        total += block.count(b"\n")
        last = block
        size += len(block)
        if size > COUNT_BYTES:
            return None
    return total + (not last.endswith(b"\n") if last else 0)
