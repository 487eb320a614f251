"""Globs as people write them: `**` spans folders, `*` and `?` don't cross a slash, `[ab]`, `{a,b}`.

No pattern makes a match slow: of what is between two stars the first place that fits is as good as any other, so no
other is tried (an atomic group).
"""

import functools
import itertools
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from workspaces.paths import WorkspaceError

MAX_ALTERNATIVES = 1000
"""What the braces of one pattern may come to."""
MAX_CHARS = 10_000
"""No path has so many."""
_MAX_DEPTH = 20
_MAGIC = re.compile(r"[*?\[{]")
_SET = re.compile(r"\[([!^]?)(\][^\]/]*|[^\]/]+)\]")
_STAR, _DEEP, _REST, _SLASH = r"[^/]*", r"(?:[^/]+/)*", r".+", "/"


class GlobError(WorkspaceError):
    """INVALID_PATTERN."""


def has_magic(text: str) -> bool:
    return bool(_MAGIC.search(text))


@functools.lru_cache(maxsize=512)
def compiled(pattern: str, *, brackets: bool = True, ignore_case: bool = False) -> re.Pattern[str]:
    """Return the regex of a whole path. `brackets` false: `[` and `]` are ordinary characters, as in `app/[id]`.

    Raises GlobError for one that is too long, a range that goes down, and braces that come to too many patterns.
    """
    if len(pattern) > MAX_CHARS:
        raise GlobError("INVALID_PATTERN", f"The glob has {len(pattern)} characters; at most {MAX_CHARS} are taken.")
    source = _translate(pattern.removeprefix("./"), brackets)
    return re.compile(source + r"\Z", re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def _translate(pattern: str, brackets: bool) -> str:
    plain, end = _alternatives(pattern, 0, brackets, 0)
    assert end == len(pattern)  # a comma or brace outside of braces is an ordinary character
    return "(?:" + "|".join(_deep(list(_tokens(each, brackets))) for each in dict.fromkeys(plain)) + ")"


# --- braces --------------------------------------------------------------------------------------


def _alternatives(pattern: str, at: int, brackets: bool, depth: int) -> tuple[list[str], int]:
    """Return the patterns without braces that the text from `at` on stands for, and where it ends."""
    if depth > _MAX_DEPTH:
        raise GlobError("INVALID_PATTERN", f"The braces of the glob are nested more than {_MAX_DEPTH} deep.")
    done: list[str] = []
    here = [""]
    after_braces = False
    while at < len(pattern) and not (depth and pattern[at] == "}"):
        if depth and pattern[at] == ",":
            done, here, at = [*done, *here], [""], at + 1
        elif pattern[at] == "{" and "}" in pattern[at:]:
            inner, at = _alternatives(pattern, at + 1, brackets, depth + 1)
            here = [_joined(head, tail) for head, tail in itertools.product(here, inner[: MAX_ALTERNATIVES + 1])]
            after_braces = True
        else:
            size = _size(pattern, at, brackets)
            part = pattern[at : at + size]
            here = [_joined(head, part) if after_braces else head + part for head in here]
            after_braces = False
            at += size
        if len(done) + len(here) > MAX_ALTERNATIVES:
            raise GlobError("INVALID_PATTERN", f"The braces of the glob come to more than {MAX_ALTERNATIVES} patterns.")
    return [*done, *here], at + bool(depth and at < len(pattern))


def _joined(head: str, tail: str) -> str:
    """Join two pieces at the edge of braces: stars that meet there, as in `*{a,}*`, are one and not a `**`."""
    star = re.search(r"(?<!\\)(?:\\\\)*\*\Z", head) if tail.startswith("*") else None
    return head + tail.lstrip("*") if star else head + tail


def _size(pattern: str, at: int, brackets: bool) -> int:
    """Return the length of what stands there: a set of characters, an escaped character, or one character."""
    if pattern[at] == "\\":
        return min(2, len(pattern) - at)
    found = _SET.match(pattern, at) if brackets and pattern[at] == "[" else None
    return found.end() - at if found else 1


# --- one pattern ---------------------------------------------------------------------------------


def _tokens(pattern: str, brackets: bool) -> Iterator[str]:
    """Yield the regex of each part of a pattern without braces."""
    at = 0
    while at < len(pattern):
        is_first = at == 0 or pattern[at - 1] == "/"
        if is_first and pattern.startswith("**/", at):
            yield _DEEP
            at += 3
        elif is_first and pattern[at:] == "**":
            yield _REST
            at += 2
        elif pattern[at] == "*":
            yield _STAR
            at += len(pattern) - at - len(pattern[at:].lstrip("*"))
        else:
            size = _size(pattern, at, brackets)
            yield _one(pattern[at : at + size])
            at += size


def _one(part: str) -> str:
    """Return the regex of one character."""
    if part == "?":
        return r"[^/]"
    if len(part) > 2:
        return _set(part)
    return re.escape(part[1:] or part if part.startswith("\\") else part)


def _set(part: str) -> str:
    found = _SET.fullmatch(part)
    assert found is not None
    items: list[str] = []
    for first, last, one in re.findall(r"(.)-(.)|(.)", found[2], re.DOTALL):
        if first > last:
            raise GlobError(
                "INVALID_PATTERN", f"The range {first}-{last} in brackets can't be read; write it upwards, as in [a-z]."
            )
        items.append(re.escape(one) if one else f"{re.escape(first)}-{re.escape(last)}")
    return f"(?!/)[{'^' if found[1] else ''}{''.join(items)}]"


def _deep(tokens: Sequence[str]) -> str:
    """Return the regex of a pattern: what is between two `**` is whole folders, and found at the first place."""
    head, *parts = _split(tokens, _DEEP)
    source = _level(head)
    for part in parts[:-1]:
        source += f"(?>(?:[^/]+/)*?{_level(part)})" if part else ""
    return source + "".join(_DEEP + _level(part) for part in parts[-1:])


def _level(tokens: Sequence[str]) -> str:
    """Return the regex of what has no `**/` in it; what is between two stars of a name is found at the first place."""
    return _SLASH.join(_name(part) for part in _split(tokens, _SLASH))


def _name(tokens: Sequence[str]) -> str:
    head, *parts = _split(tokens, _STAR)
    source = "".join(head) + "".join(f"(?>[^/]*?{''.join(part)})" for part in parts[:-1])
    return source + "".join(_STAR + "".join(part) for part in parts[-1:])


def _split(tokens: Sequence[str], by: str) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for token in tokens:
        if token == by:
            found.append([])
        else:
            found[-1].append(token)
    return found


# --- rules of a policy ---------------------------------------------------------------------------


Covers = Callable[[str], bool]


def matches(pattern: str, path: str) -> bool:
    """Return whether a rule of a policy covers a path, in any letter case and however its accents are coded.

    As in .gitignore: a pattern without a slash fits at any depth, and one that fits a folder covers all below it.
    """
    regex = compiled(_at_any_depth(_composed(pattern)), ignore_case=True)
    parts = _composed(path).split("/")
    return any(regex.match("/".join(parts[:count])) for count in range(1, len(parts) + 1))


def _at_any_depth(pattern: str) -> str:
    wanted = pattern.strip("/")
    return wanted if "/" in wanted else f"**/{wanted}"


@functools.lru_cache(maxsize=64)
def covering(patterns: tuple[str, ...]) -> Covers:
    """Return a quick test of many paths: whether one of the rules covers it, as `matches` says."""
    wanted = (_at_any_depth(_composed(pattern)).removeprefix("./") for pattern in patterns)
    rules = "|".join(_translate(pattern, brackets=True) for pattern in wanted)
    regex = re.compile(rf"(?:{rules})(?:/.*)?\Z", re.DOTALL | re.IGNORECASE)
    return lambda path: regex.match(_composed(path)) is not None


def _composed(text: str) -> str:
    """Return the text with each accent and its letter as one character, where there is such a one."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def is_below(path: str, folder: str) -> bool:
    """Return whether the path is the folder, or in it."""
    return path == folder or path.startswith(folder + "/")
