"""What loaded skills let an agent use: names of other agents' tools mapped to ours, tools and commands narrowed."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import translate
from typing import Any

from agents import git_commands
from agents.rules import Decision
from agents.tools.base import REGISTRY, Decided, Effect, Protected, Rules, ToolError
from workspaces import shell

USE_SKILL = "use_skill"
SKILL = "skill"
"""Whose a refusal is that a loaded skill made."""
COMMAND_TOOLS = ("run_command", "command_output", "stop_command")
KNOWN = {
    "read": ("read_file",),
    "edit": ("edit_file", "replace_lines", "insert_lines"),
    "multiedit": ("edit_file", "replace_lines", "insert_lines"),
    "write": ("write_file",),
    "notebookedit": ("edit_notebook",),
    "grep": ("search_in_files",),
    "glob": ("glob",),
    "ls": ("list_directory",),
    "bash": COMMAND_TOOLS,
}
"""Names that other agents give to tools, in small letters, and ours for them."""
SHOWN_LIMIT = 20
"""Entries that a note names."""

_NOWHERE = frozenset({"/dev/null", "-"})
_PROGRAMS = frozenset({"/bin", "/usr/bin", "/usr/local/bin"})
_PLAIN = frozenset({"CI", "COLUMNS", "LANG", "LC_ALL", "NO_COLOR", "TERM", "TZ"})
"""Variables that a command may be given although a skill narrows commands; others can make it run something else."""
PASSES_ON = frozenset({"command", "env", "nice", "nohup", "stdbuf", "time", "timeout"})
"""Programs that only run another, which stands in the script by itself."""
_SPECIAL = re.compile(r"[\[?]")
_ENTRY = re.compile(r"([^()\s]+)\s*(?:\((.*)\))?", re.DOTALL)


@dataclass(frozen=True)
class Allowed:
    """What a skill's allowed-tools mean here. `tools` None: it narrows nothing; `commands` None: any command."""

    tools: tuple[str, ...] | None = None
    commands: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()


def allowed(entries: Sequence[str] | None) -> Allowed:
    """Map the entries of allowed-tools, such as `Read` or `Bash(git *)`, to our tools and patterns of commands."""
    if entries is None:
        return Allowed()
    tools: dict[str, None] = {}
    patterns: dict[str, None] = {}
    any_command, unknown, unheld = False, [], []
    for entry in entries:
        names, pattern = _mapped(entry)
        tools.update(dict.fromkeys(names))
        if not names:
            unknown.append(entry)
        elif "run_command" in names:
            any_command = any_command or not pattern
            patterns.update(dict.fromkeys([pattern] if pattern else []))
        elif pattern:
            unheld.append(entry)
    notes = _notes(bool(tools), unknown, unheld)
    if not tools:
        return Allowed(notes=notes)
    narrowed = None if any_command or not patterns else tuple(patterns)
    return Allowed(tuple(sorted(tools)), narrowed, notes)


def _mapped(entry: str) -> tuple[tuple[str, ...], str]:
    """Return our tools for an entry, none where nobody knows the name, and its pattern, "" for any."""
    match = _ENTRY.fullmatch(entry)
    if match is None:
        return (), ""
    name, pattern = match[1], _pattern((match[2] or "").strip())
    names = KNOWN.get(name.casefold()) or ((name,) if name in REGISTRY else ())
    if name == "run_command":
        names = COMMAND_TOOLS
    return tuple(each for each in names if each in REGISTRY), pattern


def _pattern(given: str) -> str:
    """Return a pattern with single spaces, "" for one that fits all."""
    pattern = " ".join(given.removesuffix(":*").split()) + (":*" if given.endswith(":*") else "")
    return "" if pattern in ("*", "**", "* *", ":*", "*:*") else pattern


def _notes(names_any: bool, unknown: list[str], unheld: list[str]) -> tuple[str, ...]:
    notes = []
    if not names_any:
        notes.append("It names no tool that Sakura knows, so it narrows nothing.")
    if unknown:
        notes.append(f"No tool here goes by {_listed(unknown)}.")
    if unheld:
        notes.append(f"Patterns hold for commands only: {_listed(unheld)} allows the tool as a whole.")
    return tuple(notes)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN_LIMIT} more" if len(names) > SHOWN_LIMIT else ""
    return ", ".join(name[:100] for name in names[:SHOWN_LIMIT]) + more


# --- narrowing -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Loaded:
    """One skill that an agent loaded in this round, and what it lets it use."""

    skill: str
    tools: tuple[str, ...] | None
    commands: tuple[str, ...] | None = None


def is_free(tool: str) -> bool:
    """Return whether no skill takes this tool away: the agent can always end its work and load a skill."""
    known = REGISTRY.get(tool)
    return tool == USE_SKILL or (known is not None and known.effect is Effect.FINISH)


def remaining(tools: Iterable[str], loaded: Iterable[Loaded]) -> tuple[str, ...]:
    """Return those of the tools that every loaded skill allows."""
    narrow = [set(each.tools) for each in loaded if each.tools is not None]
    return tuple(tool for tool in tools if is_free(tool) or all(tool in allowed for allowed in narrow))


def hold_tool(tool: str, tools: Sequence[str], loaded: Sequence[Loaded]) -> None:
    """Raise DENIED, naming the skill and what is left, where a loaded skill does not allow the tool."""
    if is_free(tool):
        return
    for each in loaded:
        if each.tools is not None and tool not in each.tools:
            left = ", ".join(remaining(tools, loaded))
            raise ToolError(
                "DENIED",
                f"{tool}: the skill {each.skill} that you loaded does not allow it until the end of this round. "
                f"What is left: {left}.",
                _skill(each),
            )


def hold_command(command: str, loaded: Sequence[Loaded]) -> None:
    """Raise DENIED where a simple command in it fits no pattern of a loaded skill."""
    for each in loaded:
        if each.commands is None:
            continue
        if odd := _unfit(command, each.commands):
            raise ToolError(
                "DENIED",
                f"{odd}: the skill {each.skill} that you loaded allows only commands like "
                f"{', '.join(each.commands)} until the end of this round.",
                _skill(each),
            )


def _skill(loaded: Loaded) -> dict[str, Any]:
    """Return what a refusal tells of the skill that it is by."""
    return {"rule": loaded.skill, "source": SKILL}


def _unfit(command: str, patterns: Sequence[str]) -> str:
    """Return the part of a command that fits none of the patterns, in words; "" where all of it does."""
    script = shell.parse(command)
    if not script.is_whole:
        return "This command can't be understood as a whole"
    return next((odd for each in script.commands if (odd := _unfit_part(each, patterns))), "")


def _unfit_part(command: shell.Command, patterns: Sequence[str]) -> str:
    text = " ".join(word.text.replace(shell.UNKNOWN, "…") for word in command.words)[:200]
    for redirect in command.redirects:
        target = redirect.target.text if redirect.target else ""
        if ">" in redirect.operator and target not in _NOWHERE and not target.isdecimal():
            return f"{text} {redirect.operator} {target.replace(shell.UNKNOWN, '…')[:100]}".strip()
    if odd := _odd_variable(command):
        return f"{odd}=… {text}".strip()
    if not command.words or (command.is_wrapper and command.name in PASSES_ON):
        return ""
    if command.name == "git" and git_commands.runs_others(command):
        return text
    return "" if any(_fits(command, pattern) for pattern in patterns) else text or "An unknown command"


def _odd_variable(command: shell.Command) -> str:
    """Return a variable set for the command that can make it run something else, "" if there is none."""
    return next((name for name in command.assignments if not (name.islower() or name in _PLAIN)), "")


def is_one_of(command: shell.Command, pattern: str) -> bool:
    """Return whether a simple command is one of the pattern, such as `docker build *`, and no disguise."""
    if not command.words or _odd_variable(command):
        return False
    return _fits(command, pattern) and not (command.name == "git" and git_commands.runs_others(command))


def _fits(command: shell.Command, pattern: str) -> bool:
    """Return whether the words fit; `*` stands for any text.

    At the end `git *` is also git alone, and `git:*` is git alone or what follows after a space or a colon.
    """
    program, *rest = (word.text for word in command.words)
    folder, _, name = program.rpartition("/")
    spellings = {program, name} if folder in _PROGRAMS else {program}
    bare = pattern.removesuffix(":*").removesuffix(" *")
    ends = {pattern, bare, f"{bare} *"} if pattern.endswith(":*") else {pattern, bare}
    wanted = [re.compile(translate(_SPECIAL.sub(r"[\g<0>]", end))) for end in ends]
    texts = [" ".join([spelling, *rest]) for spelling in spellings if shell.UNKNOWN not in spelling]
    return any(each.match(text) for each in wanted for text in texts)


class NarrowedRules:
    """The rules of a policy and, above them, what the loaded skills leave (the `Rules` of agents.tools.base)."""

    def __init__(self, rules: Rules, tools: Sequence[str], loaded: Sequence[Loaded]) -> None:
        self._rules = rules
        self._tools = tools
        self._loaded = loaded
        """Grows as skills are loaded."""

    @property
    def hidden(self) -> tuple[str, ...]:
        return self._rules.hidden

    def of_call(self, tool: str, effect: str) -> "NarrowedRules":
        return NarrowedRules(self._rules.of_call(tool, effect), self._tools, self._loaded)

    def protection(self, path: str) -> Protected | None:
        return self._rules.protection(path)

    def decision(self, tool: str, effect: str, *, paths: Sequence[str] = (), command: str = "") -> Decided:
        """Return what the policy decides of a call, and a loaded skill where the policy allows it."""
        found = self._rules.decision(tool, effect, paths=paths, command=command)
        if not found.allowed:
            return found
        try:
            hold_tool(tool, self._tools, self._loaded)
            if command:
                hold_command(command, self._loaded)
        except ToolError as error:
            return Decision(False, error.data["rule"], error.data["source"], error.message)
        return found

    def hides(self, path: str) -> bool:
        return self._rules.hides(path)

    def may_use(self, tool: str) -> None:
        """Raise DENIED where the policy denies the tool, or a loaded skill does not allow it."""
        self._rules.may_use(tool)
        hold_tool(tool, self._tools, self._loaded)

    def may_hold_secrets(self, path: str) -> bool:
        return self._rules.may_hold_secrets(path)

    def may_write(self, path: str) -> None:
        self._rules.may_write(path)

    def may_read(self, path: str) -> None:
        self._rules.may_read(path)

    def may_run(self, command: str) -> None:
        """Raise BLOCKED_COMMAND by the policy, DENIED by a loaded skill."""
        self._rules.may_run(command)
        hold_command(command, self._loaded)
