"""A few lines out of a file that is too large to load: streamed, in bounded memory, found again by a sparse index."""

import os
import threading
import time
from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

BLOCK_BYTES = 1 << 17
TAKEN_BYTES = 1 << 15
NEAR_LINES = 1000
"""So few are looked for in a small block first."""
WINDOW_BYTES = 4 << 20
COUNT_BYTES = 1 << 30
SCAN_BYTES = 16 << 30
"""Up to here a line is looked for."""
RACY_NS = 50_000_000
"""A file that changed so shortly before it was looked at may change again with the same times (a kernel's tick)."""
_INDEXED_FILES = 64
_INDEXED_BLOCKS = 1 << 16

Key = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class Window:
    """The bytes of the lines, whole ones but for a single line longer than WINDOW_BYTES (`cut`).

    `total` is the number of lines, known only if the file was read to its end.
    """

    data: bytes
    total: int | None
    cut: bool = False


class Stopped(Exception):
    """The search for a line was given up."""


class TooFar(Exception):
    """The line lies beyond SCAN_BYTES."""


def settled(stat: os.stat_result, now_ns: int) -> bool:
    """Return whether an equal stat later will mean equal bytes. `now_ns`: the clock when the stat was taken."""
    return max(stat.st_mtime_ns, stat.st_ctime_ns) + RACY_NS < now_ns


def read(file: BinaryIO, first: int, count: int, stop: Callable[[], bool] = lambda: False) -> Window:
    """Return `count` lines from the line `first` on, fewer past WINDOW_BYTES. Reads up to there, no further.

    The place of every block of lines passed is kept, so that going there again is fast while the file stays as it is.
    Raises TooFar, and Stopped soon after `stop` begins to say so.
    """
    descriptor = file.fileno()
    found = os.fstat(descriptor)
    key = _key(found) if settled(found, time.time_ns()) else None
    starts = _known(key)
    try:
        at, passed = _find(descriptor, first - 1, starts, stop)
    finally:
        _keep(key, starts)
    if passed < first - 1:
        return Window(b"", passed + _has_open_end(descriptor, at))
    return _take(descriptor, at, passed, count)


def count_lines(file: BinaryIO) -> int | None:
    """Return the number of lines, None for a file of more than COUNT_BYTES."""
    descriptor, block = file.fileno(), bytearray(1 << 18)
    total, at, last = 0, 0, 10
    while size := os.preadv(descriptor, [block], at):
        total += block.count(b"\n", 0, size)
        last = block[size - 1]
        at += size
        if at > COUNT_BYTES:
            return None
    return total + (last != 10)


# --- finding a line ------------------------------------------------------------------------------


def _find(descriptor: int, passing: int, starts: "array[int]", stop: Callable[[], bool]) -> tuple[int, int]:
    """Return the offset just past so many line ends, and how many were passed; fewer at the end of the file.

    `starts[k]` is how many line ends stand before block k; it grows on the way.
    """
    if not passing:
        return 0, 0
    near = os.pread(descriptor, TAKEN_BYTES, 0) if passing < NEAR_LINES else b""
    if near.count(b"\n") >= passing:
        return _past(near, passing, len(near)), passing
    number = max(0, bisect_left(starts, passing) - 1)
    at, passed = number * BLOCK_BYTES, starts[number]
    block = bytearray(BLOCK_BYTES)
    while size := os.preadv(descriptor, [block], at):
        here = block.count(b"\n", 0, size)
        if passed + here >= passing:
            return at + _past(block, passing - passed, size), passing
        passed += here
        at += size
        if size < BLOCK_BYTES:
            break
        number += 1
        if number == len(starts):
            starts.append(passed)
        if not number % 256:
            _refuse_far(number, stop)
    return at, passed


def _refuse_far(number: int, stop: Callable[[], bool]) -> None:
    if number * BLOCK_BYTES >= SCAN_BYTES:
        raise TooFar(f"beyond the first {SCAN_BYTES >> 30} GB")
    if stop():
        raise Stopped


def _past(block: bytes | bytearray, count: int, size: int) -> int:
    """Return the offset in the block past its line end number `count`: halved while that is faster than going by."""
    low, high = 0, size
    while high - low > 512:
        middle = (low + high) // 2
        here = block.count(b"\n", low, middle)
        if here < count:
            low, count = middle, count - here
        else:
            high = middle
    for _ in range(count):
        low = block.find(b"\n", low) + 1
    return low


def _has_open_end(descriptor: int, end: int) -> bool:
    """Return whether the file ends in a line without a newline."""
    return end > 0 and os.pread(descriptor, 1, end - 1) != b"\n"


# --- taking lines --------------------------------------------------------------------------------


def _take(descriptor: int, at: int, before: int, count: int) -> Window:
    parts: list[bytes] = []
    found = size = 0
    ended = False
    while found < count and size < WINDOW_BYTES and not ended:
        block = os.pread(descriptor, TAKEN_BYTES, at + size)
        parts.append(block)
        found += block.count(b"\n")
        size += len(block)
        ended = len(block) < TAKEN_BYTES
    data = b"".join(parts)
    if found >= count:
        whole = data[: _past(data, count, len(data))]
        at_end = ended and len(whole) == len(data)
        return Window(whole, before + count if at_end else None)
    if ended:
        return Window(data, before + found + (not data.endswith(b"\n") if data else 0))
    lines = data[: data.rfind(b"\n") + 1]
    return Window(lines, None) if lines else Window(_without_half_character(data), None, cut=True)


def _without_half_character(data: bytes) -> bytes:
    """Return UTF-8 that was cut anywhere without the character that the cut went through."""
    for back in range(1, 5):
        if data[-back] & 0xC0 != 0x80:
            return data[:-back]
    return data


# --- the index -----------------------------------------------------------------------------------

_index: "OrderedDict[Key, array[int]]" = OrderedDict()
_lock = threading.Lock()


def _key(stat: os.stat_result) -> Key:
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def _known(key: Key | None) -> "array[int]":
    """Return a copy of what is known of the file's lines; a new file starts with block 0."""
    with _lock:
        if key is not None and key in _index:
            _index.move_to_end(key)
            return _index[key][:]
    return array("Q", [0])


def _keep(key: Key | None, starts: "array[int]") -> None:
    if key is None or len(starts) == 1:
        return
    with _lock:
        if len(_index.get(key, ())) < len(starts):
            _index[key] = starts[:_INDEXED_BLOCKS]
        _index.move_to_end(key)
        while len(_index) > _INDEXED_FILES:
            _index.popitem(last=False)
