"""Replacing text: what matches, what does not, and that nothing else changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaces import editing
from workspaces.linediff import change
from workspaces.matching import EditError

TEXTS = st.text(alphabet="ab \t\n\r\"'“”‘’", max_size=60)


def edited(text: str, old: str, new: str, *, replace_all: bool = False) -> str:
    return editing.replace(text, old, new, replace_all=replace_all).text


def refused(text: str, old: str, new: str, *, replace_all: bool = False) -> EditError:
    with pytest.raises(EditError) as caught:
        editing.replace(text, old, new, replace_all=replace_all)
    return caught.value


@given(TEXTS, TEXTS, TEXTS, st.booleans())
def test_an_edit_changes_just_its_regions(text: str, old: str, new: str, replace_all: bool) -> None:
    try:
        edit = editing.replace(text, old, new, replace_all=replace_all)
    except EditError:
        return
    kept, result, at = [], edit.text, 0
    for region in edit.regions:
        assert at <= region.start <= region.end
        kept += [text[at : region.start], region.text]
        at = region.end
    for part in [*kept, text[at:]]:
        assert result.startswith(part)
        result = result.removeprefix(part)
    assert result == ""


@given(TEXTS, TEXTS, TEXTS)
def test_an_exact_match_replaces_it_literally(before: str, after: str, new: str) -> None:
    text = before.replace("\r", "") + "<old>" + after.replace("\r", "")
    wanted = "[" + new.replace("\r", "") + "]"
    assert edited(text, "<old>", wanted) == text.replace("<old>", wanted)


@given(st.lists(st.tuples(st.text(alphabet="ab", max_size=3), st.sampled_from(["\n", "\r\n"])), min_size=1, max_size=8))
def test_untouched_lines_keep_their_ends(rows: list[tuple[str, str]]) -> None:
    text = "".join(word + end for word, end in rows)
    assert edited(text + "x\n", "x", "y") == text + "y\n"


@given(TEXTS, TEXTS)
def test_replacing_the_whole_leaves_equal_lines_out(before: str, after: str) -> None:
    edit = editing.whole(before, after)
    assert editing.applied(before, edit.regions) == after
    counted = change(edit, limit=10_000)
    assert counted.additions - counted.deletions == after.count("\n") - before.count("\n") + (
        (bool(after) and not after.endswith("\n")) - (bool(before) and not before.endswith("\n"))
    )


def test_an_exact_match_wins_over_a_look_alike() -> None:
    text = 'say “Total”\nkey = "Total"\n'
    assert edited(text, '"Total"', '"Sum"') == 'say “Total”\nkey = "Sum"\n'


def test_the_new_text_takes_the_files_curly_quotes() -> None:
    assert edited("He said “wait” and left.", 'said "wait"', 'said "stop now"') == "He said “stop now” and left."
    assert edited("It’s ours.", "It's ours", "It isn't ours") == "It isn’t ours."


def test_the_new_text_takes_the_files_tabs() -> None:
    text = "def f():\n\tif ready:\n\t\treturn 1\n"
    new = "    if ready:\n        log()\n        return 1"
    assert edited(text, "    if ready:\n        return 1", new) == "def f():\n\tif ready:\n\t\tlog()\n\t\treturn 1\n"


def test_the_new_text_takes_the_files_spaces() -> None:
    text = "if a:\n    b()\n"
    assert edited(text, "if a:\n\tb()", "if a:\n\tc()\n\tb()") == "if a:\n    c()\n    b()\n"


def test_quotes_and_tabs_may_differ_together() -> None:
    assert edited("\tsay(“a”)\n", '    say("a")', '    say("b")') == "\tsay(“b”)\n"


def test_a_match_in_the_middle_of_a_tab_is_none() -> None:
    assert refused("x = 1\n\ty = 2\n", "   y = 2", "z").code == "NO_MATCH"


def test_tabs_within_a_line_are_not_spaces() -> None:
    assert refused("a\tb\n", "a    b", "c").code == "NO_MATCH"


def test_a_width_of_tab_that_decides_the_place_is_not_guessed() -> None:
    error = refused("\tx = 1\n\t\tx = 1\n", "    x = 1", "y")
    assert error.code == "NOT_UNIQUE"
    assert "copy the indentation" in error.message


def test_several_matches_are_told_by_line() -> None:
    error = refused("x\na\nx\nb\nx\n", "x", "y")
    assert (error.code, "3 times, at lines 1, 3, 5" in error.message) == ("NOT_UNIQUE", True)


def test_overlapping_matches_are_not_unique() -> None:
    assert refused("aaa", "aa", "b").code == "NOT_UNIQUE"


def test_all_matches_are_replaced_when_asked_for() -> None:
    assert edited("x x\nx\n", "x", "yy", replace_all=True) == "yy yy\nyy\n"


def test_no_match_names_the_nearest_lines() -> None:
    error = refused("def alpha():\n    return compute(1)\n", "    return compute(2)", "x")
    assert error.code == "NO_MATCH"
    assert "     2\t    return compute(1)" in error.message


def test_a_line_number_in_the_old_text_is_pointed_out() -> None:
    assert "line number" in refused("a\n", "     1\ta", "b").message


def test_equal_texts_are_no_change() -> None:
    assert refused("a\r\nb", "a\r\nb", "a\nb").code == "NO_CHANGE"


def test_deleting_whole_lines_leaves_no_blank_line() -> None:
    assert edited("a\nb\nc\n", "b", "") == "a\nc\n"
    assert edited("a\r\nb\r\nc\r\n", "b", "") == "a\r\nc\r\n"
    assert edited("a\nb\nc\n", "b\n", "") == "a\nc\n"


def test_deleting_part_of_a_line_joins_nothing() -> None:
    assert edited("key=old\nnext\n", "=old", "") == "key\nnext\n"
    assert edited("old=1\nnext\n", "old", "") == "=1\nnext\n"


def test_deleting_the_last_line_keeps_a_missing_final_newline() -> None:
    assert edited("a\r\nb", "b", "") == "a"


def test_deleting_every_line_at_once_leaves_nothing() -> None:
    assert edited("x\nx", "x", "", replace_all=True) == ""


def test_new_lines_end_as_those_they_replace() -> None:
    assert edited("a\r\nb\nc\r\n", "a\nb\nc", "a\nB\nB2\nc") == "a\r\nB\nB2\nc\r\n"
    assert edited("a\r\nb\r\n", "a", "a\nx") == "a\r\nx\r\nb\r\n"


def test_line_ends_of_the_caller_do_not_matter() -> None:
    assert edited("a\r\nb\r\n", "a\r\nb", "a\r\nc\r\nd") == "a\r\nc\r\nd\r\n"
    assert edited("a\nb\n", "a\r\nb", "a\r\nc") == "a\nc\n"


def test_the_diff_has_three_lines_around_and_true_numbers() -> None:
    text = "".join(f"{n}\n" for n in range(1, 41))
    edit = editing.replace(text, "20\n", "twenty\nmore\n")
    rows = change(edit).rows
    assert [row[0] for row in rows] == [" ", " ", " ", "-", "+", "+", " ", " ", " "]
    assert rows[0] == [" ", 17, 17, "17"]
    assert rows[-1] == [" ", 23, 24, "23"]


def test_the_diff_is_bounded_and_its_counts_are_true() -> None:
    text = "".join(f"x{n}\n" for n in range(3000))
    counted = change(editing.replace(text, "x", "y", replace_all=True))
    assert (len(counted.rows), counted.additions, counted.deletions, counted.cut) == (400, 3000, 3000, True)
