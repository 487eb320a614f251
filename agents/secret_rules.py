"""Which commands get a secret: rules that people write, held far more strictly than those that refuse."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from agents.blocklist import BadRule, read_rule
from workspaces import shell

NAME = r"[A-Za-z_][A-Za-z0-9_]{0,99}"
"""A secret's name, which is that of a variable."""
_ODD = re.compile(r"[`$(){}<]")
"""What can put the value of a variable elsewhere, or make it decide something."""
_OPEN = re.compile(r"[\s:]\*\s*\)?\s*\Z")
_PROGRAMS = frozenset({"/bin", "/usr/bin", "/usr/local/bin"})
_STREAM = re.compile(r"[0-9]|-")


def check(text: str) -> None:
    """Raise BadRule, in a sentence, for what can't be read or would give a secret to nearly every command."""
    rule = read_rule(text)
    if rule.tool or not rule.words or re.search(r"[*?\[]", rule.words[0]):
        raise BadRule(
            f"`{text.strip()[:100]}`: it would give the secret to any program; begin with the name of one, "
            "as in npm publish *."
        )


def gets(command: str, rules: Iterable[str]) -> bool:
    """Return whether a command line gets the secret: each simple command in it fits one of the rules.

    And all of it is understood: no expansion, substitution, group, function, assignment or input in it, and no output
    into a file. A program is meant by its name, or by its path in a folder of the system.
    """
    if _ODD.search(command):
        return False
    script, known = shell.parse(command), [(read_rule(rule).words, bool(_OPEN.search(rule))) for rule in rules]
    if not (script.is_whole and script.commands) or script.has_functions:
        return False
    return all(_is_plain(each) and any(_fits(each, *rule) for rule in known) for each in script.commands)


def _is_plain(command: shell.Command) -> bool:
    words = all(word.is_known and not word.globs and not word.fed_by for word in command.words)
    return words and not command.assignments and all(map(_makes_no_file, command.redirects))


def _makes_no_file(redirect: shell.Redirect) -> bool:
    target = redirect.target.text if redirect.target else ""
    return target == "/dev/null" or (redirect.operator == ">&" and _STREAM.fullmatch(target) is not None)


def _fits(command: shell.Command, pattern: Sequence[str], is_open: bool) -> bool:
    texts = [word.text for word in command.words]
    if not texts or len(texts) < len(pattern) or (len(texts) > len(pattern) and not is_open):
        return False
    folder, _, name = texts[0].rpartition("/")
    program = name if folder in _PROGRAMS else texts[0]
    return program == pattern[0] and all(map(fnmatchcase, texts[1 : len(pattern)], pattern[1:]))
