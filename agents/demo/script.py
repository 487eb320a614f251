"""What the demo's scripted team says and does."""

from typing import Any

PAUSE_MS = 900

PROMPT = """\
Customers whose term ends on the 31st, or in December, get a `ValueError` from `add_months` in `almanac/dates.py`.

- Fix `add_months`. The tests are right.
- Keep the public signature.
- Note the fix in `CHANGELOG.md`.
"""

_OLD = '''\
    """Return the same day of the month, `months` later."""
    month = day.month + months
    year = day.year + month // 12
    month = month % 12
    return day.replace(year=year, month=month)
'''
_FIRST = '''\
    """Return the same day of the month, `months` later; the 31st becomes the last day of a shorter month."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    last = monthrange(year, month + 1)[1]
    return date(year, month + 1, min(day.day, last))
'''
_TRY_DATETIME = (
    "python3 -c 'from datetime import datetime; from almanac.billing import next_bill; "
    "print(next_bill(datetime(2025, 1, 31, 9, 30), 1))'"
)
_NEW_TEST = """\
import unittest
from datetime import datetime

from almanac.billing import next_bill


class NextBill(unittest.TestCase):
    def test_the_hour_of_the_last_bill_is_kept(self):
        self.assertEqual(next_bill(datetime(2025, 1, 31, 9, 30), 1), datetime(2025, 2, 28, 9, 30))


if __name__ == "__main__":
    unittest.main()
"""


def _say(text: str, *calls: tuple[str, dict[str, Any]], tokens: int = 2000) -> dict[str, Any]:
    return {
        "text": text,
        "tool_calls": [{"name": name, "input": given} for name, given in calls],
        "usage": {"input_tokens": tokens, "output_tokens": 60 + len(text) // 4},
        "delay_ms": PAUSE_MS,
    }


def _read(path: str) -> tuple[str, dict[str, Any]]:
    return "read_file", {"file_path": path}


def _edit(path: str, old: str, new: str) -> tuple[str, dict[str, Any]]:
    return "edit_file", {"file_path": path, "old_string": old, "new_string": new}


def _run(command: str) -> tuple[str, dict[str, Any]]:
    return "run_command", {"command": command}


IMPLEMENTER = [
    _say(
        "I’ll look at the date code and its tests before I change anything.",
        ("list_directory", {"path": ".", "recursive": True}),
        _read("almanac/dates.py"),
        _read("tests/test_dates.py"),
        tokens=2100,
    ),
    _say(
        "Who else calls `add_months`?",
        ("search_in_files", {"pattern": r"add_months\(", "output_mode": "content"}),
        tokens=3900,
    ),
    _say("Now the tests, as they are.", _run("python3 -m unittest -v"), tokens=4600),
    _say(
        "Two faults: December comes out as month 0, and the day is never shortened. "
        "I’ll count in months since year 0 and cut the day to the last one of the month.",
        _edit(
            "almanac/dates.py",
            "from datetime import date, timedelta\n",
            "from calendar import monthrange\nfrom datetime import date, timedelta\n",
        ),
        _edit("almanac/dates.py", _OLD, _FIRST),
        tokens=6000,
    ),
    _say("", _run("python3 -m unittest -v"), tokens=7100),
    _say(
        "All green. The changelog wants a line.",
        _read("CHANGELOG.md"),
        _edit(
            "CHANGELOG.md",
            "## Unreleased\n",
            "## Unreleased\n\n- Renewal dates at the end of a month, and in December, no longer fail.\n",
        ),
        tokens=7600,
    ),
    _say(
        "",
        (
            "finish_task",
            {
                "summary": "add_months counts in months since year 0 and shortens the day where the month is shorter.",
                "modified_files": ["almanac/dates.py", "CHANGELOG.md"],
                "risk_level": "low",
                "test_result": "python3 -m unittest: 6 tests pass",
            },
        ),
        tokens=7900,
    ),
    # Round 2
    _say(
        "The reviewer is right: `date(…)` loses the hour. `replace` keeps the type.",
        _edit(
            "almanac/dates.py",
            "    return date(year, month + 1, min(day.day, last))\n",
            "    return day.replace(year=year, month=month + 1, day=min(day.day, last))\n",
        ),
        tokens=8800,
    ),
    _say(
        "A test in a file of its own keeps it that way; the tests of the baseline stay as they are.",
        ("write_file", {"file_path": "tests/test_billing.py", "content": _NEW_TEST}),
        _run("python3 -m unittest -v"),
        tokens=9300,
    ),
    _say(
        "",
        (
            "finish_task",
            {
                "summary": "add_months keeps the time of day (replace instead of date), with a test for it.",
                "modified_files": ["almanac/dates.py", "tests/test_billing.py", "CHANGELOG.md"],
                "risk_level": "low",
                "test_result": "python3 -m unittest: 7 tests pass",
            },
        ),
        tokens=9900,
    ),
]

REVIEWER = [
    _say("First the change itself.", ("check_changes", {"mode": "full"}), _read("almanac/billing.py"), tokens=3000),
    _say("`billing.py` passes a datetime. Does the hour survive?", _run(_TRY_DATETIME), tokens=4200),
    _say(
        "",
        (
            "submit_review",
            {
                "verdict": "request_changes",
                "score": 6,
                "summary": "The month arithmetic is right. One thing breaks the callers.",
                "findings": [
                    {
                        "severity": "major",
                        "file": "almanac/dates.py",
                        "line": 16,
                        "message": "date(…) drops the time of day when a datetime comes in, and billing.py passes one.",
                        "suggestion": "Use day.replace(…), which keeps the type.",
                    }
                ],
            },
        ),
        tokens=4700,
    ),
    # Round 2
    _say(
        "Again the change, and the case that broke.",
        ("check_changes", {"mode": "full"}),
        _run(_TRY_DATETIME),
        tokens=3600,
    ),
    _say("", _run("python3 -m unittest"), tokens=5000),
    _say(
        "",
        (
            "submit_review",
            {
                "verdict": "approve",
                "score": 9,
                "summary": "Small, right, and the hour is covered by a test now.",
                "findings": [
                    {
                        "severity": "suggestion",
                        "file": "almanac/dates.py",
                        "line": 7,
                        "message": "period_end could say in its docstring that the end is inclusive.",
                    }
                ],
            },
        ),
        tokens=5400,
    ),
]

SCRIPT = {"implementer": IMPLEMENTER, "reviewer": REVIEWER}
