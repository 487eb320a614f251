"""read_sakura_docs, list_sakura_directory and read_sakura_memory: what is shown, in what order, and what is refused."""

from pathlib import Path

import pytest

from agents.models import Policy
from tests.agents.tools.bench import Bench

pytestmark = pytest.mark.django_db

MEMORY = "# Memory\n\n## 2025-01-01 First\n\nA\n\n## 2025-03-01 Third\n\nC\n\n## 2025-02-01 Second\n\nB\n"


@pytest.fixture
def documented(bench: Bench) -> Bench:
    bench.write(".sakura/SAKURA.md", "# Rules\n\nBe kind.\n")
    bench.write(".sakura/docs/arch.md", "intro\n## Parts\n" + "a line of it\n" * 3000)
    bench.write(".sakura/memory.md", MEMORY)
    return bench


@pytest.mark.parametrize("tool", ["read_sakura_docs", "list_sakura_directory", "read_sakura_memory"])
def test_no_sakura_folder_is_a_plain_answer(bench: Bench, tool: str) -> None:
    result = bench.call(tool)
    assert (result.is_error, result.data["exists"]) == (False, False)
    assert "There is no" in result.content


def test_the_overview_names_documents_with_sizes_and_first_headings(documented: Bench) -> None:
    result = documented.call("read_sakura_docs")
    assert result.content.split("\n") == [
        "SAKURA.md  18  # Rules",
        f"memory.md  {len(MEMORY)}  # Memory",
        "docs/arch.md  39015  # Parts",
    ]
    assert result.data["documents"][0] == {"path": ".sakura/SAKURA.md", "size": 18, "heading": "Rules"}
    assert result.data["fact"]["refresh"] == "read_sakura_docs"


@pytest.mark.parametrize("name", ["SAKURA.md", ".sakura/SAKURA.md", "./SAKURA.md", "/workspace/.sakura/SAKURA.md"])
def test_a_document_is_named_with_or_without_the_folder(documented: Bench, name: str) -> None:
    result = documented.call("read_sakura_docs", doc_path=name)
    assert (result.content, result.truncated) == ("# Rules\n\nBe kind.", False)


def test_a_long_document_is_read_by_range(documented: Bench) -> None:
    first = documented.call("read_sakura_docs", doc_path="docs/arch.md")
    end = first.data["end"]
    assert (first.truncated, first.data["start"], first.data["total"]) == (True, 1, 3002)
    assert first.content.endswith(f"[lines 1–{end} of 3002; go on with offset {end + 1}]")
    rest = documented.call("read_sakura_docs", doc_path="docs/arch.md", offset=end + 1)
    assert (rest.data["start"], rest.data["end"], rest.truncated) == (end + 1, 3002, False)
    part = documented.call("read_sakura_docs", doc_path="docs/arch.md", offset=2, limit=1)
    assert part.data["text"] == "## Parts"
    assert documented.call("read_sakura_docs", doc_path="docs/arch.md", offset=4000).code == "RANGE"


def test_a_line_that_is_too_long_is_cut(documented: Bench) -> None:
    documented.write(".sakura/one.md", "x" * 50_000)
    result = documented.call("read_sakura_docs", doc_path="one.md")
    assert len(result.content) < 20_100
    assert "[…]" in result.content


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../README.md", "OUTSIDE_WORKSPACE"),
        ("docs/../../README.md", "OUTSIDE_WORKSPACE"),
        ("up/README.md", "OUTSIDE_WORKSPACE"),
        ("out/passwd", "OUTSIDE_WORKSPACE"),
        ("/etc/passwd", "OUTSIDE_WORKSPACE"),
        ("/workspace/README.md", "OUTSIDE_WORKSPACE"),
        ("docs", "IS_DIRECTORY"),
        ("nope.md", "NOT_FOUND"),
        ("picture.png", "BINARY_FILE"),
    ],
)
def test_what_is_no_document_of_the_folder_is_refused(documented: Bench, path: str, code: str) -> None:
    (documented.tree / ".sakura" / "up").symlink_to("..")
    (documented.tree / ".sakura" / "out").symlink_to("/etc")
    documented.write(".sakura/picture.png", b"\x89PNG\0\0")
    assert documented.call("read_sakura_docs", doc_path=path).code == code


@pytest.mark.parametrize("tool", ["read_sakura_docs", "list_sakura_directory", "read_sakura_memory"])
def test_a_folder_that_is_a_link_out_is_refused(bench: Bench, tmp_path: Path, tool: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "memory.md").write_text("## secret")
    (bench.tree / ".sakura").symlink_to(tmp_path / "elsewhere")
    assert bench.call(tool).code == "OUTSIDE_WORKSPACE"


def test_links_are_in_no_overview(documented: Bench) -> None:
    (documented.tree / ".sakura" / "leak.md").symlink_to("/etc/passwd")
    (documented.tree / ".sakura" / "memory").mkdir()
    (documented.tree / ".sakura" / "memory" / "leak.md").symlink_to("/etc/passwd")
    assert "leak" not in documented.call("read_sakura_docs").content
    assert documented.call("read_sakura_memory").data["files"] == [".sakura/memory.md"]


def test_a_folder_of_documents_is_listed(documented: Bench) -> None:
    result = documented.call("list_sakura_directory")
    assert result.content.split("\n")[:2] == ["docs/", "SAKURA.md  18"]
    assert documented.call("list_sakura_directory", subdirectory="docs").data["entries"] == [
        {"name": "arch.md", "kind": "file", "size": 39015}
    ]
    assert documented.call("list_sakura_directory", subdirectory="..").code == "OUTSIDE_WORKSPACE"
    assert documented.call("list_sakura_directory", subdirectory="nope").code == "NOT_FOUND"


def _headings(bench: Bench, **arguments: object) -> list[str]:
    return [entry["heading"] for entry in bench.call("read_sakura_memory", **arguments).data["entries"]]


def test_memory_comes_newest_first_by_its_dates(documented: Bench) -> None:
    documented.write(".sakura/memory/2025-02-10-notes.md", "Just notes.\n")
    assert _headings(documented) == ["2025-03-01 Third", "Just notes.", "2025-02-01 Second", "2025-01-01 First"]
    result = documented.call("read_sakura_memory", count=2)
    assert (result.truncated, result.data["total"], len(result.data["entries"])) == (True, 4, 2)
    assert "the newest 2 of 4 entries" in result.content


def test_memory_without_dates_comes_last_written_first(documented: Bench) -> None:
    documented.write(".sakura/memory.md", "## One\n\nA\n\n## Two\n\nB\n")
    assert _headings(documented) == ["Two", "One"]


@pytest.mark.parametrize("name", ["notes.md", "memory/notes.md", ".sakura/memory/notes.md"])
def test_one_file_of_the_memory_is_read_with_its_head(documented: Bench, name: str) -> None:
    documented.write(".sakura/memory/notes.md", "# Notes\n\n## 2024-01-01 Old\n\nX\n")
    result = documented.call("read_sakura_memory", file_name=name)
    assert result.content == "# Notes\n\n## 2024-01-01 Old\n\nX"
    assert result.data["entries"][0]["line"] == 3


def test_an_unknown_file_of_the_memory_names_those_there_are(documented: Bench) -> None:
    result = documented.call("read_sakura_memory", file_name="SAKURA.md")
    assert (result.code, "memory.md" in result.content) == ("NOT_FOUND", True)
    assert documented.call("read_sakura_memory", file_name="../README.md").code == "OUTSIDE_WORKSPACE"


def test_a_long_entry_is_cut_and_says_where_the_rest_is(documented: Bench) -> None:
    documented.write(".sakura/memory.md", "## 2025-01-01 A\n\nx\n\n## 2025-02-01 B\n\n" + "y" * 30_000)
    result = documented.call("read_sakura_memory")
    assert len(result.content) <= 20_000
    assert "[cut; read_sakura_docs memory.md offset 5 shows it all]" in result.content


def test_hidden_documents_are_in_no_answer(documented: Bench) -> None:
    documented.policy = Policy(hidden=[".sakura/docs", "memory.md"])
    assert documented.call("read_sakura_docs").content == "SAKURA.md  18  # Rules"
    assert documented.call("read_sakura_docs", doc_path="docs/arch.md").code == "DENIED"
    assert documented.call("list_sakura_directory").content == "SAKURA.md  18"
    assert documented.call("list_sakura_directory", subdirectory="docs").code == "DENIED"
    assert documented.call("read_sakura_memory").data["exists"] is False
    assert documented.call("read_sakura_memory", file_name="memory.md").code == "DENIED"


@pytest.mark.parametrize("path", ["C:/x.md", "c:\\\\x.md", "\\\\\\\\host\\\\share", "//host/share"])
def test_paths_of_other_systems_are_outside(documented: Bench, path: str) -> None:
    assert documented.call("read_sakura_docs", doc_path=path).code == "OUTSIDE_WORKSPACE"
