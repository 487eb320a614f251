"""search_in_files: what is found and counted, how it is shown, and what can't be searched."""

import os
import threading
from pathlib import Path

import pytest

from tests.agents.tools.bench import Bench
from workspaces import ripgrep

pytestmark = pytest.mark.django_db


def hits(bench: Bench, pattern: str, **more: object) -> set[str]:
    return {match["path"] for match in bench.call("search_in_files", pattern=pattern, **more).data["matches"]}


def test_rules_above_the_named_folder_hold(bench: Bench) -> None:
    bench.write(".gitignore", "*.log\n/src/gen/\n")
    bench.write("src/.gitignore", "/local.txt\nkeep/*\n!keep/yes.txt\n")
    for path in ("src/deep/a.log", "src/gen/b.txt", "src/local.txt", "src/deep/local.txt", "src/keep/no.txt"):
        bench.write(path, "needle")
    bench.write("src/keep/yes.txt", "needle")
    assert hits(bench, "needle", path="src") == {"src/deep/local.txt", "src/keep/yes.txt"}
    assert hits(bench, "needle", path="src/deep") == {"src/deep/local.txt"}
    assert hits(bench, "needle") == hits(bench, "needle", path="src")


def test_matching_lines_are_shown_below_their_file(bench: Bench) -> None:
    result = bench.call("search_in_files", pattern="return", output_mode="content", path="calc.py")
    assert result.content == "calc.py\n     2: return a - b\n     6: return add(a, a)".replace(": ", ":     ", 2)


def test_context_is_shown_with_a_dash(bench: Bench) -> None:
    bench.write("a", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n")
    result = bench.call("search_in_files", pattern="two|six", output_mode="content", path="a", context=1)
    assert result.content.split("\n") == [
        "a",
        "     1- one",
        "     2: two",
        "     3- three",
        "   --",
        "     5- five",
        "     6: six",
        "     7- seven",
    ]


def test_results_are_in_order_and_can_be_paged(bench: Bench) -> None:
    for name in ("c", "a", "b"):
        bench.write(f"z/{name}.txt", "needle\nneedle\n")
    page = bench.call("search_in_files", pattern="needle", output_mode="content", head_limit=2, offset=1)
    assert [(match["path"], match["line"]) for match in page.data["matches"]] == [("z/a.txt", 2), ("z/b.txt", 1)]
    assert (page.truncated, page.data["total"], page.data["files"]) == (True, 6, 3)
    assert "2–3 of 6" in page.content


def test_counts_are_true_even_when_cut(bench: Bench) -> None:
    for number in range(30):
        bench.write(f"many/{number:02}.txt", "needle\n" * 50)
    result = bench.call("search_in_files", pattern="needle", output_mode="content", head_limit=3)
    assert (result.data["total"], result.data["files"], len(result.data["matches"])) == (1500, 30, 3)
    counted = bench.call("search_in_files", pattern="needle", output_mode="count", head_limit=1)
    assert counted.content.startswith("many/00.txt: 50\n[1500 matching lines in 30 files]")


def test_a_pattern_may_start_with_a_dash(bench: Bench) -> None:
    bench.write("args", "use --depth=3\n")
    assert hits(bench, "--depth") == {"args"}


def test_a_broken_pattern_is_told_the_reason(bench: Bench) -> None:
    result = bench.call("search_in_files", pattern="foo(")
    assert (result.code, "unclosed group" in result.content) == ("INVALID_PATTERN", True)
    assert not bench.call("search_in_files", pattern="foo(", fixed_strings=True).is_error


def test_an_unknown_type_is_an_invalid_input(bench: Bench) -> None:
    assert bench.call("search_in_files", pattern="x", type="klingon").code == "INVALID_INPUT"


def test_options_of_a_search(bench: Bench) -> None:
    bench.write("src/a.ts", "Needle\nend\n")
    bench.write("src/b.py", "needle\n")
    assert hits(bench, "needle", case_insensitive=True) == {"src/a.ts", "src/b.py"}
    assert hits(bench, "needle", type="py") == {"src/b.py"}
    assert hits(bench, "eedle", glob="src/**/*.ts") == {"src/a.ts"}
    assert hits(bench, "eedle", glob="!*.ts") == {"src/b.py"}
    assert hits(bench, r"Needle.end", multiline=True) == {"src/a.ts"}
    lines = bench.call("search_in_files", pattern="Needle.end", multiline=True, output_mode="content")
    assert "     1: Needle\n     2: end" in lines.content


def test_the_end_of_a_crlf_line_is_its_end(bench: Bench) -> None:
    bench.write("w", "needle\r\n")
    assert hits(bench, "needle$") == {"w"}


def test_a_long_line_is_cut_around_the_match(bench: Bench) -> None:
    bench.write("min.js", "ä" * 80_000 + "NEEDLE" + "y" * 80_000 + "\n")
    result = bench.call("search_in_files", pattern="NEEDLE", output_mode="content")
    assert "äNEEDLEy" in result.content
    assert len(result.content) < 700


def test_only_folders_are_left_out_for_their_names(bench: Bench) -> None:
    bench.write("build", "needle")
    bench.write("dist", "needle")
    assert hits(bench, "needle") == {"build", "dist"}


@pytest.mark.parametrize("mode", ["content", "count", "files_with_matches"])
def test_each_mode_finds_the_same_files(bench: Bench, mode: str) -> None:
    for name in ("-", "-f.py", "a:b.py", "two\nlines.py", "sp ace.py", "q\"uo'te.py"):
        bench.write(f"-d/{name}", "x\nneedle\nneedle 1:2\n")
    result = bench.call("search_in_files", pattern="needle", output_mode=mode)
    assert {match["path"] for match in result.data["matches"]} == {
        *("-d/-", "-d/-f.py", "-d/a:b.py", "-d/two\nlines.py", "-d/sp ace.py", "-d/q\"uo'te.py"),
    }
    assert (result.data["files"], result.data["total"]) == (6, 6 if mode == "files_with_matches" else 12)


def test_many_pages_cover_every_match_once(bench: Bench) -> None:
    for number in range(40):
        bench.write(f"p/{number:02}.txt", "needle\n" * (number % 7))
    seen: list[tuple[str, int]] = []
    for offset in range(0, 200, 30):
        page = bench.call("search_in_files", pattern="needle", output_mode="content", head_limit=30, offset=offset)
        seen += [(match["path"], match["line"]) for match in page.data["matches"]]
        assert page.data["total"] == sum(number % 7 for number in range(40))
    assert seen == [(f"p/{number:02}.txt", line) for number in range(40) for line in range(1, number % 7 + 1)]


def test_no_limit_shows_more_than_the_default(bench: Bench) -> None:
    bench.write("many.txt", "needle\n" * 300)
    limited = bench.call("search_in_files", pattern="needle", output_mode="content")
    assert (limited.truncated, limited.data["shown"], limited.data["total"]) == (True, 250, 300)
    whole = bench.call("search_in_files", pattern="needle", output_mode="content", head_limit=0)
    assert (whole.truncated, whole.data["shown"]) == (False, 300)


def test_an_offset_past_the_end_says_so(bench: Bench) -> None:
    result = bench.call("search_in_files", pattern="add", offset=50)
    assert "offset 50 is past the last" in result.content
    assert not result.is_error


def test_a_literal_text_of_several_lines_is_one(bench: Bench) -> None:
    bench.write("a.txt", "one (1)\ntwo [2]\n")
    bench.write("b.txt", "two [2]\n")
    assert hits(bench, "one (1)\ntwo [2]", fixed_strings=True) == {"a.txt"}


@pytest.mark.parametrize(("pattern", "word"), [("a\0b", "NUL"), ("a\nb", "multiline"), ("[z-a]", "range")])
def test_a_pattern_that_cannot_be_searched_is_refused(bench: Bench, pattern: str, word: str) -> None:
    result = bench.call("search_in_files", pattern=pattern)
    assert (result.code, word in result.content) == ("INVALID_PATTERN", True)


def test_globs_of_a_search_bring_no_ignored_file_back(bench: Bench) -> None:
    bench.write(".gitignore", "*.gen.py\n")
    bench.write("src/a.gen.py", "needle")
    bench.write("src/a.py", "needle")
    bench.write("app/[id]/p.tsx", "needle")
    bench.write("app/i/p.tsx", "needle")
    for glob in ("*.py", "**/*.py", "src/*.py", "*.gen.py", "*.{py,pyi}", "src/**"):
        assert hits(bench, "needle", glob=glob) <= {"src/a.py"}
    assert hits(bench, "needle", glob="app/[id]/*.tsx") == {"app/[id]/p.tsx"}
    assert hits(bench, "needle", glob="app/[ij]/*.tsx") == {"app/i/p.tsx"}
    assert hits(bench, "needle", glob="{a") == set()


def test_a_type_of_file_is_a_word(bench: Bench) -> None:
    assert bench.call("search_in_files", pattern="x", type="py --pre=x").code == "INVALID_INPUT"


def test_long_lines_take_no_room_in_many_files(bench: Bench) -> None:
    for number in range(5):
        bench.write(f"min{number}.js", "x" * 2_000_000 + "NEEDLE" + "y" * 10 + "\n")
    result = bench.call("search_in_files", pattern="NEEDLE", output_mode="content")
    assert len(result.content) < 5 * 600
    assert all("xNEEDLEy" in match["text"] for match in result.data["matches"])


def test_a_line_longer_than_what_is_read_is_named(bench: Bench) -> None:
    bench.write("huge.js", "x" * 9_000_000 + "NEEDLE\n")
    bench.write("z.js", "NEEDLE\n")
    result = bench.call("search_in_files", pattern="NEEDLE", output_mode="content")
    assert "too long to show" in result.content
    assert {match["path"] for match in result.data["matches"]} == {"huge.js", "z.js"}


@pytest.fixture
def slow(bench: Bench) -> str:
    """A pattern that takes ripgrep minutes in this workspace."""
    bench.write("long.txt", "a" * 9_000_000 + "b")
    return "(a{1000}){1000}"


def test_a_cancelled_search_ends(bench: Bench, slow: str) -> None:
    threading.Timer(0.3, bench.cancelled.set).start()
    assert bench.call("search_in_files", pattern=slow).code == "CANCELLED"


def test_a_search_that_takes_too_long_ends(bench: Bench, slow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ripgrep, "TIMEOUT_S", 0.2)
    assert bench.call("search_in_files", pattern=slow).code == "TIMEOUT"


def test_what_cannot_be_entered_hides_nothing_else(bench: Bench) -> None:
    locked: Path = bench.tree / "locked"
    locked.mkdir(mode=0)
    assert "calc.py" in hits(bench, "def add")
    locked.chmod(0o755)


def test_lines_around_a_match_come_with_it_on_every_page(bench: Bench) -> None:
    bench.write("a", "one\nhit 2\nthree\nfour\nhit 5\nhit 6\nseven\n")
    search = {"pattern": "hit", "output_mode": "content", "path": "a", "context": 1, "head_limit": 1}
    rows = bench.call("search_in_files", **search, offset=1).content.split("\n")
    assert rows[:3] == ["a", "     4- four", "     5: hit 5"]
    assert "three" not in bench.call("search_in_files", **search, offset=2).content


@pytest.mark.parametrize("arguments", [{"pattern": "a" * 200_000}, {"pattern": "a", "glob": "[z-a]"}])
def test_a_pattern_that_can_not_be_given_to_ripgrep_is_refused(bench: Bench, arguments: dict[str, str]) -> None:
    assert bench.call("search_in_files", **arguments).code == "INVALID_PATTERN"


def test_a_type_of_any_length_is_told_to_be_none(bench: Bench) -> None:
    assert bench.call("search_in_files", pattern="a", type="a" * 200_000).code == "INVALID_INPUT"


@pytest.mark.parametrize("name", [".gitignore", ".ignore"])
@pytest.mark.parametrize("target", ["fifo", "/dev/zero", "/etc/passwd"])
def test_what_is_no_file_of_the_tree_is_no_ignore_file(bench: Bench, name: str, target: str) -> None:
    if target == "fifo":
        os.mkfifo(bench.tree / name)
    else:
        (bench.tree / name).symlink_to(target)
    bench.write("a.txt", "needle")
    assert hits(bench, "needle") == {"a.txt"}


def test_a_link_in_the_tree_can_be_an_ignore_file(bench: Bench) -> None:
    bench.write("rules", "*.log\n")
    (bench.tree / ".gitignore").symlink_to("rules")
    bench.write("a.log", "needle")
    bench.write("a.txt", "needle")
    assert hits(bench, "needle") == {"a.txt"}


def test_an_endless_ignore_file_further_down_costs_no_more_memory_than_a_search_may_have(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ripgrep, "MEMORY_BYTES", 128 << 20)
    (bench.tree / "deep").mkdir()
    (bench.tree / "deep" / ".gitignore").symlink_to("/dev/zero")
    result = bench.call("search_in_files", pattern="needle")
    assert result.code == "TOO_LARGE"
