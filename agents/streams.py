"""Passing text on its way to the browser: pushed in small bursts, and made durable where it must not be lost."""

import logging
import threading
import time
from collections.abc import Callable

from django.db import DatabaseError, close_old_connections

from agents import doorbell, masks
from agents.events import LeaseLost, TranscriptFull
from workspaces import sgr, terminal
from workspaces.masking import Mask

log = logging.getLogger(__name__)

PUSH_EVERY_S = 0.08
KEEP_EVERY_S = 1.0
KEEP_CHARS = 64 * 1024
KEPT_AT_MOST = 256 * 1024
CUT = "\n… more than 256 K characters; the whole output follows when the command ends …\n"


class Stream:
    """The text of one model response or one running command.

    `write` is called by the thread that makes the text. A ticker thread pushes what has gathered every 80 ms, and
    hands it to `keep` (a durable piece: its text and its offset in characters) each second, or each 64 K. A piece
    begins with the colours in which the one before ended, so that each can be shown by itself. Secrets are masked
    also where pieces meet: what may be the beginning of one waits for the next.
    """

    def __init__(
        self,
        run_id: int,
        call_id: str = "",
        keep: Callable[[str, int], None] | None = None,
        mask: Mask | None = None,
    ) -> None:
        self._run_id, self._call_id, self._keep = run_id, call_id, keep
        self._masked = (mask or Mask()).stream()
        self._lock = threading.Lock()
        self._keeping = threading.Lock()
        self._passing: list[str] = []
        self._lasting: list[str] = []
        self._lasting_chars = 0
        self._kept = 0
        self._kept_at = 0.0
        self._style = sgr.PLAIN

    def write(self, text: str) -> None:
        """Take a piece of text."""
        with self._lock:
            text = self._masked.feed(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
            self._passing.append(text)
            if self._keep is not None and self._kept + self._lasting_chars < KEPT_AT_MOST:
                self._lasting.append(text)
                self._lasting_chars += len(text)
            full = self._lasting_chars >= KEEP_CHARS
        if full:
            self.keep()

    def push(self) -> None:
        """Send what has gathered since the last push."""
        with self._lock:
            text, self._passing = "".join(self._passing), []
        if text:
            doorbell.say(self._run_id, text[-KEEP_CHARS:], self._call_id)

    @property
    def is_due(self) -> bool:
        """Some text has waited for a second to be kept."""
        return self._lasting_chars > 0 and time.monotonic() - self._kept_at >= KEEP_EVERY_S

    def keep(self) -> None:
        """Make what has gathered durable. Raises LeaseLost."""
        with self._keeping:
            with self._lock:
                text, self._lasting, self._lasting_chars = "".join(self._lasting), [], 0
                offset, self._kept = self._kept, self._kept + len(text)
                self._kept_at = time.monotonic()
            if text and self._keep is not None:
                begun, self._style = self._style, terminal.style_after(text, self._style)
                self._keep(begun.escape + text + (CUT if self._kept >= KEPT_AT_MOST else ""), offset)

    def close(self) -> None:
        """Push the rest and keep no more: what makes the text durable as a whole comes next."""
        with self._keeping:
            self._keep = None
        with self._lock:
            self._passing.append(self._masked.end().decode("utf-8", "surrogatepass"))
        self.push()


class Ticker(threading.Thread):
    """Serves all open streams of the process; it sleeps while there are none."""

    def __init__(self) -> None:
        super().__init__(name="stream-ticker", daemon=True)
        self._lock = threading.Lock()
        self._streams: set[Stream] = set()
        self._some = threading.Event()

    def run(self) -> None:
        while True:
            self._some.wait()
            time.sleep(PUSH_EVERY_S)
            with self._lock:
                streams = list(self._streams)
                if not streams:
                    self._some.clear()
            for stream in streams:
                self._serve(stream)

    def _serve(self, stream: Stream) -> None:
        stream.push()
        if not stream.is_due:
            return
        try:
            stream.keep()
        except (LeaseLost, TranscriptFull):
            self.remove(stream)  # the run's own thread finds out by itself
        except DatabaseError:
            log.exception("A piece of output could not be kept; the result will carry it")
        finally:
            close_old_connections()

    def add(self, stream: Stream) -> None:
        with self._lock:
            self._streams.add(stream)
            self._some.set()

    def remove(self, stream: Stream) -> None:
        with self._lock:
            self._streams.discard(stream)


_ticker: Ticker | None = None
_ticker_lock = threading.Lock()


def _the_ticker() -> Ticker:
    global _ticker
    with _ticker_lock:
        if _ticker is None:
            _ticker = Ticker()
            _ticker.start()
        return _ticker


class OpenStream:
    """A context in which a Stream is served; at its end the rest is pushed."""

    def __init__(self, run_id: int, call_id: str = "", keep: Callable[[str, int], None] | None = None) -> None:
        self._stream = Stream(run_id, call_id, keep, masks.of_run(run_id))

    def __enter__(self) -> Stream:
        _the_ticker().add(self._stream)
        return self._stream

    def __exit__(self, *_: object) -> None:
        _the_ticker().remove(self._stream)
        self._stream.close()
