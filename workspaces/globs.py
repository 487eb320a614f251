"""Globs as people write them: `**` spans folders, `*` and `?` don't cross a slash, `[ab]`, `{a,b}`."""

import functools
import re
from collections.abc import Callable

_MAGIC = re.compile(r"[*?\[{]")


def has_magic(text: str) -> bool:
    return bool(_MAGIC.search(text))


@functools.lru_cache(maxsize=512)
def compiled(pattern: str, *, brackets: bool = True, ignore_case: bool = False) -> re.Pattern[str]:
    """Return the regex of a whole path. `brackets` false: `[` and `]` are ordinary characters, as in `app/[id]`."""
    source = _translate(pattern.removeprefix("./"), brackets)
    return re.compile(source + r"\Z", re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def _translate(pattern: str, brackets: bool) -> str:
    out: list[str] = []
    at = depth = 0
    while at < len(pattern):
        token, size = _token(pattern, at, brackets, depth)
        depth += {"{": 1, "}": -1}.get(pattern[at], 0) if size == 1 and token in ("(?:", ")") else 0
        out.append(token)
        at += size
    return "".join(out) + ")" * depth


def _token(pattern: str, at: int, brackets: bool, depth: int) -> tuple[str, int]:
    """Return the regex of what stands at `at`, and its length in the glob."""
    rest = pattern[at:]
    if rest.startswith("**/") and (at == 0 or pattern[at - 1] == "/"):
        return r"(?:[^/]+/)*", 3
    if rest == "**" and (at == 0 or pattern[at - 1] == "/"):
        return r".+", 2
    match rest[0]:
        case "*":
            return r"[^/]*", len(rest) - len(rest.lstrip("*"))
        case "?":
            return r"[^/]", 1
        case "{" if "}" in rest:
            return "(?:", 1
        case "}" if depth:
            return ")", 1
        case "," if depth:
            return "|", 1
        case "[" if brackets and (set_ := re.match(r"\[([!^]?)(\]?[^\]/]*)\]", rest)):
            inside = re.sub(r"([\\\[\]&~|])", r"\\\1", set_[2])
            return f"(?!/)[{'^' if set_[1] else ''}{inside}]", set_.end()
        case "\\" if len(rest) > 1:
            return re.escape(rest[1]), 2
        case character:
            return re.escape(character), 1


def matches(pattern: str, path: str) -> bool:
    """Return whether a rule of a policy covers a path, in any letter case.

    As in .gitignore: a pattern without a slash fits at any depth, and one that fits a folder covers all below it.
    """
    regex = compiled(_at_any_depth(pattern), ignore_case=True)
    parts = path.split("/")
    return any(regex.match("/".join(parts[:count])) for count in range(1, len(parts) + 1))


def _at_any_depth(pattern: str) -> str:
    wanted = pattern.strip("/")
    return wanted if "/" in wanted else f"**/{wanted}"


@functools.lru_cache(maxsize=64)
def covering(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """Return a quick test of many paths: whether one of the rules covers it, as `matches` says."""
    rules = "|".join(_translate(_at_any_depth(pattern).removeprefix("./"), brackets=True) for pattern in patterns)
    regex = re.compile(rf"(?:{rules})(?:/.*)?\Z", re.DOTALL | re.IGNORECASE)
    return lambda path: regex.match(path) is not None


def is_below(path: str, folder: str) -> bool:
    """Return whether the path is the folder, or in it."""
    return path == folder or path.startswith(folder + "/")
