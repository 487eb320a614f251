"""The loop of one agent: ask the model, act on its calls, record both; nothing else."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from django.db import close_old_connections, transaction
from django.db.models import F

from agents import budgets, facts, guard, journal, masking, masks, responses
from agents.bench import Bench
from agents.conversation import Conversation
from agents.events import LeaseLost
from agents.guard import Guarded
from agents.models import Agent, CallState, Control, Kind, Status
from agents.providers import models as registry
from agents.providers.base import Answer, Call, Cancelled, ModelTurn, ProviderError, Request, Response, Stop, Trouble
from agents.providers.retry import respond_with_retries
from agents.session import Session, Stopped
from agents.streams import OpenStream
from agents.tools import runner
from agents.tools.base import Effect, Result, ToolError, limits
from workspaces import background, snapshots
from workspaces.models import Snapshot

PARALLEL_READS = 8
FAILURES_IN_A_ROW = 30
LEAST_OUTPUT_TOKENS = 1000
ESTIMATE_MARGIN = 1.25
"""By how much a prompt may be larger than was estimated."""
SILENT_TURNS = 2
NUDGE = "You answered without calling a tool. Go on with the task, or call {finish} if you are done."
JOBS_STOPPED = (
    "Your turn of work ended, so what still ran in the background was stopped: {jobs}. "
    "Start it again if you need it in your next one."
)
FINISHED = "an earlier call of this turn finished the work"
CUT_OFF = "Your answer was cut off at {limit:,} tokens. Go on from there, in smaller pieces."

_readers = ThreadPoolExecutor(4 * PARALLEL_READS, thread_name_prefix="reads")
"""Of all runs of the process: a turn of slow reads, such as waits for background commands, must not hold up others."""


@dataclass(frozen=True)
class Ended:
    """How an agent's turn of work ended: its FINISH call's claim, or the reason why there is none."""

    claim: dict[str, Any] | None
    reason: str = ""
    is_spent: bool = False
    """A budget is used up: that is for a human, whatever was done until then."""


def work(bench: Bench, talk: Conversation) -> Ended:
    """Let one agent work until it finishes, falls silent or uses up a budget; what it left in the background ends then.

    Raises Stopped (human, shutdown, disk), LeaseLost, ProviderError.
    """
    try:
        ended = _take_steps(bench, talk)
        _end_jobs(bench, talk)
        return ended
    except (Stopped, ProviderError):
        _end_jobs(bench, talk)
        raise
    finally:  # nothing runs on, whatever happened
        bench.jobs.stop(bench.jobs.running())


def _take_steps(bench: Bench, talk: Conversation) -> Ended:
    session, failures = bench.session, 0
    budgets.grant(session)
    talk.count(bench.fixed_tokens)
    while True:
        if not talk.open_calls:
            if talk.claim is not None and not _has_messages(session):
                return Ended(talk.claim)
            session.check()
            if spent := bench.meter.spent():
                return Ended(None, spent, is_spent=True)
            for warning, budget in bench.meter.warnings():
                _tell(bench, talk, warning, budget=budget)
            _listen(session, talk)
            if talk.silent >= SILENT_TURNS:
                return Ended(None, "The model answered twice in a row without calling a tool.")
            _record(bench, talk, _ask(bench, talk))
            if talk.silent:
                _nudge(bench, talk)
                continue
        failed = _act(bench, talk)
        failures = failures + failed if failed else 0
        if failures >= FAILURES_IN_A_ROW:
            raise Stopped(Status.FAILED, f"{failures} calls in a row failed; the last ones are in the transcript.")


def _has_messages(session: Session) -> bool:
    return session.run.controls.filter(verb=Control.Verb.STEER, taken_at=None).exists()


def _listen(session: Session, talk: Conversation) -> None:
    for text in session.take_messages():
        talk.tell(masks.of_run(session.run.pk).text(text)[0])


def _nudge(bench: Bench, talk: Conversation) -> None:
    if talk.silent >= SILENT_TURNS:
        return
    _tell(bench, talk, NUDGE.format(finish=talk.agent.finish_tool))


def _tell(bench: Bench, talk: Conversation, text: str, **more: Any) -> None:
    """Say a word of Sakura to the agent, and keep it; `more` is for people."""
    bench.session.append(bench.session.fact(Kind.NOTE, {"text": text, "to": talk.agent, **more}))
    talk.tell(text)


# --- ask -------------------------------------------------------------------------------------------


def _ask(bench: Bench, talk: Conversation) -> tuple[Response, int]:
    """Return the model's response and the milliseconds it took; old results give way when the window fills."""
    started = time.monotonic()
    _forget(bench, talk.mask(bench.model.context_window))
    most = bench.model.max_output_tokens
    while True:
        try:
            return _stream(bench, talk, most), int((time.monotonic() - started) * 1000)
        except ProviderError as error:
            if error.trouble is not Trouble.CONTEXT_FULL:
                raise
            if most <= _output_room(bench, talk):
                gone = talk.make_room()
                if not gone:
                    raise
                _forget(bench, gone)
            most = _output_room(bench, talk)


def _output_room(bench: Bench, talk: Conversation) -> int:
    """Return how long an answer can be beside what is asked; many servers count both against the window."""
    left = bench.model.context_window - round(talk.next_tokens * ESTIMATE_MARGIN)
    return min(bench.model.max_output_tokens, max(LEAST_OUTPUT_TOKENS, left))


def _forget(bench: Bench, steps: list[int]) -> None:
    """Let files be shown in full again whose reads left the conversation, and tell people."""
    if not steps:
        return
    for step in steps:
        bench.reads.forget_context(step)
    bench.session.note(f"The context was filling up: old results, up to step {max(steps)}, were taken out of it.")


def _stream(bench: Bench, talk: Conversation, max_output_tokens: int) -> Response:
    session = bench.session
    request = Request(
        agent=talk.agent,
        system=bench.system_prompt,
        turns=talk.turns,
        tools=bench.specs,
        max_output_tokens=max_output_tokens,
        position=talk.responses,
        script=session.task.script,
    )
    try:
        with OpenStream(session.run.pk) as stream:
            return respond_with_retries(bench.provider, request, stream.write, session.interrupt, _tell_wait(session))
    except ProviderError as error:
        raise masking.in_error(masks.of_run(session.run.pk), error) from error
    except Cancelled:
        session.interrupt.clear()
        session.check()
        raise LeaseLost(f"run {session.run.pk}") from None


def _tell_wait(session: Session) -> Callable[[str, float], None]:
    def tell(sentence: str, seconds: float) -> None:
        session.note(f"{sentence} Trying again in {seconds:.0f} s.")

    return tell


def _record(bench: Bench, talk: Conversation, answer: tuple[Response, int]) -> None:
    """Commit the response before any of its calls runs: it is never asked for again."""
    session, duration_ms = bench.session, answer[1]
    response, hidden = masking.in_response(masks.of_run(session.run.pk), answer[0])
    usage = budgets.sane(response.usage)
    response = replace(response, usage=usage)
    calls, renamed = responses.unique(session, response.calls)
    blocks = None if renamed else response.blocks
    cost = budgets.sane_cost(registry.cost(bench.model, usage))
    with transaction.atomic():
        session.update(
            step=F("step") + 1,
            takeovers=0,
            input_tokens=F("input_tokens") + usage.input_tokens,
            cached_tokens=F("cached_tokens") + usage.cached_tokens,
            output_tokens=F("output_tokens") + usage.output_tokens,
            usd=F("usd") + cost,
            masked=F("masked") + hidden,
        )
        data = responses.data(bench.model, response, calls, blocks)
        session.append(session.fact(Kind.MODEL_RESPONSE, data | {"duration_ms": duration_ms}))
    turn = ModelTurn(response.text, calls, blocks, bench.model.provider)
    talk.responded(turn, usage.input_tokens + usage.output_tokens)
    if response.stop is Stop.LENGTH and not calls:
        _tell(bench, talk, CUT_OFF.format(limit=usage.output_tokens or bench.model.max_output_tokens))
    if response.stop is Stop.REFUSAL and not calls:
        raise Stopped(Status.FAILED, "The model refused to go on with this task.")


# --- in the background -----------------------------------------------------------------------------


def _end_jobs(bench: Bench, talk: Conversation) -> None:
    """Stop what runs on in the background, keep what it wrote, and tell the agent."""
    jobs, session, running = bench.jobs, bench.session, bench.jobs.running()
    jobs.stop(running)
    gone, unscanned = jobs.ended(), jobs.unscanned()
    unknown = [job.call_id for job in gone if not job.was_noted]
    if not running and not unscanned and not unknown:
        return
    with transaction.atomic():
        put_back = journal.keep_tree(session, bench.guard) if unscanned else ""
        journal.jobs_ended(session, unknown)
        session.update(**masking.counted({}, gone))
        if running:
            names = background.named({job.id: job.command for job in running})
            _tell(bench, talk, JOBS_STOPPED.format(jobs=names))
        if put_back:
            talk.tell(put_back)
    for job in gone:
        job.was_scanned = job.was_noted = True


# --- act -------------------------------------------------------------------------------------------


def _act(bench: Bench, talk: Conversation) -> int:
    """Carry out the open calls; return how many failed in a row at the end. A FINISH call's claim goes to `talk`."""
    failed, skip = 0, FINISHED if talk.claim is not None else ""
    for batch in _batches(bench, talk):
        if batch[0].finishes and not skip:
            _end_jobs(bench, talk)
        for call, result in _carry_out(bench, batch, skip):
            answer = Answer(call.call_id, result.content, result.is_error, result.images)
            talk.answered(answer, bench.session.run.step)
            for text in bench.take_in(call, result):
                _tell(bench, talk, text)
            talk.claim = talk.claim or result.finish
            failed = failed + 1 if result.is_error else 0
        skip = skip or (FINISHED if talk.claim is not None else bench.meter.spent(*budgets.AT_ONCE))
    return failed


@dataclass(frozen=True)
class _Ready:
    call: Call
    prepared: runner.Prepared | None
    refusal: Result | None

    @property
    def is_read(self) -> bool:
        return self._has(Effect.READ)

    @property
    def finishes(self) -> bool:
        return self._has(Effect.FINISH)

    def _has(self, effect: Effect) -> bool:
        return self.refusal is None and self.prepared is not None and self.prepared.effect is effect


def _batches(bench: Bench, talk: Conversation) -> Iterator[list[_Ready]]:
    """Yield the open calls in order: neighbouring reads together, at most eight at once; any other call alone."""
    ready = [_prepare(bench, call) for call in list(talk.open_calls)]
    for together, group in groupby(ready, key=lambda each: each.is_read):
        calls = list(group)
        size = PARALLEL_READS if together else 1
        for batch in (calls[at : at + size] for at in range(0, len(calls), size)):
            yield [_decide_again(bench, each) for each in batch]


def _prepare(bench: Bench, call: Call) -> _Ready:
    prepared = None
    try:
        prepared = runner.prepare(call, bench.tools, bench.session.place.tree)
        runner.decide(prepared, bench.rules)
    except ToolError as error:
        return _Ready(call, prepared, runner.failure(error))
    return _Ready(call, prepared, None)


def _decide_again(bench: Bench, ready: _Ready) -> _Ready:
    """Ask the rules once more, right before the call: one of the same turn may have narrowed what is allowed."""
    return ready if ready.refusal or ready.prepared is None else _prepare(bench, ready.call)


def _carry_out(bench: Bench, batch: list[_Ready], skip: str) -> list[tuple[Call, Result]]:
    """Return the calls with their results; `skip` says why none is carried out any more."""
    session = bench.session
    if not batch[0].is_read and not skip:
        session.check()
    skipped = runner.failure(ToolError("SKIPPED", skip)) if skip else None
    rows = journal.known(session, [each.call for each in batch])
    given = [skipped or each.refusal or journal.recover(session, rows.get(each.call.call_id)) for each in batch]
    for each in batch:
        journal.begin(session, each.call, each.prepared, rows.get(each.call.call_id))
    results = [
        _finish(bench, each.call, result) for each, result in zip(batch, _results(bench, batch, given), strict=True)
    ]
    mask = masks.of_run(session.run.pk)
    return [(each.call, masking.in_result(mask, result)) for each, result in zip(batch, results, strict=True)]


def _results(bench: Bench, batch: list[_Ready], given: list[Result | None]) -> list[Result]:
    """Return the results of calls that may run side by side, in their order."""
    if len(batch) == 1:
        return [given[0] or _execute(bench, batch[0])]
    waiting = [
        result or _readers.submit(_execute_apart, bench, each) for each, result in zip(batch, given, strict=True)
    ]
    return [each if isinstance(each, Result) else each.result() for each in waiting]


def _execute_apart(bench: Bench, ready: _Ready) -> Result:
    try:
        return _execute(bench, ready)
    finally:
        close_old_connections()


def _execute(bench: Bench, ready: _Ready) -> Result:
    assert ready.prepared is not None
    with bench.context(ready.call) as context:
        result = runner.execute(ready.prepared, context)
    masking.in_output(bench.session, ready.call, result)
    return bench.meter.explained(result, context.limits, limits())


def _finish(bench: Bench, call: Call, result: Result) -> Result:
    """Take the snapshot that the call calls for, put protected paths back, commit the result with it, and return it."""
    session, jobs = bench.session, bench.jobs
    gone = jobs.ended()
    taken: list[Snapshot] = []
    guarded: Guarded | None = None
    if (result.touched is None or result.touched) and session.agent is Agent.IMPLEMENTER:
        taken = _snapshots(session, call, result.touched)
        guarded = bench.guard.after(taken)
    if guarded is not None:
        result = guard.told(result, guarded)
    last = guarded.after if guarded and guarded.after else taken[-1] if taken else None
    changes = facts.totals(session.place, last) if last else {}
    if applied := result.data.get("applied") or {}:
        changes["sandbox"] = applied
    changes |= masking.counted(applied, gone)
    state = CallState.INTERRUPTED if result.code == "INTERRUPTED" else CallState.DONE
    job = jobs.of_call(call.call_id)
    with transaction.atomic():
        bench.reads.save()
        runs_on = job is not None and job not in gone
        journal.finish(session, call, result, taken, state, changes, runs_on=runs_on, guarded=guarded)
        journal.jobs_ended(session, [each.call_id for each in gone if not each.was_noted])
    for each in gone:
        each.was_noted = True
        each.was_scanned = each.was_scanned or result.touched is None
    return result


def _snapshots(session: Session, call: Call, touched: tuple[str, ...] | None) -> list[Snapshot]:
    """Take the snapshot that the call calls for, and return all that the run does not know of yet.

    Those are more than one where the tool took one itself, before it put something back; and where a worker died
    between the snapshot and the result: that one counts, and what changed since is one of its own.
    """
    place, step = session.place, session.run.step
    if place.snapshots.filter(call_id=call.call_id).exists():
        snapshots.take(place, call_id="", step=step, paths=None)
    else:
        snapshots.take(place, call_id=call.call_id, step=step, paths=touched)
    return journal.untold(session)
