"""What every tool has in common."""

import json
from pathlib import Path

import pytest

from agents.tools import runner
from agents.tools.base import REGISTRY, Effect, Tool

TOOLS = [pytest.param(tool, id=name) for name, tool in sorted(REGISTRY.items())]


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_tells_a_model_what_it_needs(tool: Tool) -> None:
    schema = tool.schema()
    assert tool.name.isidentifier()
    assert len(tool.description) > 40
    assert "  " not in tool.description
    assert schema["additionalProperties"] is False
    assert json.dumps(schema)


@pytest.mark.parametrize("tool", TOOLS)
def test_who_gets_a_tool_follows_from_its_effect(tool: Tool) -> None:
    if tool.effect is Effect.WRITE:
        assert tool.agents == {"implementer"}
    elif tool.effect is Effect.FINISH:
        assert len(tool.agents) == 1
    else:
        assert tool.agents == {"implementer", "reviewer"}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_is_found_in_a_file_of_its_name(tool: Tool) -> None:
    assert Path(tool.run.__code__.co_filename).stem == tool.name  # type: ignore[attr-defined]


def test_the_smallest_toolset_is_enough_to_work() -> None:
    names = [tool.name for tool in runner.available("implementer", "minimal")]
    assert names == [
        "edit_file",
        "finish_task",
        "list_directory",
        "read_file",
        "run_command",
        "search_in_files",
        "write_file",
    ]


def test_a_reviewer_can_look_and_run_but_not_write() -> None:
    names = {tool.name for tool in runner.available("reviewer", "standard")}
    assert {"read_file", "run_command", "check_changes", "submit_review"} <= names
    assert not names & {"write_file", "edit_file", "revert_file", "finish_task"}
