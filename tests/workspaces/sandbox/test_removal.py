"""Whatever shape a command gave to its folders, they can be removed."""

import os
from pathlib import Path

from workspaces.sandbox.removal import remove


def test_folders_deeper_in_folders_than_python_follows_are_removed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    handle = os.open(top, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("a", dir_fd=handle)
        below = os.open("a", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)
    remove(top)
    assert not top.exists()


def test_a_link_in_a_folder_is_removed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (tmp_path / "top").mkdir()
    (tmp_path / "top" / "link").symlink_to(tmp_path / "kept")
    remove(tmp_path / "top")
    assert not (tmp_path / "top").exists()
    assert (tmp_path / "kept" / "file").exists()
