"""What an agent may do in its workspace: the defaults, the ordered rules of task and repository, and who it is."""

import os
import posixpath
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from django.conf import settings

from agents import blocklist, command_rules
from agents.command_rules import ALLOWS, STAYS
from agents.models import Agent
from agents.policies import Applied
from agents.protected import DEFAULTS, GIT, INSTALLATION, TASK, Baseline, Protection, by_itself, never, rule_of
from agents.rules import Decision, Layer
from agents.tools.base import REGISTRY, Effect, ToolError
from workspaces import globs, names, targets, withheld
from workspaces.paths import is_git
from workspaces.shell import is_read_only

HIDES = "hides it from agents; go on without it"
_CHANGES = (Effect.WRITE, Effect.EXECUTE)
"""By what means a path may be written: by a file tool, or by a command."""


@dataclass(frozen=True)
class TaskRules:
    """The rules of one agent on one task (the `Rules` of agents.tools.base). Paths are relative and posix.

    What is asked first decides: what never changes, the task's rules and lists, the repository's, the defaults.
    `tool`, `effect`: of the call that asks, "" where none does. `broken`: why rules can't be read; then nothing goes.
    """

    agent: str
    layers: tuple[Layer, ...] = ()
    unprotected: tuple[str, ...] = ()
    secrets_allowed: tuple[str, ...] = ()
    installation: tuple[str, ...] = ()
    baseline: Baseline | None = None
    """What the base holds; None where nobody knows."""
    broken: str = ""
    tool: str = ""
    effect: str = ""

    def of_call(self, tool: str, effect: str) -> "TaskRules":
        return replace(self, tool=tool, effect=str(effect))

    # --- tools ---

    def may_use(self, tool: str) -> None:
        """Raise DENIED, naming the rule, where one denies the tool whatever its input."""
        if found := self._denied_tool(tool):
            raise ToolError("DENIED", f"{tool}: rule `{found.rule}` {found.why}", _told(found))

    def _denied_tool(self, tool: str) -> Protection | None:
        why = "denies it whatever its input; go on without it."
        if rule := blocklist.denied_tools(self.installation).get(tool):
            return Protection(rule, INSTALLATION, why)
        is_open = True
        for layer in self.layers:
            first = layer.first_of(tool, _effects(tool)) if is_open else None
            if first is not None and first.is_broad:
                return None if first.allow else Protection(first.text, layer.source, why)
            is_open = is_open and first is None  # some input is allowed, so the rest is asked of each call
            if rule := blocklist.denied_tools(layer.blocked).get(tool):
                return Protection(rule, layer.source, why)
        return None

    # --- paths ---

    @cached_property
    def hidden(self) -> tuple[str, ...]:
        """The globs of paths that nobody but people may see; lists, searches and commands leave them out."""
        found = [glob for layer in self.layers for glob in layer.hidden]
        rules = (rule for layer in self.layers for rule in layer.rules if rule.path and not rule.allow)
        found += [rule.path for rule in rules if not rule.tool and rule.effect in ("", Effect.READ)]
        return tuple(dict.fromkeys(found))

    def hides(self, path: str) -> bool:
        return isinstance(self._reading(names.shown(path)), Protection)

    def may_hold_secrets(self, path: str) -> bool:
        return rule_of(names.shown(path), self.secrets_allowed) is not None

    def may_write(self, path: str) -> None:
        """Raise DENIED for a reviewer, PROTECTED_PATH for a protected path, naming the rule."""
        shown = names.shown(path)
        if self.agent == Agent.REVIEWER:
            why = "a reviewer changes nothing; say in the review what should change."
            raise ToolError("DENIED", f"{shown}: {why}", _told(Protection("reviewer", DEFAULTS, why)))
        found = self._writing(shown, self.tool, (Effect.WRITE,))
        if isinstance(found, Protection):
            raise _protected(shown, found)

    def may_read(self, path: str) -> None:
        """Raise PROTECTED_PATH for git's own files, DENIED for what the policy hides, naming the rule."""
        shown = names.shown(path)
        if is_git(shown):
            raise _protected(shown, GIT)
        found = self._reading(shown)
        if isinstance(found, Protection):
            raise ToolError("DENIED", f"{shown}: rule `{found.rule}` {HIDES}.", _told(found))

    def protection(self, path: str) -> Protection | None:
        """Return what protects a path from an agent's writing, by file tools and commands; None: nothing does.

        What takes the place of a folder is protected where something below that folder was.
        """
        shown = names.shown(path)
        found = self._writing(shown, "", _CHANGES)
        if isinstance(found, Protection) or self.baseline is None:
            return found if isinstance(found, Protection) else None
        below = ((each, self._writing(each, "", _CHANGES)) for each in self.baseline.below(shown))
        kept = next(((each, why) for each, why in below if isinstance(why, Protection)), None)
        return replace(kept[1], why=f"{kept[0]} lies below it at the base: {kept[1].why}") if kept else None

    def _writing(self, path: str, tool: str, effects: Collection[str]) -> Protection | Decision:
        """Return what keeps a path from being written, else by what it is allowed."""
        if found := never(path):
            return found
        if self.broken:
            return Protection(self.broken, TASK, "it can't be read, so nothing is written until a person mends it")
        allowed: Decision | None = None
        for layer in self.layers:
            rule = layer.first_for(tool, effects, path) if allowed is None else None
            if rule is not None and not rule.allow:
                return Protection(rule.text, layer.source, f"the {layer.source}'s rules deny it")
            if rule is not None:
                allowed = Decision(True, rule.text, layer.source, ALLOWS)
                if rule.path:
                    return allowed
            if glob := rule_of(f"{path}/.", layer.protected):  # what stands in place of a folder, too
                return Protection(glob, layer.source, f"the {layer.source} protects it")
        return self._usual(path) or allowed or Decision(True, "", DEFAULTS, STAYS)

    def _usual(self, path: str) -> Protection | None:
        if rule_of(path, self.unprotected):
            return None
        return by_itself(path) or (self.baseline.test(path) if self.baseline is not None else None)

    def _reading(self, path: str) -> Protection | Decision:
        """Return what hides a path, else by what it may be read."""
        allowed: Decision | None = None
        for layer in self.layers:
            rule = layer.first_for(self.tool, (Effect.READ,), path) if allowed is None else None
            if rule is not None and not rule.allow:
                return Protection(rule.text, layer.source, HIDES)
            if rule is not None:
                allowed = Decision(True, rule.text, layer.source, ALLOWS)
                if rule.path:
                    return allowed
            if glob := rule_of(path, layer.hidden):
                return Protection(glob, layer.source, HIDES)
        return allowed or Decision(True, "", DEFAULTS, STAYS)

    # --- commands ---

    def may_run(self, command: str) -> None:
        """Raise BLOCKED_COMMAND, naming the rule, where a command in it is denied; the sandbox is the wall."""
        found = self._running(command)
        if not found.allowed:
            raise ToolError("BLOCKED_COMMAND", f"rule `{found.rule}`: {found.why}", _told(found))

    def _running(self, command: str) -> Decision:
        effects = {Effect.EXECUTE, *({Effect.READ} if self._only_reads(command) else ())}
        try:
            if self.broken:
                raise blocklist.BadRule(self.broken)
            return command_rules.decide(command, self.layers, self.installation, blocklist.RUN, effects)
        except blocklist.BadRule as error:
            why = f"a rule of this task can't be read, so nothing runs until a person mends it: {error}"
            return Decision(False, str(error)[:200], TASK, why)

    def _only_reads(self, command: str) -> bool:
        return self.effect == Effect.READ if self.tool == blocklist.RUN else is_read_only(command)

    # --- whole calls ---

    def decision(self, tool: str, effect: str, *, paths: Sequence[str] = (), command: str = "") -> Decision:
        """Return what is decided of a call by what it names, and by which rule; it raises nothing."""
        if denied := self._denied_tool(tool):
            return _refused(denied)
        bound = self.of_call(tool, effect)
        found = [bound._running(command)] if command else []
        for path in map(names.shown, paths):
            found += [bound._way(path)]
        if not found:
            found = [self._by_broad_rule(tool, {effect, *_declared(tool)})]
        denying = next((each for each in found if not each.allowed), None)
        return denying or next((each for each in found if each.rule), found[0])

    def _way(self, path: str) -> Decision:
        """Return what is decided of a path, by the call that is bound."""
        read = _as_decision(self._reading(path))
        if self.effect != Effect.WRITE or not read.allowed:
            return read
        return _as_decision(self._writing(path, self.tool, (Effect.WRITE,)))

    def _by_broad_rule(self, tool: str, effects: Collection[str]) -> Decision:
        """Return what is decided of a call that names neither path nor command."""
        for layer in self.layers:
            for rule in layer.rules:
                if rule.is_broad and rule.may_fit(tool, effects):
                    why = ALLOWS if rule.allow else "denies it; go on without it."
                    return Decision(rule.allow, rule.text, layer.source, why)
        return Decision(True, "", DEFAULTS, STAYS)


def _effects(tool: str) -> set[str]:
    """Return the effects that calls of a tool may have."""
    known = REGISTRY.get(tool)
    return {*_declared(tool), *({Effect.READ} if known is not None and known.effect_of else ())}


def _declared(tool: str) -> set[str]:
    known = REGISTRY.get(tool)
    return {known.effect} if known is not None else set()


def _told(found: Protection | Decision) -> dict[str, str]:
    return {"rule": found.rule, "source": found.source}


def _protected(path: str, found: Protection) -> ToolError:
    return ToolError("PROTECTED_PATH", f"{path}: rule `{found.rule}`: {found.why}. {found.instead}", _told(found))


def _refused(found: Protection) -> Decision:
    return Decision(False, found.rule, found.source, found.why)


def _as_decision(found: Protection | Decision) -> Decision:
    return _refused(found) if isinstance(found, Protection) else found


def rules_for(applied: Applied, agent: str, baseline: Collection[str] | None) -> TaskRules:
    """Return the rules of an agent. `baseline`: the paths of the base's tree, as shown; None: no test is told apart."""
    policy, broken = applied.policy, ""
    try:
        layers: tuple[Layer, ...] = applied.layers()
    except blocklist.BadRule as error:
        layers, broken = (), str(error)
    return TaskRules(
        agent=str(agent),
        layers=layers,
        unprotected=tuple(policy.unprotected),
        secrets_allowed=tuple(policy.secrets_allowed),
        installation=tuple(settings.SAKURA_COMMAND_BLOCKLIST),
        baseline=_base(applied, baseline) if baseline is not None else None,
        broken=broken,
    )


def hidden_globs(applied: Applied) -> tuple[str, ...]:
    """Return the globs of what a policy, with its rules, hides from every agent."""
    return rules_for(applied, Agent.IMPLEMENTER, None).hidden


def withholding(applied: Applied) -> withheld.Hides | None:
    """Return what tells which paths of the base no agent gets to see; None where nothing can be hidden.

    A name that is not UTF-8 is hidden as it is shown, or as it is.
    """
    rules = rules_for(applied, Agent.IMPLEMENTER, None)
    if not rules.hidden:
        return None
    fits = globs.covering(rules.hidden)

    def hides(path: bytes) -> bool:
        shown, plain = names.shown(path), os.fsdecode(path)
        return rules.hides(shown) or (shown != plain and fits(plain))

    return hides


def _base(applied: Applied, paths: Collection[str]) -> Baseline:
    return Baseline(paths, applied.tests, keeps_tests=not applied.policy.may_change_tests)


# --- trying ----------------------------------------------------------------------------------------


def trial(
    applied: Applied, baseline: Collection[str], text: str, kind: Literal["read", "write", "command", "host"]
) -> Decision:
    """Return what an implementer would get for a path, a command or a host:port, without doing anything."""
    rules = rules_for(applied, Agent.IMPLEMENTER, baseline)
    match kind:
        case "command":
            return rules._running(text)
        case "host":
            return _host(applied, text)
        case "read" | "write":
            return _path(rules, text, kind)


def _path(rules: TaskRules, text: str, kind: str) -> Decision:
    path = posixpath.normpath(text.strip().removeprefix("/workspace/").lstrip("/") or ".")
    if path == ".." or path.startswith("../"):
        return Decision(False, "..", DEFAULTS, "it lies outside of the workspace")
    if kind == "write":
        hidden = rules._reading(path)
        return _as_decision(hidden if isinstance(hidden, Protection) else rules._writing(path, "", (Effect.WRITE,)))
    if is_git(path):
        return _refused(GIT)
    return _as_decision(rules._reading(path))


def _host(applied: Applied, text: str) -> Decision:
    try:
        host = targets.public(text.strip())
    except targets.BadTarget as error:
        return Decision(False, "", DEFAULTS, str(error))
    for line, source, rule in applied.network_rules():
        if rule.fits_host(host):
            return Decision(rule.allow, line, source, ALLOWS if rule.allow else "the rules deny it")
    if host in applied.policy.network:
        return Decision(True, host, TASK, "the task opens it")
    return Decision(False, "", DEFAULTS, "commands have no network but what a task opens")
