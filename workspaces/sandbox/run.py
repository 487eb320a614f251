"""The run of one command: in the sandbox where it works, without it only where the operator asked for that."""

import secrets
import signal
import stat
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from workspaces.masking import Mask
from workspaces.sandbox import bwrap, cgroup, disk, leftovers, proxy
from workspaces.sandbox.identity import barrier, is_root
from workspaces.sandbox.launch import Launch
from workspaces.sandbox.leftovers import Note
from workspaces.sandbox.place import Applied, Connection, Ending, Limits, Outcome, Place
from workspaces.sandbox.probe import Report, probe
from workspaces.sandbox.supervise import Ears, Ended, supervise

NO_WAY_OUT = (
    "no network: the way to it needs a Python inside the sandbox; install python3, or name one in SAKURA_TOOLCHAINS"
)
TAIL_BYTES = 2000


def run_command(
    command: str,
    place: Place,
    limits: Limits,
    *,
    spool: Path,
    on_bytes: Callable[[bytes], None],
    cancelled: threading.Event,
    on_start: Callable[[int, int], None],
    on_connection: Callable[[Connection], None] = lambda connection: None,
    on_applied: Callable[[dict[str, Any]], None] = lambda applied: None,
) -> Outcome:
    """Run `command` under bash at `place` and wait for it; the whole output, stdout and stderr as one, goes to `spool`.

    `on_bytes` hears it in pieces of 64 KiB at most, `on_start` the number and start time of the process whose end is
    the end of everything (see end_leftover), `on_connection` what became of each connection outside, from threads
    of its own, `on_applied` what the wall is, before the start. What the place's secrets hold is masked before it comes
    to spool and ears. When this returns or raises, nothing that the command started is left.
    Raises OSError where the spool or the place can't be written.
    """
    report = probe()
    if report.level == "none":
        return _unavailable(f"{' '.join(report.reasons)} {report.cure}".strip())
    if report.wall is not None and (place.uid == 0 or (is_root() and place.uid is None)):
        return _unavailable("A command never runs as root: give its place a uid of its own (worker_uid).")
    short = disk.shortage((place.tree, spool.parent), limits.disk_floor_bytes)
    if short:
        return _no_room(report, short)
    with leftovers.noted(secrets.token_hex(16)) as note:

        def started(pid: int, start_time: int) -> None:
            note.began(pid, start_time)
            on_start(pid, start_time)

        ears = Ears(on_bytes, started, cancelled, on_connection, on_applied)
        way = _confined if report.wall else _unconfined
        return way(command, place, limits, spool, ears, note, report)


def _unconfined(
    command: str, place: Place, limits: Limits, spool: Path, ears: Ears, note: Note, report: Report
) -> Outcome:
    launch = bwrap.unconfined(command, place, limits, note.token)
    return _outcome(supervise(launch, limits, spool, ears, Mask(place.known_secrets)), launch)


def _confined(
    command: str, place: Place, limits: Limits, spool: Path, ears: Ears, note: Note, report: Report
) -> Outcome:
    assert report.wall is not None
    with ExitStack() as held:
        _open_to_owner(place)
        held.callback(_open_to_owner, place)
        way, why = _open_way(place, report.wall.python, held, ears)
        if way:
            note.keep(way.path.parent)
        door = bwrap.Door(way.path, place.network) if way else None
        groups = report.wall.groups
        group = held.enter_context(cgroup.group(groups, note.token, limits)) if groups else None
        launch = bwrap.confined(report.wall, command, place, limits, held, door, bwrap.Mark(note.token, group))
        ended = supervise(launch, limits, spool, ears, Mask(place.known_secrets))
        launch.applied.notes += [why] if why else []
        launch.applied.connections = _connections(way)
        return _outcome(ended, launch) if ended.ran else _unavailable(_start_fault(place, spool))


def _open_to_owner(place: Place) -> None:
    """Give the way in back where a command shut tree or HOME, even to their owner, as `chmod 0 .` does."""
    for folder in (place.tree, place.home):
        with suppress(OSError):  # gone, or another's: the start will say so
            mode = stat.S_IMODE(folder.stat().st_mode)
            if mode & stat.S_IRWXU != stat.S_IRWXU:
                folder.chmod(mode | stat.S_IRWXU)


def _open_way(place: Place, python: str, held: ExitStack, ears: Ears) -> tuple[proxy.Proxy | None, str]:
    """Open the proxy for the hosts of the place; return it, or why there is no network although hosts are named."""
    if not place.network:
        return None, ""
    if not python:
        return None, NO_WAY_OUT
    mask = Mask(place.known_secrets)
    return held.enter_context(proxy.opened(place.network, place.uid, ears.on_connection, mask)), ""


def _connections(way: proxy.Proxy | None) -> list[dict[str, Any]]:
    """Return what became of the connections by target, once every one has ended and is told."""
    if way is None:
        return []
    way.close()
    return way.telling.sums()


def _outcome(ended: Ended, launch: Launch) -> Outcome:
    launch.applied.masked = ended.masked
    return Outcome(
        ending=ended.ending,
        exit_code=ended.exit_code,
        duration_ms=ended.duration_ms,
        total_bytes=ended.total_bytes,
        applied=asdict(launch.applied),
        signal=_signal(ended.exit_code),
        why=ended.why,
        out_of_memory=ended.out_of_memory,
    )


def _signal(code: int | None) -> str:
    """Return the name of the signal that a shell reports as 128 + its number."""
    try:
        return signal.Signals(code - 128).name if code is not None and code > 128 else ""
    except ValueError:
        return ""


def _no_room(report: Report, short: str) -> Outcome:
    return _not_started(Ending.DISK_LIMIT, report.level, short)


def _unavailable(why: str) -> Outcome:
    return _not_started(Ending.UNAVAILABLE, "none", why)


def _not_started(ending: Ending, level: str, why: str) -> Outcome:
    return Outcome(ending, exit_code=None, duration_ms=0, total_bytes=0, applied=asdict(Applied(level)), why=why)


def _start_fault(place: Place, spool: Path) -> str:
    """Return why bubblewrap gave up: the folder its user can't enter, or its own last words."""
    for path in filter(None, (place.tree, place.home, place.objects, place.environment)):
        if not path.exists():
            return f"The sandbox can't start: {path} does not exist."
        stop = barrier(path, place.uid)
        if stop is not None:
            return f"The sandbox can't start: uid {place.uid} may not enter {stop}. Give it the mode 711 or 755."
    with spool.open("rb") as file:
        said = file.read(TAIL_BYTES).decode("utf-8", "replace").strip()
    return f"The sandbox could not start: {said or 'bubblewrap said nothing'}. Try `manage.py sandbox --explain`."
