"""What `${name#…}`, `${name:1}` and the like make of a known value, where the source says it plainly."""

import re
from collections.abc import Callable
from fnmatch import translate

VALUE_LIMIT = 1000
PATTERN_LIMIT = 100
"""Longest value and pattern that are looked at; what is longer is unknown."""

_NOT_PLAIN = re.compile(r"[$`'\"\\]")
_SLICE = re.compile(r":\s*(-?\d{1,6}|\(-\d{1,6}\))(?:\s*:\s*(-?\d{1,6}))?\Z")
_TRIM = re.compile(r"(##?|%%?)(.*)\Z", re.DOTALL)
_REPLACE = re.compile(r"/([/#%]?)([^/]+)(?:/(.*))?\Z", re.DOTALL)
_CASES: dict[str, Callable[[str], str]] = {
    "^^": str.upper,
    ",,": str.lower,
    "^": lambda text: text[:1].upper() + text[1:],
    ",": lambda text: text[:1].lower() + text[1:],
}


def modified(value: str, change: str) -> str | None:
    """Return the value of `${name<change>}`; None where it can't be told."""
    if len(value) > VALUE_LIMIT or len(change) > PATTERN_LIMIT or _NOT_PLAIN.search(change):
        return None
    if case := _CASES.get(change):
        return case(value)
    if cut := _SLICE.match(change):
        return _sliced(value, int(cut[1].strip("()")), cut[2])
    if trim := _TRIM.match(change):
        return _trimmed(value, trim[1], trim[2])
    if replace := _REPLACE.match(change):
        return _replaced(value, replace[1], replace[2], replace[3] or "")
    return None


def _sliced(value: str, start: int, length: str | None) -> str | None:
    if start < -len(value):
        return ""
    rest = value[start:]
    if length is None:
        return rest
    count = int(length)
    return rest[:count]


def _trimmed(value: str, operator: str, pattern: str) -> str:
    fits = re.compile(translate(pattern))
    is_head, is_longest = operator[0] == "#", len(operator) == 2
    sizes = range(len(value), -1, -1) if is_longest else range(len(value) + 1)
    for size in sizes:
        if is_head and fits.match(value[:size]):
            return value[size:]
        if not is_head and fits.match(value[len(value) - size :]):
            return value[: len(value) - size]
    return value


def _replaced(value: str, where: str, pattern: str, by: str) -> str:
    body = translate(pattern).removesuffix(r"\Z")
    expression = {"#": rf"\A{body}", "%": rf"{body}\Z"}.get(where, body)
    return re.sub(expression, lambda _: by, value, count=0 if where == "/" else 1)
