"""What a file does as a whole, when it is loaded: to the tools, to other modules, to which tests there are."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from workspaces.integrity.described import Described, Fact
from workspaces.integrity.findings import FindingKind
from workspaces.integrity.marks import Change


@dataclass(frozen=True)
class _Words:
    kind: FindingKind
    why: str
    when_new: bool = True
    """Whether it counts in a new file, too."""
    in_sources: bool = False
    """Whether it counts in code that is no test."""
    in_tests: bool = True


_CODES = {
    "skip": _Words(FindingKind.SKIPPED, "The tests of the whole file are skipped, always or under a condition.", False),
    "mark": _Words(FindingKind.SKIPPED, "The tests of the file have a new mark, by which they may be left out.", False),
    "tag": _Words(FindingKind.SKIPPED, "The file is only built under a condition.", False, in_sources=True),
    "uncollected": _Words(FindingKind.SKIPPED, "Tests are taken out of what the test tool collects.", False),
    "collect": _Words(FindingKind.SKIPPED, "Files are taken out of what the test tool collects."),
    "plugins": _Words(FindingKind.CONFIGURATION, "Plugins of the test tool are loaded."),
    "options": _Words(FindingKind.CONFIGURATION, "Options of the test tool are set."),
    "environment": _Words(FindingKind.CONFIGURATION, "A variable of the environment is set for the tests.", False),
    "path": _Words(FindingKind.SHADOWED, "Where modules are found is changed.", False),
    "exit": _Words(FindingKind.SKIPPED, "The file ends the process when it is loaded."),
    "hard-exit": _Words(
        FindingKind.SHADOWED, "The process ends itself past the test tool, which then can't tell of failures.",
        in_sources=True,
    ),
    "atexit": _Words(FindingKind.SHADOWED, "Something is done when the process of the tests ends."),
    "modules": _Words(FindingKind.SHADOWED, "One module is put in place of another.", in_sources=True),
    "patch": _Words(FindingKind.SHADOWED, "Something of another module is replaced when the file is loaded."),
    "tool-patch": _Words(
        FindingKind.SHADOWED, "Something of the test tool, or of the language, is replaced.", in_sources=True
    ),
    "mock": _Words(FindingKind.CONFIGURATION, "A module is replaced for all tests of the file.", False),
    "senses": _Words(
        FindingKind.SHADOWED, "The code asks whether it is tested, and may do something else then.",
        in_sources=True, in_tests=False,
    ),
    "equal": _Words(FindingKind.SHADOWED, "Objects are made equal to anything, or any check true.", in_sources=True),
    "retry": _Words(FindingKind.LOOSENED, "Tests are tried again when they fail, or may take longer.", False),
}  # fmt: skip


def changes(old: Described | None, new: Described, *, is_test: bool) -> Iterator[tuple[str, Change]]:
    """Yield what a file does newly, each with what it is about."""
    before = (
        Counter((fact.code, fact.name, fact.words) for fact in old.facts) if old else Counter[tuple[str, str, str]]()
    )
    former = {(fact.code, fact.name): fact for fact in old.facts} if old else {}
    for fact in new.facts:
        words = _CODES.get(fact.code)
        place = fact.code, fact.name, fact.words
        if before[place] > 0:
            before[place] -= 1
        elif words and _counts(words, fact, is_new=old is None, is_test=is_test):
            was = former.get((fact.code, fact.name))
            lines = (was.line, was.line) if was else (0, 0)
            yield fact.name, Change(words.kind, words.why, lines, (fact.line, fact.line))


def _counts(words: _Words, fact: Fact, *, is_new: bool, is_test: bool) -> bool:
    if is_new and not words.when_new:
        return False
    if fact.code == "modules" and not is_test and re.search(r"__name__", fact.name):
        return False
    return words.in_tests if is_test else words.in_sources
