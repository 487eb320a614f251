"""Reserved words, where bash and the grammar differ: what only begins like one, and what may stand before one."""

import re
from collections.abc import Iterator

Edit = tuple[int, int, str]
"""From where to where what is written instead."""

_ENDS = r"[ \t\n;&|()<>]"
_STARTS = r"(?<![^ \t\n;&|()<>`])"
_GLUE = r"(?:[^ \t\n;&|()<>\\]|\\(?!\n)|[<>]\()"
_LETTERS = (
    "if then elif else fi while until do done for select case in esac function time coproc"
    " declare typeset export readonly local unset unsetenv"
).replace(" ", "|")
_NAME = r"[A-Za-z_]\w*"
_LOOP = rf"(?:(?:while|until|for|select|case)(?={_ENDS})|\(\()"
_COMPOUND = rf"(?:(?:if|while|until|for|select|case|\[\[|\{{)(?={_ENDS})|\()"
_BEGINS = rf"(?:\A|(?<!\\)[;&|){{`\n]|(?<![=\\])\(|{_STARTS}(?:if|then|elif|else|while|until|do)(?=[ \t]))[ \t]*"
"""Up to where a command begins; after `=(` only elements do."""
_FUNCTION = r"[^ \t\n;&|()<>$'\"`\\{}=]+[ \t]*\("
_PREFIX = rf"(?:!|time(?:[ \t]+-p)?(?:[ \t]+--)?|coproc(?:[ \t]+(?!{_COMPOUND}){_NAME}(?=[ \t]+{_COMPOUND}))?)[ \t]+"
_FOLLOWS = rf"(?:[#\n<>&]|\d+[<>]|(?:!|time|coproc|function)[ \t]|{_COMPOUND}|{_NAME}(?:\[[^\]\s]*\])?\+?=|{_FUNCTION})"

_COMMANDS = (
    rf"{_BEGINS}(?:(?P<prefixes>(?:{_PREFIX})+)(?={_FOLLOWS})|(?:{_PREFIX})*(?P<bracket>\[\[?)(?!\[)(?={_GLUE}))"
)
_AT_COMMANDS = re.compile(_COMMANDS)
_AT_END = re.compile(rf"{_STARTS}(?:{_LETTERS}|!|\[\[?)\Z")
_LONGEST = 10
_GOES_ON = re.compile(_GLUE)
_HEAD = rf"(?:for|select)[ \t]+{_NAME}(?![^ \t\n;])"
_HEADS = re.compile(rf"{_BEGINS}(?:{_PREFIX})*(?:(?P<head>{_HEAD})|(?=do{_ENDS}))")
_GROUP = r"(?:;|(?<!\\)\n)[ \t]*\{[ \t\n]"
LOOP_FUNCTION = re.compile(rf"(?<!=)\([ \t]*\)(?=[ \t\n]*{_LOOP})")
"""The parentheses of a function whose body is a loop, which the grammar does not know."""

_IN_COMMANDS = ("[", "!", "time", "coproc")
_NEEDED = re.compile(
    rf"{_STARTS}[{{}}](?={_GLUE})|{_STARTS}(?:{_LETTERS}|!|\[\[?)(?=[\"'$\\`{{}}#]|[<>]\()"
    rf"|{LOOP_FUNCTION.pattern}|{_GROUP}"
)


def are_odd(source: str) -> bool:
    """Return whether something in a source may have to be written otherwise."""
    if _NEEDED.search(source):
        return True
    return any(part in source for part in _IN_COMMANDS) and _AT_COMMANDS.search(source) is not None


def goes_on(source: str, at: int) -> bool:
    """Return whether a word that ends before `at` goes on there; a continued line is no part of it."""
    return _GOES_ON.match(source, at) is not None


def edits(source: str, start: int, end: int, after: int) -> Iterator[Edit]:
    """Yield what to write otherwise in a run of plain characters; `after`: where to look for what precedes it.

    `! if …`, `time X=1 …`, `coproc X { …`: the grammar takes the second for a program. Leaving out the first changes
    nothing of what runs. `""` before a word, as in `""do"cker"`, has the grammar read it as one.
    """
    if not any(source.find(part, start, end) >= 0 for part in _IN_COMMANDS):
        return
    for found in _AT_COMMANDS.finditer(source, after, end + 2):
        kind = "prefixes" if found["prefixes"] else "bracket"
        at, to = found.span(kind)
        if start <= at < end:
            yield (at, to, " ") if kind == "prefixes" else (at, at, '""')


def begins_longer(source: str, start: int, end: int) -> int | None:
    """Return where a reserved word begins that ends at `end`, None if none does."""
    found = _AT_END.search(source, max(start, end - _LONGEST), end)
    return found.start() if found else None


def opens_loop(source: str, start: int, end: int, after: int) -> bool | None:
    """Return whether the last `for` or `do` in a run of plain characters is a `for`; None if there is neither."""
    if all(source.find(part, start, end) < 0 for part in ("for", "select", "do")):
        return None
    found = [each for each in _HEADS.finditer(source, after, end + 1) if each.end() > start]
    return bool(found[-1]["head"]) if found else None


def ends_head(source: str, at: int) -> bool:
    """Return whether what ends before `at` is all of `for x in …;`, so that a `{` there begins its body."""
    while at and source[at - 1] in " \t":
        at -= 1
    return source.endswith((";", "\n"), 0, at) and not source.endswith("\\\n", 0, at)
