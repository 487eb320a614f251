"""What a human does with a run's result: comment, decide, push. Each leaves its events in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from agents import doorbell, events, facts, masks, policies, proofs
from agents.access import demand
from agents.control import Refused
from agents.events import Fact
from agents.models import Comment, Kind, Review, Role, Run, Status, Verdict
from agents.wording import author, utc, who
from workspaces import disclosed, provenance, snapshots, store
from workspaces.models import Snapshot
from workspaces.names import raw
from workspaces.sources import SourceError
from workspaces.versions import Versions

LIMIT_BODY = 20_000
LIMIT_COMMENTS = 500
"""Comments that may be open on one run."""
DESPITE_CHARS = range(10, 1001)
"""What a sentence on why to approve against the proof may measure."""
AGAINST = {
    proofs.State.RED: "the proof is red",
    proofs.State.STALE: "the proof is stale",
    proofs.State.WAITING: "the proof is not made yet",
    proofs.State.RUNNING: "the proof is not made yet",
}
"""States of a proof in which nobody approves without a sentence on why, in words."""
SAY_WHY = "Request changes, or say in a sentence why you approve all the same."

NOT_SEARCHED = "{count:,} of the changed files were not searched for secrets: they are too many, or too large."

_DID = {
    Verdict.APPROVE: "approved this run",
    Verdict.REQUEST_CHANGES: "asked for changes",
    Verdict.REJECT: "rejected this run",
}
_REASON = {
    Verdict.APPROVE: "approved",
    Verdict.REQUEST_CHANGES: "changes asked for",
    Verdict.REJECT: "rejected",
}
_OUTCOME = {
    Verdict.APPROVE: Status.APPROVED,
    Verdict.REQUEST_CHANGES: Status.QUEUED,
    Verdict.REJECT: Status.REJECTED,
}


@dataclass(frozen=True)
class Remark:
    """A comment to be, as it comes with a review."""

    body: str
    path: str = ""
    line: int | None = None
    side: str = Comment.Side.NEW


# --- comments ------------------------------------------------------------------------------------


def comment(run: Run, user: User, *, path: str, line: int | None, side: str, body: str) -> Comment:
    """Keep a remark on a line, on a file (no line) or on the whole (no path); it is open until the next review."""
    demand(user, Role.REVIEWER)
    with transaction.atomic():
        return _keep(run.locked(), user, Remark(body, path, line, side))


def comment_delete(run: Run, user: User, comment_id: int) -> None:
    """Take back a comment of one's own that went out with no review yet."""
    demand(user, Role.REVIEWER)
    with transaction.atomic():
        row = run.comments.select_for_update().filter(pk=comment_id).first()
        if row is None:
            raise Refused("NOT_FOUND", "The comment is gone already.", 404)
        if row.user_id != user.pk:
            raise Refused("NOT_YOURS", "Only who wrote a comment can take it back.", 403)
        if row.review_id is not None:
            raise Refused("SENT", "The comment went out with a review, so it stays. Write another one to correct it.")
        row.delete()
        where = f" on {_where(row)}" if row.path else ""
        text = f"{who(user)} took back a comment{where}."
        events.append(run.pk, facts.note(text, round=run.round))


def _keep(run: Run, user: User, remark: Remark) -> Comment:
    _check(run, remark)
    row = Comment.objects.create(
        run=run,
        user=user,
        path=remark.path,
        line=remark.line,
        side=remark.side,
        snapshot=run.snapshot,
        body=masks.of_run(run.pk).text(remark.body.strip())[0],
    )
    data = {
        "comment_id": row.pk,
        "author": who(user),
        "path": row.path,
        "line": row.line,
        "side": row.side,
        "body": row.body,
    }
    events.append(run.pk, Fact(Kind.COMMENT, data, round=run.round))
    return row


def _check(run: Run, remark: Remark) -> None:
    if not run.state.is_live and run.state not in (Status.FAILED, Status.NEEDS_ATTENTION):
        raise Refused("FINAL", f"The run is “{run.state.label}”; no agent will read further comments on it.")
    if not remark.body.strip():
        raise Refused("EMPTY", "The comment is empty; write what should change.", 422)
    if len(remark.body) > LIMIT_BODY:
        raise Refused("TOO_LONG", f"The comment has {len(remark.body):,} characters; {LIMIT_BODY:,} at most.", 422)
    if remark.side not in Comment.Side.values:
        raise Refused("INVALID", f"The side of a comment is “old” or “new”, not “{remark.side}”.", 422)
    if len(remark.path) > 4096 or (remark.line is not None and not (remark.path and 0 < remark.line < 2**31)):
        raise Refused("INVALID", "A comment on a line needs the file's path and a line number from 1.", 422)
    if run.comments.filter(review=None).count() >= LIMIT_COMMENTS:
        raise Refused("TOO_MANY", f"{LIMIT_COMMENTS} comments are open already; send them with a review first.")


def _where(row: Comment) -> str:
    return f"{row.path}:{row.line}" if row.line else row.path


# --- decide --------------------------------------------------------------------------------------


def decide(
    run: Run,
    user: User,
    verdict: str,
    summary: str,
    comments: Sequence[Remark] = (),
    *,
    seen: int | None = None,
    despite: str = "",
) -> Review:
    """Approve, reject or request changes, and store the review with all open comments.

    Approving commits the latest snapshot on a branch of the run store; requesting changes queues the next round.
    `seen` is the snapshot the human looked at, None to judge whatever is latest. `despite` says why to approve although
    the proof is red, or not made yet. Of two who decide, the second is Refused.
    """
    demand(user, Role.REVIEWER)
    choice = _verdict(verdict)
    if len(summary) > LIMIT_BODY:
        raise Refused("TOO_LONG", f"The summary has {len(summary):,} characters; {LIMIT_BODY:,} at most.", 422)
    despite = " ".join(despite.split())
    if choice is Verdict.APPROVE:
        _ask_for_proof(run)
    with transaction.atomic():
        locked = run.locked()
        _must_wait_for_human(locked, seen)
        said = _word_against_proof(locked, despite) if choice is Verdict.APPROVE else ""
        for remark in comments:
            _keep(locked, user, remark)
        review = _store(locked, user, choice, summary.strip(), said)
        _carry_out(locked, user, review)
    run.refresh_from_db()
    return review


def _verdict(text: str) -> Verdict:
    try:
        return Verdict(text)
    except ValueError:
        raise Refused("INVALID", f"A verdict is one of {', '.join(Verdict.values)}; “{text}” is none.", 422) from None


def _ask_for_proof(run: Run) -> None:
    """Have the files proven that changed since the last proof; kept also where the approval is then refused."""
    if proofs.standing(run).state is proofs.State.STALE:
        with transaction.atomic():
            proofs.want(run.locked())


def _word_against_proof(run: Run, despite: str) -> str:
    """Return the sentence on why to approve where the proof speaks against it, "" where it doesn't. Raises Refused."""
    found = proofs.standing(run)
    if not policies.of(run).verify or not (refusal := _refusal(run, found)):
        return ""
    if len(despite) > DESPITE_CHARS[-1]:
        raise Refused("TOO_LONG", f"The sentence has {len(despite):,} characters; {DESPITE_CHARS[-1]:,} at most.", 422)
    if len(despite) in DESPITE_CHARS:
        return masks.of_run(run.pk).text(despite)[0]
    if despite:
        raise Refused(refusal.code, f"“{despite}” says too little on why. {refusal.message}")
    raise refusal


def _refusal(run: Run, found: proofs.Standing) -> Refused | None:
    """Return why nobody approves just like that; None where the proof is green, or nothing could be proven."""
    of = Snapshot.called(run.snapshot)
    if found.state not in AGAINST:
        return None
    if found.state is proofs.State.RED:
        why = " ".join(str(reason) for reason in (found.proof.reasons if found.proof else [])[:3])[:600]
        return Refused("PROOF_RED", f"The proof of {of} is red. {why} {SAY_WHY}".replace("  ", " "))
    return Refused(
        "PROOF_RUNNING", f"The proof of {of} is being made; approve when it is done, or say why you approve without."
    )


def _must_wait_for_human(run: Run, seen: int | None) -> None:
    if run.state is not Status.AWAITING_HUMAN:
        raise Refused("TOO_LATE", _who_was_first(run))
    if seen is not None and seen != run.snapshot:
        raise Refused(
            "STALE", f"The files changed since you opened this page: they stand at snapshot {run.snapshot}, "
            f"you saw snapshot {seen}. Look at the diff again, then decide.",
        )  # fmt: skip


def _who_was_first(run: Run) -> str:
    last = run.reviews.filter(by_human=True).select_related("user").last()
    if last is None:
        reason = f" ({run.reason})" if run.reason else ""
        return f"The run is “{run.state.label}”{reason}; only a run that waits for a human can be decided on."
    did = _DID[Verdict(last.verdict)]
    return f"{who(last.user)} {did} at {utc(last.created_at)}; it is “{run.state.label}” now. Nothing was changed."


def _store(run: Run, user: User, verdict: Verdict, summary: str, despite: str) -> Review:
    remarks = list(run.comments.filter(review=None).order_by("pk")[:LIMIT_COMMENTS])
    if verdict is Verdict.REQUEST_CHANGES and not summary and not remarks:
        raise Refused("EMPTY", "Say what should change: write a summary here, or comment on a line.", 422)
    review = Review.objects.create(
        run=run,
        user=user,
        by_human=True,
        round=run.round,
        verdict=verdict,
        summary=masks.of_run(run.pk).text(summary)[0],
        findings=_findings(run, remarks),
        despite=despite,
        snapshot=run.snapshot,
    )
    run.comments.filter(pk__in=[row.pk for row in remarks]).update(review=review)
    return review


def _findings(run: Run, remarks: Sequence[Comment]) -> list[dict[str, Any]]:
    """Return humans' comments in the shape of an agent's findings, which is what the implementer reads."""
    versions = _versions(run, remarks)
    return [_finding(run, row, versions) for row in remarks]


def _finding(run: Run, row: Comment, versions: Versions) -> dict[str, Any]:
    line, about = _place(run, row, versions)
    message = f"{about} {row.body}".strip()
    return {"severity": "", "file": row.path, "line": line, "side": row.side, "message": message, "suggestion": ""}


def _place(run: Run, row: Comment, versions: Versions) -> tuple[int | None, str]:
    """Return the line of the latest version that a comment is about, or None and words for where it was."""
    if row.line is None:
        return None, ""
    if row.side == Comment.Side.OLD:
        return None, f"(On line {row.line} of the baseline.)"
    if row.snapshot == run.snapshot:
        return row.line, ""
    before, after = (versions.text(number, raw(row.path)) for number in (row.snapshot, run.snapshot))
    line = provenance.follow(row.line, before.split("\n"), after.split("\n")) if before and after else None
    return line, "" if line else f"(On line {row.line} as it was in snapshot {row.snapshot}; it changed since.)"


def _versions(run: Run, remarks: Sequence[Comment]) -> Versions:
    """Return the texts of the files whose comments are older than the latest snapshot."""
    older = [row for row in remarks if row.path and row.snapshot != run.snapshot]
    numbers = {row.snapshot for row in older} | {run.snapshot}
    trees = dict(run.place.snapshots.filter(number__in=numbers).values_list("number", "tree"))
    versions = Versions(store.ensure(run.place.repository), trees)
    versions.load((number, raw(row.path)) for row in older for number in (row.snapshot, run.snapshot))
    return versions


def _carry_out(run: Run, user: User, review: Review) -> None:
    came_from, verdict = run.state, Verdict(review.verdict)
    reason = f"{_REASON[verdict]} by {who(user)}"
    changes: dict[str, Any] = {"reason": reason}
    match verdict:
        case Verdict.APPROVE:
            if left_out := _must_hold_no_secret(run):
                events.append(run.pk, facts.note(NOT_SEARCHED.format(count=left_out), round=run.round))
            changes |= _commit(run, user, review)
        case Verdict.REQUEST_CHANGES:
            changes |= {"resume_to": Status.IMPLEMENTING.value, "round": run.round + 1, "takeovers": 0}
            transaction.on_commit(doorbell.ring_workers, robust=True)
    if not run.move(_OUTCOME[verdict], **changes):
        run.refresh_from_db()
        raise Refused("TOO_LATE", _who_was_first(run))
    proofs.drop(run)
    events.append(
        run.pk,
        Fact(Kind.REVIEW, facts.review_data(review, who(user)), round=review.round),
        facts.moved(came_from, run.status, reason, who(user), round=run.round),
    )


def _must_hold_no_secret(run: Run) -> int:
    """Refuse a tree whose changed files hold a secret of the repository; the base may hold what it holds.

    Return how many changed files are too many, or too large, to be searched.
    """
    mask = masks.of_repository(run.place.repository_id)
    base, latest = store.at(run.place, 0), store.at(run.place, run.snapshot)
    found = disclosed.find(store.ensure(run.place.repository), base.tree, latest.tree, mask)
    if found.files:
        raise Refused(
            "SECRET_FOUND",
            f"Secrets of “{run.place.repository.name}” lie in what would be committed: {found.named()}. "
            "Revert these files on the review page, or request changes, and replace the secrets if others saw them.",
        )
    return found.left_out


def _commit(run: Run, user: User, review: Review) -> dict[str, str]:
    """Commit the latest tree on a branch of the run store. A branch left by a lost race is simply made again."""
    trees = dict(run.place.snapshots.filter(number__in=(0, run.snapshot)).values_list("number", "tree"))
    if trees.get(0) == trees.get(run.snapshot):
        raise Refused("NO_CHANGES", "No file differs from the baseline; request changes, or reject the run.")
    branch = _free_branch(run)
    try:
        commit = snapshots.commit_branch(run.place, branch, _message(run, user, review), *author(user))
    except SourceError as error:
        raise Refused(error.code, f"The commit could not be made: {error}") from error
    return {"branch": branch, "commit": commit}


def _free_branch(run: Run) -> str:
    wanted = run.task.branch
    taken = set(run.task.runs.exclude(pk=run.pk).exclude(branch="").values_list("branch", flat=True))
    return next(name for name in (wanted, *(f"{wanted}-{n}" for n in range(2, len(taken) + 3))) if name not in taken)


def _message(run: Run, user: User, review: Review) -> str:
    trailers = f"Sakura-Task: {run.task_id}, run {run.number}, by {run.task.model}\nReviewed-by: {who(user)}"
    if review.despite:
        trailers += f"\nApproved-despite: {review.despite}"
    text = "\n\n".join(part for part in (" ".join(run.task.title.split()), review.summary, trailers) if part) + "\n"
    return masks.of_run(run.pk).text(text)[0]


# --- push ----------------------------------------------------------------------------------------


def push(run: Run, user: User) -> tuple[str, str]:
    """Push the approved branch to the source as a new branch; return it and its commit. It may take seconds."""
    demand(user, Role.REVIEWER)
    run.refresh_from_db()
    if run.state is not Status.APPROVED or not run.branch:
        raise Refused("NOT_APPROVED", f"The run is “{run.state.label}”; only an approved run has a branch to push.")
    if run.pushed_at is not None:
        raise Refused("PUSHED", f"The branch {run.branch} was pushed at {utc(run.pushed_at)} already.")
    _must_hold_no_secret(run)
    try:
        snapshots.push(run.place, run.branch)
    except SourceError as error:
        raise Refused(error.code, str(error)) from error
    with transaction.atomic():
        if Run.objects.filter(pk=run.pk, pushed_at=None).update(pushed_at=timezone.now()) == 1:
            text = f"{who(user)} pushed the branch {run.branch} ({run.commit[:10]}) to the source."
            events.append(run.pk, facts.note(text, round=run.round))
    run.refresh_from_db()
    return run.branch, run.commit
