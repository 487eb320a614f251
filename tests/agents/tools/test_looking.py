"""list_directory, glob and search_in_files: what is found, what is left out, and in what order."""

import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agents.tools.bench import Bench
from workspaces import ripgrep

pytestmark = pytest.mark.django_db


def found(bench: Bench, pattern: str, path: str = ".") -> set[str]:
    return set(bench.call("glob", pattern=pattern, path=path).data["paths"])


def hits(bench: Bench, pattern: str, **more: object) -> set[str]:
    return {match["path"] for match in bench.call("search_in_files", pattern=pattern, **more).data["matches"]}


def test_a_folder_is_listed_folders_first_without_git(bench: Bench) -> None:
    bench.write(".hidden", "abc")
    (bench.tree / "empty").mkdir()
    (bench.tree / "link").symlink_to("/etc/passwd")
    assert bench.call("list_directory").content.split("\n") == [
        "empty/",
        "tests/",
        ".hidden  3",
        "README.md  22",
        "calc.py  70",
        "link  (link)",
    ]


def test_a_recursive_list_leaves_out_what_is_ignored(bench: Bench) -> None:
    bench.write(".gitignore", "*.log\n")
    bench.write("a/b/deep.txt", "x")
    bench.write("a/x.log", "x")
    bench.write("node_modules/p/index.js", "x")
    names = [entry["name"] for entry in bench.call("list_directory", recursive=True).data["entries"]]
    assert names[:3] == ["a", "a/b", "a/b/deep.txt"]
    assert not any("log" in name or "node_modules" in name for name in names)


def test_what_is_no_folder_is_not_listed(bench: Bench) -> None:
    assert bench.call("list_directory", path="calc.py").code == "NOT_A_DIRECTORY"
    assert bench.call("list_directory", path="nope").code == "NOT_FOUND"
    assert bench.call("list_directory", path=".git").code == "PROTECTED_PATH"


def test_a_list_is_cut_with_a_true_total(bench: Bench) -> None:
    bench.limits = replace(bench.limits, list_entries=2)
    result = bench.call("list_directory")
    assert (result.truncated, result.data["total"], len(result.data["entries"])) == (True, 3, 2)


def test_stars_span_folders_only_when_doubled(bench: Bench) -> None:
    for path in ("a.py", "src/b.py", "src/deep/c.py", "web/x.ts", "web/y.tsx", "web/z.css"):
        bench.write(path, "")
    assert found(bench, "src/*.py") == {"src/b.py"}
    assert found(bench, "src/**/*.py") == {"src/b.py", "src/deep/c.py"}
    assert found(bench, "web/*.{ts,tsx}") == {"web/x.ts", "web/y.tsx"}
    assert found(bench, "*.py") == {"a.py", "calc.py"}
    assert "tests/test_calc.py" in found(bench, "**/*.py")


def test_brackets_in_the_name_of_a_folder_are_literal(bench: Bench) -> None:
    bench.write("app/[id]/page.tsx", "")
    bench.write("app/i/page.tsx", "")
    assert found(bench, "app/[id]/page.tsx") == {"app/[id]/page.tsx"}
    assert found(bench, "**/[id]/*.tsx") == {"app/[id]/page.tsx"}
    assert found(bench, "app/[ij]/page.tsx") == {"app/i/page.tsx"}


def test_the_newest_file_comes_first(bench: Bench) -> None:
    old = time.time() - 1000
    for number, name in enumerate(("m1.txt", "m2.txt", "m3.txt")):
        os.utime(bench.write(name, ""), (old, old + number))
    assert bench.call("glob", pattern="m*.txt").data["paths"] == ["m3.txt", "m2.txt", "m1.txt"]


def test_ignored_files_are_found_only_when_named(bench: Bench) -> None:
    bench.write(".gitignore", "node_modules/\nsecret.md\n")
    bench.write("node_modules/p/readme.md", "needle")
    bench.write("secret.md", "needle")
    bench.write("docs/guide.md", "needle")
    assert found(bench, "**/*.md") == {"README.md", "docs/guide.md"}
    assert found(bench, "node_modules/p/*.md") == {"node_modules/p/readme.md"}
    assert hits(bench, "needle") == {"docs/guide.md"}
    assert hits(bench, "needle", glob="*.md") == {"docs/guide.md"}
    assert hits(bench, "needle", path="secret.md") == {"secret.md"}
    assert hits(bench, "needle", path="node_modules") == {"node_modules/p/readme.md"}


def test_rules_above_the_named_folder_hold(bench: Bench) -> None:
    bench.write(".gitignore", "*.log\n/src/gen/\n")
    bench.write("src/.gitignore", "/local.txt\nkeep/*\n!keep/yes.txt\n")
    for path in ("src/deep/a.log", "src/gen/b.txt", "src/local.txt", "src/deep/local.txt", "src/keep/no.txt"):
        bench.write(path, "needle")
    bench.write("src/keep/yes.txt", "needle")
    assert hits(bench, "needle", path="src") == {"src/deep/local.txt", "src/keep/yes.txt"}
    assert hits(bench, "needle", path="src/deep") == {"src/deep/local.txt"}
    assert hits(bench, "needle") == hits(bench, "needle", path="src")


def test_no_ignore_file_brings_git_back(bench: Bench) -> None:
    bench.write(".gitignore", "!.git\n!.git/**\n")
    assert not any(".git/" in path for path in found(bench, "**/*"))
    assert hits(bench, "repositoryformatversion") == set()


def test_an_ignore_file_above_the_workspace_is_not_read(bench: Bench) -> None:
    (bench.tree.parent / ".gitignore").write_text("*.py\n")
    (bench.tree.parent / ".ignore").write_text("*.py\n")
    assert "calc.py" in found(bench, "**/*.py")


def test_links_lead_nowhere(bench: Bench) -> None:
    outside = bench.tree.parent / "outside"
    outside.mkdir()
    (outside / "hidden.txt").write_text("needle")
    (bench.tree / "ln").symlink_to(outside)
    (bench.tree / "loop").symlink_to(".")
    assert found(bench, "**/hidden.txt") == set()
    assert hits(bench, "needle") == set()
    assert bench.call("search_in_files", pattern="needle", path="ln").code == "OUTSIDE_WORKSPACE"
    assert bench.call("glob", pattern="ln/*").code == "OUTSIDE_WORKSPACE"
    assert bench.call("glob", pattern="../outside/*").code == "OUTSIDE_WORKSPACE"
    assert bench.call("glob", pattern="/etc/*").code == "OUTSIDE_WORKSPACE"


def test_a_glob_is_cut_with_a_true_total(bench: Bench) -> None:
    for number in range(105):
        bench.write(f"many/{number}.txt", "")
    result = bench.call("glob", pattern="many/*.txt")
    assert (result.truncated, result.data["total"], len(result.data["paths"])) == (True, 105, 100)


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


def test_strange_names_come_through(bench: Bench) -> None:
    names = ["a b.txt", "two\nlines.txt", "co:lon.txt", "quo'te\".txt", "-n.txt", os.fsdecode(b"caf\xe9.txt")]
    for name in names:
        bench.write(f"odd/{name}", "needle\n")
    shown = {f"odd/{name}" for name in names[:-1]} | {r"odd/caf\xe9.txt"}
    assert found(bench, "odd/*") == shown
    assert hits(bench, "needle") == shown
    assert hits(bench, "needle", output_mode="content") == shown


def test_a_pipe_hangs_nothing(bench: Bench) -> None:
    os.mkfifo(bench.tree / "pipe")
    assert "nothing was searched" in bench.call("search_in_files", pattern="x", path="pipe").content
    assert found(bench, "p*") == set()


def test_all_is_said_of_a_list_for_the_browser(bench: Bench) -> None:
    data = bench.call("list_directory", path="tests").data
    assert data["entries"] == [{"name": "test_calc.py", "kind": "file", "size": 65}]
    assert (data["path"], data["total"], data["complete"], data["recursive"]) == ("tests", 1, True, False)
    assert (data["fact"]["source"], data["fact"]["subject"], data["fact"]["refresh"]) == (
        "list_directory",
        "tests",
        "list_directory tests",
    )


def test_a_recursive_list_counts_all_and_shows_the_first(bench: Bench) -> None:
    for number in range(20):
        bench.write(f"many/{number:02}/deep/x.txt", "x")
    bench.limits = replace(bench.limits, list_entries=3)
    result = bench.call("list_directory", recursive=True)
    assert [entry["name"] for entry in result.data["entries"]] == ["many", "many/00", "many/00/deep"]
    assert (result.truncated, result.data["total"]) == (True, 1 + 20 * 3 + 4)
    assert "3 of 65 entries" in result.content


def test_a_recursive_list_of_a_folder_names_what_is_below_it(bench: Bench) -> None:
    bench.write("a/b/c/d.txt", "four")
    entries = bench.call("list_directory", path="a/b", recursive=True).data["entries"]
    assert entries == [{"name": "c", "kind": "folder", "size": None}, {"name": "c/d.txt", "kind": "file", "size": 4}]


def test_a_name_that_looks_like_a_pattern_is_found(bench: Bench) -> None:
    for name in ("[id].tsx", "i.tsx", "{x}.tsx", "x.tsx"):
        bench.write(f"app/{name}", "")
    assert found(bench, "app/[id].tsx") == {"app/[id].tsx"}
    assert found(bench, "app/{x}.tsx") == {"app/{x}.tsx"}
    assert found(bench, "**/[id].tsx") == {"app/[id].tsx"}
    assert found(bench, "app/[ij].tsx") == {"app/i.tsx"}


def test_braces_may_hold_paths(bench: Bench) -> None:
    bench.write("src/deep/x.py", "")
    bench.write("web/y.py", "")
    assert found(bench, "{src/deep,web}/*.py") == {"src/deep/x.py", "web/y.py"}


def test_absolute_patterns_work_inside_the_workspace_only(bench: Bench) -> None:
    assert found(bench, f"{bench.tree}/**/test_*.py") == {"tests/test_calc.py"}
    assert found(bench, "/workspace/*.py") == {"calc.py"}
    assert bench.call("glob", pattern="/etc/*").code == "OUTSIDE_WORKSPACE"


def test_an_unknown_folder_is_an_error_and_an_unknown_name_none(bench: Bench) -> None:
    assert bench.call("glob", pattern="*", path="nope").code == "NOT_FOUND"
    assert bench.call("glob", pattern="*", path="calc.py").code == "NOT_A_DIRECTORY"
    assert bench.call("glob", pattern="nope/*.zip").content == "No file matches nope/*.zip."
    assert bench.call("glob", pattern="\0*").data["total"] == 0


def test_above_two_thousand_files_are_listed_by_path(bench: Bench) -> None:
    for number in range(2001):
        bench.write(f"many/{number:04}.txt", "")
    os.utime(bench.tree / "many" / "2000.txt", (1, 1))
    result = bench.call("glob", pattern="**/*.txt")
    assert (result.data["total"], result.data["order"], result.data["paths"][0]) == (2001, "by path", "many/0000.txt")
    assert "100 of 2001 files shown, by path" in result.content
    (bench.tree / "many" / "0000.txt").unlink()
    assert bench.call("glob", pattern="**/*.txt").data["order"] == "newest first"


def test_a_name_that_is_not_utf8_is_found_as_it_is_shown(bench: Bench) -> None:
    bench.write(f"odd/{os.fsdecode(bytes([0xE9]))}x.txt", "needle")
    assert found(bench, r"odd/\xe9x.txt") == found(bench, r"odd/\xe9*") == {r"odd/\xe9x.txt"}


def test_all_of_an_ignored_folder_is_found_when_it_is_named(bench: Bench) -> None:
    bench.write(".gitignore", "logs/*\n/made/\n")
    bench.write("logs/a.txt", "needle")
    bench.write("made/b.txt", "needle")
    bench.write("node_modules/p/dist/index.js", "needle")
    assert hits(bench, "needle") == set()
    assert hits(bench, "needle", path="logs") == found(bench, "logs/*") == {"logs/a.txt"}
    assert hits(bench, "needle", path="made") == found(bench, "made/*.txt") == {"made/b.txt"}
    assert hits(bench, "needle", path="node_modules/p") == {"node_modules/p/dist/index.js"}
    assert found(bench, "node_modules/**/*.js") == {"node_modules/p/dist/index.js"}


def test_only_folders_are_left_out_for_their_names(bench: Bench) -> None:
    bench.write("build", "needle")
    bench.write("dist", "needle")
    assert hits(bench, "needle") == {"build", "dist"}


@pytest.mark.parametrize("folder", [".svn", ".hg", ".GIT", ".jj"])
def test_version_control_is_never_searched(bench: Bench, folder: str) -> None:
    bench.write(".gitignore", f"!{folder}\n!{folder}/**\n")
    bench.write(f"sub/{folder}/entries.txt", "needle")
    bench.write(f"{folder}/entries.txt", "needle")
    for mode in ("content", "count", "files_with_matches"):
        assert hits(bench, "needle", output_mode=mode) == set()
    assert found(bench, "**/entries.txt") == set()
    assert not any("entries" in entry["name"] for entry in _all(bench))


def _all(bench: Bench) -> list[dict[str, object]]:
    entries: list[dict[str, object]] = bench.call("list_directory", recursive=True).data["entries"]
    return entries


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
