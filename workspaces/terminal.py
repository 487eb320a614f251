"""What a terminal would finally show of a command's output, as plain text."""

import re

_ESCAPES = re.compile(
    r"\x1b\[(?P<number>[0-9;]*)(?P<erase>K)"  # erase in line: the one that progress bars use
    r"|\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?"
    r"|\x1b[PX^_][^\x1b]{0,4096}(?:\x1b\\)?"
    r"|\x1b[ -/]*[0-~]?"
)
_MOVES = re.compile(r"[\r\b\x1b]")
_PIECES = re.compile(rf"(?P<escape>{_ESCAPES.pattern})|(?P<move>[\r\b])|(?P<text>[^\r\b\x1b]+)")


def plain(text: str) -> str:
    r"""Return the text without escape sequences; what was overwritten after a `\r` or `\b` is gone."""
    if not _MOVES.search(text):
        return text
    return "\n".join(_line(line) if _MOVES.search(line) else line for line in text.split("\n"))


def _line(line: str) -> str:
    cells = ""
    at = 0
    for piece in _PIECES.finditer(line.removesuffix("\r")):
        if piece["move"]:
            at = 0 if piece["move"] == "\r" else max(0, at - 1)
        elif piece["text"] is not None:
            cells = cells[:at] + piece["text"] + cells[at + len(piece["text"]) :]
            at += len(piece["text"])
        elif piece["erase"]:
            cells = {"": cells[:at], "0": cells[:at], "1": " " * at + cells[at:], "2": " " * at}.get(
                piece["number"], cells
            )
    return cells.rstrip() if line != cells else cells
