"""Every limit of a command: it holds, and is named by its word, in the sentence, or in a hint; and nothing else is."""

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.workspaces.sandbox.conftest import Runner
from workspaces.sandbox import Ending, Limit, Limits, Outcome, Tree, hints, how_it_ended, met, own, processes

MIB = 1024**2
SHORT = Limits(timeout_s=30)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")


def told(run: Runner, command: str, **bounds: float) -> tuple[Limit, str]:
    """Run a command and return the limit it met, with all that is said of its end."""
    limits = replace(SHORT, **bounds)  # type: ignore[arg-type]
    outcome = run(command, limits)
    return met(outcome, limits, run.output), how_it_ended(outcome, limits) + hints(run.output, outcome, limits)


FORKS = """
import os, time
for _ in range(60):
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
"""
THREADS = """
import threading, time
for _ in range(60):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
"""
CHILDREN = "import subprocess\nrunning = [subprocess.Popen(['sleep', '60']) for _ in range(60)]\n"
BURN = "while :; do :; done"


@pytest.mark.parametrize(
    ("command", "bounds", "limit", "number"),
    [
        (BURN, {"cpu_s": 1}, Limit.CPU, "1 s"),
        (f"bash -c '{BURN}'; echo after; exit 1", {"cpu_s": 1}, Limit.CPU, "1 s"),
        (f"(trap '' XCPU; {BURN}); exit 1", {"cpu_s": 1}, Limit.CPU, "1 s"),
        ("head -c 40M /dev/zero > big", {"file_bytes": 8 * MIB}, Limit.FILE_SIZE, "8 MB"),
        ("bash -c 'head -c 40M /dev/zero > big'; exit 1", {"file_bytes": 8 * MIB}, Limit.FILE_SIZE, "8 MB"),
        ("python3 -c \"open('big', 'wb').write(b'x' * 2**25)\"", {"file_bytes": 8 * MIB}, Limit.FILE_SIZE, "8 MB"),
        ("python3 -c \"x = [open('/dev/null') for _ in range(99)]\"", {"open_files": 64}, Limit.OPEN_FILES, "64 files"),
        ("python3 -c 'x = bytearray(900 * 2**20)'", {"memory_bytes": 300 * MIB}, Limit.MEMORY, "300 MB"),
        ("python3 forks.py", {"processes": 30}, Limit.PROCESSES, "30 processes"),
        ("python3 threads.py", {"processes": 30}, Limit.PROCESSES, "30 processes"),
        ("python3 children.py", {"processes": 30}, Limit.PROCESSES, "30 processes"),
        ("head -c 40M /dev/zero > /tmp/x", {"tmp_bytes": 8 * MIB}, Limit.TMP, "8 MB"),
        ("cp /dev/zero /dev/shm/x", {"shm_bytes": 8 * MIB}, Limit.SHM, "8 MB"),
        ("yes", {"output_bytes": MIB}, Limit.OUTPUT, f"{MIB} bytes"),
        ("echo x; sleep 60", {"timeout_s": 0.3}, Limit.TIME, "300 ms"),
    ],
)
def test_a_limit_is_named_with_its_number(
    run: Runner, command: str, bounds: dict[str, float], limit: Limit, number: str
) -> None:
    for name, text in (("forks", FORKS), ("threads", THREADS), ("children", CHILDREN)):
        (run.tree / f"{name}.py").write_text(text)
    found, said = told(run, command, **bounds)
    assert found is limit, f"{said}\n{run.output}"
    assert number in said


@pytest.mark.parametrize(
    "printed",
    [
        "fork ", "clone spawn ", "thread", "os.fork(", "os.fork(\n", "fork_exec(", "make: *** ", ": line 1: 1 ", "a.",
        "a: ", "memory allocation of 1", "No space left on device ", "==1==ERROR: aSanitizer", "env: ‘", "bash: 1: ",
        "\n",
    ],
)  # fmt: skip
def test_no_output_keeps_who_looks_for_a_limit_busy(printed: str) -> None:
    text = (printed * 60_000)[:60_000]
    failed = Outcome(Ending.EXIT, 127, 1000, len(text), applied={"level": "full"})
    began = time.process_time()
    met(failed, SHORT, text)
    hints(f"not found\n{text}", failed, SHORT)
    assert time.process_time() - began < 5


def test_a_shell_that_waits_for_a_process_hears_of_the_limit_although_its_time_ran_out(run: Runner) -> None:
    limit, said = told(run, "for n in $(seq 60); do sleep 60 & done; wait", processes=20, timeout_s=2)
    assert limit is Limit.TIME
    assert "20 processes and threads" in said


@pytest.mark.parametrize(
    "words",
    [
        "Too many open files",
        "fork: retry: Resource temporarily unavailable",
        "MemoryError",
        "No space left on device",
        "File too large",
        "/bin/bash: line 1:     3 CPU time limit exceeded  x",
    ],
)
def test_words_alone_prove_nothing(run: Runner, words: str) -> None:
    assert told(run, f"echo '{words}'") == (Limit.NONE, "Exit code 0")


@pytest.mark.parametrize(
    "command",
    [
        "echo 'CPU time limit exceeded'; exit 1",
        "kill -KILL $$",
        "bash -c 'kill -KILL $$'; exit 1",
        "echo 'FATAL ERROR: Reached heap limit - JavaScript heap out of memory'; exit 134",
        "echo 'Error: ENOSPC: System limit for number of file watchers reached'; exit 1",
        'python3 -c "import socket; s = socket.socketpair()[0]; s.setblocking(False); s.recv(1)"',
    ],
)
def test_what_failed_for_another_reason_met_no_limit(run: Runner, command: str) -> None:
    limit, said = told(run, command)
    assert limit is Limit.NONE, run.output
    assert "Limit:" not in said


def test_a_kill_for_memory_is_told_as_such() -> None:
    outcome = Outcome(Ending.EXIT, 137, 9000, 0, {"level": "full"}, signal="SIGKILL", out_of_memory=True)
    assert met(outcome, Limits(), "") is Limit.MEMORY
    assert "ran out of memory" in hints("", outcome, Limits())


def test_a_limit_that_is_not_in_force_is_not_named() -> None:
    outcome = Outcome(Ending.EXIT, 1, 0, 0, {"level": "off"})
    assert met(outcome, Limits(), "OSError: [Errno 24] Too many open files") is Limit.NONE


# --- memory that no process holds ------------------------------------------------------------------------


def test_a_throw_away_tree_can_not_fill_the_memory(run: Runner) -> None:
    limits = replace(SHORT, memory_bytes=200 * MIB)
    outcome = run("head -c 400M /dev/zero > big; sleep 60", limits, mode=Tree.OVERLAY)
    if not outcome.applied["overlay"]:
        pytest.skip("no overlays here: the tree is a copy on the disk")
    assert outcome.ending is Ending.MEMORY_LIMIT


def test_empty_files_can_not_fill_the_memory(run: Runner) -> None:
    limits = replace(SHORT, memory_bytes=64 * MIB)
    make = "import os\nfor n in range(10**9): os.close(os.open(f'/tmp/{n}', os.O_CREAT))"
    (run.tree / "make.py").write_text(make)
    assert run("python3 make.py", limits).ending is Ending.MEMORY_LIMIT


def test_what_the_server_holds_is_not_put_down_to_a_sandbox_that_is_not_set_up_yet() -> None:
    assert processes.memory_used(os.getpid(), MIB) == 0


# --- the floor of free disk ------------------------------------------------------------------------------


@pytest.fixture
def small(run: Runner, folder: Path) -> Iterator[Runner]:
    """Yield how to run commands with a tree on a disk of 64 MB."""
    disk = folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", str(disk)], check=False)
    if mounted.returncode != 0:
        pytest.skip("no disk can be mounted here")
    try:
        (disk / "tree").mkdir()
        own(disk / "tree", run.place.uid)
        yield Runner(replace(run.place, tree=disk / "tree"), run.spool)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@needs_root
def test_a_command_that_fills_the_disk_is_ended_at_the_floor(small: Runner) -> None:
    limits = replace(SHORT, disk_floor_bytes=32 * MIB)
    outcome = small("head -c 40M /dev/zero > big; sleep 60", limits)
    assert (outcome.ending, met(outcome, limits, "")) == (Ending.DISK_LIMIT, Limit.DISK)
    assert "at least 32 MB must stay free" in how_it_ended(outcome, limits)
    assert outcome.duration_ms < 20_000


@needs_root
def test_a_command_that_failed_on_a_full_disk_before_anybody_looked_is_told_so(small: Runner) -> None:
    outcome = small("cat /dev/zero > big", replace(SHORT, disk_floor_bytes=MIB))
    assert outcome.ending is Ending.DISK_LIMIT


@needs_root
def test_below_the_floor_no_command_starts(small: Runner) -> None:
    (small.tree / "big").write_bytes(bytes(40 * MIB))
    outcome = small("touch ran", replace(SHORT, disk_floor_bytes=32 * MIB))
    assert (outcome.ending, outcome.exit_code) == (Ending.DISK_LIMIT, None)
    assert outcome.why == "only 24 MB are free"
    assert not (small.tree / "ran").exists()


@needs_root
def test_empty_files_fill_a_disk_too(small: Runner) -> None:
    subprocess.run(["mount", "-o", "remount,nr_inodes=3000", str(small.tree.parent)], check=True)
    script = "import os, time\nfor n in range(2500): os.close(os.open(f'{n}', os.O_CREAT))\ntime.sleep(60)"
    (small.tree / "make.py").write_text(script)
    outcome = small("python3 make.py", replace(SHORT, disk_floor_bytes=MIB))
    assert outcome.ending is Ending.DISK_LIMIT
    assert "more files fit" in outcome.why


@needs_root
def test_the_disk_of_the_output_has_a_floor_too(small: Runner, run: Runner) -> None:
    there = Runner(run.place, small.tree.parent / "spool")
    slowly = "while :; do head -c 1000000 /dev/zero; sleep 0.02; done"  # not past the floor between two looks
    outcome = there(slowly, replace(SHORT, disk_floor_bytes=32 * MIB))
    assert outcome.ending is Ending.DISK_LIMIT


@needs_root
@pytest.mark.parametrize("floor", [0, 4096])
def test_where_the_output_finds_no_room_the_command_ends_with_what_was_kept(
    small: Runner, run: Runner, floor: int
) -> None:
    disk = small.tree.parent
    (disk / "big").write_bytes(bytes(63 * MIB))
    heard: list[bytes] = []
    there = Runner(run.place, disk / "spool", on_bytes=heard.append)
    limits = replace(SHORT, disk_floor_bytes=floor)
    outcome = there("(sleep 987 &) ; echo begun; touch here; yes | head -c 8M; sleep 60", limits)
    assert (outcome.ending, met(outcome, limits, "")) == (Ending.DISK_LIMIT, Limit.DISK)
    assert "no room for what Sakura keeps of it" in how_it_ended(outcome, limits)
    assert outcome.duration_ms < 20_000
    assert there.output.startswith("begun\n")
    assert there.output == b"".join(heard).decode()
    assert outcome.total_bytes == len(there.output)
    assert (run.tree / "here").exists()
    ((pid, started),) = there.started
    assert processes.start_time(pid) != started
    assert "987" not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


@needs_root
def test_only_what_was_kept_of_the_output_counts(small: Runner, run: Runner) -> None:
    disk = small.tree.parent
    (disk / "big").write_bytes(bytes(64 * MIB - 8192))
    there = Runner(run.place, disk / "spool")
    outcome = there("head -c 40000 /dev/zero", replace(SHORT, disk_floor_bytes=0))
    assert outcome.ending is Ending.DISK_LIMIT
    assert outcome.total_bytes < 40_000


# --- what operators set ----------------------------------------------------------------------------------


def test_operators_set_the_numbers(run: Runner, settings: Any) -> None:
    settings.SAKURA_SANDBOX_PROCESSES = 77
    settings.SAKURA_SANDBOX_TMP_MB = 3
    settings.SAKURA_DISK_FLOOR_MB = 5
    outcome = run("ulimit -u; df --output=size -m /tmp | tail -1", Limits(timeout_s=30))
    assert run.output.split() == ["77", "3"]
    assert outcome.applied["limits"]["disk_floor_bytes"] == 5 * MIB
