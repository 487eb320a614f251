"""A file that is about tests in part, as a run left it, with that part as it was at the baseline."""

import json
import re
from collections.abc import Collection, Iterable
from typing import Any

from workspaces.integrity import configuration, ini, json_files, toml_files
from workspaces.integrity.settings import Broken, Difference, Setting, differences
from workspaces.integrity.sides import decoded

_LINEWISE = frozenset({"go.mod", "Gemfile", ".npmrc", ".yarnrc", ".yarnrc.yml", "config"})
TRIES = 4
"""Times that lines are put back: a header that is left without keys may be a setting itself, and goes next."""


def merged(path: str, old: bytes | None, new: bytes, used: frozenset[str]) -> bytes | None:
    """Return the new file with what is about tests in it as in the old one (None: there was none).

    The old file whole, where the two can't be told apart; None where that would be no file at all.
    """
    try:
        before = configuration.settings(path, old, used)
        now = configuration.settings(path, new, used)
        if not any(differences(before, now)):
            return new
        joined = _joined(path, decoded(old or b""), decoded(new), used)
        if joined is not None and _is_right(path, before, new, joined, used):
            return joined
    except (Broken, RecursionError):
        pass
    return old


def _joined(path: str, old: str, new: str, used: frozenset[str]) -> bytes | None:
    if path.endswith((".json", ".jsonc")):
        return _objects(path, old, new, used)
    if not _by_lines(path):
        return None
    text = new
    for _ in range(TRIES):
        found = list(differences(_settings(path, old, used), _settings(path, text, used)))
        if not found:
            return text.encode("utf-8", "surrogatepass")
        text = _lines(old, text, found)
    return None


def _by_lines(path: str) -> bool:
    """Return whether the settings of such a file stand in lines of their own."""
    name = path.rpartition("/")[2]
    return name.endswith((".toml", ".cfg", ".properties")) or name in _LINEWISE


def _settings(path: str, text: str, used: frozenset[str]) -> dict[str, Setting]:
    return configuration.settings(path, text.encode("utf-8", "surrogatepass"), used)


def _is_right(path: str, before: dict[str, Setting], new: bytes, joined: bytes, used: frozenset[str]) -> bool:
    """Return whether what came out means what it should: tests as before, all else as it is now."""
    after = configuration.settings(path, joined, used)
    if any(differences(before, after)):
        return False
    names = {*before, *configuration.settings(path, new, used), *after}
    if path.endswith(".toml"):
        return _rest_of_toml(decoded(new), names) == _rest_of_toml(decoded(joined), names)
    if path.endswith(".cfg"):
        return _rest_of_ini(decoded(new), names) == _rest_of_ini(decoded(joined), names)
    return True


def _rest_of_toml(text: str, names: Collection[str]) -> list[str]:
    """Return what a TOML file says beside these settings; empty tables say nothing."""

    def is_named(path: tuple[str, ...]) -> bool:
        above = [".".join(path[:count]) for count in range(1, len(path) + 1)]
        return any(name in names or f"{name} (source)" in names for name in above)

    return sorted(
        f"{path} {toml_files.canonical(value)}"
        for path, value in toml_files.flat(toml_files.parsed(text))
        if value != {} and not is_named(path)
    )


def _rest_of_ini(text: str, names: Collection[str]) -> list[str]:
    return [
        f"[{each.section}] {each.key} {each.value}"
        for each in ini.entries(text)
        if f"[{each.section}] {each.key}" not in names
    ]


# --- lines -------------------------------------------------------------------------------------------


def _lines(old: str, new: str, found: Iterable[Difference]) -> str:
    """Return the new text with the lines of these settings as in the old one, each in its place if it has one."""
    source, lines = old.split("\n"), new.split("\n")
    at: dict[int, list[str]] = {}
    gone: set[int] = set()
    below: list[tuple[Setting, list[str]]] = []
    for each in found:
        back = source[each.old.line - 1 : each.old.end] if each.old and each.old.line else []
        if each.new and each.new.line:
            at.setdefault(each.new.line, []).extend(line for line in back if line not in at.get(each.new.line, ()))
            gone.update(range(each.new.line, each.new.end + 1))
        elif each.old:
            below.append((each.old, back))
    kept: list[str] = []
    for number, line in enumerate(lines, 1):
        kept += at.get(number, ())
        kept += [] if number in gone else [line]
    for setting, back in below:
        kept = _put_below(kept, setting, back)
    return "\n".join(kept)


def _put_below(lines: list[str], setting: Setting, back: list[str]) -> list[str]:
    """Return the lines with some more below the header that they belong to, or at the end with it."""
    if not setting.home:
        return [*_ended(lines), *(back if not re.match(r"replace |use ", setting.text) else [setting.text]), ""]
    place = next((at for at, line in enumerate(lines) if line.strip() == setting.home), None)
    if place is None:
        return [*_ended(lines), setting.home, *back, ""]
    return [*lines[: place + 1], *back, *lines[place + 1 :]]


def _ended(lines: list[str]) -> list[str]:
    return lines[:-1] if lines and not lines[-1].strip() else lines


# --- JSON --------------------------------------------------------------------------------------------


def _objects(path: str, old: str, new: str, used: frozenset[str]) -> bytes:
    """Return the new object with these settings as in the old one, written out anew."""
    source = json_files.parsed(old) if old.strip() else {}
    held = json_files.parsed(new)
    found = list(differences(_settings(path, old, used), _settings(path, new, used)))
    for each in found:
        if each.new is not None:
            _drop(held, each.new.keys)
    for each in found:
        if each.old is not None:
            _set(held, each.old.keys, _get(source, each.old.keys))
    indent = re.search(r"\n([ \t]+)\"", new)
    return f"{json.dumps(held, indent=indent[1] if indent else 2)}\n".encode()


def _get(value: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _drop(held: dict[str, Any], keys: tuple[str, ...]) -> None:
    """Take a key away, with what is left empty above it."""
    for count in range(len(keys), 0, -1):
        above = _get(held, keys[: count - 1])
        if not isinstance(above, dict):
            return
        if count == len(keys) or above.get(keys[count - 1]) == {}:
            above.pop(keys[count - 1], None)


def _set(held: dict[str, Any], keys: tuple[str, ...], value: Any) -> None:
    for key in keys[:-1]:
        inner = held.get(key)
        if not isinstance(inner, dict):
            inner = held[key] = {}
        held = inner
    held[keys[-1]] = value
