"""revert_file: any path back to what it was, undone as easily, with nothing lost and nothing outside touched."""

import os
from pathlib import Path
from typing import Any

import pytest

from agents.models import Policy
from tests.agents.tools.bench import Bench
from workspaces import snapshots, store
from workspaces.models import Repository, Snapshot, Workspace

pytestmark = pytest.mark.django_db


def edited(bench: Bench) -> bytes:
    """Change calc.py through the tools and return what it was."""
    before = (bench.tree / "calc.py").read_bytes()
    bench.call("read_file", file_path="calc.py")
    assert not bench.call("edit_file", file_path="calc.py", old_string="a - b", new_string="a + b").is_error
    return before


def test_changed_new_and_deleted_files_go_back(bench: Bench) -> None:
    before = edited(bench)
    bench.call("write_file", file_path="new.txt", content="x")
    bench.call("run_command", command="rm README.md")
    for path in ("calc.py", "new.txt", "README.md"):
        assert not bench.call("revert_file", file_path=path).is_error
    assert (bench.tree / "calc.py").read_bytes() == before
    assert (bench.tree / "README.md").exists()
    assert not (bench.tree / "new.txt").exists()
    assert "Nothing is changed" in bench.call("check_changes").content


def test_the_card_gets_the_diff_of_the_revert(bench: Bench) -> None:
    edited(bench)
    data = bench.call("revert_file", file_path="calc.py").data
    assert (data["path"], data["to"], data["additions"], data["deletions"]) == ("calc.py", 0, 1, 1)
    assert [row[3] for row in data["diff"] if row[0] != " "] == ["    return a + b", "    return a - b"]
    assert data["files"] == [{"path": "calc.py", "now": "file"}]


def test_what_was_changed_from_outside_is_in_a_snapshot_before_it_is_reverted(bench: Bench) -> None:
    bench.write("calc.py", "by somebody else\n")
    result = bench.call("revert_file", file_path="calc.py")
    assert not result.is_error
    undone = bench.call("revert_file", file_path="calc.py", to=result.data["undo"])
    assert not undone.is_error
    assert (bench.tree / "calc.py").read_text() == "by somebody else\n"


def test_a_new_file_that_no_snapshot_knew_is_removed_and_can_come_back(bench: Bench) -> None:
    bench.write("stray.txt", "data\n")
    result = bench.call("revert_file", file_path="stray.txt")
    assert result.data["files"] == [{"path": "stray.txt", "now": "absent"}]
    assert not (bench.tree / "stray.txt").exists()
    bench.call("revert_file", file_path="stray.txt", to=result.data["undo"])
    assert (bench.tree / "stray.txt").read_text() == "data\n"


def test_a_file_that_is_as_it_was_is_left_alone(bench: Bench) -> None:
    before = (bench.tree / "calc.py").stat()
    result = bench.call("revert_file", file_path="calc.py")
    assert "already" in result.content
    assert result.data["files"] == []
    assert (bench.tree / "calc.py").stat() == before


def test_who_saw_the_file_before_and_all_that_changed_may_edit_what_it_is_now(bench: Bench) -> None:
    edited(bench)
    bench.call("revert_file", file_path="calc.py")
    again = bench.call("edit_file", file_path="calc.py", old_string="a - b", new_string="b + a")
    assert not again.is_error, again.content


def test_what_was_read_and_comes_back_is_fresh_by_its_bytes(bench: Bench) -> None:
    bench.call("read_file", file_path="calc.py")
    bench.write("calc.py", "by somebody else\n")
    bench.call("revert_file", file_path="calc.py")
    edit = bench.call("edit_file", file_path="calc.py", old_string="a - b", new_string="a + b")
    assert not edit.is_error, edit.content


def test_a_file_never_read_is_not_read_by_a_revert(bench: Bench) -> None:
    bench.write("calc.py", "by somebody else\n")
    result = bench.call("revert_file", file_path="calc.py")
    assert "Read it again" in result.content
    assert bench.call("edit_file", file_path="calc.py", old_string="a - b", new_string="x").code == "NOT_READ"


def test_bytes_and_mode_of_a_binary_come_back(bench: Bench, source: Path, repository: Repository) -> None:
    blob = bytes(range(256)) * 3
    bench.write("img.bin", blob).chmod(0o755)
    first = snapshots.take(bench.workspace, call_id="x", step=0, paths=None)
    assert first is not None
    bench.write("img.bin", b"oops").chmod(0o644)
    result = bench.call("revert_file", file_path="img.bin", to=first.number)
    assert (bench.tree / "img.bin").read_bytes() == blob
    assert os.access(bench.tree / "img.bin", os.X_OK)
    assert result.data["binary"]
    assert "executable" in result.content


def test_a_link_is_reverted_itself_and_nothing_behind_it(bench: Bench) -> None:
    outside = bench.tree.parent / "victim.txt"
    outside.write_text("safe\n")
    (bench.tree / "calc.py").unlink()
    (bench.tree / "calc.py").symlink_to(outside)
    assert not bench.call("revert_file", file_path="calc.py").is_error
    assert not (bench.tree / "calc.py").is_symlink()
    assert outside.read_text() == "safe\n"


def test_a_file_that_was_a_link_is_a_link_again(bench: Bench) -> None:
    (bench.tree / "cur").symlink_to("calc.py")
    first = snapshots.take(bench.workspace, call_id="x", step=0, paths=None)
    assert first is not None
    (bench.tree / "cur").unlink()
    bench.write("cur", "flat\n")
    assert not bench.call("revert_file", file_path="cur", to=first.number).is_error
    assert os.readlink(bench.tree / "cur") == "calc.py"


def test_a_renamed_file_gets_its_name_back(bench: Bench) -> None:
    (bench.tree / "calc.py").rename(bench.tree / "sums.py")
    bench.call("run_command", command="true")
    snapshots.take(bench.workspace, call_id="x", step=0, paths=None)
    result = bench.call("revert_file", file_path="sums.py")
    assert {each["path"]: each["now"] for each in result.data["files"]} == {"sums.py": "absent", "calc.py": "file"}
    assert (bench.tree / "calc.py").exists()
    assert not (bench.tree / "sums.py").exists()


def test_a_rename_is_not_undone_onto_a_protected_path(workspace: Workspace) -> None:
    bench = Bench(workspace, policy=Policy(protected=["calc.py"]))
    (bench.tree / "calc.py").rename(bench.tree / "sums.py")
    snapshots.take(bench.workspace, call_id="x", step=0, paths=None)
    assert bench.call("revert_file", file_path="sums.py").code == "PROTECTED_PATH"
    assert (bench.tree / "sums.py").exists()


def test_a_folder_with_files_in_the_way_is_kept_and_named(bench: Bench) -> None:
    (bench.tree / "calc.py").unlink()
    bench.write("calc.py/precious", "x\n")
    result = bench.call("revert_file", file_path="calc.py")
    assert result.code == "IS_DIRECTORY"
    assert "calc.py/precious" in result.content
    assert (bench.tree / "calc.py" / "precious").exists()


@pytest.mark.parametrize("path", ["*.py", "[cr]alc.py", "never/was"])
def test_a_pattern_is_a_name_and_what_never_was_has_no_baseline(bench: Bench, path: str) -> None:
    edited(bench)
    assert bench.call("revert_file", file_path=path).code == "NO_BASELINE"
    assert "a + b" in (bench.tree / "calc.py").read_text()


def test_a_snapshot_that_there_is_not_is_no_baseline(bench: Bench) -> None:
    edited(bench)
    result = bench.call("revert_file", file_path="calc.py", to=99)
    assert result.code == "NO_BASELINE"
    assert "the latest is 1" in result.content


@pytest.mark.parametrize("name", ["文档/说明 v2.md", "naïve'q\"uote.txt", "tab\there.txt", "[ab].txt", ":(top)x", "-x"])
def test_odd_names_are_restored(bench: Bench, name: str) -> None:
    bench.write(name, "v1\n")
    bench.write("a.txt", "A\n")
    first = snapshots.take(bench.workspace, call_id="x", step=0, paths=None)
    assert first is not None
    bench.write(name, "v2\n")
    bench.write("a.txt", "changed\n")
    assert not bench.call("revert_file", file_path=name, to=first.number).is_error
    assert (bench.tree / name).read_text() == "v1\n"
    assert (bench.tree / "a.txt").read_text() == "changed\n"


def test_an_ignored_file_that_was_touched_goes_back(ignoring: Bench) -> None:
    ignoring.write("cache.db", "v1\n")
    ignoring.write("other.db", "v1\n")
    ignoring.call("read_file", file_path="cache.db")
    ignoring.call("write_file", file_path="cache.db", content="v2\n")
    result = ignoring.call("revert_file", file_path="cache.db")
    assert result.data["undo"] is None
    assert (ignoring.tree / "cache.db").read_text() == "v1\n"
    ignoring.write("other.db", "v2\n")
    assert ignoring.call("revert_file", file_path="other.db").code == "NO_BASELINE"
    assert (ignoring.tree / "other.db").read_text() == "v2\n"


@pytest.mark.parametrize(
    ("policy", "path", "code"),
    [
        (Policy(), ".sakura/memory.md", "PROTECTED_PATH"),
        (Policy(), ".git/config", "PROTECTED_PATH"),
        (Policy(protected=["calc.py"]), "calc.py", "PROTECTED_PATH"),
        (Policy(hidden=["calc.py"]), "calc.py", "DENIED"),
        (Policy(), "../outside", "OUTSIDE_WORKSPACE"),
    ],
)
def test_what_may_not_be_written_or_seen_is_not_reverted(
    workspace: Workspace, policy: Policy, path: str, code: str
) -> None:
    bench = Bench(workspace, policy=policy)
    bench.write("calc.py", "changed\n")
    assert bench.call("revert_file", file_path=path).code == code
    assert (bench.tree / "calc.py").read_text() == "changed\n"
    assert not Snapshot.objects.filter(workspace=workspace, number=1).exists()


def test_the_journal_knows_the_bytes_before_and_after(bench: Bench) -> None:
    edited(bench)
    bench.journal.writes.clear()
    bench.call("revert_file", file_path="calc.py")
    ((path, before, after),) = bench.journal.writes
    assert (path, len(before), len(after)) == ("calc.py", 64, 64)
    assert before != after


def test_a_filter_of_the_tree_never_runs_and_the_bytes_are_exact(bench: Bench, tmp_path: Path) -> None:
    mark = tmp_path / "it-ran"
    bench.write(".gitattributes", "*.dat filter=z text eol=crlf ident\n")
    bench.write("p.dat", b"$Id$\nbase\r\n")
    first: Any = snapshots.take(bench.workspace, call_id="x", step=0, paths=None)
    with (bench.tree / ".git" / "config").open("a") as config:
        config.write(f'[filter "z"]\n\tsmudge = touch {mark}\n\tclean = touch {mark}\n\trequired = true\n')
    bench.write("p.dat", b"changed\n")
    assert not bench.call("revert_file", file_path="p.dat", to=first.number).is_error
    assert (bench.tree / "p.dat").read_bytes() == b"$Id$\nbase\r\n"
    assert not mark.exists()


def test_a_file_too_large_to_be_kept_can_not_come_back(bench: Bench) -> None:
    with bench.write("big.bin", b"").open("wb") as file:
        file.truncate(store.STORED_LIMIT + 1)
    first: Any = snapshots.take(bench.workspace, call_id="x", step=0, paths=None)
    bench.write("big.bin", b"small")
    result = bench.call("revert_file", file_path="big.bin", to=first.number)
    assert result.code == "TOO_LARGE"
    assert (bench.tree / "big.bin").read_bytes() == b"small"


@pytest.mark.parametrize("command", ["rm -r tests; echo x > tests", "rm -r tests; ln -s /etc tests"])
def test_what_took_the_place_of_a_folder_goes_away_and_the_folder_comes_back(bench: Bench, command: str) -> None:
    before = (bench.tree / "tests/test_calc.py").read_bytes()
    bench.call("run_command", command=command)
    assert bench.call("revert_file", file_path="tests").data["files"] == [{"path": "tests", "now": "absent"}]
    assert not bench.call("revert_file", file_path="tests/test_calc.py").is_error
    assert (bench.tree / "tests/test_calc.py").read_bytes() == before


@pytest.mark.parametrize("path", [".", "tests/..", "/workspace"])
def test_the_workspace_itself_is_no_file_to_revert(bench: Bench, path: str) -> None:
    assert bench.call("revert_file", file_path=path).code == "IS_DIRECTORY"


def test_a_name_that_looks_like_an_escaped_byte_is_put_back(bench: Bench) -> None:
    name = "\\xff.txt"
    bench.call("write_file", file_path=name, content="x\n")
    assert "xff.txt" in bench.call("check_changes").content
    assert bench.call("revert_file", file_path=name).data["files"] == [{"path": name, "now": "absent"}]
    assert not (bench.tree / name).exists()


def test_a_refusal_names_no_file_that_the_policy_hides(bench: Bench) -> None:
    bench.policy = Policy(hidden=["tests/**", "new/secret"])
    assert "test_calc" not in bench.call("revert_file", file_path="tests").content
    bench.call(
        "run_command", command="rm README.md; mkdir README.md; echo a > README.md/open; echo b > README.md/secret"
    )
    bench.policy = Policy(hidden=["README.md/secret"])
    refused = bench.call("revert_file", file_path="README.md")
    assert (refused.code, "open" in refused.content, "secret" in refused.content) == ("IS_DIRECTORY", True, False)


def test_a_new_file_that_a_rule_ignores_goes_away(bench: Bench) -> None:
    bench.write(".gitignore", "out/\n")
    bench.call("run_command", command="true")
    bench.call("write_file", file_path="out/new", content="x\n")
    result = bench.call("revert_file", file_path="out/new")
    assert [each["now"] for each in result.data["files"]] == ["absent"]
    assert not (bench.tree / "out/new").exists()
