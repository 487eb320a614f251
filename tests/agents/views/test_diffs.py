"""The rows of a diff of two texts."""

from django.utils.html import strip_tags

from agents.views.diffs import between
from agents.views.shown import Row, mode_words
from workspaces.diffs import FileChange


def shown(rows: list[Row]) -> list[str]:
    signs = {"add": "+", "del": "-", "ctx": " "}
    return [f"… {row.hidden_lines}" if row.hidden_lines else signs[row.css] + strip_tags(row.html) for row in rows]


def test_three_lines_stand_around_a_change() -> None:
    before = "".join(f"{n}\n" for n in range(1, 21))
    rows = shown(between("a.txt", before, before.replace("10\n", "ten\n")))
    assert rows == ["… 6", " 7", " 8", " 9", "-10", "+ten", " 11", " 12", " 13", "… 7"]


def test_near_changes_share_their_context() -> None:
    before = "a\nb\nc\nd\n"
    assert shown(between("a.txt", before, "A\nb\nc\nD\n")) == ["-a", "+A", " b", " c", "-d", "+D"]


def test_an_absent_file_is_all_removed() -> None:
    assert shown(between("a.txt", "a\nb\n", "")) == ["-a", "-b"]


def test_the_numbers_are_those_of_either_side() -> None:
    rows = between("a.txt", "a\nb\n", "new\na\nb\n")
    assert [(row.old, row.new) for row in rows] == [(None, 1), (1, 2), (2, 3)]


def change(status: str, old_mode: str, new_mode: str) -> FileChange:
    return FileChange("a", "a", status, 0, 0, False, old_mode, new_mode, 0, 0)


def test_modes_are_told_in_words() -> None:
    assert mode_words(change("modified", "100644", "100755")) == ["now executable"]
    assert mode_words(change("modified", "100755", "100644")) == ["no longer executable"]
    assert mode_words(change("type", "100644", "120000")) == ["was an ordinary file, is a symbolic link now"]
    assert mode_words(change("added", "000000", "100755")) == ["an executable file"]
    assert mode_words(change("modified", "100644", "100644")) == []
