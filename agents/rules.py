"""Ordered rules, `allow` or `deny`, on what a call is and touches; the first that fits decides."""

import shlex
from dataclasses import dataclass

from agents.blocklist import RULE_LENGTH, BadRule, read_rule
from workspaces import globs, targets

KEYS = ("effect", "tool", "path", "host", "command")
EFFECTS = ("READ", "WRITE", "EXECUTE", "NETWORK", "FINISH")
_HOW = "write it as in `deny effect:WRITE path:docs/legal/**` or `allow command:docker build *`"


@dataclass(frozen=True)
class Rule:
    """One rule: all that it names must fit. `command` is the rest of the line; a path is a glob as in .gitignore."""

    allow: bool
    text: str
    effect: str = ""
    tool: str = ""
    path: str = ""
    host: str = ""
    command: str = ""


@dataclass(frozen=True)
class Decision:
    """What was decided of a call, by which rule, and whose it is (`task`, `repository`, `defaults`)."""

    allowed: bool
    rule: str
    source: str
    why: str = ""


def read(line: str) -> Rule:
    """Return the rule that a line says. Raises BadRule, with what is wrong and how to write it."""
    text = line.strip()
    if len(text) > RULE_LENGTH:
        raise BadRule(f"A rule has {len(text)} characters; at most {RULE_LENGTH} are taken.")
    verdict, _, rest = text.partition(" ")
    if verdict not in ("allow", "deny"):
        raise BadRule(f"`{text}` begins with neither allow nor deny; {_HOW}.")
    named = _named(text, rest)
    _check(text, named)
    return Rule(allow=verdict == "allow", text=text, **named)


def _named(text: str, rest: str) -> dict[str, str]:
    """Return what a rule names; `command:` takes the rest of the line."""
    rest, found_command, command = (f" {rest}").partition(" command:")
    named: dict[str, str] = {}
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise BadRule(f"`{text}`: a quote is open ({error}).") from None
    for word in words:
        key, colon, value = word.partition(":")
        if not colon or key not in KEYS:
            raise BadRule(f"`{text}`: `{word}` is none of {', '.join(f'{key}:…' for key in KEYS)}; {_HOW}.")
        if key in named:
            raise BadRule(f"`{text}` names {key} twice; write two rules.")
        named[key] = value
    if found_command:
        named["command"] = command.strip()
    if not named or not all(named.values()):
        raise BadRule(f"`{text}` says nothing of what it is about; {_HOW}.")
    return named


def _check(text: str, named: dict[str, str]) -> None:
    if (effect := named.get("effect")) and effect not in EFFECTS:
        raise BadRule(f"`{text}`: there is no effect {effect}; there are {', '.join(EFFECTS)}.")
    if path := named.get("path"):
        try:
            globs.compiled(path.strip("/"), ignore_case=True)
        except globs.GlobError as error:
            raise BadRule(f"`{text}`: {error.message}") from None
    if host := named.get("host"):
        try:
            targets.public(host)
        except targets.BadTarget as error:
            raise BadRule(f"`{text}`: {error}") from None
    if command := named.get("command"):
        read_rule(command)
