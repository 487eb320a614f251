"""Background commands in the real sandbox: started, followed, waited for, ended."""

import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workspaces.sandbox.conftest import Runner, folder, run
from workspaces import watching
from workspaces.background import AT_ONCE, IN_ALL, Job, Jobs
from workspaces.paths import WorkspaceError
from workspaces.sandbox import Ending, Limits, end_leftover, processes
from workspaces.watching import Search

__all__ = ["folder", "run"]

NEVER = threading.Event()


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    made = Jobs()
    yield made
    made.stop(made.running())
    assert not made.running()


def start(jobs: Jobs, run: Runner, command: str, limits: Limits | None = None, name: str = "") -> Job:
    spool = run.spool.with_name(f"spool-{jobs.next_number}")
    return jobs.start(
        command,
        run.place,
        limits or Limits(),
        call_id=name or f"c{jobs.next_number}",
        spool=spool,
        cancelled=run.cancelled,
    )


def printed(job: Job) -> str:
    return job.spool.read_text(errors="replace")


def test_a_command_runs_on_while_its_caller_goes_on(jobs: Jobs, run: Runner) -> None:
    job = start(jobs, run, "until [ -e go ]; do sleep 0.02; done; echo went; exit 3")
    assert (job.id, job.is_running, jobs.running()) == ("bg1", True, [job])
    (run.tree / "go").touch()
    assert job.join(20)
    assert job.outcome is not None
    assert (job.outcome.ending, job.outcome.exit_code, printed(job)) == (Ending.EXIT, 3, "went\n")


def test_its_process_is_known_and_is_the_end_of_everything(jobs: Jobs, run: Runner) -> None:
    job = start(jobs, run, "setsid sleep 600 & sleep 600")
    assert job.process is not None
    assert end_leftover(*job.process)
    assert job.join(20)


def test_stopping_ends_all_that_it_started(jobs: Jobs, run: Runner) -> None:
    job = start(jobs, run, "trap '' TERM; (setsid sleep 600 &); echo up; sleep 600")
    job.wait(lambda: job.size > 0, 20, NEVER)
    jobs.stop([job])
    assert job.process is not None
    assert processes.start_time(job.process[0]) is None
    assert job.outcome is not None
    assert job.outcome.ending is Ending.CANCELLED
    assert printed(job) == "up\n"


def test_a_cancel_of_the_run_ends_it(jobs: Jobs, run: Runner) -> None:
    job = start(jobs, run, "sleep 600")
    run.cancelled.set()
    assert job.join(20)


def test_its_time_ends_it(jobs: Jobs, run: Runner) -> None:
    job = start(jobs, run, "sleep 600", Limits(timeout_s=0.2))
    assert job.join(20)
    assert job.outcome is not None
    assert job.outcome.ending is Ending.TIMEOUT


def test_so_many_run_at_once_and_no_more(jobs: Jobs, run: Runner) -> None:
    started = [start(jobs, run, "sleep 600") for _ in range(AT_ONCE)]
    with pytest.raises(WorkspaceError, match=r"8 background commands run already \(bg1 `sleep 600`, bg2"):
        start(jobs, run, "true")
    jobs.stop(started[:1])
    assert start(jobs, run, "true").id == "bg9"


def test_a_run_has_so_many_and_no_more(run: Runner) -> None:
    with pytest.raises(WorkspaceError, match="100 background commands"):
        start(Jobs(next_number=IN_ALL + 1), run, "true")


def test_an_unknown_id_is_told_those_there_are(jobs: Jobs, run: Runner) -> None:
    with pytest.raises(WorkspaceError, match="There is none now"):
        jobs.find("bg1")
    start(jobs, run, "true")
    with pytest.raises(WorkspaceError, match="There are: bg1"):
        jobs.find("bg2")


def test_a_spool_that_can_not_be_written_is_the_fault(jobs: Jobs, run: Runner) -> None:
    job = jobs.start("true", run.place, Limits(), call_id="c", spool=Path("/absent/spool"), cancelled=NEVER)
    assert isinstance(job.fault, FileNotFoundError)
    assert not job.is_running


SERVER = """
import sys, threading, time
from pathlib import Path
import django
django.setup()
from workspaces.background import Jobs
from workspaces.sandbox import Limits, Place
tree, home, spool, uid = sys.argv[1:]
place = Place(Path(tree), Path(home), uid=int(uid) if uid else None)
job = Jobs().start("echo up; setsid sleep 600 & sleep 600", place, Limits(), call_id="c", spool=Path(spool),
                   cancelled=threading.Event())
job.wait(lambda: job.size > 0, 60, threading.Event())  # before, the kernel may not know yet whose end is whose
print(*job.process, flush=True)
time.sleep(600)
"""


def test_it_dies_with_a_server_that_is_killed(run: Runner) -> None:
    words = [str(run.tree), str(run.place.home), str(run.spool), str(run.place.uid or "")]
    with subprocess.Popen([sys.executable, "-c", SERVER, *words], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        pid, started = map(int, server.stdout.readline().split())
        assert processes.start_time(pid) == started
        handle = processes.open_pidfd(pid)
        assert handle is not None
        server.kill()
    with open(handle, "rb", buffering=0):
        assert select.select([handle], [], [], 20)[0]


# --- waiting -----------------------------------------------------------------------------------------------


def test_a_wait_ends_with_the_command(jobs: Jobs, run: Runner) -> None:
    job = start(jobs, run, "true")
    job.wait(lambda: False, 60, NEVER)
    assert not job.is_running


def test_a_wait_ends_with_a_cancel(jobs: Jobs, run: Runner) -> None:
    job, cancelled = start(jobs, run, "sleep 600"), threading.Event()
    threading.Timer(0.1, cancelled.set).start()
    job.wait(lambda: False, 60, cancelled)
    assert (job.is_running, cancelled.is_set()) == (True, True)


def test_a_wait_for_words_ends_when_they_come(jobs: Jobs, run: Runner) -> None:
    job = start(jobs, run, "printf 'server '; until [ -e go ]; do sleep 0.02; done; printf 'is up\\n'; sleep 600")
    search = Search("^server is up$", job.spool, 0)
    job.wait(lambda: job.size >= 7, 20, NEVER)
    assert not search.look(job.size)
    (run.tree / "go").touch()
    job.wait(lambda: search.look(job.size), 20, NEVER)
    assert (search.found, job.is_running) == ("server is up", True)


# --- the search --------------------------------------------------------------------------------------------


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    return tmp_path / "spool"


def look(spool: Path, pattern: str, text: bytes, at: int = 0) -> str:
    spool.write_bytes(text)
    search = Search(pattern, spool, at)
    search.look(len(text))
    return search.found


def test_escapes_and_progress_are_no_part_of_a_line(spool: Path) -> None:
    assert look(spool, "^done$", b" 10%\r 50%\r\x1b[32mdone\x1b[0m\n") == "done"


def test_a_line_before_the_offset_does_not_count(spool: Path) -> None:
    assert look(spool, "ready", b"ready\nwaiting\n", at=6) == ""


@pytest.mark.parametrize("length", [watching.LOOKED_AT_BYTES - 3, 3 * watching.LOOKED_AT_BYTES])
def test_words_are_found_wherever_the_pieces_are_cut(spool: Path, length: int) -> None:
    text = (b"x" * 50 + b"\n") * (length // 51) + b"x" * (length % 51)
    assert look(spool, "^ready$", text + b"\nready\n") == "ready"
    assert look(spool, "ready", b"x" * length + b"ready").endswith("x" * 400)


def test_a_pattern_that_would_take_for_ever_elsewhere_takes_no_time_here(spool: Path) -> None:
    assert look(spool, r"^(a+)+$", b"a" * 100_000 + b"b") == ""


@pytest.mark.parametrize("pattern", ["(", "a\0b", "(?=a)", "a{1000}{1000}{1000}"])
def test_a_bad_pattern_is_told_at_once(spool: Path, pattern: str) -> None:
    with pytest.raises(WorkspaceError) as caught:
        Search(pattern, spool, 0)
    assert caught.value.code == "INVALID_PATTERN"


def test_an_empty_line_is_a_match_too(spool: Path) -> None:
    assert look(spool, "^$", b"a\n\nb\n") == "(an empty line)"
