"""What is said of a test beside it, and the cases that it is run with, as they were and as they are now."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from workspaces.integrity.described import Case, Mark, Unit
from workspaces.integrity.findings import FindingKind

NEAREST = 60
"""Checks of one test that are held against each other, where none is equal."""


@dataclass(frozen=True)
class Change:
    """One change within a unit; lines as in Finding, (first, last), (0, 0): none."""

    kind: FindingKind
    why: str
    old: tuple[int, int] = (0, 0)
    new: tuple[int, int] = (0, 0)


_MARKED = {
    "skip": (FindingKind.SKIPPED, "The test is skipped, always or under a condition."),
    "xfail": (FindingKind.SKIPPED, "The test may fail now without being told."),
    "only": (FindingKind.SKIPPED, "Only this is run now; the other tests beside it are not."),
    "label": (FindingKind.SKIPPED, "The test has a new label, by which it may be left out."),
    "retry": (FindingKind.LOOSENED, "The test is tried again when it fails."),
    "timeout": (FindingKind.LOOSENED, "How long the test may take is another."),
    "panic": (FindingKind.LOOSENED, "The test passes when it fails."),
    "patch": (FindingKind.SHADOWED, "Something is put in place of what the test uses."),
    "fixtures": (FindingKind.RETUNED, "The test uses other fixtures."),
    "other": (FindingKind.RETUNED, "Something new is done with the test, which may change what it does."),
    "test": (FindingKind.RETUNED, "How the test is run is another."),
}


def of_marks(old: Unit, new: Unit) -> Iterator[Change]:
    before = Counter((mark.what, mark.words) for mark in old.marks)
    after = Counter((mark.what, mark.words) for mark in new.marks)
    gone = [mark for mark in old.marks if before[mark.what, mark.words] > after[mark.what, mark.words]]
    come = [mark for mark in new.marks if after[mark.what, mark.words] > before[mark.what, mark.words]]
    for mark in come:
        former = next((each for each in gone if each.what == mark.what), None)
        if mark.what == "cases" and former is not None:
            gone.remove(former)
            yield from of_cases(former.cases, mark.cases)
            if former.words != mark.words:
                yield Change(FindingKind.RETUNED, "The cases are given in another way.", *_at(former, mark))
        elif mark.what in _MARKED and not (mark.what == "timeout" and former and not _is_longer(former, mark)):
            kind, why = _MARKED[mark.what]
            if former is not None:
                gone.remove(former)
            yield Change(kind, why, *_at(former, mark))
        elif mark.what == "fixture" and "autouse" in mark.words:
            yield Change(
                FindingKind.CONFIGURATION, "Every test uses the fixture now, asked for or not.", *_at(former, mark)
            )
    for mark in gone:
        if mark.what in ("cases", "panic") and (mark.what == "panic" or mark.cases):
            why = (
                "The cases of the test are gone." if mark.what == "cases" else "The test needs no failure to pass now."
            )
            yield Change(FindingKind.REMOVED, why, (mark.line, mark.line))
    yield from _same_marks(old, new)


def _same_marks(old: Unit, new: Unit) -> Iterator[Change]:
    """Yield what changed in the cases of marks that say the same otherwise."""
    held: defaultdict[tuple[str, str], list[Mark]] = defaultdict(list)
    for mark in new.marks:
        held[mark.what, mark.words].append(mark)
    for mark in old.marks:
        if after := held[mark.what, mark.words]:
            yield from of_cases(mark.cases, after.pop(0).cases)


def _at(old: Mark | None, new: Mark) -> tuple[tuple[int, int], tuple[int, int]]:
    return (old.line, old.line) if old else (0, 0), (new.line, new.line)


def _is_longer(old: Mark, new: Mark) -> bool:
    before, after = (re.findall(r"\d+(?:\.\d+)?", mark.words) for mark in (old, new))
    return len(before) != len(after) or any(float(b) > float(a) for a, b in zip(before, after, strict=False))


_SKIPS = re.compile(r"(?m)^(?:skip|skipif|xfail|\.?only|todo|Disabled|ignore|pending|xit)$")


def of_cases(old: Sequence[Case], new: Sequence[Case]) -> Iterator[Change]:
    """Yield cases that are gone, or say something else."""
    before, after = Counter(case.words for case in old), Counter(case.words for case in new)
    gone = _surplus(old, before - after)
    come = _surplus(new, after - before)
    paired = _nearest_cases(gone, come)
    for case in gone:
        other = paired.get(case)
        if other is None:
            yield Change(FindingKind.REMOVED, "A case is gone.", (case.line, case.line))
        elif _SKIPS.search(other.words) and not _SKIPS.search(case.words):
            yield Change(FindingKind.SKIPPED, "A case is skipped, or may fail.", *_lines(case, other))
        else:
            yield Change(FindingKind.RETUNED, "A case has other values.", *_lines(case, other))


def _lines(old: Case, new: Case) -> tuple[tuple[int, int], tuple[int, int]]:
    return (old.line, old.line), (new.line, new.line)


def _surplus(cases: Sequence[Case], left: Counter[str]) -> list[Case]:
    """Return the cases that have no equal on the other side, each as often as that."""
    left = Counter(left)
    found = []
    for case in cases:
        if left[case.words] > 0:
            left[case.words] -= 1
            found.append(case)
    return found


def _nearest_cases(gone: Sequence[Case], come: Sequence[Case]) -> dict[Case, Case]:
    """Pair cases that say something else with those that have most words in common, the rest in order."""
    found: dict[Case, Case] = {}
    left = list(come)
    for case in gone[:NEAREST]:
        words = set(case.words.split("\n"))
        best = max(left, key=lambda other: len(words & set(other.words.split("\n"))), default=None)
        if best is not None and len(words & set(best.words.split("\n")) - {"(", ")", "[", "]", "{", "}", ","}):
            found[case] = best
            left.remove(best)
    rest = [case for case in gone if case not in found]
    found.update(zip(rest, left, strict=False))
    return found
