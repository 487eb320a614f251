"""run_command in the background, command_output and stop_command: what a model is told."""

import threading
from collections.abc import Iterator

import pytest

from agents.tools.base import REGISTRY, Effect, Result
from tests.agents.tools.bench import Bench
from workspaces import sandbox
from workspaces.models import Snapshot
from workspaces.sandbox import processes

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_runs_on(bench: Bench) -> Iterator[None]:
    yield
    bench.jobs.stop(bench.jobs.running())


def start(bench: Bench, command: str, **more: object) -> str:
    result = bench.call("run_command", command=command, run_in_background=True, **more)
    assert not result.is_error, result.content
    return str(result.data["id"])


def ended(bench: Bench, job: str) -> Result:
    """The output of a command that ends by itself, once it has."""
    assert bench.jobs.find(job).join(20)
    return bench.call("command_output", id=job)


def test_an_id_comes_at_once_and_the_output_follows(bench: Bench) -> None:
    result = bench.call(
        "run_command", command="echo up; until [ -e go ]; do sleep 0.02; done; echo down", run_in_background=True
    )
    assert (result.data["id"], result.data["state"], result.data["background"]) == ("bg1", "running", True)
    assert "bg1" in result.content
    first = bench.call("command_output", id="bg1", wait_ms=20_000)
    assert first.content.startswith("up\n")
    assert (first.data["state"], first.data["next_offset"]) == ("running", 3)
    bench.write("go", "")
    last = bench.call("command_output", id="bg1", offset=3, until="down")
    assert last.content.startswith("down\nFound: down\n")
    assert (ended(bench, "bg1").data["state"], ended(bench, "bg1").data["exit_code"]) == ("exited", 0)


def test_the_journal_learns_the_process(bench: Bench) -> None:
    job = bench.jobs.find(start(bench, "true; sleep 600"))
    assert bench.journal.processes == [job.process]


def test_it_has_the_longest_time_by_default(bench: Bench) -> None:
    assert bench.call("run_command", command="true", run_in_background=True).data["timeout_ms"] == 600_000
    result = ended(bench, start(bench, "echo begun; sleep 600", timeout_ms=300))
    assert (result.data["state"], result.is_error) == ("timeout", False)
    assert "Ended after 300 ms" in result.content


def test_waiting_in_vain_says_so(bench: Bench) -> None:
    job = start(bench, "echo other; sleep 600")
    result = bench.call("command_output", id=job, until="ready", wait_ms=300)
    assert "No line fits 'ready' so far." in result.content
    assert (result.data["matched"], result.data["state"]) == (False, "running")


def test_a_wait_ends_when_the_run_is_cancelled(bench: Bench) -> None:
    job = start(bench, "true; sleep 600")
    threading.Timer(0.2, bench.cancelled.set).start()
    bench.call("command_output", id=job, wait_ms=30_000)
    assert bench.jobs.find(job).join(20)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"wait_ms": 30_001}, "INVALID_INPUT"),
        ({"offset": -1}, "INVALID_INPUT"),
        ({"until": "("}, "INVALID_PATTERN"),
        ({"id": "bg7"}, "NOT_FOUND"),
    ],
)
def test_what_can_not_be_asked_is_refused(bench: Bench, arguments: dict[str, object], code: str) -> None:
    start(bench, "true")
    result = bench.give("command_output", {"id": "bg1", **arguments})
    assert result.code == code
    if code == "NOT_FOUND":
        assert "There are: bg1." in result.content


def test_an_offset_past_the_end_shows_nothing_and_says_so(bench: Bench) -> None:
    start(bench, "echo x")
    assert bench.jobs.find("bg1").join(20)
    result = bench.call("command_output", id="bg1", offset=50)
    assert "Only 2 bytes were printed" in result.content
    assert result.data["next_offset"] == 2


def test_escapes_are_for_the_browser_only(bench: Bench) -> None:
    result = ended(bench, start(bench, r"printf ' 10%%\r 50%%\r\033[31mred\033[0m caf\351\n'"))
    assert result.content.startswith("red caf\ufffd\nExit code 0")
    assert result.data["output"].startswith("\x1b[31mred\x1b[0m caf")


def test_long_output_shows_both_ends_and_its_offsets_lead_to_the_rest(bench: Bench) -> None:
    start(bench, "seq 1 20000; printf 'é'")
    whole = ended(bench, "bg1")
    assert whole.truncated
    assert len(whole.content) < 31_000
    expected = "".join(f"{number}\n" for number in range(1, 20_001)) + "é"
    spool = (bench.workspace.outputs / whole.output_ref).read_bytes()
    assert spool.decode() == expected
    seen, at = b"", 0
    while at < len(spool):
        part = bench.call("command_output", id="bg1", offset=at)
        end = part.data["left_out"][0] if part.data["left_out"] else part.data["next_offset"]
        assert end > at
        seen += spool[at:end]
        assert spool[at:end].decode()[:5000].rstrip() in part.content
        at = end
    assert seen == spool


def test_a_character_that_is_printed_in_two_pieces_is_never_cut(bench: Bench) -> None:
    start(bench, r"printf 'a\303'; until [ -e go ]; do sleep 0.02; done; printf '\251\n'")
    bench.jobs.find("bg1").wait(lambda: bench.jobs.find("bg1").size == 2, 20, threading.Event())
    first = bench.call("command_output", id="bg1")
    assert (first.content.split("\n")[0], first.data["next_offset"]) == ("a", 1)
    bench.write("go", "")
    assert bench.jobs.find("bg1").join(20)
    assert bench.call("command_output", id="bg1", offset=1).content.startswith("é\n")


def test_stopping_ends_the_tree_and_shows_the_last_words(bench: Bench) -> None:
    start(bench, "trap '' TERM; setsid sleep 600 & echo up; sleep 600")
    bench.call("command_output", id="bg1", until="up")
    job = bench.jobs.find("bg1")
    result = bench.call("stop_command", id="bg1")
    assert result.content == "bg1: Stopped, with all it started.\nup"
    assert (result.data["state"], result.data["already_ended"]) == ("stopped", False)
    assert job.process is not None
    assert processes.start_time(job.process[0]) is None


def test_stopping_what_has_ended_says_so(bench: Bench) -> None:
    start(bench, "echo out; exit 3")
    assert bench.jobs.find("bg1").join(20)
    result = bench.call("stop_command", id="bg1")
    assert result.content == "bg1 had already ended. Exit code 3.\nout"
    assert (result.data["already_ended"], result.data["exit_code"]) == (True, 3)
    assert bench.call("stop_command", id="bg2").code == "NOT_FOUND"


def test_what_it_wrote_is_in_the_snapshot_of_the_next_look(bench: Bench) -> None:
    start(bench, "until [ -e go ]; do sleep 0.02; done; echo x > made.txt; echo written; sleep 600")
    bench.write("go", "")
    assert bench.call("command_output", id="bg1", until="written").touched is None
    paths = [each["path"] for row in Snapshot.objects.filter(number__gt=0) for each in row.files]
    assert "made.txt" in paths


def test_a_command_that_only_reads_leads_to_no_scan(bench: Bench) -> None:
    assert bench.call("run_command", command="pwd", run_in_background=True).touched == ()
    assert ended(bench, "bg1").touched == ()


def test_a_reviewers_command_leaves_nothing(bench: Bench) -> None:
    reviewer = Bench(bench.workspace, agent="reviewer", mode=sandbox.Tree.OVERLAY)
    job = start(reviewer, "echo x > made.txt && cat made.txt")
    result = ended(reviewer, job)
    assert result.content.startswith("x\nExit code 0")
    assert result.touched == ()
    assert not (bench.tree / "made.txt").exists()


def test_a_missing_program_says_how_to_get_it(bench: Bench) -> None:
    assert "set-up command" in ended(bench, start(bench, "no-such-program --serve")).content


def test_following_reads_and_stopping_does_not() -> None:
    assert REGISTRY["command_output"].effect is Effect.READ
    assert REGISTRY["stop_command"].effect is Effect.EXECUTE


def test_no_sandbox_is_told_and_nothing_runs(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = sandbox.Outcome(sandbox.Ending.UNAVAILABLE, None, 0, 0, why="/srv/data is out of reach.")
    monkeypatch.setattr(sandbox, "run_command", lambda *_, **__: outcome)
    result = bench.call("run_command", command="true", run_in_background=True)
    assert (result.code, result.data["why"]) == ("SANDBOX_UNAVAILABLE", "/srv/data is out of reach.")
