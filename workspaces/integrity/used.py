"""What the commands that verify a change use of the repository: targets, scripts, and programs that lie in it."""

import posixpath
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from workspaces import shell
from workspaces.integrity import json_files, recipes
from workspaces.integrity.settings import Broken
from workspaces.integrity.sides import Side
from workspaces.integrity.words import is_about_tests, runs_tests
from workspaces.sandbox import environment

TEXTS_LIMIT = 200
"""Texts of commands that are looked into: those that verify, scripts, recipes."""
TEXT_LIMIT = 64 * 1024
INCLUDED_LIMIT = 100
"""Files that files of targets read along."""
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
JUSTFILES = ("justfile", ".justfile", "Justfile")
TASKFILES = (
    "Taskfile.yml",
    "taskfile.yml",
    "Taskfile.yaml",
    "taskfile.yaml",
    "Taskfile.dist.yml",
    "Taskfile.dist.yaml",
)
_FILES = {
    "make": (MAKEFILES, recipes.makefile),
    "just": (JUSTFILES, recipes.justfile),
    "task": (TASKFILES, recipes.taskfile),
}
_GLOB = re.compile(r"[*?\[]")
_MAKE_NAMES = {"gmake": "make", "go-task": "task"}
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "source", "."})
_INTERPRETERS = re.compile(
    r"python[\d.]*|pypy3?|node|nodejs|ruby|perl|php|deno|bun|tsx|ts-node|lua|Rscript|julia|groovy|elixir"
)
_WRAPPERS = {
    "poetry": "run",
    "uv": "run",
    "pipenv": "run",
    "pdm": "run",
    "hatch": "run",
    "rye": "run",
    "bundle": "exec",
}
_MANAGERS = frozenset(
    {"npm", "pnpm", "yarn", "bun", "deno", "composer", "poe", "pdm", "hatch", "rye", "taskipy", "pixi"}
)
_OWN_WORDS = frozenset({"run", "run-script", "rum", "urn", "task", "exec", "x"})
_SHORT = {"t": "test", "tst": "test", "it": "install-test"}
_MANY = frozenset({"npm-run-all", "npm-run-all2", "run-s", "run-p", "concurrently", "wireit", "turbo", "nx", "lerna"})
_CONFIGURED = re.compile(
    r"(?:jest|vitest|mocha|ava|nyc|c8|karma|cypress|playwright|pytest|py\.test|phpunit|nose2|tox|nox|coverage|rspec|ctest"
    r"|cargo-nextest|vite|webpack|bats|behave|robot|testng|mvn|gradle)(?:\.cmd)?"
)
_CONFIG_OPTION = re.compile(
    r"(?:--?(?:c|config|config-file|configFile|configuration|settings|rcfile|opts|file|options))(?:=(.+))?"
)


@dataclass
class Used:
    """What commands use, as far as their text tells. Names go with the folder that they hold in; files are paths."""

    files: set[str] = field(default_factory=set)
    names: set[tuple[str, str]] = field(default_factory=set)
    programs: set[str] = field(default_factory=set)
    goals: set[str] = field(default_factory=set)
    """Paths that, once there, make takes for targets that are made already: their recipes then don't run."""
    read_along: set[str] = field(default_factory=set)
    """Globs of what files of targets read besides themselves, there or not: it may set anything."""

    def in_folder(self, folder: str) -> frozenset[str]:
        """Return the names of targets and scripts that are used of the files in a folder."""
        return frozenset(name for place, name in self.names if place in (folder, "*"))


def used(side: Side, commands: Sequence[str]) -> Used:
    """Return what these commands use of a tree, and what its tests' own targets and scripts at the root do."""
    walk = _Walk(side)
    for command in commands:
        walk.read(command, "")
    walk.read_own()
    while walk.todo and walk.count < TEXTS_LIMIT:
        walk.read(*walk.todo.pop(0))
    return walk.found


def reads_along(patterns: Collection[str], path: str) -> bool:
    """Return whether a path is one of those that files of targets read along (Used.read_along)."""
    return path in patterns or any(fnmatchcase(path, each) for each in patterns if _GLOB.search(each))


class _Walk:
    """Goes from commands to what they run, each text once."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.found = Used()
        self.todo: list[tuple[str, str]] = []
        self.count = 0
        self._seen: set[tuple[str, str]] = set()

    def read_own(self) -> None:
        """Take what the root's files say themselves that runs tests, which no command has to name."""
        for tool, (names, parse) in _FILES.items():
            for path in names:
                if path in self.side.entries:
                    about = [name for name in parse(self.side.text(path)).targets if is_about_tests(name)]
                    self._targets(tool, about, "", keep=False)
        for name, text in self._scripts("").items():
            if is_about_tests(name):
                self._add(text, "")

    def read(self, text: str, folder: str) -> None:
        """Take what one text of commands uses."""
        self.count += 1
        for command in shell.parse(text[:TEXT_LIMIT]).commands:
            here = _below(command.folder, folder)
            if here is not None and command.words:
                self._command([word.guess for word in command.words], here)

    def _add(self, text: str, folder: str) -> None:
        if (text, folder) not in self._seen and len(self._seen) < TEXTS_LIMIT:
            self._seen.add((text, folder))
            self.todo.append((text, folder))

    def _command(self, words: list[str], folder: str, depth: int = 0) -> None:
        name = words[0].rpartition("/")[2]
        name = _MAKE_NAMES.get(name, name)
        self.found.programs.add(name)
        rest = words[1:]
        self._file(words[0], folder, is_program="/" in words[0])
        if name in _FILES:
            self._run_targets(name, rest, folder)
        elif name in _MANAGERS or name in _MANY:
            self._run_scripts(name, rest, folder)
        elif name == "node" and "--run" in rest:
            self._script(rest[rest.index("--run") + 1 :][:1], folder)
        elif name in _SHELLS or _INTERPRETERS.fullmatch(name):
            self._interpret(name, rest, folder)
        if _CONFIGURED.fullmatch(name) or "-m" in rest:
            self._options(rest, folder)
        inner = _inner(name, rest)
        if inner and depth < 5:
            self._command(inner, folder, depth + 1)

    def _run_targets(self, tool: str, words: list[str], folder: str) -> None:
        targets: list[str] = []
        at = 0
        while at < len(words):
            word = words[at]
            at += 1
            if word in ("-C", "-d", "--directory", "--working-directory", "--dir") and at < len(words):
                folder, at = _joined(folder, words[at]), at + 1
            elif word in ("-f", "-t", "--file", "--makefile", "--justfile", "--taskfile") and at < len(words):
                self._file(words[at], folder, is_program=True)
                at += 1
            elif word in ("-j", "-l", "-o", "-I", "-W"):
                at += at < len(words) and words[at].isdigit()
            elif not word.startswith("-") and "=" not in word:
                targets.append(word)
        self._targets(tool, targets or [""], folder, keep=True)

    def _targets(self, tool: str, targets: Sequence[str], folder: str, *, keep: bool) -> None:
        """Follow targets; `keep`: commands name them, so that they count whatever they are called."""
        names, parse = _FILES[tool]
        path = next((path for name in names if (path := _joined(folder, name)) in self.side.entries), None)
        held = parse(self.side.text(path)) if path else recipes.Recipes()
        needed = held.closure(targets)
        self._read_along(held, folder, parse)
        if keep:
            self.found.names |= {(folder, name) for name in needed | set(targets) - {""}}
        if tool == "make" and path:
            phony = {name for special in (".PHONY",) if special in held.targets for name in held.targets[special].needs}
            self.found.goals |= {_joined(folder, name) for name in needed - phony if name in held.targets} - {""}
        for name in needed:
            for each in held.matching(name):
                for line in held.targets[each].lines:
                    self._add(_filled(line, held), folder)

    def _read_along(self, held: recipes.Recipes, folder: str, parse: Callable[[str], recipes.Recipes]) -> None:
        """Take the files that one of targets reads along, and those that these read."""
        todo = [held]
        while todo and len(self.found.read_along) < INCLUDED_LIMIT:
            for word in todo.pop().included():
                path = _joined(folder, _filled(word, held))
                if path and path not in self.found.read_along:
                    self.found.read_along.add(path)
                    todo += [parse(self.side.text(path))] if path in self.side.entries else []

    def _run_scripts(self, manager: str, words: list[str], folder: str) -> None:
        plain: list[str] = []
        at = 0
        while at < len(words):
            word, at = words[at], at + 1
            if word in ("--prefix", "-C", "--cwd", "--dir") and at < len(words):
                folder, at = _joined(folder, words[at]), at + 1
            elif word in ("-w", "--workspace", "--filter", "-F", "workspace", "--workspaces", "-r", "-ws"):
                at += word in ("-w", "--workspace", "--filter", "-F", "workspace")
                folder = "*"
            elif word == "--":
                break
            elif not word.startswith("-"):
                plain.append(word.removeprefix("npm:"))
        if manager not in _MANY:
            plain = plain[1:2] if plain and plain[0] in _OWN_WORDS else plain[:1]
        names = [name.rpartition(":")[2] if manager == "hatch" else _SHORT.get(name, name) for name in plain]
        self._script(names, folder)

    def _script(self, names: Sequence[str], folder: str) -> None:
        held = self._scripts("" if folder == "*" else folder)
        for name in names:
            for each in (name, f"pre{name}", f"post{name}"):
                if each == name or each in held:
                    self.found.names.add((folder, each))
                if each in held:
                    self._add(held[each], "" if folder == "*" else folder)

    def _scripts(self, folder: str) -> dict[str, str]:
        try:
            held = json_files.parsed(self.side.text(_joined(folder, "package.json")) or "{}")
        except Broken:
            return {}
        return {name: text for name, text in json_files.table(held, "scripts").items() if isinstance(text, str)}

    def _interpret(self, name: str, words: list[str], folder: str) -> None:
        """Take the program that an interpreter or a shell is given."""
        if words[:1] == ["-c"] or (words[:1] == ["-e"] and name not in _SHELLS):
            return
        if words[:1] == ["-m"] and len(words) > 1:
            module = words[1].replace(".", "/")
            for path in (f"{module}.py", f"{module}/__main__.py"):
                self._file(path, folder, is_program=runs_tests(f"/{path}"))
            return
        script = next((word for word in words if not word.startswith("-") and word not in ("run", "test")), "")
        self._file(script, folder, is_program=name in _SHELLS or runs_tests(f"/{script}"))

    def _file(self, word: str, folder: str, *, is_program: bool) -> None:
        path = _joined(folder, word)
        if not is_program or path not in self.side.entries or path in self.found.files:
            return
        ending = path.rpartition("/")[2].rpartition(".")[2].lower()
        is_shell = "." not in path.rpartition("/")[2] or ending in ("sh", "bash", "zsh", "cmd", "bat", "ps1")
        if is_shell or runs_tests(f"/{path}") or path.rpartition("/")[2] in MAKEFILES or ending == "mk":
            self.found.files.add(path)
            text = self.side.text(path)
            if is_shell and "\0" not in text[:1000]:
                self._add(text[:TEXT_LIMIT], folder)

    def _options(self, words: Sequence[str], folder: str) -> None:
        """Take the files of options that a test tool is given."""
        for at, word in enumerate(words):
            if found := _CONFIG_OPTION.fullmatch(word):
                value = found[1] or (words[at + 1] if at + 1 < len(words) else "")
                path = _joined(folder, value)
                if path in self.side.entries:
                    self.found.files.add(path)


def _inner(name: str, words: list[str]) -> list[str]:
    """Return the command that a wrapper runs, such as `poetry run pytest`."""
    if name in _WRAPPERS and _WRAPPERS[name] in words:
        return _past_options(words[words.index(_WRAPPERS[name]) + 1 :])
    if name in ("npx", "bunx", "pnpx", "dotenv", "cross-env", "xvfb-run", "coverage"):
        return _past_options([word for word in words if "=" not in word.partition("-")[0]])
    if name in ("pnpm", "yarn", "npm", "bun") and words[:1] in (["exec"], ["x"], ["dlx"]):
        return _past_options(words[1:])
    if re.fullmatch(r"python[\d.]*", name) and words[:1] == ["-m"] and words[1:2] not in (["pytest"], ["unittest"]):
        return words[1:]
    return []


def _past_options(words: list[str]) -> list[str]:
    at = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
    return words[at:]


_VARIABLE = re.compile(r"\$[({]([\w.-]+)[)}]|\{\{\s*([\w-]+)\s*\}\}")


def _filled(line: str, held: recipes.Recipes) -> str:
    """Return a recipe's line as the shell gets it: variables filled in, and what is make's own taken off."""

    def value(match: "re.Match[str]") -> str:
        name = match[1] or match[2]
        if name == "MAKE":
            return "make"
        known = held.variables.get(name)
        return known[-1][1].partition("= ")[2] or known[-1][1] if known else ""

    filled = _VARIABLE.sub(value, line[:TEXT_LIMIT])[:TEXT_LIMIT]
    return _VARIABLE.sub(value, filled)[:TEXT_LIMIT].lstrip("@-+ ").removeprefix("cmd: ").replace("$$", "$")


def _below(folder: str | None, within: str) -> str | None:
    """Return where a command runs, as a folder of the tree; None where that isn't known, or lies outside."""
    if folder is None or not (folder == environment.TREE or folder.startswith(f"{environment.TREE}/")):
        return None
    return _joined(within, folder[len(environment.TREE) + 1 :])


def _joined(folder: str, path: str) -> str:
    """Return a path of the tree, "" for its root or for what lies outside."""
    if path.startswith(f"{environment.TREE}/"):
        folder, path = "", path[len(environment.TREE) + 1 :]
    joined = posixpath.normpath(posixpath.join("" if folder == "*" else folder, path)) if path else folder
    return "" if joined in (".", "*") or joined.startswith(("../", "/")) or joined == ".." else joined
