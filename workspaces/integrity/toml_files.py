"""TOML files: pyproject.toml, Cargo.toml and those of test tools; which keys are about tests, and where they stand."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from workspaces import cuts
from workspaces.integrity.settings import Broken, Setting, cut
from workspaces.integrity.words import is_about_tests

DOTS_LIMIT = 300
"""Dots of one line; a dotted key takes time with the square of its length."""
_HEADER = re.compile(r"\s*(\[\[?)([^\]]*)\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")
_PART = re.compile(r"[\w-]+|\"[^\"]*\"|'[^']*'")
Path = tuple[str, ...]
Wanted = Callable[[Path, Any], "Setting | None"]


def parsed(text: str) -> dict[str, Any]:
    """Return what a TOML text holds. Raises Broken."""
    if any(line.count(".") > DOTS_LIMIT for line in text.split("\n")):
        raise Broken(f"a line has more than {DOTS_LIMIT} dots")
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except RecursionError:
        raise Broken("it is too deeply nested") from None
    except ValueError as error:
        raise Broken(cuts.head(" ".join(str(error).split()), 150)) from None


def settings(text: str, wanted: Wanted) -> dict[str, Setting]:
    """Return the settings that are wanted, with their lines. `wanted` gives one for a path and value, without lines."""
    held, lines = parsed(text), text.split("\n")
    places = _places(lines)
    found: dict[str, Setting] = {}
    for path, value in flat(held):
        setting = wanted(path, value)
        if setting is not None:
            found[setting.name] = _placed(setting, path, places, lines)
    return found


def flat(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield each value below its keys; a list of tables is a value, and so is an empty table."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from flat(inner, (*path, key))
    elif path:
        yield path, value


Places = dict[Path, tuple[int, int, str]]


def _places(lines: Sequence[str]) -> Places:
    """Return, by path of tables and keys, first line, last line and the header above; as far as lines tell."""
    found: Places = {}
    table: Path = ()
    header, quotes = "", ""
    current: Path = ()
    for number, line in enumerate(lines, 1):
        if not quotes and (head := _HEADER.match(line)) and not _KEY.match(line):
            table, header, current = _parts(head[2]), line.strip(), ()
            found.setdefault(table, (number, number, header))
            current = table if head[1] == "[[" else ()
        elif not quotes and (key := _KEY.match(line)):
            current = (*table, *_parts(key[1]))
            found.setdefault(current, (number, number, header))
        elif line.strip() and (quotes or not line.lstrip().startswith("#")) and current in found:
            found[current] = (found[current][0], number, found[current][2])
        quotes = _quotes_after(line, quotes)
    return found


def _quotes_after(line: str, quotes: str) -> str:
    """Return the quotes of a text over several lines that is open after this line, or ""."""
    for mark in re.findall(r'"""|\'\'\'', line):
        if not quotes:
            quotes = mark
        elif quotes == mark:
            quotes = ""
    return quotes


def _parts(dotted: str) -> Path:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))


def _placed(setting: Setting, path: Path, places: Places, lines: Sequence[str]) -> Setting:
    """Return the setting with its lines: of its own key, or of the nearest one above it (an inline table)."""
    for count in range(len(path), 0, -1):
        place = places.get(path[:count])
        if place is not None:
            first, last, header = place
            text = "\n".join(lines[first - 1 : last])
            home = "" if header == lines[first - 1].strip() else header
            return replace(setting, line=first, end=last, text=cut(text), home=home)
    return setting


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def plain(path: Path, value: Any, *, may_appear: bool = False) -> Setting:
    """Return the setting of a value as it stands."""
    words = path[-1] in ("addopts", "testpaths")
    text = " ".join(value.split()) if words and isinstance(value, str) else canonical(value)
    return Setting(".".join(path), text, may_appear=may_appear)


# --- which files want what ---------------------------------------------------------------------------

_TASKS = (
    ("tool", "poe", "tasks"),
    ("tool", "pdm", "scripts"),
    ("tool", "taskipy", "tasks"),
    ("tool", "rye", "scripts"),
)
_TASKS_MORE = (("tool", "pixi", "tasks"), ("tool", "hatch", "scripts"))
_TOOLS = frozenset({"pytest", "tox", "nox", "unittest", "nose2", "ward", "hypothesis"})


def whole(text: str, _: frozenset[str]) -> dict[str, Setting]:
    """Everything in the file is about tests."""
    return settings(text, plain)


def pyproject(text: str, used: frozenset[str]) -> dict[str, Setting]:
    return settings(text, lambda path, value: _of_pyproject(path, value, used))


def _of_pyproject(path: Path, value: Any, used: frozenset[str]) -> Setting | None:
    if path[:3] == ("project", "entry-points", "pytest11") or path[:3] == ("tool", "setuptools", "package-dir"):
        return plain(path, value)
    if path[0] != "tool" or len(path) < 2:
        return None
    if path[1] in _TOOLS and path[-1] not in ("requires", "deps", "description"):
        return plain(path, value)
    if path[1] == "coverage" and path[2:3] != ("html",):
        return plain(path, value)
    return _task(path, value, used)


def _task(path: Path, value: Any, used: frozenset[str]) -> Setting | None:
    """Return the setting of a script that runs tests, if it is one."""
    for start in (*_TASKS, *_TASKS_MORE):
        if path[: len(start)] == start and len(path) > len(start):
            return _script(path, path[len(start)], value, used)
    if path[:3] == ("tool", "hatch", "envs") and len(path) > 4:
        kind, name = path[4], path[5] if len(path) > 5 else ""
        if kind == "scripts":
            return _script(path, name, value, used)
        if is_about_tests(path[3]) and kind in ("env-vars", "pre-install-commands", "post-install-commands"):
            return plain(path, value)
    return None


def _script(path: Path, name: str, value: Any, used: frozenset[str]) -> Setting | None:
    if name in used:
        return plain(path, value)
    return plain(path, value, may_appear=True) if is_about_tests(name) else None


def cargo(text: str, _: frozenset[str]) -> dict[str, Setting]:
    return settings(text, _of_cargo)


_AUTO = frozenset({"autotests", "autobenches", "autoexamples", "autobins", "build"})
_RUNS = frozenset({"test", "harness", "doctest", "path", "required-features"})
_DEPENDENCIES = frozenset({"dependencies", "dev-dependencies", "build-dependencies"})


def _of_cargo(path: Path, value: Any) -> Setting | None:
    match path:
        case ("test" | "patch" | "replace", *_) | ("profile", "test", *_):
            return plain(path, value)
        case ("profile", "dev", "debug-assertions" | "overflow-checks" | "panic"):
            return plain(path, value)
        case ("lib", key) if key in _RUNS:
            return plain(path, value)
        case ("package", key) if key in _AUTO:
            return plain(path, value)
        case ("bin" | "example", *_) if isinstance(value, list):
            return _targets(path, value)
        case ("workspace", "members" | "exclude" | "default-members"):
            return plain(path, value) if path[1] != "members" else None
        case ("features", "default"):
            return None
    return _source(path, value)


def _targets(path: Path, value: list[Any]) -> Setting | None:
    """Return what programs say of their tests, if they say anything."""
    said = [
        {key: each[key] for key in ("name", "test", "harness") if key in each}
        for each in value
        if isinstance(each, dict) and ("test" in each or "harness" in each)
    ]
    return Setting(".".join(path), canonical(said)) if said else None


def _source(path: Path, value: Any) -> Setting | None:
    """Return where a dependency comes from, if that is no version: one that was there may not become another."""
    place = next((at for at, part in enumerate(path) if part in _DEPENDENCIES), None)
    if place is None or len(path) <= place + 1:
        return None
    name = ".".join(path[: place + 2])
    if len(path) == place + 2:
        return Setting(f"{name} (source)", "", may_appear=True, may_go=True)
    if path[place + 2] not in ("path", "git", "package"):
        return None
    return Setting(f"{name} (source)", f"{path[place + 2]} {value}", may_appear=True, may_go=True)


def cargo_config(text: str, _: frozenset[str]) -> dict[str, Setting]:
    return settings(
        text, lambda path, value: None if path[0] in ("net", "http", "term", "registries") else plain(path, value)
    )


def bunfig(text: str, _: frozenset[str]) -> dict[str, Setting]:
    return settings(text, lambda path, value: plain(path, value) if path[0] in ("test", "preload", "define") else None)
