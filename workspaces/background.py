"""Commands that run on while the agent does other things: one thread each, told apart by an id."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workspaces import sandbox
from workspaces.known import memory
from workspaces.paths import WorkspaceError
from workspaces.sandbox import Connection, Limits, Outcome, Place, Tree

AT_ONCE = 8
IN_ALL = 100
"""Background commands of one run; each may leave a whole output on disk."""
START_S = 20.0
"""How long a start is waited for; in a moment there is a process, or the reason why there is none."""
END_S = 10.0
"""How long the end of what was told to stop is waited for; only what is stuck in the kernel takes longer."""
LOOK_S = 0.1
"""How often a wait looks whether it was cancelled."""
_NAME = "bg"
"""How the id of a background command begins; its number follows."""


class _Either(threading.Event):
    """An event of its own that counts as set, too, when another one is."""

    def __init__(self, other: threading.Event) -> None:
        super().__init__()
        self._other = other

    def is_set(self) -> bool:
        return super().is_set() or self._other.is_set()


@dataclass
class Job:
    """One background command. `outcome` is there once it ended, and None for good where `fault` says why."""

    id: str
    call_id: str
    command: str
    place: Place
    limits: Limits
    spool: Path
    cancelled: threading.Event
    on_connection: Callable[[Connection], None]
    applied: dict[str, Any] = field(default_factory=dict)
    """What the sandbox is, known once it starts."""
    process: tuple[int, int] | None = None
    """Number and start time of the process whose end is the end of everything (see sandbox.end_leftover)."""
    size: int = 0
    """Bytes printed so far; all of them are in the spool."""
    outcome: Outcome | None = None
    fault: OSError | None = None
    was_scanned: bool = False
    """The tree was looked at after the end."""
    was_noted: bool = False
    """The journal knows of the end."""

    def __post_init__(self) -> None:
        self.began = time.monotonic()
        self._change = threading.Condition()
        self._has_ended = False
        self._thread = threading.Thread(target=self._run, name=f"job-{self.id}", daemon=True)

    @property
    def is_running(self) -> bool:
        return not self._has_ended

    @property
    def may_write(self) -> bool:
        return self.place.mode is Tree.WRITE

    @property
    def is_unscanned(self) -> bool:
        """It may have written what no full look at the tree has seen."""
        return self.may_write and not self.was_scanned

    @property
    def duration_ms(self) -> int:
        return self.outcome.duration_ms if self.outcome else round((time.monotonic() - self.began) * 1000)

    def start(self) -> None:
        """Start it and return once its process is known, or it has ended already."""
        self._thread.start()
        self.wait(lambda: self.process is not None, START_S, self.cancelled)

    def wait(self, until: Callable[[], bool], timeout_s: float, cancelled: threading.Event) -> None:
        """Wait until something is so, asked after each piece of output; or the end, the time or a cancel comes."""
        deadline = time.monotonic() + timeout_s
        with self._change:
            while not (until() or self._has_ended or cancelled.is_set()):
                left = deadline - time.monotonic()
                if left <= 0:
                    return
                self._change.wait(min(LOOK_S, left))

    def join(self, timeout_s: float) -> bool:
        """Wait for the end and return whether it came."""
        self._thread.join(max(0.0, timeout_s))
        return self._has_ended

    # --- in its own thread: the kernel ties a sandbox to the thread that made it -------------------------

    def _run(self) -> None:
        with memory.written(self.place.tree) if self.may_write else nullcontext():
            self._run_command()

    def _run_command(self) -> None:
        try:
            self.outcome = sandbox.run_command(
                self.command,
                self.place,
                self.limits,
                spool=self.spool,
                on_bytes=self._heard,
                cancelled=self.cancelled,
                on_start=self._started,
                on_connection=self.on_connection,
                on_applied=self.applied.update,
            )
        except OSError as error:
            self.fault = error
        finally:
            with self._changing():
                self._has_ended = True

    def _heard(self, data: bytes) -> None:
        with self._changing():
            self.size += len(data)

    def _started(self, pid: int, start_time: int) -> None:
        with self._changing():
            self.process = (pid, start_time)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._change:
            yield
            self._change.notify_all()


@dataclass
class Jobs:
    """The background commands of one agent at work. `next_number`: that which its next one gets."""

    next_number: int = 1
    _jobs: dict[str, Job] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(
        self,
        command: str,
        place: Place,
        limits: Limits,
        *,
        call_id: str,
        spool: Path,
        cancelled: threading.Event,
        on_connection: Callable[[Connection], None] = lambda connection: None,
    ) -> Job:
        """Start a command and return it as soon as it runs; `cancelled` ends it, as stopping it does.

        Raises WorkspaceError DENIED where there are too many, SANDBOX_UNAVAILABLE where no command can run.
        """
        with self._lock:
            self._must_have_room()
            name = f"{_NAME}{self.next_number}"
            job = Job(name, call_id, command, place, limits, spool, _Either(cancelled), on_connection)
            self.next_number += 1
            self._jobs[job.id] = job
            job.start()
        return job

    def _must_have_room(self) -> None:
        running = {job.id: job.command for job in self.running()}
        if len(running) >= AT_ONCE:
            raise WorkspaceError(
                "DENIED",
                f"{AT_ONCE} background commands run already ({named(running)}); end one with stop_command first.",
            )
        if self.next_number > IN_ALL:
            raise WorkspaceError(
                "DENIED", f"this run has had {IN_ALL} background commands, as many as it may; run it in the foreground."
            )

    def find(self, job_id: str) -> Job:
        """Return the command with this id. Raises WorkspaceError NOT_FOUND, naming those there are."""
        job = self._jobs.get(job_id)
        if job is None:
            there = f"There are: {', '.join(self._jobs)}." if self._jobs else "There is none now."
            raise WorkspaceError("NOT_FOUND", f"no background command is called {job_id[:50]!r}. {there}")
        return job

    def of_call(self, call_id: str) -> Job | None:
        """Return the command that a call started."""
        return next((job for job in self._jobs.values() if job.call_id == call_id), None)

    def running(self) -> list[Job]:
        """Return those that have not ended."""
        return [job for job in list(self._jobs.values()) if job.is_running]

    def ended(self) -> list[Job]:
        """Return those that have ended."""
        return [job for job in list(self._jobs.values()) if not job.is_running]

    def unscanned(self) -> list[Job]:
        """Return those that may have written what no full look at the tree has seen."""
        return [job for job in list(self._jobs.values()) if job.is_unscanned]

    def stop(self, jobs: list[Job], timeout_s: float = END_S) -> None:
        """End these with all they started; returns when they are gone, or the time is up."""
        for job in jobs:
            job.cancelled.set()
        deadline = time.monotonic() + timeout_s
        for job in jobs:
            job.join(deadline - time.monotonic())


def number_of(job_id: str) -> int:
    """Return the number in the id of a background command, 0 for what is no such id."""
    number = job_id.removeprefix(_NAME)
    return int(number) if job_id.startswith(_NAME) and number.isdecimal() else 0


def named(commands: Mapping[str, str]) -> str:
    """Return commands by id as a list in a sentence."""
    return ", ".join(f"{name} `{' '.join(command.split())[:80]}`" for name, command in commands.items())


# --- waiting for words -------------------------------------------------------------------------------------
