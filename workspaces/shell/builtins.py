"""What the shell's own commands change in it: the folder, the arguments, variables and aliases."""

import re
from collections.abc import Callable

from workspaces.shell.printed import printed_by
from workspaces.shell.scope import VALUES_LIMIT, Scope
from workspaces.shell.script import Command
from workspaces.shell.words import UNKNOWN, Word

_NAME = re.compile(r"[A-Za-z_]\w*")
_READ_VALUES = "dinNptu"
_MAPFILE_VALUES = "dnOsuCc"
"""Options of `read` and `mapfile` that take a value; that of `read -a` is a variable."""


def apply(command: Command, scope: Scope) -> None:
    """Do to the scope what the command does to its shell."""
    if change := _CHANGES.get(command.name):
        change(command, scope)


def _cd(command: Command, scope: Scope) -> None:
    scope.go(command.arguments)


def _pushd(command: Command, scope: Scope) -> None:
    before = scope.folder
    scope.go(command.arguments)
    scope.folders = (*scope.folders, before)[-VALUES_LIMIT:]


def _popd(_: Command, scope: Scope) -> None:
    *scope_folders, scope.folder = scope.folders or (None,)
    scope.folders = tuple(scope_folders)


def _set(command: Command, scope: Scope) -> None:
    words = command.arguments
    for at, word in enumerate(words):
        if word.text == "--" or word.text[:1] not in ("-", "+"):
            scope.arguments = tuple(each.text for each in words[at + (word.text == "--") :])
            return
        if re.fullmatch(r"[-+]\w*o", word.text):
            return


def _read(command: Command, scope: Scope) -> None:
    """Each line of the input may be the one that is read, as in a loop."""
    names = _names(command.arguments, _READ_VALUES) or ["REPLY"]
    lines = (command.input or UNKNOWN).split("\n")[:VALUES_LIMIT]
    rows = [line.split(None, len(names) - 1) for line in lines if line.strip()]
    for number, name in enumerate(names):
        values = [(row[number].strip(),) for row in rows if number < len(row)]
        scope.put(name, values or [("",)], command.fed_by)


def _mapfile(command: Command, scope: Scope) -> None:
    name = (_names(command.arguments, _MAPFILE_VALUES) or ["MAPFILE"])[-1]
    scope.put(name, [tuple((command.input or UNKNOWN).split("\n"))], command.fed_by)


def _names(words: tuple[Word, ...], takes_value: str) -> list[str]:
    """Return the variables that are named; `takes_value`: letters of options whose next word is their value."""
    found: list[str] = []
    given = iter(words)
    for word in given:
        if re.fullmatch(rf"-\w*[{takes_value}]", word.text):
            next(given, None)
        elif _NAME.fullmatch(word.text):
            found.append(word.text)
    return found


def _printf(command: Command, scope: Scope) -> None:
    words = command.words
    if len(words) < 4 or words[1].text != "-v" or not _NAME.fullmatch(words[2].text):
        return
    text = printed_by({0: Command((words[0], *words[3:]))})
    scope.put(words[2].text, [(UNKNOWN if text is None else text,)], command.fed_by)


def _alias(command: Command, scope: Scope) -> None:
    for word in command.arguments:
        name, equals, value = word.text.partition("=")
        if equals and len(scope.aliases) < VALUES_LIMIT:
            scope.aliases[name] = value


_CHANGES: dict[str, Callable[[Command, Scope], None]] = {
    "cd": _cd,
    "pushd": _pushd,
    "popd": _popd,
    "set": _set,
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "printf": _printf,
    "alias": _alias,
}
