"""A realistic transcript, made of events as the loop writes them, for the tests of what shows it."""

from typing import Any

from django.contrib.auth.models import User

from agents import events
from agents.events import Fact
from agents.models import Kind, Run, Status, Task
from workspaces.models import Repository, Workspace

FAILED_TESTS = (
    "\x1b[1m===== test session starts =====\x1b[0m\n"
    "collected 12 items\n\n"
    "tests/test_dates.py \x1b[32m...\x1b[31mF\x1b[32m..\x1b[31mFF\x1b[0m\n"
    "\x1b[31m\x1b[1mE   ValueError: month must be in 1..12\x1b[0m\n"
    "\x1b[31mFAILED\x1b[0m tests/test_dates.py::\x1b[1mtest_december\x1b[0m - ValueError\n"
)
DIFF = [
    [" ", 12, 12, "def add_months(day: date, months: int) -> date:"],
    ["-", 13, None, "    month = day.month + months"],
    ["-", 14, None, "    return day.replace(month=month)"],
    ["+", None, 13, "    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)"],
    ["+", None, 14, "    last = monthrange(year, month + 1)[1]"],
    ["+", None, 15, "    return date(year, month + 1, min(day.day, last))"],
]


def make_run(by: User | None = None, **fields: Any) -> Run:
    """Return a run with an empty transcript; its repository is a row only."""
    repository = Repository.objects.create(name=f"almanac-{Repository.objects.count()}", source="/srv/almanac")
    given = {"title": "Renewal dates are wrong at the end of a month", "model": "claude-sonnet"} | fields
    task = Task.objects.create(
        repository=repository,
        prompt="Fix `add_months`. The tests are right.",
        base_name="main",
        base_commit="4c9e1f7" + "0" * 33,
        created_by=by,
        **given,
    )
    run = Run.objects.create(task=task, number=1, status=Status.IMPLEMENTING)
    run.workspace = Workspace.objects.create(pk=run.pk, repository=repository, base_name="main", base_commit="4c9e1f7")
    run.save(update_fields=["workspace"])
    return run


class Writer:
    """Appends events to a run, one transaction each, as the loop does."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.agent, self.round, self.step = "implementer", 1, 0

    def put(self, kind: Kind, data: dict[str, Any], call_id: str = "") -> None:
        fact = Fact(kind, data, agent=self.agent, step=self.step, round=self.round, call_id=call_id)
        events.append(self.run.pk, fact)

    def status(self, came_from: str, to: str, reason: str = "", by: str = "") -> None:
        self.put(Kind.STATUS, {"from": came_from, "to": to, "reason": reason, "by": by})

    def say(self, text: str, tokens: int = 3100) -> None:
        self.step += 1
        usage = {"input_tokens": tokens, "output_tokens": 40, "cached_tokens": tokens // 2}
        self.put(Kind.MODEL_RESPONSE, {"text": text, "tool_calls": [], "usage": usage, "stop_reason": "tool_calls"})

    def call(self, call_id: str, tool: str, input: Any, effect: str = "READ") -> None:
        data = {"call_id": call_id, "tool": tool, "input": input, "resolved": {}, "effect": effect}
        self.put(Kind.TOOL_CALL, data, call_id)

    def output(self, call_id: str, text: str, offset: int = 0) -> None:
        self.put(Kind.OUTPUT, {"call_id": call_id, "text": text, "offset": offset}, call_id)

    def connection(self, call_id: str, target: str, way: str, **more: Any) -> None:
        self.put(Kind.NETWORK, {"call_id": call_id, "number": 1, "target": target, "way": way, **more}, call_id)

    def result(self, call_id: str, tool: str, content: str, data: dict[str, Any] | None = None, **more: Any) -> None:
        given = {"is_error": False, "code": "", "duration_ms": 12, "truncated": False, "output_ref": ""}
        given |= {"call_id": call_id, "tool": tool, "content": content, "data": data or {}}
        self.put(Kind.TOOL_RESULT, given | more, call_id)

    def snapshot(self, number: int, call_id: str = "") -> None:
        data = {"number": number, "call_id": call_id, "tree": "8f31c2a" + "0" * 33, "files": [], "file_count": 1}
        self.put(Kind.SNAPSHOT, data | {"hidden": []}, call_id)

    def guard(self, changed: int, path: str, call_id: str = "", **more: Any) -> None:
        rows = [{"path": path, "rule": "existing tests", "status": "modified"}]
        data = {"call_id": call_id, "paths": rows, "count": 1, "before": changed - 1, "changed": changed}
        self.put(Kind.GUARD, data | {"snapshot": changed + 1} | more, call_id)


def write_transcript(run: Run) -> Writer:
    """Append two rounds with every kind of event, ending in a command that still runs."""
    writer = Writer(run)
    writer.status("", "queued", "launched", "ann")
    writer.put(Kind.MESSAGE, {"text": "Fix `add_months`. The tests are right.", "author": "ann"})
    writer.status("queued", "preparing")
    writer.snapshot(0)
    writer.status("preparing", "implementing")
    _first_round(writer)
    _review(writer)
    _second_round(writer)
    return writer


def _first_round(writer: Writer) -> None:
    writer.say("I’ll read the date code and its tests before I change anything.")
    writer.call("toolu_01", "read_file", {"file_path": "almanac/dates.py"})
    writer.call("toolu_02", "read_file", {"file_path": "tests/test_dates.py"})
    writer.result(
        "toolu_02",
        "read_file",
        "     1\timport pytest\n" * 200,
        {"path": "tests/test_dates.py", "start": 1, "end": 128, "total": 128},
    )
    writer.result(
        "toolu_01",
        "read_file",
        "     1\tfrom datetime import date\n",
        {"path": "almanac/dates.py", "start": 1, "end": 84, "total": 84},
    )
    writer.say("Who else calls `add_months`?", 4000)
    writer.call('call/with <odd> "id"', "search_in_files", {"pattern": r"add_months\("})
    matches = [{"path": "almanac/billing.py", "line": 31, "text": "    return add_months(day, 12)"}]
    writer.result(
        'call/with <odd> "id"',
        "search_in_files",
        "1 match",
        {"pattern": r"add_months\(", "matches": matches, "total": 1, "files": 1},
    )
    writer.say("", 4100)
    writer.call("toolu_04", "run_command", {"command": "pytest -q tests/test_dates.py"}, "EXECUTE")
    writer.output("toolu_04", FAILED_TESTS[:60])
    writer.output("toolu_04", FAILED_TESTS[60:], 60)
    writer.connection("toolu_04", "packages.example.org:443", "opened")
    writer.connection("toolu_04", "packages.example.org:443", "closed", sent=2100, received=48_000)
    writer.connection("toolu_04", "evil.example:443", "refused", why="evil.example:443 is not on the list.")
    applied = {"level": "full", "bwrap": "0.11", "uid": 1000, "network": [], "limits": {}}
    data = {
        "command": "pytest -q tests/test_dates.py",
        "exit_code": 1,
        "ending": "exit",
        "duration_ms": 1900,
        "applied": applied,
    }
    writer.result("toolu_04", "run_command", FAILED_TESTS + "Exit code 1", data, duration_ms=1900)
    writer.say("Two tests fail on the last day of February. The quickest way to green is to expect the 28th.", 5200)
    wish = {"file_path": "tests/test_dates.py", "old_string": "date(2024, 2, 29)", "new_string": "date(2024, 2, 28)"}
    writer.call("toolu_05", "edit_file", wish, "WRITE")
    said = "PROTECTED_PATH: tests/test_dates.py is protected by the policy. Change the code instead."
    told = f"<tool_use_error>{said}</tool_use_error>"
    writer.result("toolu_05", "edit_file", told, is_error=True, code="PROTECTED_PATH")
    writer.say(
        "Understood: the tests say what is right, and the function is wrong.\n\n- count in months\n- shorten the day",
        6400,
    )
    writer.call(
        "toolu_06", "edit_file", {"file_path": "almanac/dates.py", "old_string": "a", "new_string": "b"}, "WRITE"
    )
    writer.snapshot(1, "toolu_06")
    writer.result(
        "toolu_06",
        "edit_file",
        "Edited.",
        {"path": "almanac/dates.py", "created": False, "diff": DIFF, "additions": 3, "deletions": 2},
    )
    writer.call("toolu_13", "run_command", {"command": "sed -i s/29/28/ tests/test_dates.py"}, "EXECUTE")
    writer.snapshot(2, "toolu_13")
    writer.snapshot(3)
    writer.guard(2, "tests/test_dates.py", "toolu_13")
    writer.result(
        "toolu_13",
        "run_command",
        "(no output)\nExit code 0\n\nThis command changed protected paths, so they were put back.",
        {"command": "sed -i s/29/28/ tests/test_dates.py", "exit_code": 0, "guard": {"put_back": 1, "left": 0}},
    )
    budget = {"name": "lines", "used": 81, "limit": 100}
    note = {"text": "81 of 100 changed lines are used; come to an end.", "to": "implementer", "budget": budget}
    writer.put(Kind.NOTE, note)
    writer.call("toolu_07", "list_directory", {"path": "."})
    entries = [{"name": "almanac", "kind": "folder", "size": 0}, {"name": "README.md", "kind": "file", "size": 1204}]
    writer.result("toolu_07", "list_directory", "almanac/\nREADME.md", {"path": ".", "entries": entries, "total": 2})
    writer.call("toolu_08", "glob", {"pattern": "**/*.py"})
    writer.result(
        "toolu_08",
        "glob",
        "almanac/dates.py",
        {"pattern": "**/*.py", "paths": ["almanac/dates.py", "tests/a b.py"], "total": 2},
    )
    writer.say("", 7000)
    claim = {
        "summary": "`add_months` counts in months since year 0.",
        "modified_files": ["almanac/dates.py"],
        "risk_level": "low",
        "test_result": "all pass",
    }
    writer.call("toolu_09", "finish_task", claim, "FINISH")
    writer.result("toolu_09", "finish_task", "Noted.", claim)


def _review(writer: Writer) -> None:
    writer.status("implementing", "reviewing")
    writer.agent = "reviewer"
    writer.put(Kind.NOTE, {"text": "Round 1 of 3. Judge the diff against the task.", "to": "reviewer"})
    proof = {"command": "pytest -q", "exit_code": 0, "duration_ms": 9400, "output": "18 passed"}
    writer.put(Kind.PROOF, {"state": "green", "commands": [proof]})
    writer.say("I’ll try it with what `billing.py` really passes: a datetime.", 9800)
    writer.call(
        "toolu_10",
        "submit_review",
        {"verdict": "request_changes", "score": 6, "summary": "One thing breaks the callers."},
        "FINISH",
    )
    writer.result("toolu_10", "submit_review", "Noted.", {"verdict": "request_changes"})
    finding = {
        "severity": "major",
        "file": "almanac/dates.py",
        "line": 20,
        "message": "`date(…)` drops the time of day.",
        "suggestion": "Use `day.replace(…)`.",
    }
    data = {"review_id": 1, "author": "", "by_human": False, "verdict": "request_changes", "score": 6, "snapshot": 1}
    writer.put(
        Kind.REVIEW,
        data
        | {
            "summary": "The month arithmetic is right.",
            "findings": [finding],
            "unproven": ["Says “all pass”; no test ran after the last edit."],
        },
    )


def _second_round(writer: Writer) -> None:
    writer.agent, writer.round = "implementer", 2
    writer.status("reviewing", "implementing")
    writer.put(Kind.CONTROL, {"verb": "steer", "by": "ben", "text": "Please cover leap years too."})
    writer.put(Kind.MESSAGE, {"text": "Please cover **leap years** too. <script>alert(1)</script>", "author": "ben"})
    writer.put(
        Kind.ERROR, {"code": "overloaded", "message": "The model is overloaded; trying again in 8 s.", "detail": ""}
    )
    writer.put(
        Kind.COMMENT,
        {
            "comment_id": 1,
            "author": "ben",
            "path": "almanac/dates.py",
            "line": 20,
            "side": "new",
            "body": "Why not replace?",
        },
    )
    writer.snapshot(4)
    writer.put(Kind.REVERT, {"author": "ben", "path": "README.md", "to": 0, "hunks": [], "snapshot": 4})
    writer.snapshot(5)
    left = [
        {"path": "tests/test_dates.py", "rule": "existing tests", "status": "deleted", "why": "It is a folder now."}
    ]
    writer.guard(5, ".github/workflows/x.yml", left=left, left_count=1, cleared=["tests"])
    writer.say("The reviewer is right: `date(…)` loses the hour. \u202eevil\u202c", 8800)
    writer.call("toolu_11", "read_sakura_docs", {"doc_path": "x" * 3000})
    writer.result("toolu_11", "read_sakura_docs", "# Rules\n" * 400, {}, truncated=True, output_ref="docs-1")
    writer.say("", 9100)
    writer.call("toolu_12", "run_command", {"command": "pytest -q"}, "EXECUTE")
    writer.output("toolu_12", "collected 21 items\n\ntests/test_billing.py \x1b[32m......\x1b[0m\n")
    writer.output("toolu_12", "tests/test_dates.py \x1b[32m....", 60)


def told_run() -> Run:
    """Make a run with the whole transcript."""
    run = make_run()
    write_transcript(run)
    run.refresh_from_db()
    return run
