"""The parts of a run page beside its transcript: head, actions, strip, changes, what left the house, and so on."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from django.template.loader import render_to_string

from agents import budgets, leaving, proof_shown, ruled, strip
from agents.bodies import walls
from agents.budgets import Amount
from agents.kept import Kept
from agents.models import Control, Event, Kind, Run, Status
from agents.models.run import CANCELLABLE, PAUSABLE, RETRYABLE, STEERABLE
from workspaces import snapshots
from workspaces.git import GitError
from workspaces.models import Snapshot

log = logging.getLogger(__name__)

NAMES = ("head", "actions", "strip", "waiting", "changes", "proof", "budgets", "network", "wall", "rules", "usage")
STEPS_SHOWN = 40
FILES_SHOWN = 100
WAITING_SHOWN = 20


def load(run_id: int) -> Run:
    """Return the run with all that its page names. One query. Raises Run.DoesNotExist."""
    return Run.objects.select_related("task__repository", "task__created_by", "workspace__repository").get(pk=run_id)


def render(run: Run) -> dict[str, str]:
    """Return the HTML of each panel by name, the same for every viewer. Six queries, and git when the tree is new."""
    context = collect(run)
    return {name: render_to_string(f"agents/panels/_{name}.html", context).strip() for name in NAMES}


def collect(run: Run) -> dict[str, Any]:
    """Return what the panels show; the run page includes the same templates with it."""
    steps, granted = _usage(run), budgets.granted(run)
    return {
        "run": run,
        "task": run.task,
        "elapsed_ms": run.elapsed_ms(),
        "budgets": _budgets(run, granted),
        "counts_anew": bool(granted),
        "changes": _changes(run),
        "waiting": _waiting(run),
        "steps": steps,
        "bars": _bars(steps),
        "cached_percent": _percent(run.cached_tokens, run.input_tokens),
        "total_tokens": run.input_tokens + run.output_tokens,
        "cents_a_line": _cents_a_line(run),
        "may": _may(run),
        "proof": proof_shown.of_run(run),
        "strip": strip.of(run),
        "leaving": leaving.of(run),
        "wall": walls.wall(run.sandbox),
        "ruled": ruled.of(run),
    }


@dataclass(frozen=True)
class May:
    """What can be asked of the run where it stands; a person's role comes on top."""

    steer: bool
    pause: bool
    resume: bool
    cancel: bool
    retry: bool
    review: bool


def _may(run: Run) -> May:
    state = run.state
    return May(
        steer=state in STEERABLE,
        pause=state in PAUSABLE,
        resume=state is Status.PAUSED,
        cancel=state in CANCELLABLE,
        retry=state in RETRYABLE,
        review=state is Status.AWAITING_HUMAN,
    )


def _waiting(run: Run) -> list[Control]:
    """Return what people asked for that no worker has taken yet."""
    rows = run.controls.filter(taken_at=None).select_related("created_by").order_by("pk")
    return list(rows[:WAITING_SHOWN]) if run.state.is_live else []


# --- budgets and usage -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Budget:
    """One budget as the page names it."""

    name: str
    amount: Amount
    words: str


def _budgets(run: Run, granted: dict[str, float]) -> list[Budget]:
    amounts = {each.name: each for each in budgets.amounts(run, granted)}
    return [
        Budget(label, amounts[name], f"{words(amounts[name].used)} of {words(amounts[name].limit)}")
        for name, label, words in BUDGETS
    ]


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02}"


BUDGETS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("steps", "Steps", "{:,}".format),
    ("seconds", "Time", _clock),
    ("tokens", "Tokens", "{:,}".format),
    ("usd", "Money", "${:.2f}".format),
    ("files", "Changed files", "{:,}".format),
    ("lines", "Changed lines", "{:,}".format),
)
"""Each budget by its name in Budgets, its label, and how an amount of it is written."""


@dataclass(frozen=True)
class StepUsage:
    """The tokens of one step."""

    step: int
    fresh: int
    cached: int

    @property
    def total(self) -> int:
        return self.fresh + self.cached


def _usage(run: Run) -> list[StepUsage]:
    """Return the usage of the last steps, oldest first."""
    responses = Event.objects.filter(run_id=run.pk, kind=Kind.MODEL_RESPONSE).order_by("-seq")
    rows = responses.values_list("step", "data__usage")[:STEPS_SHOWN]
    return [_step_usage(step, usage or {}) for step, usage in reversed(rows)]


def _step_usage(step: int, usage: dict[str, Any]) -> StepUsage:
    read, written, cached = (int(usage.get(f"{kind}_tokens") or 0) for kind in ("input", "output", "cached"))
    return StepUsage(step, max(0, read - cached) + written, cached)


@dataclass(frozen=True)
class Bar:
    """One step in the chart; places in per cent of the width and in pixels of a height of 50."""

    x: str
    width: str
    cached_y: str
    cached_height: str
    fresh_y: str
    fresh_height: str


def _bars(steps: list[StepUsage]) -> list[Bar]:
    top = max((step.total for step in steps), default=0) or 1
    slot = 100 / max(len(steps), 12)
    return [_bar(index * slot, slot * 0.76, step, 46 / top) for index, step in enumerate(steps)]


def _bar(x: float, width: float, step: StepUsage, scale: float) -> Bar:
    fresh, cached = step.fresh * scale, step.cached * scale
    return Bar(
        f"{x:.1f}%", f"{width:.1f}%", f"{50 - fresh - cached:.1f}", f"{cached:.1f}", f"{50 - fresh:.1f}", f"{fresh:.1f}"
    )


def _percent(part: int, whole: int) -> int:
    return round(100 * part / whole) if whole else 0


def _cents_a_line(run: Run) -> Decimal | None:
    """Return what a changed line cost in US cents; None where nothing changed or nothing was paid."""
    lines = run.additions + run.deletions
    return 100 * run.usd / lines if lines and run.usd else None


# --- changes ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Changes:
    """The files that differ from the baseline; `why` says so when they can't be shown."""

    files: tuple[Any, ...] = ()
    count: int = 0
    additions: int = 0
    deletions: int = 0
    why: str = ""


_kept: Kept[Changes] = Kept(64)


def _changes(run: Run) -> Changes:
    """Return what the run changed so far; git is asked once per pair of trees."""
    chain = Snapshot.objects.filter(workspace_id=run.pk, number__in=(0, run.snapshot))
    ends = dict(chain.values_list("number", "tree"))
    if len(ends) < 2:
        return Changes()
    try:
        return _kept.get((run.pk, ends[0], ends[run.snapshot]), partial(_compare, run))
    except (GitError, OSError) as error:
        log.warning("The changes of run %s can't be read: %s", run.pk, error)
        return Changes(why="The changes can't be read from the run store; the log of the server says why.")


def _compare(run: Run) -> Changes:
    found = snapshots.changes(run.place, 0, run.snapshot)
    return Changes(tuple(found.files[:FILES_SHOWN]), found.file_count, found.additions, found.deletions)
