"""check_changes: what differs from the baseline as the tree lies there now, bounded, with nothing hidden shown."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from django.db import connections

from agents.models import Policy
from tests.agents.tools.bench import Bench
from workspaces import known, snapshots, store
from workspaces.models import Snapshot, Workspace

pytestmark = pytest.mark.django_db


def rows(bench: Bench, **arguments: Any) -> dict[str, dict[str, Any]]:
    data = bench.call("check_changes", **arguments).data
    return {row["path"]: row for row in data["files"]}


def test_nothing_changed_is_a_plain_answer(bench: Bench) -> None:
    for mode in ("summary", "full"):
        result = bench.call("check_changes", mode=mode)
        assert result.content == "Nothing is changed against the baseline."
        assert (result.data["files"], result.data["total"]) == ([], 0)


def test_what_no_snapshot_has_seen_yet_is_compared_and_makes_none(bench: Bench) -> None:
    bench.write("calc.py", "changed\n")
    bench.write("new.txt", "new\n")
    (bench.tree / "README.md").unlink()
    found = rows(bench)
    assert {path: row["status"] for path, row in found.items()} == {
        "README.md": "deleted", "calc.py": "modified", "new.txt": "added",
    }  # fmt: skip
    assert Snapshot.objects.filter(workspace=bench.workspace).count() == 1
    bench.write("new.txt", "newer\nlines\n")
    assert rows(bench)["new.txt"]["additions"] == 2
    assert snapshots.take(bench.workspace, call_id="x", step=1, paths=None) is not None


def test_what_was_staged_or_committed_since_is_compared_all_the_same(bench: Bench) -> None:
    bench.write("calc.py", "changed\n")
    bench.call("run_command", command="git add -A && git commit -qm x && git rm -q README.md")
    assert {path: row["status"] for path, row in rows(bench).items()} == {"README.md": "deleted", "calc.py": "modified"}


def test_renames_modes_links_and_binaries_are_told(bench: Bench) -> None:
    (bench.tree / "calc.py").rename(bench.tree / "sums.py")
    (bench.tree / "tests" / "test_calc.py").chmod(0o755)
    (bench.tree / "README.md").unlink()
    (bench.tree / "README.md").symlink_to("sums.py")
    bench.write("img.bin", b"\x00\x01\x02")
    result = bench.call("check_changes", mode="full")
    assert "renamed   calc.py → sums.py (+0 −0)" in result.content
    assert "tests/test_calc.py (+0 −0, mode 100644 → 100755)" in result.content
    assert "img.bin (binary, 3 bytes)" in result.content
    by_path = {row["path"]: row for row in result.data["files"]}
    assert (by_path["README.md"]["status"], by_path["README.md"]["new_mode"]) == ("type", "120000")
    assert (by_path["img.bin"]["binary"], by_path["img.bin"]["size_new"]) == (True, 3)
    assert "+sums.py" in result.content  # the link's target, after the file that went
    assert "-# calc" in result.content


def test_full_shows_each_files_own_diff(bench: Bench) -> None:
    bench.write("a.txt", "diff --git a/x b/x\n--- a/x\n@@ -1 +1 @@\n")
    bench.write("b\nc.txt", "b\n")
    bench.write("calc.py", (bench.tree / "calc.py").read_text().replace("a - b", "a + b"))
    content = bench.call("check_changes", mode="full").content
    own = {part.split("\n", 1)[0]: part.split("\n", 1)[1] for part in content.split("\n\n--- ")[1:]}
    assert own["a.txt"].split("\n")[1:4] == ["+diff --git a/x b/x", "+--- a/x", "+@@ -1 +1 @@"]
    assert "-    return a - b\n+    return a + b" in own["calc.py"]
    assert "+b" in content


def test_the_fact_names_the_tree_and_how_to_renew_it(bench: Bench) -> None:
    bench.write("calc.py", "changed\n")
    fact = bench.call("check_changes", mode="full", paths=["./calc.py"]).data["fact"]
    assert (fact["source"], fact["freshness"], fact["refresh"]) == (
        "check_changes", "derived", "check_changes full ./calc.py",
    )  # fmt: skip
    taken = snapshots.take(bench.workspace, call_id="x", step=1, paths=None)
    assert taken is not None
    assert fact["fingerprint"] == taken.tree


# --- paths -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["tests", "tests/", "./tests", "/workspace/tests", "tests/test_calc.py"])
def test_paths_name_files_or_folders(bench: Bench, path: str) -> None:
    bench.write("calc.py", "changed\n")
    bench.write("tests/test_calc.py", "changed\n")
    for mode in ("summary", "full"):
        assert list(rows(bench, paths=[path], mode=mode)) == ["tests/test_calc.py"]


def test_the_root_is_everything(bench: Bench) -> None:
    bench.write("calc.py", "changed\n")
    assert list(rows(bench, paths=["."])) == ["calc.py"]


def test_a_renamed_file_is_found_by_either_name_with_its_diff(bench: Bench) -> None:
    text = (bench.tree / "calc.py").read_text()
    (bench.tree / "calc.py").unlink()
    bench.write("sums.py", text.replace("a - b", "a + b"))
    for path in ("calc.py", "sums.py"):
        result = bench.call("check_changes", mode="full", paths=[path])
        assert [row["status"] for row in result.data["files"]] == ["renamed"]
        assert "+    return a + b" in result.content


def test_a_path_without_a_change_is_told_why(bench: Bench) -> None:
    bench.write("README.md", "changed\n")
    content = bench.call("check_changes", paths=["calc.py", "no/such", "README.md"]).content
    assert "calc.py is as it was at the baseline." in content
    assert "no/such does not exist, now or at the baseline." in content
    assert "modified  README.md" in content
    assert bench.call("check_changes", paths=["../x"]).code == "OUTSIDE_WORKSPACE"


def test_an_ignored_file_is_said_to_be_ignored(ignoring: Bench) -> None:
    ignoring.write("a.log", "x\n")
    assert "a.log is ignored" in ignoring.call("check_changes", paths=["a.log"]).content


# --- what is hidden ----------------------------------------------------------------------------------


def test_a_hidden_file_is_named_without_what_is_in_it(workspace: Workspace) -> None:
    bench = Bench(workspace, policy=Policy(hidden=["secrets/**"]))
    bench.write("secrets/key.txt", "the very secret\n")
    bench.write("calc.py", "changed\n")
    result = bench.call("check_changes", mode="full")
    assert "secrets/key.txt (hidden by policy)" in result.content
    assert "the very secret" not in result.content + str(result.data)
    assert {row["path"]: row["hidden"] for row in result.data["files"]} == {"calc.py": False, "secrets/key.txt": True}


def test_a_hidden_file_stays_hidden_when_it_is_renamed_or_asked_for_alone(workspace: Workspace) -> None:
    bench = Bench(workspace, policy=Policy(hidden=["calc.py"]))
    text = (bench.tree / "calc.py").read_text()
    (bench.tree / "calc.py").unlink()
    bench.write("open.py", text + "# more\n")
    content = bench.call("check_changes", mode="full", paths=["open.py"]).content
    assert "hidden by policy" in content
    assert "# more" not in content


# --- bounds ------------------------------------------------------------------------------------------


def test_long_diffs_are_cut_per_file_and_say_where_the_rest_is(bench: Bench) -> None:
    for name in ("long_a.txt", "long_b.txt"):
        bench.write(name, "".join(f"{name} line {number}\n" for number in range(5000)))
    bench.write("short.txt", "short\n")
    result = bench.call("check_changes", mode="full")
    assert len(result.content) <= bench.limits.changes_chars + 100
    assert "+short" in result.content
    for name in ("long_a.txt", "long_b.txt"):
        assert f'paths ["{name}"]' in result.content
        assert f"+{name} line 100\n" in result.content
    assert (result.truncated, result.data["cut"]) == (True, ["long_a.txt", "long_b.txt"])
    whole = (bench.workspace.outputs / result.output_ref).read_text()
    assert "+long_b.txt line 4999" in whole


def test_a_diff_cut_alone_names_the_line_to_read_on_from(bench: Bench) -> None:
    bench.write("long.txt", "".join(f"line {number}\n" for number in range(1, 9001)))
    content = bench.call("check_changes", mode="full", paths=["long.txt"]).content
    last = int(content.split("\n[…")[0].rpartition("+line ")[2])
    assert f"read_file long.txt from line {last + 1}]" in content
    assert "more lines of this diff" in content


def test_many_files_are_counted_in_full_and_listed_in_part(bench: Bench) -> None:
    for number in range(400):
        bench.write(f"folder/file{number}.txt", f"{number}\n")
    for mode in ("summary", "full"):
        result = bench.call("check_changes", mode=mode)
        assert (result.data["total"], len(result.data["files"])) == (400, 300)
        assert "of 400 files shown" in result.content
        assert "[400 files differ from the baseline, +400 −0]" in result.content
        assert len(result.content) <= bench.limits.changes_chars + 200
        assert result.truncated


def test_a_file_over_50_mb_is_told_by_its_size(bench: Bench) -> None:
    with bench.write("big.bin", b"").open("wb") as file:
        file.truncate(store.STORED_LIMIT + 1)
    for _ in range(2):
        result = bench.call("check_changes", mode="full")
        assert f"big.bin (over 50 MB, {store.STORED_LIMIT + 1:,} bytes)" in result.content
        assert "not stored" not in result.content
        known.memory._known.clear()  # as after a restart


def test_a_nul_far_into_a_text_does_not_mislead(bench: Bench) -> None:
    bench.write("a.txt", b"x\n" * 9000 + b"\0:100644 y\n")
    bench.write("b.txt", "b\n")
    found = rows(bench, mode="full")
    assert list(found) == ["a.txt", "b.txt"]
    assert found["b.txt"]["additions"] == 1


@pytest.mark.django_db(transaction=True)
def test_reads_at_the_same_time_agree(bench: Bench) -> None:
    bench.write("calc.py", "changed\n")
    bench.write("new.txt", "x\n")

    def look(number: int) -> tuple[str, ...]:
        try:
            own = replace(bench)
            own.step = number * 10
            data = own.call("check_changes", mode="full").data
            return (data["tree"], *(row["path"] for row in data["files"]))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(look, range(16)))
    assert len(answers) == 1
    assert next(iter(answers))[1:] == ("calc.py", "new.txt")
    assert snapshots.take(bench.workspace, call_id="x", step=1, paths=None) is not None


@pytest.mark.parametrize("path", ["/workspace", "/workspace/", ".", "tests/.."])
def test_the_whole_workspace_can_be_asked_for_by_any_of_its_names(bench: Bench, path: str) -> None:
    bench.write("calc.py", "changed\n")
    assert "calc.py" in bench.call("check_changes", paths=[path]).content
    assert "calc.py" in bench.call("check_changes", paths=[str(bench.tree)]).content


def test_what_can_not_be_kept_is_told(bench: Bench) -> None:
    bench.call("run_command", command="mkfifo pipe; for n in $(seq 60); do mkfifo tests/$n; done; echo x > new")
    result = bench.call("check_changes")
    assert "Not kept, so in no diff and no branch:\n  pipe: it is a device, FIFO or socket\n" in result.content
    assert "… and 51 more" in result.content
    assert (result.data["left_out"][0]["path"], result.data["left_out_count"]) == ("pipe", 61)
    assert "pipe" not in bench.call("check_changes", paths=["tests/7"]).content
    bench.call("run_command", command="rm new")
    assert "Nothing is changed" in bench.call("check_changes").content
    assert "pipe" in bench.call("check_changes").content
