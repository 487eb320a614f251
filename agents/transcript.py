"""Turns events into what a page shows: one node per event, and the patches that bring an older page up to date."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict

from django.template.loader import render_to_string
from django.urls import reverse

from agents import cards, events, proof_shown, told
from agents.budgets import Amount
from agents.cards import Card
from agents.kept import Kept
from agents.models import Agent, Event, Kind, Run, Status

WINDOW = 100
"""Nodes of a page's first render."""
PIECES = 200
"""Pieces of one running command's output that a page shows; older ones are in its whole output."""
PIECES_IN_ALL = 1000
HIDDEN = (Kind.OUTPUT, Kind.NETWORK, Kind.SNAPSHOT, Kind.TOOL_RESULT)
"""Kinds without a node of their own: they change the card of their call."""
HEADINGS = (Status.IMPLEMENTING, Status.REVIEWING)


class Patch(TypedDict):
    """One change of the page. `append` adds to the end of `target`, `replace` puts the HTML in its place."""

    seq: int
    op: str
    target: str
    html: str


@dataclass(frozen=True)
class Page:
    """Nodes in order, as patches that fill an empty log; `last` is the cursor to go on from, `first` 0 if empty."""

    patches: list[Patch]
    first: int
    last: int
    more: bool


# --- pages ---------------------------------------------------------------------------------------------


def latest(run: Run, limit: int = WINDOW) -> Page:
    """Return the last nodes of the run as of `run.last_seq`. Three queries."""
    return _page(run, run.last_seq, limit)


def before(run: Run, seq: int, limit: int = WINDOW) -> Page:
    """Return the nodes just before event `seq`, as they look as of `run.last_seq`. Three queries."""
    return _page(run, seq - 1, limit)


def _page(run: Run, last: int, limit: int) -> Page:
    newest = Event.objects.filter(run_id=run.pk, seq__lte=last).exclude(kind__in=HIDDEN).order_by("-seq")
    rows = list(newest[: limit + 1])[::-1]
    more = len(rows) > limit
    rows = rows[-limit:]
    known = _Known.of(rows)
    known.load_rest(run)
    patches = [_append(event, known) for event in rows]
    return Page(patches, rows[0].seq if rows else 0, run.last_seq, more)


def patches(run: Run, rows: Sequence[Event]) -> list[Patch]:
    """Return what the events change on a page that shows everything before them. At most one query."""
    known = _Known.of(rows)
    known.load_calls(run)
    made = (_patch(event, known) for event in rows)
    return [patch for patch in made if patch is not None]


def _patch(event: Event, known: "_Known") -> Patch | None:
    match event.kind:
        case Kind.SNAPSHOT | Kind.NETWORK:
            return None
        case Kind.OUTPUT:
            return _new(event, f"out-{cards.slug(event.call_id)}", cards.piece_html(event))
        case Kind.TOOL_RESULT:
            call = known.calls.get(event.call_id)
            if call is None:
                return None
            card = Card(call, event, known.snapshots.get(event.call_id))
            return {"seq": event.seq, "op": "replace", "target": f"call-{card.slug}", "html": card.html()}
        case Kind.TOOL_CALL:
            return _new(event, "log", Card(event).html())
        case _:
            return _append(event, known)


def _append(event: Event, known: "_Known") -> Patch:
    if event.kind == Kind.TOOL_CALL:
        return _new(event, "log", known.card(event).html())
    return _new(event, "log", node(event))


def _new(event: Event, target: str, html: str) -> Patch:
    return {"seq": event.seq, "op": "append", "target": target, "html": html}


class _Known:
    """What is known of the calls of some events, by call id."""

    def __init__(self) -> None:
        self.calls: dict[str, Event] = {}
        self.results: dict[str, Event] = {}
        self.snapshots: dict[str, Event] = {}
        self.pieces: dict[str, list[Event]] = {}

    @classmethod
    def of(cls, rows: Iterable[Event]) -> "_Known":
        known = cls()
        known.add(rows)
        return known

    def add(self, rows: Iterable[Event]) -> None:
        homes = {Kind.TOOL_CALL: self.calls, Kind.TOOL_RESULT: self.results, Kind.SNAPSHOT: self.snapshots}
        for event in rows:
            if event.kind == Kind.OUTPUT:
                self.pieces.setdefault(event.call_id, []).append(event)
            elif event.call_id and (home := homes.get(Kind(event.kind))) is not None:
                home[event.call_id] = event

    def load_calls(self, run: Run) -> None:
        """Fetch the calls and snapshots that results among the events refer to."""
        missing = self.results.keys() - self.calls.keys()
        if missing:
            kinds = (Kind.TOOL_CALL, Kind.SNAPSHOT)
            self.add(Event.objects.filter(run_id=run.pk, call_id__in=missing, kind__in=kinds).order_by("seq"))

    def load_rest(self, run: Run) -> None:
        """Fetch what came of the calls, as of `run.last_seq`: results and snapshots, the output of those that run."""
        if not self.calls:
            return
        known = Event.objects.filter(run_id=run.pk, seq__lte=run.last_seq)
        kinds = (Kind.TOOL_RESULT, Kind.SNAPSHOT)
        self.add(known.filter(call_id__in=self.calls.keys(), kind__in=kinds).order_by("seq"))
        if busy := self.calls.keys() - self.results.keys():
            printed = known.filter(call_id__in=busy, kind=Kind.OUTPUT).order_by("-seq")[:PIECES_IN_ALL]
            self.add(reversed(printed))

    def card(self, call: Event) -> Card:
        pieces = self.pieces.get(call.call_id, [])[-PIECES:]
        return Card(call, self.results.get(call.call_id), self.snapshots.get(call.call_id), tuple(pieces))


# --- nodes -----------------------------------------------------------------------------------------------


_kept: Kept[str] = Kept(cards.KEPT_CHARS, len)


def node(event: Event) -> str:
    """Return the node of an event that is no call, the same for every viewer."""
    return _kept.get((event.pk, event.at), partial(_node, event))


def _node(event: Event) -> str:
    context: dict[str, Any] = {"event": event, "data": event.data, "workspace_url": _file_page(event)}
    return render_to_string(f"agents/events/_{event.kind}.html", context | _extra(event)).rstrip("\n")


def _file_page(event: Event) -> str:
    return reverse("workspace_file", args=[event.run_id])


def _extra(event: Event) -> dict[str, Any]:
    data = event.data
    match event.kind:
        case Kind.STATUS:
            return {
                "is_heading": data.get("to") in HEADINGS,
                "names_who": bool(data.get("by")) and str(data["by"]) not in str(data.get("reason", "")),
            }
        case Kind.MODEL_RESPONSE:
            usage = data.get("usage") or {}
            tokens = int(usage.get("input_tokens") or 0) + int(usage.get("output_tokens") or 0)
            return {"text": _text(data, "text"), "tokens": tokens, "odd_stop": data.get("stop_reason") in ODD_STOPS}
        case Kind.NOTE:
            text = _text(data, "text")
            return {
                "text": text,
                "is_long": len(text) > LONG_NOTE,
                "to_agent": data.get("to") in Agent.values,
                "budget": _budget(data.get("budget")),
            }
        case Kind.MESSAGE | Kind.CONTROL:
            return {"text": _text(data, "text")}
        case Kind.REVIEW:
            return {"summary": _text(data, "summary"), "findings": _rows(data.get("findings"), FINDINGS)}
        case Kind.COMMENT:
            return {"text": _text(data, "body")}
        case Kind.PROOF:
            return {"proof": proof_shown.of_data(data)}
        case Kind.GUARD:
            return _guarded(data)
        case Kind.ERROR:
            return {"message": _text(data, "message"), "detail": cards.clip(_text(data, "detail"), 4000)}
        case _:
            return {}


ODD_STOPS = frozenset({"length", "refusal"})
FINDINGS, GUARDED, LONG_NOTE = 100, 20, 160


def _text(data: dict[str, Any], key: str) -> str:
    return cards.clip(events.shown(data.get(key) or ""))


def _rows(found: Any, limit: int) -> list[dict[str, Any]]:
    return [row for row in found[:limit] if isinstance(row, dict)] if isinstance(found, list) else []


def _guarded(data: dict[str, Any]) -> dict[str, Any]:
    paths, left = _rows(data.get("paths"), GUARDED), _rows(data.get("left"), GUARDED)
    count, left_count = told.count(data.get("count")) or 0, told.count(data.get("left_count")) or 0
    return {
        "paths": paths,
        "count": count,
        "more": max(0, count - len(paths)),
        "left": left,
        "left_count": left_count,
        "left_more": max(0, left_count - len(left)),
        "cleared": told.texts(data.get("cleared"))[:GUARDED],
    }


def _budget(found: Any) -> Amount | None:
    """Return the budget that is nearly used up, None for a note that is about none."""
    if not isinstance(found, dict) or not all(isinstance(found.get(key), int | float) for key in ("used", "limit")):
        return None
    return Amount(str(found.get("name")), found["used"], found["limit"])
