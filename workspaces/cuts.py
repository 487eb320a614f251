"""Where Sakura cuts a text: never through a secret, half of which no mask would know later.

What is cut is looked at around the cut while all of it is at hand, so that whole secrets are found there and nothing
else. To mask instead what only looks like the beginning of one, such as the end of a line, would tell whoever prints
guesses which are right, letter by letter. The secrets are all that this process has opened: who cuts need not know
whose text it is.
"""

import os

from workspaces.logs import opened
from workspaces.masking import Mask


def head(text: str, limit: int) -> str:
    """Return the first characters; a secret that the cut would go through is masked, and not counted in the limit."""
    return text if len(text) <= limit else span(text, 0, limit)


def tail(text: str, limit: int) -> str:
    """Return the last characters, likewise."""
    return span(text, max(0, len(text) - limit), len(text))


def span(text: str, first: int, last: int) -> str:
    """Return the characters from `first` to before `last`, likewise. A copy of them, and a search around each cut."""
    mask, last = opened.mask(), min(last, len(text))
    if not mask:
        return text[first:last]
    begins, before = _end_of_secret(mask, text, first)
    ends, after = _start_of_secret(mask, text, last)
    if begins > ends:  # one secret goes through both cuts
        return before or after
    return f"{before}{text[begins:ends]}{after}"


def _end_of_secret(mask: Mask, text: str, at: int) -> tuple[int, str]:
    """Return past which character the secret ends that a cut goes through, with what to show in its place."""
    before, after = _around(mask, text, at)
    _, end, shown = mask.across(before + after, len(before))
    return at + _characters(after[: end - len(before)]), shown.decode()


def _start_of_secret(mask: Mask, text: str, at: int) -> tuple[int, str]:
    before, after = _around(mask, text, at)
    start, _, shown = mask.across(before + after, len(before))
    return at - _characters(before[start:]), shown.decode()


def _around(mask: Mask, text: str, at: int) -> tuple[bytes, bytes]:
    """Return the bytes on both sides of a cut, as many as it takes; none where nothing is cut off."""
    if not 0 < at < len(text):
        return b"", b""
    reach = 2 * mask.longest
    parts = text[max(0, at - reach) : at], text[at : at + reach]
    return parts[0].encode("utf-8", "surrogatepass"), parts[1].encode("utf-8", "surrogatepass")


def _characters(data: bytes) -> int:
    return sum(byte & 0xC0 != 0x80 for byte in data)


# --- bytes ---------------------------------------------------------------------------------------------


def reach() -> int:
    """Return how many bytes past a cut have to be known."""
    return 2 * opened.mask().longest


def first_bytes(data: bytes, limit: int) -> bytes:
    """Return the first bytes; stars stand for those of a secret that the cut goes through. Give `reach()` more."""
    return _window(data, 0, limit)


def read(descriptor: int, offset: int, limit: int) -> bytes:
    """Return bytes of a file; stars stand for those of a secret that either end goes through, so offsets stay true."""
    start = max(0, offset - reach())
    data = os.pread(descriptor, offset - start + limit + reach(), start)
    return _window(data, offset - start, offset - start + limit)


def _window(data: bytes, first: int, last: int) -> bytes:
    mask, last = opened.mask(), min(last, len(data))
    begins = min(mask.across(data[: first + reach()], first)[1], last) if mask and first else first
    near = max(0, last - reach())
    ends = max(near + mask.across(data[near : last + reach()], last - near)[0], begins) if mask else last
    return b"*" * (begins - first) + data[begins:ends] + b"*" * (last - ends)
