"""What the policy hides: lists, globs and searches leave it out, and naming it is denied."""

import pytest

from agents.models import Policy
from tests.agents.tools.bench import Bench

pytestmark = pytest.mark.django_db


@pytest.fixture
def hiding(bench: Bench) -> Bench:
    bench.policy = Policy(hidden=["secrets", "*.pem", "/docs/private/**"])
    for path in ("secrets/a.txt", "deep/Secrets/b.txt", "key.pem", "deep/key.pem", "docs/private/c.md", "docs/open.md"):
        bench.write(path, "needle\n")
    return bench


def test_what_is_hidden_is_in_no_list(hiding: Bench) -> None:
    assert set(hiding.call("glob", pattern="**/*").data["paths"]) == {
        "README.md",
        "calc.py",
        "tests/test_calc.py",
        "docs/open.md",
    }
    assert [entry["name"] for entry in hiding.call("list_directory", recursive=True).data["entries"]] == [
        *("docs", "docs/open.md", "tests", "tests/test_calc.py", "README.md", "calc.py"),
    ]
    flat = hiding.call("list_directory").data
    assert ([entry["name"] for entry in flat["entries"]], flat["total"]) == (
        ["deep", "docs", "tests", "README.md", "calc.py"],
        5,
    )


@pytest.mark.parametrize("mode", ["content", "count", "files_with_matches"])
def test_what_is_hidden_is_neither_found_nor_counted(hiding: Bench, mode: str) -> None:
    result = hiding.call("search_in_files", pattern="needle", output_mode=mode)
    assert [match["path"] for match in result.data["matches"]] == ["docs/open.md"]
    assert (result.data["files"], result.data["total"]) == (1, 1)
    assert hiding.call("search_in_files", pattern="needle", output_mode=mode, glob="*.pem").data["files"] == 0


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("list_directory", {"path": "secrets"}),
        ("list_directory", {"path": "docs/private/x"}),
        ("glob", {"pattern": "secrets/*"}),
        ("glob", {"pattern": "key.pem"}),
        ("search_in_files", {"pattern": "needle", "path": "deep/key.pem"}),
        ("search_in_files", {"pattern": "needle", "path": "deep/secrets"}),
    ],
)
def test_naming_what_is_hidden_is_denied(hiding: Bench, tool: str, arguments: dict[str, str]) -> None:
    (hiding.tree / "deep" / "secrets").mkdir()
    assert hiding.call(tool, **arguments).code == "DENIED"


@pytest.mark.parametrize("path", ["secrets/a.txt", "secrets/there-is-none.txt"])
def test_asking_for_changes_does_not_tell_whether_a_hidden_path_exists(hiding: Bench, path: str) -> None:
    hiding.call("check_changes")
    told = hiding.call("check_changes", paths=[path]).content
    assert path not in told or "hidden by policy" in told
    assert "does not exist" not in told
