"""All below a folder is met, whatever shape commands gave to it, and nothing beyond."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workspaces.places import DEEP, dig, few_descriptors
from workspaces import walking
from workspaces.sandbox.identity import FIRST_UID, is_root, own


@pytest.fixture
def top(tmp_path: Path) -> Iterator[Path]:
    """A folder that is gone again at the end, which pytest could not do."""
    folder = tmp_path / "top"
    folder.mkdir()
    yield folder
    subprocess.run(["rm", "-rf", "--", str(folder)], check=True)


def test_each_entry_is_met_and_each_folder_again_after_what_is_in_it(top: Path) -> None:
    for name in ("a/b/c", "a/d", "e/f"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).touch()
    (top / "a" / "link").symlink_to(top / "e")
    met = [(each.path, each.after) for each in walking.below(top)]
    folders = {"a", "a/b", "e"}
    assert sorted(met) == sorted(
        [(path, False) for path in folders | {"a/b/c", "a/d", "a/link", "e/f"}] + [(path, True) for path in folders]
    )
    for folder in folders:
        inside = [met.index(each) for each in met if each[0].startswith(f"{folder}/")]
        assert met.index((folder, False)) < min(inside) <= max(inside) < met.index((folder, True))


def test_folders_of_any_depth_take_a_few_descriptors(top: Path) -> None:
    dig(top, DEEP)
    before = len(os.listdir("/proc/self/fd"))
    with few_descriptors(8):
        met = sum(1 for _ in walking.below(top))
    assert met == 2 * DEEP + 1
    assert len(os.listdir("/proc/self/fd")) <= before


def test_a_walk_that_is_left_early_leaves_nothing_open(top: Path) -> None:
    dig(top, 10)
    before = len(os.listdir("/proc/self/fd"))
    walk = walking.below(top)
    assert next(walk).name == next(walk).name == "d"
    walk.close()  # type: ignore[attr-defined]  # it is a generator
    assert len(os.listdir("/proc/self/fd")) <= before


def test_a_folder_that_is_moved_out_does_not_lead_the_walk_out(top: Path) -> None:
    dig(top, 3)
    (top.parent / "outside" / "secret").mkdir(parents=True)
    (top.parent / "outside" / "file").touch()
    seen = []
    for met in walking.below(top):
        seen.append(met.name)
        if met.name == "last":
            (top / "d/d").rename(top.parent / "outside/d")
    assert set(seen) == {"d", "last"}


def test_a_folder_that_becomes_a_link_is_not_followed(top: Path) -> None:
    (top.parent / "outside").mkdir()
    (top.parent / "outside" / "secret").touch()
    (top / "d").mkdir()
    seen = []
    for met in walking.below(top):
        seen.append(met.name)
        if not met.after:
            (top / "d").rmdir()
            (top / "d").symlink_to(top.parent / "outside")
    assert seen == ["d", "d"]


@pytest.mark.parametrize("mode", [0o000, 0o400, 0o100, 0o200])
def test_a_folder_that_is_closed_is_met_and_the_rest_too(mode: int, top: Path) -> None:
    dig(top / "a", 2)
    dig(top / "b", 2)
    own(top, FIRST_UID if is_root() else None)
    (top / "a").chmod(mode)
    was = os.geteuid()
    try:
        if is_root():
            os.seteuid(FIRST_UID)
        paths = {met.path for met in walking.below(top)}
    finally:
        os.seteuid(was)
        (top / "a").chmod(0o700)
    assert paths - {"a/d"} == {"a", "b", "b/d", "b/d/d", "b/d/d/last"}
