"""Verify commands run on a tree laid out anew, which is gone afterwards; what each printed is kept, and read."""

import codecs
import json
import shlex
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from django.conf import settings

from workspaces import fresh, outputs, sandbox, store, terminal
from workspaces.fresh import Fresh
from workspaces.models import Workspace
from workspaces.proving import adapting, reading, untouched
from workspaces.proving.adapting import Adapted
from workspaces.proving.results import NOT_RUN, CommandResult
from workspaces.sandbox import Ending, Limits, Outcome, Place, Tree
from workspaces.sandbox.removal import remove

COMMANDS_LIMIT = 20
TAIL_CHARS = 8000
TAIL_BYTES = 64 * 1024
READ_BYTES = 32 * 1024 * 1024
"""Of what a command printed, so much is read for its tests; of one that printed more only the exit code counts."""
MANIFEST_BYTES = 1024 * 1024
WHOLE = 2
"""All commands together have so many times the time of one."""
LEFT = "It was not run: the commands before it used up the time that there is."
_ENDED = {
    Ending.TIMEOUT: "It was ended after {seconds:,} s, the time a verify command has.",
    Ending.OUTPUT_LIMIT: "It was ended, since it printed more than is kept.",
    Ending.MEMORY_LIMIT: "It was ended, since it used too much memory.",
    Ending.CANCELLED: "It was stopped.",
}


@dataclass(frozen=True)
class _Work:
    """One run of the commands: where, and whom to tell."""

    workspace: Workspace
    made: Fresh
    place: Place
    name: str
    limits: Limits
    on_text: Callable[[str], None]
    cancelled: threading.Event
    paths: tuple[bytes, ...]
    """What lies in the tree before any command runs."""

    @property
    def reports(self) -> Path:
        return self.made.home / Path(adapting.REPORTS).name


@dataclass(frozen=True)
class _Ran:
    """A command that ran: as what, how it ended, where its output lies, and when it began."""

    adapted: Adapted
    outcome: Outcome
    spool: Path
    began_ns: int

    @property
    def size(self) -> int:
        return self.spool.stat().st_size if self.spool.exists() else 0


def run(
    workspace: Workspace,
    tree: str,
    commands: Sequence[str],
    *,
    name: str,
    environment: Path | None,
    on_text: Callable[[str], None],
    cancelled: threading.Event,
    withheld: tuple[tuple[str, str], ...] = (),
) -> list[CommandResult]:
    """Run the commands one after the other on a tree of the run store, and return how each ended.

    `name` names the fresh tree, and the outputs that are kept: those of an earlier run of this name are replaced.
    There is no network and no secret; `withheld` is masked. Where the sandbox can't start, or after a cancel, the rest
    is not run. Raises TreeError, OSError, GitError where the tree can't be laid out.
    """
    made = fresh.lay_out(workspace, tree, name)
    try:
        place = _place(workspace, made, environment, withheld)
        limits = _limits()
        paths = tuple(store.listing(store.ensure(workspace.repository), tree))
        work = _Work(workspace, made, place, name, limits, on_text, cancelled, paths)
        return _all(work, list(commands)[:COMMANDS_LIMIT], scripts(workspace))
    finally:
        made.remove()


def _place(workspace: Workspace, made: Fresh, environment: Path | None, withheld: tuple[tuple[str, str], ...]) -> Place:
    return Place(
        tree=made.tree,
        home=made.home,
        mode=Tree.WRITE,
        uid=sandbox.worker_uid(workspace.pk),
        objects=made.objects,
        environment=environment,
        withheld=withheld,
    )


def _limits() -> Limits:
    usual = Limits(timeout_s=settings.SAKURA_PROOF_TIMEOUT_S)
    return replace(usual, processes=max(usual.processes, 1024), cpu_s=max(usual.cpu_s, settings.SAKURA_PROOF_TIMEOUT_S))


def scripts(workspace: Workspace) -> Mapping[str, str]:
    """Return the scripts of the baseline's package.json by name; none where it has none, or can't be read."""
    git = store.ensure(workspace.repository)
    found = store.entry(git, store.tree_of(git, workspace.base_commit), b"package.json")
    if found is None or found.mode not in (store.FILE, store.EXECUTABLE):
        return {}
    try:
        manifest = json.loads(store.read_head(git, found.oid, MANIFEST_BYTES))
    except (ValueError, RecursionError):
        return {}
    named = manifest.get("scripts") if isinstance(manifest, dict) else None
    given = named.items() if isinstance(named, dict) else ()
    return {key: value for key, value in given if isinstance(value, str)}


def _all(work: _Work, commands: list[str], scripts: Mapping[str, str]) -> list[CommandResult]:
    results: list[CommandResult] = []
    deadline = time.monotonic() + WHOLE * work.limits.timeout_s
    for number, command in enumerate(commands, start=1):
        left = deadline - time.monotonic()
        if left <= 0:
            results.append(CommandResult(command, None, Ending.TIMEOUT, 0, why=LEFT))
            continue
        limits = replace(work.limits, timeout_s=min(left, work.limits.timeout_s))
        results.append(_one(replace(work, limits=limits), number, command, scripts))
        if results[-1].ending in NOT_RUN:
            break
    return results


def _one(work: _Work, number: int, command: str, scripts: Mapping[str, str]) -> CommandResult:
    adapted = _here(adapting.adapted(command, scripts), work.reports)
    _make_reports(work)
    work.on_text(f"$ {command}\n")
    spool = work.workspace.outputs / outputs.ref_of(f"{work.name}-{number}")
    spool.parent.mkdir(parents=True, exist_ok=True)
    began_ns = time.time_ns()
    before = untouched.marks(work.made.tree, work.paths)
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    outcome = sandbox.run_command(
        _with_variables(adapted),
        work.place,
        work.limits,
        spool=spool,
        on_bytes=lambda data: work.on_text(decode(data)),
        cancelled=work.cancelled,
        on_start=lambda pid, started: None,
    )
    found = _result(work, command, _Ran(adapted, outcome, spool, began_ns))
    return replace(found, written=list(untouched.written(before, untouched.marks(work.made.tree, work.paths))))


def _here(adapted: Adapted, reports: Path) -> Adapted:
    """Return the command with the folder of reports as it is where no sandbox mounts HOME."""
    if sandbox.probe().level != "off":
        return adapted

    def moved(text: str) -> str:
        return text.replace(adapting.REPORTS, str(reports))

    env = tuple((name, moved(value)) for name, value in adapted.env)
    return replace(adapted, command=moved(adapted.command), env=env)


def _make_reports(work: _Work) -> None:
    """Make the folder of reports anew: one command's must not be taken for the next one's."""
    remove(work.reports)
    if work.reports.is_symlink() or work.reports.exists():
        work.reports.unlink()
    work.reports.mkdir()
    sandbox.own(work.reports, work.place.uid)


def _with_variables(adapted: Adapted) -> str:
    lines = [f"export {name}={shlex.quote(value)}" for name, value in adapted.env]
    return "\n".join([*lines, adapted.command])


def _result(work: _Work, command: str, ran: _Ran) -> CommandResult:
    """Return how the command ended; what it printed stays on disk where that is more than the tail."""
    outcome = ran.outcome
    tail, is_whole = _tail(ran)
    reader, tests, is_cut = _tests(work, ran)
    if is_whole:
        ran.spool.unlink(missing_ok=True)
    return CommandResult(
        command=command,
        exit_code=outcome.exit_code if outcome.ending is Ending.EXIT else None,
        ending=outcome.ending,
        duration_ms=outcome.duration_ms,
        ran_as=ran.adapted.command if ran.adapted.command != command else "",
        reader=reader,
        tests=tests,
        is_cut=is_cut,
        output_tail=tail,
        output_ref="" if is_whole else ran.spool.name,
        why=_why(work, outcome),
    )


def _tail(ran: _Ran) -> tuple[str, bool]:
    """Return the end of what was printed as plain text, and whether that is all of it."""
    if not ran.size:
        return "", True
    with ran.spool.open("rb") as file:
        file.seek(max(0, ran.size - TAIL_BYTES))
        data = reading.told(ran.adapted, file.read(TAIL_BYTES))
    text = terminal.plain(data.decode("utf-8", "replace"))
    return text[-TAIL_CHARS:], ran.size <= TAIL_BYTES and len(text) <= TAIL_CHARS


def _tests(work: _Work, ran: _Ran) -> tuple[str, dict[str, str], bool]:
    if ran.outcome.ending is not Ending.EXIT:
        return "", {}, False
    if ran.size > READ_BYTES:
        return "", {}, True
    output = ran.spool.read_bytes() if ran.size else b""
    return reading.read(ran.adapted, output, work.made.home, work.made.tree, since_ns=ran.began_ns)


def _why(work: _Work, outcome: Outcome) -> str:
    if outcome.ending is Ending.EXIT:
        return ""
    if outcome.ending is Ending.DISK_LIMIT:
        return f"It was ended: {sandbox.disk_is_full(outcome, work.limits)}."
    return outcome.why or _ENDED.get(outcome.ending, "").format(seconds=round(work.limits.timeout_s))
