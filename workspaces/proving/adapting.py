"""What to run in place of a verify command, so that its tests can be told one by one; it means and exits the same."""

import hashlib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from workspaces.proving import additions, places
from workspaces.proving.places import Place
from workspaces.proving.runners import name_of, program_of, script_of, tool_of
from workspaces.sandbox.environment import HOME
from workspaces.shell.syntax import parse

REPORTS = f"{HOME}/.sakura-proof"
"""Inside the sandbox: where tools are told to write their reports. It must be there before the command runs."""
ANY = "any"
"""Stands among the readers where a program may run tests of any kind, such as make."""
SCRIPTS_DEPTH = 4

_NO_TESTS = frozenset(
    {"cd", "echo", "printf", "true", "false", ":", "test", "[", "set", "export", "source", ".", "exit", "pwd", "ls"}
    | {"cat", "tee", "mkdir", "rm", "cp", "mv", "touch", "wait", "sleep", "grep", "sed", "head", "tail", "git", "which"}
    | {"ruff", "black", "isort", "mypy", "flake8", "pylint", "pyright", "tsc", "eslint", "prettier", "biome", "gofmt"}
    | {"pip", "pip3", "rustfmt", "golangci-lint", "rubocop", "shellcheck"}
)
_NO_TESTS_IN = {
    "go": frozenset({"build", "vet", "fmt", "mod", "generate", "version", "install"}),
    "cargo": frozenset({"build", "check", "fmt", "clippy", "doc", "fetch", "--version"}),
    "coverage": frozenset({"report", "html", "xml", "json", "combine", "erase"}),
    **dict.fromkeys(
        ("npm", "pnpm", "yarn", "bun", "poetry", "uv", "bundle"), frozenset({"install", "ci", "i", "sync"})
    ),
}


@dataclass(frozen=True)
class Adapted:
    """A command to run: with which readers its tests are told ("" for none), and variables to add."""

    command: str
    reader: str
    env: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _Insertion:
    at: int
    words: tuple[str, ...]


def adapted(command: str, scripts: Mapping[str, str] = {}) -> Adapted:
    """Return what to run for a verify command; `scripts` are those of the baseline's package.json, by name.

    Words are added only where a test tool stands in the line in plain sight; through other programs, such as make, a
    variable has to do.
    """
    work = _Adapting(command, scripts)
    found = places.find(command)
    insertions = [insertion for place in found if (insertion := work.of(place))]
    plain = [each for each in parse(command).commands if each.words and not each.is_wrapper]
    if len(plain) > len(found) or any(not work.is_known(place) for place in found):
        work.readers.append(ANY)
    return Adapted(_inserted(command, insertions), "+".join(dict.fromkeys(work.readers)), work.env())


class _Adapting:
    """One line being adapted: its reports have names of their own, the same each time."""

    def __init__(self, command: str, scripts: Mapping[str, str]) -> None:
        self.readers: list[str] = []
        self._scripts = scripts
        self._stem = f"{REPORTS}/{hashlib.sha256(command.encode(errors='replace')).hexdigest()[:8]}"
        self._count = 0

    def of(self, place: Place) -> _Insertion | None:
        """Return what to add to a simple command, and note who will read what comes of it."""
        texts = place.texts
        if tool := tool_of(texts):
            self.readers.append(tool.name)
            added = additions.addition(tool.name, texts[tool.at + 1 :], self._report())
            return self._insertion(place, tool.at, added, ())
        if script := script_of(texts, self._scripts):
            found = _through_scripts(script.name, self._scripts)
            self.readers.append(found[0] if found else ANY)
            given = texts[script.at + 1 :]
            added = additions.at_end(found[0], (*found[1], *given), self._report()) if found else additions.NOTHING
            return self._insertion(place, script.at, added, ("--",) if script.needs_dashes else ())
        return None

    def is_known(self, place: Place) -> bool:
        """Return whether it is known that a command runs no tests but those that a reader understands."""
        texts = program_of(place.texts)
        name, following = name_of(next(iter(texts), None)), next(iter(texts[1:]), None)
        if name in _NO_TESTS or following in _NO_TESTS_IN.get(name, ()):
            return True
        return tool_of(texts) is not None or script_of(texts, self._scripts) is not None

    def env(self) -> tuple[tuple[str, str], ...]:
        """Return variables for tools that stand behind other programs: pytest adds its options, go its flags."""
        if ANY not in self.readers:
            return ()
        return (("PYTEST_ADDOPTS", f"--junitxml={self._stem}-env.pytest.xml"), ("GOFLAGS", "-v"))

    def _report(self) -> str:
        self._count += 1
        return f"{self._stem}-{self._count}"

    def _insertion(
        self, place: Place, at: int, added: additions.Addition, before: tuple[str, ...]
    ) -> _Insertion | None:
        if not added.words or (added.to_output and not place.prints_here):
            return None
        return _Insertion(place.words[at].end, (*before, *added.words))


def _through_scripts(name: str, scripts: Mapping[str, str]) -> tuple[str, tuple[str | None, ...]] | None:
    """Return the tool that words added to a script come to, with its further words; None where that can't be told."""
    for _ in range(SCRIPTS_DEPTH):
        found = places.find(scripts[name])
        if not found or not found[-1].is_last:
            return None
        texts = found[-1].texts
        if tool := tool_of(texts):
            return tool.name, texts[tool.at + 1 :]
        script = script_of(texts, scripts)
        if script is None or script.needs_dashes:
            return None
        name = script.name
    return None


def _inserted(command: str, insertions: list[_Insertion]) -> str:
    data = command.encode(errors="replace")
    for insertion in sorted(insertions, key=lambda each: each.at, reverse=True):
        words = "".join(f" {shlex.quote(word)}" for word in insertion.words)
        data = data[: insertion.at] + words.encode() + data[insertion.at :]
    return data.decode() if insertions else command
