"""Ordinary work in the sandbox, how the tree is mounted, and how a command is told to have ended."""

import importlib
import os
import resource
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from tests.workspaces.sandbox.conftest import Runner
from workspaces.sandbox import Ending, Limits, Tree, end_leftover, own, probe, processes, run_command
from workspaces.sandbox.identity import barrier

probing = importlib.import_module("workspaces.sandbox.probe")  # the package has a function of that name


def test_a_command_starts_in_the_workspace_with_a_home_of_its_own(run: Runner) -> None:
    run("pwd; echo $HOME; id -un; echo note > ~/note; cat; hostname 2>/dev/null || cat /proc/sys/kernel/hostname")
    assert run.output.split() == ["/workspace", "/home/agent", "agent", "sandbox"]
    assert (run.place.home / "note").read_text() == "note\n"


def test_the_trees_real_path_leads_to_the_same_files(run: Runner) -> None:
    (run.tree / "file").write_text("here")
    run(f"cat {run.tree}/file; cd {run.tree} && cat /workspace/file && pwd -P")
    assert run.output == "herehere/workspace\n"


def test_a_command_that_shuts_the_tree_shuts_out_nobody(run: Runner) -> None:
    run("chmod 0 . ~")
    assert run.tree.stat().st_mode & 0o700 == 0o700
    run.tree.chmod(0)
    run("echo in > file; cat file")
    assert run.output == "in\n"


def test_both_streams_are_one_in_their_order(run: Runner) -> None:
    heard: list[bytes] = []
    run.on_bytes = heard.append
    run("echo one; echo two >&2; echo three")
    assert run.output == "one\ntwo\nthree\n"
    assert b"".join(heard) == run.spool.read_bytes()


@pytest.mark.parametrize(
    ("command", "code", "name"),
    [("exit 0", 0, ""), ("exit 3", 3, ""), ("kill -9 $$", 137, "SIGKILL"), ("kill -SEGV $$", 139, "SIGSEGV")],
)
def test_the_exit_code_is_the_shells(run: Runner, command: str, code: int, name: str) -> None:
    outcome = run(command)
    assert (outcome.ending, outcome.exit_code, outcome.signal) == (Ending.EXIT, code, name)


def test_what_was_applied_is_told(run: Runner) -> None:
    applied = run("true").applied
    assert applied["level"] == "full"
    assert applied["uid"] == (os.geteuid() if run.place.uid is None else run.place.uid) != 0
    assert applied["network"] == []
    assert applied["limits"]["timeout_s"] == 30
    assert Path(applied["bwrap"]).name == "bwrap"


def test_a_child_that_holds_the_output_does_not_keep_the_command_open(run: Runner) -> None:
    outcome = run("sleep 600 & echo done", Limits(timeout_s=60))
    assert (outcome.ending, run.output) == (Ending.EXIT, "done\n")
    assert outcome.duration_ms < 10_000


def test_time_that_is_up_ends_a_command_that_ignores_signals(run: Runner) -> None:
    outcome = run("trap '' TERM INT HUP; echo start; while :; do sleep 1; done", Limits(timeout_s=0.5))
    assert (outcome.ending, outcome.exit_code, run.output) == (Ending.TIMEOUT, None, "start\n")
    assert outcome.duration_ms < 5_000


def test_the_process_told_at_the_start_is_the_end_of_everything(run: Runner) -> None:
    told = threading.Event()
    thread = threading.Thread(target=lambda: ended.append(run("echo up; (setsid sleep 600 &); sleep 600")))
    ended: list[Any] = []
    run.on_bytes = lambda data: told.set()
    thread.start()
    assert told.wait(20)
    pid, started = run.started[0]
    assert not end_leftover(pid, started + 1), "another process with the same number stays"
    assert processes.start_time(pid) == started
    assert end_leftover(pid, started)
    thread.join(10)
    assert ended[0].exit_code == 137
    assert not end_leftover(pid, started)


@pytest.mark.parametrize("pid", [0, 1, -1])
def test_a_number_that_is_no_commands_ends_nothing(pid: int) -> None:
    assert not end_leftover(pid, processes.start_time(pid) or 0)


def test_a_caller_that_fails_leaves_nothing_running(run: Runner) -> None:
    seen: list[tuple[int, int]] = []

    def fail(pid: int, started: int) -> None:
        seen.append((pid, started))
        raise RuntimeError("the lease is lost")

    with pytest.raises(RuntimeError, match="lease"):
        run_command(
            "sleep 600",
            run.place,
            Limits(),
            spool=run.spool,
            on_bytes=lambda data: None,
            cancelled=threading.Event(),
            on_start=fail,
        )
    assert not end_leftover(*seen[0])


def test_no_descriptor_is_left_open(run: Runner) -> None:
    run("true")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        run("true")
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_command_runs_and_ends_although_many_descriptors_are_open(run: Runner) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 2048)), hard))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        assert run("echo up").exit_code == 0
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert run.output == "up\n"


def test_a_read_only_tree_takes_no_writes(run: Runner) -> None:
    (run.tree / "file").write_text("old")
    assert run("echo new > file", mode=Tree.READ).exit_code == 1
    assert run("cat file", mode=Tree.READ).exit_code == 0
    assert (run.tree / "file").read_text() == "old"


def test_a_throw_away_layer_takes_writes_and_keeps_nothing(run: Runner) -> None:
    (run.tree / "file").write_text("old")
    own(run.tree, run.place.uid)
    assert run("echo new > file; mkdir made; rm -f gone; cat file", mode=Tree.OVERLAY).exit_code == 0
    assert run.output == "new\n"
    assert (run.tree / "file").read_text() == "old"
    assert not (run.tree / "made").exists()


def test_without_overlays_a_throw_away_tree_is_a_copy(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "_overlay_works", lambda wall, place: False)
    probe(fresh=True)
    (run.tree / "file").write_text("old")
    (run.tree / "link").symlink_to("/etc/shadow")
    own(run.tree, run.place.uid)
    outcome = run("echo new > file; cat file; mkfifo pipe", mode=Tree.OVERLAY)
    assert run.output == "new\n"
    assert (run.tree / "file").read_text() == "old"
    assert any("copy" in note for note in outcome.applied["notes"])
    assert not list((Path(settings.SAKURA_DATA_DIR) / "sandbox").glob("copy-*"))
    monkeypatch.undo()
    probe(fresh=True)


def test_hidden_paths_are_covered(run: Runner) -> None:
    (run.tree / "private").mkdir()
    (run.tree / "private" / "key").write_text("treasure")
    (run.tree / ".env").write_text("treasure")
    own(run.tree, run.place.uid)
    hidden = ("private", ".env", "absent", "../outside")
    run("cat .env private/key; ls -A private; mv .env seen; mv private seen; grep -r treasure .", hidden=hidden)
    assert "treasure" not in run.output.replace("grep -r treasure", "")
    assert (run.tree / ".env").read_text() == "treasure"
    assert not (run.tree / "absent").exists()


def test_objects_are_mounted_read_only(run: Runner, folder: Path) -> None:
    (folder / "objects").mkdir()
    (folder / "objects" / "pack").write_text("bytes")
    assert run("cat /sakura/objects/pack; echo > /sakura/objects/pack", objects=folder / "objects").exit_code == 1
    assert "bytes" in run.output
    assert (folder / "objects" / "pack").read_text() == "bytes"


def test_git_works_in_the_tree(run: Runner) -> None:
    outcome = run(
        "git init -q . && echo a > a && git add a && git commit -qm First && git status -s && git log --oneline"
    )
    assert outcome.exit_code == 0
    assert run.output.strip().endswith("First")


def test_python_works_with_several_processes(run: Runner) -> None:
    script = "import multiprocessing as m\nif __name__ == '__main__':\n    print(sum(m.Pool(3).map(abs, range(10))))"
    (run.tree / "many.py").write_text(script)
    assert run("python3 many.py").exit_code == 0
    assert run.output == "45\n"


def test_a_server_and_its_client_meet_inside(run: Runner) -> None:
    command = (
        "echo served > page; python3 -m http.server 8765 --bind 127.0.0.1 >/dev/null 2>&1 &"
        " python3 -c 'import time, urllib.request as u\n"
        "for _ in range(100):\n"
        '  try: print(u.urlopen("http://localhost:8765/page").read()); break\n'
        "  except OSError: time.sleep(0.1)'"
    )
    run(command)
    assert "served" in run.output


@pytest.mark.skipif(shutil.which("gcc", path="/usr/bin") is None, reason="no gcc here")
def test_a_c_program_is_compiled_and_runs(run: Runner) -> None:
    (run.tree / "a.c").write_text('#include <stdio.h>\nint main(void) { puts("compiled"); return 0; }\n')
    assert run("gcc -o a a.c && ./a").exit_code == 0
    assert run.output == "compiled\n"


def test_what_a_host_program_needs_of_etc_is_there(run: Runner) -> None:
    run("cat /etc/passwd; getent hosts localhost; python3 -c 'import ssl; ssl.create_default_context()'")
    assert "agent:x:1000" in run.output
    assert "localhost" in run.output
    assert "Error" not in run.output


def test_without_a_sandbox_nothing_runs_and_the_reason_is_told(run: Runner, settings: Any) -> None:
    settings.SAKURA_BWRAP = "/bin/false"
    outcome = run("touch ran")
    assert outcome.ending is Ending.UNAVAILABLE
    assert "/bin/false" in outcome.why
    assert outcome.exit_code is None
    assert not (run.tree / "ran").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user's folder")
def test_a_folder_that_the_commands_user_can_not_enter_is_named(run: Runner, folder: Path) -> None:
    folder.chmod(0o700)
    assert barrier(run.tree, run.place.uid) == folder
    outcome = run("true")
    folder.chmod(0o755)
    assert outcome.ending is Ending.UNAVAILABLE
    assert str(folder) in outcome.why


def test_off_runs_without_a_wall_and_says_so(run: Runner, settings: Any) -> None:
    settings.SAKURA_SANDBOX = "off"
    outcome = run("pwd; id -u")
    assert outcome.applied["level"] == "off"
    assert run.output.split() == [str(run.tree), str(outcome.applied["uid"])]


def test_off_ends_what_a_command_started(run: Runner, settings: Any) -> None:
    settings.SAKURA_SANDBOX = "off"
    outcome = run("sleep 600 & echo $!; setsid sleep 600 & echo $!; sleep 600", Limits(timeout_s=0.5))
    assert outcome.ending is Ending.TIMEOUT
    assert [processes.start_time(int(pid)) for pid in run.output.split()] == [None, None]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_giving_a_folder_away_follows_no_link(folder: Path) -> None:
    (folder / "outside").write_text("")
    (folder / "given").mkdir()
    (folder / "given" / "inside").write_text("")
    (folder / "given" / "link").symlink_to(folder / "outside")
    own(folder / "given", 60999)
    assert (folder / "given" / "inside").stat().st_uid == 60999
    assert (folder / "given" / "link").lstat().st_uid == 60999
    assert (folder / "outside").stat().st_uid == 0


def test_a_disk_that_is_full_ends_the_command(run: Runner) -> None:
    outcome = run_command(
        "yes",
        run.place,
        Limits(),
        spool=Path("/dev/full"),
        on_bytes=lambda data: None,
        cancelled=threading.Event(),
        on_start=lambda pid, started: run.started.append((pid, started)),
    )
    assert outcome.ending is Ending.DISK_LIMIT
    assert not end_leftover(*run.started[0])


def test_the_line_starts_a_program_of_the_machine(run: Runner) -> None:
    assert subprocess.run([run("true").applied["bwrap"], "--version"], capture_output=True, check=False).returncode == 0


# --- traps: each of these fails without one measure ------------------------------------------------------


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary server has nothing to drop")
def test_the_host_knows_a_command_by_the_number_it_was_given(run: Runner) -> None:
    """`--uid` of bubblewrap only names the user anew inside; to the kernel it would still be root."""
    seen: list[str] = []
    run.on_bytes = lambda data: seen.append(Path(f"/proc/{run.started[0][0]}/status").read_text())
    run("id -u; sleep 0.2")
    assert run.output == "1000\n"
    lines = [line.split()[1:] for line in seen[0].splitlines() if line.startswith(("Uid:", "Gid:"))]
    assert lines == [[str(run.place.uid)] * 4] * 2


def test_no_command_line_of_the_machine_is_seen(run: Runner, bare: Any) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", "hidden-treasure"]) as victim:
        try:
            look = "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -c 'hidden[-]treasure'"
            assert bare(look).exit_code == 0
            assert run(look).exit_code == 1
        finally:
            victim.kill()


def test_the_kernels_settings_are_mounted_read_only(run: Runner) -> None:
    """Not only closed to an ordinary user: the mount is what stops one who is root to the kernel."""
    run("echo x > /proc/sys/kernel/core_pattern; grep ' /proc/sys ' /proc/self/mountinfo")
    assert "Read-only file system" in run.output
    assert " /proc/sys ro," in run.output


def test_the_devices_folder_takes_no_file(run: Runner) -> None:
    run("echo x > /dev/x; echo x > /dev/null && echo works")
    assert run.output.splitlines()[0].endswith("Read-only file system")
    assert run.output.splitlines()[-1] == "works"


def test_bubblewrap_itself_starts_with_a_clean_environment(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--clearenv` cleans the command's alone; that of the first process tells what bubblewrap was started with."""
    monkeypatch.setenv("SOME_SECRET_KEY", "hidden-treasure")
    seen: list[bytes] = []
    run.on_bytes = lambda data: seen.append(Path(f"/proc/{run.started[0][0]}/environ").read_bytes())
    run("echo up; env; sleep 0.2")
    assert b"PATH=" in seen[0]
    assert b"hidden-treasure" not in seen[0]
    assert "SAKURA_COMMAND" not in run.output


def test_no_name_is_resolved(run: Runner) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.setblocking(False)
        port = server.getsockname()[1]
        ask = "import socket; socket.socket(2, 2).sendto(b'x', ('127.0.0.1', {}))"
        assert run(f'getent hosts example.com; test ! -e /etc/resolv.conf && python3 -c "{ask.format(port)}"')
        with pytest.raises(BlockingIOError):
            server.recv(1)
    assert run("python3 -c \"import socket; socket.getaddrinfo('example.com', 80)\"").exit_code == 1
    assert "Temporary failure" in run.output or "not known" in run.output


def test_with_a_secret_a_name_means_the_machines_program_and_not_the_trees(run: Runner) -> None:
    for folder in (run.tree / ".venv/bin", run.place.home / ".local/bin"):
        folder.mkdir(parents=True)
        for name in ("tac", "only-here"):
            (folder / name).write_text("#!/bin/sh\necho of the tree\n")
            (folder / name).chmod(0o755)
        folder.chmod(0o755)
        folder.parent.chmod(0o755)
    own(run.place.home / ".local", run.place.uid)
    run("tac /dev/null")
    assert run.output == "of the tree\n"
    run("tac /dev/null", secrets=(("TOKEN", "a value to keep"),))
    assert run.output == ""
    run("only-here", secrets=(("TOKEN", "a value to keep"),))
    assert run.output == "of the tree\n"
