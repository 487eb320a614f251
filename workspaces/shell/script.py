"""What a parsed command is made of."""

from dataclasses import dataclass

from workspaces.shell.words import Word


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirection, such as `2>/dev/null`; `target` is None for a here-document."""

    operator: str
    target: Word | None
    descriptor: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command. `words` begins with the program; it is empty for a bare assignment or redirection.

    `assignments`: names set before it. `fed_by`: the commands (indexes) whose output it reads; `input`: what it reads
    where the source says so, as in a here-document. `via`: the programs that run it, such as env, outermost first;
    `is_wrapper`: it runs another, which stands in the script too. `inside`: the functions that it stands in.
    `folder`: where it runs, None if unknown.
    """

    words: tuple[Word, ...]
    assignments: tuple[str, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    fed_by: frozenset[int] = frozenset()
    input: str | None = None
    via: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    is_background: bool = False
    is_wrapper: bool = False
    folder: str | None = None

    @property
    def name(self) -> str:
        """The program's name without its folder; "" where there is none or it is unknown."""
        return self.words[0].guess.rpartition("/")[2] if self.words else ""

    @property
    def arguments(self) -> tuple[Word, ...]:
        return self.words[1:]


@dataclass(frozen=True, slots=True)
class Script:
    """Every simple command of a source, wherever it stands.

    `is_whole`: nothing was broken, too deep or too long to be read. `has_functions`: it defines some. `is_too_deep`:
    programs that run others, or code in code, are nested past what is read, so what they run at last is unknown.
    """

    commands: tuple[Command, ...]
    is_whole: bool
    has_functions: bool
    is_too_deep: bool = False
