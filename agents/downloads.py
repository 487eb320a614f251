"""Whether a command runs what nobody has read: a download or a decoded text that reaches a shell or interpreter."""

import re
from collections.abc import Callable

from workspaces.shell import Command, Script
from workspaces.shell.wrappers import SHELLS, code_of, reads_code

_DOWNLOADS = frozenset(
    {"curl", "wget", "fetch", "aria2c", "http", "https", "xh", "lynx", "w3m", "ftp", "nc", "ncat", "netcat", "socat"}
)
_DECODERS = frozenset({"base64", "base32", "basenc", "xxd", "openssl", "uudecode", "rev"})
_CARRIERS = frozenset({"echo", "printf", "cat", "tee"})
"""Programs that print what they were given; what else is in a pipe behind a download counts anyway."""
_INTERPRETERS = re.compile(
    r"(?:python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|Rscript|osascript|pwsh)[\d.]*\Z"
)
_INLINE = re.compile(r"-[A-Za-z]*[cemrpnEF]\Z|--(?:eval|print|execute|run)\b|-m")
_DECODES = re.compile(r"-[A-Za-z]*[dD]|--d")
_REVERTS = re.compile(r"-[A-Za-z]*r")

Makes = Callable[[Command], bool]


def are_run(script: Script) -> bool:
    """Return whether a download is run: through a pipe, `<(…)`, `$(…)`, a variable. As data it is ordinary."""
    return _is_run(script, lambda command: command.name in _DOWNLOADS)


def decoded_are_run(script: Script) -> bool:
    """Return whether what `base64 -d` and the like give is run."""
    return _is_run(script, _decodes)


def _decodes(command: Command) -> bool:
    texts = [word.text for word in command.arguments]
    match command.name:
        case "base64" | "base32" | "basenc":
            return any(_DECODES.match(text) for text in texts)
        case "xxd":
            return any(_REVERTS.match(text) for text in texts)
        case name:
            return name in _DECODERS


def _is_run(script: Script, makes: Makes) -> bool:
    makers = {number for number, command in enumerate(script.commands) if makes(command)}
    for number, command in enumerate(script.commands) if makers else ():
        if command.name in _CARRIERS and makers & command.fed_by.union(*(word.fed_by for word in command.words)):
            makers.add(number)
    return bool(makers) and any(_runs_output_of(makers, command) for command in script.commands)


def _runs_output_of(makers: set[int], command: Command) -> bool:
    name = command.name
    if name in SHELLS:
        code = code_of(command.words)
        is_fed = reads_code(command.words) and bool(command.fed_by & makers)
        return is_fed or (code is not None and bool(code.fed_by & makers))
    if name in ("source", ".", "eval"):
        from_input = name != "eval" and any("stdin" in word.text for word in command.arguments)
        return any(word.fed_by & makers for word in command.words) or (from_input and bool(command.fed_by & makers))
    if _INTERPRETERS.match(name):
        return _interprets(makers, command)
    return bool(command.words and command.words[0].fed_by & makers)


def _interprets(makers: set[int], command: Command) -> bool:
    """Return whether the program of an interpreter comes from there: inline, from its input, or as a file."""
    words = command.arguments
    inline = next((at for at, word in enumerate(words) if _INLINE.match(word.text)), None)
    if inline is not None:
        return inline + 1 < len(words) and bool(words[inline + 1].fed_by & makers)
    program = next((word for word in words if not word.text.startswith("-") or word.text == "-"), None)
    if program is None or program.text == "-":
        return bool(command.fed_by & makers)
    return bool(program.fed_by & makers)
