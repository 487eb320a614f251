"""Which commands are refused: rules that people write, held against a parsed command, and the default ones.

A courtesy that explains, so that an agent does not lose time; the sandbox is the wall.
"""

import functools
import re
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from django.conf import settings
from django.core import checks
from django.utils.module_loading import import_string

from agents import dangers
from workspaces.shell import Command, Word, parse

RUN = "run_command"
RULE_LENGTH = 400
_CALL = re.compile(r"([A-Za-z_]\w*)\((.*)\)\Z", re.DOTALL)
_OPERATORS = re.compile(r"[|;&<>`\n]|\$\(")
_TAKES_VALUE = {
    "git": frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"})
}
"""Options whose next word is their value, for programs of which we know; else it may be either."""


class BadRule(ValueError):
    """A rule that can't be read, in a sentence."""


@dataclass(frozen=True)
class Rule:
    """A rule as it was written. `tool`: it denies this tool whatever its input; else `words` fit a command."""

    text: str
    tool: str = ""
    words: tuple[str, ...] = ()

    def hits(self, command: Command) -> bool:
        """Return whether the command fits; its further words, and options in between, do not count."""
        words = command.words
        return bool(words and self.words) and fnmatchcase(command.name, self.words[0]) and self._rest_fits(words)

    def _rest_fits(self, words: Sequence[Word]) -> bool:
        texts = tuple(word.guess for word in words[1:401])
        return _fits(self.words[1:], texts, _TAKES_VALUE.get(words[0].guess.rpartition("/")[2]))


@dataclass(frozen=True)
class Hit:
    """A rule that a command fits, and what to do instead."""

    rule: str
    instead: str


# --- reading rules -------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1024)
def read_rule(text: str) -> Rule:
    """Read a rule: `git push *`, `run_command(git push *)`, or the name of a tool. Raises BadRule, in a sentence."""
    rule = text.strip()
    call = _CALL.match(rule)
    if not rule:
        raise BadRule("A rule is empty; write a command, as in `run_command(git push *)`, or the name of a tool.")
    if len(rule) > RULE_LENGTH:
        raise BadRule(f"`{rule[:100]}…`: it has {len(rule)} characters; at most {RULE_LENGTH} are taken.")
    if call:
        return _read_call(rule, call[1], call[2].strip())
    if _is_unbalanced(rule):
        raise BadRule(f"`{rule[:100]}`: the parentheses do not match; write it as in `run_command(git push *)`.")
    if rule in tool_names():
        return Rule(rule, tool=rule)
    return Rule(rule, words=_read_words(rule, rule))


def _read_call(rule: str, tool: str, pattern: str) -> Rule:
    if tool not in tool_names():
        raise BadRule(
            f"`{rule[:100]}`: there is no tool `{tool[:50]}`. The tools are: {', '.join(sorted(tool_names()))}."
        )
    if pattern == "*":
        return Rule(rule, tool=tool)
    if not pattern:
        raise BadRule(f"`{rule[:100]}`: say what in the parentheses, or `{tool}(*)` for the whole tool.")
    if tool != RUN:
        raise BadRule(f"`{rule[:100]}`: only {RUN} takes a pattern; `{tool}` alone denies the tool.")
    return Rule(rule, words=_read_words(rule, pattern))


def _read_words(rule: str, pattern: str) -> tuple[str, ...]:
    if _OPERATORS.search(pattern):
        raise BadRule(
            f"`{rule[:100]}`: a rule names one command; leave out `|`, `;`, `&`, `<`, `>` and what joins others."
        )
    try:
        words = shlex.split(pattern.removesuffix(":*"))
    except ValueError as error:
        raise BadRule(f"`{rule[:100]}`: a quotation mark is not closed.") from error
    if not words or not words[0]:
        raise BadRule(f"`{rule[:100]}`: it names no command.")
    return tuple(words[:-1] if len(words) > 1 and words[-1] == "*" else words)


def _is_unbalanced(text: str) -> bool:
    depth = 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            return True
    return depth > 0


@functools.cache
def tool_names() -> frozenset[str]:
    """Return the names of all tools. The models, which check rules, stand below the tools: hence no plain import."""
    return frozenset(import_string("agents.tools.base.REGISTRY"))


@checks.register
def check_setting(app_configs: object, **_: Any) -> list[checks.CheckMessage]:
    """Say before the start which rule of the installation can't be read."""
    found: list[checks.CheckMessage] = []
    for text in settings.SAKURA_COMMAND_BLOCKLIST:
        try:
            read_rule(text)
        except BadRule as error:
            found.append(checks.Error(str(error), hint="Mend AGENT_TEAM_TEST_COMMAND_BLOCKLIST.", id="agents.E001"))
    return found


# --- holding rules against commands --------------------------------------------------------------


def denied_tools(rules: Iterable[str]) -> dict[str, str]:
    """Return the tools that rules deny whatever their input, each with the rule; unreadable rules deny none."""
    found: dict[str, str] = {}
    for text in rules:
        with suppress(BadRule):
            rule = read_rule(text)
            if rule.tool:
                found.setdefault(rule.tool, rule.text)
    return found


def hit(command: str, rules: Iterable[str]) -> Hit | None:
    """Return the first rule that a command fits, the written ones before the default ones; None if it may run."""
    script = parse(command)
    for rule in map(read_rule, rules):
        if not rule.tool and any(rule.hits(each) for each in script.commands):
            return Hit(
                rule.text, "this task or this installation forbids it. Go on without it, and say so in your summary."
            )
    for danger in dangers.ALL:
        if danger.hits(script):
            return Hit(danger.rule, danger.instead)
    return None


def _fits(pattern: tuple[str, ...], words: tuple[str, ...], values: frozenset[str] | None) -> bool:
    """Return whether the words begin with those of the pattern. `*` stands for any number of words.

    Options that the pattern does not ask for are skipped; `values` are those that take the next word, None: unknown,
    so it is tried both ways. Options that the pattern asks for may stand anywhere.
    """
    options = [part for part in pattern if part.startswith("-")]
    if any(not any(_option_fits(option, word) for word in words) for option in options):
        return False
    return _operands_fit([part for part in pattern if not part.startswith("-")], words, values)


def _option_fits(wanted: str, word: str) -> bool:
    if fnmatchcase(word, wanted) or (wanted.startswith("--") and word.startswith(f"{wanted}=")):
        return True
    letters = re.fullmatch(r"-([A-Za-z])", wanted)
    return bool(letters and re.fullmatch(r"-[A-Za-z]+", word) and letters[1] in word)


def _operands_fit(pattern: Sequence[str], words: tuple[str, ...], values: frozenset[str] | None) -> bool:
    """Follow all ways at once: `at` are the words from which the rest of the pattern may begin."""
    at = {0}
    for part in pattern:
        if part == "*":
            at = set(range(min(at), len(words) + 1)) if at else set()
            continue
        starts = _past_options(at, words, values)
        at = {start + 1 for start in starts if start < len(words) and fnmatchcase(words[start], part)}
    return bool(at)


def _past_options(at: set[int], words: tuple[str, ...], values: frozenset[str] | None) -> set[int]:
    found: set[int] = set()
    waiting = list(at)
    while waiting:
        start = waiting.pop()
        if start in found or start > len(words):
            continue
        found.add(start)
        if start < len(words) and words[start].startswith("-"):
            takes = words[start] in values if values is not None else "=" not in words[start]
            waiting += [start + 2] if takes and values is not None else [start + 1, start + 2] if takes else [start + 1]
    return found
