"""How long a command only waits: a whole script of sleeps."""

import re

from workspaces.shell.script import Command
from workspaces.shell.syntax import parse

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def seconds_waited(command: str) -> float:
    """Return the seconds that a command sleeps if it does nothing else, and 0 if it does, or does not wait for it."""
    commands = parse(command).commands
    if any(each.is_background for each in commands):
        return 0.0
    asleep = [_seconds(each) for each in commands if not _only_passes_on(each)]
    known = [seconds for seconds in asleep if seconds is not None]
    return sum(known) if len(known) == len(asleep) else 0.0


def _only_passes_on(command: Command) -> bool:
    return command.is_wrapper and command.name != "trap"


def _seconds(command: Command) -> float | None:
    """Return how long a `sleep` takes; None for another command, or where its length is unknown."""
    if command.name != "sleep" or not command.arguments:
        return None
    total = 0.0
    for word in command.arguments:
        number = re.fullmatch(r"(\d+\.?\d*|\.\d+|inf(?:inity)?)([smhd]?)", word.text, re.IGNORECASE)
        if not number:
            return None
        total += float(number[1]) * _UNITS.get(number[2], 1)
    return total
