"""How a command ended, in the words that a model reads."""

import re

from workspaces.sandbox.place import Ending, Limits, Outcome, Tree

CAPS = {
    "SIGXCPU": "the limit of processor time",
    "SIGXFSZ": "the limit of a file's size",
}
HINTS = 5
_MISSING = re.compile(
    r"^(?:[\w./-]+: )*(?:line \d+: )?([\w.+/-]+): (?:command )?not found$"
    r"|^(?:/usr/bin/)?env: ['‘]([^'’\n]{1,100})['’]: No such file or directory$",
    re.MULTILINE,
)
_MISSING_ON_THE_WAY = re.compile(
    r"^(?:/bin/)?(?:bash|sh): (?:line )?\d+: ([\w.+/-]+): (?:command )?not found$", re.MULTILINE
)
_READ_ONLY = "Read-only file system"


def how_it_ended(outcome: Outcome, limits: Limits) -> str:
    """Return the exit code, with the limit or the signal that ended the command."""
    match outcome.ending:
        case Ending.TIMEOUT:
            return f"Ended after {round(limits.timeout_s * 1000)} ms, the time it had, with all it started"
        case Ending.CANCELLED:
            return "Stopped, with all it started"
        case Ending.OUTPUT_LIMIT:
            return f"{_code(outcome)} (ended: it printed more than {limits.output_bytes} bytes)"
        case Ending.MEMORY_LIMIT:
            return f"{_code(outcome)} (ended: it used more memory than allowed; {outcome.why or 'use less at once'})"
        case _:
            cap = CAPS.get(outcome.signal)
            by = f" (ended by {outcome.signal}{f', {cap}' if cap else ''})" if outcome.signal else ""
            return f"{_code(outcome)}{by}"


def _code(outcome: Outcome) -> str:
    return "No exit code" if outcome.exit_code is None else f"Exit code {outcome.exit_code}"


def hints(text: str, outcome: Outcome) -> str:
    """Return what may help after what the command printed: lines, each beginning with a line end; "" for nothing."""
    return _missing(text, outcome) + _read_only(text, outcome) + _thrown_away(outcome)


def _missing(text: str, outcome: Outcome) -> str:
    pattern = _MISSING if outcome.exit_code == 127 else _MISSING_ON_THE_WAY
    if outcome.exit_code != 127 and "not found" not in text:
        return ""
    names = sorted({next(filter(None, match.groups()))[:100] for match in pattern.finditer(text)})[:HINTS]
    if not names:
        return ""
    return f"\n{', '.join(names)}: not installed here; a person can add a set-up command to the repository."


def _read_only(text: str, outcome: Outcome) -> str:
    if not outcome.exit_code or outcome.applied.get("mode") != Tree.READ or _READ_ONLY not in text:
        return ""
    return (
        "\nThe command was taken for one that only reads, so it could not write to the workspace. If it has to, make "
        "the writing plain: run it together with a command that writes, such as `touch`."
    )


def _thrown_away(outcome: Outcome) -> str:
    notes = [note for note in outcome.applied.get("notes", []) if "thrown away" in note]
    return "".join(f"\nNote: {note}." for note in notes[:HINTS])
