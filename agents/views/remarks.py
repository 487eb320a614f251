"""What the review page knows beside the diff: who wrote each snapshot, and the remarks of humans and agents."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.urls import reverse

from agents import events
from agents.models import Comment, Event, Kind, Review, Run
from agents.review import LIMIT_COMMENTS
from agents.views.shown import Note, Writer
from agents.wording import who
from workspaces import cuts
from workspaces.models import Snapshot

LIMIT_SNAPSHOTS = 2000
LIMIT_REVIEWS = 30
LIMIT_REVERTS = 100
LIMIT_STEPS = 400
TIP_CHARACTERS = 240


@dataclass(frozen=True)
class Reverted:
    """A human's revert, as the event tells it."""

    author: str
    path: str
    to: int
    snapshot: int
    hunks: int
    is_mine: bool

    @property
    def before(self) -> int:
        """The snapshot to revert to if this is to be undone."""
        return max(0, self.snapshot - 1)


def chain(run: Run) -> list[Snapshot]:
    """Return the run's snapshots by number, the last 2,000 of them. One query."""
    rows = run.place.snapshots.order_by("-number")[:LIMIT_SNAPSHOTS]
    return list(rows)[::-1]


def reverts(run: Run, viewer: User) -> list[Reverted]:
    """Return the last reverts by humans, newest first. One query."""
    rows = run.events.filter(kind=Kind.REVERT).order_by("-seq").values_list("data", flat=True)[:LIMIT_REVERTS]
    return [
        Reverted(
            author=str(data.get("author", "")),
            path=str(data.get("path", "")),
            to=int(data.get("to") or 0),
            snapshot=int(data.get("snapshot") or 0),
            hunks=len(data.get("hunks") or ()),
            is_mine=data.get("author") == viewer.get_username(),
        )
        for data in rows
    ]


def writers(run: Run, snapshots: Sequence[Snapshot], put_back: Iterable[Reverted]) -> dict[int, Writer]:
    """Return who made each snapshot after the baseline. Two queries."""
    tools = _tools(run, snapshots)
    words = _words(run, {each.step for each in snapshots if each.call_id})
    by_human = {each.snapshot: each for each in put_back}
    found: dict[int, Writer] = {}
    for each in snapshots:
        if each.number and each.call_id:
            found[each.number] = _by_agent(each, tools.get(each.call_id, ""), words.get(each.step))
        elif each.number in by_human or (each.number and len(by_human) >= LIMIT_REVERTS):
            found[each.number] = _by_human(each, by_human.get(each.number))
        elif each.number:
            found[each.number] = _by_sakura(each)
    return found


def _tools(run: Run, snapshots: Sequence[Snapshot]) -> dict[str, str]:
    wanted = [each.call_id for each in snapshots if each.call_id][-LIMIT_STEPS:]
    return dict(run.calls.filter(call_id__in=wanted).values_list("call_id", "tool"))


def _words(run: Run, steps: set[int]) -> dict[int, Event]:
    """Return what the model said in each of the steps, without the rest of the response."""
    wanted = sorted(steps)[-LIMIT_STEPS:]
    rows = run.events.filter(kind=Kind.MODEL_RESPONSE, step__in=wanted).values_list(
        "step", "agent", "round", "data__text"
    )
    return {
        step: Event(step=step, agent=agent, round=round_, data={"text": text}) for step, agent, round_, text in rows
    }


def _by_agent(snapshot: Snapshot, tool: str, said: Event | None) -> Writer:
    who = f"{said.agent}, round {said.round}" if said else ""
    title = " · ".join(part for part in (f"Step {snapshot.step}", who, tool) if part)
    text = " ".join(events.shown(said.data["text"]).split()) if said else ""
    short = text if len(text) <= TIP_CHARACTERS else f"{cuts.head(text, TIP_CHARACTERS)}…"
    url = f"{reverse('run', args=[snapshot.workspace_id])}#step-{snapshot.step}"
    return Writer(str(snapshot.step), title, short, snapshot.step, url)


def _by_sakura(snapshot: Snapshot) -> Writer:
    what = "protected files put back, or what ran in the background"
    url = f"{reverse('run', args=[snapshot.workspace_id])}#step-{snapshot.step}"
    return Writer("Sakura", f"Snapshot {snapshot.number}, kept by Sakura after step {snapshot.step}", what, url=url)


def _by_human(snapshot: Snapshot, reverted: Reverted | None) -> Writer:
    url = reverse("run", args=[snapshot.workspace_id])
    if reverted is None:
        return Writer("human", f"Snapshot {snapshot.number}, made by a human", url=url, is_human=True)
    title = (
        f"{'You' if reverted.is_mine else reverted.author} put {reverted.path} back to {Snapshot.called(reverted.to)}"
    )
    return Writer("you" if reverted.is_mine else "human", title, url=url, is_human=True)


# --- remarks -------------------------------------------------------------------------------------


def notes(run: Run, viewer: User) -> list[Note]:
    """Return all remarks on the run: humans' comments, then agents' findings. Two queries."""
    comments = run.comments.select_related("user", "review").order_by("pk")[:LIMIT_COMMENTS]
    reviews = run.reviews.filter(by_human=False).order_by("-pk")[:LIMIT_REVIEWS]
    return [*(_of_comment(each, viewer) for each in comments), *_of_reviews(list(reviews)[::-1])]


def _of_comment(row: Comment, viewer: User) -> Note:
    return Note(
        pk=row.pk,
        author=who(row.user),
        body=row.body,
        path=row.path,
        line=row.line,
        side=row.side,
        snapshot=row.snapshot,
        round=row.review.round if row.review else 0,
        is_mine=row.user_id == viewer.pk,
        is_open=row.review_id is None,
    )


def _of_reviews(reviews: Sequence[Review]) -> Iterable[Note]:
    for review in reviews:
        for finding in review.findings if isinstance(review.findings, list) else []:
            if isinstance(finding, dict):
                yield _of_finding(review, finding)


def _of_finding(review: Review, finding: dict[str, object]) -> Note:
    line = finding.get("line")
    return Note(
        pk=review.pk,
        author="Reviewer agent",
        body=events.shown(finding.get("message") or ""),
        path=str(finding.get("file") or ""),
        line=line if isinstance(line, int) and line > 0 else None,
        side=str(finding.get("side") or "new"),
        snapshot=review.snapshot,
        round=review.round,
        severity=str(finding.get("severity") or ""),
        suggestion=events.shown(finding.get("suggestion") or ""),
        is_finding=True,
    )
