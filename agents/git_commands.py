"""What git commands do: push, change settings of a person or machine, run other programs."""

import re
from itertools import pairwise

from workspaces.sandbox.environment import HOME
from workspaces.shell import Command, Script

_GIT_VALUES = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix"}
)
_CONFIG_READS = frozenset(
    {"get", "list", "--get", "--get-all", "--get-regexp", "--get-urlmatch", "--get-color", "--list", "-l"}
)
_ELSEWHERE = re.compile(r"--glo?b?a?l?|--sys?t?e?m?")
_CONFIG_WRITES = frozenset({"set", "unset", "edit", "rename-section", "remove-section"})
_CONFIG_WRITE_OPTIONS = ("--unset", "--add", "--replace", "--edit", "-e", "--rename", "--remove")


def git_words(command: Command) -> list[str]:
    """Return the sub-command and its arguments, an alias that the command itself sets put in; [] for other programs."""
    if command.name.startswith("git-"):
        return [command.name[4:], *(word.guess for word in command.arguments)]
    if command.name != "git":
        return []
    texts = [word.guess for word in command.arguments]
    at, aliases = 0, dict[str, str]()
    while at < len(texts) and texts[at].startswith("-"):
        if texts[at] == "-c" and at + 1 < len(texts) and texts[at + 1].startswith("alias."):
            name, _, value = texts[at + 1].removeprefix("alias.").partition("=")
            aliases[name] = value.removeprefix("!").strip().removeprefix("git ")
        at += 2 if texts[at] in _GIT_VALUES else 1
    rest = texts[at:]
    return [*aliases[rest[0]].split(), *rest[1:]] if rest and rest[0] in aliases else rest


def push(script: Script) -> bool:
    """Return whether something is pushed, also by an alias that the script sets first."""
    aliases = dict[str, str]()
    for command in script.commands:
        words = git_words(command)
        aliases |= _aliases_set(words)
        if words and words[0] in aliases:
            words = [*aliases[words[0]].split(), *words[1:]]
        if _is_push(words):
            return True
    return False


def _aliases_set(words: list[str]) -> dict[str, str]:
    """Return what `git config alias.name value` makes another name for."""
    plain = [word for word in words[1:] if not word.startswith("-") and word != "set"]
    if words[:1] != ["config"] or len(plain) < 2 or not plain[0].startswith("alias."):
        return {}
    return {plain[0].removeprefix("alias."): plain[1].removeprefix("!").strip().removeprefix("git ")}


def _is_push(words: list[str]) -> bool:
    match words:
        case ["push" | "send-pack" | "http-push", *_] | ["subtree" | "lfs", "push", *_]:
            return True
        case _:
            return False


def configures(command: Command) -> bool:
    """Reading a setting of the user or the machine is fine; writing one is not."""
    words = git_words(command)
    if words[:1] != ["config"]:
        return False
    rest = [word for word in words[1:] if not _ELSEWHERE.fullmatch(word)]
    if len(rest) == len(words) - 1 and not _is_file_of_user(words):
        return False
    rest = rest if len(rest) < len(words) - 1 else _without_file(rest)
    if any(word.startswith(_CONFIG_WRITE_OPTIONS) for word in rest):
        return True
    plain = [word for word in rest if not word.startswith("-")]
    if plain[:1] and plain[0] in _CONFIG_WRITES:
        return True
    return not _CONFIG_READS & {*rest} and len(plain) > 1


def _is_file_of_user(words: list[str]) -> bool:
    """Return whether `-f` names the settings of the user or the machine."""
    files = [after for before, after in pairwise(words) if before in ("-f", "--file")]
    files += [word.removeprefix("--file=") for word in words if word.startswith("--file=")]
    return any(file.startswith((f"{HOME}/.gitconfig", f"{HOME}/.config/git", "/etc/gitconfig")) for file in files)


def _without_file(words: list[str]) -> list[str]:
    at = next((at for at, word in enumerate(words) if word in ("-f", "--file")), None)
    return words if at is None else [*words[:at], *words[at + 2 :]]


# --- what runs something else ---------------------------------------------------------------------

_RUNS_BY_SETTING = re.compile(
    r"alias\..*|pager\..*|include.*|core\.(?:pager|editor|sshcommand|hookspath|fsmonitor|askpass|gitproxy|worktree)"
    r"|sequence\.editor|init\.templatedir|protocol\..*"
    r"|.*\.(?:command|external|textconv|cmd|helper|driver|program|clean|smudge|process|path|browser|uploadpack"
    r"|receivepack|vcs)",
    re.IGNORECASE | re.DOTALL,
)
"""Settings that name a program, or a place from which git takes some."""
_RUNS_BY_OPTION = re.compile(
    r"--(?:exec-path|ext-diff|open-files-in-pager|extcmd|tool|upload-pack|receive-pack|exec|config-env|output|template"
    r"|config|gpg-program|smtp-server|sendmail-cmd|to-cmd|cc-cmd)(?:=.*)?",
    re.DOTALL,
)
_RUNS_BY_NAME = frozenset(
    {"filter-branch", "difftool", "mergetool", "web--browse", "instaweb", "send-email", "credential", "hook", "gui"}
)
_RUNS_WITH = {"grep": re.compile(r"-[A-Za-z]*O.*"), "rebase": re.compile(r"-x.*"), "clone": re.compile(r"-[uc].*")}


def runs_others(command: Command) -> bool:
    """Return whether a git command names another program to run, or a file to write its output to."""
    texts = [word.guess for word in command.arguments]
    words = git_words(command)
    name, rest = (words[0], words[1:]) if words else ("", [])
    if name in _RUNS_BY_NAME or any(text.startswith("ext::") for text in rest):
        return True
    if name == "config" and any(_RUNS_BY_SETTING.fullmatch(text) for text in rest):
        return len([text for text in rest if not text.startswith("-") and text != "get"]) > 1
    if (own := _RUNS_WITH.get(name)) and any(own.fullmatch(text) for text in rest):
        return True
    settings = [text.partition("=")[0] for before, text in pairwise(texts) if before == "-c"]
    return any(_RUNS_BY_SETTING.fullmatch(key) for key in settings) or any(
        _RUNS_BY_OPTION.fullmatch(text) and text != "--exec-path" for text in texts
    )
