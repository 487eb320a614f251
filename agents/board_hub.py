"""The hub of the board: renders the rows of tasks whose runs moved, at most four times a second."""

import json
import time
from typing import Any

from agents import doorbell, masks
from agents.hub import POLL_S, Hub, Panel, in_thread
from agents.models import Run
from agents.views import board

EVERY_S = 0.25
RUNS_WATCHED = 300
ROWS_AT_ONCE = 50

Marks = dict[int, list[Any]]
"""Of each run, its last event, its status and what its row says of its proof."""
COLUMNS = ("last_seq", "status", "proof_state", "proof_snapshot")


class BoardHub(Hub):
    """Watches the newest runs and those that rang."""

    def __init__(self) -> None:
        super().__init__(doorbell.BOARD)
        self._marks: Marks | None = None
        self._rang: set[int] = set()
        self._turned_at = 0.0

    def heard(self, message: dict[str, Any]) -> None:
        run_id = message.get("run")
        if isinstance(run_id, int) and len(self._rang) < RUNS_WATCHED:
            self._rang.add(run_id)
        super().heard(message)

    def patience_s(self) -> float:
        return EVERY_S if self._rang else POLL_S

    async def turn(self) -> None:
        now = time.monotonic()
        if now - self._turned_at < EVERY_S:
            return
        self._turned_at = now
        rang, self._rang = self._rang, set()
        marks = await in_thread(_marks, rang)
        if self._marks is not None:
            await self._show([run_id for run_id, mark in marks.items() if self._marks.get(run_id) != mark])
        self._marks = marks
        self.ready.set()

    async def _show(self, run_ids: list[int]) -> None:
        for name, html in await in_thread(_rows, run_ids[:ROWS_AT_ONCE]):
            self.broadcast(Panel(json.dumps({"type": "panel", "name": name, "html": html})))
        self._rang.update(run_ids[ROWS_AT_ONCE:])


def _marks(rang: set[int]) -> Marks:
    rows = [*Run.objects.order_by("-pk").values_list("pk", *COLUMNS)[:RUNS_WATCHED]]
    if old := rang - {row[0] for row in rows}:
        rows += Run.objects.filter(pk__in=old).values_list("pk", *COLUMNS)
    return {run_id: marks for run_id, *marks in rows}


def _rows(run_ids: list[int]) -> list[tuple[str, str]]:
    runs = Run.objects.filter(pk__in=run_ids).order_by("pk")
    mask = masks.of_all()
    return [(f"task-{run.task_id}", mask.text(board.row_html(run))[0]) for run in runs]
