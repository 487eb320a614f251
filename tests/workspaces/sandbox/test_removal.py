"""Whatever shape a command gave to its folders, they can be removed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.workspaces.places import DEEP, dig
from workspaces import walking
from workspaces.sandbox.identity import FIRST_UID, is_root, own
from workspaces.sandbox.removal import remove


def test_folders_deeper_in_folders_than_python_follows_are_removed(tmp_path: Path) -> None:
    dig(tmp_path / "top", DEEP)
    before = len(os.listdir("/proc/self/fd"))
    remove(tmp_path / "top")
    assert not (tmp_path / "top").exists()
    assert len(os.listdir("/proc/self/fd")) <= before


@contextmanager
def as_a_plain_server(folder: Path) -> Iterator[None]:
    """Work as a server that is the very user of its commands, and so is kept out by a mode as they are."""
    was = os.geteuid()
    own(folder, FIRST_UID if is_root() else None)
    os.seteuid(FIRST_UID if is_root() else was)
    try:
        yield
    finally:
        os.seteuid(was)


def test_folders_that_are_closed_at_any_depth_are_removed_by_a_server_that_is_no_root(tmp_path: Path) -> None:
    place = tmp_path / "place"
    dig(place, 3_000)
    dig(place / "wide", 20, "n" * 250)
    with as_a_plain_server(place):
        for met in walking.below(place):
            if met.after:
                os.chmod(met.name, 0, dir_fd=met.handle)
        for name in ("d", "wide"):
            remove(place / name)
            assert not (place / name).exists()


def test_a_link_in_a_folder_is_removed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (tmp_path / "top").mkdir()
    (tmp_path / "top" / "link").symlink_to(tmp_path / "kept")
    remove(tmp_path / "top")
    assert not (tmp_path / "top").exists()
    assert (tmp_path / "kept" / "file").exists()
