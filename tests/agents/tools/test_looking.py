"""list_directory, glob and search_in_files: what is found, what is left out, and in what order."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agents.tools.bench import Bench
from workspaces import globs

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


def test_what_cannot_be_entered_hides_nothing_else(bench: Bench) -> None:
    locked: Path = bench.tree / "locked"
    locked.mkdir(mode=0)
    assert "calc.py" in hits(bench, "def add")
    locked.chmod(0o755)


@pytest.mark.parametrize(
    ("rule", "path", "covers"),
    [
        (".envrc", "deep/.envrc", True),
        (".vscode/**", ".vscode/tasks.json", True),
        ("docs", "docs/a/b.md", True),
        ("docs", "old/docs/a.md", True),
        ("docs/", "docs", True),
        ("/docs", "docs/x", True),
        ("docs/*.md", "docs/a.md", True),
        ("docs/*.md", "docs/a/b.md", False),
        ("*.lock", "yarn.lock.txt", False),
        (".GitHub/workflows/**", ".github/Workflows/ci.yml", True),
    ],
)
def test_a_rule_covers_paths_as_in_gitignore(rule: str, path: str, covers: bool) -> None:
    assert globs.matches(rule, path) is covers
