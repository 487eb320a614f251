"""One call: what is wrong with it, how it is bounded, and that nothing escapes as an exception."""

import errno
from typing import Any

import pytest

from agents.providers.base import Call
from agents.tools import runner
from agents.tools.base import ToolError
from tests.agents.tools.bench import Bench
from workspaces import outputs

pytestmark = pytest.mark.django_db


def refused(name: str, arguments: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        runner.prepare(Call("1", name, arguments), runner.available("implementer", "standard"))
    return caught.value


def test_an_unknown_tool_is_told_the_names() -> None:
    error = refused("Bash", {})
    assert error.code == "UNKNOWN_TOOL"
    assert "run_command" in error.message


def test_an_unknown_argument_is_told_the_right_names() -> None:
    error = refused("read_file", {"filename": "a"})
    assert error.code == "INVALID_INPUT"
    assert "'file_path' is missing" in error.message
    assert "file_path, offset, limit" in error.message


@pytest.mark.parametrize("arguments", ['{"file_path": "a', "[1]", '"x"', ["a"], None, 3])
def test_arguments_that_are_no_object_are_invalid(arguments: Any) -> None:
    assert refused("read_file", arguments).code == "INVALID_INPUT"


def test_cut_off_json_is_called_that() -> None:
    assert "cut off" in refused("write_file", '{"file_path": "a", "content": "xx').message


def test_the_two_names_that_models_mix_up_are_accepted() -> None:
    tools = runner.available("implementer", "standard")
    prepared = runner.prepare(Call("1", "read_file", {"path": "a"}), tools)
    assert getattr(prepared.args, "file_path", "") == "a"
    prepared = runner.prepare(Call("1", "run_command", {"command": "true", "timeout": 5}), tools)
    assert getattr(prepared.args, "timeout_ms", 0) == 5


def test_the_schema_shows_the_right_name_only() -> None:
    properties = {tool.name: tool.schema()["properties"] for tool in runner.available("implementer", "standard")}
    assert "path" not in properties["read_file"]
    assert "timeout" not in properties["run_command"]


def test_the_resolved_path_is_kept_beside_the_input(bench: Bench) -> None:
    (bench.tree / "link").symlink_to("calc.py")
    tools = runner.available("implementer", "standard")
    prepared = runner.prepare(Call("1", "read_file", {"file_path": "/workspace/link"}), tools, bench.tree)
    assert prepared.resolved == {"file_path": "calc.py"}


def test_a_failure_is_a_result_for_the_model(bench: Bench) -> None:
    result = bench.call("read_file", file_path="nope.txt")
    assert (result.is_error, result.code) == (True, "NOT_FOUND")
    assert result.content.startswith("<tool_use_error>NOT_FOUND: nope.txt ")
    assert result.content.endswith("</tool_use_error>")


def test_a_bug_in_a_tool_is_a_result_without_its_details(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workspaces.paths.open_file", lambda *_: 1 / 0)
    result = bench.call("read_file", file_path="calc.py")
    assert result.code == "INTERNAL_ERROR"
    assert "ZeroDivision" not in result.content
    assert "ZeroDivisionError" in result.data["traceback"]


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.EROFS, "WORKSPACE_WRITE_PERMISSION_DENIED"),
        (errno.ENOSPC, "DISK_FULL"),
        (errno.EDQUOT, "DISK_FULL"),
        (errno.ELOOP, "INVALID_INPUT"),
    ],
)
def test_what_the_system_says_is_translated(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, "no", str(bench.tree / "x"))

    monkeypatch.setattr("workspaces.files.os.fsync", fail)
    result = bench.call("write_file", file_path="x", content="new")
    assert result.code == code
    assert str(bench.tree) not in result.content
    assert not (bench.tree / "x").exists()


def test_a_cancelled_run_begins_no_call(bench: Bench) -> None:
    bench.cancelled.set()
    assert bench.call("read_file", file_path="calc.py").code == "CANCELLED"


def test_a_long_result_keeps_head_and_tail_and_is_stored_whole(bench: Bench) -> None:
    for number in range(500):
        bench.write(f"{'long_name_' * 8}{number:03}.txt", "x")
    result = bench.call("list_directory")
    assert result.truncated
    assert len(result.content) < 21_000
    assert "long_name_000" in result.content.replace("long_name_" * 7, "")
    assert "characters left out" in result.content
    whole = (bench.workspace.outputs / result.output_ref).read_text()
    assert whole.count("long_name_" * 8) == 497


def test_an_id_of_a_call_can_name_no_file_elsewhere() -> None:
    assert "/" not in outputs.ref_of("../../etc/passwd")
    assert outputs.ref_of("a/b") != outputs.ref_of("a_b")


def test_a_name_without_end_is_cut_in_the_answer() -> None:
    assert len(refused("x" * 1_000_000, {}).message) < 2000
    assert len(refused("read_file", {"y" * 1_000_000: 1}).message) < 2000
