"""What a command prints, where its source says so: `echo rm`, `printf '%s\\n' x`, `cat` of a here-document."""

import functools
import re
from collections.abc import Iterator, Mapping

from workspaces.shell.script import Command
from workspaces.shell.words import UNKNOWN, ansi_c

_LIMIT = 64 * 1024
_DIRECTIVE = re.compile(r"%(?:%|[-0-9.]*([sbqdi]))")


def printed_by(commands: Mapping[int, Command]) -> str | None:
    """Return what the commands, by index, print together; None where only running them would tell."""
    consumed = {index for command in commands.values() for index in command.fed_by}
    consumed |= {index for command in commands.values() for word in command.words for index in word.fed_by}
    parts = [_of(command) for index, command in commands.items() if index not in consumed and not command.is_wrapper]
    known = [part for part in parts if part is not None]
    return "".join(known)[:_LIMIT] if len(known) == len(parts) and parts else None


def _of(command: Command) -> str | None:
    if any(redirect.operator.startswith((">", "&>")) and redirect.descriptor != "2" for redirect in command.redirects):
        return ""
    arguments = [word.text for word in command.arguments]
    if any(word.globs or word.splits for word in command.arguments):
        return None
    match command.name:
        case "echo":
            return _echo(arguments)
        case "printf" if arguments and arguments[0] != "-v":
            return _printf(arguments[1:] if arguments[0] == "--" else arguments)
        case "cat" if all(argument == "-" for argument in arguments):
            return command.input
        case "tee":
            return command.input
        case "pwd" if not arguments:
            return f"{command.folder}\n" if command.folder else None
        case "which" | "command" | "type":
            return _found(command.name, arguments)
        case "true" | "false" | ":" | "":
            return ""
        case _:
            return None


def _found(name: str, arguments: list[str]) -> str | None:
    """Return a program's name for its path, which `which x` and `command -v x` print."""
    wanted = [argument for argument in arguments if not argument.startswith("-")]
    asks = name == "which" or any(option in arguments for option in ("-v", "-p", "-P"))
    return f"{wanted[0]}\n" if asks and len(wanted) == 1 and wanted[0].isidentifier() else None


def _echo(arguments: list[str]) -> str:
    escapes = newline = False
    while arguments and re.fullmatch(r"-[neE]+", arguments[0]):
        escapes |= "e" in arguments[0]
        newline |= "n" in arguments[0]
        arguments = arguments[1:]
    text = " ".join(arguments)
    return (ansi_c(text) if escapes else text) + ("" if newline else "\n")


def _printf(arguments: list[str]) -> str | None:
    template, rest = (arguments or [""])[0], arguments[1:]
    if UNKNOWN in template:
        return None
    kinds = [match[1] for match in _DIRECTIVE.finditer(template) if match[1]]
    if not kinds or not rest:
        return ansi_c(_DIRECTIVE.sub("", template))
    out = ""
    while rest and len(out) < _LIMIT:
        given, rest = rest[: len(kinds)], rest[len(kinds) :]
        values = iter(given)
        out += _DIRECTIVE.sub(functools.partial(_argument, values), ansi_c(template))
    return out


def _argument(values: Iterator[str], directive: re.Match[str]) -> str:
    match directive[1]:
        case None:
            return "%"
        case "b":
            return ansi_c(next(values, ""))
        case _:
            return next(values, "")
