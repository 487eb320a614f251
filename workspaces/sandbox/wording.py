"""How a command ended, in the words that a model reads."""

import re

from workspaces.sandbox.limits import Limit, met, refused
from workspaces.sandbox.place import MIB, Ending, Limits, Outcome, Tree
from workspaces.sandbox.probe import Report

CAPS = {
    "SIGXCPU": Limit.CPU,
    "SIGXFSZ": Limit.FILE_SIZE,
}
BOUNDS = {
    Limit.CPU: "a process has {limits.cpu_s} s of processor time here; do less at once",
    Limit.PROCESSES: "{limits.processes} processes and threads may run at once here; use fewer workers",
    Limit.OPEN_FILES: "a process may hold {limits.open_files} files open at once here",
    Limit.FILE_SIZE: "a file may have {file_mb} MB here, and no more",
    Limit.MEMORY: "a command may hold {memory_mb} MB of memory here, with all its processes; use less at once",
    Limit.TMP: "the private /tmp has {tmp_mb} MB, and /dev/shm {shm_mb} MB; write large files to the workspace",
    Limit.SHM: "the private /dev/shm has {shm_mb} MB; write large files to the workspace",
}
SANITIZED = "A sanitizer reserves more address space than a process has here; put `ulimit -d unlimited &&` in front."
HINTS = 5
_MISSING = re.compile(
    r"^(?:[\w./-]+: )*(?:line \d+: )?([\w.+/-]+): (?:command )?not found$"
    r"|^(?:/usr/bin/)?env: ['‘]([^'’\n]{1,100})['’]: No such file or directory$",
    re.MULTILINE,
)
_MISSING_ON_THE_WAY = re.compile(
    r"^(?:/bin/)?(?:bash|sh): (?:line )?\d+: ([\w.+/-]+): (?:command )?not found$", re.MULTILINE
)
_SANITIZER = re.compile(r"^==\d+==\s?(?:ERROR: )?\w+Sanitizer.* failed to allocate 0x[0-9a-f]{9,} ", re.MULTILINE)
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
            return f"{_code(outcome)} (ended: it used too much memory; {outcome.why or bound(Limit.MEMORY, limits)})"
        case Ending.DISK_LIMIT:
            return f"{_code(outcome)} (ended: {disk_is_full(outcome, limits)})"
        case _:
            cap = CAPS.get(outcome.signal)
            why = f", its limit: {bound(cap, limits)}" if cap else ""
            return _code(outcome) + (f" (ended by {outcome.signal}{why})" if outcome.signal else "")


def bound(limit: Limit, limits: Limits) -> str:
    """Return what a limit allows, as the rest of a sentence; "" for one that its ending tells already."""
    sizes = {f"{name}_mb": getattr(limits, f"{name}_bytes") // MIB for name in ("file", "memory", "tmp", "shm")}
    return BOUNDS.get(limit, "").format(limits=limits, **sizes)


def bounds(report: Report) -> list[tuple[str, str]]:
    """Return the limits in force as names and values, for people."""
    limits, controllers = report.limits, report.controllers
    floor = [("Free disk", f"a command ends below {limits.disk_floor_bytes // MIB} MB")]
    if report.level != "full":
        return floor
    hard = " and a cgroup" if "memory" in controllers else ""
    return [
        ("Processes and threads", str(limits.processes)),
        ("Processor time of a process", f"{limits.cpu_s} s"),
        ("Memory", f"{limits.memory_bytes // MIB} MB, by process, by a watchdog for all together{hard}"),
        ("Open files of a process", str(limits.open_files)),
        ("Size of a file", f"{limits.file_bytes // MIB} MB"),
        ("Private /tmp and /dev/shm", f"{limits.tmp_bytes // MIB} MB and {limits.shm_bytes // MIB} MB"),
        *([("Processors", str(limits.cpus))] if limits.cpus and "cpu" in controllers else []),
        *floor,
        ("Free memory", f"commands end when the machine has less than {limits.memory_floor_bytes // MIB} MB"),
        ("cgroup", ", ".join(controllers) or ("core only" if report.wall and report.wall.groups else "none")),
    ]


def disk_is_full(outcome: Outcome, limits: Limits) -> str:
    """Return why the disk's floor stopped a command, as the rest of a sentence."""
    least = f"at least {limits.disk_floor_bytes // MIB} MB must stay free where its files lie"
    return f"{outcome.why or 'the disk is nearly full'}; {least}. Remove what is not needed, or a person makes room"


def _code(outcome: Outcome) -> str:
    return "No exit code" if outcome.exit_code is None else f"Exit code {outcome.exit_code}"


def hints(text: str, outcome: Outcome, limits: Limits) -> str:
    """Return what may help after what the command printed: lines, each beginning with a line end; "" for nothing."""
    said = _limited(text, outcome, limits) + _missing(text, outcome) + _read_only(text, outcome)
    return said + _sanitized(text, outcome) + _thrown_away(outcome)


def _sanitized(text: str, outcome: Outcome) -> str:
    return f"\nLimit: {SANITIZED}" if outcome.exit_code and _SANITIZER.search(text) else ""


def _limited(text: str, outcome: Outcome, limits: Limits) -> str:
    """Return the limit at which something was refused, or a child ended, that the ending itself does not name."""
    limit = refused(text) if outcome.ending is Ending.TIMEOUT else met(outcome, limits, text)
    if outcome.ending not in (Ending.EXIT, Ending.TIMEOUT) or limit is CAPS.get(outcome.signal):
        return ""
    if limit is Limit.MEMORY and outcome.out_of_memory:
        return "\nLimit: the machine ran out of memory, and the kernel killed a process; use less at once."
    said = bound(limit, limits)
    return f"\nLimit: {said}." if said else ""


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
