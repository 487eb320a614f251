"""The write door: old bytes or new ones, with mode, owner, links kept."""

import errno
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from workspaces import files, paths
from workspaces.paths import PathError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    tree.mkdir()
    return tree


def write(root: Path, given: str, data: bytes) -> files.Written:
    return files.write_workspace_bytes(root, paths.resolve(root, given), data, rescue=root.parent / "rescue")


def code(root: Path, given: str) -> str:
    with pytest.raises(PathError) as caught:
        write(root, given, b"x")
    return caught.value.code


def test_a_new_file_gets_the_usual_mode_and_its_folders(root: Path) -> None:
    old = os.umask(0o022)
    try:
        assert write(root, "a/b/new.txt", b"hello\n").created
    finally:
        os.umask(old)
    assert stat.S_IMODE((root / "a/b/new.txt").stat().st_mode) == 0o644
    assert os.listdir(root / "a/b") == ["new.txt"]


def test_a_replaced_file_keeps_its_mode(root: Path) -> None:
    script = root / "run.sh"
    script.write_text("one")
    script.chmod(0o751)
    write(root, "run.sh", b"two")
    assert (script.read_bytes(), stat.S_IMODE(script.stat().st_mode)) == (b"two", 0o751)
    assert os.listdir(root) == ["run.sh"]


def test_a_link_stays_a_link(root: Path) -> None:
    (root / "real").write_text("old")
    (root / "link").symlink_to("real")
    write(root, "link", b"new")
    assert (root / "link").is_symlink()
    assert (root / "real").read_text() == "new"


def test_other_names_of_a_file_keep_the_old_bytes(root: Path) -> None:
    (root / "one").write_text("old")
    (root / "two").hardlink_to(root / "one")
    assert write(root, "one", b"new").links_broken == 1
    assert (root / "two").read_text() == "old"


def test_what_is_no_file_is_refused(root: Path) -> None:
    (root / "folder").mkdir()
    (root / "file").write_text("x")
    os.mkfifo(root / "pipe")
    assert code(root, "folder") == "IS_DIRECTORY"
    assert code(root, ".") == "IS_DIRECTORY"
    assert code(root, "new/") == "IS_DIRECTORY"
    assert code(root, "file/child") == "NOT_A_DIRECTORY"
    assert code(root, "pipe") == "SPECIAL_FILE"
    assert sorted(os.listdir(root)) == ["file", "folder", "pipe"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_as_root_what_is_new_belongs_to_the_owner_of_the_tree(root: Path) -> None:
    os.chown(root, 60706, 60706)
    write(root, "a/new.txt", b"x")
    assert {(root / name).stat().st_uid for name in ("a", "a/new.txt")} == {60706}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_as_root_a_replaced_file_keeps_its_owner(root: Path) -> None:
    (root / "theirs").write_text("x")
    os.chown(root / "theirs", 60707, 60707)
    write(root, "theirs", b"y")
    assert (root / "theirs").stat().st_uid == 60707


def test_a_full_disk_leaves_the_old_content_and_no_temporary(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "file").write_text("old")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("workspaces.files.os.write", full)
    for name in ("file", "new/deep/file"):
        with pytest.raises(OSError, match="space"):
            write(root, name, b"new")
    assert os.listdir(root) == ["file"]
    assert (root / "file").read_text() == "old"


def test_a_file_that_appears_meanwhile_is_not_overwritten(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def late(*args: object, **named: object) -> None:
        (root / "new").write_text("theirs")
        link(*args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("workspaces.files.os.link", late)
    assert code(root, "new") == "ALREADY_EXISTS"
    assert (root / "new").read_text() == "theirs"
    assert os.listdir(root) == ["new"]


KILLED = """
import os, sys
from pathlib import Path
from workspaces import files, paths
root = Path(sys.argv[1])
real, step = getattr(os, sys.argv[2]), int(sys.argv[3])
calls = 0
def dying(*args, **named):
    global calls
    calls += 1
    if calls > step:
        os.kill(os.getpid(), 9)
    return real(*args, **named)
setattr(files.os, sys.argv[2], dying)
files.write_workspace_bytes(root, paths.resolve(root, sys.argv[4]), b"n" * 100000, rescue=root.parent / "rescue")
"""


@pytest.mark.parametrize("name", ["old", "new"])
@pytest.mark.parametrize(("call", "step"), [("write", 0), ("fsync", 0), ("rename", 0), ("link", 0), ("fsync", 1)])
def test_a_kill_at_any_point_leaves_the_old_or_the_new_file(root: Path, name: str, call: str, step: int) -> None:
    (root / "old").write_text("old")
    subprocess.run([sys.executable, "-c", KILLED, str(root), call, str(step), name], check=False, cwd=Path.cwd())
    found = (root / name).read_bytes() if (root / name).exists() else b"old"
    assert found in (b"old", b"n" * 100000)


def as_user(uid: int, act: Callable[[], None]) -> int:
    """Do something as another user, in a child process; return its exit status, 0 when nothing was raised."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            act()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user")
def test_a_foreign_file_in_a_sticky_folder_is_rewritten_in_place(root: Path) -> None:
    root.chmod(0o1777)
    os.chown(root, 60708, 60708)
    shared = root / "shared"
    shared.write_text("old")
    os.chown(shared, 60708, 60708)
    shared.chmod(0o666)
    rescue = root.parent / "rescue"
    rescue.mkdir()
    rescue.chmod(0o777)
    inode = shared.stat().st_ino

    def rewrite() -> None:
        path = paths.resolve(root, "shared")
        assert files.write_workspace_bytes(root, path, b"new and longer", rescue=rescue).in_place

    assert as_user(60709, rewrite) == 0
    assert (shared.read_text(), shared.stat().st_ino) == ("new and longer", inode)
    assert os.listdir(rescue) == ["begun.log"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user")
def test_a_file_that_may_not_be_written_stays_as_it_is(root: Path) -> None:
    (root / "theirs").write_text("old")
    root.chmod(0o755)

    def rewrite() -> None:
        with pytest.raises(PermissionError):
            files.write_workspace_bytes(root, paths.resolve(root, "theirs"), b"new", rescue=root.parent / "rescue")

    assert as_user(60709, rewrite) == 0
    assert ((root / "theirs").read_text(), os.listdir(root)) == ("old", ["theirs"])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user")
def test_a_folder_that_may_not_be_written_refuses_though_its_file_might_be(root: Path) -> None:
    (root / "shared").write_text("old")
    (root / "shared").chmod(0o666)
    root.chmod(0o555)
    rescue = root.parent / "rescue"
    rescue.mkdir()
    rescue.chmod(0o777)

    def rewrite() -> None:
        with pytest.raises(PermissionError) as caught:
            files.write_workspace_bytes(root, paths.resolve(root, "shared"), b"new", rescue=rescue)
        assert files.OS_ERRORS[caught.value.errno or 0][0] == "WORKSPACE_WRITE_PERMISSION_DENIED"

    assert as_user(60709, rewrite) == 0
    assert ((root / "shared").read_text(), os.listdir(root)) == ("old", ["shared"])


def test_a_set_user_id_bit_is_kept(root: Path) -> None:
    (root / "tool").write_text("old")
    (root / "tool").chmod(0o4755)
    write(root, "tool", b"new")
    assert stat.S_IMODE((root / "tool").stat().st_mode) == 0o4755


def test_what_the_announcement_raises_keeps_the_file_as_it_is(root: Path) -> None:
    (root / "file").write_text("old")

    def refuse() -> None:
        raise RuntimeError("the lease is lost")

    for name in ("file", "new/file"):
        with pytest.raises(RuntimeError):
            files.write_workspace_bytes(
                root, paths.resolve(root, name), b"new", rescue=root.parent / "rescue", announce=refuse
            )
    assert ((root / "file").read_text(), os.listdir(root)) == ("old", ["file"])


def test_an_interrupted_in_place_write_is_undone(root: Path) -> None:
    (root / "file").write_text("new but torn")
    rescue = root.parent / "rescue"
    rescue.mkdir()
    (rescue / "0123.kept").write_bytes(b'{"path": "file"}\nthe old\nbytes')
    (rescue / "4567.part").write_bytes(b"half a copy")
    assert files.put_back_interrupted(root, rescue) == ["file"]
    assert (root / "file").read_bytes() == b"the old\nbytes"
    assert os.listdir(rescue) == []


def test_only_one_at_a_time_holds_the_lock_of_a_path(root: Path) -> None:
    path = paths.resolve(root, "count")
    (root / "count").write_text("0")

    def add() -> None:
        for _ in range(25):
            with files.lock(root.parent / "locks", path):
                number = int((root / "count").read_text())
                write(root, "count", str(number + 1).encode())

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (root / "count").read_text() == "100"
