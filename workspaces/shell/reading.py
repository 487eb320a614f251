"""Proof that a command only reads: an allow-list of programs and their harmless options.

A wrong proof does no harm, as the tree is mounted read-only then: the command fails. A missing one costs a scan.
"""

import functools
import re

from workspaces.sandbox.environment import SYSTEM_PATH
from workspaces.shell.harmless import PROGRAMS
from workspaces.shell.script import Command, Redirect
from workspaces.shell.syntax import SHORT, parse

_LOCAL = re.compile(r"LANG|LANGUAGE|LC_[A-Z]+|TZ|NO_COLOR|COLUMNS|LINES|TERM")
"""Variables of which a program makes no more than another look of its output."""
_TELLING = re.compile(
    r"PATH|HOME|SHELL|ENV|IFS|CDPATH|TMPDIR|EDITOR|VISUAL|PS4|PWD|.*PAGER|.*OPT(?:ION)?S|.*_proxy|.*_PROXY"
    r"|(?:BASH|LD_|DYLD|GIT_|LESS|PYTHON|PERL|RUBY|NODE|NPM|npm|GREP|RIPGREP|JAVA|JDK|MAVEN|GRADLE|PROMPT|TAR|XDG).*"
)
"""Variables that change what programs do, and are in their environment or may be."""
_SINKS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2"})
_SYSTEM_FOLDERS = frozenset(f"{folder}/" for folder in SYSTEM_PATH)


def is_read_only(command: str) -> bool:
    """Return whether the command provably changes no file; False says nothing. Costs one parse, which is kept."""
    return len(command) <= SHORT and _is_read_only(command)


@functools.lru_cache(maxsize=512)
def _is_read_only(command: str) -> bool:
    script = parse(command)
    if not script.is_whole or script.has_functions or not script.commands:
        return False
    return all(_only_reads(each) for each in script.commands)


def _only_reads(command: Command) -> bool:
    if command.is_background or not all(_leads_nowhere(redirect) for redirect in command.redirects):
        return False
    if not command.words:
        return not any(_TELLING.fullmatch(name) for name in command.assignments)
    if not all(_LOCAL.fullmatch(name) for name in command.assignments):
        return False
    program = command.words[0]
    if not program.is_known or program.globs:
        return False
    folder, _, name = program.text.rpartition("/")
    if folder and f"{folder}/" not in _SYSTEM_FOLDERS:
        return False
    check = PROGRAMS.get(name)
    return check is not None and check(command)


def _leads_nowhere(redirect: Redirect) -> bool:
    if redirect.target is None or redirect.operator in ("<", "<<"):
        return True
    if redirect.operator in (">&", "<&", ">&-", "<&-"):
        return bool(re.fullmatch(r"\d*-?", redirect.target.text)) or redirect.target.text in _SINKS
    return redirect.target.text in _SINKS
