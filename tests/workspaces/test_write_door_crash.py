"""The write door, killed at every system call: the old file or the new one, whole, and nothing left behind."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workspaces import strace
from workspaces import files, paths, rescue

OLD, NEW = b"old\n" * 3000, b"new and longer\n" * 5000
WHY_NOT = strace.why_not()

pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "strace works")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    tree.mkdir()
    return tree


def writing(root: Path, given: str) -> Callable[[], None]:
    def act() -> None:
        files.write_workspace_bytes(root, paths.resolve(root, given), NEW, rescue=root.parent / "rescue")

    return act


def rewrite(file: Path, data: bytes) -> None:
    with file.open("r+b") as opened:  # O_CREAT would be refused to root in a sticky folder
        opened.write(data)
        opened.truncate()


def left_in(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


def restarted(root: Path) -> None:
    """Do what the next start does, and see that it leaves only the notes, which are bounded."""
    files.put_back_interrupted(root, root.parent / "rescue")
    assert sorted(path.name for path in (root.parent / "rescue").glob("*")) in ([], ["begun.log"])


def test_a_replaced_file_is_the_old_or_the_new_one(root: Path) -> None:
    file = root / "a" / "run.sh"
    file.parent.mkdir()
    found = []

    def prepare() -> None:
        file.write_bytes(OLD)
        file.chmod(0o4751)

    for point in strace.kill_points(prepare, writing(root, "a/run.sh")):
        assert file.read_bytes() in (OLD, NEW), point
        restarted(root)
        assert (left_in(root), stat.S_IMODE(file.stat().st_mode)) == (["a/run.sh"], 0o4751), point
        found.append(file.read_bytes())
    assert found.count(OLD) >= 10
    assert found.count(NEW) >= 3


def test_a_new_file_is_there_whole_or_not_at_all(root: Path) -> None:
    file = root / "new" / "deep" / "file"
    found = []

    def prepare() -> None:
        file.unlink(missing_ok=True)
        for folder in (file.parent, file.parent.parent):
            if folder.exists():
                folder.rmdir()

    for point in strace.kill_points(prepare, writing(root, "new/deep/file")):
        assert not file.exists() or file.read_bytes() == NEW, point
        restarted(root)
        assert left_in(root) in ([], ["new/deep/file"]), point
        found.append(file.exists())
    assert found.count(False) >= 10
    assert found.count(True) >= 3


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user")
def test_a_file_rewritten_in_place_is_the_old_or_the_new_one_after_the_next_start(root: Path) -> None:
    file = root / "shared"
    file.write_bytes(OLD)
    file.chmod(0o666)
    os.chown(file, 60708, 60708)
    root.chmod(0o1777)
    os.chown(root, 60708, 60708)
    (root.parent / "rescue").mkdir()
    (root.parent / "rescue").chmod(0o777)
    inode = file.stat().st_ino
    write = writing(root, "shared")

    def act() -> None:
        os.setgroups([])
        os.setresgid(60709, 60709, 60709)
        os.setresuid(60709, 60709, 60709)
        write()

    found = []
    for point in strace.kill_points(lambda: rewrite(file, OLD), act):
        restarted(root)
        assert file.read_bytes() in (OLD, NEW), point
        assert (left_in(root), file.stat().st_ino, stat.S_IMODE(file.stat().st_mode)) == (["shared"], inode, 0o666)
        found.append(file.read_bytes())
    assert found.count(OLD) >= 10
    assert found.count(NEW) >= 1


def test_what_only_looks_like_a_temporary_is_left_alone(root: Path) -> None:
    outside, name = root.parent / "outside", ".sakura-0123456789abcdef.tmp"
    outside.mkdir()
    for folder in (root, outside):
        (folder / name).write_text("theirs")
    (root / "link").symlink_to(outside)
    (root / "folder" / name).mkdir(parents=True)
    (root / "file").write_text("theirs")
    for path in ("link/x", "folder/x", "gone/x", "file/x"):
        rescue.note(root.parent / "rescue", path, name)
    for temporary in ("file", f"../outside/{name}", ".sakura-0123.tmp"):
        rescue.note(root.parent / "rescue", "file", temporary)
    assert files.put_back_interrupted(root, root.parent / "rescue") == []
    assert sorted(os.listdir(root)) == [name, "file", "folder", "link"]
    assert (outside / name).exists()


def test_the_notes_of_writes_are_bounded(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workspaces.rescue.LOG_BYTES", 500)
    for number in range(100):
        rescue.note(root.parent / "rescue", f"file {number}", "name")
    assert 5 <= len(rescue.begun(root.parent / "rescue")) <= 60
    assert "file 99" in rescue.begun(root.parent / "rescue")


def test_a_note_that_was_cut_short_hides_no_other(root: Path) -> None:
    folder = root.parent / "rescue"
    rescue.note(folder, "one", "a")
    with (folder / "begun.log").open("ab") as log:
        log.write(b'["tw\n')
    rescue.note(folder, "caf\udce9", "b")
    assert rescue.begun(folder) == {"one": ["a"], "caf\udce9": ["b"]}
