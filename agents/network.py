"""The connections of a run's commands to the outside: stored as events, and the sums of them by target."""

import logging
from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import islice
from threading import Lock
from typing import Any

from django.db import Error
from django.db import connection as database
from django.db.models import BigIntegerField, Count, Max, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from agents.events import LeaseLost, TranscriptFull
from agents.kept import Kept
from agents.models import Event, Kind, Run
from agents.session import Session
from workspaces.sandbox import Connection, Way

log = logging.getLogger(__name__)

TARGETS = 50
"""Targets that are shown, those used last."""
TARGETS_KEPT = 1000
"""Targets of one run that are summed each by itself."""
CALLS = 10
"""Calls that are named for a target."""
ROWS = 5000
"""Sums that are read at once: one for each target, way and call."""


# --- storing -----------------------------------------------------------------------------------------------

_unstored: Counter[int] = Counter()
_unstored_lock = Lock()


def record(session: Session, call_id: str, connection: Connection) -> None:
    """Store what became of a connection as an event of the run; raise nothing, and count what can't be stored.

    A command's connections are told one after the other by a thread of its own (workspaces/sandbox/telling.py), which
    may end after any of them: its hold on the database ends with each.
    """
    data = {"call_id": call_id, **asdict(connection)}
    try:
        session.append(session.fact(Kind.NETWORK, data, call_id))
    except (LeaseLost, TranscriptFull) as error:  # the run's own thread finds out by itself
        log.info("Connection %s of call %r is not stored: %s", connection.number, call_id, error)
    except Error:
        log.exception("Connection %s of call %r of run %s is not stored", connection.number, call_id, session.run.pk)
        with _unstored_lock:
            _unstored[session.run.pk] += 1
    finally:
        database.close()


def unstored(run_id: int) -> str:
    """Return the sentence that tells how many events of connections could not be stored, once; "" for none."""
    with _unstored_lock:
        count = _unstored.pop(run_id, 0)
    many = "1 event of a connection" if count == 1 else f"{count} events of connections"
    return f"{many} to the outside could not be stored; the log of the server says why." if count else ""


# --- sums --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """What went to one host:port, or was stopped on its way there; `target` is "" where a request named none.

    `calls`: ids of the commands, the last ones; "" stands for set-up. `open`: opened and not closed, as far as is told.
    """

    target: str
    opened: int
    open: int
    refused: int
    failed: int
    sent: int
    received: int
    why: str
    last_at: datetime
    calls: tuple[str, ...]
    call_count: int


@dataclass(frozen=True)
class Traffic:
    """All connections of a run; `targets` has those used last, `more` counts the others.

    `untold`: connections of commands that made very many, which were told as one (workspaces/sandbox/telling.py).
    """

    targets: tuple[Target, ...] = ()
    more: int = 0
    opened: int = 0
    refused: int = 0
    failed: int = 0
    untold: int = 0
    sent: int = 0
    received: int = 0


def traffic(run: Run) -> Traffic:
    """Return the sums as of `run.last_seq`. One query, if any event is new."""
    return _ledgers.get((run.pk, run.created_at), _Ledger).catch_up(run)


@dataclass
class _Tally:
    ways: Counter[str] = field(default_factory=Counter)
    sent: int = 0
    received: int = 0
    why: str = ""
    last_at: datetime | None = None
    calls: dict[str, None] = field(default_factory=dict)

    def add(self, row: dict[str, Any]) -> None:
        self.ways[row["way"] or ""] += row["number"]
        self.sent += row["sent"] or 0
        self.received += row["received"] or 0
        self.why = row["why"] or self.why
        self.last_at = row["last_at"]
        self.calls.pop(row["call_id"], None)
        self.calls[row["call_id"]] = None

    def told(self, target: str) -> Target:
        assert self.last_at is not None
        opened, closed = self.ways[Way.OPENED], self.ways[Way.CLOSED]
        return Target(
            target=target,
            opened=opened,
            open=max(0, opened - closed),
            refused=self.ways[Way.REFUSED],
            failed=self.ways[Way.FAILED],
            sent=self.sent,
            received=self.received,
            why=self.why,
            last_at=self.last_at,
            calls=tuple(islice(reversed(self.calls), CALLS))[::-1],
            call_count=len(self.calls),
        )


class _Ledger:
    """The sums of one run. Events are only ever appended, so what was summed stays true."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known = 0
        self._tallies: dict[str, _Tally] = {}
        self._all = _Tally()
        self._untold = 0
        self._beside = 0
        self._told = Traffic()

    def catch_up(self, run: Run) -> Traffic:
        with self._lock:
            if run.last_seq > self._known and (rows := _read(run.pk, self._known, run.last_seq)):
                for row in rows:
                    self._add(row)
                self._told = self._sums()
            self._known = max(self._known, run.last_seq)
            return self._told

    def _add(self, row: dict[str, Any]) -> None:
        self._all.add(row | {"call_id": ""})
        target = row["target"] or ""
        if row["way"] == Way.MORE:
            self._untold += row["count"] or 0
        elif target in self._tallies or len(self._tallies) < TARGETS_KEPT:
            tally = self._tallies.pop(target, None) or _Tally()
            tally.add(row)
            self._tallies[target] = tally  # last in order is what was used last
        else:
            self._beside += 1

    def _sums(self) -> Traffic:
        shown = islice(reversed(self._tallies.items()), TARGETS)
        ways = self._all.ways
        return Traffic(
            targets=tuple(tally.told(target) for target, tally in shown),
            more=max(0, len(self._tallies) - TARGETS) + self._beside,
            opened=ways[Way.OPENED],
            refused=ways[Way.REFUSED],
            failed=ways[Way.FAILED],
            untold=self._untold,
            sent=self._all.sent,
            received=self._all.received,
        )


_ledgers: Kept[_Ledger] = Kept(64)


def _read(run_id: int, after: int, upto: int) -> list[Any]:
    """Return the sums past `after` as dicts by target, way and call, those used last at the end; at most ROWS."""
    found = Event.objects.filter(run_id=run_id, kind=Kind.NETWORK, seq__gt=after, seq__lte=upto)
    grouped = found.annotate(target=KT("data__target"), way=KT("data__way")).values("target", "way", "call_id")
    summed = grouped.annotate(
        number=Count("pk"),
        count=Sum(_whole("count")),
        sent=Sum(_whole("sent")),
        received=Sum(_whole("received")),
        why=Max(KT("data__why")),
        last_at=Max("at"),
        last_seq=Max("seq"),
    )
    return list(summed.order_by("-last_seq")[:ROWS])[::-1]


def _whole(key: str) -> Cast:
    return Cast(KT(f"data__{key}"), BigIntegerField())
