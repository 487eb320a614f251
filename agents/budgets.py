"""What a run may use: how much of each budget is used since people last asked for work, and what is said of it."""

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

from django.db.models import QuerySet

from agents.models import Event, Kind, Run, Verdict
from agents.providers.base import Usage
from agents.session import Session
from agents.tools.base import Limits, Result

WARN_AT = 0.8
"""Of a budget, from where on the agent is warned."""
WORDS = {"usd": "US dollars", "files": "changed files", "lines": "changed lines"}
AT_ONCE = frozenset({"seconds", "files", "lines"})
"""Budgets that a call uses up: they are looked at after each one. A response was paid for, so its calls are made."""
MOST_TOKENS = 100_000_000
MOST_USD = Decimal(1000)
"""Of one response, as many as a whole run may use; what a server says beyond that is no count."""
LEAST_MS = 1000
GRANTED = "People asked for more work, so every budget counts anew from here."


@dataclass(frozen=True)
class Amount:
    """One budget: its name as in Budgets, how much of it is used, and all of it."""

    name: str
    used: float
    limit: float

    @property
    def word(self) -> str:
        return WORDS.get(self.name, self.name)

    @property
    def words(self) -> str:
        used = f"{self.used:,.2f}" if self.name == "usd" else f"{self.used:,.0f}"
        return f"{used} of {self.limit:,} {self.word}"

    @property
    def low(self) -> float:
        """From where on a meter shows it as nearly used up."""
        return self.limit * WARN_AT

    @property
    def high(self) -> float:
        return self.limit * 0.95

    @property
    def is_spent(self) -> bool:
        return self.used >= self.limit

    @property
    def is_near(self) -> bool:
        return self.used >= WARN_AT * self.limit

    def data(self) -> dict[str, Any]:
        return {"name": self.name, "used": round(self.used, 4), "limit": self.limit}


def amounts(run: Run, granted: dict[str, float]) -> list[Amount]:
    """Return each budget with what is used of it; `granted` was used before people last asked for work."""
    limits = run.task.limits().model_dump()
    return [Amount(name, max(0, used - granted.get(name, 0)), limits[name]) for name, used in run.used().items()]


def granted(run: Run) -> dict[str, float]:
    """Return how much of each budget had been used when people last asked for work. At most one query."""
    if run.round == 1:
        return {}
    row = _notes(run).filter(data__has_key="granted").order_by("-seq").values_list("data", flat=True).first()
    return dict(row["granted"]) if row else {}


def _notes(run: Run) -> QuerySet[Event]:
    return run.events.filter(kind=Kind.NOTE)


def grant(session: Session) -> None:
    """Let the budgets count anew, once, where a human asked for changes since they last did."""
    run = session.run
    if run.round == 1:
        return
    asked = run.events.filter(kind=Kind.REVIEW, data__by_human=True, data__verdict=Verdict.REQUEST_CHANGES)
    last = asked.order_by("-seq").values_list("seq", flat=True).first()
    if last is None or _notes(run).filter(seq__gt=last, data__has_key="granted").exists():
        return
    used = {name: round(amount, 4) for name, amount in run.used().items()}
    session.append(session.fact(Kind.NOTE, {"text": GRANTED, "to": "human", "granted": used}))


# --- while an agent works ----------------------------------------------------------------------------


class Meter:
    """The budgets of a run while one agent works: what is spent, and what that agent is still to be warned of."""

    def __init__(self, session: Session) -> None:
        self._run = session.run

    @cached_property
    def _granted(self) -> dict[str, float]:
        return granted(self._run)

    @cached_property
    def _warned(self) -> set[str]:
        """The budgets that somebody was warned of since people last asked for work, by whichever worker."""
        notes = _notes(self._run)
        since = notes.filter(data__has_key="granted").order_by("-seq").values_list("seq", flat=True).first() or 0
        told = notes.filter(seq__gt=since, data__has_key="budget")
        return set(told.values_list("data__budget__name", flat=True))

    def spent(self, *names: str) -> str:
        """Return the sentence that ends the work when a budget is used up, else ""; of these budgets, or of any."""
        for each in amounts(self._run, self._granted):
            if each.is_spent and (not names or each.name in names):
                return f"The budget of {each.limit:,} {each.word} is used up."
        return ""

    def warnings(self) -> list[tuple[str, dict[str, Any]]]:
        """Return what the agent is to be told of budgets that are nearly used up, with the numbers; each once."""
        found = amounts(self._run, self._granted)
        near = [each for each in found if each.is_near and each.name not in self._warned]
        self._warned.update(each.name for each in near)
        return [(f"{each.words} are used; come to an end.", each.data()) for each in near]

    def capped(self, limits: Limits) -> Limits:
        """Return the limits of one call: no command may run past what is left of the time, but for a moment."""
        left = next(each.limit - each.used for each in amounts(self._run, self._granted) if each.name == "seconds")
        return replace(
            limits, command_timeout_max_ms=min(limits.command_timeout_max_ms, max(LEAST_MS, int(left * 1000)))
        )

    def explained(self, result: Result, given: Limits, usual: Limits) -> Result:
        """Return a command's result that says so where the budget, and no limit of its own, ended it."""
        capped = given.command_timeout_max_ms
        if (
            result.code != "TIMEOUT"
            or capped >= usual.command_timeout_max_ms
            or result.data.get("timeout_ms") != capped
        ):
            return result
        seconds = self._run.task.limits().seconds
        word = f"That was what was left of the run's budget of {seconds:,} seconds."
        return replace(result, content=f"{result.content}\n{word}")


# --- what a model reports ----------------------------------------------------------------------------


def sane(usage: Usage) -> Usage:
    """Return the usage that a server reported within what can be: none below zero, none beyond any budget."""
    counts = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens")
    return replace(usage, **{name: min(MOST_TOKENS, max(0, getattr(usage, name))) for name in counts})


def sane_cost(usd: Decimal) -> Decimal:
    return min(MOST_USD, max(Decimal(0), usd))
