"""One running command: its output, its bounds, and the end of everything it started."""

import json
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from workspaces.sandbox import processes
from workspaces.sandbox.launch import Launch
from workspaces.sandbox.place import Ending, Limits

PIECE = 64 * 1024
LOOK_S = 0.1
"""How often a cancel and the memory are looked at; a command that ends sooner is never kept waiting."""
REST_S = 1.0
"""How long output that is still in the pipe is read after everything ended."""
GONE_S = 5.0
STATUS_BYTES = 64 * 1024


@dataclass(frozen=True)
class Ears:
    """What the caller hears while a command runs, and how it asks for the end."""

    on_bytes: Callable[[bytes], None]
    on_start: Callable[[int, int], None]
    cancelled: threading.Event


@dataclass(frozen=True)
class Ended:
    """How it ended; `ran` is False where bubblewrap never got as far as the command."""

    ending: Ending
    exit_code: int | None
    duration_ms: int
    total_bytes: int
    ran: bool


def supervise(launch: Launch, limits: Limits, spool: Path, ears: Ears) -> Ended:
    """Start the command and wait for its end, in this one thread: the kernel ties a sandbox to the thread that made it.

    Raises OSError where the program can't be started or the spool can't be written; nothing is left running then either.
    """
    with ExitStack() as held:
        output = held.enter_context(spool.open("wb", buffering=0))
        return _Command(launch, limits, output, ears, held).wait()


class _Command:
    def __init__(self, launch: Launch, limits: Limits, output: BinaryIO, ears: Ears, held: ExitStack) -> None:
        self.launch, self.limits, self.output, self.ears = launch, limits, output, ears
        self.began = time.monotonic()
        self.child = held.enter_context(_start(launch))
        held.callback(self.end_all)
        launch.release()
        self.ending: Ending | None = None
        self.exit_code: int | None = None
        self.total = 0
        self.status = b""
        self.init: int | None = None
        self.init_handle: int | None = None
        self.next_look = self.began + LOOK_S
        self.selector = held.enter_context(selectors.DefaultSelector())
        self.handle = os.pidfd_open(self.child.pid)
        held.callback(os.close, self.handle)
        self._listen()

    def _listen(self) -> None:
        assert self.child.stdout is not None
        self.pipe = self.child.stdout.fileno()
        os.set_blocking(self.pipe, False)
        self.selector.register(self.pipe, selectors.EVENT_READ, self._read_output)
        self.selector.register(self.handle, selectors.EVENT_READ, self._exited)
        if self.launch.status is None:
            self._started(self.child.pid)
        else:
            os.set_blocking(self.launch.status, False)
            self.selector.register(self.launch.status, selectors.EVENT_READ, self._read_status)

    def wait(self) -> Ended:
        while self.ending is None:
            self._turn(self.next_look)
            if time.monotonic() >= self.next_look:
                self._look()
        self.end_all()
        self._rest()
        return Ended(
            ending=self.ending,
            exit_code=self.exit_code,
            duration_ms=round((time.monotonic() - self.began) * 1000),
            total_bytes=self.total,
            ran=self.launch.status is None or self.ending is not Ending.EXIT or self.exit_code is not None,
        )

    def _turn(self, until: float) -> None:
        for key, _ in self.selector.select(max(0.0, until - time.monotonic())):
            if key.fd in self.selector.get_map():
                key.data()

    def _look(self) -> None:
        now = time.monotonic()
        self.next_look = min(now + LOOK_S, max(now, self.began + self.limits.timeout_s))
        if self.ending is not None:
            return
        if self.ears.cancelled.is_set():
            self.ending = Ending.CANCELLED
        elif now >= self.began + self.limits.timeout_s:
            self.ending = Ending.TIMEOUT
        elif self.init is not None and self.launch.status is not None and self._too_big(self.init):
            self.ending = Ending.MEMORY_LIMIT

    def _too_big(self, init: int) -> bool:
        return processes.memory_used(init, self.limits.memory_bytes) > self.limits.memory_bytes

    def _read_output(self) -> None:
        try:
            data = os.read(self.pipe, PIECE)
        except BlockingIOError:
            return
        if not data:
            self.selector.unregister(self.pipe)
            return
        kept = data[: self.limits.output_bytes - self.total]
        if kept:
            self.output.write(kept)
            self.total += len(kept)
            self.ears.on_bytes(kept)
        if len(kept) < len(data) and self.ending is None:
            self.ending = Ending.OUTPUT_LIMIT

    def _read_status(self) -> None:
        """Read what bubblewrap says: the number of the sandbox's first process, then the command's exit code."""
        assert self.launch.status is not None
        try:
            data = os.read(self.launch.status, STATUS_BYTES)
        except BlockingIOError:
            return
        if not data:
            self.selector.unregister(self.launch.status)
            return
        self.status += data
        while b"\n" in self.status:
            line, _, self.status = self.status.partition(b"\n")
            said = json.loads(line)
            if "child-pid" in said:
                self._started(said["child-pid"])
            if "exit-code" in said:
                self.exit_code = said["exit-code"]

    def _started(self, pid: int) -> None:
        handle = processes.open_pidfd(pid)
        started = processes.start_time(pid)
        self.init, self.init_handle = pid, handle
        if started is not None and handle is not None:
            self.ears.on_start(pid, started)

    def _exited(self) -> None:
        self.selector.unregister(self.handle)
        if self.launch.status is None:
            code = self.child.wait()
            self.exit_code = 128 - code if code < 0 else code
        elif self.launch.status in self.selector.get_map():
            self._read_status()
        if self.ending is None:
            self.ending = Ending.EXIT

    def end_all(self) -> None:
        """Kill whatever the command started and wait until it is gone; calling again does no harm."""
        if self.child.returncode is None:
            self._know_init()
            processes.kill_group(self.child.pid)
        if self.init_handle is not None and self.launch.status is not None:
            _kill_and_wait(self.init_handle)
        if self.launch.marker:
            processes.kill_marked(self.launch.marker)
        self.child.wait(timeout=GONE_S)

    def _know_init(self) -> None:
        """Read the number of the first process before the one who tells it is killed."""
        if self.init is None and self.launch.status in self.selector.get_map():
            self._read_status()

    def _rest(self) -> None:
        """Read what is left in the pipe; everyone who could hold it open is dead, or has REST_S."""
        until = time.monotonic() + REST_S
        while self.pipe in self.selector.get_map() and time.monotonic() < until and self.total < self.limits.output_bytes:
            self._turn(until)
