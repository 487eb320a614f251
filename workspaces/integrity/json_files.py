"""JSON files: package.json and its like; which keys are about tests, and where they stand."""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from workspaces import cuts, jsonspans
from workspaces.integrity.settings import Broken, Setting, cut
from workspaces.integrity.words import is_about_tests

Path = tuple[str, ...]
_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])')
DEPTH = 3
"""Objects in objects whose lines are looked for."""
TASK_DEPTH, OBJECTS_LIMIT = 5, 2000
"""Objects in objects, and objects in all, in which tasks of a monorepo's tool are looked for."""


def parsed(text: str) -> dict[str, Any]:
    """Return the object that a JSON text holds; comments are left out. Raises Broken."""
    try:
        try:
            found = json.loads(text)
        except ValueError:
            plain = _COMMENT.sub(lambda match: match[1] or "", text)
            found = json.loads(_LAST_COMMA.sub(lambda match: match[1] or "", plain))
    except RecursionError:
        raise Broken("it is too deeply nested") from None
    except ValueError as error:
        raise Broken(cuts.head(" ".join(str(error).split()), 150)) from None
    if not isinstance(found, dict):
        raise Broken("it holds no object")
    return found


def settings(text: str, wanted: Callable[[dict[str, Any]], Iterator[tuple[Path, Setting]]]) -> dict[str, Setting]:
    """Return the settings that are wanted, with their lines. `wanted` gives each with its keys, without lines."""
    if not text.strip():
        return {}
    places, starts = _places(text), [0, *(match.end() for match in re.finditer("\n", text))]
    return {setting.name: _placed(setting, path, places, starts, text) for path, setting in wanted(parsed(text))}


def _places(text: str) -> dict[Path, tuple[int, int]]:
    """Return the first and the last offset of each key and its value, as far as the text is plain JSON."""
    found: dict[Path, tuple[int, int]] = {}
    todo: list[tuple[Path, int]] = [((), jsonspans.after_space(text, 0))]
    while todo:
        path, at = todo.pop()
        try:
            parts = jsonspans.object_at(text, at).parts
        except (ValueError, RecursionError):
            continue
        for part in parts:
            inner = (*path, part.key)
            found[inner] = (part.first, part.value_end)
            if isinstance(part.value, dict) and len(inner) < DEPTH:
                todo.append((inner, part.value_start))
    return found


def _placed(setting: Setting, path: Path, places: dict[Path, tuple[int, int]], starts: list[int], text: str) -> Setting:
    for count in range(len(path), 0, -1):
        if path[:count] in places:
            first, last = places[path[:count]]
            line, end = (bisect_right(starts, offset) for offset in (first, last))
            return replace(setting, line=line, end=end, text=cut(text[first:last]), keys=path)
    return replace(setting, keys=path)


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def flat(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield each value below its keys, down to DEPTH keys."""
    if isinstance(value, dict) and value and len(path) < DEPTH:
        for key, inner in value.items():
            yield from flat(inner, (*path, key))
    elif path:
        yield path, value


def table(value: Any, *keys: str) -> dict[str, Any]:
    """Return the object below the keys, {} where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def everything(value: dict[str, Any], *keys: str) -> Iterator[tuple[Path, Setting]]:
    """Yield all that is below the keys as settings."""
    above: Any = value
    for key in keys:
        above = above.get(key) if isinstance(above, dict) else None
    if above is not None:
        for path, inner in flat(above, keys):
            yield path, Setting(".".join(path), canonical(inner))


# --- which files want what ---------------------------------------------------------------------------

TOOLS = ("jest", "vitest", "mocha", "ava", "nyc", "c8", "tap", "playwright", "cypress", "ts-node", "jasmine", "babel")
SWAPS = ("overrides", "resolutions", "imports", "patchedDependencies", "_moduleAliases", "browser", "alias")
DEPENDENCIES = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
_SOURCE = re.compile(r"(?:file|link|portal|npm|patch|git[\w+]*|github|https?|\.{1,2}/|/)[:/]?")


def whole(text: str, _: frozenset[str]) -> dict[str, Setting]:
    """Everything in the file is about tests."""
    return settings(text, lambda found: everything(found))


def package(text: str, used: frozenset[str]) -> dict[str, Setting]:
    """Read package.json: scripts that run tests, options of test tools, modules that stand in for others."""
    return settings(text, lambda found: _of_package(found, used))


def _of_package(found: dict[str, Any], used: frozenset[str]) -> Iterator[tuple[Path, Setting]]:
    for tool in (*TOOLS, *SWAPS):
        yield from everything(found, tool)
    for key in ("overrides", "patchedDependencies"):
        yield from everything(found, "pnpm", key)
    yield from _scripts(found, "scripts", used)
    for kind in DEPENDENCIES:
        for name, spec in table(found, kind).items():
            source = spec if isinstance(spec, str) and _SOURCE.match(spec) else ""
            yield (kind, name), Setting(f"{name} (source)", source, may_appear=True, may_go=True)


def _scripts(found: dict[str, Any], key: str, used: frozenset[str]) -> Iterator[tuple[Path, Setting]]:
    """Yield the scripts that run tests, by their names or as commands use them, with those that run around them."""
    watched = {"test", *used}
    around = {f"{when}{name}" for name in watched for when in ("pre", "post")}
    for name, value in table(found, key).items():
        if name in watched or name in around or is_about_tests(name):
            may_appear = name not in watched and name not in around
            yield (key, name), Setting(f"{key}.{name}", canonical(value), may_appear=may_appear)


def deno(text: str, used: frozenset[str]) -> dict[str, Setting]:
    def wanted(found: dict[str, Any]) -> Iterator[tuple[Path, Setting]]:
        yield from _scripts(found, "tasks", used)
        yield from everything(found, "test")
        for path, value in flat(table(found, "imports"), ("imports",)):
            if len(path) > 1:
                yield path, Setting(".".join(path), canonical(value), may_appear=True, may_go=True)

    return settings(text, wanted)


def composer(text: str, used: frozenset[str]) -> dict[str, Setting]:
    def wanted(found: dict[str, Any]) -> Iterator[tuple[Path, Setting]]:
        yield from _scripts(found, "scripts", used)
        yield from everything(found, "replace")
        yield from everything(found, "autoload-dev")

    return settings(text, wanted)


def task_runner(text: str, _: frozenset[str]) -> dict[str, Setting]:
    """Read the tasks of a monorepo's tool that are about tests, wherever they stand."""

    def wanted(found: dict[str, Any]) -> Iterator[tuple[Path, Setting]]:
        todo: list[tuple[Path, dict[str, Any]]] = [((), found)]
        for _ in range(OBJECTS_LIMIT):
            path, value = todo.pop() if todo else ((), {})
            for key, inner in value.items():
                if is_about_tests(key):
                    yield (*path, key), Setting(".".join((*path, key)), canonical(inner), may_appear=True)
                elif isinstance(inner, dict) and len(path) < TASK_DEPTH:
                    todo.append(((*path, key), inner))

    try:
        return settings(text, wanted)
    except (Broken, RecursionError):
        return {}


def tsconfig(text: str, _: frozenset[str]) -> dict[str, Setting]:
    """Read which modules stand in for others; a new name for one is nothing."""

    def wanted(found: dict[str, Any]) -> Iterator[tuple[Path, Setting]]:
        options = table(found, "compilerOptions")
        for key in ("baseUrl", "rootDirs"):
            if key in options:
                yield ("compilerOptions", key), Setting(key, canonical(options[key]))
        for alias, places in table(options, "paths").items():
            name = f"paths {alias}"
            yield ("compilerOptions", "paths", alias), Setting(name, canonical(places), may_appear=True)

    try:
        return settings(text, wanted)
    except Broken:
        return {}
