"""What a terminal would finally show of a command's output: as plain text, or in its colours."""

import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from workspaces import sgr
from workspaces.sgr import Style

# ECMA-48: colours and "erase in line" (the two that are understood), control sequences, control strings (OSC, DCS,
# SOS, PM, APC) up to BEL or ST, other escapes. A string that never ends is dropped up to the end of its line.
_SGR = re.compile(r"\x1b\[(?P<codes>[0-9;:]*)m")
_ESCAPES = re.compile(
    rf"{_SGR.pattern}"
    r"|\x1b\[(?P<erase>[0-9;]*)K"
    r"|\x1b\[[0-?]*[ -/]*[@-~]?"
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"
    r"|\x1b[ -/]*[0-~]?"
)
_PIECES = re.compile(rf"(?P<escape>{_ESCAPES.pattern})|(?P<move>[\r\b])|(?P<text>[^\r\b\x1b]+)")


def plain(text: str) -> str:
    r"""Return the text without escape sequences; what was overwritten after a `\r` or `\b` is gone."""
    if not _moves(text):
        return text
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(_plain_line(line) if _moves(line) else line for line in lines)


def _moves(text: str) -> bool:
    """Return whether anything in the text is more than a character in the next cell (three looks beat one regex)."""
    return "\x1b" in text or "\r" in text or "\b" in text


def _plain_line(line: str) -> str:
    row = _Row(line, sgr.PLAIN)
    shown = "".join(row.cells)
    return shown.rstrip() if line != shown else shown


def has_colours(text: str) -> bool:
    """Return whether the text sets any."""
    return "\x1b" in text and _SGR.search(text) is not None


def coloured(text: str) -> str:
    """Return the same with its colours: of all escapes only SGR is left, reset after each stretch of a colour."""
    if not _moves(text):
        return text
    stretches = (f"{style.escape}{part}{sgr.RESET}" if style.codes else part for part, style in runs(text))
    return "".join(stretches)


def runs(text: str) -> Iterator[tuple[str, Style]]:
    """Yield what a terminal shows in stretches of one style."""
    for style, group in groupby(_runs(text), key=itemgetter(1)):
        yield "".join(part for part, _ in group), style


def _runs(text: str) -> Iterator[tuple[str, Style]]:
    style = sgr.PLAIN
    for number, line in enumerate(text.split("\n")):
        if number:
            yield "\n", style
        if not _moves(line):
            yield line, style
            continue
        row = _Row(line, style)
        for of, group in groupby(zip(row.cells, row.styles, strict=True), key=itemgetter(1)):
            yield "".join(cell for cell, _ in group), of
        style = row.style


class _Row:
    """One line of a terminal after all of its text: a character and a style a cell, and the style that goes on."""

    def __init__(self, line: str, style: Style) -> None:
        self.cells: list[str] = []
        self.styles: list[Style] = []
        self.style = style
        self._at = 0
        self._blank = 0  # so many cells at the start are erased already
        for piece in _PIECES.finditer(line.removesuffix("\r")):
            self._take(piece)

    def _take(self, piece: re.Match[str]) -> None:
        if piece["move"]:
            self._at = 0 if piece["move"] == "\r" else max(0, self._at - 1)
        elif piece["text"] is not None:
            self._write(piece["text"])
        elif piece["codes"] is not None:
            self.style = sgr.after(self.style, piece["codes"])
        elif piece["erase"] is not None:
            self._erase(piece["erase"])

    def _write(self, text: str) -> None:
        end = self._at + len(text)
        self.cells[self._at : end] = text
        self.styles[self._at : end] = [self.style] * len(text)
        self._blank = min(self._blank, self._at)
        self._at = end

    def _erase(self, mode: str) -> None:
        """Erase after the cursor (0 or nothing), before it (1), or both (2)."""
        if mode in ("", "0", "2"):
            del self.cells[self._at :], self.styles[self._at :]
        if mode in ("1", "2"):
            gone = self._at - self._blank
            if gone > 0:
                self.cells[self._blank : self._at] = " " * gone
                self.styles[self._blank : self._at] = [sgr.PLAIN] * gone
                self._blank = self._at


# --- ends of a long text ---------------------------------------------------------------------------------


def first(text: str, chars: int) -> str:
    """Return about so many characters from the start, no escape cut in two, and no colour left on."""
    if len(text) <= chars:
        return text
    end = _between(text, chars)
    return text[:end] + (sgr.RESET if style_after(text[:end]).codes else "")


def last(text: str, chars: int) -> str:
    """Return about so many characters from the end, no escape cut in two, in the colours that hold there."""
    if len(text) <= chars:
        return text
    start = _between(text, len(text) - chars)
    return style_after(text[:start]).escape + text[start:]


def style_after(text: str, style: Style = sgr.PLAIN) -> Style:
    """Return the style that holds after the text, which began in the given one."""
    for escape in _SGR.finditer(text):
        style = sgr.after(style, escape["codes"])
    return style


def _between(text: str, at: int) -> int:
    """Return the place, or the end of the escape that it lies in."""
    start = text.rfind("\x1b", 0, at)
    escape = _ESCAPES.match(text, start) if start >= 0 else None
    return max(at, escape.end()) if escape else at
