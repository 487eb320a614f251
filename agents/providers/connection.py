"""The connection to a model's server: it can be cut from another thread at any moment, and what it gives is bounded."""

import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, cast

import httpx2  # both SDKs are built on it

from agents.providers.base import Cancelled, ProviderError, Request, Response, Trouble

TIMEOUT = httpx2.Timeout(connect=10, read=120, write=60, pool=10)
"""`read` is the longest silence between two chunks."""
TOTAL_S = 900
"""The longest a whole response may take."""
LOOK_S = 0.1
"""How often a silent connection is left to see whether the run was cancelled."""
LEAVE_S = 0.5
"""How long a cut request may take to end; one that is still connecting ends by itself (connect timeout)."""
MAX_BYTES = 64_000_000
"""The most that one response may send."""

Hooks = dict[str, list[Callable[..., Any]]]
Ask = Callable[[Callable[[str], None]], Response]


class Line:
    """The HTTP connection of one provider. It serves one request at a time; once cut, it stays cut."""

    def __init__(self) -> None:
        self.is_cut = False
        self._stream: Any = None

    def hooks(self) -> Hooks:
        """Return the event hooks that an HTTP client needs to be cut by this line."""
        return {"request": [self._watch], "response": [_bound]}

    def cut(self) -> None:
        """Break the connection off, whoever reads from it, and any that is still being made."""
        self.is_cut = True
        if self._stream is not None:
            _shut(self._stream)

    def _watch(self, request: httpx2.Request) -> None:
        request.extensions["trace"] = self._connected

    def _connected(self, name: str, info: dict[str, Any]) -> None:
        if not name.endswith(("connect_tcp.complete", "start_tls.complete")):
            return
        self._stream = info["return_value"]
        if self.is_cut:
            _shut(self._stream)


class Wired(ABC):
    """A provider that asks over a line, and takes a new one when that was cut."""

    def __init__(self) -> None:
        self._wire()

    def _wire(self) -> None:
        self._line = Line()
        self._connect(hooks=self._line.hooks())

    @abstractmethod
    def _connect(self, hooks: Hooks) -> None:
        """Make the client anew, with these event hooks."""

    @abstractmethod
    def _ask(self, request: Request, say: Callable[[str], None]) -> Response:
        """Ask once and read the stream. Raises ProviderError."""

    def respond(self, request: Request, on_text: Callable[[str], None], cancelled: threading.Event) -> Response:
        """Ask, stream words to `on_text`, return the whole response."""
        if cancelled.is_set():
            raise Cancelled
        if self._line.is_cut:
            self._wire()
        return listen(self._line, partial(self._ask, request), on_text, cancelled)


def listen(line: Line, ask: Ask, on_text: Callable[[str], None], cancelled: threading.Event) -> Response:
    """Run `ask` in a thread of its own and pass on what it says, until it ends or the run is cancelled.

    A thread that waits for bytes can't look at `cancelled`, so this one does. Raises what `ask` raises, Cancelled, or
    ProviderError when the response takes longer than TOTAL_S.
    """
    pieces: SimpleQueue[str | None] = SimpleQueue()
    executor = ThreadPoolExecutor(1, thread_name_prefix="model")
    future = executor.submit(ask, pieces.put)
    future.add_done_callback(lambda _: pieces.put(None))
    executor.shutdown(wait=False)
    try:
        _pass_on(pieces, on_text, cancelled)
    finally:
        if not future.done():
            _leave(line, future)
    return future.result()


def _pass_on(pieces: SimpleQueue[str | None], on_text: Callable[[str], None], cancelled: threading.Event) -> None:
    deadline = time.monotonic() + TOTAL_S
    while True:
        if cancelled.is_set():
            raise Cancelled
        if time.monotonic() > deadline:
            raise ProviderError(Trouble.TIMEOUT, f"The model took over {TOTAL_S // 60} minutes to answer; given up.")
        try:
            piece = pieces.get(timeout=LOOK_S)
        except Empty:
            continue
        if piece is None:
            return
        on_text(piece)


def _leave(line: Line, future: Future[Response]) -> None:
    line.cut()
    wait([future], timeout=LEAVE_S)


def _shut(stream: Any) -> None:
    """Shut the socket below the stream; closing it would not wake the thread that reads from it."""
    under = stream.get_extra_info("socket")
    if not isinstance(under, socket.socket):
        return
    with suppress(OSError):  # it may be closed already
        socket.socket.shutdown(under, socket.SHUT_RDWR)  # the plain one, even for TLS: no goodbye that could block


class _Bounded(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        left = MAX_BYTES
        for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise ProviderError(Trouble.BAD_ANSWER, f"The model's server sent over {MAX_BYTES} bytes; given up.")
            yield chunk

    def close(self) -> None:
        self._stream.close()


def _bound(response: httpx2.Response) -> None:
    response.stream = _Bounded(cast("httpx2.SyncByteStream", response.stream))
