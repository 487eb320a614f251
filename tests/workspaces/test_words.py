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


def lines(*rows: str) -> list[tuple[str, str]]:
    return [(row[0], row[1:]) for row in rows]


def test_as_many_removed_as_added_lines_pair_up_in_order() -> None:
    assert words.pairs(lines(" x", "-a", "-b", "+c", "+d", " y", "-e", "+f")) == [(1, 3), (2, 4), (6, 7)]


def test_of_more_lines_the_one_most_alike_is_taken() -> None:
    hunk = lines(
        "-    return day.replace(month=month)", "+    last = days(year)", "+    return day.replace(month=last)"
    )
    assert words.pairs(hunk) == [(0, 2)]


def test_an_added_line_alone_has_no_pair() -> None:
    assert words.pairs(lines(" a", "+b", " c")) == []
