"""Files compared line by line: scripts, pipelines, options written as code; blanks and comments don't count."""

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from workspaces import cuts
from workspaces.integrity.findings import Finding, FindingKind
from workspaces.integrity.settings import cut

CELLS_LIMIT = 1_000_000
"""Lines before times lines after, up to which it is looked for what stayed; its time grows with the product."""
PIECES_LIMIT = 20
"""Changed places of one file that are told."""
LINE_LIMIT = 2000
_TOKEN = re.compile(r"\w+|[^\w\s]")
_MARKED = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


class Row(NamedTuple):
    """A line that counts: its number, how it is compared, and how it is shown; there may be a hundred thousand."""

    number: int
    value: str
    text: str


@dataclass(frozen=True)
class Piece:
    """A run of lines that were replaced by others."""

    old: Sequence[Row]
    new: Sequence[Row]


def hashed(text: str) -> list[Row]:
    """Return the lines of a text whose comments begin with `#`, where the indentation counts."""
    return _rows(text, str.rstrip, lambda line: line[0] == "#" and line[1:2] in ("", " ", "#", "\t"))


def slashed(text: str) -> list[Row]:
    """Return the lines of a text whose comments begin with `//`, or are lines from one with `/*` to one with `*/`."""
    return _rows(_without_blocks(text), _tokens, lambda line: line.startswith("//"))


def marked_up(text: str) -> list[Row]:
    """Return the lines of a text whose comments stand in `<!-- -->`."""
    blanked = _MARKED.sub(lambda match: "\n" * match[0].count("\n"), text)
    return _rows(blanked, _tokens, lambda line: False)


def _tokens(line: str) -> str:
    return " ".join(_TOKEN.findall(line))


def _without_blocks(text: str) -> str:
    """Return the text with an empty line for each that is all comment; one inside of a line may be part of a text."""
    kept: list[str] = []
    inside = False
    for line in text.split("\n"):
        inside = inside or line.lstrip().startswith("/*")
        rest = line.rpartition("*/")[2] if "*/" in line else ""
        kept.append("" if inside and not rest.strip() else line)
        inside = inside and "*/" not in line
    return "\n".join(kept)


def verbatim(text: str) -> list[Row]:
    """Return all lines that are not empty."""
    return _rows(text, str.rstrip, lambda line: False)


def _rows(text: str, value: Callable[[str], str], is_comment: Callable[[str], bool]) -> list[Row]:
    return [
        Row(number, value(line), line)
        for number, line in enumerate(text.split("\n"), 1)
        if (bare := line.strip()) and not is_comment(bare)
    ]


_SLASHED = frozenset(
    {"js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx", "java", "groovy", "kts", "gradle", "go", "rs"}
)


def rows_of(path: str, text: str) -> list[Row]:
    """Return the lines that count, by what the file's name says of its comments."""
    name = path.rpartition("/")[2]
    endings = name.lower().split(".")[1:]
    if "xml" in endings:
        return marked_up(text)
    return slashed(text) if _SLASHED.intersection(endings[-1:]) or name == "Jenkinsfile" else hashed(text)


def pieces(old: Sequence[Row], new: Sequence[Row]) -> list[Piece]:
    """Return what differs between two texts; as one piece where they are too long to look for what stayed."""
    head = 0
    while head < min(len(old), len(new)) and old[head].value == new[head].value:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail].value == new[-1 - tail].value:
        tail += 1
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    if not old and not new:
        return []
    if len(old) * len(new) > CELLS_LIMIT or not (old and new):
        return [Piece(old, new)]
    matcher = difflib.SequenceMatcher(None, [row.value for row in old], [row.value for row in new], autojunk=False)
    codes = matcher.get_opcodes()
    return [Piece(old[a:b], new[c:d]) for what, a, b, c, d in codes if what != "equal"]


def findings(
    path: str, why: str, found: Sequence[Piece], kind: FindingKind = FindingKind.CONFIGURATION
) -> list[Finding]:
    """Return a finding on each piece; on the last one told, how many are not."""
    shown = found[:PIECES_LIMIT]
    left = len(found) - len(shown)
    return [
        Finding(
            kind,
            path,
            why + (f" {left} more places differ." if left and piece is shown[-1] else ""),
            old_line=piece.old[0].number if piece.old else 0,
            new_line=piece.new[0].number if piece.new else 0,
            old=_quoted(piece.old),
            new=_quoted(piece.new),
        )
        for piece in shown
    ]


def _quoted(rows: Sequence[Row]) -> str:
    return cut("\n".join(cuts.head(row.text, LINE_LIMIT) for row in rows[:50]))
