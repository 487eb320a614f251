"""revert_file, finish_task, submit_review."""

import pytest

from tests.agents.tools.bench import Bench

pytestmark = pytest.mark.django_db


def test_changed_new_and_deleted_files_go_back(bench: Bench) -> None:
    before = (bench.tree / "calc.py").read_bytes()
    bench.call("read_file", file_path="calc.py")
    bench.call("edit_file", file_path="calc.py", old_string="a - b", new_string="a + b")
    bench.call("write_file", file_path="new.txt", content="x")
    bench.call("run_command", command="rm README.md")
    for path in ("calc.py", "new.txt", "README.md"):
        assert not bench.call("revert_file", file_path=path).is_error
    assert (bench.tree / "calc.py").read_bytes() == before
    assert (bench.tree / "README.md").exists()
    assert not (bench.tree / "new.txt").exists()
    assert "Nothing is changed" in bench.call("check_changes").content


def test_a_reverted_file_must_be_read_again(bench: Bench) -> None:
    bench.call("read_file", file_path="calc.py")
    bench.call("edit_file", file_path="calc.py", old_string="a - b", new_string="a + b")
    bench.call("revert_file", file_path="calc.py")
    assert bench.call("edit_file", file_path="calc.py", old_string="a - b", new_string="x").code == "NOT_READ"


def test_a_revert_can_be_undone(bench: Bench) -> None:
    bench.call("read_file", file_path="calc.py")
    bench.call("edit_file", file_path="calc.py", old_string="a - b", new_string="a + b")
    bench.call("revert_file", file_path="calc.py")
    assert not bench.call("revert_file", file_path="calc.py", to=1).is_error
    assert "a + b" in (bench.tree / "calc.py").read_text()


def test_a_path_that_never_was_has_no_baseline(bench: Bench) -> None:
    assert bench.call("revert_file", file_path="*.py").code == "NO_BASELINE"


def test_a_link_is_reverted_itself(bench: Bench) -> None:
    outside = bench.tree.parent / "victim.txt"
    outside.write_text("safe\n")
    (bench.tree / "calc.py").unlink()
    (bench.tree / "calc.py").symlink_to(outside)
    assert not bench.call("revert_file", file_path="calc.py").is_error
    assert not (bench.tree / "calc.py").is_symlink()
    assert outside.read_text() == "safe\n"


def test_a_protected_path_is_not_reverted(bench: Bench) -> None:
    assert bench.call("revert_file", file_path=".sakura/memory.md").code == "PROTECTED_PATH"


def test_the_claim_of_a_finished_task_is_kept_verbatim(bench: Bench) -> None:
    claim = {"summary": "Mended.", "modified_files": ["calc.py"], "risk_level": "low", "test_result": "passed"}
    result = bench.call("finish_task", **claim)
    assert result.finish == claim == result.data


def test_a_review_is_checked_and_kept(bench: Bench) -> None:
    reviewer = Bench(bench.workspace, agent="reviewer")
    finding = {"severity": "major", "file": "calc.py", "line": 2, "message": "wrong", "suggestion": "add"}
    claim = {"verdict": "request_changes", "score": 4, "summary": "Not yet.", "findings": [finding]}
    assert reviewer.call("submit_review", **claim).finish == claim
    assert reviewer.call("submit_review", **(claim | {"score": 11})).code == "INVALID_INPUT"
    assert reviewer.call("submit_review", **(claim | {"verdict": "maybe"})).code == "INVALID_INPUT"
    assert bench.call("submit_review", **claim).code == "UNKNOWN_TOOL"
    assert reviewer.call("finish_task", summary="x").code == "UNKNOWN_TOOL"
