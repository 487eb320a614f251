"""Which git commands only read."""

import re
from collections.abc import Callable, Mapping

from workspaces.shell.script import Command
from workspaces.shell.words import UNKNOWN

_HARMLESS_BEFORE = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--version"})
_ACTS = ("--output", "--ext-diff", "--open-files-in-pager")
_READS = frozenset(
    {
        *(
            "status",
            "log",
            "diff",
            "show",
            "rev-parse",
            "ls-files",
            "ls-tree",
            "blame",
            "annotate",
            "cat-file",
            "describe",
        ),
        *("shortlog", "rev-list", "merge-base", "name-rev", "for-each-ref", "show-ref", "count-objects", "diff-tree"),
        *("diff-index", "diff-files", "whatchanged", "cherry", "range-diff", "check-ignore", "check-attr", "version"),
        *("show-branch", "verify-commit", "verify-tag"),
    }
)
_LISTING = re.compile(
    r"-[arvli]+|--(?:list|all|remotes|verbose|show-current|ignore-case|column|no-column|no-color|color|abbrev|no-abbrev"
    r"|contains|no-contains|merged|no-merged|points-at|sort|format)(?:=.*)?|-n\d*",
    re.DOTALL,
)
_ASKING = re.compile(r"-l|--list|-[arv]*l[arv]*|--(?:no-)?(?:contains|merged)|--points-at|--sort|--format")
"""Options with which a name is a pattern or a commit, not a new branch or tag."""


def git_only_reads(command: Command) -> bool:
    words = [word.text for word in command.arguments]
    if any(word.splits or word.text.startswith(UNKNOWN) for word in command.arguments):
        return False
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "-C" and at + 1 < len(words):
            at += 2
        elif words[at] in _HARMLESS_BEFORE:
            at += 1
        else:
            return False
    if at == len(words):
        return "--version" in words
    return _subcommand_reads(words[at], words[at + 1 :])


def _subcommand_reads(name: str, rest: list[str]) -> bool:
    if any(_acts(word.partition("=")[0]) for word in rest):
        return False
    if name in _READS:
        return True
    check = _CHECKS.get(name)
    return check is not None and check(rest)


def _acts(option: str) -> bool:
    """Return whether an option, maybe cut short, writes a file or runs a program."""
    return option.startswith(_ACTS) or (len(option) > 3 and any(act.startswith(option) for act in _ACTS))


def _lists(rest: list[str]) -> bool:
    """Return whether `git branch` or `git tag` of these arguments only lists."""
    options = [word for word in rest if word.startswith("-")]
    if not all(_LISTING.fullmatch(option) for option in options):
        return False
    return len(options) == len(rest) or any(_ASKING.fullmatch(option.partition("=")[0]) for option in options)


def _greps(rest: list[str]) -> bool:
    return not any(re.match(r"-[A-Za-z]*O", word) for word in rest)


def _config(rest: list[str]) -> bool:
    options = [word for word in rest if word.startswith("-")]
    operands = [word for word in rest if not word.startswith("-")]
    reads = {
        "--get",
        "--get-all",
        "--get-regexp",
        "--list",
        "-l",
        "--show-origin",
        "--show-scope",
        "--local",
        "--global",
    }
    if not set(options) <= reads:
        return False
    if operands[:1] in (["get"], ["list"]):
        return True
    return len(operands) <= (2 if {"--get", "--get-all", "--get-regexp"} & set(options) else 1)


_CHECKS: Mapping[str, Callable[[list[str]], bool]] = {
    "branch": _lists,
    "tag": _lists,
    "grep": _greps,
    "config": _config,
    "remote": lambda rest: not rest or rest in (["-v"], ["--verbose"]) or rest[0] == "get-url",
    "stash": lambda rest: rest[:1] in (["list"], ["show"]),
    "worktree": lambda rest: rest[:1] == ["list"],
    "reflog": lambda rest: not rest or rest[0] not in ("expire", "delete", "drop", "write"),
    "symbolic-ref": lambda rest: len(rest) == 1 + len({*rest} & {"-q", "--quiet", "--short"}),
}
