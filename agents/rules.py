"""Ordered rules, `allow` or `deny`, on what a call is and touches; the first that fits decides."""

import shlex
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from agents.blocklist import RULE_LENGTH, RUN, BadRule, read_rule, tool_names
from workspaces import globs, targets

KEYS = ("effect", "tool", "path", "host", "command")
EFFECTS = ("READ", "WRITE", "EXECUTE", "NETWORK", "FINISH")
_HOW = "write it as in `deny effect:WRITE path:docs/legal/**` or `allow command:docker build *`"
_ENDS = frozenset({"finish_task", "submit_review"})
_NAMES_A_FILE = frozenset(
    {"read_file", "write_file", "edit_file", "replace_lines", "insert_lines", "edit_notebook", "revert_file"}
)


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

    @property
    def is_broad(self) -> bool:
        """It names neither path nor command, so it fits whatever the call is about."""
        return not (self.path or self.command)

    @property
    def is_of_network(self) -> bool:
        """It says which hosts commands may reach, and nothing of calls."""
        return bool(self.host) or self.effect == "NETWORK"

    def may_fit(self, tool: str, effects: Collection[str]) -> bool:
        """Return whether a call of this tool and one of these effects can fit, whatever path or command it names."""
        if self.is_of_network or (self.path and tool == RUN) or (self.command and tool not in ("", RUN)):
            return False
        return (not self.tool or self.tool == tool) and (not self.effect or self.effect in effects)

    def fits_path(self, path: str) -> bool:
        """Return whether it names this path, or none at all."""
        return not self.command and (not self.path or globs.matches(self.path, path))

    def fits_host(self, host: str) -> bool:
        """Return whether it says something of this host:port, as `targets.normal` has it."""
        return self.is_of_network and (not self.host or targets.normal(self.host) == host)


@dataclass(frozen=True)
class Decision:
    """What was decided of a call, by which rule, and whose it is.

    `source`: `task`, `repository` (its .sakura/policy.toml), `defaults`, `installation` (what it blocks), or `skill`.
    """

    allowed: bool
    rule: str
    source: str
    why: str = ""


@lru_cache(maxsize=1024)
def read(line: str) -> Rule:
    """Return the rule that a line says. Raises BadRule, with what is wrong and how to write it."""
    text = line.strip()
    if len(text) > RULE_LENGTH:
        raise BadRule(f"A rule has {len(text)} characters; at most {RULE_LENGTH} are taken.")
    if not text.isprintable():
        shown = "".join(character if character.isprintable() else "?" for character in text[:100])
        raise BadRule(f"`{shown}` holds a character that can't be seen, or more than one line.")
    verdict, _, rest = text.partition(" ")
    if verdict not in ("allow", "deny"):
        raise BadRule(f"`{text}` begins with neither allow nor deny; {_HOW}.")
    named = _named(text, rest)
    _check(text, named)
    return Rule(allow=verdict == "allow", text=text, **named)


def readable(line: str) -> Rule | None:
    """Return the rule that a stored line says, None for one that can't be read any more."""
    try:
        return read(line)
    except BadRule:
        return None


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
    if (tool := named.get("tool")) and tool not in tool_names():
        raise BadRule(f"`{text}`: there is no tool {tool}. The tools are: {', '.join(sorted(tool_names()))}.")
    if path := named.get("path"):
        _check_path(text, path)
    if host := named.get("host"):
        try:
            targets.public(host)
        except targets.BadTarget as error:
            raise BadRule(f"`{text}`: {error}") from None
    if (command := named.get("command")) and not read_rule(command).words:
        raise BadRule(f"`{text}`: {command} is a tool; write tool:{command}.")
    _check_together(text, named)


def _check_path(text: str, path: str) -> None:
    if not path.strip("/"):
        raise BadRule(f"`{text}`: the path is empty; write one of the repository, as in docs/**, or ** for all.")
    if ".." in path.split("/"):
        raise BadRule(f"`{text}`: paths start at the root of the repository; leave out `..`.")
    try:
        globs.compiled(path.strip("/"), ignore_case=True)
    except globs.GlobError as error:
        raise BadRule(f"`{text}`: {error.message}") from None


def _check_together(text: str, named: dict[str, str]) -> None:
    """Refuse what would never fit, or would not hold what it seems to."""
    tool, effect = named.get("tool", ""), named.get("effect", "")
    if effect == "FINISH" or tool in _ENDS:
        raise BadRule(f"`{text}`: an agent must be able to end its work; leave this out.")
    if ("host" in named and named.keys() - {"host", "effect"}) or ("host" in named and effect not in ("", "NETWORK")):
        raise BadRule(f"`{text}`: host: stands alone, since the network is opened for all commands of a task.")
    if effect == "NETWORK" and named.keys() - {"host", "effect"}:
        raise BadRule(f"`{text}`: effect:NETWORK goes with host: or alone; it is about all commands of a task.")
    if effect == "NETWORK" and text.startswith("allow") and "host" not in named:
        raise BadRule(f"`{text}`: say which host, as in `allow host:packages.example.org:443`.")
    if "command" in named and ("path" in named or effect == "WRITE" or tool not in ("", RUN)):
        raise BadRule(f"`{text}`: command: goes with tool:run_command and effect:READ or EXECUTE; write two rules.")
    if "path" in named and tool and tool not in _NAMES_A_FILE:
        raise BadRule(f"`{text}`: {tool} names no single file. Leave out tool:, as in `deny effect:READ path:…`.")


@dataclass(frozen=True)
class Layer:
    """What one side says, the task or the repository's file: its rules in order, then its lists."""

    source: str
    rules: tuple[Rule, ...] = ()
    protected: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    """Rules of the blocklist, see agents/blocklist.py."""

    def first_for(self, tool: str, effects: Collection[str], path: str) -> Rule | None:
        """Return the first rule that fits a call's way with a path."""
        fitting = [rule for rule in self.rules if rule.may_fit(tool, effects)]
        paths = tuple(rule.path for rule in fitting if rule.path)
        if paths and not globs.covering(paths)(path):  # as for nearly all; one by one, each glob looks at every folder
            fitting = [rule for rule in fitting if not rule.path]
        return next((rule for rule in fitting if rule.fits_path(path)), None)

    def first_of(self, tool: str, effects: Collection[str]) -> Rule | None:
        """Return the first rule that decides on calls of a tool as a whole, or allows some of them."""
        fitting = (rule for rule in self.rules if rule.may_fit(tool, effects))
        return next((rule for rule in fitting if rule.allow or rule.is_broad), None)
