r"""Lines as ripgrep, git and `wc -l` count them: a line ends at `\n`; a final newline starts no other."""


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


def start_of(text: str, number: int) -> int:
    """Return the offset where a line starts; the text's length past the last one."""
    offset = 0
    for _ in range(number - 1):
        offset = text.find("\n", offset) + 1
        if not offset:
            return len(text)
    return offset


def between(text: str, first: int, last: int) -> str:
    """Return the lines from `first` to `last`, both included, with their ends."""
    start = start_of(text, first)
    return text[start : start + start_of(text[start:], last - first + 2)] if last >= first else ""


def newline_style(text: str) -> str:
    r"""Return how lines end: lf, crlf or mixed. A lone `\r` is an ordinary character."""
    crlf = text.count("\r\n")
    if not crlf:
        return "lf"
    return "crlf" if crlf == text.count("\n") else "mixed"


def clipped(text: str, limit: int) -> str:
    """Return one line cut to so many characters, saying how long it was."""
    return text if len(text) <= limit else f"{text[:limit]}… [line cut: it has {len(text)} characters]"
