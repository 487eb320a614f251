"""What was seen, and whether it still holds."""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from workspaces import editing, encodings, lines, paths, ranges
from workspaces.models import ReadState, Repository, Workspace
from workspaces.ranges import Shown
from workspaces.reads import MAX_VIEWS, ReadError, ReadFile, Reads

pytestmark = pytest.mark.django_db
TEXT = "".join(f"row {n}\n" for n in range(1, 11))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    repository = Repository.objects.create(name="r", source="/nowhere")
    row = Workspace.objects.create(pk=1, repository=repository, base_name="main", base_commit="0" * 40, epoch=1)
    row.tree.mkdir(parents=True)
    (row.tree / "big.txt").write_text(TEXT)
    return row


@pytest.fixture
def path(workspace: Workspace) -> paths.WorkspacePath:
    return paths.resolve(workspace.tree, "big.txt")


def note(reads: Reads, path: paths.WorkspacePath, first: int, last: int, text: str = TEXT, step: int = 1) -> None:
    rows = lines.split(text)[first - 1 : last]
    cut = tuple(number for number, row in enumerate(rows, first) if len(row) > 2000)
    file = ReadFile(text, total=lines.count(text))
    reads.note_read(path, os.stat(path.real), Shown(first, last, "".join(rows), cut), step, file)


def require(reads: Reads, path: paths.WorkspacePath, text: str, touched: Iterable[editing.Region]) -> None:
    reads.require_fresh(path, text)
    reads.require_seen(path, text, touched)


def edit(reads: Reads, path: paths.WorkspacePath, text: str, old: str, new: str) -> str:
    done = editing.replace(text, old, new)
    require(reads, path, text, done.regions)
    path.real.write_text(done.text)
    reads.note_written(path, os.stat(path.real), done, encodings.Decoded(text), 2)
    return done.text


def code(call: object, *args: object) -> str:
    with pytest.raises(ReadError) as caught:
        call(*args)  # type: ignore[operator]
    return caught.value.code


def regions(text: str, old: str) -> tuple[editing.Region, ...]:
    return editing.replace(text, old, "#").regions


def test_what_was_not_read_may_not_be_written(workspace: Workspace, path: paths.WorkspacePath) -> None:
    reads = Reads(workspace, "implementer")
    assert code(reads.require_whole, path, TEXT) == "NOT_READ"
    assert code(require, reads, path, TEXT, ()) == "NOT_READ"


def test_a_part_allows_an_edit_in_it_and_nothing_else(workspace: Workspace, path: paths.WorkspacePath) -> None:
    reads = Reads(workspace, "implementer")
    note(reads, path, 1, 3)
    require(reads, path, TEXT, regions(TEXT, "row 2"))
    assert code(require, reads, path, TEXT, regions(TEXT, "row 4")) == "PARTIALLY_READ"
    assert code(reads.require_whole, path, TEXT) == "PARTIALLY_READ"


def test_parts_that_cover_the_file_are_a_whole_read(workspace: Workspace, path: paths.WorkspacePath) -> None:
    reads = Reads(workspace, "implementer")
    note(reads, path, 6, 10)
    note(reads, path, 1, 6)
    reads.require_whole(path, TEXT)


def test_parts_of_two_states_of_the_file_are_none(workspace: Workspace, path: paths.WorkspacePath) -> None:
    reads = Reads(workspace, "implementer")
    note(reads, path, 1, 5)
    changed = TEXT.replace("row 1\n", "ROW 1\n")
    note(reads, path, 6, 10, changed)
    assert code(reads.require_whole, path, changed) == "PARTIALLY_READ"


def test_a_changed_file_is_stale(workspace: Workspace, path: paths.WorkspacePath) -> None:
    reads = Reads(workspace, "implementer")
    note(reads, path, 1, 10)
    assert code(reads.require_whole, path, TEXT + "more\n") == "STALE"


def test_a_part_is_stale_only_when_it_changed_itself(workspace: Workspace, path: paths.WorkspacePath) -> None:
    reads = Reads(workspace, "implementer")
    note(reads, path, 1, 3)
    changed_below = TEXT.replace("row 9", "ROW 9")
    require(reads, path, changed_below, regions(changed_below, "row 2"))
    changed_inside = TEXT.replace("row 3", "ROW 3")
    assert code(require, reads, path, changed_inside, regions(changed_inside, "row 2")) == "STALE"


def test_ranges_move_along_with_an_edit_above_them(workspace: Workspace, path: paths.WorkspacePath) -> None:
    reads = Reads(workspace, "implementer")
    note(reads, path, 1, 2)
    note(reads, path, 8, 9)
    text = edit(reads, path, TEXT, "row 1\n", "row 1\nnew\nnewer\n")
    text = edit(reads, path, text, "row 8", "ROW 8")
    assert code(require, reads, path, text, regions(text, "row 7")) == "PARTIALLY_READ"
    assert code(reads.require_whole, path, text) == "PARTIALLY_READ"


def test_the_own_write_is_no_outside_change(workspace: Workspace, path: paths.WorkspacePath) -> None:
    reads = Reads(workspace, "implementer")
    note(reads, path, 1, 10)
    text = edit(reads, path, TEXT, "row 5\n", "")
    reads.require_whole(path, text)


def test_a_line_that_was_cut_is_not_wholly_read(workspace: Workspace, path: paths.WorkspacePath) -> None:
    reads = Reads(workspace, "implementer")
    text = "short\n" + "k" * 3000 + "\n"
    note(reads, path, 1, 2, text)
    require(reads, path, text, regions(text, "short"))
    assert code(reads.require_whole, path, text) == "PARTIALLY_READ"


def test_the_state_survives_a_restart(workspace: Workspace, path: paths.WorkspacePath) -> None:
    reads = Reads(workspace, "implementer")
    note(reads, path, 2, 4)
    reads.save()
    again = Reads(workspace, "implementer")
    require(again, path, TEXT, regions(TEXT, "row 3"))
    assert code(again.require_whole, path, TEXT) == "PARTIALLY_READ"
    assert code(Reads(workspace, "reviewer").require_whole, path, TEXT) == "NOT_READ"


def test_what_was_not_saved_is_not_known_to_others(workspace: Workspace, path: paths.WorkspacePath) -> None:
    note(Reads(workspace, "implementer"), path, 1, 10)
    assert not ReadState.objects.exists()


def test_saving_writes_only_what_changed(
    workspace: Workspace, path: paths.WorkspacePath, django_assert_num_queries: object
) -> None:
    reads = Reads(workspace, "implementer")
    note(reads, path, 1, 10)
    reads.save()
    with django_assert_num_queries(0):  # type: ignore[operator]
        reads.save()
    reads.forget("big.txt")
    reads.save()
    assert not ReadState.objects.exists()


def test_the_same_lines_are_known_until_they_change_or_leave_the_context(
    workspace: Workspace, path: paths.WorkspacePath
) -> None:
    reads = Reads(workspace, "implementer")
    note(reads, path, 2, 4, step=7)
    shown = Shown(2, 4, lines.between(TEXT, 2, 4))
    assert reads.shown_at(path, shown.view, shown.sha) == 7
    assert reads.shown_at(path, "2-5", shown.sha) is None
    assert reads.shown_at(path, shown.view, Shown(2, 4, "other\n").sha) is None
    reads.forget_context(7)
    assert reads.shown_at(path, shown.view, shown.sha) is None


# --- the stat ------------------------------------------------------------------------------------


def noted_whole(reads: Reads, path: paths.WorkspacePath, settled: bool) -> os.stat_result:
    stat = os.stat(path.real)
    file = ReadFile(TEXT, total=10, settled=settled)
    reads.note_read(path, stat, Shown(1, 10, TEXT), 1, file)
    return stat


def test_an_unchanged_stat_spares_the_comparison(workspace: Workspace, path: paths.WorkspacePath) -> None:
    reads = Reads(workspace, "implementer")
    stat = noted_whole(reads, path, settled=True)
    reads.require_whole(path, "whatever this is, it is not looked at", stat)
    reads.save()
    Reads(workspace, "implementer").require_whole(path, "nor after a restart", stat)


def test_a_stat_taken_just_after_a_change_proves_nothing(workspace: Workspace, path: paths.WorkspacePath) -> None:
    reads = Reads(workspace, "implementer")
    stat = noted_whole(reads, path, settled=False)
    assert code(reads.require_whole, path, TEXT + "more\n", stat) == "STALE"
    reads.require_whole(path, TEXT, stat)


def test_a_file_is_stale_though_size_and_mtime_are_as_they_were(
    workspace: Workspace, path: paths.WorkspacePath
) -> None:
    reads = Reads(workspace, "implementer")
    stat = noted_whole(reads, path, settled=True)
    other = TEXT.replace("row 1\n", "ROW 1\n")
    path.real.write_text(other)
    os.utime(path.real, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    now = os.stat(path.real)
    assert (now.st_size, now.st_mtime_ns) == (stat.st_size, stat.st_mtime_ns)
    assert code(reads.require_whole, path, other, now) == "STALE"


def test_a_touched_but_equal_file_is_fresh(workspace: Workspace, path: paths.WorkspacePath) -> None:
    reads = Reads(workspace, "implementer")
    noted_whole(reads, path, settled=True)
    os.utime(path.real, ns=(1, 1))
    reads.require_whole(path, TEXT, os.stat(path.real))


def test_the_stat_of_a_write_is_not_relied_on(workspace: Workspace, path: paths.WorkspacePath) -> None:
    reads = Reads(workspace, "implementer")
    noted_whole(reads, path, settled=True)
    text = edit(reads, path, TEXT, "row 5", "ROW 5")
    stat = os.stat(path.real)
    assert code(reads.require_whole, path, text + "x", stat) == "STALE"
    reads.require_whole(path, text, stat)


# --- streamed files ------------------------------------------------------------------------------


def note_streamed(reads: Reads, path: paths.WorkspacePath, first: int, last: int, text: str = TEXT) -> None:
    part = Shown(first, last, lines.between(text, first, last))
    reads.note_read(path, os.stat(path.real), part, 1, ReadFile(None, load=lambda: text))


def test_windows_that_overlap_are_joined(workspace: Workspace, path: paths.WorkspacePath) -> None:
    reads = Reads(workspace, "implementer")
    note_streamed(reads, path, 1, 5)
    note_streamed(reads, path, 4, 8)
    require(reads, path, TEXT, regions(TEXT, "row 2\nrow 3\nrow 4\nrow 5\nrow 6"))
    assert code(require, reads, path, TEXT, regions(TEXT, "row 9")) == "PARTIALLY_READ"


def test_a_window_of_a_changed_file_leaves_only_what_is_still_true(
    workspace: Workspace, path: paths.WorkspacePath
) -> None:
    reads = Reads(workspace, "implementer")
    note_streamed(reads, path, 1, 3)
    changed = TEXT.replace("row 2", "ROW 2")
    note_streamed(reads, path, 6, 7, changed)
    require(reads, path, changed, regions(changed, "row 6"))
    assert code(require, reads, path, changed, regions(changed, "row 3")) == "PARTIALLY_READ"


def test_a_window_keeps_a_whole_read_of_the_same_file(workspace: Workspace, path: paths.WorkspacePath) -> None:
    reads = Reads(workspace, "implementer")
    note(reads, path, 1, 10)
    note_streamed(reads, path, 2, 3)
    reads.require_whole(path, TEXT)


# --- other views, and bounds ---------------------------------------------------------------------


def test_a_view_of_its_own_counts_as_all_of_the_file(workspace: Workspace, path: paths.WorkspacePath) -> None:
    reads = Reads(workspace, "implementer")
    sha = Shown(1, 10, TEXT).sha
    reads.note_whole(path, os.stat(path.real), "cells", sha, 3, ReadFile(TEXT))
    reads.require_whole(path, TEXT)
    assert reads.shown_at(path, "cells", sha) == 3
    assert reads.shown_at(path, "1-10", sha) is None


def test_an_empty_file_that_was_read_may_be_replaced(workspace: Workspace, path: paths.WorkspacePath) -> None:
    reads = Reads(workspace, "implementer")
    reads.note_read(path, os.stat(path.real), Shown(1, 0, ""), 1, ReadFile("", total=0))
    reads.require_whole(path, "")
    assert code(reads.require_whole, path, "x") == "STALE"


def test_what_is_kept_of_one_file_has_a_bound(workspace: Workspace, path: paths.WorkspacePath) -> None:
    text = "".join(f"row {n}\n" for n in range(1, 4001))
    reads = Reads(workspace, "implementer")
    for number in range(1, 4000, 4):
        note(reads, path, number, number, text)
    reads.save()
    row = ReadState.objects.get()
    assert len(row.ranges) <= ranges.MAX_RANGES + 1
    require(reads, path, text, regions(text, "row 3997\n"))
    views = [reads.shown_at(path, f"{n}-{n}", Shown(n, n, f"row {n}\n").sha) for n in range(1, 4000, 4)]
    assert sum(view is not None for view in views) == MAX_VIEWS


def test_only_so_many_files_are_kept(
    workspace: Workspace, path: paths.WorkspacePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workspaces.reads.MAX_FILES", 3)
    reads = Reads(workspace, "implementer")
    for number in range(5):
        (workspace.tree / str(number)).write_text(TEXT)
        note(reads, paths.resolve(workspace.tree, str(number)), 1, 10)
        reads.save()
    assert sorted(ReadState.objects.values_list("path", flat=True)) == ["2", "3", "4"]
