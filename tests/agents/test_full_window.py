"""What a model is told over the wire when its window or a budget fills, by a server that refuses what does not fit."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from agents.conversation import MASKED, TOO_MUCH
from agents.models import Budgets, Kind, Run, Status
from tests.agents.providers.conftest import Loopback, refuse, stream
from tests.conftest import git, work_once

pytestmark = pytest.mark.django_db(transaction=True)

WINDOW = 32_000
FILES = ("one.txt", "two.txt", "three.txt")
FINISH = ("finish_task", {"summary": "Read it.", "modified_files": ["note.txt"], "risk_level": "low"})
NOTE = ("write_file", {"file_path": "note.txt", "content": "x\n"})
APPROVE = ("submit_review", {"verdict": "approve", "score": 7, "summary": "Fine.", "findings": []})
AGAIN = ("submit_review", {"verdict": "request_changes", "score": 4, "summary": "Read it again.", "findings": []})
MODEL = """
[[models]]
name = "small"
provider = "openai"
id = "small"
base_url = "{url}"
context_window = {window}
max_output_tokens = {output}
"""

Asked = tuple[str, dict[str, Any]]


def read(name: str) -> Asked:
    return ("read_file", {"file_path": name})


@dataclass
class SmallModel:
    """Plays turns of calls, and refuses a request that does not fit into its window with the answer it may give."""

    implementer: list[list[Asked]]
    reviewer: list[list[Asked]] = field(default_factory=lambda: [[APPROVE]])
    taken: list[dict[str, Any]] = field(default_factory=list)
    refused: int = 0
    reviews: int = 0

    def answer(self, body: dict[str, Any], handler: BaseHTTPRequestHandler) -> None:
        prompt = tokens_of(body)
        if prompt + body["max_tokens"] > WINDOW:
            self.refused += 1
            wanted = prompt + body["max_tokens"]
            told = f"This model's maximum context length is {WINDOW} tokens, you requested {wanted}."
            refuse(handler, 400, {"error": {"message": told, "code": "context_length_exceeded"}})
            return
        self.taken.append(body)
        made = [call_chunk(index, call, len(self.taken)) for index, call in enumerate(self._calls(body))]
        usage = {"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": 20}}
        stream(handler, *made, chunk({}, "tool_calls"), usage, "[DONE]")

    def _calls(self, body: dict[str, Any]) -> list[Asked]:
        if "submit_review" in json.dumps(body["tools"]):
            self.reviews += 1
            return self.reviewer[self.reviews - 1]
        return self.implementer[sum(message["role"] == "assistant" for message in body["messages"])]


def tokens_of(body: dict[str, Any]) -> int:
    return len(json.dumps([body["messages"], body["tools"]])) // 4


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call_chunk(index: int, call: Asked, number: int) -> dict[str, Any]:
    function = {"name": call[0], "arguments": json.dumps(call[1])}
    given = {"index": index, "id": f"call_{number}_{index}", "type": "function", "function": function}
    return chunk({"tool_calls": [given]})


def results_in(body: dict[str, Any]) -> list[str]:
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


@pytest.fixture
def source(source: Path) -> Path:
    """The source with three files of 60,000 characters each."""
    for name in FILES:
        (source / name).write_text("".join(f"{name} {number:6} {'-' * 44}"[:59] + "\n" for number in range(1000)))
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "Big files")
    return source


@pytest.fixture
def play(launch: Callable[..., Run], loopback: Loopback, settings: Settings) -> Callable[..., Run]:
    """Let a small model play a whole run: play(model, output=…, **fields of the task)."""

    def run(model: SmallModel, output: int = 4000, **fields: Any) -> Run:
        settings.SAKURA_MODELS = MODEL.format(url=loopback.url, window=WINDOW, output=output)
        loopback.answer = lambda handler: model.answer(loopback.bodies[-1], handler)
        launch(None, model="small", **fields)
        done = work_once()
        assert done is not None
        return done

    return run


def test_three_big_reads_do_not_end_the_run(play: Callable[..., Run]) -> None:
    model = SmallModel([[read(name)] for name in FILES] + [[NOTE], [FINISH]])
    run = play(model)
    assert (run.state, run.reason) == (Status.AWAITING_HUMAN, "The reviewer approved.")
    last = results_in(model.taken[4])
    assert last[:2] == [MASKED, MASKED]
    assert "three.txt" in last[2]
    assert model.refused == 0
    notes = [event.data["text"] for event in run.events.filter(kind=Kind.NOTE).order_by("seq")]
    assert "old results, up to step 1, were taken out" in notes[0]


def test_a_masked_file_that_is_read_again_is_answered_in_full(play: Callable[..., Run]) -> None:
    reads = [*FILES, "one.txt", "one.txt"]
    model = SmallModel([[read(name)] for name in reads] + [[NOTE], [FINISH]])
    assert play(model).state is Status.AWAITING_HUMAN
    after_again, after_both = results_in(model.taken[4]), results_in(model.taken[5])
    assert after_again[0] == MASKED
    assert after_again[3].count("one.txt") == 1000
    assert "unchanged since your read at step 4" in after_both[4]
    assert after_both[3].count("one.txt") == 1000


def test_three_big_reads_in_one_turn_do_not_end_the_run(play: Callable[..., Run]) -> None:
    model = SmallModel([[read(name) for name in FILES], [read("one.txt")], [NOTE], [FINISH]])
    run = play(model)
    assert (run.state, run.reason) == (Status.AWAITING_HUMAN, "The reviewer approved.")
    assert results_in(model.taken[1]).count(TOO_MUCH) == 2
    assert results_in(model.taken[2])[3].count("one.txt") == 1000


def test_a_long_answer_gives_way_before_the_only_result_does(play: Callable[..., Run]) -> None:
    model = SmallModel([[read("one.txt")], [NOTE], [FINISH]])
    assert play(model, output=16_000).state is Status.AWAITING_HUMAN
    assert results_in(model.taken[1])[0].count("one.txt") == 1000
    assert model.taken[1]["max_tokens"] < 16_000


def test_a_new_round_begins_with_what_fits_though_the_results_are_back(play: Callable[..., Run]) -> None:
    reads = [[read(name)] for name in (*FILES, *FILES)]
    model = SmallModel([*reads, [NOTE], [FINISH], [FINISH]], [[AGAIN], [APPROVE]])
    run = play(model)
    assert (run.state, run.reason, run.round) == (Status.AWAITING_HUMAN, "The reviewer approved.", 2)
    assert model.refused == 0


def test_an_agent_is_told_once_that_a_budget_is_nearly_used_up(play: Callable[..., Run]) -> None:
    look = ("list_directory", {"path": "."})
    model = SmallModel([[look]] * 8 + [[NOTE], [FINISH]])
    play(model, budgets=Budgets(steps=10).model_dump())
    told = [json.dumps(body["messages"]).count("8 of 10 steps are used; come to an end.") for body in model.taken[:10]]
    assert told == [0] * 8 + [1, 1]
