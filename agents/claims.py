"""What the agent claimed when it finished, held against what Sakura knows: which claims the facts bear out."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from agents import events
from agents.models import Agent, CallState, Event, Kind, Run
from workspaces.diffs import FileChange

LAST_COMMANDS = 50
"""How many of the last commands are looked at for a test run."""
NAMED_FILES = 20
"""How many file names a sentence lists."""

_TEST_COMMAND = re.compile(
    r"\b(pytest|unittest|tox|nox|nosetests|jest|vitest|mocha|rspec|phpunit|ctest|go\s+test|cargo\s+(test|nextest)"
    r"|(npm|yarn|pnpm|bun|deno|dotnet|mvn|swift|mix|sbt|gradle|\./gradlew|\./mvnw)\s+(\S+\s+)*?(run\s+)?test\S*"
    r"|(make|just|rake)\s+(\S+\s+)*?(test|check)\S*|manage\.py\s+test)\b"
)
_HIDES_EXIT = re.compile(r"\|\||[|;&]\s*\S")
_AND = re.compile(r"&&")
_SAYS_PASS = re.compile(r"\b(pass(es|ed|ing)?|green|succeed(s|ed)?|ok|clean)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """One line of the card: what was checked, what Sakura found, what the agent said."""

    check: str
    tone: str
    word: str
    detail: str = ""
    step: int = 0
    """The step that shows it; 0 where none does."""
    said: str = ""
    agrees: bool | None = None
    """Whether the facts bear out what was said; None where nothing was said."""


@dataclass(frozen=True)
class Claim:
    """The last finish_task of a run."""

    step: int
    summary: str
    modified_files: tuple[str, ...]
    risk_level: str
    test_result: str


@dataclass(frozen=True)
class TestRun:
    """A test command with a known end."""

    command: str
    exit_code: int | None
    step: int
    agent: str
    edited_after: str
    """Who changed files after it, in words; empty when nobody did."""

    @property
    def hides_exit(self) -> bool:
        """The shell's exit code may not be the tests' own (a pipe, "|| true", a command after it)."""
        return bool(_HIDES_EXIT.search(_AND.sub("", self.command)))


@dataclass(frozen=True)
class Card:
    """What the proof card shows. `claim` is None while no agent finished."""

    claim: Claim | None
    rows: tuple[Row, ...]


def card(run: Run, files: Sequence[FileChange], put_back: Collection[str] = ()) -> Card:
    """Hold the last claim against the changed files and the commands that ran. At most five queries.

    What a human put back is not held against the agent.
    """
    claim = _last_claim(run)
    return Card(claim, (_tests_row(_last_tests(run), claim), _files_row(files, claim, put_back)))


# --- the claim -----------------------------------------------------------------------------------


def _last_claim(run: Run) -> Claim | None:
    calls = (
        run.calls.filter(tool=Agent.IMPLEMENTER.finish_tool, state=CallState.DONE).order_by("-pk").values("call_id")[:1]
    )
    event = run.events.filter(kind=Kind.TOOL_RESULT, call_id__in=calls).order_by("-seq").first()
    if event is None or event.data.get("is_error"):
        return None
    data: dict[str, Any] = event.data.get("data") or {}
    return Claim(
        step=event.step,
        summary=events.shown(data.get("summary", "")),
        modified_files=tuple(_plain_path(str(path)) for path in data.get("modified_files") or ()),
        risk_level=str(data.get("risk_level") or ""),
        test_result=events.shown(data.get("test_result") or ""),
    )


def _plain_path(path: str) -> str:
    return str(PurePosixPath(path.removeprefix("/workspace/")))


# --- files ---------------------------------------------------------------------------------------


def _files_row(files: Sequence[FileChange], claim: Claim | None, put_back: Collection[str]) -> Row:
    count = "1 file differs" if len(files) == 1 else f"{len(files):,} files differ"
    if claim is None or not claim.modified_files:
        return Row("Files", "", count, "from the baseline")
    changed = {each.path for each in files} | {each.old_path for each in files if each.old_path}
    only_named = [path for path in claim.modified_files if path not in changed and path not in put_back]
    named = set(claim.modified_files)
    not_named = [each.path for each in files if not {each.path, each.old_path} & named]
    said = f"It changed {_count(len(claim.modified_files), 'file')}"
    if not only_named and not not_named:
        return Row("Files", "ok", count, "the very ones it named", said=said, agrees=True)
    return Row("Files", "warn", count, _difference(only_named, not_named), said=said, agrees=False)


def _difference(only_named: list[str], not_named: list[str]) -> str:
    parts = []
    if only_named:
        parts.append(f"named but not changed: {_list(only_named)}")
    if not_named:
        parts.append(f"changed but not named: {_list(not_named)}")
    return "; ".join(parts)


def _list(paths: list[str]) -> str:
    more = len(paths) - NAMED_FILES
    return ", ".join(paths[:NAMED_FILES]) + (f" and {more:,} more" if more > 0 else "")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


# --- tests ---------------------------------------------------------------------------------------


def _last_tests(run: Run) -> TestRun | None:
    """Return the last command that looks like a test run, or is one of the commands to verify with."""
    calls = run.calls.filter(tool="run_command", state=CallState.DONE).order_by("-pk")[:LAST_COMMANDS]
    results = run.events.filter(kind=Kind.TOOL_RESULT, call_id__in=[call.call_id for call in calls])
    verify = {*run.place.repository.verify, *run.task.rules().verify}
    for event in sorted(results, key=lambda each: -each.seq):
        command = events.shown((event.data.get("data") or {}).get("command", ""))
        if command in verify or _TEST_COMMAND.search(command):
            return _test_run(run, event, command)
    return None


def _test_run(run: Run, event: Event, command: str) -> TestRun:
    later = run.events.filter(kind=Kind.SNAPSHOT, seq__gt=event.seq).exclude(call_id=event.call_id)
    calls = set(later.order_by("-seq").values_list("call_id", flat=True)[:LAST_COMMANDS])
    edited = "an agent changed files" if calls - {""} else "a human put files back" if calls else ""
    data = event.data["data"]
    return TestRun(command, data.get("exit_code"), event.step, event.agent, edited)


def _tests_row(tests: TestRun | None, claim: Claim | None) -> Row:
    said = claim.test_result if claim else ""
    if tests is None:
        return _row(
            "warn", "Unproven", "no command that looks like a test run ended in this run", 0, said, agrees=False
        )
    detail = f"{tests.command[:200]} · exit {tests.exit_code} · {tests.agent}"
    if tests.exit_code != 0:
        claims_pass = bool(_SAYS_PASS.search(said))
        return _row("bad", "Failed", detail, tests.step, said, agrees=not claims_pass)
    if tests.edited_after:
        return _row("warn", "Unproven", f"{detail} · but {tests.edited_after} after it", tests.step, said, agrees=False)
    if tests.hides_exit:
        return _row(
            "warn", "Unproven", f"{detail} · this exit code may not be the tests’ own", tests.step, said, agrees=False
        )
    return _row("ok", "Passed", f"{detail} · after the last edit", tests.step, said, agrees=True)


def _row(tone: str, word: str, detail: str, step: int, said: str, *, agrees: bool) -> Row:
    return Row("Tests", tone, word, detail, step, said, agrees if said else None)
