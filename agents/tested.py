"""Which commands of a run were tests, how the last of them ended, and whether files changed after it."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from agents import events, policies
from agents.models import CallState, Event, Kind, Run
from workspaces.proving import runners
from workspaces.shell.script import Command
from workspaces.shell.syntax import parse

LAST_COMMANDS = 50
"""How many of the last commands are looked at for a test run."""
LIMIT_WORDS = 1000
"""Characters of a simple command up to which it is looked for what runs the tests; an agent wrote it."""
PUT_BACK = "Sakura put protected files back"
_TOOLS = ("run_command", "command_output")

_RUNNERS = (
    r"(python[\d.]*(\s+-[XW]\s*\S+|\s+-[a-ln-zA-VY-Z]\w*)*\s+(-m\s+)?|(poetry|uv|pipenv|pdm|hatch|rye|conda|mise|devbox)\s+run\s+(-\S+\s+)*"
    r"|(npx|bunx|pnpm\s+exec|yarn\s+exec|bundle\s+exec|coverage\s+run\s+(-\S+\s+)*)\s*)"
)
_TEST_COMMAND = re.compile(
    rf"{_RUNNERS}*(\S*/)?({'|'.join(map(re.escape, sorted(runners.PROGRAMS)))}|unittest|tox|nox|nosetests|ava"
    r"|go\s+(test|vet)|cargo\s+(test|nextest)|(playwright|cypress)\s+(test|run)"
    r"|(npm|yarn|pnpm|bun|deno|dotnet|mvn|swift|mix|sbt|gradle|gradlew|mvnw|bazel|lein|stack|cabal)\s+(\S+\s+)*?(run\s+)?test\S*"
    r"|(make|gmake|just|rake|task|meson|ninja)\s+(\S+\s+)*?(test|check)\S*|manage\.py\s+test|runtests?\S*)(?!\S)"
)
_QUOTED = re.compile(r"'[^']*(?:'|\Z)|\"(?:[^\"\\]|\\.)*(?:\"|\\?\Z)", re.DOTALL)  # one look, also where it never ends
_HIDES_EXIT = re.compile(r"\|\||[|;&]\s*\S|\n\s*\S")
_AND = re.compile(r"&&|\d?>&\d?|&>")


@dataclass(frozen=True)
class TestRun:
    """A test command with a known end. `step` is where that shows."""

    command: str
    exit_code: int | None
    step: int
    agent: str
    edited_after: str
    """Who changed files after it began, in words; empty when nobody did."""

    @property
    def hides_exit(self) -> bool:
        """The shell's exit code may not be the tests' own (a pipe, "|| true", a command after it)."""
        plain = _QUOTED.sub("''", self.command.strip())
        return bool(_HIDES_EXIT.search(_AND.sub("", plain)))

    @property
    def proves(self) -> bool:
        """It passed, by its own exit code, and nothing changed since."""
        return self.exit_code == 0 and not self.edited_after and not self.hides_exit


def last_tests(run: Run) -> TestRun | None:
    """Return the last ended command that is a test run, or one of those to verify with. Three queries."""
    calls = run.calls.filter(tool__in=_TOOLS, state=CallState.DONE).order_by("-pk")[:LAST_COMMANDS]
    results = run.events.filter(kind=Kind.TOOL_RESULT, call_id__in=[call.call_id for call in calls]).order_by("-seq")
    found = [(event, data) for event in results if isinstance(data := event.data.get("data"), dict)]
    verify = {*run.place.repository.verify, *policies.of(run).verify}
    for event, data in found:
        command = events.shown(data.get("command", ""))
        if _has_ended(data) and is_test(command, verify):
            began = _began(event, data, found)
            edited = PUT_BACK if data.get("guard") else _edited_after(run, began)
            return TestRun(command, data.get("exit_code"), event.step, event.agent, edited)
    return None


def is_test(command: str, verify: Collection[str] = ()) -> bool:
    """Return whether a command is one to verify with, or one of the simple commands in it runs tests."""
    if command.strip() in {each.strip() for each in verify}:
        return True
    return any(_runs_tests(each) for each in parse(command).commands if not each.is_wrapper)


def _runs_tests(command: Command) -> bool:
    words = [word.guess[:LIMIT_WORDS] for word in command.words[:LIMIT_WORDS]]
    tool = runners.tool_of(words)
    if tool is not None and tool.name not in runners.BUILDS:
        return True
    return _TEST_COMMAND.match(" ".join(" ".join(words).split())[:LIMIT_WORDS]) is not None


def _has_ended(data: dict[str, Any]) -> bool:
    return data.get("state") != "running" and not (data.get("background") and data.get("exit_code") is None)


def _began(ended: Event, data: dict[str, Any], found: list[tuple[Event, dict[str, Any]]]) -> Event:
    """Return the result of the call that started the command: for one in the background, that is an earlier one."""
    if not data.get("id"):
        return ended
    starts = (event for event, each in found if each.get("background") and each.get("id") == data["id"])
    return next(starts, ended)


def _edited_after(run: Run, began: Event) -> str:
    """Return in words who changed files after a command; the command's own snapshot does not count."""
    later = run.events.filter(kind__in=(Kind.SNAPSHOT, Kind.REVERT), seq__gt=began.seq).exclude(call_id=began.call_id)
    found = list(later.order_by("-seq").values_list("kind", "call_id")[:LAST_COMMANDS])
    if not found:
        return ""
    is_human = any(kind == Kind.REVERT for kind, _ in found) and not any(call_id for _, call_id in found)
    return "a human put files back" if is_human else "an agent changed files"
