"""Protected paths that a command changed are put back at once from the snapshot before it, and everybody is told."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from agents import policies, policy
from agents.events import Fact
from agents.facts import snapshot_data
from agents.models import Agent, Kind
from agents.session import Session
from agents.tools.base import Result, Rules
from workspaces import cuts, restoring, store
from workspaces.diffs import STATUSES, RawChange, raw_changes
from workspaces.models import Snapshot
from workspaces.names import raw, shown
from workspaces.store import TreeEntry

LISTED = 100
"""Paths that an event names."""
NAMED = 6
NAME_CHARS, WHY_CHARS = 120, 200
INSTEAD = "Write a new test in a file of its own, or say in your summary what is wrong with such a file; people decide."


class Touched(NamedTuple):
    """One protected path that was changed: what it was in snapshot `before`, what was done to it, what protects it."""

    was: TreeEntry | None
    before: int
    status: str
    rule: str
    why: str = ""


@dataclass(frozen=True)
class Guarded:
    """What was put back and what could not be; `before`, `changed` and `after` are numbers of snapshots."""

    before: int
    changed: int
    after: Snapshot | None
    put_back: Mapping[bytes, Touched] = field(default_factory=dict)
    left: Mapping[bytes, Touched] = field(default_factory=dict)
    """With the reason as `why`."""
    cleared: tuple[bytes, ...] = ()

    @property
    def snapshot(self) -> int:
        return self.after.number if self.after else self.changed

    def facts(self, session: Session, call_id: str = "") -> list[Fact]:
        """Return the events: the snapshot, if one came of it, and what was put back."""
        made = [session.fact(Kind.SNAPSHOT, snapshot_data(self.after))] if self.after else []
        return [*made, session.fact(Kind.GUARD, self._data(call_id), call_id)]

    def _data(self, call_id: str) -> dict[str, Any]:
        return {
            "call_id": call_id,
            "paths": [_row(path, each) for path, each in sorted(self.put_back.items())[:LISTED]],
            "count": len(self.put_back),
            "left": [_left(path, each) for path, each in sorted(self.left.items())[:LISTED]],
            "left_count": len(self.left),
            "cleared": [shown(path) for path in self.cleared[:LISTED]],
            "before": self.before,
            "changed": self.changed,
            "snapshot": self.snapshot,
        }

    def words(self, what: str = "This command") -> str:
        """Return what the agent is told, in at most some 3,000 characters."""
        said = []
        if self.put_back:
            said.append(
                f"{what} changed protected paths, so they were put back to what they were before it; all else that it "
                f"did stays:\n{_listed(self.put_back)}"
            )
        if self.left:
            said.append(
                "These could not be put back. What the reason names must go, then it is tried again after your next "
                f"command:\n{_listed(self.left)}"
            )
        if self.cleared:
            names = ", ".join(cuts.head(shown(path), NAME_CHARS) for path in self.cleared[:NAMED])
            said.append(f"Removed since it was in their way ({len(self.cleared):,} in all): {names}.")
        return "\n".join([*said, f"Do not try it in another way. {INSTEAD}"])


def _row(path: bytes, each: Touched) -> dict[str, str]:
    return {"path": shown(path), "rule": each.rule, "status": each.status}


def _left(path: bytes, each: Touched) -> dict[str, Any]:
    return _row(path, each) | {"why": each.why, "before": each.before}


def _listed(found: Mapping[bytes, Touched]) -> str:
    lines = [_line(path, each) for path, each in sorted(found.items())[:NAMED]]
    return "\n".join([*lines, *([f"- and {len(found) - NAMED:,} more"] if len(found) > NAMED else [])])


def _line(path: bytes, each: Touched) -> str:
    why = f": {cuts.head(each.why, WHY_CHARS)}" if each.why else ""
    return f"- {cuts.head(shown(path), NAME_CHARS)} (rule `{each.rule[:NAME_CHARS]}`{why})"


def told(result: Result, guarded: Guarded) -> Result:
    """Return a command's result with what was put back: for the model in words, for the page in numbers."""
    numbers = {"put_back": len(guarded.put_back), "left": len(guarded.left)}
    content = f"{result.content}\n\n{guarded.words()}"
    return replace(result, content=content, data={**result.data, "guard": numbers})


@dataclass
class Guard:
    """Looks at what commands of the implementer did to protected paths. Only who holds the run may ask it."""

    session: Session
    rules: Rules

    def after(self, taken: Sequence[Snapshot]) -> Guarded | None:
        """Put back what differs from the last snapshot that the run knows of; None where nothing was to be done.

        `taken` are those that came since, told to nobody yet; more than one, too, after a crash in the middle of this.
        What could not be put back before is tried once more.
        """
        place, before = self.session.place, self.session.run.snapshot
        found, changed = self._changed(taken)
        due = found | self._owed  # what was owed before is what it was then, whatever was made of it since
        if not due:
            return None
        done = restoring.restore(place, {path: each.was for path, each in due.items()}, self.session.run.step)
        left = {path: each._replace(why=done.left[path]) for path, each in due.items() if path in done.left}
        put_back = {path: each for path, each in due.items() if path not in left}
        self._owed = left
        if not found and not put_back and done.snapshot is None:
            return None  # as it was told before
        return Guarded(before, changed or before, done.snapshot, put_back, left, done.cleared)

    def _changed(self, taken: Sequence[Snapshot]) -> tuple[dict[bytes, Touched], int]:
        """Return the protected paths that were changed, and the number of the first snapshot that shows it."""
        found: dict[bytes, Touched] = {}
        first = 0
        if not any(self._is_suspect(each) for each in taken):
            return found, first
        git = store.ensure(self.session.place.repository)
        base = store.at(self.session.place, self.session.run.snapshot)
        for snapshot in taken:
            for path, was, status in _sides(raw_changes(git, base.tree, snapshot.tree, counted=False)):
                if path not in found and (protection := self.rules.protection(shown(path))):
                    found[path] = Touched(was, base.number, status, protection.rule, protection.why)
            first = first or (snapshot.number if found else 0)
        return found, first

    def _is_suspect(self, snapshot: Snapshot) -> bool:
        """Return whether it may have changed a protected path, by what its row says; nearly none has."""
        if snapshot.file_count > len(snapshot.files):
            return True
        rows = snapshot.files
        return any(row["status"] == STATUSES["R"] or self.rules.protection(row["path"]) for row in rows)

    @cached_property
    def _owed(self) -> dict[bytes, Touched]:
        """What the last event says could not be put back; a human's revert since then settles it."""
        events = self.session.run.events
        last = events.filter(kind=Kind.GUARD).order_by("-seq").first()
        if last is None or not last.data.get("left"):
            return {}
        reverted = set(events.filter(kind=Kind.REVERT, seq__gt=last.seq).values_list("data__path", flat=True))
        return dict(self._of_row(row) for row in last.data["left"] if row["path"] not in reverted)

    def _of_row(self, row: dict[str, Any]) -> tuple[bytes, Touched]:
        path, place = raw(row["path"]), self.session.place
        was = store.entry(store.ensure(place.repository), store.at(place, row["before"]).tree, path)
        return path, Touched(was, row["before"], row["status"], row["rule"])


def of(session: Session) -> Guard:
    """Return the guard of a run at which no agent is at work. Two queries, and one git."""
    applied, place = policies.of(session.run), session.place
    return Guard(session, policy.rules_for(applied, Agent.IMPLEMENTER, policies.baseline(place)))


def _sides(records: Sequence[RawChange]) -> Iterator[tuple[bytes, TreeEntry | None, str]]:
    """Yield each path that differs, with what it was and what was done to it; a renamed file is two of them."""
    for each in records:
        if each.status == "R":
            yield each.old_path, each.old, STATUSES["R"]
            yield each.path, None, STATUSES["A"]
        else:
            yield each.path, None if each.old.mode == store.NO_MODE else each.old, STATUSES[each.status]
