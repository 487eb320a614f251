"""The time strip of a run: its calls, thoughts, snapshots and what people did, drawn over time. All pure but `of`."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from django.utils import timezone

from agents import trace
from agents.axis import Axis, Span
from agents.cards import DENIALS, LOOKS
from agents.models import Agent, Kind, Run, Status
from agents.templatetags.sakura import clock, count_of
from agents.trace import Row
from workspaces.odd import ODD

NOW_EVERY_S = 5
"""While nothing new happens, the end of a live strip moves on in steps of so many seconds."""
LANES = {"you": 30, Agent.IMPLEMENTER.value: 50, Agent.REVIEWER.value: 70, "snapshots": 90}
"""The middle of each lane, in pixels."""
NARROWEST, THINNEST = 0.7, 0.2
"""Per cent of the width that a call takes at least: among few calls, and among many."""
TOUCHING, CROWDED = 0.1, 0.6
"""Per cent between two marks below which they become one: of calls, and of snapshots or what people did."""
MOST_SHIFT = 1.0
TEXT_APART = 5.0
LAST_TICK = 94.0
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

    @property
    def lanes(self) -> list[int]:
        return list(LANES.values())

    @property
    def crosses(self) -> list[Mark]:
        return [mark for mark in self.marks if mark.look == "failed"]


# --- drawing ---------------------------------------------------------------------------------------------


def of(run: Run) -> Strip:
    """Return the strip of the run as it is now. One query."""
    return draw(trace.rows(run), run.state, timezone.now())


def draw(rows: Sequence[Row], status: Status, now: datetime) -> Strip:
    """Return the strip of these events, oldest first; `now` counts only while a worker holds the run."""
    if not rows:
        return Strip()
    origin, end = rows[0].at, rows[-1].at
    if status.is_working:
        end = max(end, now - timedelta(seconds=now.second % NOW_EVERY_S, microseconds=now.microsecond))

    def seconds(at: datetime) -> float:
        return (at - origin).total_seconds()

    calls = _calls(rows, seconds, seconds(end) if status.is_working else None)
    thoughts = _thoughts(rows, seconds, status, seconds(end), calls)
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


Seconds = Callable[[datetime], float]


def _label(axis: Axis, rows: Sequence[Row]) -> str:
    rounds, steps = len({row.round for row in rows if row.round}), len({row.step for row in rows if row.step})
    return f"Time strip: {clock(axis.worked * 1000)} of work, {count_of(rounds, 'round')}, {count_of(steps, 'step')}"


# --- calls -----------------------------------------------------------------------------------------------


class _Call(NamedTuple):
    row: Row
    result: Row | None
    span: Span
    is_running: bool

    @property
    def look(self) -> str:
        if self.result is None:
            return "running" if self.is_running else "failed"
        if self.result.data.get("is_error"):
            return "denied" if self.result.text("code") in DENIALS else "failed"
        if self.result.data.get("exit_code"):
            return "failed"
        effect = self.row.text("effect").lower() or "read"
        return {"network": "execute"}.get(effect, effect)


def _calls(rows: Sequence[Row], seconds: Seconds, now: float | None) -> list[_Call]:
    """Return the calls with when they ran; `now` is None when nothing runs any more."""
    results = {row.call_id: row for row in rows if row.kind == Kind.TOOL_RESULT}
    return [_call(row, results.get(row.call_id), seconds, now) for row in rows if row.kind == Kind.TOOL_CALL]


def _call(row: Row, result: Row | None, seconds: Seconds, now: float | None) -> _Call:
    start = seconds(row.at)
    if result is None:
        return _Call(row, None, (start, start if now is None else now), now is not None)
    end = seconds(result.at)
    return _Call(row, result, (max(start, end - _duration(result)), end), False)


def _duration(row: Row) -> float:
    """Return the seconds that the row says something took."""
    value = row.data.get("duration_ms")
    return value / 1000 if isinstance(value, int | float) else 0.0


def _words(call: _Call) -> str:
    tool = call.row.text("tool")
    known = LOOKS.get(tool)
    verb = known.done.lower() if known else f"called {tool}"
    if call.look == "running":
        return f"{known.doing.lower() if known else verb}{_subject(call.row)}"
    outcome = {"failed": f", {_failure(call)}", "denied": ", denied"}.get(call.look, "")
    if outcome and known and (call.result is None or call.result.data.get("is_error")):
        verb = tool.replace("_", " ")
    return f"{verb}{_subject(call.row)}{outcome}"


def _subject(row: Row) -> str:
    found = (row.text(key) for key in ("file_path", "command", "pattern", "place"))
    return next((f" {text}" for text in found if text), "")


def _failure(call: _Call) -> str:
    if call.result is None:
        return "no result"
    return call.result.text("code") or f"exit {call.result.data.get('exit_code')}"


# --- thoughts --------------------------------------------------------------------------------------------

Thought = tuple[str, Span]


def _thoughts(
    rows: Sequence[Row], seconds: Seconds, status: Status, end: float, calls: Sequence[_Call]
) -> list[Thought]:
    """Return when each agent's model was at work, and when the place was prepared."""
    found: list[Thought] = []
    reached = 0.0
    preparing: float | None = None
    for row in rows:
        at = seconds(row.at)
        if preparing is not None and row.kind == Kind.STATUS:
            found.append((Agent.IMPLEMENTER, (preparing, at)))
        if row.kind == Kind.STATUS:
            preparing = at if row.text("to") == Status.PREPARING else None
        if row.kind == Kind.MODEL_RESPONSE:
            found.append((row.agent, (max(reached, at - _duration(row)), at)))
        if row.kind in (Kind.MODEL_RESPONSE, Kind.TOOL_RESULT, Kind.STATUS):
            reached = at
    if status.is_working and not any(call.is_running for call in calls):
        agent = Agent.REVIEWER if status is Status.REVIEWING else Agent.IMPLEMENTER
        found.append((agent, (reached, end)))
    return found


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


def _marks(rows: Sequence[Row], calls: Sequence[_Call], seconds: Seconds, axis: Axis) -> list[Mark]:
    """Return all marks in the order of time."""
    lanes = [_calls_of(agent, calls, axis, min(NARROWEST, max(THINNEST, 50 / max(1, len(calls))))) for agent in Agent]
    lanes.append(_proofs(rows, seconds, axis))
    lanes.append(_crowd(_snapshots(rows, seconds, axis)))
    lanes.append(_crowd(_people(rows, seconds, axis)))
    return sorted((mark for lane in lanes for mark in lane), key=lambda mark: (mark.x, mark.seq))


def _calls_of(agent: str, calls: Sequence[_Call], axis: Axis, narrowest: float) -> list[Mark]:
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


def _mark(call: _Call, axis: Axis, narrowest: float) -> Mark:
    row = call.row
    x, end = axis.percent(call.span[0]), axis.percent(call.span[1])
    width = max(end - x, narrowest)
    label = _plain(f"Step {row.step}: {_words(call)}")
    return Mark(row.seq, call.look, min(x, 100 - width), width, LANES[row.agent], row.step, f"step-{row.step}", label)


def _joined(first: Mark, second: Mark) -> Mark:
    count = first.count + second.count
    steps = f"Step {first.step}" if first.step == second.step else f"Steps {first.step} to {second.step}"
    label = f"{steps}: {count_of(count, NOUNS[first.look])}"
    return replace(first, width=max(first.end, second.end) - first.x, label=label, count=count)


def _proofs(rows: Sequence[Row], seconds: Seconds, axis: Axis) -> list[Mark]:
    looks = {"red": "failed", "running": "running"}
    return [
        Mark(
            row.seq,
            looks.get(row.text("state"), "finish"),
            min(axis.percent(seconds(row.at)), 100 - NARROWEST),
            NARROWEST,
            LANES.get(row.agent, LANES[Agent.IMPLEMENTER]),
            row.step,
            f"event-{row.seq}",
            _plain(f"Proof: {row.text('state') or 'none'}"),
        )
        for row in rows
        if row.kind == Kind.PROOF
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
        if (label := _plain(_deed(row)))
    ]


def _deed(row: Row) -> str:
    """Return what a human did there; "" for what no human did, or what another event says already."""
    who = row.text("author") or row.text("by") or "Someone"
    match row.kind:
        case Kind.MESSAGE if "control" not in row.data:
            return f"{who} launched the task"
        case Kind.CONTROL:
            return f"{who} {'left a message' if row.text('verb') == 'steer' else 'asked to ' + row.text('verb')}"
        case Kind.COMMENT:
            return f"{who} commented on {row.text('path') or 'the whole'}"
        case Kind.REVERT:
            return f"{who} put back {row.text('path')}"
        case Kind.REVIEW if row.data.get("by_human"):
            return f"{who} reviewed: {row.text('verdict').replace('_', ' ')}"
        case Kind.STATUS if row.text("by") and row.text("from"):
            return row.text("reason") or f"{who}: {row.text('to').replace('_', ' ')}"
        case _:
            return ""


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


def _plain(text: str) -> str:
    """Return the text for an attribute, where no mark can stand for an odd character."""
    return ODD.sub(lambda match: f"‹U+{ord(match[0]):04X}›", text)


# --- around the marks ------------------------------------------------------------------------------------


def _bands(rows: Sequence[Row], seconds: Seconds, axis: Axis) -> list[Band]:
    starts: dict[int, float] = {}
    for row in rows:
        if row.round > max(starts, default=0):
            starts[row.round] = axis.percent(seconds(row.at)) if starts else 0.0
    ends = [*list(starts.values())[1:], 100.0]
    return [_band(number, x, end) for (number, x), end in zip(starts.items(), ends, strict=True)]


def _band(number: int, x: float, end: float) -> Band:
    width = max(0.2, end - x - 0.3)
    name = Word(x + 0.15, f"Round {number}", width < 4 * TEXT_APART)
    return Band(x + 0.15, width, name if width > TEXT_APART else None)


def _gaps(axis: Axis) -> list[Gap]:
    found: list[Gap] = []
    for start, end in axis.gaps:
        x, until, text = axis.percent(start), axis.percent(end), _length(end - start)
        has_room = not found or x - found[-1].x > TEXT_APART
        found.append(Gap(x, until - x, f"Idle for {text}", text if has_room else ""))
    return found


def _length(seconds: float) -> str:
    for limit, unit, name in ((90, 1, "s"), (5400, 60, "min"), (2 * 86_400, 3600, "h")):
        if seconds < limit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds / 86_400:.0f} days"


def _ticks(axis: Axis, gaps: Sequence[Gap], is_cut: bool) -> list[Word]:
    """Return the times of work that have room; of a cut strip they count from its left edge."""
    texts = [gap.middle for gap in gaps if gap.text]
    return [
        Word(x, _time(worked) if not is_cut else f"+{_time(worked)}", False)
        for worked, x in axis.ticks()
        if x < LAST_TICK and all(abs(x + 1 - text) > TEXT_APART for text in texts)
    ]


def _time(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
