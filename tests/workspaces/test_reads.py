"""What was seen, and whether it still holds."""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from workspaces import editing, encodings, lines, paths
from workspaces.models import ReadState, Repository, Workspace
from workspaces.reads import ReadError, ReadFile, Reads

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
    shown = lines.split(text)[first - 1 : last]
    reads.note_read(path, os.stat(path.real), shown, first, step, ReadFile(text, "utf-8", "lf", 2000))


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
    shown = lines.split(TEXT)[1:4]
    assert reads.shown_at(path, 2, 4, shown) == 7
    assert reads.shown_at(path, 2, 5, lines.split(TEXT)[1:5]) is None
    assert reads.shown_at(path, 2, 4, ["other\n", *shown[1:]]) is None
    reads.forget_context(7)
    assert reads.shown_at(path, 2, 4, shown) is None
