"""A whole run by both protocols, against a model server that others wrote."""

from collections.abc import Callable

import pytest
from pytest_django import Settings

from agents.models import Kind, Run, Status
from tests.agents.providers.conftest import Mock
from tests.conftest import work_once

MODELS = """
[[models]]
name = "by-anthropic"
provider = "anthropic"
id = "claude-test"
base_url = "{url}"
context_window = 200000
prices = {{ input = 3, output = 15 }}

[[models]]
name = "by-openai"
provider = "openai"
id = "gpt-test"
base_url = "{url}/v1"
context_window = 200000
prices = {{ input = 3, output = 15 }}
"""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("model", ["by-anthropic", "by-openai"])
def test_a_real_protocol_carries_a_run_to_the_human(
    launch: Callable[..., Run], mock: Mock, settings: Settings, model: str
) -> None:
    settings.SAKURA_MODELS = MODELS.format(url=mock.url)
    launch(None, model=model, prompt="Mend the subtraction that calls itself add.")
    run = work_once()
    assert run is not None
    assert (run.state, run.reason) == (Status.AWAITING_HUMAN, "The reviewer approved.")
    results = [event.data for event in run.events.filter(kind=Kind.TOOL_RESULT).order_by("seq")]
    assert [result["tool"] for result in results] == [
        "read_file", "glob", "edit_file", "run_command", "finish_task", "check_changes", "submit_review",
    ]  # fmt: skip
    assert not any(result["is_error"] for result in results)
    assert results[3]["content"].startswith("5")
    assert run.usd > 0
    assert run.input_tokens > 0
