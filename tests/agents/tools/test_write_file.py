"""write_file: new files, whole replacements, and what is refused."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.models import Policy
from agents.providers.base import Call
from agents.tools import runner
from tests.agents.tools.bench import Bench, sha256
from workspaces.models import Baseline, Snapshot

pytestmark = pytest.mark.django_db
KEY = "AKIA" + "ABCDEFGHIJKLMNOP"


def test_a_new_file_is_created_with_its_folders(bench: Bench) -> None:
    result = bench.call("write_file", file_path="a/b.txt", content="one\ntwo\n")
    assert result.content == "a/b.txt created (2 lines)."
    assert result.touched == ("a/b.txt",)
    assert (result.data["created"], result.data["additions"], result.data["deletions"]) == (True, 2, 0)
    assert (bench.tree / "a/b.txt").read_bytes() == b"one\ntwo\n"
    assert (bench.tree / "a").stat().st_uid == bench.tree.stat().st_uid


def test_the_journal_hears_of_a_write_before_the_bytes_change(bench: Bench) -> None:
    bench.write("a", "old")
    bench.call("read_file", file_path="a")
    bench.call("write_file", file_path="a", content="new")
    bench.call("write_file", file_path="b", content="made")
    assert bench.journal.writes == [("a", sha256(b"old"), sha256(b"new")), ("b", "", sha256(b"made"))]


def test_a_file_is_replaced_after_a_whole_read_only(bench: Bench) -> None:
    assert bench.call("write_file", file_path="calc.py", content="x").code == "NOT_READ"
    bench.call("read_file", file_path="calc.py", offset=1, limit=1)
    assert bench.call("write_file", file_path="calc.py", content="x").code == "PARTIALLY_READ"
    bench.call("read_file", file_path="calc.py")
    assert bench.call("write_file", file_path="calc.py", content="x").content == "calc.py updated (1 line)."


def test_a_file_that_changed_since_is_left_alone(bench: Bench) -> None:
    bench.call("read_file", file_path="calc.py")
    bench.write("calc.py", "theirs\n")
    assert bench.call("write_file", file_path="calc.py", content="x").code == "STALE"
    assert (bench.tree / "calc.py").read_text() == "theirs\n"


def test_what_was_read_is_still_known_after_a_restart(bench: Bench) -> None:
    bench.call("read_file", file_path="calc.py")
    assert not bench.restarted().call("write_file", file_path="calc.py", content="x").is_error


def test_the_encoding_and_its_mark_are_kept(bench: Bench) -> None:
    bench.write("a", "\ufeffold\r\n".encode("utf-16-le"))
    bench.call("read_file", file_path="a")
    bench.call("write_file", file_path="a", content="größer\n")
    assert (bench.tree / "a").read_bytes() == "\ufeffgrößer\n".encode("utf-16-le")


def test_equal_content_is_not_written(bench: Bench) -> None:
    bench.write("a", "same")
    bench.call("read_file", file_path="a")
    result = bench.call("write_file", file_path="a", content="same")
    assert (result.is_error, result.touched, bench.journal.writes) == (False, (), [])


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", ".sakura/SAKURA.md", ".vscode/tasks.json", "sub/.envrc"])
def test_protected_paths_are_refused_with_their_rule(bench: Bench, path: str) -> None:
    result = bench.call("write_file", file_path=path, content="x")
    assert (result.code, "rule `" in result.content) == ("PROTECTED_PATH", True)
    assert not (bench.tree / path).exists()


def test_a_link_to_a_protected_path_is_refused(bench: Bench) -> None:
    (bench.tree / "link").symlink_to(".husky")
    assert bench.call("write_file", file_path="link/pre-commit", content="x").code == "PROTECTED_PATH"


def test_the_task_protects_and_allows_more(bench: Bench) -> None:
    bench.policy = Policy(protected=["migrations", "*.lock"], unprotected=[".vscode/**"])
    assert bench.call("write_file", file_path="app/migrations/0001.py", content="x").code == "PROTECTED_PATH"
    assert bench.call("write_file", file_path="deep/yarn.lock", content="x").code == "PROTECTED_PATH"
    assert not bench.call("write_file", file_path=".vscode/tasks.json", content="{}").is_error


def test_a_secret_is_refused_without_being_repeated(bench: Bench) -> None:
    result = bench.call("write_file", file_path="config.py", content=f"a = 1\nKEY = '{KEY}'\n")
    assert result.code == "SECRET_DETECTED"
    assert "line 2" in result.content
    assert KEY not in result.content
    assert not (bench.tree / "config.py").exists()


def test_a_secret_that_was_there_already_does_not_hinder(bench: Bench) -> None:
    bench.write("config.py", f"KEY = '{KEY}'\n")
    bench.call("read_file", file_path="config.py")
    assert not bench.call("write_file", file_path="config.py", content=f"# old\nKEY = '{KEY}'\n").is_error


def test_a_first_touch_is_remembered_for_revert(bench: Bench) -> None:
    bench.call("write_file", file_path="new.txt", content="x")
    assert Baseline.objects.get(path="new.txt").kind == Baseline.Kind.ABSENT


def test_a_name_that_is_not_utf8_comes_through(bench: Bench) -> None:
    bench.write(os.fsdecode(b"caf\xe9.txt"), "old\n")
    bench.call("read_file", file_path=r"caf\xe9.txt")
    result = bench.call("write_file", file_path=r"caf\xe9.txt", content="new\n")
    assert not result.is_error, result.content
    assert (bench.tree / os.fsdecode(b"caf\xe9.txt")).read_text() == "new\n"
    assert Snapshot.objects.latest("number").files[0]["path"] == r"caf\xe9.txt"


def test_a_file_behind_an_inside_link_is_written_and_the_link_stays(bench: Bench) -> None:
    bench.write("real/file", "old\n")
    (bench.tree / "link").symlink_to("real")
    bench.call("read_file", file_path="link/file")
    result = bench.call("write_file", file_path="link/file", content="new\n")
    assert (result.data["path"], result.data["created"]) == ("real/file", False)
    assert (bench.tree / "link").is_symlink()
    assert (bench.tree / "real/file").read_text() == "new\n"


def test_a_link_out_of_the_workspace_is_refused(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("theirs")
    (bench.tree / "link").symlink_to(tmp_path / "outside")
    assert bench.call("write_file", file_path="link", content="x").code == "OUTSIDE_WORKSPACE"
    assert (tmp_path / "outside").read_text() == "theirs"


def test_an_ignored_file_is_written_and_its_first_bytes_are_kept(bench: Bench) -> None:
    bench.write("local.env", "first\n")
    rules = bench.workspace.folder / "rules"  # the baseline's
    rules.mkdir(exist_ok=True)
    (rules / ".gitignore").write_text("*.env\n")
    bench.call("read_file", file_path="local.env")
    assert not bench.call("write_file", file_path="local.env", content="new\n").is_error
    assert bench.call("revert_file", file_path="local.env").is_error is False
    assert (bench.tree / "local.env").read_text() == "first\n"


def test_a_secret_may_stand_where_the_policy_allows_it(bench: Bench) -> None:
    bench.policy = Policy(secrets_allowed=["tests/fixtures/**"])
    assert bench.call("write_file", file_path="config.py", content=f"KEY = '{KEY}'\n").code == "SECRET_DETECTED"
    assert not bench.call("write_file", file_path="tests/fixtures/k.py", content=f"KEY = '{KEY}'\n").is_error


def test_a_baseline_waits_for_the_result_and_costs_no_commit_of_its_own(bench: Bench) -> None:
    with CaptureQueriesContext(connection) as queries:
        runner.execute(prepared(bench, "new.txt"), bench.context())
    assert [each["sql"] for each in queries if each["sql"].startswith("INSERT")] == []
    assert not Baseline.objects.filter(path="new.txt").exists()
    bench.reads.save()
    assert Baseline.objects.get(path="new.txt").kind == Baseline.Kind.ABSENT


def test_a_baseline_that_a_crash_kept_from_the_database_is_told_again(bench: Bench) -> None:
    runner.execute(prepared(bench, "new.txt"), bench.context())
    again = bench.restarted()
    again.reads.save()
    assert Baseline.objects.get(path="new.txt").kind == Baseline.Kind.ABSENT


def prepared(bench: Bench, path: str) -> runner.Prepared:
    call = Call("call_9", "write_file", {"file_path": path, "content": "x"})
    return runner.prepare(call, runner.available("implementer", "full"))


IN_A_SMALL_FILE_SYSTEM = """
import os, subprocess, sys
from pathlib import Path
from workspaces import files, paths
from workspaces.files import OS_ERRORS
root, rescue = Path(sys.argv[1]), Path(sys.argv[2])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(root)], check=True)
(root / "old").write_bytes(b"o" * 20000)
for name in ("old", "new", "a/b/new"):
    try:
        files.write_workspace_bytes(root, paths.resolve(root, name), b"n" * 100000, rescue=rescue)
    except OSError as error:
        print(name, OS_ERRORS[error.errno][0])
print(sorted(os.listdir(root)), (root / "old").read_bytes() == b"o" * 20000)
"""


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs a mount of its own")
def test_a_disk_that_is_really_full_leaves_the_old_content_and_no_temporary(tmp_path: Path) -> None:
    root = tmp_path / "small"
    root.mkdir()
    command = ["unshare", "-m", sys.executable, "-c", IN_A_SMALL_FILE_SYSTEM, str(root), str(tmp_path / "rescue")]
    done = subprocess.run(command, cwd=Path.cwd(), capture_output=True, text=True, check=False)
    if done.returncode and "mount" in done.stderr:
        pytest.skip(f"no mount of its own: {done.stderr.strip()[-200:]}")
    assert done.stdout.splitlines() == [
        "old DISK_FULL",
        "new DISK_FULL",
        "a/b/new DISK_FULL",
        "['old'] True",
    ], done.stderr


def test_a_file_system_that_is_read_only_is_told_as_a_missing_right(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    bench.call("read_file", file_path="calc.py")
    before = (bench.tree / "calc.py").read_bytes()
    monkeypatch.setattr("workspaces.files.os.fsync", refuse)
    assert bench.call("write_file", file_path="calc.py", content="x").code == "WORKSPACE_WRITE_PERMISSION_DENIED"
    assert (bench.tree / "calc.py").read_bytes() == before
    assert not list(bench.tree.glob(".sakura-*"))


def test_a_byte_order_mark_of_a_new_text_is_the_files_mark(bench: Bench) -> None:
    bench.call("write_file", file_path="a.txt", content="\ufeffone\n")
    assert not bench.call("edit_file", file_path="a.txt", old_string="one", new_string="two").is_error
    assert bench.call("read_file", file_path="a.txt").content == "     1\ttwo"
    assert not bench.call("write_file", file_path="a.txt", content="\ufeffthree\n").is_error
    assert (bench.tree / "a.txt").read_bytes() == b"\xef\xbb\xbfthree\n"


def test_a_byte_order_mark_that_a_replaced_text_brings_does_not_make_the_read_stale(bench: Bench) -> None:
    bench.write("a.txt", "one\n")
    bench.call("read_file", file_path="a.txt")
    bench.call("write_file", file_path="a.txt", content="\ufefftwo\n")
    assert not bench.call("edit_file", file_path="a.txt", old_string="two", new_string="three").is_error
    assert (bench.tree / "a.txt").read_bytes() == b"\xef\xbb\xbfthree\n"
