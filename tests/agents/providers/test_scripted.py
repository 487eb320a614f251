"""The scripted model."""

import threading
import time
from typing import Any

import pytest

from agents.providers.base import Call, Cancelled, ModelTurn, ProviderError, Response, Stop, Trouble, Usage
from agents.providers.scripted import ScriptedProvider, validate_script
from tests.agents.providers.support import ask, request


def play(*entries: Any, position: int = 0, **fields: Any) -> Response:
    script = {"implementer": list(entries)}
    return ask(ScriptedProvider(), request("go", script=script, position=position, **fields))


def test_an_entry_is_played_with_its_text_calls_and_usage() -> None:
    call = {"name": "read_file", "input": {"file_path": "a.py"}}
    response = play({"text": "Look.", "tool_calls": [call], "usage": {"input_tokens": 900, "output_tokens": 40}})
    assert response.text == "Look."
    assert response.calls == (Call("implementer-0-0", "read_file", {"file_path": "a.py"}),)
    assert (response.usage, response.stop) == (Usage(900, 40), Stop.TOOL_CALLS)


def test_each_agent_and_position_has_its_own_line() -> None:
    script = {"implementer": [{"text": "one"}, {"text": "two"}], "reviewer": [{"text": "three"}]}
    said = [
        ask(ScriptedProvider(), request(agent=agent, position=position, script=script)).text
        for agent, position in (("implementer", 0), ("implementer", 1), ("reviewer", 0))
    ]
    assert said == ["one", "two", "three"]


@pytest.mark.parametrize("script", [None, {}, {"implementer": []}, {"implementer": "x"}, {"reviewer": [{"text": "x"}]}])
def test_past_its_end_a_script_says_so(script: Any) -> None:
    response = ask(ScriptedProvider(), request(script=script, position=3))
    assert (response.text, response.calls, response.stop) == ("(end of script)", (), Stop.END)


def test_a_text_is_streamed_in_pieces() -> None:
    said: list[str] = []
    text = "A sentence that is long enough to be streamed in a few pieces. " * 30
    response = ask(ScriptedProvider(), request(script={"implementer": [{"text": text}]}), said.append)
    assert "".join(said) == text == response.text
    assert 10 < len(said) <= 40


def test_the_same_position_gives_the_same_call_ids() -> None:
    entry = {"tool_calls": [{"name": "a"}, {"name": "b", "id": "mine"}, {"name": "c", "id": "mine"}]}
    ids = [call.call_id for call in play(entry, entry, position=1).calls]
    assert ids == ["implementer-1-0", "mine", "implementer-1-2"]


def test_an_id_of_an_earlier_response_is_not_used_again() -> None:
    script = {"implementer": [{"tool_calls": [{"name": "a", "id": "mine"}, {"name": "b", "id": "other"}]}]}
    turn = ModelTurn("", (Call("mine", "a", {}),))
    response = ask(ScriptedProvider(), request(turn, script=script))
    assert [call.call_id for call in response.calls] == ["implementer-0-0", "other"]


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([{"name": "read_file", "input": "{broken"}], ("read_file", "{broken")),
        ([{"name": "read_file", "input": [1]}], ("read_file", [1])),
        ([{"name": "read_file", "input": None}], ("read_file", None)),
        ([{"name": "read_file"}], ("read_file", {})),
        ([{"input": {"a": 1}}], ("", {"a": 1})),
        ([{"name": 5, "odd": True}], ("5", {})),
        (["read_file"], ("", "read_file")),
        ({"name": "read_file", "input": {}}, ("read_file", {})),
        ("read_file", ("", "read_file")),
    ],
)
def test_a_malformed_call_comes_out_as_a_model_would_botch_it(calls: Any, expected: tuple[str, Any]) -> None:
    (call,) = play({"tool_calls": calls}).calls
    assert (call.name, call.input) == expected


@pytest.mark.parametrize(
    "entry", ["words", 5, None, {"text": 5, "usage": "x", "delay_ms": "x", "error": "x", "odd": 1}]
)
def test_a_malformed_entry_is_played_as_words(entry: Any) -> None:
    assert play(entry).stop is Stop.END


def test_a_delay_is_kept() -> None:
    started = time.monotonic()
    play({"text": "Slowly, in several pieces.", "delay_ms": 80})
    assert time.monotonic() - started >= 0.075


def test_a_delay_ends_when_the_run_is_cancelled() -> None:
    cancelled = threading.Event()
    threading.Timer(0.1, cancelled.set).start()
    started = time.monotonic()
    with pytest.raises(Cancelled):
        ScriptedProvider().respond(request(script={"implementer": [{"delay_ms": 60_000}]}), lambda _: None, cancelled)
    assert time.monotonic() - started < 5


def test_a_scripted_error_fails_as_often_as_it_says() -> None:
    provider = ScriptedProvider()
    error = {"trouble": "rate_limit", "sentence": "Slow down.", "retryable": True, "retry_after_s": 2, "times": 1}
    asked = request(script={"implementer": [{"text": "At last.", "error": error}]})
    with pytest.raises(ProviderError, match="Slow down") as caught:
        ask(provider, asked)
    assert (caught.value.trouble, caught.value.retryable, caught.value.retry_after_s) == (Trouble.RATE_LIMIT, True, 2)
    assert ask(provider, asked).text == "At last."


def test_a_good_script_has_no_complaints() -> None:
    script = {
        "implementer": [{"text": "x", "tool_calls": [{"name": "no_such_tool", "input": "{broken", "id": "a"}]}],
        "reviewer": [{"usage": {"input_tokens": 1}, "delay_ms": 5, "error": {"trouble": "timeout"}}],
    }
    assert validate_script(script) == []


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ([], "The script must be an object"),
        ({"tester": []}, "tester: is no agent"),
        ({"implementer": {}}, "implementer: must be a list"),
        ({"implementer": ["x"]}, "implementer[0]: must be an object"),
        ({"implementer": [{"txt": "x"}]}, "implementer[0].txt: is unknown"),
        ({"implementer": [{"text": 5}]}, "implementer[0].text: must be a text"),
        ({"implementer": [{}, {"delay_ms": -1}]}, "implementer[1].delay_ms: must be a number"),
        ({"implementer": [{"usage": {"input_tokens": "x"}}]}, "implementer[0].usage.input_tokens: must be a number"),
        ({"implementer": [{"tool_calls": {}}]}, "implementer[0].tool_calls: must be a list"),
        ({"implementer": [{"tool_calls": ["x"]}]}, "implementer[0].tool_calls[0]: must be an object"),
        ({"reviewer": [{"tool_calls": [{"input": {}}]}]}, "reviewer[0].tool_calls[0].name: must be the name"),
    ],
)
def test_a_complaint_names_the_path(script: Any, complaint: str) -> None:
    (found,) = validate_script(script)
    assert found.startswith(complaint)


def test_complaints_are_bounded() -> None:
    assert len(validate_script({"implementer": ["x"] * 500})) == 21
