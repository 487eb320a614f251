"""A proof as pages show it: its state in a word, each command with how it ended, tests by name, what was put right."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from django.utils.safestring import SafeString

from agents import cards, events, told
from agents.models import Proof, Run, Status
from agents.proofs import State, standing
from workspaces.integrity.findings import FindingKind
from workspaces.proving.results import NOT_RUN
from workspaces.sandbox import Ending

COMMANDS, NAMES, PATHS, REASONS = 20, 50, 200, 20
"""Of each, so many are shown."""


class Look(NamedTuple):
    """A state as pages show it: a tone of the style sheet, an icon, a word."""

    tone: str
    icon: str
    word: str


_LOOKS = {
    State.GREEN: Look("ok", "pass", "Green"),
    State.RED: Look("bad", "fail", "Red"),
    State.STALE: Look("warn", "clock", "Stale"),
    State.RUNNING: Look("info", "run", "Running"),
    State.WAITING: Look("info", "queued", "Waits"),
    State.UNPROVEN: Look("warn", "ask", "Unproven"),
    State.NONE: Look("", "ask", "No proof yet"),
}
OPEN = (State.WAITING, State.RUNNING)
_ENDINGS = {
    Ending.TIMEOUT.value: "took too long",
    Ending.CANCELLED.value: "stopped",
    Ending.OUTPUT_LIMIT.value: "printed too much",
    Ending.MEMORY_LIMIT.value: "used too much memory",
    Ending.DISK_LIMIT.value: "used too much disk",
    Ending.UNAVAILABLE.value: "could not run",
}


@dataclass(frozen=True)
class Command:
    """One verify command and how it ended; `ran_as` only where that differs. `output` is HTML of its end."""

    command: str
    look: Look
    ended: str
    duration_ms: int | None
    tests: int = 0
    ran_as: str = ""
    why: str = ""
    output: SafeString = field(default_factory=SafeString)
    output_ref: str = ""

    @property
    def is_failed(self) -> bool:
        return self.look.tone in ("bad", "warn")

    @property
    def has_more(self) -> bool:
        return bool(self.output or self.output_ref or self.ran_as or self.why)


@dataclass(frozen=True)
class Count:
    """How many tests are in a state, in the tone of it."""

    count: int
    word: str
    tone: str = ""


@dataclass(frozen=True)
class Named:
    """Tests, or paths, under a label; `more` are not named, `count` is how many there are in all."""

    label: str
    names: tuple[str, ...]
    more: int = 0
    tone: str = ""

    @property
    def count(self) -> int:
        return len(self.names) + self.more


@dataclass(frozen=True)
class Left:
    """A planted file that the proof left out, and why."""

    path: str
    why: str


@dataclass(frozen=True)
class Shown:
    """A proof, or that there is none; `since` is the first snapshot that a stale one says nothing of."""

    state: State
    look: Look
    was: Look | None = None
    """What a stale one said of its snapshot."""
    snapshot: int = 0
    since: int = 0
    tree: str = ""
    proved_tree: str = ""
    reasons: tuple[str, ...] = ()
    commands: tuple[Command, ...] = ()
    counts: tuple[Count, ...] = ()
    named: tuple[Named, ...] = ()
    put_back: Named = Named("Put back to the baseline", ())
    left_out: tuple[Left, ...] = ()
    suspect: str = ""
    added: int = 0
    ended_at: datetime | None = None

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    @property
    def is_of_commands(self) -> bool:
        """Whether it rests on commands that ran, so that it is of a fresh tree."""
        return bool(self.commands) and not self.is_open


# --- from a run, a row, an event ---------------------------------------------------------------------


def of_run(run: Run) -> Shown:
    """Return how the run's latest proof stands to its files. At most three queries, none where none was begun."""
    if not run.proof_state:
        return of_row(None, State.NONE)
    found = standing(run)
    return of_row(found.proof, found.state, found.since)


def of_row(row: Proof | None, state: State, since: int = 0) -> Shown:
    """Return a proof in the state in which it stands to the files now."""
    if row is None:
        return Shown(state, _LOOKS[state])
    columns = ("snapshot", "tree", "proved_tree", "reasons", "commands", "tests", "put_back", "left_out")
    report = row.integrity if isinstance(row.integrity, dict) else {}
    data = {name: getattr(row, name) for name in columns} | {"state": row.state, "integrity": report.get("counts")}
    return _shown(data, state, since, row.ended_at)


def of_data(data: dict[str, Any]) -> Shown:
    """Return a proof as its event tells it; what has another shape, as in an old event, is taken as absent."""
    return _shown(data, _state(data.get("state")), 0, None)


def _shown(data: dict[str, Any], state: State, since: int, ended_at: datetime | None) -> Shown:
    tests = data.get("tests") if isinstance(data.get("tests"), dict) else {}
    counts = integrity_counts(data.get("integrity"))
    return Shown(
        state=state,
        look=look(state, since),
        was=_LOOKS[_state(data.get("state"))] if state is State.STALE else None,
        snapshot=told.count(data.get("snapshot")) or 0,
        since=since,
        tree=told.text(data.get("tree"), 64),
        proved_tree=told.text(data.get("proved_tree"), 64),
        reasons=tuple(told.texts(data.get("reasons"))[:REASONS]),
        commands=tuple(_command(each) for each in told.rows(data.get("commands"))[:COMMANDS]),
        counts=_counts(tests or {}),
        named=_named(tests or {}),
        put_back=_listed("Put back to the baseline", data.get("put_back")),
        left_out=_left_out(data.get("left_out")),
        suspect=suspect_words(counts),
        added=counts.get(FindingKind.ADDED, 0),
        ended_at=ended_at,
    )


def _state(value: Any) -> State:
    return State(value) if value in tuple(State) else State.NONE


def look(state: State, since: int = 0) -> Look:
    """Return how a state looks; a stale one says since which snapshot."""
    found = _LOOKS[state]
    return found._replace(word=f"Stale since snapshot {since:,}") if since and state is State.STALE else found


# --- its parts -----------------------------------------------------------------------------------------


def _command(data: dict[str, Any]) -> Command:
    command, ran_as = told.text(data.get("command"), 4000), told.text(data.get("ran_as"), 4000)
    return Command(
        command=command,
        look=_ended_look(data),
        ended=_ended(data),
        duration_ms=told.count(data.get("duration_ms")),
        tests=told.count(data.get("test_count")) or 0,
        ran_as=ran_as if ran_as != command else "",
        why=told.text(data.get("why")),
        output=cards.printed(events.shown(data.get("output_tail") or data.get("output") or "")),
        output_ref=told.text(data.get("output_ref"), 200),
    )


def _ended_look(data: dict[str, Any]) -> Look:
    if "exit_code" not in data:
        return Look("info", "term", "")
    match data.get("exit_code"), data.get("ending"):
        case 0, _:
            return Look("ok", "pass", "Passed")
        case None, str(ending) if ending in NOT_RUN:
            return Look("warn", "warn", "Not run")
        case _:
            return Look("bad", "fail", "Failed")


def _ended(data: dict[str, Any]) -> str:
    """Return how a command ended, in words; "" for one that did not end yet."""
    if "exit_code" not in data:
        return ""
    if (code := data.get("exit_code")) is not None:
        return f"exit {str(code)[:12]}"
    ending = data.get("ending")
    return _ENDINGS.get(ending, "no exit code") if isinstance(ending, str) else "no exit code"


_COUNTS = (
    ("passed", "passed", "ok"),
    ("failed", "failed", "bad"),
    ("skipped", "skipped", ""),
    ("already_red", "already red at the base", ""),
    ("missing_count", "missing", "bad"),
    ("now_skipped_count", "skipped that passed at the base", "bad"),
    ("fixed", "red at the base and green now", "ok"),
)
_NAMED = (
    ("missing", "Passed at the base, and did not run", "bad"),
    ("failing", "Failing", "bad"),
    ("now_skipped", "Passed at the base, and skipped", "warn"),
)


def _counts(tests: dict[str, Any]) -> tuple[Count, ...]:
    found = ((told.count(tests.get(key)), word, tone) for key, word, tone in _COUNTS)
    return tuple(Count(count, word, tone) for count, word, tone in found if count)


def _named(tests: dict[str, Any]) -> tuple[Named, ...]:
    parts = (
        _listed(label, tests.get(key), told.count(tests.get(f"{key}_count")), tone, NAMES)
        for key, label, tone in _NAMED
    )
    return tuple(part for part in parts if part.names)


def _listed(label: str, value: Any, count: int | None = None, tone: str = "", most: int = PATHS) -> Named:
    names = tuple(told.texts(value)[:most])
    known = len(value) if isinstance(value, list | tuple) else 0
    return Named(label, names, max(count or 0, known) - len(names), tone)


def _left_out(value: Any) -> tuple[Left, ...]:
    return tuple(Left(told.text(row.get("path")), told.text(row.get("why"))) for row in told.rows(value)[:PATHS])


# --- counts of the integrity report, and the board -------------------------------------------------------


def integrity_counts(value: Any) -> dict[str, int]:
    """Return how many findings there are by kind, worst first."""
    known = value if isinstance(value, dict) else {}
    counts = ((kind.value, told.count(known.get(kind))) for kind in FindingKind)
    return {kind: count for kind, count in counts if count}


def suspect_words(counts: dict[str, int]) -> str:
    """Return what may be bad in few words, as in "2 skipped · 1 loosened"; "" where nothing is."""
    return " · ".join(f"{count:,} {kind}" for kind, count in counts.items() if kind != FindingKind.ADDED)


@dataclass(frozen=True)
class Glance:
    """A run's proof in a word, as its row tells it."""

    look: Look
    suspect: str


def glance(run: Run) -> Glance | None:
    """Return what the run's own row tells of its proof, without a query; None where none was begun."""
    state = _state(run.proof_state)
    suspect = suspect_words(integrity_counts(run.integrity))
    if state in OPEN and run.state not in (Status.REVIEWING, Status.AWAITING_HUMAN):
        state = State.NONE
    elif state is not State.NONE and run.proof_snapshot < run.snapshot:
        state = State.STALE
    if state is State.NONE and not suspect:
        return None
    found = _LOOKS[state]._replace(word=_GLANCES[state])
    return Glance(found._replace(tone="") if state is State.UNPROVEN else found, suspect)


_GLANCES = {
    State.GREEN: "Proof green",
    State.RED: "Proof red",
    State.STALE: "Proof stale",
    State.RUNNING: "Proof running",
    State.WAITING: "Proof waits",
    State.UNPROVEN: "Unproven",
    State.NONE: "No proof",
}
