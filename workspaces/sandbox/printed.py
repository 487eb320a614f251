"""What a command printed, as a model and a browser are shown it: the ends of its spool, plain and in colours."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from workspaces import outputs, terminal

WINDOWS = (128 * 1024, 1024 * 1024)
"""Bytes of each end that are looked at: the first will do, unless escapes and progress make most of it disappear."""
AROUND = 1000
"""Characters of what is put before, between and after what a command printed."""
WHOLE_IS_KEPT = (
    "the whole output is kept for people; to see more, write it to a file, or filter it with grep, head or tail"
)


@dataclass(frozen=True)
class Shown:
    """What is shown of an output, and whether some is left out. `coloured` is "" where it has no colours."""

    plain: str
    coloured: str
    is_cut: bool


@dataclass(frozen=True)
class Part:
    """Bytes of an output from `start` to `end` (the next offset); `gap` is what is left out between, if anything."""

    shown: Shown
    start: int
    end: int
    gap: tuple[int, int] | None


def show(spool: Path, limit_chars: int) -> Shown:
    """Return the head and the tail of a whole output, both together no longer than the limit."""
    try:
        with spool.open("rb") as file:
            size = file.seek(0, 2)
            if size <= 2 * WINDOWS[0]:
                return _whole(_read(file, 0, size), limit_chars, size)
            return _ends(file, limit_chars, size)
    except FileNotFoundError:
        return Shown("", "", False)


def _read(file: IO[bytes], start: int, end: int) -> str:
    file.seek(start)
    return file.read(end - start).decode("utf-8", "replace")


def _whole(text: str, limit: int, size: int) -> Shown:
    plain = terminal.plain(text)
    coloured, is_cut = _coloured(text, "", limit, size)
    return Shown(outputs.head_and_tail(plain, limit, WHOLE_IS_KEPT), coloured, is_cut or len(plain) > limit)


def _ends(file: IO[bytes], limit: int, size: int) -> Shown:
    """Look at the ends only, and at more of them only where what was looked at shows too little."""
    half, plain_head, plain_tail, head, tail = limit // 2, "", "", "", ""
    for window in WINDOWS:
        reach = min(window, size // 2)
        head, tail = _read(file, 0, reach), _read(file, size - reach, size)
        plain_head, plain_tail = terminal.plain(head), terminal.plain(tail)
        if min(len(plain_head), len(plain_tail)) >= half:
            break
    if size <= 2 * WINDOWS[1] and len(plain_head) + len(plain_tail) <= limit:
        return _whole(_read(file, 0, size), limit, size)
    note = f"[… most of {size} bytes left out here; {WHOLE_IS_KEPT} …]"
    plain = f"{plain_head[:half]}\n{note}\n{plain_tail[-(limit - half) :]}"
    return Shown(plain, _coloured(head[: WINDOWS[0]], tail[-WINDOWS[0] :], limit, size)[0], True)


def _coloured(head: str, tail: str, limit: int, size: int) -> tuple[str, bool]:
    """Return the text in its colours ("" for none) and whether it is cut; `tail` is "" where `head` is all of it."""
    if not terminal.has_colours(head) and not terminal.has_colours(tail):
        return "", False
    room, head, tail = limit - AROUND, terminal.coloured(head), terminal.coloured(tail)
    if not tail and len(head) <= room:
        return head, False
    note = f"[… the middle of {size} bytes left out here …]"
    return f"{terminal.first(head, room // 2)}\n{note}\n{terminal.last(tail or head, room // 2)}", True


# --- a part, by bytes --------------------------------------------------------------------------------------


def show_part(
    spool: Path, start: int, end: int, limit_chars: int, how: Callable[[int], str], *, more_comes: bool
) -> Part:
    """Return what was printed from one byte to another: all of it, or head and tail with the exact gap between.

    No byte gives more than one character, so the limit holds for bytes too. `how` says how to see what begins at an
    offset. A character that `end` cuts in two waits for the next part, where `more_comes`.
    """
    half = limit_chars // 2
    try:
        with spool.open("rb") as file:
            end = min(end, file.seek(0, 2))
            start = min(start, end)
            if end - start <= limit_chars:
                data = _bytes(file, start, end)
                data = data[: len(data) - (_unfinished(data) if more_comes else 0)]
                return Part(_both(data, b"", ""), start, start + len(data), None)
            head = _to_line(_bytes(file, start, start + half))
            tail = _bytes(file, end - half, end)
            waits = _unfinished(tail) if more_comes else 0
            tail = tail[tail.find(b"\n", 0, 500) + 1 : len(tail) - waits]
            end -= waits
            gap = (start + len(head), end - len(tail))
            note = f"[… bytes {gap[0]} to {gap[1]} left out here; {how(gap[0])} …]"
            return Part(_both(head, tail, note), start, end, gap)
    except FileNotFoundError:
        return Part(Shown("", "", False), start, start, None)


def _bytes(file: IO[bytes], start: int, end: int) -> bytes:
    file.seek(start)
    return file.read(end - start)


def _to_line(data: bytes) -> bytes:
    """Return the bytes up to the last line's end, if one is near, else up to a whole character."""
    return data[: data.rfind(b"\n", max(0, len(data) - 500)) + 1] or data[: len(data) - _unfinished(data)]


def _unfinished(data: bytes) -> int:
    """Return how many bytes at the end are the beginning of a UTF-8 character (RFC 3629) whose rest is missing."""
    for count in range(1, min(3, len(data)) + 1):
        byte = data[-count]
        if 0xC2 <= byte <= 0xF4:
            return count if count < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4) else 0
        if not 0x80 <= byte <= 0xBF:
            return 0
    return 0


def _both(head: bytes, tail: bytes, note: str) -> Shown:
    texts = [data.decode("utf-8", "replace") for data in (head, tail)]
    ways: list[Callable[[str], str]] = [terminal.plain, terminal.coloured]
    plain, coloured = (way(texts[0]) + (f"\n{note}\n{way(texts[1])}" if note else "") for way in ways)
    return Shown(plain, coloured if terminal.has_colours(coloured) else "", bool(note))
