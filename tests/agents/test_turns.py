"""The rules of a turn: what runs side by side, what waits, and what ends with it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents import control, conversation, journal, team
from agents.lease import boot_id
from agents.models import Agent, CallState, Kind, Run, Status
from agents.tools import runner
from agents.tools.base import Result
from tests.agents.test_lease import dead_owner
from tests.agents.test_team import EDIT, FINISH, READ, kinds, results, review, say
from tests.conftest import work_once
from workspaces import background, sandbox, snapshots
from workspaces.models import Snapshot
from workspaces.sandbox import processes

pytestmark = pytest.mark.django_db(transaction=True)

LOOK = {"name": "run_command", "input": {"command": "pwd"}}
TICK = "while :; do date +%N > tick.txt; done"
LISTEN = {"name": "command_output", "input": {"id": "bg1", "until": "up"}}


def behind(command: str) -> dict[str, Any]:
    return {"name": "run_command", "input": {"command": command, "run_in_background": True}}


def done(run: Run | None) -> Run:
    assert run is not None
    assert run.state is Status.AWAITING_HUMAN, run.reason
    return run


def told(run: Run, agent: str = "implementer") -> list[str]:
    notes = run.events.filter(kind=Kind.NOTE, data__to=agent).order_by("seq")
    return [note.data["text"] for note in notes if "background" in note.data["text"]]


# --- side by side ------------------------------------------------------------------------------------------


@dataclass
class Watch:
    """Sees which calls are in flight together; each of them waits for `together` of them, as long as it takes them."""

    together: int
    names: tuple[str, ...]
    at_once: int = 0
    most: int = 0
    seen: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lock = threading.Lock()
        self.barrier = threading.Barrier(self.together)

    def around(self, real: Callable[..., Result]) -> Callable[..., Result]:
        def execute(prepared: runner.Prepared, ctx: Any) -> Result:
            with self.lock:
                self.at_once += 1
                self.most = max(self.most, self.at_once)
                self.seen.append(("begins", ctx.call_id))
            if prepared.tool.name in self.names:
                self.barrier.wait(60)  # breaks, and fails the run, where they do not overlap
            result = real(prepared, ctx)
            with self.lock:
                self.at_once -= 1
                self.seen.append(("ends", ctx.call_id))
            return result

        return execute


def watch(monkeypatch: pytest.MonkeyPatch, together: int, *names: str) -> Watch:
    made = Watch(together, names)
    monkeypatch.setattr(runner, "execute", made.around(runner.execute))
    return made


def test_neighbouring_reads_run_side_by_side_commands_that_only_read_among_them(
    launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = watch(monkeypatch, 4, "read_file", "run_command")
    launch({"implementer": [say(LOOK, READ, LOOK, LOOK), say(EDIT), say(FINISH)], "reviewer": [review("approve")]})
    run = done(work_once())
    assert seen.most == 4
    assert [result["tool"] for result in results(run)][:4] == ["run_command", "read_file", "run_command", "run_command"]
    calls = run.events.filter(kind=Kind.TOOL_CALL).order_by("seq")[:4]
    assert [call.data["effect"] for call in calls] == ["READ"] * 4
    assert [result["call_id"] for result in results(run)][:4] == [call.call_id for call in calls]


def test_no_more_than_eight_reads_run_at_once(launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watch(monkeypatch, 8, "read_file")
    launch({"implementer": [say(*[READ] * 16), say(EDIT), say(FINISH)], "reviewer": [review("approve")]})
    run = done(work_once())
    assert seen.most == 8
    assert len([result for result in results(run) if result["tool"] == "read_file"]) == 16


def test_any_other_call_waits_for_those_before_it_and_runs_alone(
    launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = watch(monkeypatch, 2, "run_command")
    launch(
        {"implementer": [say(READ), say(LOOK, LOOK, EDIT, LOOK, LOOK), say(FINISH)], "reviewer": [review("approve")]}
    )
    run = done(work_once())
    ids = [call.call_id for call in run.events.filter(kind=Kind.TOOL_CALL).order_by("seq")][1:6]
    order = [(what, ids.index(call_id)) for what, call_id in seen.seen if call_id in ids]
    at = order.index(("begins", 2))
    assert {call for _, call in order[:at]} == {0, 1}
    assert order[at + 1] == ("ends", 2)
    assert {call for _, call in order[at + 2 :]} == {3, 4}
    assert {what for what, _ in order[:at][-2:]} == {"ends"}


def test_a_command_that_only_reads_can_not_write_and_costs_no_scan(
    launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Any] = []
    real = snapshots.take

    def take(*args: Any, **how: Any) -> Snapshot | None:
        looks.append(how["paths"])
        return real(*args, **how)

    monkeypatch.setattr(snapshots, "take", take)
    launch({"implementer": [say(LOOK), say(READ), say(EDIT), say(FINISH)], "reviewer": [review("approve")]})
    run = done(work_once())
    assert looks == [("calc.py",)]
    assert results(run)[0]["data"]["applied"]["mode"] == "read"


def test_nothing_of_the_turn_is_carried_out_after_the_finishing_call(launch: Callable[..., Run]) -> None:
    late = {"name": "run_command", "input": {"command": "echo late > late.txt"}}
    launch({"implementer": [say(READ), say(EDIT), say(FINISH, late, READ)], "reviewer": [review("approve")]})
    run = done(work_once())
    assert [result["code"] for result in results(run)][2:5] == [None, "SKIPPED", "SKIPPED"]
    assert not (run.place.tree / "late.txt").exists()


def test_a_refused_call_between_reads_is_a_barrier_and_told(launch: Callable[..., Run]) -> None:
    refused = {"name": "read_file", "input": {"path": "calc.py", "colour": "red"}}
    launch({"implementer": [say(READ, refused, READ), say(EDIT), say(FINISH)], "reviewer": [review("approve")]})
    run = done(work_once())
    assert [result["code"] for result in results(run)][:3] == [None, "INVALID_INPUT", None]


def test_a_result_says_how_long_the_call_took(launch: Callable[..., Run]) -> None:
    slow = {"name": "run_command", "input": {"command": "sleep 0.3; true > x"}}
    launch({"implementer": [say(slow), say(FINISH)], "reviewer": [review("approve")]})
    assert results(done(work_once()))[0]["duration_ms"] >= 300


# --- the end of a turn -------------------------------------------------------------------------------------


def process_of(run: Run) -> dict[str, Any]:
    return dict(run.calls.get(pk=run.calls.filter(tool="run_command").order_by("pk")[0].pk).process)


def test_what_runs_on_is_stopped_at_the_end_of_a_round_kept_and_told(launch: Callable[..., Run]) -> None:
    launch(
        {"implementer": [say(behind(f"echo up; {TICK}")), say(LISTEN), say(FINISH)], "reviewer": [review("approve")]}
    )
    run = done(work_once())
    assert told(run) == [
        "Your turn of work ended, so what still ran in the background was stopped: "
        f"bg1 `echo up; {TICK}`. Start it again if you need it in your next one."
    ]
    names = kinds(run)
    note = run.events.filter(kind=Kind.NOTE).order_by("seq")[0]
    assert names[note.seq :][:2] == ["tool_call", "tool_result"], "it is told before the work is finished"
    assert snapshots.read(run.place, "tick.txt").data == (run.place.tree / "tick.txt").read_bytes()
    assert run.snapshot == Snapshot.objects.filter(workspace_id=run.pk).latest("number").number
    shown = [event.data["number"] for event in run.events.filter(kind=Kind.SNAPSHOT).order_by("seq")]
    assert shown == list(range(run.snapshot + 1))
    assert not run.calls.exclude(process={}).exists()


def test_a_process_stays_known_as_long_as_its_command_runs(
    launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    known: list[dict[str, Any]] = []
    real = journal.begin

    def begin(session: Any, call: Any, *rest: Any) -> None:
        if call.name in ("list_directory", "glob"):
            known.append(process_of(session.run))
        real(session, call, *rest)

    monkeypatch.setattr(journal, "begin", begin)
    stop = {"name": "stop_command", "input": {"id": "bg1"}}
    folder, files = {"name": "list_directory", "input": {}}, {"name": "glob", "input": {"pattern": "*"}}
    launch(
        {
            "implementer": [
                say(behind("true; sleep 600")),
                say(folder),
                say(stop),
                say(files),
                say(READ),
                say(EDIT),
                say(FINISH),
            ],
            "reviewer": [review("approve")],
        }
    )
    run = done(work_once())
    assert [set(process) for process in known] == [{"pid", "start", "boot"}, set()]
    assert told(run) == []


def test_a_pause_stops_what_runs_on_and_the_agent_reads_it_when_it_goes_on(
    launch: Callable[..., Run], teammate: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = launch(
        {
            "implementer": [say(behind(f"echo up; {TICK}")), say(LISTEN), say(READ), say(FINISH)],
            "reviewer": [review("approve")],
        }
    )
    real = journal.finish

    def finish(session: Any, call: Any, *rest: Any, **more: Any) -> Any:
        stored = real(session, call, *rest, **more)
        if call.name == "command_output":
            control.pause(Run.objects.get(pk=run.pk), teammate)
        return stored

    monkeypatch.setattr(journal, "finish", finish)
    paused = work_once()
    assert paused is not None
    assert paused.state is Status.PAUSED
    assert len(told(paused)) == 1
    assert snapshots.read(paused.place, "tick.txt").data == (paused.place.tree / "tick.txt").read_bytes()
    turns = conversation.load(paused, Agent.IMPLEMENTER).turns
    assert told(paused)[0] in str(turns[-1])
    control.resume(paused, teammate)
    assert len(told(done(work_once()))) == 1


def test_a_spent_budget_stops_what_runs_on(launch: Callable[..., Run]) -> None:
    launch({"implementer": [say(behind(f"echo up; {TICK}")), say(LISTEN), say(READ)]}, budgets={"steps": 2})
    run = done(work_once())
    assert len(told(run)) == 1
    assert snapshots.read(run.place, "tick.txt").data == (run.place.tree / "tick.txt").read_bytes()


def test_what_ended_by_itself_since_the_last_look_is_kept_too(launch: Callable[..., Run]) -> None:
    command = "until [ -e calc.py ]; do :; done; echo late > late.txt"
    launch({"implementer": [say(behind(command)), say(READ, READ), say(FINISH)], "reviewer": [review("approve")]})
    run = done(work_once())
    if (run.place.tree / "late.txt").exists():
        assert snapshots.read(run.place, "late.txt").data == b"late\n"


def test_what_a_tool_kept_before_it_put_a_file_back_is_told_as_a_snapshot_of_its_own(
    launch: Callable[..., Run],
) -> None:
    wait = {"name": "run_command", "input": {"command": "until [ -e done ]; do true; done"}}
    back = {"name": "revert_file", "input": {"file_path": "calc.py"}}
    write = behind("until [ -e go ]; do sleep 0.02; done; echo x > calc.py; touch done; tail -f done")
    go = {"name": "write_file", "input": {"file_path": "go", "content": ""}}  # after the snapshot of the start
    launch(
        script={
            "implementer": [say(write), say(go), say(wait), say(back), say(FINISH)],
            "reviewer": [review("approve")],
        }
    )
    run = done(work_once())
    told = [event.data for event in run.events.filter(kind=Kind.SNAPSHOT).order_by("seq")]
    assert [each["number"] for each in told] == list(range(len(told)))
    assert [file["path"] for file in told[1]["files"]] == ["go"]
    assert (told[2]["call_id"], [file["path"] for file in told[2]["files"]]) == ("", ["calc.py"])
    assert run.snapshot == told[-1]["number"]


def test_a_reviewers_background_command_ends_with_its_review(launch: Callable[..., Run]) -> None:
    launch(
        {
            "implementer": [say(READ), say(EDIT), say(FINISH)],
            "reviewer": [say(behind("echo up; echo x > made.txt; sleep 600")), say(LISTEN), review("approve")],
        }
    )
    run = done(work_once())
    assert len(told(run, "reviewer")) == 1
    assert not (run.place.tree / "made.txt").exists()
    assert run.snapshot == 1


def test_an_id_is_not_given_again_in_the_next_round(launch: Callable[..., Run]) -> None:
    launch(
        {
            "implementer": [
                say(behind("true; sleep 600")),
                say(READ),
                say(EDIT),
                say(FINISH),
                say(behind("true; sleep 600")),
                say(FINISH),
            ],
            "reviewer": [review("request_changes"), review("approve")],
        }
    )
    run = done(work_once())
    ids = [each["data"]["id"] for each in results(run) if each["tool"] == "run_command"]
    assert ids == ["bg1", "bg2"]


def test_a_failure_in_the_loop_leaves_nothing_running(
    launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: list[background.Job] = []
    start = background.Jobs.start

    def keep(self: background.Jobs, *args: Any, **how: Any) -> background.Job:
        jobs.append(start(self, *args, **how))
        return jobs[-1]

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a bug")

    monkeypatch.setattr(background.Jobs, "start", keep)
    monkeypatch.setattr("agents.loop._listen", lambda session, talk: fail() if jobs else None)
    launch({"implementer": [say(behind("true; sleep 600")), say(FINISH)]})
    run = work_once()
    assert run is not None
    assert run.state is Status.FAILED
    assert not jobs[0].is_running


# --- after a crash -----------------------------------------------------------------------------------------


class Killed(BaseException):
    """Stands for kill -9."""


def test_after_a_crash_what_ran_on_is_ended_kept_and_told_and_its_id_is_not_given_again(
    launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = launch(
        {
            "implementer": [say(behind("echo one > one.txt; sleep 600")), say(behind("true; sleep 600")), say(FINISH)],
            "reviewer": [review("approve")],
        }
    )
    with monkeypatch.context() as patch:
        patch.setattr("agents.loop._listen", _die_at_step(1))
        with pytest.raises(Killed):
            work_once()
    # A server that was killed ended nothing itself: another command stands for what it left.
    place = sandbox.Place(run.place.tree, run.place.home, uid=sandbox.worker_uid(run.pk))
    run.refresh_from_db()
    place = sandbox.Place(run.place.tree, run.place.home, uid=sandbox.worker_uid(run.place.pk))
    left = background.Jobs()
    job = left.start(
        "echo two > two.txt; echo up; sleep 600",
        place,
        sandbox.Limits(),
        call_id="left",
        spool=run.place.outputs / "left",
        cancelled=threading.Event(),
    )
    job.wait(lambda: job.size > 0, 20, threading.Event())
    assert job.process is not None
    row = run.calls.get(tool="run_command")
    assert (row.state, set(row.process)) == (CallState.DONE, {"pid", "start", "boot"})
    row.process = {"pid": job.process[0], "start": job.process[1], "boot": boot_id()}
    row.save()
    Run.objects.filter(pk=run.pk).update(lease_owner=dead_owner())
    ended = done(work_once())
    assert job.join(20)
    assert processes.start_time(job.process[0]) is None
    assert told(ended)[0].startswith("The server went down, and with it what you had in the background: bg1 `echo one")
    assert snapshots.read(ended.place, "two.txt").data == b"two\n"
    assert [each["data"]["id"] for each in results(ended) if each["tool"] == "run_command"] == ["bg1", "bg2"]
    shown = [event.data["number"] for event in ended.events.filter(kind=Kind.SNAPSHOT).order_by("seq")]
    assert shown == list(range(ended.snapshot + 1))
    assert not ended.calls.exclude(process={}).exists()


def _die_at_step(step: int) -> Callable[..., None]:
    def listen(session: Any, talk: Any) -> None:
        if session.run.step == step:
            raise Killed

    return listen


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_server_killed_while_it_tells_tells_it_once(
    launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    run = launch(
        {
            "implementer": [say(behind("true; sleep 600")), say(READ), say(EDIT), say(FINISH)],
            "reviewer": [review("approve")],
        }
    )
    with monkeypatch.context() as patch:
        patch.setattr("agents.loop._listen", _die_at_step(1))
        with pytest.raises(Killed):
            work_once()
    Run.objects.filter(pk=run.pk).update(lease_owner=dead_owner())
    real = team._tell_jobs_ended

    def dying(*args: Any) -> None:
        if after:
            real(*args)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(team, "_tell_jobs_ended", dying)
        with pytest.raises(Killed):
            work_once()
    Run.objects.filter(pk=run.pk).update(lease_owner=dead_owner())
    assert len(told(done(work_once()))) == 1
