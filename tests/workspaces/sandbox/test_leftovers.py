"""What a killed server leaves running is found and ended at the next start, and nothing of a living one is touched."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings as django_settings

from agents.worker import Supervisor
from tests.workspaces.sandbox.conftest import Runner
from workspaces.background import Jobs
from workspaces.sandbox import Ending, Limits, leftovers, probe, processes, sweep
from workspaces.sandbox.identity import own_folder
from workspaces.sandbox.removal import remove
from workspaces.sandbox.supervise import as_user

WAIT_S = 20.0
GONE = (2**22 + 1, 1)
"""A server that is not there: the kernel gives no number past 2^22 (PID_MAX_LIMIT)."""

BEATS = "touch up; while :; do echo x >> beats; sleep 0.02; done"

SERVER = """
import os, threading
import django
django.setup()
from pathlib import Path
from workspaces.sandbox import Limits, Place, probe, run_command
probe()
Path({armed!r}).touch()
place = Place(Path({tree!r}), Path({home!r}), uid={uid!r})
run_command({command!r}, place, Limits(), spool=Path({spool!r}), on_bytes=lambda data: None,
            cancelled=threading.Event(), on_start=lambda pid, started: None)
"""

BETWEEN = '#!/bin/bash\n{bwrap} "$@"\nexit $?\n'
"""Stays between the server and bubblewrap, so that the kernel tells nobody of the server's death."""

LATE = """#!/bin/bash
if [ -e {folder}/armed ]; then
  echo $$ > {folder}/at.making && mv {folder}/at.making {folder}/at
  while [ ! -e {folder}/go ]; do sleep 0.02; done
fi
exec {bwrap} "$@"
"""
"""Lets the server die between its start of bubblewrap and the first thing bubblewrap does: it never learns of it."""


def wait_for(condition: Callable[[], object]) -> bool:
    until = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


@contextmanager
def server(run: Runner, folder: Path, program: str = "", **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server of its own, with a command that it runs by way of a program in front of bubblewrap."""
    if program:
        script = folder / "bwrap"
        script.write_text(program.format(bwrap=probe().bwrap, folder=folder))
        script.chmod(0o755)
        env["SAKURA_BWRAP"] = str(script)
    folder.chmod(0o777)
    code = SERVER.format(
        armed=str(folder / "armed"),
        tree=str(run.tree),
        home=str(run.place.home),
        uid=run.place.uid,
        spool=str(run.spool),
        command=BEATS,
    )
    env |= {"DJANGO_SETTINGS_MODULE": "sakura_web.settings", "SAKURA_DATA_DIR": str(django_settings.SAKURA_DATA_DIR)}
    told = dict(os.environ) | env
    with subprocess.Popen([sys.executable, "-c", code], env=told) as process:
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            sweep()


def notes_of(pid: int) -> list[leftovers.Note]:
    found = map(leftovers._read, (own_folder() / "running").glob("*.json"))
    return [note for note in found if note and note.server[0] == pid]


def marked(token: str) -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and processes.mark(int(name)) == token]


def beats(run: Runner) -> int:
    return (run.tree / "beats").stat().st_size if (run.tree / "beats").exists() else 0


def lives_on(run: Runner) -> bool:
    before = beats(run)
    return wait_for(lambda: beats(run) > before + 5)


def test_what_outlives_its_server_is_ended_at_the_next_start(run: Runner, folder: Path) -> None:
    with server(run, folder, BETWEEN) as process:
        assert wait_for(lambda: beats(run))
        [note] = notes_of(process.pid)
        assert note.process
        pid, started = note.process
        process.kill()
        process.wait()
        assert lives_on(run), "nothing was left, so this proves nothing"
        assert sweep() == 1
        assert processes.start_time(pid) != started
        assert marked(note.token) == []
        assert not note.path.exists()


def test_what_was_started_but_not_told_yet_is_ended_too(run: Runner, folder: Path) -> None:
    with server(run, folder, LATE) as process:
        assert wait_for((folder / "at").exists)
        [note] = notes_of(process.pid)
        assert note.process is None
        process.kill()
        process.wait()
        (folder / "go").touch()
        first = int((folder / "at").read_text())
        assert wait_for(lambda: [pid for pid in marked(note.token) if pid != first]), "nothing was left"
        assert sweep() == 1
        assert wait_for(lambda: marked(note.token) == [])
        assert not note.path.exists()


def test_without_a_sandbox_too_nothing_stays(run: Runner, folder: Path) -> None:
    off = {"SAKURA_SANDBOX": "off", "SAKURA_I_KNOW_COMMANDS_RUN_UNCONFINED": "1"}
    with server(run, folder, **off) as process:
        assert wait_for(lambda: beats(run))
        process.kill()
        process.wait()
        assert lives_on(run)
        assert sweep() == 1
        assert not notes_of(process.pid)
        before = beats(run)
        assert before == beats(run)


def test_what_belongs_to_a_living_server_is_left_alone(run: Runner, folder: Path) -> None:
    with server(run, folder) as process:
        assert wait_for(lambda: beats(run))
        [note] = notes_of(process.pid)
        old = time.time() - 3600
        os.utime(note.path, (old, old))
        assert sweep() == 0
        assert lives_on(run)
        assert note.path.exists()


def test_a_command_of_our_own_is_left_alone_and_its_note_goes_with_it(run: Runner) -> None:
    seen: list[int] = []
    run.on_bytes = lambda data: seen.append(sweep() + len(notes_of(os.getpid())))
    assert run("echo one; sleep 0.1; echo two").exit_code == 0
    assert set(seen) == {1}
    assert notes_of(os.getpid()) == []


def test_a_worker_looks_when_it_starts(run: Runner, transactional_db: None) -> None:
    with note_of(GONE) as note:
        supervisor = Supervisor(1)
        supervisor.start()
        try:
            assert wait_for(lambda: not note.path.exists())
        finally:
            supervisor.drain(0.1)


# --- notes of others -------------------------------------------------------------------------------------


@contextmanager
def note_of(who: tuple[int, int], **changes: object) -> Iterator[leftovers.Note]:
    machine, boot, space = leftovers.here()
    note = leftovers.Note(os.urandom(16).hex(), machine, boot, space, who)
    note = replace(note, **changes)  # type: ignore[arg-type]
    note.write()
    try:
        yield note
    finally:
        note.path.unlink(missing_ok=True)


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
        yield process
        process.kill()


def started(process: subprocess.Popen[bytes]) -> int:
    return processes.start_time(process.pid) or 0


def test_a_note_from_before_the_machine_started_only_goes(bystander: subprocess.Popen[bytes], db: None) -> None:
    with note_of(GONE, boot="another", process=(bystander.pid, started(bystander))) as note:
        assert sweep() == 0
        assert not note.path.exists()
    assert bystander.poll() is None


@pytest.mark.parametrize("elsewhere", [{"machine": "another", "boot": "another"}, {"space": 1}])
def test_a_note_from_elsewhere_stays_until_it_is_a_day_old(
    bystander: subprocess.Popen[bytes], elsewhere: dict[str, object]
) -> None:
    with note_of(GONE, process=(bystander.pid, started(bystander)), **elsewhere) as note:
        assert sweep() == 0
        assert note.path.exists()
        old = time.time() - 2 * leftovers.OLD_S
        os.utime(note.path, (old, old))
        assert sweep() == 0
        assert not note.path.exists()
    assert bystander.poll() is None


def test_a_number_that_is_anothers_now_is_not_ended(bystander: subprocess.Popen[bytes]) -> None:
    with note_of(GONE, process=(bystander.pid, started(bystander) + 1)):
        assert sweep() == 0
    assert bystander.poll() is None
    with note_of(GONE, process=(bystander.pid, started(bystander))):
        assert sweep() == 1
    assert processes.start_time(bystander.pid) is None


def test_a_server_whose_number_is_anothers_now_counts_as_gone(bystander: subprocess.Popen[bytes]) -> None:
    mine = processes.start_time(os.getpid()) or 0
    with note_of((os.getpid(), mine + 1), process=(bystander.pid, started(bystander))):
        assert sweep() == 1
    assert processes.start_time(bystander.pid) is None


def test_its_folders_go_and_those_that_nobody_noted_after_a_day(folder: Path) -> None:
    mine = own_folder()
    noted, fresh, old = (mine / f"door-test-{name}" for name in ("noted", "fresh", "old"))
    for path in (noted, fresh, old):
        path.mkdir()
        (path / "file").touch()
    long_ago = time.time() - 2 * leftovers.OLD_S
    os.utime(old, (long_ago, long_ago))
    with note_of(GONE, folders=[str(noted)]):
        sweep()
    assert [path.exists() for path in (noted, fresh, old)] == [False, True, False]
    remove(fresh)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"token": "x"}', json.dumps({"token": "../x"})])
def test_what_is_no_note_harms_nothing(text: str) -> None:
    with note_of(GONE) as note:
        note.path.write_text(text)
        assert sweep() == 0


# --- the thread that a sandbox is tied to ----------------------------------------------------------------


def test_a_background_command_outlives_the_thread_that_asked_for_it(run: Runner) -> None:
    jobs = Jobs()

    def start() -> None:
        limits = Limits(timeout_s=30)
        command = "while [ ! -e go ]; do sleep 0.02; done; echo on"
        jobs.start(command, run.place, limits, call_id="c", spool=run.spool, cancelled=threading.Event())

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    job = jobs.find("bg1")
    assert job.is_running
    (run.tree / "go").touch()
    assert job.join(20)
    assert job.outcome
    assert (job.outcome.ending, job.outcome.exit_code) == (Ending.EXIT, 0)
    assert job.applied["level"] == "full"


def test_a_sandbox_dies_with_the_thread_that_started_it(run: Runner) -> None:
    """Bubblewrap's --die-with-parent follows a thread: the reason why start and wait are in one."""
    by, identity = as_user(run.place.uid)
    line = [*by, probe().bwrap, "--ro-bind", "/", "/", "--unshare-pid", "--die-with-parent", "--", "sleep", "60"]
    started: list[subprocess.Popen[bytes]] = []
    ready = threading.Event()

    def start() -> None:
        process = subprocess.Popen(line, **identity)
        started.append(process)
        wait_for(lambda: len(os.listdir(f"/proc/{process.pid}/task")) and children(process.pid))
        ready.set()

    def children(pid: int) -> str:
        return Path(f"/proc/{pid}/task/{pid}/children").read_text()

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert ready.is_set()
    assert started[0].wait(WAIT_S) == -9


def test_every_note_is_below_the_data_folder_and_closed_to_others() -> None:
    with leftovers.noted(os.urandom(16).hex()) as note:
        assert note.path.is_relative_to(django_settings.SAKURA_DATA_DIR)
        assert note.path.parent.stat().st_mode & 0o777 == 0o700
