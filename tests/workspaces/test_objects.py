"""Objects of our own are git's very objects, and durable before anything names them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import GIT_ENV, git
from workspaces import objects
from workspaces.nested import Nested, fitting
from workspaces.objects import Objects
from workspaces.store import EXECUTABLE, FILE, LINK, Tree, TreeEntry

ENTRIES: Tree = {
    b"a": TreeEntry(FILE, "1" * 40),
    b"a.b/c": TreeEntry(EXECUTABLE, "2" * 40),
    b"a0": TreeEntry(LINK, "3" * 40),
    b"deep/er/still/x": TreeEntry(FILE, "4" * 40),
    b"deep/y": TreeEntry(FILE, "5" * 40),
    b"raw\xff": TreeEntry(FILE, "6" * 40),
}


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--bare", "x.git")
    return tmp_path / "x.git"


def tree_by_git(folder: Path, entries: Tree) -> str:
    """Return the tree that git itself makes of these entries."""
    env = GIT_ENV | {"GIT_DIR": str(folder), "GIT_INDEX_FILE": str(folder / "index")}
    (folder / "index").unlink(missing_ok=True)
    listed = b"".join(b"%s %s\t%s\0" % (e.mode.encode(), e.oid.encode(), path) for path, e in entries.items())
    subprocess.run(["git", "update-index", "-z", "--index-info"], input=listed, env=env, check=True)
    done = subprocess.run(["git", "write-tree", "--missing-ok"], env=env, check=True, capture_output=True)
    return done.stdout.decode().strip()


def test_objects_are_what_git_makes_of_the_same_bytes(bare: Path) -> None:
    blob = objects.write(bare, "blob", b"text\n")
    assert git(bare, "cat-file", "blob", blob) == "text"
    parent = git(bare, "commit-tree", git(bare, "mktree", "--missing"), "-m", "x")
    tree = git(bare, "rev-parse", f"{parent}^{{tree}}")
    commit = objects.write(bare, "commit", objects.commit_data(tree, parent, "Said ü\0\n\nmore\n"))
    assert git(bare, "log", "-1", "--format=%T %P %an %B", commit) == f"{tree} {parent} Sakura Said ü\n\nmore"
    git(bare, "fsck", "--strict", "--no-dangling")


def test_trees_are_named_as_git_names_them_whatever_changes(bare: Path) -> None:
    entries = dict(ENTRIES)
    nested = Nested(entries)
    assert nested.tree == tree_by_git(bare, entries)
    steps: list[dict[bytes, TreeEntry | None]] = [
        {b"deep/er/still/x": None},
        {b"a": None, b"a/now/a/folder": TreeEntry(FILE, "7" * 40)},
        {b"a/now/a/folder": None, b"a": TreeEntry(FILE, "8" * 40)},
        {b"deep/er": TreeEntry(LINK, "9" * 40), b"new": TreeEntry(FILE, "a" * 40), b"not/there": None},
        dict.fromkeys([*ENTRIES, b"deep/er", b"new"]),
    ]
    for changes in steps:
        draft = nested.draft(changes)
        kept = nested.tree
        assert nested.draft({}).tree == kept
        nested.adopt(draft)
        entries = {path: entry for path, entry in (entries | changes).items() if entry is not None}
        assert nested.tree == draft.tree == tree_by_git(bare, entries)


def test_a_tree_that_git_would_not_write_so_is_left_to_git() -> None:
    assert fitting(ENTRIES, Nested(ENTRIES).tree) is not None
    assert fitting(ENTRIES, "0" * 40) is None


def test_an_object_has_its_name_only_after_a_flush(bare: Path) -> None:
    added = Objects(bare)
    oid = added.add("blob", b"x")
    place = bare / "objects" / oid[:2] / oid[2:]
    assert not place.exists()
    added.flush()
    assert place.stat().st_mode & 0o777 == 0o444
    assert list((bare / "objects").glob("tmp_obj_*")) == []


def test_what_was_not_flushed_is_taken_away(bare: Path) -> None:
    added = Objects(bare)
    oid = added.add("blob", b"x")
    added.discard()
    added.flush()
    assert list((bare / "objects").glob("tmp_obj_*")) == []
    assert not (bare / "objects" / oid[:2] / oid[2:]).exists()


def test_an_empty_file_left_by_a_crash_is_written_anew(bare: Path) -> None:
    oid = objects.object_id("blob", 1, (b"x",))
    place = bare / "objects" / oid[:2] / oid[2:]
    place.parent.mkdir()
    place.touch()
    assert objects.write(bare, "blob", b"x") == oid
    assert git(bare, "cat-file", "blob", oid) == "x"


def test_only_old_leftovers_are_swept(bare: Path) -> None:
    added = Objects(bare)
    added.add("blob", b"x")
    objects.sweep(bare, 3600)
    (left,) = (bare / "objects").glob("tmp_obj_*")
    os.utime(left, (0, 0))
    objects.sweep(bare, 3600)
    assert not left.exists()


SCRIPT = """
import sys
from pathlib import Path
from workspaces import objects
objects._keeps_order = lambda folder: {ordered}
added = objects.Objects(Path(sys.argv[1]))
for number in range(3):
    added.add("blob", b"%d" % number)
added.flush()
"""


@pytest.mark.parametrize("ordered", [True, False])
def test_bytes_are_synced_before_the_name_and_the_name_after(bare: Path, tmp_path: Path, ordered: bool) -> None:
    log = tmp_path / "calls"
    traced = ["strace", "-f", "-e", "trace=fsync,sync_file_range,rename,renameat,renameat2", "-o", str(log)]
    program = [sys.executable, "-c", SCRIPT.format(ordered=ordered), str(bare)]
    if subprocess.run([*traced, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no process may be traced here")
    subprocess.run([*traced, *program], check=True)
    calls = [line.split(None, 1)[1].partition("(")[0] for line in log.read_text().splitlines() if "(" in line]
    first, last = calls.index("rename"), len(calls) - calls[::-1].index("rename")
    assert calls.count("rename") == 3
    if ordered:
        assert calls[:first].count("sync_file_range") == 6
    assert calls[:first].count("fsync") == (1 if ordered else 3)
    assert "fsync" in calls[last:]
