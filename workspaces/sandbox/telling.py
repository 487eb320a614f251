"""What became of each connection of one command: numbered, told in order by a thread of its own, summed by target."""

import logging
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from queue import SimpleQueue
from typing import Any

from workspaces.sandbox.place import Connection, Way

log = logging.getLogger(__name__)

TOLD = 200
"""Connections of one command that are told one by one; those past it are told as one, at its end."""
TARGETS = 20
"""Targets of one command that are summed each by itself; the rest are summed together."""
WHY_CHARS = 400
TELL_S = 20.0
"""How long the end of a command waits until all is told."""


@dataclass(eq=False)
class Line:
    """One connection: where to, its number once something was told of it, and the bytes that it carried so far."""

    target: str = ""
    number: int = 0
    sent: int = 0
    received: int = 0


@dataclass
class Sum:
    """The connections to one target."""

    target: str
    opened: int = 0
    refused: int = 0
    failed: int = 0
    sent: int = 0
    received: int = 0
    why: str = ""

    def add(self, line: Line, way: Way, why: str) -> None:
        self.opened += way is Way.OPENED
        self.refused += way is Way.REFUSED
        self.failed += way is Way.FAILED
        self.sent += line.sent
        self.received += line.received
        self.why = why or self.why


@dataclass
class Telling:
    """Takes what the threads of a proxy see, and tells it; none of them waits for who listens."""

    hear: Callable[[Connection], None]
    _sums: dict[str, Sum] = field(default_factory=dict)
    _others: Sum = field(default_factory=lambda: Sum(""))
    _more: Sum = field(default_factory=lambda: Sum(""))
    _live: set[Line] = field(default_factory=set)
    _count: int = 0
    _is_over: bool = False

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: SimpleQueue[Connection | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def begin(self) -> Line:
        """Return the line of a connection that came in; it gets its number with what is told first."""
        line = Line()
        with self._lock:
            self._live.add(line)
        return line

    def opened(self, line: Line) -> bool:
        """Tell that the way is open; False where the command has ended meanwhile, so that it must not be used."""
        with self._lock:
            if line in self._live:
                self._tell(line, Way.OPENED)
            return line in self._live

    def ended(self, line: Line, way: Way = Way.CLOSED, why: str = "") -> None:
        """Tell how a connection ended; one that asked for nothing is forgotten, one that has ended stays as it is."""
        with self._lock:
            if line in self._live:
                self._live.remove(line)
                if line.number or way is not Way.CLOSED:
                    self._tell(line, way, why)

    def finish(self) -> None:
        """Tell of those that are open still, and how many more there were; wait until all is told, within bounds."""
        with self._lock:
            if not self._is_over:
                self._is_over = True
                self._settle()
        if self._thread is not None:
            self._thread.join(TELL_S)
            if self._thread.is_alive():
                log.warning(
                    "%s connections of a command wait to be stored; it ends without them", self._waiting.qsize()
                )

    def sums(self) -> list[dict[str, Any]]:
        """Return the sums, a bounded list; what went beside the first targets comes last, without a target."""
        with self._lock:
            found = [*self._sums.values(), *([self._others] if self._others != Sum("") else [])]
            return [asdict(each) for each in found]

    # --- with the lock held ------------------------------------------------------------------------------

    def _settle(self) -> None:
        for line in sorted(self._live, key=lambda line: line.number or self._count + 1):
            if line.number:
                self._tell(line, Way.CLOSED)
            elif line.target:
                self._tell(line, Way.FAILED, f"The command ended before {line.target} was reached.")
        self._live.clear()
        if self._count > TOLD:
            self._put(self._as_one())
        if self._thread is not None:
            self._waiting.put(None)

    def _as_one(self) -> Connection:
        more, count = self._more, self._count - TOLD
        why = f"{count} more connections: {more.opened} opened, {more.refused} refused, {more.failed} not reached."
        return Connection(TOLD + 1, "", Way.MORE, why, more.sent, more.received, count)

    def _tell(self, line: Line, way: Way, why: str = "") -> None:
        if line.number == 0:
            self._count += 1
            line.number = self._count
        why = why[:WHY_CHARS]
        self._sum_of(line.target).add(line, way, why)
        if line.number > TOLD:
            self._more.add(line, way, why)
        else:
            self._put(Connection(line.number, line.target, way, why, line.sent, line.received))

    def _sum_of(self, target: str) -> Sum:
        if target not in self._sums and len(self._sums) >= TARGETS:
            return self._others
        return self._sums.setdefault(target, Sum(target))

    def _put(self, connection: Connection) -> None:
        self._waiting.put(connection)
        if self._thread is None:
            self._thread = threading.Thread(target=self._speak, name="telling", daemon=True)
            self._thread.start()

    # --- in its own thread -------------------------------------------------------------------------------

    def _speak(self) -> None:
        while (connection := self._waiting.get()) is not None:
            self.hear(connection)
