"""A run to review: a real workspace whose snapshots and events are made call by call, as the loop makes them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from agents import control, events
from agents.control import Refused
from agents.events import Fact
from agents.facts import snapshot_data
from agents.models import CallState, Kind, Review, Run, Status, ToolCall
from tests.conftest import task_fields
from workspaces import snapshots
from workspaces.models import Repository, Snapshot

FIXED = "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return add(a, a)\n"
"""calc.py of the source, mended."""

Files = Mapping[str, str | bytes | None]
"""What a call writes by path; None removes the file."""


@dataclass
class Scene:
    """A run with its workspace laid out; each method is one thing that happens in it."""

    run: Run

    def call(
        self, tool: str, data: Mapping[str, Any] | None = None, files: Files | None = None, say: str = ""
    ) -> Snapshot | None:
        """Let the implementer make one step with one call, and return the snapshot it leads to."""
        run = self.run
        run.step += 1
        run.save(update_fields=["step"])
        call_id = f"call-{run.step}"
        snapshot = self._write(call_id, files) if files else None
        facts = [self._fact(Kind.MODEL_RESPONSE, {"text": say, "tool_calls": []})]
        if snapshot:
            facts.append(self._fact(Kind.SNAPSHOT, snapshot_data(snapshot), call_id))
        result = {"call_id": call_id, "tool": tool, "is_error": False, "content": "", "data": dict(data or {})}
        facts.append(self._fact(Kind.TOOL_RESULT, result, call_id))
        events.append(run.pk, *facts)
        ToolCall.objects.create(
            run=run, call_id=call_id, agent="implementer", step=run.step, tool=tool, state=CallState.DONE, epoch=1
        )
        return snapshot

    def _fact(self, kind: Kind, data: dict[str, Any], call_id: str = "") -> Fact:
        return Fact(kind, data, agent="implementer", step=self.run.step, round=self.run.round, call_id=call_id)

    def _write(self, call_id: str, files: Files) -> Snapshot:
        tree = self.run.place.tree
        for path, content in files.items():
            target = tree / path
            if content is None:
                target.unlink()
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.encode())
        snapshot = snapshots.take(self.run.place, call_id=call_id, step=self.run.step, paths=None)
        assert snapshot is not None, "the call changed nothing"
        self._count(snapshot)
        return snapshot

    def _count(self, snapshot: Snapshot) -> None:
        changes = snapshots.changes(self.run.place)
        self.run.snapshot = snapshot.number
        self.run.changed_files = len(changes.files)
        self.run.additions, self.run.deletions = changes.additions, changes.deletions
        self.run.save(update_fields=["snapshot", "changed_files", "additions", "deletions"])

    def finish(self, **claim: Any) -> None:
        """Let the agent call the work done."""
        self.call(
            "finish_task", {"summary": "Done.", "modified_files": [], "risk_level": "low", "test_result": "", **claim}
        )

    def found(self, *findings: dict[str, Any], verdict: str = "approve", score: int = 8) -> Review:
        """Let the reviewer agent give its verdict on the latest snapshot."""
        return Review.objects.create(
            run=self.run,
            round=self.run.round,
            verdict=verdict,
            score=score,
            findings=list(findings),
            snapshot=self.run.snapshot,
        )

    def stand(self, status: Status) -> Run:
        """Put the run where the test wants it."""
        Run.objects.filter(pk=self.run.pk).update(status=status)
        self.run.refresh_from_db()
        return self.run


def scene(repository: Repository, status: Status = Status.AWAITING_HUMAN, **fields: Any) -> Scene:
    """Launch a run on the repository's main branch, lay its workspace out and put it to this status."""
    run = control.launch(None, **(task_fields(repository) | fields))
    place = run.place
    place.epoch = 1
    place.save(update_fields=["epoch"])
    snapshots.prepare(place)
    made = Scene(Run.objects.select_related("task", "workspace__repository").get(pk=run.pk))
    made.stand(status)
    return made


def kinds(run: Run) -> list[str]:
    return list(run.events.order_by("seq").values_list("kind", flat=True))


def refusal(call: Callable[..., Any], *args: Any, **fields: Any) -> Refused:
    """Return how the call refuses."""
    with pytest.raises(Refused) as caught:
        call(*args, **fields)
    return caught.value
