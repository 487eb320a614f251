"""The colours and marks that terminal escapes set (ECMA-48 SGR), as far as a page shows them: a state and its codes."""

import re
from dataclasses import dataclass, replace

NAMED = 16
"""Colours that have a name; the exact colour of any other is not kept."""


@dataclass(frozen=True)
class Style:
    """The SGR state (ECMA-48 8.3.117): codes of a colour and a ground (0 for none), and of the marks that are on."""

    colour: int = 0
    ground: int = 0
    marks: frozenset[int] = frozenset()

    @property
    def codes(self) -> list[int]:
        return [*(code for code in (self.colour, self.ground) if code), *sorted(self.marks)]

    @property
    def escape(self) -> str:
        """What brings a terminal to this state from none, "" for none."""
        return f"\x1b[{';'.join(map(str, self.codes))}m" if self.codes else ""


RESET = "\x1b[0m"
PLAIN = Style()
MARKS = frozenset({1, 2, 3, 4, 7, 9})
_OFF = {22: {1, 2}, 23: {3}, 24: {4}, 27: {7}, 29: {9}}


def after(style: Style, parameters: str) -> Style:
    """Return the state after an `ESC [ parameters m`."""
    numbers = [int(code) if code.isdigit() and len(code) < 4 else 0 for code in re.split("[;:]", parameters)]
    numbers.reverse()
    while numbers:
        code = numbers.pop()
        style = _extended(style, code, numbers) if code in (38, 48) else _simple(style, code)
    return style


def _simple(style: Style, code: int) -> Style:
    if code == 0:
        return PLAIN
    if code in MARKS:
        return replace(style, marks=style.marks | {code})
    if code in _OFF:
        return replace(style, marks=style.marks - _OFF[code])
    if 30 <= code <= 37 or 90 <= code <= 97 or code == 39:
        return replace(style, colour=0 if code == 39 else code)
    if 40 <= code <= 47 or 100 <= code <= 107 or code == 49:
        return replace(style, ground=0 if code == 49 else code)
    return style


def _extended(style: Style, code: int, rest: list[int]) -> Style:
    """Take 38/48;5;n, whose first 16 have names, or 38/48;2;r;g;b. `rest` is what follows, the next one last."""
    mode = rest.pop() if rest else 0
    values = [rest.pop() for _ in range(min(len(rest), 1 if mode == 5 else 3 if mode == 2 else 0))]
    if mode != 5 or not values or values[0] >= NAMED:
        return style
    named = (30 if values[0] < 8 else 82) + values[0] + (10 if code == 48 else 0)
    return _simple(style, named)
