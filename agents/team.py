"""The team of a run: implementer, proof, reviewer, then the next round, until a human is to decide."""

from functools import partial
from pathlib import Path
from typing import Any

from django.db import transaction

from agents import (
    bench,
    claims,
    conversation,
    events,
    facts,
    journal,
    loop,
    network,
    policies,
    policy,
    prompting,
    proof_words,
    proofs,
)
from agents.lease import boot_id
from agents.loop import Ended
from agents.models import Agent, CallState, Kind, Proof, ProofState, Review, Status, ToolCall, Verdict
from agents.session import Session, Stopped
from agents.streams import OpenStream
from workspaces import background, fresh, sandbox, setup, snapshots, withheld
from workspaces.files import put_back_interrupted
from workspaces.models import Snapshot
from workspaces.tidying import remove_old_trees

LEFTOVERS = 200
"""Processes of a lost worker that are ended at once."""
LAID_OUT_ANEW = "The workspace was laid out anew, without ignored files and what no snapshot holds. {why}"
JOBS_LOST = (
    "The server went down, and with it what you had in the background: {jobs}. "
    "Their ids mean nothing any more; start them again if you need them."
)


def drive(session: Session) -> None:
    """Take a claimed run from where it stands to where a human, or nobody, is needed next.

    Raises Stopped, LeaseLost, ProviderError and what is a bug; the worker's outermost catch deals with them.
    """
    run = session.run
    _prepare(session)
    environment = _set_up(session)
    if lost := network.unstored(run.pk):
        session.note(lost)
    phase = run.state if run.state is not Status.PREPARING else Status(run.resume_to or Status.IMPLEMENTING)
    if run.state is not phase:
        session.move(phase, resume_to="")
    while True:
        if run.state is Status.IMPLEMENTING:
            _implement(session, environment)
        if run.state is Status.REVIEWING:
            proof = proofs.prove(session, environment)
            if not _goes_back(session, proof):
                _review(session, environment, proof)
        if run.state not in (Status.IMPLEMENTING, Status.REVIEWING):
            return


def _prepare(session: Session) -> None:
    """Put the tree where the run's last snapshot says it is, also when an earlier worker died while it did so."""
    workspace, lease = session.place, session.lease
    lost = _end_leftovers(session)
    fresh.clear(workspace)
    shows_another = withheld.hide(workspace, policy.withholding(_settled_policy(session)))
    if workspace.epoch and lease.kept_tree and workspace.tree.is_dir() and not shows_another:
        put_back_interrupted(workspace.tree, workspace.folder / "rescue")
        _align(session)
    else:
        _lay_out(session)
    _tell_baseline(session)
    _tell_jobs_ended(session, lost)


def _lay_out(session: Session) -> None:
    workspace = session.place
    workspace.epoch = session.lease.epoch
    workspace.save(update_fields=["epoch", "visible_tree"])
    snapshots.prepare(workspace)
    remove_old_trees(workspace)


def _align(session: Session) -> None:
    """Bring the kept tree to the latest snapshot; make it anew where what no snapshot holds is in the way."""
    try:
        snapshots.align(session.place)
    except snapshots.TreeError as error:
        _lay_out(session)
        session.note(LAID_OUT_ANEW.format(why=error.message))


def _settled_policy(session: Session) -> policies.Applied:
    """Return which policy applies, worked out once. One that can't be read stops the run: nothing would hold it."""
    try:
        return policies.settle(session.run)
    except policies.PolicyFault as fault:
        raise Stopped(Status.FAILED, f"The policy of this task can't be read. {fault}") from fault


def _tell_baseline(session: Session) -> None:
    if session.run.events.filter(kind=Kind.SNAPSHOT).exists():
        return
    baseline = Snapshot.objects.get(workspace=session.place, number=0)
    session.append(session.fact(Kind.SNAPSHOT, facts.snapshot_data(baseline)))


def _end_leftovers(session: Session) -> list[ToolCall]:
    """Kill what commands of a lost worker still run on this machine; return the calls of those in the background."""
    calls = list(session.run.calls.exclude(process={})[:LEFTOVERS])
    for call in calls:
        if call.process.get("boot") == boot_id():
            sandbox.end_leftover(call.process["pid"], call.process["start"])
    return [call for call in calls if call.state != CallState.INTENT]


def _tell_jobs_ended(session: Session, calls: list[ToolCall]) -> None:
    """Keep what lost background commands wrote, and tell their agents that they ended."""
    if not calls:
        return
    results = session.run.events.filter(kind=Kind.TOOL_RESULT, call_id__in=[call.call_id for call in calls])
    started = {event.call_id: events.whole(event.run_id, event.data["data"]) for event in results}
    with transaction.atomic():
        journal.keep_tree(session)
        for agent in Agent:
            mine = [started[call.call_id] for call in calls if call.agent == agent and call.call_id in started]
            if mine:
                names = background.named({each["id"]: each["command"] for each in mine})
                session.note(JOBS_LOST.format(jobs=names), to=agent)
        journal.jobs_ended(session, [call.call_id for call in calls])


def _set_up(session: Session) -> Path | None:
    """Run the repository's set-up commands (once per key) and show what they say; a failure stops the run in words."""
    if not session.task.repository.setup:
        return None
    report = sandbox.probe()
    if report.level == "none":
        session.note(f"Set-up was left out, because commands can't run here. {report.cure}")
        return None
    try:
        with OpenStream(session.run.pk) as stream:
            return setup.ensure(session.place, stream.write, session.cancelled, partial(network.record, session, ""))
    except setup.SetupFailed as error:
        session.check()
        detail = {"code": "SETUP_FAILED", "message": error.message, "detail": error.output_tail}
        session.append(session.fact(Kind.ERROR, detail))
        raise Stopped(Status.FAILED, f"Set-up failed: {error.message}") from error


# --- implementer -----------------------------------------------------------------------------------


def _implement(session: Session, environment: Path | None) -> None:
    session.agent = Agent.IMPLEMENTER
    talk = conversation.load(session.run, Agent.IMPLEMENTER)
    ended = loop.work(bench.lay_out(session, environment), talk)
    if ended.claim is not None:
        session.move(Status.REVIEWING, "the implementer finished")
    elif ended.is_spent or session.run.changed_files:
        left = "What it changed so far can be reviewed." if session.run.changed_files else "Nothing was changed so far."
        session.move(Status.AWAITING_HUMAN, f"{ended.reason} {left}")
        proofs.want(session.run)
    else:
        raise Stopped(Status.FAILED, f"{ended.reason} Nothing was changed.")


# --- proof -----------------------------------------------------------------------------------------


def _goes_back(session: Session, proof: Proof) -> bool:
    """Send the implementer back to work after a red proof, while rounds are left; return whether that was done.

    The event of the proof tells it why (see conversation.py).
    """
    run = session.run
    if proof.state != ProofState.RED or run.round >= session.task.max_rounds:
        return False
    session.move(Status.IMPLEMENTING, "the proof was red", round=run.round + 1)
    return True


# --- reviewer --------------------------------------------------------------------------------------


def _review(session: Session, environment: Path | None, proof: Proof) -> None:
    session.agent = Agent.REVIEWER
    talk = conversation.load(session.run, Agent.REVIEWER)
    if not talk.turns:
        text = prompting.review_request(session.run, _claim(session), proof)
        session.note(text, to=Agent.REVIEWER)
        talk.tell(text)
    reviewing = bench.lay_out(session, environment)
    reviewing.proof = proof_words.word(proof)
    ended = loop.work(reviewing, talk)
    if ended.claim is None:
        session.move(Status.AWAITING_HUMAN, f"The reviewer gave no verdict: {ended.reason}{_redness(proof)}")
        return
    _judge(session, ended, proof)


def _claim(session: Session) -> dict[str, Any] | None:
    """Return what the implementer said when it last finished."""
    event = (
        session.run.events.filter(kind=Kind.TOOL_RESULT, data__tool=Agent.IMPLEMENTER.finish_tool)
        .order_by("-seq")
        .first()
    )
    return event.data.get("data") if event else None


def _redness(proof: Proof) -> str:
    """Return the rest of a reason that says that the proof is red; "" where it isn't."""
    return " The proof is red." if proof.state == ProofState.RED else ""


def _judge(session: Session, ended: Ended, proof: Proof) -> None:
    """Keep the verdict and move the run on by it, in one transaction."""
    run, claim = session.run, ended.claim or {}
    verdict = Verdict(str(claim["verdict"]))
    with transaction.atomic():
        review = Review.objects.create(
            run=run,
            round=run.round,
            verdict=verdict,
            score=int(claim["score"]) if claim.get("score") else None,
            summary=str(claim.get("summary", "")),
            findings=claim.get("findings", []),
            despite=str(claim.get("despite", "")) if verdict is Verdict.APPROVE else "",
            snapshot=run.snapshot,
        )
        unproven = claims.told(run, Agent.REVIEWER)
        session.append(session.fact(Kind.REVIEW, facts.review_data(review, Agent.REVIEWER, unproven)))
        _go_on(session, verdict, _redness(proof))


def _go_on(session: Session, verdict: Verdict, redness: str) -> None:
    run = session.run
    match verdict:
        case Verdict.REQUEST_CHANGES if run.round < session.task.max_rounds:
            session.move(Status.IMPLEMENTING, "the reviewer asked for changes", round=run.round + 1)
            return
        case Verdict.REQUEST_CHANGES:
            reason = f"The reviewer asks for changes, and all {run.round} rounds are used."
        case Verdict.APPROVE:
            reason = "The reviewer approved."
        case Verdict.REJECT:
            reason = "The reviewer rejected the change."
    session.move(Status.AWAITING_HUMAN, f"{reason}{redness}")
