"""Reads the Test Anything Protocol, with subtests as node and others write them, and the lines of prove."""

import re

from workspaces.proving.formats.found import Found
from workspaces.proving.results import TestState

DEPTH_LIMIT = 50
_RESULT = re.compile(r"( *)(not )?ok (\d+)\b(?: +- +| +|$)(.*)")
_SUBTEST = re.compile(r"( *)# Subtest: (.*)")
_DIRECTIVE = re.compile(r"(?<!\\) # *(skip|todo)\b.*", re.IGNORECASE)
_TIME = re.compile(r" # time=\S+(?: \{)?$")
_PLAN = re.compile(r"(?:TAP version \d+|1\.\.\d+)(?: .*)?")
_PROVED = re.compile(r"(\S+\.t) \.{2,} ?(ok|Failed|Dubious|skipped)\b.*")
_PROVED_STATES = {"ok": TestState.PASSED, "skipped": TestState.SKIPPED}
_YAML_STARTS, _YAML_ENDS = re.compile(r"( +)---"), "..."


class TapLines:
    """Lines of TAP; a subtest is named after those that it stands in."""

    is_unique = False

    def __init__(self) -> None:
        self._tests: Found = []
        self._stack: list[str] = []
        self._is_tap = False
        self._yaml: str | None = None

    def take(self, line: str) -> None:
        if self._yaml is not None:
            self._yaml = None if line == self._yaml + _YAML_ENDS else self._yaml
        elif match := _YAML_STARTS.fullmatch(line):
            self._yaml = match[1] if self._is_tap else None
        elif match := _SUBTEST.fullmatch(line):
            depth = min(len(match[1]) // 4, DEPTH_LIMIT)
            self._stack = [*self._stack[:depth], *[""] * (depth - len(self._stack)), match[2]]
        elif match := _RESULT.fullmatch(line):
            self._result(len(match[1]) // 4, match[4], is_ok=not match[2])
        elif match := _PROVED.fullmatch(line):
            self._is_tap = True
            self._tests.append((match[1], _PROVED_STATES.get(match[2], TestState.FAILED)))
        elif _PLAN.fullmatch(line):
            self._is_tap = True
        elif line.startswith("Bail out!"):
            self._tests.append(("Bail out!", TestState.FAILED))

    def _result(self, depth: int, text: str, *, is_ok: bool) -> None:
        directive = _DIRECTIVE.search(text)
        own = _DIRECTIVE.sub("", _TIME.sub("", text)).strip()
        own = re.sub(r"\\([\\#])", r"\1", own) or "(no name)"
        outer = [re.sub(r"\\([\\#])", r"\1", name) for name in self._stack[: min(depth, DEPTH_LIMIT)]]
        state = TestState.PASSED if is_ok else TestState.FAILED
        self._tests.append((" > ".join([*filter(None, outer), own]), TestState.SKIPPED if directive else state))

    def found(self) -> Found:
        return self._tests if self._is_tap else []
