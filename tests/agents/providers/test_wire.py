"""Both protocols against a mock server that others wrote, and our requests against the makers' own types."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter, ValidationError

from agents.providers import anthropic_api, openai_api
from agents.providers.base import (
    Answer,
    AnswersTurn,
    Call,
    ModelTurn,
    Provider,
    ProviderError,
    Request,
    Response,
    Stop,
    Trouble,
    Turn,
    Usage,
    UserTurn,
)
from agents.providers.retry import respond_with_retries
from tests.agents.providers.conftest import Loopback, Mock, refuse
from tests.agents.providers.support import ask, info, request

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
MAKERS: dict[str, tuple[Callable[..., Provider], str]] = {
    "anthropic": (anthropic_api.provider, ""),
    "openai": (openai_api.provider, "/v1"),
}


@pytest.fixture(params=["anthropic", "openai"])
def maker(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def provider(maker: str, mock: Mock) -> Provider:
    make, path = MAKERS[maker]
    return make(info(maker, mock.url + path), "sk-test-0123456789")


def turn_of(response: Response, provider: Provider) -> ModelTurn:
    return ModelTurn(response.text, response.calls, response.blocks, provider.name)


def answers(response: Response, **fields: Any) -> AnswersTurn:
    return AnswersTurn(tuple(Answer(call.call_id, f"answer to {call.call_id}", **fields) for call in response.calls))


def test_a_response_has_its_text_its_parallel_calls_and_its_usage(provider: Provider) -> None:
    said: list[str] = []
    response = ask(provider, request("read the notes"), said.append)
    assert response.text == "".join(said) == "I will read both files first."
    assert response.calls == (
        Call("call_one", "read_file", {"file_path": "notes.md", "limit": 20}),
        Call("call_two", "read_file", {"file_path": "naïve – 夢.txt"}),
    )
    assert (response.usage, response.stop) == (Usage(120, 30), Stop.TOOL_CALLS)


def test_the_text_arrives_in_pieces(provider: Provider) -> None:
    said: list[str] = []
    ask(provider, request("read the notes"), said.append)
    assert len(said) > 1


def test_a_second_turn_sends_the_calls_and_their_results_back(provider: Provider) -> None:
    first = ask(provider, request("read the notes"))
    second = ask(provider, request("read the notes", turn_of(first, provider), answers(first), position=1))
    assert (second.text, second.calls, second.stop) == ("The notes say: hello.", (), Stop.END)


def test_a_model_may_think_before_a_call_without_arguments(provider: Provider) -> None:
    first = ask(provider, request("think first"))
    assert first.calls == (Call("call_three", "list_directory", {}),)
    assert "Let me think." in str(first.blocks)
    assert "Let me think." not in first.text
    second = ask(provider, request("think first", turn_of(first, provider), answers(first), position=1))
    assert second.text == "Done."


def test_usage_that_nobody_counted_is_estimated_and_says_so(maker: str, provider: Provider) -> None:
    usage = ask(provider, request("no usage")).usage
    assert usage.input_tokens > 0
    assert usage.output_tokens > 0
    assert usage.estimated or maker == "openai"  # the mock estimates for one protocol itself


def test_a_response_that_ran_out_of_room_says_so(provider: Provider) -> None:
    assert ask(provider, request("too long")).stop is Stop.LENGTH


def test_a_rate_limit_is_waited_out_as_long_as_the_server_asks(maker: str, provider: Provider) -> None:
    waits: list[tuple[str, float]] = []
    asked = request(f"busy once at {maker}")
    response = respond_with_retries(
        provider, asked, lambda _: None, threading.Event(), lambda sentence, seconds: waits.append((sentence, seconds))
    )
    assert response.text == "Now I have time."
    assert [seconds for _, seconds in waits] == [1.0]
    assert "limits the rate" in waits[0][0]


def test_an_internal_error_of_the_server_may_be_tried_again(provider: Provider) -> None:
    with pytest.raises(ProviderError, match="internal error") as caught:
        ask(provider, request("broken server"))
    assert (caught.value.trouble, caught.value.retryable) == (Trouble.OVERLOADED, True)


def test_a_stream_that_is_cut_off_is_no_response(provider: Provider) -> None:
    with pytest.raises(ProviderError, match="ended in the middle") as caught:
        ask(provider, request("cut me off"))
    assert (caught.value.trouble, caught.value.retryable) == (Trouble.BAD_ANSWER, True)


@pytest.mark.parametrize("rate", ["malformedRate", "disconnectRate", "dropRate"])
def test_chaos_ends_in_a_sentence_and_may_be_tried_again(provider: Provider, mock: Mock, rate: str) -> None:
    mock.chaos(**{rate: 1.0})
    with pytest.raises(ProviderError) as caught:
        ask(provider, request("read the notes"))
    assert caught.value.retryable
    assert "127.0.0.1" in caught.value.sentence


def test_the_mock_understands_the_whole_conversation(provider: Provider, mock: Mock) -> None:
    first = ask(provider, request("read the notes"))
    ask(provider, request("read the notes", turn_of(first, provider), answers(first), position=1))
    sent = mock.requests()[-1]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "tool"]
    assert [message["tool_call_id"] for message in sent[-2:]] == ["call_one", "call_two"]


def drained(value: Any) -> Any:
    """Return the value with every lazy iterable read, which validates what is inside."""
    match value:
        case str() | bytes():
            return value
        case Mapping():
            return {key: drained(item) for key, item in value.items()}
        case _ if hasattr(value, "__iter__"):
            return [drained(item) for item in value]
        case _:
            return value


PARAMETERS: dict[str, TypeAdapter[Any]] = {
    "anthropic": TypeAdapter(MessageCreateParamsStreaming),
    "openai": TypeAdapter(CompletionCreateParamsStreaming),
}


def sent_by(maker: str, loopback: Loopback, asked: Request, **fields: Any) -> dict[str, Any]:
    """Return the body that the provider puts on the wire for a request; the server refuses it."""
    loopback.answer = lambda handler: refuse(handler, 422, {"error": {"message": "Thank you."}})
    make, path = MAKERS[maker]
    with pytest.raises(ProviderError):
        ask(make(info(maker, loopback.url + path, **fields), "key"), asked)
    return loopback.bodies[-1]


def hard_turns(provider: Provider) -> list[Turn]:
    """Return a conversation with all that may stand in one: blocks, errors, images, foreign turns, odd ids."""
    first = ask(provider, request("think first"))
    results = answers(first, is_error=True, images=(("image/png", PIXEL),))
    foreign = ModelTurn("", (Call("functions.x:0", "read_file", "{not json"),), {"some": "blocks"}, "scripted")
    return [
        UserTurn("think first"),
        turn_of(first, provider),
        results,
        UserTurn("look again"),
        foreign,
        AnswersTurn((Answer("functions.x:0", ""),)),
        ModelTurn("", (), None, "scripted"),
        UserTurn("go \ud800 on"),
    ]


def test_our_requests_are_what_the_makers_types_demand(maker: str, provider: Provider, loopback: Loopback) -> None:
    body = sent_by(maker, loopback, request(*hard_turns(provider)))
    accepted = drained(PARAMETERS[maker].validate_python(body))
    assert len(accepted["messages"]) == len(body["messages"])
    assert len(accepted["tools"]) == 2


def test_the_makers_types_do_refuse_a_result_without_its_call(maker: str) -> None:
    message = {
        "anthropic": {"role": "user", "content": [{"type": "tool_result", "content": "x"}]},
        "openai": {"role": "tool", "content": "x"},
    }[maker]
    with pytest.raises(ValidationError):
        drained(
            PARAMETERS[maker].validate_python({"model": "x", "max_tokens": 1, "stream": True, "messages": [message]})
        )


@pytest.mark.parametrize("maker", ["anthropic"])
def test_the_cache_is_marked_at_tools_system_and_the_last_two_user_messages(
    provider: Provider, maker: str, loopback: Loopback
) -> None:
    body = sent_by(maker, loopback, request(*hard_turns(provider)))
    marked = [block for message in body["messages"] for block in message["content"] if "cache_control" in block]
    assert body["tools"][-1]["cache_control"] == body["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert [block["type"] for block in marked] == ["text", "text"]
    assert marked[0]["text"] == "look again"
    assert marked[1] is body["messages"][-1]["content"][-1]


@pytest.mark.parametrize("maker", ["anthropic"])
def test_anthropic_gets_alternating_roles_and_its_own_blocks_verbatim(
    provider: Provider, maker: str, loopback: Loopback
) -> None:
    turns = hard_turns(provider)
    body = sent_by(maker, loopback, request(*turns))
    assert [message["role"] for message in body["messages"]] == ["user", "assistant"] * 2 + ["user"]
    assert isinstance(turns[1], ModelTurn)
    assert body["messages"][1]["content"] == turns[1].blocks["content"]
    assert body["messages"][1]["content"][0]["signature"]
    assert body["messages"][3]["content"][0]["input"] == {"malformed_arguments": "{not json"}


def test_thinking_is_not_replayed_to_another_model(provider: Provider, maker: str, loopback: Loopback) -> None:
    body = sent_by(maker, loopback, request(*hard_turns(provider)), id="another-model")
    assert "Let me think." not in str(body)
    assert "call_three" in str(body["messages"])


@pytest.mark.parametrize("maker", ["openai"])
def test_openai_reasoning_goes_back_only_where_the_server_wants_it(
    provider: Provider, maker: str, loopback: Loopback
) -> None:
    turns = hard_turns(provider)
    assert "Let me think." not in str(sent_by(maker, loopback, request(*turns)))
    assert "Let me think." in str(sent_by(maker, loopback, request(*turns), replay_reasoning=True))


def test_a_history_sent_twice_is_sent_the_same(provider: Provider, maker: str, loopback: Loopback) -> None:
    turns = hard_turns(provider)
    loopback.answer = lambda handler: refuse(handler, 422, {"error": {"message": "Thank you."}})
    make, path = MAKERS[maker]
    again = make(info(maker, loopback.url + path), "key")
    for _ in range(2):
        with pytest.raises(ProviderError):
            ask(again, request(*turns))
    assert loopback.bodies[0] == loopback.bodies[1]
