"""What a server that was killed left running: noted while it runs, found by (pid, start time), ended at the next start.

A note is a small file for each command, written before the command starts and removed after its end. A word in the
environment that bubblewrap starts with (no command sees it) finds what was started, but not yet told to anybody.
"""

import json
import logging
import os
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from workspaces.sandbox import cgroup, processes
from workspaces.sandbox.identity import own_folder
from workspaces.sandbox.removal import remove

log = logging.getLogger(__name__)

TOKEN = re.compile(r"[0-9a-f]{32}")
END_S = 5.0
AGAIN_S = 0.2
"""A process shows no environment in the moment it becomes another program: what was not found is looked for again."""
NOTES = 10_000
"""So many notes are looked at in one sweep; more than all commands that ever run at once."""
OLD_S = 24 * 3600.0
"""A command lasts minutes: what is older belongs to none, even where it can't be asked whether its server lives."""
SCRATCH = ("door-*", "copy-*", "probe-*", "etc-making-*", "bwrap-*.*")
"""What commands and probes make for themselves below the sandbox's own folder, and remove at their end."""


@dataclass
class Note:
    """One running command: its server, and what must be ended and removed where that is gone."""

    token: str
    machine: str
    boot: str
    space: int
    """The namespace of process numbers; another container on the same kernel has another."""
    server: tuple[int, int]
    process: tuple[int, int] | None = None
    folders: list[str] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return _path(self.token)

    def began(self, pid: int, start_time: int) -> None:
        """Note the process whose end is the end of everything."""
        self.process = (pid, start_time)
        self.write()

    def keep(self, folder: Path) -> None:
        """Note a folder that has to go with the command."""
        self.folders.append(str(folder))
        self.write()

    def write(self) -> None:
        """Add what is known now as one more line: a file that is replaced or cut has to wait for the disk (ext4)."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(self)) + "\n")


@contextmanager
def noted(token: str) -> Iterator[Note]:
    """Keep a note of a command as long as the block lasts. Raises OSError where it can't be written."""
    machine, boot, space = here()
    pid = os.getpid()
    note = Note(token, machine, boot, space, (pid, processes.start_time(pid) or 0))
    note.write()
    try:
        yield note
    finally:
        note.path.unlink(missing_ok=True)


def _path(token: str) -> Path:
    return _folder() / f"{token}.json"


def _folder() -> Path:
    folder = own_folder() / "running"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


@cache
def here() -> tuple[str, str, int]:
    """Return what names this machine, this boot of it, and our namespace of process numbers."""
    machine = f"{_text('/etc/machine-id')}.{os.uname().nodename[:64]}"
    return machine, _text("/proc/sys/kernel/random/boot_id"), os.stat("/proc/self/ns/pid").st_ino


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def end_leftover(pid: int, start_time: int) -> bool:
    """Kill a command of a dead server with all it started; False where it is gone, or the number is another's now."""
    handle = processes.open_pidfd(pid) if pid > 1 else None
    if handle is None:
        return False
    with ExitStack() as held:
        held.callback(os.close, handle)
        if processes.start_time(pid) != start_time:
            return False
        processes.kill_group(pid)
        return processes.kill_and_wait(handle, END_S)


# --- at the next start -----------------------------------------------------------------------------------


def sweep() -> int:
    """End what dead servers left running here, remove what they left lying; return how many commands were ended.

    What belongs to a server that lives, or that can't be asked from here, stays. Other servers may sweep meanwhile.
    """
    notes = [note for path in islice(sorted(_folder().glob("*.json")), NOTES) if (note := _read(path))]
    left = [note for note in notes if _is_left(note)]
    ended = {note.token for note in left if note.process and end_leftover(*note.process)}
    ended |= processes.kill_marked({note.token for note in left})
    if untold := {note.token for note in left if note.process is None} - ended:
        time.sleep(AGAIN_S)
        ended |= processes.kill_marked(untold)
    for note in [*left, *(note for note in notes if _is_over(note))]:
        _forget(note)
    _remove_scratch()
    cgroup.remove_empty(lambda token: _path(token).exists())
    if ended:
        log.warning("Ended %s commands that a server which is gone had left running", len(ended))
    return len(ended)


def _read(path: Path) -> Note | None:
    try:
        *_, last = path.read_text(encoding="utf-8").splitlines()
        found: dict[str, Any] = json.loads(last)
        if found["token"] != path.stem or not TOKEN.fullmatch(path.stem):
            raise ValueError("its name is another")
        found["server"] = tuple(found["server"])
        found["process"] = tuple(found["process"]) if found["process"] else None
        return Note(**found)
    except FileNotFoundError:
        return None  # the command ended
    except (OSError, ValueError, TypeError, KeyError) as error:
        log.warning("%s is no note of a command: %s", path, error)
        if _is_old(path):
            path.unlink(missing_ok=True)
        return None


def _is_left(note: Note) -> bool:
    """Return whether its server ran here, in this boot, and is proven gone."""
    return (note.machine, note.boot, note.space) == here() and processes.start_time(note.server[0]) != note.server[1]


def _is_over(note: Note) -> bool:
    """Return whether nothing of it can run any more: the machine started anew since, or a day went by."""
    machine, boot, _ = here()
    return (note.machine == machine and note.boot != boot) or _is_old(note.path)


def _is_old(path: Path) -> bool:
    try:
        return path.stat().st_mtime < time.time() - OLD_S
    except OSError:  # gone meanwhile
        return False


def _forget(note: Note) -> None:
    for folder in map(Path, note.folders):
        if folder.parent == own_folder():
            remove(folder)
    cgroup.end(note.token)
    note.path.unlink(missing_ok=True)


def _remove_scratch() -> None:
    """Remove what lies about for a day: made, but not noted before the server was killed."""
    mine = own_folder()
    for path in islice((path for pattern in SCRATCH for path in mine.glob(pattern)), NOTES):
        if _is_old(path):
            remove(path)
