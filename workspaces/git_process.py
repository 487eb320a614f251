"""One git process: its bounds, what it says, and that nothing of it is left at the end."""

import io
import os
import select
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from workspaces import cuts

OUTPUT_LIMIT = 256 * 1024 * 1024
"""Bytes that one git may print."""
ERROR_LIMIT = 64 * 1024
"""Bytes of what git says on stderr that are kept; the end of it."""
GRACE_S = 0.5
TICK_S = 0.25
"""How often a waiting caller is asked whether to go on."""


class GitError(Exception):
    """A git that failed; the message is one sentence, `stderr` what git said, `args_shown` what was run."""

    def __init__(self, message: str, *, stderr: str = "", args_shown: str = "") -> None:
        super().__init__(message)
        self.stderr = stderr
        self.args_shown = args_shown


class GitStopped(GitError):
    """The caller's `stop` said so."""


class GitFull(GitError):
    """Git printed more than it may."""


class GitTimeout(GitError):
    """Git took longer than it may."""


@dataclass(frozen=True)
class Bounds:
    """What ends a git before its own end. `on_error` gets each piece of stderr; `stop` is asked four times a second."""

    timeout_s: float = 60
    limit_bytes: int = OUTPUT_LIMIT
    on_error: Callable[[bytes], None] | None = None
    stop: Callable[[], bool] | None = None


class Running:
    """A git at work; what it prints beyond what a pipe holds waits until it is asked for."""

    def __init__(self, process: "subprocess.Popen[bytes]", talk: "Talk", args: tuple[str, ...], ok: tuple[int, ...]):
        self._process, self._talk, self._args, self._ok = process, talk, args, ok
        talk.begin()

    def output(self) -> bytes:
        """Wait for its end and return what it printed. Raises GitError when it ends with a code that is not `ok`."""
        talk, shown = self._talk, " ".join(("git", *self._args))[:300]
        try:
            talk.carry_on()
        except GitError as error:
            error.stderr, error.args_shown = talk.stderr, shown
            raise
        code = self._process.returncode
        if code not in self._ok:
            message = f"git {self._args[0]} failed: {_last_line(talk.stderr) or f'exit code {code}'}"
            raise GitError(message, stderr=talk.stderr, args_shown=shown)
        return bytes(talk.out)

    def head(self, limit_bytes: int) -> tuple[bytes, bool]:
        """Return the first bytes that it prints, and whether there is more; then it is ended."""
        talk = self._talk
        try:
            return self.output()[:limit_bytes], len(talk.out) > limit_bytes
        except GitFull:
            return bytes(talk.out[:limit_bytes]), True


class Talk:
    """Feeds a process, takes what it says within the bounds, and watches the clock."""

    def __init__(self, process: "subprocess.Popen[bytes]", data: bytes | None, bounds: Bounds) -> None:
        self.out = bytearray()
        self._said = bytearray()
        self._left = memoryview(data or b"")
        self._process = process
        self._bounds = bounds
        self._deadline = time.monotonic() + bounds.timeout_s

    @property
    def stderr(self) -> str:
        return self._said.decode(errors="replace")

    def begin(self) -> None:
        """Give the process what it can take at once, so that it works while nobody asks."""
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)
            if not (self._left and self._feed()):
                _close(self._process.stdin)

    def carry_on(self) -> None:
        """Talk until the process has ended. Raises GitTimeout, GitStopped or GitError (too much output)."""
        with selectors.DefaultSelector() as waiting:
            self._listen(waiting)
            while waiting.get_map():
                for key, _ in waiting.select(TICK_S):
                    if not key.data():
                        waiting.unregister(key.fileobj)
                        _close(key.fileobj)
                self._check()
        while not self._has_ended():
            self._check()

    def _has_ended(self) -> bool:
        """Wait for a tick, or until the process has ended, which it is about to when its pipes are closed."""
        if self._process.poll() is None:
            handle = os.pidfd_open(self._process.pid)
            try:
                waiting = select.poll()
                waiting.register(handle, select.POLLIN)
                waiting.poll(TICK_S * 1000)
            finally:
                os.close(handle)
        return self._process.poll() is not None

    def _listen(self, waiting: selectors.BaseSelector) -> None:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        waiting.register(self._process.stdout, selectors.EVENT_READ, self._take)
        waiting.register(self._process.stderr, selectors.EVENT_READ, self._note)
        if self._process.stdin is not None and not self._process.stdin.closed:
            waiting.register(self._process.stdin, selectors.EVENT_WRITE, self._feed)

    def _take(self) -> bool:
        assert self._process.stdout is not None
        piece = os.read(self._process.stdout.fileno(), 1 << 18)
        self.out += piece
        if len(self.out) > self._bounds.limit_bytes:
            raise GitFull(f"git printed more than {self._bounds.limit_bytes:,} bytes and was ended.")
        return bool(piece)

    def _note(self) -> bool:
        assert self._process.stderr is not None
        piece = os.read(self._process.stderr.fileno(), 1 << 16)
        self._said += piece
        del self._said[:-ERROR_LIMIT]
        if piece and self._bounds.on_error is not None:
            self._bounds.on_error(piece)
        return bool(piece)

    def _feed(self) -> bool:
        assert self._process.stdin is not None
        try:
            self._left = self._left[os.write(self._process.stdin.fileno(), self._left[: 1 << 16]) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:
            return False  # its exit code tells the rest
        return bool(self._left)

    def _check(self) -> None:
        if self._bounds.stop is not None and self._bounds.stop():
            raise GitStopped("git was stopped.")
        if time.monotonic() > self._deadline:
            raise GitTimeout(f"git took longer than {self._bounds.timeout_s:g} seconds and was ended.")


def _close(pipe: object) -> None:
    assert isinstance(pipe, io.IOBase)
    with suppress(BrokenPipeError):
        pipe.close()


def end(process: "subprocess.Popen[bytes]") -> None:
    """Make sure that nothing of the process group is left (ssh and git's own helpers are in it)."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGTERM)  # so that git takes its lock files along
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            _close(pipe)


def _last_line(stderr: str) -> str:
    lines = [line.strip() for line in stderr.replace("\r", "\n").split("\n") if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal:", "error:", "ERROR:"))]
    return cuts.head((telling or lines or [""])[0].removeprefix("fatal: ").removeprefix("error: "), 500)
