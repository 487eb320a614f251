"""Takes the tests out of a JSON report of jest, vitest or rspec; runs in a process of its own."""

import json
import re
from typing import Any, BinaryIO

READ_BYTES = 32 << 20
NAME_CHARS = 2000
ANSWER_CHARS = 10 << 20
"""Of all names together; what is left of the answer's bytes is for how they are written."""
_JEST = {"passed": "passed", "failed": "failed"}
_LOADING = re.compile(r"An error occurred while loading (\S+?)\.?\s")


def load() -> None:
    """There is nothing that it would import later."""


def parse(file: BinaryIO, args: dict[str, Any]) -> dict[str, Any]:
    """Return the tests as [[name, state], …], and whether there are more. `args`: kind (jest, rspec), most (tests)."""
    data = file.read(READ_BYTES + 1)
    if len(data) > READ_BYTES:
        return {"fault": "it is too large"}
    try:
        report = json.loads(data)
    except (ValueError, RecursionError):
        return {"fault": "it is no JSON"}
    found = _rspec(report) if args["kind"] == "rspec" else _jest(report)
    tests: list[tuple[str, str]] = []
    chars = ANSWER_CHARS
    for name, state in found:
        chars -= len(name[:NAME_CHARS])
        if len(tests) >= args["most"] or chars < 0:
            return {"tests": tests, "is_cut": True}
        tests.append((name[:NAME_CHARS], state))
    return {"tests": tests, "is_cut": False}


def _jest(report: Any) -> list[tuple[str, str]]:
    """A file that could not be run has no tests; then it is one that failed."""
    found = []
    for suite in _dicts(report, "testResults"):
        file, failed = _text(suite, "name"), suite.get("status") == "failed"
        tests = _dicts(suite, "assertionResults")
        for test in tests:
            titles = test.get("ancestorTitles")
            path = [title for title in titles if isinstance(title, str)] if isinstance(titles, list) else []
            name = " > ".join([*filter(None, path), _text(test, "title")])
            found.append((f"{file}::{name}", _JEST.get(_text(test, "status"), "skipped")))
        if failed and not any(test.get("status") == "failed" for test in tests):
            found.append((file, "failed"))
    return found


def _rspec(report: Any) -> list[tuple[str, str]]:
    found = []
    for example in _dicts(report, "examples"):
        state = {"passed": "passed", "pending": "skipped"}.get(_text(example, "status"), "failed")
        file = _text(example, "file_path").removeprefix("./")
        found.append((f"{file}::{_text(example, 'full_description')}", state))
    messages = report.get("messages") if isinstance(report, dict) else None
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, str) and (match := _LOADING.search(message[:4000])):
            found.append((match[1].removeprefix("./"), "failed"))
    return found


def _dicts(of: Any, key: str) -> list[dict[str, Any]]:
    items = of.get(key) if isinstance(of, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _text(of: dict[str, Any], key: str) -> str:
    value = of.get(key)
    return value if isinstance(value, str) else ""
