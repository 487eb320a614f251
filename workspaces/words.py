"""Which words changed between a removed line and the added line that took its place."""

import re
from difflib import SequenceMatcher

from workspaces.highlight import Span

LIMIT_LINE = 500
"""Characters of a line up to which its words are compared."""
LIMIT_PAIRS = 400
LEAST_ALIKE = 0.35
"""Lines less alike than this are another thought, not an edit; marks would only make noise."""

_WORD = re.compile(r"\w+|\s+|[^\w\s]")

Spans = tuple[Span, ...]


def changed(old: str, new: str) -> tuple[Spans, Spans]:
    """Return the character ranges that differ, in the old and in the new line; none where little is common to both."""
    if max(len(old), len(new)) > LIMIT_LINE or old == new:
        return (), ()
    before, after = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if not old.strip() or not new.strip() or _alikeness(matcher, before, old, new) < LEAST_ALIKE:
        return (), ()
    gone: list[Span] = []
    come: list[Span] = []
    old_at, new_at = _offsets(before), _offsets(after)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            gone.append((old_at[i1], old_at[i2]))
            come.append((new_at[j1], new_at[j2]))
    return _joined(gone, old), _joined(come, new)


def pairs(kinds: str) -> list[tuple[int, int]]:
    """Return which removed line goes with which added one, by index: the n-th "-" of a run, the n-th "+" after it."""
    found: list[tuple[int, int]] = []
    for match in re.finditer(r"(-+)(\++)", kinds):
        removed, added = match.span(1), match.span(2)
        found += zip(range(*removed), range(*added), strict=False)
    return found[:LIMIT_PAIRS]


def _alikeness(matcher: "SequenceMatcher[str]", before: list[str], old: str, new: str) -> float:
    kept = "".join("".join(before[block.a : block.a + block.size]) for block in matcher.get_matching_blocks())
    return 2 * len("".join(kept.split())) / max(1, len("".join(old.split())) + len("".join(new.split())))


def _offsets(words: list[str]) -> list[int]:
    at = [0]
    for word in words:
        at.append(at[-1] + len(word))
    return at


def _joined(spans: list[Span], text: str) -> Spans:
    """Join ranges that only white space parts, and leave out empty ones."""
    found: list[Span] = []
    for start, end in spans:
        if start == end:
            continue
        if found and not text[found[-1][1] : start].strip():
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return tuple(found)
