"""Which words changed between a removed line and the added line that took its place."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from workspaces.highlight import Span

LIMIT_LINE = 500
"""Characters of a line up to which its words are compared."""
LIMIT_PAIRS = 400
LIMIT_RUN = 40
"""Lines of a block up to which a removed line looks for the added one most like it; past it they pair by position."""
LEAST_ALIKE = 0.5
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


def pairs(lines: Sequence[tuple[str, str]]) -> list[tuple[int, int]]:
    """Return by index which removed line of a hunk became which added one; lines come as (kind, text)."""
    found: list[tuple[int, int]] = []
    for match in re.finditer(r"(-+)(\++)", "".join(kind for kind, _ in lines)):
        removed, added = range(*match.span(1)), range(*match.span(2))
        if len(removed) == len(added) or max(len(removed), len(added)) > LIMIT_RUN:
            found += zip(removed, added, strict=False)
        else:
            found += _most_alike(lines, removed, added)
    return found[:LIMIT_PAIRS]


def _most_alike(lines: Sequence[tuple[str, str]], removed: range, added: range) -> Iterator[tuple[int, int]]:
    """Yield pairs that keep the order: each removed line takes the added line most like it after the last one taken."""
    start = added.start
    for old in removed:
        scores = [(_likeness(lines[old][1], lines[new][1]), -new) for new in range(start, added.stop)]
        score, new = max(scores, default=(0.0, 0))
        if score >= LEAST_ALIKE:
            yield old, -new
            start = 1 - new


def _likeness(old: str, new: str) -> float:
    """Return how many of their words two lines share, 0 to 1, whatever the order: cheap, to choose among many."""
    before, after = (Counter(re.findall(r"\w+|[^\w\s]", line[:LIMIT_LINE])) for line in (old, new))
    return 2 * (before & after).total() / max(1, before.total() + after.total())


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
