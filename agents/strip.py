"""The time strip of a run: calls, thoughts, snapshots and what people did, drawn over time. All is pure but `of`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import NamedTuple

from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString

from agents import doings, trace
from agents.axis import Axis
from agents.doings import Call, Seconds, Thought
from agents.kept import Kept
from agents.models import Agent, Kind, Run, Status
from agents.templatetags.sakura import clock, count_of
from agents.trace import Row
from workspaces.odd import spelled

NOW_EVERY_S = 5
"""While nothing new happens, the end of a live strip moves on in steps of so many seconds."""
LANES = {"you": 30, Agent.IMPLEMENTER.value: 50, Agent.REVIEWER.value: 70, "snapshots": 90}
"""The middle of each lane, in pixels."""
NARROWEST, THINNEST = 0.7, 0.2
"""Per cent of the width that a call takes at least: among few calls, and among many."""
TOUCHING, CROWDED = 0.1, 0.6
"""Per cent between two marks below which they become one: of calls, and of snapshots or what people did."""
MOST_SHIFT = 2.0
"""Per cent that a mark is moved to the right at most, so that the one before it stays whole."""
TEXT_APART, TEXT_APART_ON_PHONE = 5.0, 18.0
LAST_TICK = 94.0
LONG_S = 3000.0
"""Seconds of work from which the times below the strip are long words."""
NOUNS = {
    "read": "read",
    "write": "write",
    "execute": "command",
    "finish": "end of work,ends of work",
    "failed": "failed call",
    "denied": "denied call",
    "running": "running call",
    "snap": "snapshot",
}


# --- what the template draws -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Mark:
    """Something that links to its place in the transcript; `x` and `width` in per cent, `y` in pixels."""

    seq: int
    look: str
    x: float
    width: float
    y: int
    step: int
    target: str
    label: str
    count: int = 1

    @property
    def is_call(self) -> bool:
        return self.look not in ("snap", "human")

    @property
    def top(self) -> int:
        return self.y - 6

    @property
    def end(self) -> float:
        return self.x + self.width

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


class Bar(NamedTuple):
    """A stretch of a lane, in per cent and pixels: a model thinks."""

    x: float
    width: float
    y: float


class Gap(NamedTuple):
    """Idle time, pressed."""

    x: float
    width: float
    label: str
    text: str
    is_tight: bool

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


class Word(NamedTuple):
    """A text at a place; a tight one has no room on a phone."""

    x: float
    text: str
    is_tight: bool


class Band(NamedTuple):
    """One round."""

    x: float
    width: float
    name: Word | None


@dataclass(frozen=True)
class Strip:
    """All that the template draws; without marks and bars there is nothing to show."""

    label: str = ""
    bands: Sequence[Band] = ()
    ticks: Sequence[Word] = ()
    gaps: Sequence[Gap] = ()
    bars: Sequence[Bar] = ()
    marks: Sequence[Mark] = ()
    here: float | None = None
    cut_before: int = 0

    def __bool__(self) -> bool:
        return bool(self.bars) or any(mark.is_call for mark in self.marks)

    @cached_property
    def drawing(self) -> SafeString:
        """The HTML of it, made once."""
        return SafeString(render_to_string("agents/panels/_strip_drawing.html", {"strip": self}).strip())

    @property
    def lanes(self) -> list[int]:
        return list(LANES.values())

    @property
    def crosses(self) -> list[Mark]:
        return [mark for mark in self.marks if mark.look == "failed"]


# --- drawing ---------------------------------------------------------------------------------------------


_kept: Kept[Strip] = Kept(64)


def of(run: Run) -> Strip:
    """Return the strip of the run as it is now; it is drawn again only when it would look otherwise. One query."""
    rows, status = trace.rows(run), run.state
    now = _full_step(timezone.now()) if status.is_working else None
    last = rows[-1].seq if rows else 0
    return _kept.get((run.pk, run.created_at, last, status, now), partial(draw, rows, status, now))


def _full_step(now: datetime) -> datetime:
    return now - timedelta(seconds=now.second % NOW_EVERY_S, microseconds=now.microsecond)


def draw(rows: Sequence[Row], status: Status, now: datetime | None) -> Strip:
    """Return the strip of these events, oldest first; `now` is given only while a worker holds the run."""
    if not rows:
        return Strip()
    origin, end = rows[0].at, max(row.at for row in rows)  # the clocks of two workers may differ
    end = max(end, now) if now else end

    def seconds(at: datetime) -> float:
        return (at - origin).total_seconds()

    calls = doings.calls(rows, seconds, seconds(end) if now else None)
    thoughts = doings.thoughts(rows, seconds)
    if now and not any(call.look == "running" for call in calls):
        thoughts.append(doings.present_thought(rows, seconds, status, seconds(end)))
    axis = Axis(0.0, seconds(end), [*(call.span for call in calls), *(span for _, span in thoughts)])
    gaps = _gaps(axis)
    is_cut = rows[0].seq > 1
    return Strip(
        label=_label(axis, rows),
        bands=_bands(rows, seconds, axis),
        ticks=_ticks(axis, gaps, is_cut),
        gaps=gaps,
        bars=_bars(thoughts, axis),
        marks=_marks(rows, calls, seconds, axis),
        here=axis.percent(axis.end) if status.is_live else None,
        cut_before=next((row.step for row in rows if row.step), 0) if is_cut else 0,
    )


def _label(axis: Axis, rows: Sequence[Row]) -> str:
    rounds, steps = len({row.round for row in rows if row.round}), len({row.step for row in rows if row.step})
    return f"Time strip: {clock(axis.worked * 1000)} of work, {count_of(rounds, 'round')}, {count_of(steps, 'step')}"


def _bars(thoughts: Iterable[Thought], axis: Axis) -> list[Bar]:
    """Return the thoughts as bars, those that touch on a lane as one."""
    found: dict[str, list[Bar]] = {}
    for agent, (start, end) in thoughts:
        x, until = axis.percent(start), axis.percent(end)
        lane = found.setdefault(agent, [])
        if lane and x - (lane[-1].x + lane[-1].width) < TOUCHING:
            x = lane.pop().x
        lane.append(Bar(x, until - x, LANES.get(agent, LANES[Agent.IMPLEMENTER]) - 1.5))
    return [bar for lane in found.values() for bar in lane if bar.width > 0]


# --- marks -----------------------------------------------------------------------------------------------


def _marks(rows: Sequence[Row], calls: Sequence[Call], seconds: Seconds, axis: Axis) -> list[Mark]:
    """Return all marks in the order of time."""
    lanes = [_calls_of(agent, calls, axis, min(NARROWEST, max(THINNEST, 50 / max(1, len(calls))))) for agent in Agent]
    lanes.append(_proofs(rows, seconds, axis))
    lanes.append(_guarded(rows, seconds, axis))
    lanes.append(_crowd(_snapshots(rows, seconds, axis)))
    lanes.append(_crowd(_people(rows, seconds, axis)))
    return sorted((mark for lane in lanes for mark in lane), key=lambda mark: (mark.x, mark.seq))


def _calls_of(agent: str, calls: Sequence[Call], axis: Axis, narrowest: float) -> list[Mark]:
    """Return one lane: neighbouring reads of a step, and like calls that would touch, are one mark."""
    lane: list[Mark] = []
    for call in (call for call in calls if call.row.agent == agent):
        mark = _mark(call, axis, narrowest)
        last = lane[-1] if lane else None
        if last and last.look == mark.look and (_same_reads(last, mark) or mark.x - last.end < TOUCHING):
            lane[-1] = _joined(last, mark)
            continue
        if last and mark.x < last.end:
            mark = replace(mark, x=min(last.end + TOUCHING, mark.x + MOST_SHIFT, 100 - mark.width))
        lane.append(mark)
    return lane


def _same_reads(last: Mark, mark: Mark) -> bool:
    return mark.look == "read" and last.step == mark.step


def _mark(call: Call, axis: Axis, narrowest: float) -> Mark:
    row = call.row
    x, end = axis.percent(call.span[0]), axis.percent(call.span[1])
    width = max(end - x, narrowest)
    label = spelled(f"Step {row.step}: {doings.words(call)}")
    return Mark(row.seq, call.look, min(x, 100 - width), width, LANES[row.agent], row.step, f"step-{row.step}", label)


def _joined(first: Mark, second: Mark) -> Mark:
    count = first.count + second.count
    steps = f"Step {first.step}" if first.step == second.step else f"Steps {first.step} to {second.step}"
    label = f"{steps}: {count_of(count, NOUNS[first.look])}"
    return replace(first, width=max(first.end, second.end) - first.x, label=label, count=count)


def _proofs(rows: Sequence[Row], seconds: Seconds, axis: Axis) -> list[Mark]:
    """Return the marks of proofs; that one began is told only until its end is."""
    looks = {"red": "failed", "running": "running"}
    told = [row for row in rows if row.kind == Kind.PROOF]
    return [
        Mark(
            row.seq,
            looks.get(row.text("state"), "finish"),
            min(axis.percent(seconds(row.at)), 100 - NARROWEST),
            NARROWEST,
            LANES.get(row.agent, LANES[Agent.IMPLEMENTER]),
            row.step,
            f"event-{row.seq}",
            spelled(f"Proof: {row.text('state') or 'none'}"),
        )
        for row in told
        if row.text("state") != "running" or row is told[-1]
    ]


def _guarded(rows: Sequence[Row], seconds: Seconds, axis: Axis) -> list[Mark]:
    """Return what was put back of what ran in the background; a command's own mark says it of that."""
    return [
        Mark(
            row.seq,
            "failed",
            min(axis.percent(seconds(row.at)), 100 - NARROWEST),
            NARROWEST,
            LANES.get(row.agent, LANES[Agent.IMPLEMENTER]),
            row.step,
            f"event-{row.seq}",
            "Protected files put back",
        )
        for row in rows
        if row.kind == Kind.GUARD and not row.call_id
    ]


def _snapshots(rows: Sequence[Row], seconds: Seconds, axis: Axis) -> list[Mark]:
    """Return every snapshot but the baseline; one that a human made stands at the step before it."""
    found, step = [], 0
    for row in rows:
        step = row.step or step
        if row.kind == Kind.SNAPSHOT and row.data.get("number") and step:
            label = f"Snapshot {row.data['number']}, step {step}"
            x = axis.percent(seconds(row.at))
            found.append(Mark(row.seq, "snap", x, 0, LANES["snapshots"], step, f"step-{step}", label))
    return found


def _people(rows: Sequence[Row], seconds: Seconds, axis: Axis) -> list[Mark]:
    return [
        Mark(row.seq, "human", axis.percent(seconds(row.at)), 0, LANES["you"], row.step, f"event-{row.seq}", label)
        for row in rows
        if (label := spelled(doings.deed(row)))
    ]


def _crowd(marks: Iterable[Mark]) -> list[Mark]:
    """Return the marks with those that would cover each other as one."""
    found: list[Mark] = []
    for mark in marks:
        if found and mark.x - found[-1].x < CROWDED:
            found[-1] = _joined(found[-1], mark) if mark.look == "snap" else _told_together(found[-1], mark)
        else:
            found.append(mark)
    return found


def _told_together(first: Mark, second: Mark) -> Mark:
    label = f"{first.label}; {second.label}" if first.count < 3 else first.label.removesuffix("; …") + "; …"
    return replace(first, label=label, count=first.count + 1)


# --- around the marks ------------------------------------------------------------------------------------


def _bands(rows: Sequence[Row], seconds: Seconds, axis: Axis) -> list[Band]:
    starts: dict[int, float] = {}
    for row in rows:
        if row.round > max(starts, default=0):
            starts[row.round] = axis.percent(seconds(row.at)) if starts else 0.0
    ends = [*list(starts.values())[1:], *([100.0] if starts else [])]
    return [_band(number, x, end) for (number, x), end in zip(starts.items(), ends, strict=True)]


def _band(number: int, x: float, end: float) -> Band:
    width = max(0.2, end - x - 0.3)
    name = Word(x + 0.15, f"Round {number}", width < TEXT_APART_ON_PHONE)
    return Band(x + 0.15, width, name if width > TEXT_APART else None)


def _gaps(axis: Axis) -> list[Gap]:
    found: list[Gap] = []
    for start, end in axis.gaps:
        x, until, text = axis.percent(start), axis.percent(end), _length(end - start)
        apart = x - max((gap.x for gap in found if gap.text), default=-100.0)
        is_tight = apart < TEXT_APART_ON_PHONE
        found.append(Gap(x, until - x, f"Idle for {text}", text if apart > TEXT_APART else "", is_tight))
    return found


def _length(seconds: float) -> str:
    for limit, unit, name in ((90, 1, "s"), (5400, 60, "min"), (2 * 86_400, 3600, "h")):
        if seconds < limit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds / 86_400:.0f} days"


def _ticks(axis: Axis, gaps: Sequence[Gap], is_cut: bool) -> list[Word]:
    """Return the times of work that have room; of a cut strip they count from its left edge."""
    texts = [gap.middle for gap in gaps if gap.text]
    found = []
    for index, (worked, x) in enumerate(axis.ticks()):
        apart = min((abs(x + 1 - text) for text in texts), default=100.0)
        is_tight = apart < TEXT_APART_ON_PHONE or (index % 2 == 1 and axis.worked >= LONG_S)
        if x < LAST_TICK and apart > TEXT_APART:
            found.append(Word(x, f"{'+' if is_cut else ''}{_time(worked)}", is_tight))
    return found


def _time(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
