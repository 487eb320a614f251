"""What the policy hides: lists, globs and searches leave it out, and naming it is denied."""

import os

import pytest

from agents.models import Policy
from tests.agents.tools.bench import Bench
from workspaces.sandbox import own, worker_uid

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


# --- in a folder that holds them, as a toolshell's does ----------------------------------------------------


def test_no_way_of_moving_what_is_covered_opens_it(hiding: Bench) -> None:
    hiding.write("app/key.pem", "treasure\n")
    hiding.write("z/.git/key.pem", "treasure\n")
    hiding.write("app/open.txt", "open\n")
    own(hiding.tree, worker_uid(hiding.workspace.pk))
    moves = (
        "mv app .git/app; cat .git/app/*",
        "mv app other; cat other/*",
        "mv z/.git z/shown; cat z/shown/* z/.git/*",
        "chmod 0 app; chmod 755 app; cat app/*",
        "ln -s app/open.txt x.pem; ln -s app/key.pem plain; cat plain",
    )
    for move in moves:
        for command in (move, "cat .git/app/* other/* app/* plain z/*/*; true"):
            assert "treasure" not in hiding.call("run_command", command=command).content
    assert "open" in hiding.call("run_command", command="cat app/open.txt x.pem").content


def test_while_a_command_runs_on_that_could_move_it_no_other_starts(hiding: Bench) -> None:
    started = hiding.call("run_command", command="sleep 30; touch x", run_in_background=True)
    assert not started.is_error, started.content
    refused = hiding.call("run_command", command="true")
    assert (refused.code, "stop it first" in refused.content) == ("SANDBOX_UNAVAILABLE", True)
    hiding.jobs.stop(hiding.jobs.running())
    assert not hiding.call("run_command", command="true").is_error


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_folder_that_is_closed_to_us_lets_no_command_run(hiding: Bench) -> None:
    (hiding.tree / "docs").chmod(0)
    assert hiding.call("run_command", command="true").code == "SANDBOX_UNAVAILABLE"
    (hiding.tree / "docs").chmod(0o755)


def test_a_folder_too_deep_to_be_looked_into_lets_no_command_run(hiding: Bench) -> None:
    deep = "d" * 250
    dig = f"for n in $(seq 20); do mkdir {deep} && cd {deep} || exit; done; echo x > f"
    assert not hiding.call("run_command", command=dig).is_error
    refused = hiding.call("run_command", command="true")
    assert refused.code == "SANDBOX_UNAVAILABLE"
    assert "can't be looked into" in refused.content
