"""run_command: what a model is told of a command in the real sandbox."""

import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from agents.models import Policy
from tests.agents.tools.bench import Bench
from workspaces import sandbox, snapshots, terminal
from workspaces.models import Snapshot

pytestmark = pytest.mark.django_db


def test_output_and_exit_code_are_told(bench: Bench) -> None:
    result = bench.call("run_command", command="echo out; echo err >&2; exit 3")
    assert (result.is_error, result.content) == (False, "out\nerr\nExit code 3")
    assert (result.data["exit_code"], result.data["ending"]) == (3, "exit")
    assert result.data["applied"]["level"] == sandbox.probe().level
    assert bench.journal.processes


def test_passing_output_is_pushed_with_its_colours(bench: Bench) -> None:
    bench.call("run_command", command=r"printf '\033[31mred\033[0m caf\351\n'")
    assert "".join(bench.printed) == "\x1b[31mred\x1b[0m caf\ufffd\n"


def test_a_command_that_may_write_leads_to_a_full_scan(bench: Bench) -> None:
    assert bench.call("run_command", command="echo x > made.txt").touched is None
    assert Snapshot.objects.latest("number").files[0]["path"] == "made.txt"


def test_a_reviewers_command_leaves_nothing(bench: Bench) -> None:
    reviewer = Bench(bench.workspace, agent="reviewer", mode=sandbox.Tree.OVERLAY)
    result = reviewer.call("run_command", command="echo x > made.txt && cat made.txt")
    assert (result.content, result.touched) == ("x\nExit code 0", ())
    assert not (bench.tree / "made.txt").exists()


def test_a_timeout_is_an_error_with_what_was_printed(bench: Bench) -> None:
    result = bench.call("run_command", command="echo before; sleep 60", timeout_ms=500)
    assert (result.code, result.data["ending"]) == ("TIMEOUT", "timeout")
    assert "after 500 ms" in result.content
    assert result.content.endswith("before")


def test_a_cancel_ends_the_command(bench: Bench) -> None:
    threading.Timer(0.5, bench.cancelled.set).start()
    started = time.monotonic()
    result = bench.call("run_command", command="echo before; sleep 60")
    assert result.code == "CANCELLED"
    assert time.monotonic() - started < 10


def test_a_signal_is_named(bench: Bench) -> None:
    content = bench.call("run_command", command="kill -9 $$").content
    assert "Exit code 137 (ended by SIGKILL)" in content


def test_a_missing_program_says_how_to_get_it(bench: Bench) -> None:
    content = bench.call("run_command", command="no-such-program --version").content
    assert "no-such-program: not installed here" in content
    assert "set-up command" in content


def test_long_output_keeps_both_ends_and_the_whole_is_stored(bench: Bench) -> None:
    result = bench.call("run_command", command="echo HEAD; seq 1 300000; echo TAIL")
    assert result.content.startswith("HEAD\n")
    assert result.content.endswith("TAIL\nExit code 0")
    assert "left out here" in result.content
    assert len(result.content) < 31_000
    assert (bench.workspace.outputs / result.output_ref).read_bytes().count(b"\n") == 300_002


def test_short_output_is_not_stored(bench: Bench) -> None:
    result = bench.call("run_command", command="echo x")
    assert (result.output_ref, list(bench.workspace.outputs.iterdir())) == ("", [])


def test_too_much_output_names_the_limit(bench: Bench) -> None:
    bench.limits = replace(bench.limits, command_output_bytes=200_000)
    result = bench.call("run_command", command="yes")
    assert (result.is_error, result.data["ending"]) == (False, "output_limit")
    assert "printed more than 200000 bytes" in result.content


@pytest.mark.parametrize(
    ("command", "limit", "said"),
    [
        ("python3 -c \"x = [open('/dev/null') for _ in range(99)]\"", "open_files", "64 files open at once"),
        ("head -c 9M /dev/zero > big", "file_size", "a file may have 4 MB"),
        ("echo Too many open files", "", "Exit code 0"),
    ],
)
def test_the_limit_that_a_command_met_is_told(bench: Bench, settings: Any, command: str, limit: str, said: str) -> None:
    settings.SAKURA_SANDBOX_OPEN_FILES = 64
    settings.SAKURA_SANDBOX_FILE_MB = 4
    result = bench.call("run_command", command=command)
    assert result.data["limit"] == limit, result.content
    assert said in result.content


def test_time_and_output_are_limits_too(bench: Bench) -> None:
    assert bench.call("run_command", command="echo x; sleep 60", timeout_ms=300).data["limit"] == "time"
    bench.limits = replace(bench.limits, command_output_bytes=200_000)
    assert bench.call("run_command", command="yes").data["limit"] == "output"


@pytest.mark.parametrize("background", [False, True])
def test_a_full_disk_is_an_error_and_nothing_runs(bench: Bench, settings: Any, background: bool) -> None:
    settings.SAKURA_DISK_FLOOR_MB = 10**9
    result = bench.call("run_command", command="touch ran", run_in_background=background)
    assert (result.code, result.data["limit"]) == ("DISK_FULL", "disk")
    assert "was not started: only" in result.content
    assert "a person makes room" in result.content
    assert not (bench.tree / "ran").exists()


def test_a_background_command_tells_its_wall_at_its_start_and_at_its_end(bench: Bench) -> None:
    began = bench.call("run_command", command="echo up", run_in_background=True).data
    assert (began["applied"]["level"], began["applied"]["memory"]) == ("full", "watchdog")
    assert bench.jobs.find(began["id"]).join(20)
    ended = bench.call("command_output", id=began["id"]).data
    assert (ended["applied"]["level"], ended["applied"]["masked"], ended["limit"]) == ("full", 0, "")
    assert ended["applied"]["limits"] == began["applied"]["limits"]


def test_a_blocked_command_names_its_rule(bench: Bench) -> None:
    bench.policy = Policy(blocklist=["run_command(git push *)", "make deploy"])
    for command in ("git push origin main", "make   deploy now"):
        assert bench.call("run_command", command=command).code == "BLOCKED_COMMAND"
    assert not bench.call("run_command", command="echo git push").is_error


def test_waiting_alone_is_refused_with_a_hint_at_the_background(bench: Bench) -> None:
    result = bench.call("run_command", command="sleep 30")
    assert (result.code, result.data) == ("BLOCKED_COMMAND", {"rule": "sleep"})
    assert all(word in result.content for word in ("run_in_background", "command_output", "wait_ms"))
    assert not bench.journal.processes


def test_in_the_background_waiting_is_allowed(bench: Bench) -> None:
    result = bench.call("run_command", command="sleep 600", run_in_background=True)
    assert (result.is_error, result.data["state"]) == (False, "running")
    assert not bench.call("stop_command", id=result.data["id"]).is_error


def test_what_waits_after_something_else_runs_until_its_time_is_up(bench: Bench) -> None:
    result = bench.call("run_command", command="trap '' TERM; sleep 30", timeout_ms=300)
    assert result.code == "TIMEOUT"


def test_the_two_streams_of_a_python_program_keep_their_order(bench: Bench) -> None:
    program = "import sys; print('one'); print('two', file=sys.stderr); print('three')"
    assert bench.call("run_command", command=f'python3 -c "{program}"').content == "one\ntwo\nthree\nExit code 0"


def test_no_sandbox_is_told_and_nothing_runs(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = sandbox.Outcome(sandbox.Ending.UNAVAILABLE, None, 0, 0, why="/srv/data is out of reach.")
    monkeypatch.setattr(sandbox, "run_command", lambda *_, **__: outcome)
    result = bench.call("run_command", command="true")
    assert (result.code, result.data["why"]) == ("SANDBOX_UNAVAILABLE", "/srv/data is out of reach.")
    assert "/srv" not in result.content


def test_a_program_missing_on_the_way_is_told_too(bench: Bench) -> None:
    content = bench.call("run_command", command="no-such-program | cat > made.txt").content
    assert content.startswith("/bin/bash: line 1: no-such-program: command not found")
    assert "no-such-program: not installed here" in content
    assert "not installed" not in bench.call("run_command", command="echo key: not found > x; cat x").content


def test_a_script_whose_interpreter_is_missing_says_so(bench: Bench) -> None:
    bench.write("run.sh", "#!/usr/bin/env no-such-interpreter\n").chmod(0o755)
    assert "no-such-interpreter: not installed here" in bench.call("run_command", command="./run.sh").content


def test_a_command_that_only_reads_gets_a_read_only_tree_and_no_scan(bench: Bench) -> None:
    result = bench.call("run_command", command="pwd")
    assert (result.data["applied"]["mode"], result.touched, result.is_error) == ("read", (), False)
    assert bench.call("run_command", command="pwd > where.txt").touched is None


def test_what_was_wrongly_taken_for_reading_says_why_it_failed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.tools.run_command.is_read_only", lambda command: True)
    result = bench.call("run_command", command="echo x > made.txt")
    assert (result.data["exit_code"], (bench.tree / "made.txt").exists()) == (1, False)
    assert "taken for one that only reads" in result.content


@pytest.mark.parametrize("command", ["echo \ud800", "echo " + "x" * 200_000, "echo \0"])
def test_what_no_shell_takes_is_refused_before_it_runs(bench: Bench, command: str) -> None:
    assert bench.call("run_command", command=command).code == "INVALID_INPUT"
    assert not bench.journal.processes


def test_data_tells_what_ran_and_what_it_is_evidence_of(bench: Bench) -> None:
    data = bench.call("run_command", command="echo out > made.txt; cat made.txt", timeout=5000).data
    assert (data["command"], data["timeout_ms"], data["total_bytes"]) == ("echo out > made.txt; cat made.txt", 5000, 4)
    assert (data["background"], data["id"], data["state"]) == (False, "", "ended")
    fact = data["fact"]
    assert (fact["source"], fact["subject"], fact["freshness"]) == ("run_command", data["command"], "derived")
    assert fact["refresh"] == f"run_command {data['command']}"


def test_pushed_output_of_a_flood_is_bounded(bench: Bench) -> None:
    result = bench.call("run_command", command="head -c 50000000 /dev/zero | tr '\\0' x | tee made.txt")
    assert result.data["total_bytes"] == 50_000_000
    assert sum(map(len, bench.printed)) < 25_000_000


# --- what the policy hides -------------------------------------------------------------------------------


HIDDEN = Policy(hidden=["*.key", "vault/**", "config/prod.env"])


def lay_out_secrets(bench: Bench) -> None:
    for path in ("top.key", "deep/er/inner.KEY", "vault/a/b.txt", "config/prod.env"):
        bench.write(path, "treasure\n")
    bench.write("open.txt", "open\n")
    (bench.tree / "link.txt").symlink_to("deep/er/inner.KEY")
    bench.call("run_command", command="true > x; rm x")
    bench.policy = HIDDEN


READS = "grep -rs treasure . ; cat top.key deep/er/inner.KEY vault/a/b.txt config/prod.env link.txt open.txt; true"


@pytest.mark.parametrize("mode", list(sandbox.Tree))
def test_what_the_policy_hides_can_not_be_read_by_a_command(bench: Bench, mode: sandbox.Tree) -> None:
    lay_out_secrets(bench)
    assert "treasure" in Bench(bench.workspace).call("run_command", command=READS).content
    bench.mode = mode
    result = bench.call("run_command", command=READS)
    assert result.data["exit_code"] == 0, result.content
    assert "treasure" not in result.content
    assert "open" in result.content


def test_what_is_covered_is_neither_deleted_nor_changed_for_a_snapshot(bench: Bench) -> None:
    lay_out_secrets(bench)
    before = Snapshot.objects.latest("number").number
    bench.call("run_command", command="rm -f top.key; echo x > config/prod.env; mv vault gone; echo y > made.txt")
    assert [each["path"] for each in Snapshot.objects.get(number=before + 1).files] == ["made.txt"]
    assert (bench.tree / "top.key").read_text() == "treasure\n"
    assert (bench.tree / "config/prod.env").read_text() == "treasure\n"


def test_a_covered_file_can_not_be_moved_out_of_its_glob(bench: Bench) -> None:
    lay_out_secrets(bench)
    bench.call(
        "run_command",
        command="mv config other; ln config/prod.env seen; cp config/prod.env copied; mv config/prod.env x",
    )
    assert "treasure" not in bench.call("run_command", command="grep -rs treasure . | tee found; true").content
    assert (bench.tree / "config/prod.env").read_text() == "treasure\n"


def test_a_background_command_is_covered_too(bench: Bench) -> None:
    lay_out_secrets(bench)
    bench.call("run_command", command=READS, run_in_background=True)
    assert bench.jobs.find("bg1").join(20)
    content = bench.call("command_output", id="bg1").content
    assert "open" in content
    assert "treasure" not in content


def test_more_than_can_be_covered_lets_no_command_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out_secrets(bench)
    monkeypatch.setattr("workspaces.sandbox.covering.COVERED", 2)
    assert bench.call("run_command", command="pwd").code == "TOO_LARGE"
    monkeypatch.setattr("workspaces.sandbox.covering.LOOKED_AT", 2)
    assert bench.call("run_command", command="pwd").code == "TOO_LARGE"


def test_changes_are_against_the_baseline_whatever_was_committed(bench: Bench) -> None:
    bench.call("run_command", command="echo new > new.txt && rm README.md && git add -A && git commit -qm x")
    result = bench.call("check_changes")
    assert {file["path"]: file["status"] for file in result.data["files"]} == {
        "README.md": "deleted",
        "new.txt": "added",
    }
    full = bench.call("check_changes", mode="full", paths=["new.txt"])
    assert "+new" in full.content
    assert "README" not in full.content
    assert "Nothing is changed" in bench.call("check_changes", paths=["tests"]).content


def test_full_changes_are_bounded(bench: Bench) -> None:
    for number in range(4):
        bench.write(f"big{number}.txt", "".join(f"line {n}\n" for n in range(5000)))
    snapshots.take(bench.workspace, call_id="x", step=1, paths=None)
    content = bench.call("check_changes", mode="full").content
    assert len(content) < 18_000
    assert all(f"--- big{number}.txt" in content for number in range(4))


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[1;31mfail\x1b[0m\n", "fail\n"),
        (" 10%\r 55%\r100%\n", "100%\n"),
        ("long line\rshort\n", "shortline\n"),
        ("downloading\r\x1b[Kdone\n", "done\n"),
        ("downloading\x1b[2K\rdone\n", "done\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("abc\b\bX\n", "aXc\n"),
        ("\x1b]0;title\x07text\n", "text\n"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "link\n"),
        ("broken \x1b", "broken"),
        ("nul \0 stays", "nul \0 stays"),
    ],
)
def test_a_terminal_shows_what_is_left_in_the_end(printed: str, shown: str) -> None:
    assert terminal.plain(printed) == shown
