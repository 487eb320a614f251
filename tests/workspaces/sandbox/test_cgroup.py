"""A cgroup for each command. The core is the kernel's own here; bounds need controllers, which few test machines have.

What is written for a controller is held against the kernel's manual by value; where the machine has the controllers,
the same tests see them work.
"""

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.workspaces.sandbox.conftest import Runner
from tests.workspaces.sandbox.test_leftovers import GONE, note_of, wait_for
from workspaces.sandbox import Ending, Limits, bounds, cgroup, probe, sweep

MIB = 1024**2
FULL = ("memory", "pids", "cpu")


def _root() -> Path | None:
    """Return where cgroup v2 is mounted."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        if kind == "cgroup2" and os.access(place, os.W_OK):
            return Path(place)
    return None


@pytest.fixture
def delegated(run: Runner, settings: Any) -> Iterator[Path]:
    """Yield a folder of the kernel's that groups are made in, as an operator names it."""
    root = _root()
    if root is None:
        pytest.skip("no cgroup v2 that we may write is mounted here")
    folder = root / f"sakura-test-{os.urandom(4).hex()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    settings.SAKURA_CGROUP = str(folder)
    yield folder
    for inner in folder.glob("*/"):
        inner.rmdir()
    folder.rmdir()


def test_a_command_starts_in_a_group_of_its_own_that_goes_with_it(run: Runner, delegated: Path) -> None:
    seen: list[list[str]] = []

    def look(data: bytes) -> None:
        [group] = delegated.glob("sakura-*")
        seen.append((group / "cgroup.procs").read_text().split())
        (run.tree / "seen").touch()

    run.on_bytes = look
    outcome = run("echo up; (setsid sleep 60 &) ; until [ -e seen ]; do sleep 0.05; done")
    assert (outcome.ending, outcome.exit_code) == (Ending.EXIT, 0)
    assert str(run.started[0][0]) in seen[0]
    assert list(delegated.glob("*/")) == []


def test_what_is_applied_tells_which_controllers_are_in_force(run: Runner, delegated: Path) -> None:
    applied = run("true").applied
    assert applied["cgroup"] == list(probe().controllers)
    assert applied["memory"] == ("cgroup" if "memory" in applied["cgroup"] else "watchdog")


def test_nothing_of_it_is_seen_inside(run: Runner, delegated: Path) -> None:
    run("cat /proc/self/cgroup; ls /sys/fs/cgroup")
    assert "sakura" not in run.output
    assert "No such file" in run.output


def test_the_group_is_killed_as_a_whole(run: Runner, delegated: Path) -> None:
    group = cgroup.Group(delegated / "one", ())
    group.path.mkdir()
    told = threading.Event()
    run.on_bytes = lambda data: told.set()
    ended: list[Any] = []
    thread = threading.Thread(target=lambda: ended.append(run("echo up; sleep 600", Limits(timeout_s=60))))
    thread.start()
    assert told.wait(20)
    [of_command] = delegated.glob("sakura-*")
    cgroup.Group(of_command, ()).kill()
    thread.join(20)
    assert ended[0].exit_code == 137
    assert wait_for(lambda: not of_command.exists())
    group.remove()
    assert not group.path.exists()


def test_the_probe_tells_of_it(run: Runner, delegated: Path) -> None:
    report = probe()
    assert report.level == "full"
    assert report.checks["a cgroup for each command"]
    assert report.wall
    assert report.wall.groups
    missing = [name for name in FULL if name not in report.controllers]
    assert any("SAKURA_CGROUP" in reason for reason in report.reasons) == bool(missing)
    told = dict(bounds(report))["cgroup"]
    assert told == (", ".join(report.controllers) or "core only")


@pytest.mark.parametrize("place", ["/nowhere/at/all", "/tmp"])
def test_a_folder_that_is_none_is_told_and_commands_run_on(run: Runner, settings: Any, place: str) -> None:
    settings.SAKURA_CGROUP = place
    report = probe()
    assert report.level == "full"
    assert not report.checks["a cgroup for each command"]
    assert any(place in reason and "Delegate=yes" in reason for reason in report.reasons)
    outcome = run("echo on")
    assert (run.output, outcome.applied["memory"], outcome.applied["cgroup"]) == ("on\n", "watchdog", [])


def test_a_folder_whose_groups_can_not_be_entered_is_told(run: Runner, settings: Any, folder: Path) -> None:
    (folder / "cgroup.controllers").write_text("memory pids\n")
    (folder / "cgroup.subtree_control").write_text("")
    settings.SAKURA_CGROUP = str(folder)
    assert not probe().checks["a cgroup for each command"]
    assert run("echo on").exit_code == 0


def test_the_bounds_are_written_as_the_kernel_reads_them() -> None:
    limits = Limits(processes=100, memory_bytes=1000 * MIB, tmp_bytes=20 * MIB, shm_bytes=4 * MIB, cpus=2)
    assert dict(cgroup.bounds(limits, FULL)) == {
        "memory.max": str(1024 * MIB),
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "pids.max": "116",
        "cpu.weight": "50",
        "cpu.max": "200000 100000",
    }
    assert "cpu.max" not in dict(cgroup.bounds(replace(limits, cpus=0), FULL))
    assert dict(cgroup.bounds(limits, ())) == {}


def test_a_kill_by_the_groups_memory_is_read_from_its_events(folder: Path) -> None:
    group = cgroup.Group(folder, ("memory",))
    assert not group.ran_out_of_memory()
    (folder / "memory.events").write_text("low 0\nhigh 0\nmax 7\noom 1\noom_kill 3\noom_group_kill 1\n")
    assert group.ran_out_of_memory()
    (folder / "memory.events").write_text("low 0\nhigh 0\nmax 7\noom 1\noom_kill 0\n")
    assert not group.ran_out_of_memory()


def test_the_groups_memory_is_a_hard_bound(run: Runner, delegated: Path) -> None:
    if "memory" not in probe().controllers:
        pytest.skip("the memory controller is not to be had in cgroup v2 here")
    limits = Limits(timeout_s=30, memory_bytes=64 * MIB, tmp_bytes=MIB, shm_bytes=MIB)
    assert run("python3 -c 'x = b\"x\" * 2**30'", limits).ending is Ending.MEMORY_LIMIT


def test_the_group_of_a_dead_server_goes_with_all_in_it(delegated: Path) -> None:
    with note_of(GONE) as note:
        group = cgroup.Group(delegated / cgroup._name(note.token), ())
        group.path.mkdir()
        pid = os.posix_spawn("/bin/sh", [*group.entering(), "sleep", "600"], os.environ)
        assert wait_for(group.members)
        sweep()
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -9
        sweep()  # whatever waited for its parent to hear of it
        assert not group.path.exists()


def test_empty_groups_go_unless_their_command_is_about_to_start(delegated: Path) -> None:
    with note_of((os.getpid(), 0)) as note:
        living = delegated / cgroup._name(note.token)
    with note_of((os.getpid(), int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]))) as note:
        starting, others = delegated / cgroup._name(note.token), delegated / "sakura-another-installation"
        for path in (living, starting, others):
            path.mkdir()
        sweep()
        assert [path.exists() for path in (living, starting, others)] == [False, True, True]


def test_removing_waits_for_what_dies(delegated: Path) -> None:
    group = cgroup.Group(delegated / "dying", ())
    group.path.mkdir()
    pid = os.posix_spawn("/bin/sh", [*group.entering(), "sleep", "600"], os.environ)
    assert wait_for(group.members)

    def end() -> None:
        group.kill()
        os.waitpid(pid, 0)

    threading.Timer(0.2, end).start()
    began = time.monotonic()
    group.remove()
    assert not group.path.exists()
    assert time.monotonic() - began < 2 * cgroup.GONE_S
