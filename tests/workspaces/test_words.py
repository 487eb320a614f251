"""Which words changed between two lines."""

from workspaces import words


def test_the_changed_word_is_found_on_both_sides() -> None:
    old, new = "return a - b", "return a + b"
    assert words.changed(old, new) == (((9, 10),), ((9, 10),))


def test_an_added_word_marks_only_the_new_line() -> None:
    gone, come = words.changed("total(a)", "total(a, tax)")
    assert gone == ()
    assert [("total(a, tax)")[start:end] for start, end in come] == [", tax"]


def test_lines_with_little_in_common_get_no_marks() -> None:
    assert words.changed("import os", "class Renewal(Model):") == ((), ())


def test_a_long_line_is_left_alone() -> None:
    assert words.changed("a" * 501, "b") == ((), ())


def test_removed_and_added_lines_pair_up_in_order() -> None:
    assert words.pairs(" --+++ -+") == [(1, 3), (2, 4), (7, 8)]


def test_an_added_line_alone_has_no_pair() -> None:
    assert words.pairs(" + ") == []
