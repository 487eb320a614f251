"""A text is cut through no secret, wherever the cut is; and nothing but whole secrets is masked there."""

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.workspaces.opened import SECRET, knowing, parts
from tests.workspaces.test_pdfs import pdf
from workspaces import cuts, lines, notebooks, outputs, pdfs
from workspaces.diffs import without_cut_names
from workspaces.masking import Mask

MASKED = "[masked TOKEN]"
Cut = Callable[[str, Path], str]
OTHER = 'pä ss"wörd\nof two lines'


@pytest.fixture(autouse=True)
def nothing_is_open() -> Iterator[None]:
    """What another test opened in this process must not count here."""
    with knowing():
        yield


@pytest.mark.parametrize("spelled", [SECRET, SECRET.encode().hex(), json.dumps(OTHER)[1:-1], OTHER])
def test_a_cut_at_each_place_in_a_secret_leaves_nothing_of_it(spelled: str) -> None:
    text = f"é… {spelled} ä…"
    with knowing(SECRET, OTHER):
        for at in range(1, len(spelled)):
            cut = 3 + at
            assert cuts.head(text, cut) == f"é… {MASKED}"
            assert cuts.tail(text, len(text) - cut) == f"{MASKED} ä…"
            assert cuts.span(text, cut, len(text)) == f"{MASKED} ä…"
            assert cuts.span(text, cut, cut + 1) == MASKED
        for cut in (*range(4), *range(3 + len(spelled), len(text) + 2)):
            assert (cuts.head(text, cut), cuts.tail(text, len(text) - cut)) == (text[:cut], text[cut:])


def test_the_beginning_of_a_secret_alone_is_no_secret() -> None:
    """Masked, it would tell who tries beginnings which of them is right."""
    with knowing(SECRET):
        for end in range(len(SECRET)):
            text = f"x{SECRET[:end]}"
            assert cuts.head(f"{text}\n{'y' * 100}", len(text)) == text
            assert cuts.tail(f"{SECRET[-end:] if end else ''}x", end + 1).endswith("x")


def test_of_secrets_that_overlap_nothing_is_left() -> None:
    text = "--abcdefghijklmnop--"
    with knowing("abcdefghij", "fghijklmnop"):
        for cut in range(3, 18):
            assert (cuts.head(text, cut), cuts.tail(text, 20 - cut)) == (f"--{MASKED}", f"{MASKED}--")


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(["a", "ab", "abc", "é", "\n", "0123456789", "012"]), max_size=40), st.data())
def test_what_is_not_cut_through_stays_as_it_is(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    first = data.draw(st.integers(0, len(text)))
    last = data.draw(st.integers(first, len(text)))
    with knowing("0123456789"):
        shown = cuts.span(text, first, last)
    at = [place for place in range(len(text)) if text.startswith("0123456789", place)]
    through = [[start for start in at if start < cut < start + 10] for cut in (first, last)]
    begin = through[0][0] + 10 if through[0] else first
    end = through[1][0] if through[1] else last
    same = through[0] and through[0] == through[1]
    before, after = (MASKED if found else "" for found in through)
    assert shown == (MASKED if same else f"{before}{text[begin:end]}{after}")


def test_a_window_of_a_file_has_stars_for_a_secret_at_its_edge(tmp_path: Path) -> None:
    data = f"--{SECRET}--\n".encode()
    (tmp_path / "file").write_bytes(data)
    descriptor = os.open(tmp_path / "file", os.O_RDONLY)
    with knowing(SECRET):
        for offset in range(len(data)):
            for limit in (1, 7, 20, 100):
                window = cuts.read(descriptor, offset, limit)
                assert len(window) == len(data[offset : offset + limit])
                assert SECRET.encode() in window or not parts(window.decode(), size=1 + len(SECRET) // 8)
        assert cuts.read(descriptor, 0, 100) == data
        assert cuts.first_bytes(data, 20) == b"--" + b"*" * 18
    os.close(descriptor)
    assert cuts.first_bytes(data, 20) == data[:20]


def test_a_stream_shows_no_half_of_a_secret_that_its_limit_goes_through() -> None:
    whole = f"{'x' * 50}{SECRET}{'y' * 50}".encode()
    mask = Mask({"TOKEN": SECRET})
    for limit in range(len(whole)):
        for size in (1, 7, 1000):
            stream = mask.stream(limit)
            shown = b"".join(stream.feed(whole[at : at + size]) for at in range(0, len(whole), size)) + stream.end()
            through = 50 < limit < 50 + len(SECRET)
            assert shown == (f"{'x' * 50}{MASKED}".encode() if through else mask.data(whole[:limit])[0])
    assert Mask().stream(3).feed(b"12345") == b"123"


def test_cutting_takes_no_longer_for_a_long_text() -> None:
    text = f"{SECRET[:-1]} " * 200_000
    with knowing(SECRET):
        cuts.head(text, 1000)
        began = time.process_time()
        for at in range(1000, 2000):
            cuts.head(text, at)
        assert time.process_time() - began < 1


# --- with and without what the process opened: the same texts, cut in the same places ---


def _notebook(text: str) -> str:
    error = {"output_type": "error", "ename": "E", "evalue": text, "traceback": []}
    book = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": "1", "outputs": [error], "execution_count": 1}
    return notebooks.view(json.dumps(book | {"cells": [cell]}), 60_000, 0).text


def _pdf(tmp_path: Path, text: str) -> str:
    (tmp_path / "file").write_bytes(pdf(text))
    with (tmp_path / "file").open("rb") as file:
        return str(pdfs.read(file, 1000, None, 600, "a.pdf").texts)


@pytest.mark.parametrize(
    ("cut", "limit"),
    [
        (lambda text, _: lines.clipped(text, 300), 300),
        (lambda text, _: outputs.head_and_tail(text, 600), 300),
        (lambda text, _: _notebook(text), 500),
        (lambda text, folder: _pdf(folder, text), 600),
    ],
    ids=["line", "head and tail", "notebook", "pdf"],
)  # fmt: skip
def test_a_text_that_is_cut_shows_no_part_of_a_secret(cut: Cut, limit: int, tmp_path: Path) -> None:
    text = "x" * (limit - 20) + SECRET + "y" * 2000
    assert parts(cut(text, tmp_path))
    with knowing(SECRET):
        assert not parts(Mask({"TOKEN": SECRET}).text(cut(text, tmp_path))[0])


def test_the_line_of_a_function_that_git_cut_is_left_out() -> None:
    whole = b"@@ -1,2 +3,4 @@ def short(a):\n x\n"
    assert without_cut_names(whole) == whole
    assert without_cut_names(b"@@ -1 +3,4 @@ " + b"d" * 80 + b"\n @@ -1 +1 @@ " + b"e" * 90 + b"\n") == (
        b"@@ -1 +3,4 @@\n @@ -1 +1 @@ " + b"e" * 90 + b"\n"
    )
