"""What a run does, or waits for, at this moment, in one line for the board."""

from dataclasses import dataclass
from typing import Any

from django.utils.text import Truncator

from agents import events
from agents.cards import Card
from agents.models import Event, Kind, Run, Status, Verdict

LENGTH = 200


@dataclass(frozen=True)
class Now:
    """A line: the words, and the code (a path, a command) that they are about. `quote` is what a model said."""

    text: str = ""
    code: str = ""
    quote: str = ""


def now_of(run: Run, event: Event | None) -> Now:
    """Return what the run does now, by its status and its latest telling event."""
    match run.state:
        case Status.IMPLEMENTING | Status.REVIEWING:
            return _doing(event)
        case Status.AWAITING_HUMAN:
            return _verdict(run, event)
        case Status.QUEUED:
            return Now("Starts when a worker is free")
        case Status.PREPARING:
            return Now("Lays out the workspace")
        case _:
            return Now(_short(run.reason))


def _doing(event: Event | None) -> Now:
    if event is None:
        return Now("Asks the model")
    match event.kind:
        case Kind.TOOL_CALL:
            card = Card(event)
            return Now(card.look.doing, code=_short(card.target))
        case Kind.MODEL_RESPONSE:
            return Now(quote=_text(event.data.get("text"))) if event.data.get("text") else Now("Thinks")
        case _:
            return Now("Asks the model")


def _verdict(run: Run, event: Event | None) -> Now:
    if event is None or event.kind != Kind.REVIEW or event.data.get("by_human"):
        return Now(_short(run.reason) or "Waits for a decision")
    score = event.data.get("score")
    words = f"Reviewer: {_verdict_word(event.data)}{f', {score} of 10' if score else ''}."
    return Now(words, quote=_text(event.data.get("summary")))


def _verdict_word(data: dict[str, Any]) -> str:
    word = str(data.get("verdict", ""))
    return Verdict(word).label.lower() if word in Verdict.values else "no verdict"


def _text(value: Any) -> str:
    return _short(events.shown(value or ""))


def _short(text: str) -> str:
    return Truncator(" ".join(text[: 4 * LENGTH].split())).chars(LENGTH)
