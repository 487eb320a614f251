"""The path door and the write door: whatever is named, nothing outside of the tree is read or written."""

import os
from pathlib import Path

import pytest
from hypothesis import strategies as st

from tests.soak.holding import hold
from workspaces import files, paths

SECRET = b"outside of the tree"
LINKS = {
    "in": "folder",
    "out": "../outside",
    "up": "..",
    "etc": "/etc",
    "root": "/",
    "self": "self",
    "one": "two",
    "two": "one",
    "own": "/workspace/folder",
    "own-out": "/workspace/../outside",
    "folder/back": "../..",
    "folder/deep/out": "../../../outside/secret",
    "git": ".git",
    "proc": "/proc/self/root",
    "file-link": "folder/file",
    "dangling": "folder/none",
    "dangling-out": "../outside/none",
}
NAMES = (
    "folder", "deep", "file", "secret", "outside", "tree", "none", "new", "back", *LINKS, ".", "..", "", "~", ".git",
    ".GIT", "config", "\\xff", "\\x2e\\x2e", "\udcff", "é", " ", "..\\..", "%2e%2e", "…", "...", "\0", "a\nb",
    "x" * 255, "x" * 256, "workspace", "etc", "passwd", "C:", "\ud800",
)  # fmt: skip


WHOLE = (
    "folder/file", "in/file", "own/../in/file", "folder/deep/../file", "file-link", "new/er/file", "dangling",
    "folder/deep/out", "out/secret", "own-out/secret", "up/outside/secret", "etc/passwd", "dangling-out",
    "git/config",
)  # fmt: skip
"""Paths of which each is worth a try by itself."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a tree with links of all kinds, beside a folder that holds a secret."""
    tree, outside = tmp_path / "place" / "tree", tmp_path / "place" / "outside"
    for folder in (tree / "folder" / "deep", tree / ".git", outside):
        folder.mkdir(parents=True)
    (outside / "secret").write_bytes(SECRET)
    (tree / "folder" / "file").write_bytes(b"inside")
    (tree / ".git" / "config").write_bytes(b"git's own")
    for name, target in LINKS.items():
        (tree / name).symlink_to(target)
    return tree


def given(tree: Path) -> st.SearchStrategy[str]:
    starts = st.sampled_from(
        ["", "", "", "/", "//", "/workspace/", f"{tree}/", f"{tree.parent}/", f"{tree}2/", "./", "../"]
    )
    parts = st.lists(st.sampled_from(NAMES) | st.text(max_size=4), max_size=7).map("/".join)
    return st.tuples(starts, st.sampled_from(WHOLE) | parts).map("".join)


def outside(tree: Path) -> list[tuple[str, bytes]]:
    """Return all that lies beside the tree, and git's own files in it."""
    found = [path for path in tree.parent.rglob("*") if not path.is_relative_to(tree) or ".git" in path.parts]
    return sorted((str(path), path.read_bytes() if path.is_file() else b"") for path in found)


def test_a_path_never_leads_outside(tree: Path) -> None:
    opened: list[str] = []

    def check(name: str) -> None:
        for resolve in (paths.resolve, paths.resolve_parent):
            try:
                found = resolve(tree, name)
            except paths.PathError:
                continue
            assert found.real.is_relative_to(tree)
            if not found.relative:
                continue
            assert ".." not in found.relative.split("/")
            assert not paths.is_git(found.relative)
            above = found.real if resolve is paths.resolve else found.real.parent
            assert Path(os.path.realpath(above)).is_relative_to(tree)
            try:
                content = files.read(tree, found, 1000)
            except (paths.WorkspaceError, OSError):
                continue
            opened.append(name)
            assert content.data != SECRET
            assert content.data == b"inside"

    hold(check, given(tree), few=200)
    assert opened


def test_a_write_stays_inside(tree: Path, tmp_path: Path) -> None:
    written: list[str] = []
    rescue = tmp_path / "rescue"
    rescue.mkdir()
    before = outside(tree)

    def check(name: str) -> None:
        try:
            files.write_workspace_bytes(tree, paths.resolve(tree, name), b"inside", rescue=rescue)
        except (paths.WorkspaceError, OSError):
            pass
        else:
            written.append(name)
        assert outside(tree) == before

    hold(check, given(tree), few=100)
    assert written
