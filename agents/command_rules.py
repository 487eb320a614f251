"""What the rules say of a command line: each simple command in it is decided by itself, wherever it stands."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from agents import dangers
from agents.blocklist import read_rule
from agents.narrowing import PASSES_ON, is_one_of
from agents.protected import DEFAULTS, INSTALLATION
from agents.rules import Decision, Layer, Rule
from workspaces.shell import Command, Script, parse

ALLOWS = "the rule allows it"
STAYS = "it stays in the sandbox"
"""Why a call is allowed that no rule is about."""
FORBIDDEN = "this task, repository or installation forbids it. Go on without it, and say so in your summary."
UNKNOWN = Command(())
"""Stands for what can't be read."""


def decide(
    command: str, layers: Sequence[Layer], installation: Iterable[str], tool: str, effects: Collection[str]
) -> Decision:
    """Return what is decided of a command line. One part that is denied denies it all.

    What the installation blocks, no rule lifts. An `allow command:` lifts a default danger only where that command
    alone makes it one. Raises BadRule for a stored rule that can't be read any more.
    """
    script = parse(command)
    if text := _blocking(installation, script.commands):
        return Decision(False, text, INSTALLATION, FORBIDDEN)
    found: list[Decision] = []
    lifted: set[int] = set()
    for index, each in _parts(script):
        decided, lifts = _of_one(each, layers, tool, effects, is_whole=script.is_whole)
        if decided is not None and not decided.allowed:
            return decided
        found += [decided] if decided is not None else []
        lifted |= {index} if lifts else set()
    if danger := _danger(script, lifted):
        return Decision(False, danger.rule, DEFAULTS, danger.instead)
    return found[0] if found else Decision(True, "", DEFAULTS, STAYS)


def _parts(script: Script) -> list[tuple[int, Command]]:
    """Return the simple commands that do something, by index; what can't be read is one too."""
    parts = [(at, each) for at, each in enumerate(script.commands) if each.words or each.assignments or each.redirects]
    return parts if parts and script.is_whole else [*parts, (-1, UNKNOWN)]


def _of_one(
    command: Command, layers: Sequence[Layer], tool: str, effects: Collection[str], *, is_whole: bool
) -> tuple[Decision | None, bool]:
    """Return what is decided of one simple command, None where nobody says a word, and whether dangers are lifted."""
    settled: Decision | None = None
    for layer in layers:
        rules = (rule for rule in layer.rules if settled is None and rule.may_fit(tool, effects))
        rule = next((rule for rule in rules if _fits(rule, command, is_whole=is_whole)), None)
        if rule is not None and not rule.allow:
            return Decision(False, rule.text, layer.source, FORBIDDEN), False
        if rule is not None:
            settled = Decision(True, rule.text, layer.source, ALLOWS)
            if rule.command:
                return settled, True
        if text := _blocking(layer.blocked, [command]):
            return Decision(False, text, layer.source, FORBIDDEN), False
    return settled, False


def _fits(rule: Rule, command: Command, *, is_whole: bool) -> bool:
    """Return whether a rule fits. One that allows must fit closely, and all around it must be understood."""
    if rule.path or not rule.command:
        return rule.is_broad
    known = read_rule(rule.command)
    if rule.allow:
        return is_whole and is_one_of(command, pattern_of(rule.command))
    is_about_all = known.words[:1] == ("*",)
    if command is UNKNOWN:
        return is_about_all
    passes_on = command.is_wrapper and command.name in PASSES_ON  # what it runs is asked for by itself
    return known.hits(command) and not (is_about_all and passes_on)


def pattern_of(text: str) -> str:
    """Return the pattern of a command as a rule has it: `docker build *`, or `run_command(docker build *)`."""
    return text.removeprefix("run_command(").removesuffix(")") if text.startswith("run_command(") else text


def _blocking(rules: Iterable[str], commands: Sequence[Command]) -> str:
    """Return the first rule of a blocklist that a command fits, "" if there is none. Raises BadRule."""
    known = (read_rule(text) for text in rules)
    return next((rule.text for rule in known if not rule.tool and any(map(rule.hits, commands))), "")


def _danger(script: Script, lifted: Collection[int]) -> dangers.Danger | None:
    """Return the first default danger that is not all of lifted commands' making."""
    if not lifted:
        return next((danger for danger in dangers.ALL if danger.hits(script)), None)
    rest = _without(script, lifted)
    only = _without(script, {at for at in range(len(script.commands)) if at not in lifted})
    hitting = (danger for danger in dangers.ALL if danger.hits(script))
    return next((danger for danger in hitting if danger.hits(rest) or not danger.hits(only)), None)


def _without(script: Script, gone: Collection[int]) -> Script:
    """Return the script with some commands left blank, so that the indexes of the others hold."""
    return replace(script, commands=tuple(UNKNOWN if at in gone else each for at, each in enumerate(script.commands)))
