"""Streams of servers that speak a dialect, or badly."""

from typing import Any

import pytest

from agents.providers import anthropic_api, openai_api
from agents.providers.base import Call, ModelTurn, Response, Stop, Usage
from tests.agents.providers.conftest import Loopback, refuse, stream
from tests.agents.providers.support import ask, info, request


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def piece(arguments: Any, name: str | None = None, **fields: Any) -> dict[str, Any]:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return {"tool_calls": [{**fields, "function": function}]}


def openai_answer(loopback: Loopback, *chunks: object, **fields: Any) -> Response:
    loopback.answer = lambda handler: stream(handler, *chunks, "[DONE]")
    provider = openai_api.provider(info("openai", loopback.url, **fields), "")
    return ask(provider, request("hello", position=4))


def test_calls_without_id_and_with_index_zero_always_are_told_apart(loopback: Loopback) -> None:
    response = openai_answer(
        loopback,
        chunk(**piece('{"a":1}', "first", index=0)),
        chunk(**piece('{"b":', "second", index=0)),
        chunk(**piece("2}", index=0)),
        chunk("tool_calls"),
    )
    assert response.calls == (Call("implementer-4-0", "first", {"a": 1}), Call("implementer-4-1", "second", {"b": 2}))


def test_calls_with_the_same_index_and_other_ids_are_told_apart(loopback: Loopback) -> None:
    first, second = piece("{}", "same", index=0, id="one"), piece("{}", "same", index=0, id="two")
    response = openai_answer(loopback, chunk(**first), chunk("stop", **second))
    assert [call.call_id for call in response.calls] == ["one", "two"]
    assert response.stop is Stop.TOOL_CALLS


def test_a_server_that_repeats_id_and_name_in_each_piece_makes_one_call(loopback: Loopback) -> None:
    pieces = [chunk(**piece(part, "read", index=0, id="one")) for part in ('{"a"', ":1", "}")]
    assert openai_answer(loopback, *pieces, chunk("tool_calls")).calls == (Call("one", "read", {"a": 1}),)


def test_arguments_may_be_an_object_already(loopback: Loopback) -> None:
    response = openai_answer(loopback, chunk("tool_calls", **piece({"a": 1}, "read", index=0)))
    assert response.calls[0].input == {"a": 1}


@pytest.mark.parametrize("text", ['{"a": ', "[1]", "NaN", '{"a": NaN}', '{"a": 1e999}', "[" * 5000, "word"])
def test_arguments_that_are_no_object_stay_raw(loopback: Loopback, text: str) -> None:
    response = openai_answer(loopback, chunk("tool_calls", **piece(text, "read", index=0)))
    assert response.calls[0].input == text


def test_an_id_that_was_used_before_gets_another(loopback: Loopback) -> None:
    loopback.answer = lambda handler: stream(handler, chunk("stop", **piece("{}", "read", index=0, id="call_0")))
    provider = openai_api.provider(info("openai", loopback.url), "")
    before = ModelTurn("", (Call("call_0", "read", {}),), None, "openai")
    assert ask(provider, request("hello", before, position=1)).calls[0].call_id == "implementer-1-0"


def test_no_finish_reason_is_forgiven_when_the_answer_is_whole(loopback: Loopback) -> None:
    assert openai_answer(loopback, chunk(content="Hello")).stop is Stop.END
    assert openai_answer(loopback, chunk(**piece("{}", "read"))).stop is Stop.TOOL_CALLS


def test_usage_counts_the_whole_prompt_and_its_cached_part(loopback: Loopback) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}}
    response = openai_answer(loopback, chunk("stop", content="x"), {"choices": [], "usage": usage})
    assert response.usage == Usage(100, 7, 60)


def test_missing_usage_is_estimated(loopback: Loopback) -> None:
    usage = openai_answer(loopback, chunk("stop", content="x" * 40)).usage
    assert (usage.estimated, usage.output_tokens) == (True, 10)
    assert usage.input_tokens > 50


def test_a_server_that_does_not_stream_is_understood(loopback: Loopback) -> None:
    whole = {"choices": [{"message": {"role": "assistant", "content": "Whole."}, "finish_reason": "stop"}]}
    assert openai_answer(loopback, whole).text == "Whole."


def test_content_may_come_in_parts(loopback: Loopback) -> None:
    parts = [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]
    assert openai_answer(loopback, chunk("stop", content=parts)).text == "one two"


def test_nonsense_in_a_stream_is_passed_over(loopback: Loopback) -> None:
    nonsense = [[], 5, {"choices": None}, {"choices": [5]}, {"choices": [{"delta": 5}]}, chunk(tool_calls=[5, None])]
    assert openai_answer(loopback, *nonsense, chunk("stop", content="x")).text == "x"


def test_a_refusal_is_told_as_one(loopback: Loopback) -> None:
    response = openai_answer(loopback, chunk("stop", refusal="I can't help with that."))
    assert (response.text, response.stop) == ("I can't help with that.", Stop.REFUSAL)
    assert openai_answer(loopback, chunk("content_filter", content="x")).stop is Stop.REFUSAL


def test_what_a_server_hangs_on_a_call_goes_back_with_it(loopback: Loopback) -> None:
    extra = {"google": {"thought_signature": "abc"}}
    call = piece("{}", "read", index=0, id="one") | {}
    call["tool_calls"][0]["extra_content"] = extra
    first = openai_answer(loopback, chunk("tool_calls", **call))
    provider = openai_api.provider(info("openai", loopback.url), "")
    ask(provider, request("hello", ModelTurn(first.text, first.calls, first.blocks, "openai")))
    assert loopback.bodies[-1]["messages"][-1]["tool_calls"][0]["extra_content"] == extra


@pytest.mark.parametrize(
    ("complaint", "field", "value"),
    [
        ("Unknown field stream_options", "stream_options", None),
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'", "max_completion_tokens", 1000),
        ("Function tools with reasoning_effort: set reasoning_effort to 'none'", "reasoning_effort", "none"),
    ],
)
def test_a_refused_field_is_changed_once_and_for_all(
    loopback: Loopback, complaint: str, field: str, value: object
) -> None:
    def answer(handler: Any) -> None:
        if len(loopback.bodies) == 1:
            refuse(handler, 400, {"error": {"message": complaint}})
        else:
            stream(handler, chunk("stop", content="Now."))

    loopback.answer = answer
    provider = openai_api.provider(info("openai", loopback.url), "")
    assert ask(provider, request("hello")).text == "Now."
    ask(provider, request("hello"))
    assert len(loopback.bodies) == 3
    assert [body.get(field) for body in loopback.bodies[1:]] == [value, value]


def test_options_of_the_model_are_sent_as_they_stand(loopback: Loopback) -> None:
    openai_answer(loopback, chunk("stop", content="x"), options={"temperature": 0.2})
    assert loopback.bodies[-1]["temperature"] == 0.2
    assert loopback.bodies[-1]["max_tokens"] == 1000


def anthropic_answer(loopback: Loopback, *events: object) -> Response:
    loopback.answer = lambda handler: stream(handler, *events)
    return ask(anthropic_api.provider(info("anthropic", loopback.url), ""), request("hello"))


def block(index: int, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": fields}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def end(reason: str, **usage: int) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


START = {
    "type": "message_start",
    "message": {"model": "m", "usage": {"input_tokens": 10, "cache_read_input_tokens": 80}},
}


def test_usage_of_anthropic_counts_the_cached_tokens_in(loopback: Loopback) -> None:
    response = anthropic_answer(loopback, START, end("end_turn", output_tokens=5, cache_creation_input_tokens=3))
    assert response.usage == Usage(93, 5, 80, 3)


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", Stop.END),
        ("stop_sequence", Stop.END),
        ("max_tokens", Stop.LENGTH),
        ("model_context_window_exceeded", Stop.LENGTH),
        ("refusal", Stop.REFUSAL),
        ("pause_turn", Stop.PAUSE),
        ("a_new_reason", Stop.END),
    ],
)
def test_each_stop_reason_of_anthropic_is_known(loopback: Loopback, reason: str, stop: Stop) -> None:
    response = anthropic_answer(loopback, START, end(reason))
    assert (response.stop, response.raw_stop) == (stop, reason)


def test_a_call_that_was_cut_stays_raw_and_can_be_replayed(loopback: Loopback) -> None:
    call = block(0, type="tool_use", id="toolu_1", name="write_file", input={})
    part = delta(0, "input_json_delta", partial_json='{"file_path": "a')
    response = anthropic_answer(loopback, START, call, part, end("max_tokens"))
    assert response.calls == (Call("toolu_1", "write_file", '{"file_path": "a'),)
    assert response.stop is Stop.LENGTH
    assert response.blocks["content"][0]["input"] == {"malformed_arguments": '{"file_path": "a'}


def test_thinking_is_kept_with_its_signature_and_not_shown(loopback: Loopback) -> None:
    response = anthropic_answer(
        loopback,
        START,
        block(0, type="thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="Hm"),
        delta(0, "thinking_delta", thinking="m."),
        delta(0, "signature_delta", signature="c2ln"),
        block(1, type="redacted_thinking", data="eHg="),
        block(2, type="text", text=""),
        delta(2, "text_delta", text="Well."),
        end("end_turn"),
    )
    assert response.text == "Well."
    assert response.blocks["content"][:2] == [
        {"type": "thinking", "thinking": "Hmm.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "eHg="},
    ]


def test_several_texts_are_streamed_as_they_are_kept(loopback: Loopback) -> None:
    said: list[str] = []
    texts = [block(0, type="text", text="One."), block(1, type="text", text=""), delta(1, "text_delta", text="Two.")]
    loopback.answer = lambda handler: stream(handler, START, *texts, end("end_turn"))
    provider = anthropic_api.provider(info("anthropic", loopback.url), "")
    assert ask(provider, request("hello"), said.append).text == "".join(said) == "One.\n\nTwo."
