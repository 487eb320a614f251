"""The toolshell as other programs use it: a real process, its lines, its end, and what it leaves behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.toolshell import loan
from agents.toolshell.lines import LINE_BYTES
from tests.conftest import git
from tests.workspaces.places import DEEP, dig
from workspaces import walking
from workspaces.sandbox.identity import FIRST_UID, is_root, own
from workspaces.sandbox.removal import remove

ROOT = Path(__file__).resolve().parent.parent.parent
WAIT_S = 30.0

DIG = f"""
import os, sys
os.chdir(sys.argv[1])
for _ in range({DEEP}):
    os.makedirs("e", exist_ok=True)
    os.chdir("e")
"""

as_root = pytest.mark.skipif(not is_root(), reason="only root lends folders")


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


class Toolshell:
    """A started toolshell and the lines to and from it."""

    def __init__(self, place: Path, *options: str, **env: str) -> None:
        self.scratch = place / "tmp"
        self.scratch.mkdir(exist_ok=True)
        kept = {"PATH": os.environ["PATH"], "SAKURA_SECRET_KEY": "k" * 50, "SAKURA_DATA_DIR": str(place / "data")}
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "toolshell", "--workspace", str(place / "ws"), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(place / "stderr").open("wb"),
            env=kept | {"TMPDIR": str(self.scratch), "HOME": str(place)} | env,
            cwd=place,
        )
        self.ready = self.hear()

    def say(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        found: dict[str, Any] = json.loads(self.process.stdout.readline() or b"{}")
        return found

    def ask(self, request: Any) -> dict[str, Any]:
        self.say(json.dumps(request).encode())
        return self.hear()

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        return self.ask(use(name, **arguments))

    def end(self) -> tuple[int, bytes]:
        """End the input; return the exit status and what was printed after all answers."""
        rest, _ = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, rest

    def has_left(self) -> list[str]:
        return os.listdir(self.scratch)


def use(name: str, call_id: str = "1", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with the workspace `ws`, which has one file."""
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "a.txt").write_text("hello\n")
    return tmp_path


@pytest.fixture
def start(place: Path) -> Iterator[Callable[..., Toolshell]]:
    """Start a toolshell at the place: start(*options, **environment)."""
    started: list[Toolshell] = []

    def begin(*options: str, **env: str) -> Toolshell:
        started.append(Toolshell(place, *options, **env))
        return started[-1]

    yield begin
    for each in started:
        each.process.kill()
        each.process.communicate()


Start = Callable[..., Toolshell]


def test_an_ignore_file_without_end_keeps_no_folder_from_being_opened(start: Start, place: Path) -> None:
    (place / "ws" / "sub").mkdir()
    (place / "ws" / "sub" / ".gitignore").symlink_to("/dev/zero")
    assert not start().call("read_file", file_path="a.txt")["is_error"]


# --- the lines ---------------------------------------------------------------------------------------


def test_a_call_is_answered_with_its_result_and_how_long_it_took(start: Start) -> None:
    shell = start()
    assert shell.ready["type"] == "ready"
    assert shell.ready["limits"]["glob"] == 100
    answer = shell.call("read_file", file_path="a.txt")
    assert (answer["tool_use_id"], answer["is_error"], answer["code"]) == ("1", False, None)
    assert "hello" in answer["content"]
    assert answer["duration_ms"] > 0
    assert answer["data"]["fact"]["subject"] == "a.txt"


def test_it_ends_with_its_input_and_leaves_nothing_behind(start: Start, place: Path) -> None:
    shell = start()
    shell.call("run_command", command="echo x > made.txt")
    assert shell.end() == (0, b"")
    assert shell.has_left() == []
    assert (place / "ws" / "made.txt").read_text() == "x\n"


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[1, 2]",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"type": "dance"}',
        b'{"type": "tool_use", "name": "glob"}',
        b'{"type": "tool_use", "id": 7, "name": "glob"}',
        b'{"type": "parallel", "calls": [{"type": "parallel", "calls": []}]}',
        json.dumps({"type": "parallel", "calls": [use("glob")] * 257}).encode(),
    ],
    ids=lambda line: repr(line[:30]),
)
def test_a_line_that_is_no_request_is_answered_and_the_next_one_is_carried_out(start: Start, line: bytes) -> None:
    shell = start()
    shell.say(line)
    answer = shell.hear()
    assert (answer["type"], answer["code"]) == ("error", "INVALID_INPUT")
    assert answer["message"]
    assert not shell.call("read_file", file_path="a.txt")["is_error"]


def test_a_line_that_is_too_long_is_refused_as_a_whole(start: Start) -> None:
    shell = start()
    shell.say(b"x" * (LINE_BYTES + 100_000))
    assert "bytes" in shell.hear()["message"]
    assert not shell.call("read_file", file_path="a.txt")["is_error"]


def test_several_lines_at_once_and_a_last_one_without_an_end_are_answered(start: Start) -> None:
    shell = start()
    lines = [json.dumps(use("glob", str(number), pattern="*")) for number in range(3)]
    rest, _ = shell.process.communicate("\n".join(lines).encode(), timeout=WAIT_S)
    assert [json.loads(line)["tool_use_id"] for line in rest.splitlines()] == ["0", "1", "2"]
    assert shell.process.returncode == 0


def test_calls_that_begin_together_are_answered_in_their_order(start: Start) -> None:
    shell = start()
    calls = [use("run_command", "slow", command="sleep 0.3; echo slow"), use("read_file", "quick", file_path="a.txt")]
    answer = shell.ask({"type": "parallel", "calls": calls})
    assert answer["type"] == "parallel_result"
    assert [result["tool_use_id"] for result in answer["results"]] == ["slow", "quick"]
    assert "slow" in answer["results"][0]["content"]
    assert shell.ask({"type": "parallel", "calls": []})["results"] == []


# --- who and what ------------------------------------------------------------------------------------


def test_a_reviewer_has_no_tool_that_writes_and_its_commands_leave_no_trace(start: Start, place: Path) -> None:
    shell = start("--role", "reviewer")
    assert "write_file" not in shell.ready["tools"]
    assert shell.call("write_file", file_path="b.txt", content="b")["code"] == "UNKNOWN_TOOL"
    assert shell.call("run_command", command="echo b > b.txt && cat b.txt")["data"]["exit_code"] == 0
    assert os.listdir(place / "ws") == ["a.txt"]


def test_a_policy_can_be_given(start: Start, place: Path) -> None:
    (place / "ws" / "keys").mkdir()
    (place / "ws" / "keys" / "one.txt").write_text("hush\n")
    (place / "policy.json").write_text(json.dumps({"hidden": ["keys/**"], "protected": ["a.txt"]}))
    shell = start("--policy", str(place / "policy.json"))
    assert shell.call("read_file", file_path="keys/one.txt")["code"] == "DENIED"
    assert shell.call("write_file", file_path="a.txt", content="x")["code"] == "PROTECTED_PATH"
    assert shell.call("write_file", file_path=".github/workflows/ci.yml", content="x")["code"] == "PROTECTED_PATH"


def test_a_given_policy_keeps_the_tests_that_are_there_and_decide_only_says_so(start: Start, place: Path) -> None:
    (place / "ws" / "tests").mkdir()
    (place / "ws" / "tests" / "test_a.py").write_text("assert True\n")
    (place / "policy.json").write_text("{}")
    shell = start("--policy", str(place / "policy.json"), "--decide-only")
    answer = shell.call("edit_file", file_path="tests/test_a.py", old_string="True", new_string="1")
    assert (answer["code"], answer["data"]) == ("PROTECTED_PATH", {"rule": "existing tests", "source": "defaults"})
    assert shell.call("write_file", file_path="tests/test_b.py", content="")["code"] is None


def test_decide_only_asks_and_does_nothing(start: Start, place: Path) -> None:
    shell = start("--decide-only")
    answer = shell.call("write_file", file_path="b.txt", content="b")
    assert (answer["is_error"], answer["code"]) == (False, None)
    assert not (place / "ws" / "b.txt").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--policy", "nowhere.json"), "No such file"),
        (("--policy", "ws/a.txt"), "is no policy"),
        (("--role", "x"), "x"),
    ],
)
def test_what_it_can_not_start_with_is_said_in_a_sentence(
    start: Start, place: Path, options: tuple[str, ...], said: str
) -> None:
    shell = start(*options)
    assert shell.ready == {}
    assert shell.end()[0] != 0
    told = (place / "stderr").read_text()
    assert said in told
    assert "Traceback" not in told
    assert shell.has_left() == []


def test_the_data_of_the_installation_is_not_touched(start: Start, place: Path) -> None:
    (place / "data").rmdir()
    (place / "data").write_text("no folder can be made here")
    shell = start()
    assert not shell.call("write_file", file_path="b.txt", content="b\n")["is_error"]
    assert shell.call("run_command", command="cat b.txt")["data"]["exit_code"] == 0
    assert shell.end()[0] == 0


# --- the baseline ------------------------------------------------------------------------------------


def commit(folder: Path) -> None:
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "First")


def test_head_is_the_baseline_also_of_a_linked_work_tree(start: Start, place: Path) -> None:
    commit(place / "ws")
    (place / "ws").rename(place / "main")
    git(place / "main", "worktree", "add", "--quiet", "-b", "other", str(place / "ws"))
    (place / "ws" / "a.txt").write_text("of the other branch\n")
    git(place / "ws", "commit", "--quiet", "-am", "Other")
    (place / "ws" / "a.txt").write_text("not committed\n")
    shell = start()
    assert "a.txt" in shell.call("check_changes")["content"]
    assert not shell.call("revert_file", file_path="a.txt")["is_error"]
    assert (place / "ws" / "a.txt").read_text() == "of the other branch\n"


def test_the_baseline_outlives_the_repository(start: Start, place: Path) -> None:
    commit(place / "ws")
    shell = start()
    assert shell.call("run_command", command="rm -rf .git; echo changed > a.txt")["data"]["exit_code"] == 0
    assert not shell.call("revert_file", file_path="a.txt")["is_error"]
    assert (place / "ws" / "a.txt").read_text() == "hello\n"


def test_a_repository_without_a_commit_starts_as_it_was_found(start: Start, place: Path) -> None:
    git(place / "ws", "init", "--quiet")
    shell = start()
    shell.call("run_command", command="echo changed > a.txt")
    assert not shell.call("revert_file", file_path="a.txt")["is_error"]
    assert (place / "ws" / "a.txt").read_text() == "hello\n"


def test_a_commit_whose_files_are_missing_is_told(start: Start, place: Path) -> None:
    commit(place / "ws")
    blob = git(place / "ws", "rev-parse", "HEAD:a.txt")
    (place / "ws" / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    shell = start()
    assert shell.ready == {}
    assert shell.end()[0] == 1
    assert "can't be read" in (place / "stderr").read_text()


# --- the end -----------------------------------------------------------------------------------------


def is_running(word: str) -> bool:
    """Return whether a living process has the word among its arguments."""
    return any(word.encode() in _arguments(path) for path in Path("/proc").glob("[0-9]*/cmdline"))


def _arguments(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it ended
        return b""


def test_commands_in_the_background_end_with_it(start: Start) -> None:
    shell = start()
    mark = f"73.{os.getpid()}"
    assert not shell.call("run_command", command=f"echo up; sleep {mark}", run_in_background=True)["is_error"]
    wait_until(lambda: is_running(mark))
    assert shell.end() == (0, b"")
    assert not is_running(mark)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_command_at_work_and_then_everything(start: Start, number: signal.Signals) -> None:
    shell = start()
    mark = f"74.{os.getpid()}"
    shell.say(json.dumps(use("run_command", command=f"echo begun; sleep {mark}")).encode())
    wait_until(lambda: is_running(mark))
    shell.process.send_signal(number)
    assert shell.hear()["code"] == "CANCELLED"
    assert shell.process.wait(WAIT_S) == 0
    assert not is_running(mark)
    assert shell.has_left() == []


def test_a_signal_between_two_calls_ends_it(start: Start) -> None:
    shell = start()
    shell.process.send_signal(signal.SIGTERM)
    assert shell.process.wait(WAIT_S) == 0


def test_after_a_kill_its_folder_is_removed_all_the_same(start: Start) -> None:
    shell = start()
    shell.call("run_command", command="mkdir -m 0 ~/closed")
    shell.process.kill()
    wait_until(lambda: shell.has_left() == [])


# --- as root -----------------------------------------------------------------------------------------


@as_root
def test_a_folder_of_roots_is_lent_and_given_back(start: Start, place: Path) -> None:
    (place / "ws" / "a.txt").chmod(0o4755)
    shell = start()
    shell.call("run_command", command="echo b > b.txt")
    assert (place / "ws").stat().st_uid == FIRST_UID
    shell.end()
    for name in ("", "a.txt", "b.txt"):
        found = (place / "ws" / name).stat()
        assert (found.st_uid, found.st_gid) == (0, 0)
    assert (place / "ws" / "a.txt").stat().st_mode & 0o7777 == 0o4755


@as_root
def test_folders_of_any_depth_are_lent_given_back_and_removed(start: Start, place: Path) -> None:
    dig(place / "ws", DEEP)
    shell = start()
    made = shell.call("run_command", command=f"python3 -c '{DIG}' ~ && python3 -c '{DIG}' d")
    assert made["data"]["exit_code"] == 0
    assert (place / "ws" / "d" / "d").stat().st_uid == FIRST_UID
    shell.end()
    assert {os.stat(met.name, dir_fd=met.handle).st_uid for met in walking.below(place / "ws")} == {0}
    assert shell.has_left() == []
    remove(place / "ws")


@as_root
def test_after_a_kill_a_folder_of_roots_is_given_back_all_the_same(start: Start, place: Path) -> None:
    shell = start()
    shell.process.kill()
    wait_until(lambda: (place / "ws" / "a.txt").stat().st_uid == 0)


@as_root
def test_a_way_that_only_root_may_pass_is_opened_as_long_as_somebody_needs_it(start: Start, place: Path) -> None:
    place.chmod(0o700)
    first, second = start(), start()
    assert place.stat().st_mode & 0o777 == 0o710
    first.end()
    assert second.call("run_command", command="pwd")["data"]["exit_code"] == 0
    second.end()
    assert (place.stat().st_mode & 0o777, place.stat().st_gid) == (0o700, 0)


@as_root
def test_commands_run_as_the_owner_of_the_folder(start: Start, place: Path) -> None:
    commit(place / "ws")
    own(place / "ws", 1234)
    shell = start()
    shell.call("run_command", command="echo b > b.txt; rm a.txt")
    shell.call("revert_file", file_path="a.txt")
    shell.call("write_file", file_path="deep/c.txt", content="c\n")
    assert {(place / "ws" / name).stat().st_uid for name in ("a.txt", "b.txt", "deep", "deep/c.txt")} == {1234}
    shell.end()
    assert (place / "ws" / "b.txt").stat().st_uid == 1234


@as_root
@pytest.mark.parametrize("folder", ["/", "/etc", "/usr/share"])
def test_a_folder_of_the_system_is_never_lent(folder: str, tmp_path: Path) -> None:
    with pytest.raises(loan.LoanError):
        loan.plan(Path(folder), tmp_path)
