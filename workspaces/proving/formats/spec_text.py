"""Reads the lists with ticks and crosses that mocha, jest, vitest, node and bun print."""

import re

from workspaces.proving.formats.found import Found
from workspaces.proving.results import TestState

_MARKS = {
    **dict.fromkeys("✓✔√", TestState.PASSED),
    **dict.fromkeys("✕✖✗×", TestState.FAILED),
    **dict.fromkeys("○﹣↓✎", TestState.SKIPPED),
}
_MARKED = re.compile(rf"( *)([{''.join(_MARKS)}]) (.+)")
_FAILED = re.compile(r"( +)\d+\) (.+)")
_PENDING = re.compile(r"( +)- (.+)")
_GROUP = re.compile(r"( *)(?:[▶❯] )?(\S.*)")
_FILE = re.compile(r" *(PASS|FAIL) (\S+)(?: \([\d.]+ m?s\))?")
_BUN = re.compile(r"\((pass|fail|skip|todo)\) (.+)")
_BUN_STATES = {"pass": TestState.PASSED, "fail": TestState.FAILED}
_BUN_FILE = re.compile(r"(\S+\.[cm]?[jt]sx?):")
_TIME = re.compile(r" *(?:\([\d.]+ ?m?s\)|\[[\d.]+ ?m?s\]|[\d.]+m?s)$")
_COUNTS = re.compile(r" \(\d+ tests?(?: \|[^)]*)?\)$")
_REMARK = re.compile(r"(?<=ms\)) # (.*)$")
_OVER = re.compile(r" *(?:\d+ passing\b.*|ℹ tests \d+|Summary of all failing tests|[✖×] failing tests:.*|⎯+.*)")
_COUNTED = re.compile(
    r" *(?:\d+ (?:passing|pass|fail)\b.*|ℹ tests \d+|Tests?:? +(?:Files +)?\d+ (?:passed|failed|skipped).*)"
)
DEPTH_LIMIT = 50


class SpecLines:
    """Lines with marks; a test is named after its file, where that is told, and the groups it stands in."""

    is_unique = False

    def __init__(self) -> None:
        self._tests: Found = []
        self._groups: list[tuple[int, str]] = []
        self._files: Found = []
        self._file = ""
        self._is_over = False
        self._is_counted = False

    def take(self, line: str) -> None:
        self._is_counted |= _COUNTED.fullmatch(line) is not None
        if match := _FILE.fullmatch(line):
            self._file, self._groups, self._is_over = match[2], [], False
            self._files.append((match[2], TestState.PASSED if match[1] == "PASS" else TestState.FAILED))
        elif match := _BUN_FILE.fullmatch(line):
            self._file, self._groups = match[1], []
        elif "Test suite failed to run" in line and self._file:
            self._tests.append((self._file, TestState.FAILED))
        elif match := _BUN.fullmatch(line):
            self._add(0, match[2], _BUN_STATES.get(match[1], TestState.SKIPPED))
        elif _OVER.fullmatch(line):
            self._is_over = True
        elif not self._is_over and line and not line.isspace():
            self._listed(line)

    def _listed(self, line: str) -> None:
        if match := _MARKED.fullmatch(line):
            remark = _REMARK.search(match[3])
            is_todo = remark is not None and remark[1].upper().startswith(("TODO", "SKIP"))
            text = re.sub(r"^(?:skipped|todo) ", "", match[3]) if match[2] in "○✎" else match[3]
            self._add(len(match[1]), text, TestState.SKIPPED if is_todo else _MARKS[match[2]])
        elif match := _FAILED.fullmatch(line):
            self._add(len(match[1]), match[2], TestState.FAILED)
        elif match := _PENDING.fullmatch(line):
            self._add(len(match[1]), match[2], TestState.SKIPPED)
        elif match := _GROUP.fullmatch(line):
            indent = len(match[1])
            self._groups = [*self._outer(indent), (indent, _TIME.sub("", match[2]))]

    def _outer(self, indent: int) -> list[tuple[int, str]]:
        return [each for each in self._groups if each[0] < indent][:DEPTH_LIMIT]

    def _add(self, indent: int, text: str, state: TestState) -> None:
        name = _COUNTS.sub("", _TIME.sub("", _REMARK.sub("", text)))
        outer = [group for at, group in self._outer(indent) if at or "▶" not in group]
        path = " > ".join([*outer, name])
        self._tests.append((f"{self._file}::{path}" if self._file else path, state))

    def found(self) -> Found:
        """Return the tests; their files where nothing else is told, as jest does of more than one."""
        if not self._is_counted:
            return []
        listed = {name for name, _ in self._tests}
        return self._tests if listed - {name for name, _ in self._files} else self._files
