"""The words of a command as the shell makes them: braces, tilde, splitting, quotes."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from workspaces.sandbox.environment import HOME

UNKNOWN = "\ue000"
"""Stands in a text for what only running the command would tell."""

BRACES_LIMIT = 4000
"""Characters of a word in which braces are expanded; a longer one is taken as it is."""

WORDS_LIMIT = 64
"""Words that one word of the source may become; past it the rest is unknown."""

TEXT_LIMIT = 64 * 1024
"""Characters of a resolved text; a longer one is unknown."""

_QUOTED_AT = 0xE100  # characters from here on stand for pieces while braces are expanded
_SPECIAL = re.compile(rf"[*?\[{{~{UNKNOWN}]|.{{{TEXT_LIMIT}}}")
_GLOB = re.compile(r"[*?\[]")
BLANKS = " \t\n"
_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_ANSI_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_RANGE = re.compile(r"(-?\d{1,6}|[A-Za-z])\.\.(-?\d{1,6}|[A-Za-z])(?:\.\.-?\d{1,6})?\Z")

Kind = Literal["bare", "quoted", "split", "break"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a word. `bare`: not quoted; `split`: what an unquoted expansion gave; `break`: a new word begins."""

    text: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Word:
    """A word as a program gets it; `text` holds UNKNOWN where only running would tell.

    `globs`: the shell takes `*`, `?` or `[` in it for a pattern. `splits`: the unknown part may be several words, or
    none. `fed_by`: the commands (indexes) whose output stands in it.
    """

    text: str
    globs: bool = False
    splits: bool = False
    fed_by: frozenset[int] = frozenset()

    @property
    def is_known(self) -> bool:
        return UNKNOWN not in self.text

    @property
    def guess(self) -> str:
        """The text as it is where all that is unknown is empty."""
        return self.text.replace(UNKNOWN, "")


def fields(pieces: Sequence[Piece], fed_by: frozenset[int] = frozenset(), separators: str = BLANKS) -> list[Word]:
    """Return the words that one word of the source becomes, in the shell's order of expansions."""
    if len(pieces) == 1 and pieces[0].kind == "bare" and not _SPECIAL.search(pieces[0].text):
        return [Word(pieces[0].text, fed_by=fed_by)]
    found: list[Word] = []
    for version in _braces(pieces):
        found += _split(_tilde(version), fed_by, separators)
        if len(found) > WORDS_LIMIT:
            return [*found[:WORDS_LIMIT], Word(UNKNOWN, splits=True)]
    return found


def _split(pieces: Sequence[Piece], fed_by: frozenset[int], separators: str) -> Iterable[Word]:
    word: list[Piece] = []
    for piece in pieces:
        if piece.kind == "break":
            if word:
                yield _word(word, fed_by)
            word = []
        elif piece.kind == "split":
            for number, part in enumerate(re.split(f"[{re.escape(separators)}]+", piece.text)):
                if number and word:
                    yield _word(word, fed_by)
                    word = []
                if part:
                    word.append(Piece(part, "split"))
        else:
            word.append(piece)
    if word:
        yield _word(word, fed_by)


def _word(pieces: Sequence[Piece], fed_by: frozenset[int]) -> Word:
    text = "".join(piece.text for piece in pieces)
    if len(text) > TEXT_LIMIT:
        text = UNKNOWN
    return Word(
        text,
        any(piece.kind != "quoted" and _GLOB.search(piece.text) for piece in pieces),
        any(piece.kind == "split" and UNKNOWN in piece.text for piece in pieces),
        fed_by,
    )


def _tilde(pieces: Sequence[Piece]) -> Sequence[Piece]:
    if not pieces or pieces[0].kind != "bare" or not pieces[0].text.startswith("~"):
        return pieces
    name, slash, rest = pieces[0].text[1:].partition("/")
    if not slash and len(pieces) > 1:
        return pieces  # such as ~"x", which is no home
    home = {"": HOME, "+": UNKNOWN, "-": UNKNOWN}.get(name, UNKNOWN)
    return [Piece(home, "quoted"), Piece(slash + rest, "bare"), *pieces[1:]]


# --- quotes --------------------------------------------------------------------------------------


def bare(text: str) -> list[Piece]:
    """Return the pieces of unquoted text, in which a backslash quotes one character."""
    if "\\" not in text:
        return [Piece(text, "bare")]
    found: list[Piece] = []
    for match in re.finditer(r"\\(.?)|([^\\]+)", text, re.DOTALL):
        if match[2]:
            found.append(Piece(match[2], "bare"))
        elif match[1] != "\n":
            found.append(Piece(match[1] or "\\", "quoted"))
    return found


def in_double_quotes(text: str) -> str:
    return re.sub(r"\\([$`\"\\\n])", lambda escape: escape[1].strip("\n"), text) if "\\" in text else text


def ansi_c(text: str) -> str:
    """Return what stands between the quotes of `$'…'`."""
    return _ANSI.sub(_escape, text).partition("\0")[0]


def _escape(match: re.Match[str]) -> str:
    hexadecimal, octal, control, letter = match[1] or match[2] or match[3], match[4], match[5], match[6]
    if hexadecimal:
        number = int(hexadecimal, 16)
        return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else UNKNOWN
    if octal:
        return chr(int(octal, 8) & 0xFF)
    if control:
        return chr(ord(control[0]) & 0x1F)
    return _ANSI_LETTERS.get(letter, letter if letter in "\\'\"?" else f"\\{letter}")


# --- braces --------------------------------------------------------------------------------------


def _braces(pieces: Sequence[Piece]) -> list[Sequence[Piece]]:
    if not any(piece.kind == "bare" and "{" in piece.text for piece in pieces):
        return [pieces]
    whole = "".join(
        piece.text if piece.kind == "bare" else chr(_QUOTED_AT + number)
        for number, piece in enumerate(pieces[:BRACES_LIMIT])
    )
    if len(whole) > BRACES_LIMIT or len(pieces) > BRACES_LIMIT:
        return [pieces]
    return [_decoded(text, pieces) for text in _alternatives(whole, 0)]


def _decoded(text: str, pieces: Sequence[Piece]) -> list[Piece]:
    found: list[Piece] = []
    for part in re.split(r"([\ue100-\uf0ff])", text):
        number = ord(part) - _QUOTED_AT if len(part) == 1 else -1
        if 0 <= number < len(pieces) and pieces[number].kind != "bare":
            found.append(pieces[number])
        elif part:
            found.append(Piece(part, "bare"))
    return found


def _alternatives(text: str, depth: int) -> list[str]:
    """Return what a text with `{a,b}` stands for, WORDS_LIMIT and some at most."""
    start = text.find("{")
    while start >= 0 and depth < 8:
        end, parts = _group(text, start)
        if parts:
            heads = [text[:start] + inner for part in parts[:WORDS_LIMIT] for inner in _alternatives(part, depth + 1)]
            tails = _alternatives(text[end:], depth + 1)
            return [head + tail for head in heads[: WORDS_LIMIT + 1] for tail in tails][: WORDS_LIMIT + 1]
        start = text.find("{", start + 1)
    return [text]


def _group(text: str, start: int) -> tuple[int, list[str]]:
    """Return where the group that opens at `start` ends, and its alternatives: none where it is no group."""
    depth, begin = 0, start + 1
    parts: list[str] = []
    for at in range(start, min(len(text), start + BRACES_LIMIT)):
        match text[at]:
            case "{":
                depth += 1
            case "," if depth == 1:
                parts.append(text[begin:at])
                begin = at + 1
            case "}":
                depth -= 1
                if not depth:
                    inner = text[begin:at]
                    return at + 1, [*parts, inner] if parts else _range(inner)
    return start, []


def _range(text: str) -> list[str]:
    match = _RANGE.match(text)
    if not match:
        return []
    first, last = match[1], match[2]
    if first.isalpha() != last.isalpha():
        return []
    start, end = (ord(first), ord(last)) if first.isalpha() else (int(first), int(last))
    step = 1 if start <= end else -1
    numbers = range(start, end + step, step)[: WORDS_LIMIT + 1]
    return [chr(number) if first.isalpha() else str(number) for number in numbers]
