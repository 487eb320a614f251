"""Who wrote a line, and where it went."""

import pytest

from workspaces import provenance


def test_each_line_names_the_snapshot_that_wrote_it() -> None:
    versions = [(0, ["a", "b"]), (3, ["a", "new", "b"]), (5, ["a", "new", "b", "last"])]
    blame = provenance.blame(versions)
    assert [blame.writer(line) for line in (1, 2, 3, 4)] == [0, 3, 0, 5]


def test_a_removed_line_names_who_removed_it() -> None:
    blame = provenance.blame([(0, ["a", "b", "c"]), (2, ["a", "c"]), (4, ["c"])])
    assert (blame.remover(1), blame.remover(2), blame.remover(3)) == (4, 2, 0)


def test_a_line_that_was_written_over_belongs_to_the_last_writer() -> None:
    blame = provenance.blame([(0, ["x"]), (1, ["y"]), (2, ["z"])])
    assert blame.writer(1) == 2
    assert blame.remover(1) == 1


def test_a_file_past_the_limit_has_no_blame() -> None:
    long = ["x"] * (provenance.LIMIT_LINES + 1)
    assert provenance.blame([(0, long), (1, long)]) == provenance.Blame()


@pytest.mark.parametrize(("line", "now"), [(1, 1), (2, 3), (3, None), (4, 4), (9, None)])
def test_a_line_is_followed_to_where_it_is_now(line: int, now: int | None) -> None:
    assert provenance.follow(line, ["a", "b", "gone", "d"], ["a", "new", "b", "d"]) == now


def test_a_middle_too_large_to_compare_counts_as_rewritten() -> None:
    old = [f"old {n}" for n in range(2500)]
    new = [f"new {n}" for n in range(2500)]
    assert list(provenance.changed_blocks(["a", *old], ["a", *new])) == [(1, 2501, 1, 2501)]
