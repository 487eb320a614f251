"""No base, whatever its names and its size, is laid out beyond the tree of its run, or without a bound."""

import subprocess
from pathlib import Path

import pytest

from tests.conftest import GIT_ENV, git
from tests.workspaces.places import mirrored, prepared
from workspaces import objects, snapshots, sources, trees
from workspaces.git import GitError
from workspaces.models import Repository, Workspace
from workspaces.trees import TreeError

pytestmark = pytest.mark.django_db


# --- what a base may hold ----------------------------------------------------------------------------


def raw_tree(source: Path, *entries: tuple[str, bytes, str]) -> str:
    """Write a tree as it could come from anybody, with no check of its names or their order."""
    data = b"".join(b"%s %s\0%s" % (mode.encode(), name, bytes.fromhex(oid)) for mode, name, oid in entries)
    command = ["git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally"]
    return (
        subprocess.run(command, cwd=source, env=GIT_ENV, input=data, capture_output=True, check=True)
        .stdout.decode()
        .strip()
    )


def blob(source: Path, text: str) -> str:
    command = ["git", "hash-object", "-w", "--stdin"]
    return (
        subprocess.run(command, cwd=source, env=GIT_ENV, input=text.encode(), capture_output=True, check=True)
        .stdout.decode()
        .strip()
    )


def stand_at(source: Path, tree: str) -> None:
    git(source, "update-ref", "refs/heads/main", git(source, "commit-tree", tree, "-m", "evil"))


HOSTILE_NAMES = [
    b".git", b".GIT", b".Git", b"git~1", b"GIT~1", b".git ", b".git.", b".git::$INDEX_ALLOCATION", b".git\\config",
    ".g\u200cit".encode(), ".gi\u200dt".encode(), "\ufeff.git".encode(), b"..", b".", b"../x", b"/tmp/x",
    b".git/hooks/x", b"",
]  # fmt: skip


def base_with(source: Path, name: bytes) -> str:
    inner = raw_tree(source, ("100644", b"config", blob(source, "[core]\n\tfsmonitor = touch x\n")))
    return raw_tree(source, ("100644", b"a", blob(source, "a\n")), ("40000", name, inner))


def test_a_base_with_an_ordinary_name_in_that_place_is_laid_out(source: Path) -> None:
    stand_at(source, base_with(source, b"git"))
    assert (prepared(mirrored(source)).tree / "git" / "config").exists()


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=repr)
def test_a_base_with_a_hostile_name_is_refused_and_nothing_of_it_written(
    name: bytes, source: Path, tmp_path: Path
) -> None:
    stand_at(source, base_with(source, name))
    before = {path for path in tmp_path.rglob("*") if "source" not in path.parts}
    with pytest.raises((GitError, AssertionError)):
        prepared(mirrored(source))
    after = {path for path in tmp_path.rglob("*") if "source" not in path.parts} - before
    assert [
        path for path in after if path.name == "config" and path.parent.name not in ("git", "mirror.git", "runs.git")
    ] == []


def test_a_base_with_a_link_and_files_below_it_writes_nothing_through_it(source: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    link, inner = blob(source, str(outside)), raw_tree(source, ("100644", b"x", blob(source, "through\n")))
    stand_at(source, raw_tree(source, ("120000", b"a", link), ("40000", b"a", inner)))
    with pytest.raises(TreeError, match="has “a” twice"):
        prepared(mirrored(source))
    assert list(outside.iterdir()) == []


def test_a_base_with_a_name_twice_is_refused(source: Path) -> None:
    """What git says of a change of it is that it was deleted, too."""
    one, two = blob(source, "one\n"), blob(source, "two\n")
    stand_at(source, raw_tree(source, ("100644", b"a", one), ("100644", b"a", two)))
    with pytest.raises(TreeError, match="has “a” twice"):
        prepared(mirrored(source))


def test_a_link_named_gitmodules_in_a_base_is_refused_or_kept_a_link(source: Path, tmp_path: Path) -> None:
    stand_at(source, raw_tree(source, ("120000", b".gitmodules", blob(source, "/etc/passwd"))))
    with pytest.raises(GitError):
        prepared(mirrored(source))


# --- how much a base may be --------------------------------------------------------------------------


def folders_of_folders(source: Path, levels: int, width: int) -> str:
    """Ten small objects that stand for width ** levels files."""
    tree = raw_tree(source, *(("100644", b"f%d" % number, blob(source, "x\n")) for number in range(width)))
    for _ in range(levels - 1):
        tree = raw_tree(source, *(("40000", b"d%d" % number, tree) for number in range(width)))
    return tree


def test_a_base_of_more_files_than_there_can_be_is_refused_soon(source: Path) -> None:
    git(source, "checkout", "--quiet", "-b", "bomb")
    git(
        source,
        "update-ref",
        "refs/heads/bomb",
        git(source, "commit-tree", folders_of_folders(source, 10, 10), "-m", "x"),
    )
    git(source, "symbolic-ref", "HEAD", "refs/heads/main")
    row = mirrored(source)
    workspace = Workspace.objects.create(
        pk=1, repository=row, base_name="bomb", base_commit=sources.resolve(row, "bomb"), epoch=1
    )
    with pytest.raises(TreeError, match="more files than can be listed"):
        snapshots.prepare(workspace)


def test_a_base_of_more_bytes_than_fit_is_refused(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "BYTES_LIMIT", 50)
    with pytest.raises(TreeError, match="up to 50 are laid out"):
        prepared(repository)


def test_a_base_of_folders_deeper_than_git_goes_is_refused(source: Path) -> None:
    tree = raw_tree(source, ("100644", b"f", blob(source, "x\n")))
    for _ in range(5000):
        tree = raw_tree_quick(source, tree)
    stand_at(source, tree)
    with pytest.raises((GitError, TreeError, AssertionError)):
        prepared(mirrored(source))


def raw_tree_quick(source: Path, inner: str) -> str:
    return objects.write(source / ".git", "tree", b"40000 d\0" + bytes.fromhex(inner))
