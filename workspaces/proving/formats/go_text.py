"""Reads what `go test` prints, as JSON or as text: tests by package, and packages that could not be built."""

import io
import json
import re
from typing import Any

from workspaces.proving.formats.found import Found
from workspaces.proving.results import TestState

_ACTIONS = {"pass": TestState.PASSED, "fail": TestState.FAILED, "skip": TestState.SKIPPED}
_WORDS = {"PASS": TestState.PASSED, "FAIL": TestState.FAILED, "SKIP": TestState.SKIPPED}
_RUN = re.compile(r"=== RUN +(\S+)")
_RESULT = re.compile(r" *--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)")
_PACKAGE = re.compile(r"(ok|FAIL) *\t(\S+)(?:[\t ].*)?")
OPEN_LIMIT = 10_000


class GoLines:
    """Lines of `go test`, with `-json`, `-v` or neither: then the packages stand for their tests."""

    is_unique = True

    def __init__(self) -> None:
        self._tests: Found = []
        self._packages: Found = []
        self._open: dict[str, dict[str, None]] = {}
        self._pending: Found = []
        self._is_verbose = False
        self._failed: set[str] = set()

    def take(self, line: str) -> None:
        if line.startswith("{"):
            self._event(line)
        elif match := _RUN.fullmatch(line):
            self._is_verbose = True
            self._begin("", match[1])
        elif match := _RESULT.fullmatch(line):
            self._pending.append((match[2], _WORDS[match[1]]))
            self._open.get("", {}).pop(match[2], None)
        elif match := _PACKAGE.fullmatch(line):
            self._package(match[2], is_ok=match[1] == "ok")

    def _begin(self, package: str, test: str) -> None:
        if len(self._open) < OPEN_LIMIT:
            self._open.setdefault(package, {})[test] = None

    def _package(self, name: str, *, is_ok: bool) -> None:
        """A line of text ends a package: the tests before it were its own."""
        pending, running = self._pending, self._open.pop("", {})
        self._pending = []
        if not is_ok:
            pending += [(test, TestState.FAILED) for test in running]
        self._tests += [(f"{name}.{test}", state) for test, state in pending]
        is_told = any(state is TestState.FAILED for _, state in pending) or name in self._failed
        if is_ok or not is_told or not self._is_verbose:
            self._packages.append((name, TestState.PASSED if is_ok else TestState.FAILED))

    def _event(self, line: str) -> None:
        event = _parsed(line)
        package, test, action = (event.get(key) for key in ("Package", "Test", "Action"))
        if not isinstance(package, str) or not isinstance(action, str):
            return
        self._is_verbose = True
        if isinstance(test, str) and test:
            if action == "run":
                self._begin(package, test)
            elif state := _ACTIONS.get(action):
                self._end(package, test, state)
        elif action == "fail":
            for running in list(self._open.pop(package, {})):
                self._end(package, running, TestState.FAILED)
            if package not in self._failed:
                self._packages.append((package, TestState.FAILED))

    def _end(self, package: str, test: str, state: TestState) -> None:
        self._open.get(package, {}).pop(test, None)
        self._tests.append((f"{package}.{test}", state))
        if state is TestState.FAILED:
            self._failed.add(package)

    def found(self) -> Found:
        """Return the tests; of packages only those that failed as a whole, unless there is no more to go by."""
        if not self._is_verbose:
            return [*self._packages, *self._tests]
        return [*self._tests, *(each for each in self._packages if each[1] is TestState.FAILED)]


def _parsed(line: str) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}


def told(output: bytes) -> bytes:
    """Return what `go test -json` printed as a person reads it: the texts of its events, and all other lines."""
    written = io.BytesIO()
    for line in io.BytesIO(output):
        event = _parsed(line.decode("utf-8", "replace")) if line.startswith(b'{"') else {}
        if not isinstance(event.get("Action"), str):
            written.write(line)
        elif isinstance(text := event.get("Output"), str):
            written.write(text.encode("utf-8", "replace"))
    return written.getvalue()
