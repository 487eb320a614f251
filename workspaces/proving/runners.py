"""Which test tool the words of a simple command start, through the programs that start others."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Words = Sequence[str | None]
WRAPPERS_LIMIT = 8

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_PYTHON = re.compile(r"(python|pypy)[\d.]*")
_PLAIN_WRAPPERS = frozenset({"time", "command", "exec", "nohup", "xvfb-run", "stdbuf"})
_ASSIGNING = frozenset({"env", "cross-env"})
_RUNS = frozenset({"poetry", "uv", "pipenv", "pdm", "hatch", "rye", "mise", "devbox"})
"""Programs that run another after the word `run`."""
_EXECS = frozenset(
    {("bundle", "exec"), ("pnpm", "exec"), ("yarn", "exec"), ("bun", "x"), ("npm", "exec"), ("yarn", "run")}
)
_TAKES_VALUE = {
    "run": frozenset({"--with", "--python", "-p", "--extra", "--group", "--project", "--directory", "--package", "-C"}),
    "python": frozenset({"-X", "-W", "--check-hash-based-pycs"}),
    "coverage": frozenset({"--source", "--rcfile", "--include", "--omit", "--context", "--concurrency", "--data-file"}),
    "node": frozenset({"--import", "--require", "-r", "--loader", "--experimental-loader", "--conditions", "-C"}),
    "timeout": frozenset({"-k", "-s", "--kill-after", "--signal"}),
    "nice": frozenset({"-n"}),
}
_FLAGS = {
    "run": r"--(quiet|verbose|frozen|locked|no-sync|isolated|offline|no-dev|dev|all-extras|all-groups|active)|-[qv]",
    "python": r"-[bBdEiIOqsSuvx]+",
    "coverage": r"--(append|branch|parallel-mode)|-[ap]",
    "timeout": r"--(preserve-status|foreground|verbose)|-v",
    "npx": r"--(yes|no|no-install)|-y",
    "bunx": r"--bun",
    "npm": r"--(yes|no|silent)|-[ys]",
    "yarn": r"--silent|-s",
    "time": r"-p",
    "stdbuf": r"-[oei][0L]",
    "xvfb-run": r"-a|--auto-servernum",
}
"""Options without a value; where another stands, what is run can't be told."""
_JOINED = re.compile(r"--[a-z][\w-]*=.*")
_NAMES = {
    "pytest": ("pytest", "py.test"),
    "jest": ("jest", "jest.js"),
    "vitest": ("vitest", "vitest.mjs"),
    "mocha": ("mocha", "_mocha", "mocha.js"),
    "rspec": ("rspec",),
    "ctest": ("ctest",),
    "phpunit": ("phpunit",),
    "pest": ("pest",),
    "maven": ("mvn", "mvnw"),
    "gradle": ("gradle", "gradlew"),
    "tap": ("prove", "bats", "tap", "tape"),
}
BUILDS = frozenset({"maven", "gradle"})
"""Tools that run tests among other things."""
_BY_NAME = {name: tool for tool, names in _NAMES.items() for name in names}
PROGRAMS = frozenset(name for name, tool in _BY_NAME.items() if tool not in BUILDS)
"""Programs that do nothing but run tests."""
_NODE_TOOLS = frozenset({"jest", "vitest", "mocha"})


@dataclass(frozen=True)
class Tool:
    """A test tool: its name, and the number of the last word that belongs to its start."""

    name: str
    at: int


def tool_of(words: Words) -> Tool | None:
    """Return the tool that the words start; None where they start none, or it can't be told."""
    return _tool(words, _program(words))


def program_of(words: Words) -> Words:
    """Return the words of the program that is run at last, by others that do no more than run it."""
    return words[_program(words) :]


def _program(words: Words) -> int:
    at = 0
    for _ in range(WRAPPERS_LIMIT):
        inner = _inner(words, at)
        if inner is None:
            return at
        at = inner
    return len(words)


def name_of(word: str | None) -> str:
    """Return a program's name without its folder; "" where it is unknown."""
    return (word or "").rpartition("/")[2]


def _inner(words: Words, at: int) -> int | None:
    """Return where the command begins that a wrapper at this place runs; None where none stands there."""
    name, following = name_of(_get(words, at)), _get(words, at + 1)
    if name in _PLAIN_WRAPPERS:
        return _past_options(words, at + 1, name)
    if name in _ASSIGNING:
        at += 1
        while _ASSIGNMENT.match(_get(words, at) or ""):
            at += 1
        return at
    if name in ("timeout", "nice"):
        return _past_options(words, at + 1, name) + (name == "timeout")
    if name in _RUNS and following == "run":
        return _past_options(words, at + 2, "run")
    if name in ("npx", "bunx"):
        return _past_options(words, at + 1, name)
    if (name, following) in _EXECS:
        at = _past_options(words, at + 2, name)
        return at + (_get(words, at) == "--")
    if name in ("pnpm", "yarn") and _BY_NAME.get(following or "") in _NODE_TOOLS:
        return at + 1
    return None


def _past_options(words: Words, at: int, of: str) -> int:
    values, flags = _TAKES_VALUE.get(of, frozenset()), _FLAGS.get(of, "(?!)")
    while (word := _get(words, at)) is not None:
        if word in values:
            at += 2
        elif re.fullmatch(flags, word) or (of in _FLAGS and _JOINED.fullmatch(word)):
            at += 1
        else:
            break
    return at


def _get(words: Words, at: int) -> str | None:
    return words[at] if 0 <= at < len(words) else None


def _tool(words: Words, at: int) -> Tool | None:
    name, following = name_of(_get(words, at)), _get(words, at + 1)
    if name == "-m":  # such as `uv run -m pytest`
        return _python(words, at)
    if _PYTHON.fullmatch(name):
        return _python(words, _past_options(words, at + 1, "python"))
    if name == "coverage" and following == "run":
        return _python(words, _past_options(words, at + 2, "coverage"))
    if name in ("manage.py", "django-admin"):
        return _django(words, at)
    if name == "node":
        return _node(words, at + 1)
    if name == "go":
        at = at + 2 if following == "-C" else at
        return Tool("go", at + 1) if _get(words, at + 1) == "test" else None
    if name == "cargo":
        return _cargo(words, at + 1)
    if name == "bun" and following == "test":
        return Tool("bun", at + 1)
    if name == "react-scripts" and following == "test":
        return Tool("jest", at + 1)
    if name in ("rails", "rake") and following == "test":
        return Tool("minitest", at + 1)
    if found := _BY_NAME.get(name):
        return Tool(found, at)
    return None


def _python(words: Words, at: int) -> Tool | None:
    word, module = _get(words, at), _get(words, at + 1)
    if word == "-m" and module == "coverage" and _get(words, at + 2) == "run":
        return _python(words, _past_options(words, at + 3, "coverage"))
    if word == "-m" and module in ("pytest", "py.test"):
        return Tool("pytest", at + 1)
    if word == "-m" and module == "unittest":
        return Tool("unittest", at + 2 if _get(words, at + 2) == "discover" else at + 1)
    if word == "-m" and module == "django":
        return _django(words, at + 1)
    if name_of(word) == "manage.py":
        return _django(words, at)
    return Tool("pytest", at) if name_of(word) in ("pytest", "py.test") else None


def _django(words: Words, at: int) -> Tool | None:
    return Tool("django", at + 1) if _get(words, at + 1) == "test" else None


def _node(words: Words, at: int) -> Tool | None:
    is_test = 0
    while (word := _get(words, at)) is not None and word.startswith("-"):
        is_test = at if word == "--test" else is_test
        at += 2 if word in _TAKES_VALUE["node"] else 1
    if is_test:
        return Tool("node", is_test)
    found = _BY_NAME.get(name_of(word))
    return Tool(found, at) if found in _NODE_TOOLS else None


def _cargo(words: Words, at: int) -> Tool | None:
    at += (_get(words, at) or "").startswith("+")
    if _get(words, at) in ("test", "t"):
        return Tool("cargo", at)
    if _get(words, at) == "nextest" and _get(words, at + 1) in ("run", "r"):
        return Tool("nextest", at + 1)
    return None


@dataclass(frozen=True)
class Script:
    """A script of package.json that a command runs; `at`: the number of the word `--`, or of the last word."""

    name: str
    at: int
    needs_dashes: bool


def script_of(words: Words, scripts: Mapping[str, str]) -> Script | None:
    """Return the script that npm, yarn, pnpm or bun is told to run; None for any other, and with options unknown."""
    program = name_of(_get(words, 0))
    if program not in ("npm", "yarn", "pnpm", "bun"):
        return None
    at = 1 + sum(1 for word in words[1:3] if word in ("--silent", "-s"))
    is_run = _get(words, at) in ("run", "run-script")
    name = _get(words, at + is_run)
    name = "test" if program == "npm" and not is_run and name in ("t", "tst") else name
    if (
        name is None
        or name not in scripts
        or (program == "bun" and not is_run)
        or (program == "npm" and not is_run and name != "test")
    ):
        return None
    rest = words[at + is_run + 1 :]
    if any(word is None for word in rest):
        return None
    if program != "npm":
        return Script(name, len(words) - 1, False) if "--" not in rest else None
    dashes = next((number for number, word in enumerate(words) if word == "--"), None)
    before = words[at + is_run + 1 : dashes]
    if any(word not in ("--silent", "-s", "--if-present") for word in before):
        return None
    return Script(name, len(words) - 1 if dashes is None else dashes, dashes is None)
