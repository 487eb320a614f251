"""Shell commands, understood: parsed into simple commands, and proven to only read. It knows no policy."""

from workspaces.shell.reading import is_read_only
from workspaces.shell.script import Command, Redirect, Script
from workspaces.shell.syntax import parse
from workspaces.shell.waiting import seconds_waited
from workspaces.shell.words import UNKNOWN, Word

__all__ = ["UNKNOWN", "Command", "Redirect", "Script", "Word", "is_read_only", "parse", "seconds_waited"]
