"""A few lines out of a large file, and finding them again."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workspaces import windows


@pytest.fixture(autouse=True)
def no_index() -> Iterator[None]:
    windows._index.clear()
    yield
    windows._index.clear()


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "BLOCK_BYTES", 16)
    monkeypatch.setattr(windows, "TAKEN_BYTES", 8)
    monkeypatch.setattr(windows, "NEAR_LINES", 3)


def read(path: Path, first: int, count: int) -> windows.Window:
    with path.open("rb") as file:
        return windows.read(file, first, count)


def aged(path: Path, data: bytes) -> Path:
    """Write a file whose times are so old that they can be relied on."""
    path.write_bytes(data)
    deadline = time.monotonic() + 10
    while not windows.settled(path.stat(), time.time_ns()):
        assert time.monotonic() < deadline
        os.sched_yield()
    return path


@pytest.mark.usefixtures("small_blocks")
@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.binary(max_size=40).map(lambda row: row.replace(b"\n", b"x")), max_size=40), data=st.data())
def test_a_window_is_what_splitting_the_whole_gives(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes], data: st.DataObject
) -> None:
    content = b"\n".join(rows)
    path = tmp_path_factory.mktemp("w") / "file"
    path.write_bytes(content)
    every = content.split(b"\n")
    lines = [line + b"\n" for line in every[:-1]] + ([every[-1]] if every[-1] else [])
    first = data.draw(st.integers(1, len(lines) + 2))
    count = data.draw(st.integers(1, 5))
    window = read(path, first, count)
    assert window.data == b"".join(lines[first - 1 : first - 1 + count])
    assert window.total in (None, len(lines))
    if first + count > len(lines) + 1:
        assert window.total == len(lines)


@pytest.mark.usefixtures("small_blocks")
def test_a_line_is_found_again_without_counting_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = aged(tmp_path / "file", b"".join(b"%d\n" % number for number in range(1000)))
    assert read(path, 901, 2).data == b"900\n901\n"
    offsets: list[int] = []
    real = os.preadv

    def noted(file: int, blocks: list[bytearray], at: int) -> int:
        offsets.append(at)
        return real(file, blocks, at)

    monkeypatch.setattr(os, "preadv", noted)
    assert read(path, 891, 2).data == b"890\n891\n"
    assert len(offsets) == 1
    assert read(path, 999, 2).data == b"998\n999\n"


@pytest.mark.usefixtures("small_blocks")
def test_a_changed_file_is_counted_anew(tmp_path: Path) -> None:
    path = aged(tmp_path / "file", b"a\n" * 500)
    stat = path.stat()
    assert read(path, 400, 1).data == b"a\n"
    path.write_bytes(b"bbb\n" * 250)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert read(path, 250, 1).data == b"bbb\n"
    assert read(path, 251, 1) == windows.Window(b"", 250)


@pytest.mark.usefixtures("small_blocks")
def test_a_file_that_just_changed_is_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a\n" * 500)
    monkeypatch.setattr(time, "time_ns", lambda: path.stat().st_ctime_ns + windows.RACY_NS // 2)
    read(path, 400, 1)
    assert not windows._index


@pytest.mark.usefixtures("small_blocks")
def test_few_files_are_remembered(tmp_path: Path) -> None:
    for number in range(windows._INDEXED_FILES + 5):
        (tmp_path / str(number)).write_bytes(b"a\n" * 50)
    aged(tmp_path / "last", b"a\n" * 50)
    for number in range(windows._INDEXED_FILES + 5):
        read(tmp_path / str(number), 40, 1)
    assert len(windows._index) == windows._INDEXED_FILES


def test_a_line_that_does_not_fit_is_cut_between_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "TAKEN_BYTES", 8)
    monkeypatch.setattr(windows, "WINDOW_BYTES", 32)
    path = tmp_path / "file"
    path.write_bytes("xä€".encode() * 100)
    window = read(path, 1, 1)
    assert window.cut
    assert ("xä€" * 100).startswith(window.data.decode())
    assert len(window.data) > 28


@pytest.mark.usefixtures("small_blocks")
def test_the_search_ends_when_it_is_told_to_or_goes_too_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a\n" * 10_000)
    with path.open("rb") as file, pytest.raises(windows.Stopped):
        windows.read(file, 9_999, 1, lambda: True)
    monkeypatch.setattr(windows, "SCAN_BYTES", 1000)
    with path.open("rb") as file, pytest.raises(windows.TooFar):
        windows.read(file, 9_999, 1)


def test_lines_are_counted_with_and_without_a_last_newline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for content, count in ((b"", 0), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"\n\n", 2)):
        (tmp_path / "file").write_bytes(content)
        with (tmp_path / "file").open("rb") as file:
            assert windows.count_lines(file) == count
    monkeypatch.setattr(windows, "COUNT_BYTES", 1)
    with (tmp_path / "file").open("rb") as file:
        assert windows.count_lines(file) is None
