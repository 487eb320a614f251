"""list_directory, glob and search_in_files: what is found, what is left out, and in what order."""

import os
import time
from dataclasses import replace

import pytest

from tests.agents.tools.bench import Bench

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


@pytest.mark.parametrize("folder", [".svn", ".hg", ".GIT", ".jj"])
def test_version_control_is_never_searched(bench: Bench, folder: str) -> None:
    bench.write(".gitignore", f"!{folder}\n!{folder}/**\n")
    bench.write(f"sub/{folder}/entries.txt", "needle")
    bench.write(f"{folder}/entries.txt", "needle")
    for mode in ("content", "count", "files_with_matches"):
        assert hits(bench, "needle", output_mode=mode) == set()
    assert found(bench, "**/entries.txt") == set()
    assert not any("entries" in str(entry["name"]) for entry in _all(bench))


def _all(bench: Bench) -> list[dict[str, object]]:
    entries: list[dict[str, object]] = bench.call("list_directory", recursive=True).data["entries"]
    return entries


@pytest.mark.parametrize("pattern", ["[z-a]*", "x/" + "{a,b}" * 40])
def test_a_glob_that_can_not_be_read_is_refused(bench: Bench, pattern: str) -> None:
    assert bench.call("glob", pattern=pattern).code == "INVALID_PATTERN"


@pytest.mark.parametrize("pattern", ["[", "[]", "x[", "{a", "}{", "[!"])
def test_an_open_bracket_or_brace_is_a_character(bench: Bench, pattern: str) -> None:
    bench.write(pattern + ".txt", "x")
    assert found(bench, pattern + "*") == {pattern + ".txt"}
