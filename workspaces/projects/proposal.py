"""One proposed command."""

from dataclasses import dataclass

KINDS = ("setup", "test", "lint", "types", "build")


@dataclass(frozen=True)
class Proposal:
    """A command, what it is for (one of KINDS), the file that says so, and why in a few words.

    `first_choice`: good enough to be proposed to people without a look at the others of its kind.
    """

    kind: str
    command: str
    file: str
    because: str
    first_choice: bool = False
