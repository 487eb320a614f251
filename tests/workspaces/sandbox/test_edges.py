"""Edges of the wall that are measured, or are no attacks by themselves; the table of attacks is in tests/wall."""

import threading
import time
from pathlib import Path

import pytest

from tests.workspaces.sandbox.conftest import Runner
from workspaces.sandbox import Ending, Limits


@pytest.mark.parametrize("path", ["/root", "/etc/shadow", "/sys", "/opt", "/srv", "/boot", "/mnt"])
def test_the_rest_of_the_machine_is_not_mounted(run: Runner, path: str) -> None:
    assert run(f"ls {path}").exit_code == 2


def test_a_cancel_ends_the_command_within_a_second(run: Runner) -> None:
    asked: list[float] = []

    def cancel(data: bytes) -> None:
        asked.append(time.monotonic())
        run.cancelled.set()

    run.on_bytes = cancel
    outcome = run("echo up; sleep 600")
    assert time.monotonic() - asked[0] < 1
    assert outcome.ending is Ending.CANCELLED


COUNT = """
import os, time
children = 0
try:
    while children < 1000:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        children += 1
except BlockingIOError:
    pass
print(children, flush=True)
"""


def test_the_number_of_processes_has_a_bound(run: Runner) -> None:
    (run.tree / "count.py").write_text(COUNT)
    run("python3 count.py", Limits(timeout_s=20, processes=40))
    assert 20 < int(run.output) < 40


@pytest.mark.parametrize("path", ["/x", "/dev/x", "/usr/x", "/etc/x", "/run/x", "/home/x", "/var/x"])
def test_nothing_else_can_be_filled(run: Runner, path: str) -> None:
    assert run(f"echo > {path}").exit_code == 1


def test_bytes_of_any_kind_come_through_as_they_are(run: Runner) -> None:
    run(r"printf 'a\0b\377\033[2Jc'")
    assert run.spool.read_bytes() == b"a\0b\xff\x1b[2Jc"


def test_ending_the_first_process_of_the_sandbox_gains_nothing(run: Runner) -> None:
    assert run("kill -9 1; echo on").exit_code == 0
    assert run.output == "on\n"


def test_a_command_never_runs_as_root(run: Runner) -> None:
    outcome = run("id -u", uid=0)
    assert outcome.ending is Ending.UNAVAILABLE
    assert "root" in outcome.why


def test_threads_do_not_disturb_each_other(run: Runner, folder: Path) -> None:
    def one(number: int) -> None:
        each = Runner(run.place, folder / f"spool{number}")
        codes.append((number, each(f"exit {number}").exit_code))

    codes: list[tuple[int, int | None]] = []
    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(codes) == [(number, number) for number in range(8)]
