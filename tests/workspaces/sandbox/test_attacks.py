"""What a hostile command tries, and where it is harmless the same without the sandbox, to show that it would work."""

import errno
import fcntl
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.workspaces.sandbox.conftest import Runner
from workspaces.sandbox import Ending, Limits, Outcome

MIB = 1024**2
Bare = Callable[[str], Outcome]

CALL = "import ctypes; c = ctypes.CDLL(None, use_errno=True); r = c.syscall({arguments}); print(r, ctypes.get_errno())"


def test_files_outside_the_place_do_not_exist(run: Runner, bare: Bare, folder: Path) -> None:
    (folder / "secret").write_text("hidden treasure")
    assert bare(f"cat {folder}/secret").exit_code == 0
    assert run.output == "hidden treasure"

    assert run(f"cat {folder}/secret").exit_code == 1
    assert "No such file" in run.output


@pytest.mark.parametrize("path", ["/root", "/etc/shadow", "/sys", "/opt", "/srv", "/boot", "/mnt"])
def test_the_rest_of_the_machine_is_not_mounted(run: Runner, path: str) -> None:
    assert run(f"ls {path}").exit_code == 2


def test_a_link_out_of_the_tree_leads_nowhere(run: Runner, folder: Path) -> None:
    (folder / "secret").write_text("hidden treasure")
    (run.tree / "link").symlink_to(folder / "secret")
    run("cat link; echo more >> link")
    assert "treasure" not in run.output
    assert (folder / "secret").read_text() == "hidden treasure"


def test_the_servers_environment_is_nowhere_to_be_read(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SECRET_KEY", "hidden-treasure")
    run("env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'")
    assert "PATH=" in run.output
    assert "hidden-treasure" not in run.output
    assert str(run.tree.parent) not in run.output


@pytest.fixture
def listener() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_server_of_the_host_is_out_of_reach(run: Runner, bare: Bare, listener: int) -> None:
    connect = f"python3 -c \"import socket; socket.create_connection(('127.0.0.1', {listener}), 5)\""
    assert bare(connect).exit_code == 0
    assert run(connect).exit_code == 1
    assert "ConnectionRefusedError" in run.output


def test_an_abstract_socket_of_the_host_is_out_of_reach(run: Runner, bare: Bare) -> None:
    name = f"sakura-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        connect = f"python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('\\0{name}')\""
        assert bare(connect).exit_code == 0
        assert run(connect).exit_code == 1


def test_a_process_of_the_host_can_be_neither_seen_nor_ended(run: Runner, bare: Bare) -> None:
    uid = run.place.uid
    who = {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}
    with subprocess.Popen(["sleep", "60"], **who) as victim:  # type: ignore[call-overload]
        try:
            assert run(f"kill -9 {victim.pid}").exit_code == 1
            assert run(f"ls /proc/{victim.pid}/exe; kill -9 -1").exit_code in {1, 2, 137}
            assert victim.poll() is None
            assert bare(f"kill -9 {victim.pid}").exit_code == 0
            assert victim.wait(5) == -9
        finally:
            victim.kill()


@pytest.mark.parametrize(
    "arguments",
    {
        "mount": "165, 0, b'/tmp', b'tmpfs', 0, 0",
        "unshare user": "272, 0x10000000",
        "unshare network": "272, 0x40000000",
        "io_uring_setup": "425, 8, 0",
        "bpf": "321, 0, 0, 0",
        "add_key": "248, b'user', b'x', b'y', 1, -3",
        "perf_event_open": "298, 0, 0, 0, 0, 0",
        "userfaultfd": "323, 0",
        "chroot": "161, b'/tmp'",
        "setns": "308, 0, 0",
    }.values(),
)
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers are of x86_64")
def test_a_dangerous_system_call_is_refused(run: Runner, arguments: str) -> None:
    run(f'python3 -c "{CALL.format(arguments=arguments)}"')
    assert run.output.split() == ["-1", str(errno.EPERM)]


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers are of x86_64")
@pytest.mark.parametrize("number", [435, 0x40000000 + 39], ids=["clone3", "getpid of x32"])
def test_a_call_that_the_filter_can_not_look_into_does_not_exist(run: Runner, number: int) -> None:
    run(f'python3 -c "{CALL.format(arguments=f"{number}, 0, 0")}"')
    assert run.output.split() == ["-1", str(errno.ENOSYS)]


@pytest.mark.parametrize("family", [17, 38, 40], ids=["packet", "crypto", "machine sockets"])
def test_only_ordinary_sockets_can_be_made(run: Runner, family: int) -> None:
    run(f'python3 -c "import socket; socket.socket({family}, socket.SOCK_STREAM)"')
    assert "Address family not supported" in run.output


def test_characters_can_not_be_pushed_into_a_terminal(run: Runner) -> None:
    script = "import fcntl, os, pty; m, s = pty.openpty(); fcntl.ioctl(s, 0x5412, b'x')"
    run(f'python3 -c "{script}"')
    assert "Operation not permitted" in run.output


def test_settings_of_the_kernel_can_not_be_written(run: Runner) -> None:
    path = "/proc/sys/kernel/core_pattern"
    assert run(f'value=$(cat {path}); echo "$value" > {path}').exit_code == 1


def test_there_is_nothing_to_gain_from_set_user_id_programs(run: Runner) -> None:
    assert run("su -c id; sudo -n id; unshare -Ur id").exit_code != 0
    assert "uid=0" not in run.output


DAEMON = """
import fcntl, os, signal, time
if os.fork():
    while not os.path.exists("ready"): time.sleep(0.01)
    os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)
lock = open("lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
open("ready", "w").close()
time.sleep(600)
"""


def _daemon_is_gone(tree: Path) -> bool:
    assert (tree / "ready").exists()
    with (tree / "lock").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _start_daemon(run: Runner) -> str:
    (run.tree / "daemon.py").write_text(DAEMON)
    return "python3 daemon.py"


def test_a_daemon_dies_with_the_shell_that_started_it(run: Runner) -> None:
    outcome = run(_start_daemon(run))
    assert outcome.ending is Ending.EXIT
    assert _daemon_is_gone(run.tree)
    assert outcome.duration_ms < 10_000


def test_a_daemon_dies_when_the_time_is_up(run: Runner) -> None:
    outcome = run(f"{_start_daemon(run)}; sleep 600", Limits(timeout_s=2))
    assert outcome.ending is Ending.TIMEOUT
    assert outcome.exit_code is None
    assert _daemon_is_gone(run.tree)


def test_a_cancel_ends_the_command_and_its_daemon_within_a_second(run: Runner) -> None:
    asked: list[float] = []

    def cancel(data: bytes) -> None:
        asked.append(time.monotonic())
        run.cancelled.set()

    run.on_bytes = cancel
    outcome = run(f"{_start_daemon(run)}; echo up; sleep 600")
    assert time.monotonic() - asked[0] < 1
    assert outcome.ending is Ending.CANCELLED
    assert _daemon_is_gone(run.tree)


def test_a_daemon_dies_without_a_sandbox_too(run: Runner, bare: Bare) -> None:
    assert bare(_start_daemon(run)).ending is Ending.EXIT
    assert _daemon_is_gone(run.tree)


KILLED_SERVER = """
import os, threading
import django
django.setup()
from pathlib import Path
from workspaces.sandbox import Limits, Place, run_command
place = Place(Path({tree!r}), Path({home!r}), uid={uid!r})
run_command({command!r}, place, Limits(), spool=Path({spool!r}), on_bytes=lambda data: os.kill(os.getpid(), 9),
            cancelled=threading.Event(), on_start=lambda pid, started: None)
"""


def test_a_daemon_dies_with_a_server_that_is_killed(run: Runner) -> None:
    script = KILLED_SERVER.format(
        tree=str(run.tree),
        home=str(run.place.home),
        uid=run.place.uid,
        spool=str(run.spool),
        command=f"{_start_daemon(run)}; echo up; sleep 600",
    )
    env = dict(os.environ) | {"DJANGO_SETTINGS_MODULE": "sakura_web.settings"}
    assert subprocess.run([sys.executable, "-c", script], env=env, timeout=60, check=False).returncode == -9
    deadline = time.monotonic() + 5
    while not _daemon_is_gone(run.tree) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert _daemon_is_gone(run.tree)


@pytest.mark.skipif(os.geteuid() != 0, reason="never as the user of this session")
def test_a_fork_bomb_stays_within_its_bound_and_ends_on_time(run: Runner) -> None:
    assert run.place.uid
    began = time.monotonic()
    outcome = run("bomb() { bomb | bomb & }; bomb; sleep 600", Limits(timeout_s=2, processes=64))
    assert outcome.ending is Ending.TIMEOUT
    assert time.monotonic() - began < 10


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


def test_endless_output_is_ended_at_its_bound(run: Runner) -> None:
    outcome = run("yes", Limits(timeout_s=30, output_bytes=3 * MIB))
    assert outcome.ending is Ending.OUTPUT_LIMIT
    assert outcome.total_bytes == run.spool.stat().st_size == 3 * MIB


@pytest.mark.parametrize(("path", "bound"), [("/tmp/x", "tmp_bytes"), ("/dev/shm/x", "shm_bytes")])
def test_folders_in_memory_have_a_bound(run: Runner, path: str, bound: str) -> None:
    outcome = run(f"head -c 40M /dev/zero > {path}; stat -c %s {path}", Limits(timeout_s=30, **{bound: 16 * MIB}))
    assert outcome.ending is Ending.EXIT
    assert "No space left" in run.output
    assert int(run.output.split()[-1]) <= 16 * MIB


@pytest.mark.parametrize("path", ["/x", "/dev/x", "/usr/x", "/etc/x", "/run/x", "/home/x", "/var/x"])
def test_nothing_else_can_be_filled(run: Runner, path: str) -> None:
    assert run(f"echo > {path}").exit_code == 1


def test_one_process_can_not_take_all_memory(run: Runner) -> None:
    outcome = run("python3 -c 'x = bytearray(900 * 2**20)'", Limits(timeout_s=30, memory_bytes=300 * MIB))
    assert outcome.ending is Ending.MEMORY_LIMIT or "MemoryError" in run.output


def test_many_processes_together_can_not_take_all_memory(run: Runner) -> None:
    hog = "python3 -c 'import time; x = b\"x\" * (100 * 2**20); time.sleep(60)' & "
    outcome = run(hog * 6 + "wait", Limits(timeout_s=50, memory_bytes=300 * MIB))
    assert outcome.ending is Ending.MEMORY_LIMIT


def test_a_file_can_not_grow_past_its_bound(run: Runner) -> None:
    outcome = run("head -c 40M /dev/zero > big", Limits(timeout_s=30, file_bytes=8 * MIB))
    assert outcome.exit_code != 0
    assert (run.tree / "big").stat().st_size == 8 * MIB


def test_burning_the_processor_ends(run: Runner) -> None:
    outcome = run("while :; do :; done", Limits(timeout_s=30, cpu_s=1))
    assert (outcome.exit_code, outcome.signal) == (152, "SIGXCPU")


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
