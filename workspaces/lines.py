r"""Lines as ripgrep, git and `wc -l` count them: a line ends at `\n`; a final newline starts no other."""

from workspaces import cuts

_BLOCK = 1 << 12


def count(text: str) -> int:
    r"""Return the number of lines. `str.splitlines` would also break at form feeds, U+2028 and the like."""
    return text.count("\n") + (not text.endswith("\n") if text else 0)


def split(text: str) -> list[str]:
    """Return the lines with their ends."""
    if not text:
        return []
    parts = text.split("\n")
    last = parts.pop()
    lines = [part + "\n" for part in parts]
    return [*lines, last] if last else lines


def number_at(text: str, offset: int) -> int:
    """Return the number, from 1, of the line that holds the offset."""
    return text.count("\n", 0, offset) + 1


def start_of(text: str, number: int, offset: int = 0) -> int:
    """Return where a line starts, counted from the one that starts at `offset`; the length for one past the end."""
    left = number - 1
    while left > 0:
        block = min(offset + _BLOCK, len(text))
        here = text.count("\n", offset, block)
        if here < left:
            if block == len(text):
                return block
            left -= here
            offset = block
            continue
        for _ in range(left):
            offset = text.find("\n", offset) + 1
        return offset
    return offset


def between(text: str, first: int, last: int) -> str:
    """Return the lines from `first` to `last`, both included, with their ends."""
    if last < first:
        return ""
    start = start_of(text, first)
    return text[start : start_of(text, last - first + 2, start)]


def has_crlf(text: str) -> bool:
    r"""Return whether some line ends in `\r\n`; where there is no `\r` at all, that is known ten times as fast."""
    return "\r" in text and "\r\n" in text


def newline_style(text: str) -> str:
    r"""Return how lines end: lf, crlf or mixed. A lone `\r` is an ordinary character."""
    if not has_crlf(text):
        return "lf"
    crlf = text.count("\r\n")
    return "crlf" if crlf == text.count("\n") else "mixed"


def clipped(text: str, limit: int) -> str:
    """Return one line cut to so many characters, saying how long it was."""
    return text if len(text) <= limit else f"{cuts.head(text, limit)}… [line cut: it has {len(text)} characters]"
