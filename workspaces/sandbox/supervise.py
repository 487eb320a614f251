"""One running command: its output, its bounds, and the end of everything it started."""

import errno
import json
import os
import selectors
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from workspaces.masking import Mask, Stream
from workspaces.sandbox import disk, processes
from workspaces.sandbox.launch import Launch
from workspaces.sandbox.place import MIB, Connection, Ending, Limits

PIECE = 64 * 1024
LOOK_S = 0.1
"""How often a cancel, the memory and the disk are looked at; a command that ends sooner is never kept waiting."""
REST_S = 1.0
"""How long output that is still in the pipe is read after everything ended."""
GONE_S = 5.0
SETPRIV = "/usr/bin/setpriv"
BWRAP_FAILED = 1
"""The exit code of bubblewrap itself when it could not set the sandbox up (it reports no code of a command then)."""


@dataclass(frozen=True)
class Ears:
    """What the caller hears while a command runs, and how it asks for the end."""

    on_bytes: Callable[[bytes], None]
    on_start: Callable[[int, int], None]
    cancelled: threading.Event
    on_connection: Callable[[Connection], None] = lambda connection: None
    on_applied: Callable[[dict[str, Any]], None] = lambda applied: None


@dataclass(frozen=True)
class Ended:
    """How it ended; `ran` is False where bubblewrap never got as far as the command."""

    ending: Ending
    exit_code: int | None
    duration_ms: int
    total_bytes: int
    ran: bool
    masked: int = 0
    out_of_memory: bool = False
    why: str = ""


def supervise(launch: Launch, limits: Limits, spool: Path, ears: Ears, mask: Mask | None = None) -> Ended:
    """Start the command and wait for its end, in this one thread: the kernel ties a sandbox to the thread that made it.

    With `mask`, neither spool nor ears get to see a secret.
    Raises OSError where the program can't be started or the spool can't be opened; nothing is left running then.
    """
    with ExitStack() as held:
        output = held.enter_context(spool.open("wb", buffering=0))
        ears.on_applied(asdict(launch.applied))
        return _Command(launch, limits, output, ears, held, mask or Mask()).wait()


def _start(launch: Launch) -> subprocess.Popen[bytes]:
    by, identity = as_user(launch.uid)
    within = launch.group.entering() if launch.group else []
    return subprocess.Popen(
        [*within, *by, *launch.argv],
        env=launch.env,
        cwd=launch.cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        start_new_session=True,
        pass_fds=launch.fds,
        **identity,
    )


def as_user(uid: int | None) -> tuple[list[str], dict[str, Any]]:
    """Return how to become the user: by a program in front, else by Popen.

    Popen could do it anywhere, but to change the user it forks the whole server, pages and all, where it else vforks.
    """
    if uid is None:
        return [], {}
    if os.path.exists(SETPRIV):
        return [SETPRIV, f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"], {}
    return [], {"user": uid, "group": uid, "extra_groups": []}


class _Command:
    def __init__(
        self, launch: Launch, limits: Limits, output: IO[bytes], ears: Ears, held: ExitStack, mask: Mask
    ) -> None:
        self.launch, self.limits, self.output, self.ears, self.held = launch, limits, output, ears, held
        self.printed: Stream = mask.stream(limits.output_bytes)
        self.read = 0  # bytes, before anything was masked
        self.ending: Ending | None = None
        self.exited = False  # by itself, before it was ended
        self.exit_code: int | None = None
        self.total = 0
        self.no_room = False  # on the disk of its output
        self.status = b""
        self.init: int | None = None
        self.init_handle: int | None = None
        self.disks = (*launch.disks, Path(output.name).parent)
        self.why = ""
        self.kills_before: int | None = None  # for memory, on the whole machine
        self.began = time.monotonic()
        self.next_look = self.began + min(LOOK_S, limits.timeout_s)
        self.selector = held.enter_context(selectors.DefaultSelector())
        self.listening: set[int] = set()
        self.child = _start(launch)
        launch.release()
        assert self.child.stdout is not None
        held.callback(self.child.stdout.close)
        self.pipe = self.child.stdout.fileno()
        self.handle = os.pidfd_open(self.child.pid)
        held.callback(os.close, self.handle)

    def wait(self) -> Ended:
        try:
            self._listen_to_start()
            while self.ending is None:
                self._turn(self.next_look)
                if self.ending is None and time.monotonic() >= self.next_look:
                    self._look()
        finally:
            self.end_all()
        self._rest()
        return self._ended(self.ending)

    def _listen_to_start(self) -> None:
        self._listen(self.pipe, self._read_output)
        self._listen(self.handle, self._exited)
        if self.launch.status is None:
            self._started(self.child.pid)
        else:
            self._listen(self.launch.status, self._read_status)

    def _ended(self, ending: Ending) -> Ended:
        code, ran = self.child.returncode, True
        if self.launch.group and self.launch.group.ran_out_of_memory() and ending is Ending.EXIT:
            ending, self.exited = Ending.MEMORY_LIMIT, False
        if self.exited and self.exit_code is None:
            self.exit_code = 128 - code if code < 0 else code
            ran = self.launch.status is None or code != BWRAP_FAILED
        failed = self.exited and ran and self.exit_code != 0
        if failed and self._disk_is_low():  # it ended before that was looked at
            ending = Ending.DISK_LIMIT
        return Ended(
            ending,
            self.exit_code if self.exited else None,
            duration_ms=round((time.monotonic() - self.began) * 1000),
            total_bytes=self.total,
            ran=ran,
            masked=self.printed.count,
            out_of_memory=failed and self._memory_ran_out(),
            why=self.why,
        )

    def _memory_ran_out(self) -> bool:
        """Return whether the kernel killed for memory since the first look; a command that ended before used little."""
        return self.kills_before is not None and processes.out_of_memory_kills() > self.kills_before

    def _listen(self, descriptor: int, heard: Callable[[], None]) -> None:
        os.set_blocking(descriptor, False)
        self.selector.register(descriptor, selectors.EVENT_READ, heard)
        self.listening.add(descriptor)

    def _unlisten(self, descriptor: int) -> None:
        self.selector.unregister(descriptor)
        self.listening.discard(descriptor)

    def _turn(self, until: float) -> None:
        for key, _ in self.selector.select(max(0.0, until - time.monotonic())):
            if key.fd in self.listening:
                key.data()

    def _look(self) -> None:
        """End the command where a person, the clock, its memory or the disk says so."""
        if self.kills_before is None:  # not at the start: reading it takes longer than all else that is done there
            self.kills_before = processes.out_of_memory_kills()
        now, deadline = time.monotonic(), self.began + self.limits.timeout_s
        self.next_look = min(now + LOOK_S, max(now, deadline))
        if self.ears.cancelled.is_set():
            self.ending = Ending.CANCELLED
        elif now >= deadline:
            self.ending = Ending.TIMEOUT
        elif self.init is not None and self.launch.status is not None and self._too_big(self.init):
            self.ending = Ending.MEMORY_LIMIT
        elif self._disk_is_low():
            self.ending = Ending.DISK_LIMIT

    def _too_big(self, init: int) -> bool:
        left = processes.memory_left()
        if left < self.limits.memory_floor_bytes:
            self.why = f"the machine has only {left // MIB} MB of memory left"
            return True
        return processes.memory_used(init, self.limits.memory_bytes) > self.limits.memory_bytes

    def _disk_is_low(self) -> bool:
        short = disk.shortage(self.disks, self.limits.disk_floor_bytes)
        self.why = short or self.why
        return bool(short)

    def _read_output(self) -> None:
        try:
            data = os.read(self.pipe, PIECE)
        except BlockingIOError:
            return
        if not data:
            self._unlisten(self.pipe)
            return
        self.read += len(data)
        self._keep(self.printed.feed(data))
        if self.read > self.limits.output_bytes:
            self.ending = Ending.OUTPUT_LIMIT
        if self.read > self.limits.output_bytes + self.printed.mask.longest:  # no secret that begins within is cut
            self._unlisten(self.pipe)

    def _keep(self, data: bytes) -> None:
        """Keep what was printed; where the disk has no room for it the command ends, and what follows is not kept."""
        if not data or self.no_room:
            return
        written = 0
        try:
            while written < len(data):  # an unbuffered write may take only a part
                written += self.output.write(memoryview(data)[written:])
        except OSError as error:
            self._must_be_full(error)
        if written:
            self.total += written
            self.ears.on_bytes(data[:written])

    def _must_be_full(self, error: OSError) -> None:
        """Note that the disk is full, and what that means for the command; raise any other error again."""
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise error
        self.no_room, self.ending = True, Ending.DISK_LIMIT
        self.why = "there is no room for what Sakura keeps of it"

    def _read_status(self) -> None:
        """Read what bubblewrap says: the number of the sandbox's first process, then the command's exit code."""
        assert self.launch.status is not None
        try:
            data = os.read(self.launch.status, PIECE)
        except BlockingIOError:
            return
        if not data:
            self._unlisten(self.launch.status)
            return
        *lines, self.status = (self.status + data).split(b"\n")
        for said in map(json.loads, lines):
            if "child-pid" in said:
                self._started(said["child-pid"])
            self.exit_code = said.get("exit-code", self.exit_code)

    def _started(self, pid: int) -> None:
        started, handle = processes.start_time(pid), processes.open_pidfd(pid)
        if started is None or handle is None:
            return
        self.held.callback(os.close, handle)
        self.init, self.init_handle = pid, handle
        try:
            self.ears.on_start(pid, started)
        except OSError as error:
            self._must_be_full(error)

    def _exited(self) -> None:
        self._unlisten(self.handle)
        if self.launch.status in self.listening:
            self._read_status()
        if self.ending is None:
            self.ending, self.exited = Ending.EXIT, True

    def end_all(self) -> None:
        """Kill whatever the command started and wait until it is gone; calling again does no harm."""
        if self.child.returncode is not None:
            return
        if self.init is None and self.launch.status in self.listening:
            self._read_status()  # before the one who tells it is killed
        if self.launch.group:
            self.launch.group.kill()
        if self.init_handle is not None and self.launch.status is not None:
            processes.kill_and_wait(self.init_handle, GONE_S)
        processes.kill_group(self.child.pid)
        with suppress(subprocess.TimeoutExpired):  # stuck in the kernel; it dies as soon as that lets go
            self.child.wait(timeout=GONE_S)
        if self.launch.marker:
            processes.kill_marked({self.launch.marker})

    def _rest(self) -> None:
        """Read what is left in the pipe; everyone who could hold it open is dead, or has REST_S."""
        until = time.monotonic() + REST_S
        while self.pipe in self.listening and time.monotonic() < until:
            self._turn(until)
        self._keep(self.printed.end())
