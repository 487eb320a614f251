"""Cancelling a request whose server says nothing."""

import threading
import time
from typing import Any

import pytest

from agents.providers import anthropic_api, connection, openai_api
from agents.providers.base import Cancelled, Provider, ProviderError, Trouble
from tests.agents.providers.conftest import Loopback, begin_stream, stream
from tests.agents.providers.support import ask, info, request

CHUNK = {"choices": [{"delta": {"content": "Hello"}, "finish_reason": "stop"}]}
EVENTS = (
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hello"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
)


@pytest.fixture(params=["anthropic", "openai"])
def provider(request: pytest.FixtureRequest, loopback: Loopback) -> Provider:
    if request.param == "anthropic":
        return anthropic_api.provider(info("anthropic", loopback.url), "")
    return openai_api.provider(info("openai", loopback.url), "")


def hang(handler: Any, loopback: Loopback) -> None:
    """Wait until the other side closes the connection."""
    handler.close_connection = True
    handler.connection.settimeout(20)
    if handler.connection.recv(1) == b"":
        loopback.closed.set()


def hang_before_headers(loopback: Loopback) -> None:
    loopback.answer = lambda handler: hang(handler, loopback)


def hang_in_the_stream(loopback: Loopback) -> None:
    def answer(handler: Any) -> None:
        begin_stream(handler)
        handler.wfile.write(b": ping\n\n")
        hang(handler, loopback)

    loopback.answer = answer


def model_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("model")]


@pytest.mark.parametrize("silence", [hang_before_headers, hang_in_the_stream])
def test_a_cancel_closes_a_silent_connection_within_a_second(
    provider: Provider, loopback: Loopback, silence: Any
) -> None:
    silence(loopback)
    cancelled = threading.Event()
    cancelled_at: list[float] = []

    def cancel() -> None:
        loopback.asked.wait(10)
        cancelled_at.append(time.monotonic())
        cancelled.set()

    threading.Thread(target=cancel).start()
    with pytest.raises(Cancelled):
        provider.respond(request("hello"), lambda _: None, cancelled)
    assert time.monotonic() - cancelled_at[0] < 1
    assert loopback.closed.wait(5)
    assert model_threads() == []


def test_a_provider_can_be_asked_again_after_a_cancel(provider: Provider, loopback: Loopback) -> None:
    hang_before_headers(loopback)
    with pytest.raises(Cancelled):
        provider.respond(request("hello"), lambda _: None, loopback.asked)  # cancelled as soon as it is asked
    loopback.answer = lambda handler: stream(handler, *(EVENTS if provider.name == "anthropic" else (CHUNK,)))
    assert ask(provider, request("hello")).text == "Hello"


def test_a_cancelled_run_asks_nothing(provider: Provider, loopback: Loopback) -> None:
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(Cancelled):
        provider.respond(request("hello"), lambda _: None, cancelled)
    assert not loopback.asked.is_set()


def test_a_listener_that_fails_ends_the_request_too(provider: Provider, loopback: Loopback) -> None:
    def answer(handler: Any) -> None:
        stream(handler, EVENTS[0] if provider.name == "anthropic" else CHUNK)
        hang(handler, loopback)

    def listener(piece: str) -> None:
        raise LookupError(piece)

    loopback.answer = answer
    with pytest.raises(LookupError):
        ask(provider, request("hello"), listener)
    assert loopback.closed.wait(5)


def test_a_response_may_not_take_for_ever(
    provider: Provider, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "TOTAL_S", 0)
    hang_in_the_stream(loopback)
    with pytest.raises(ProviderError) as caught:
        ask(provider, request("hello"))
    assert caught.value.trouble is Trouble.TIMEOUT


def test_a_server_that_sends_without_end_is_stopped(
    provider: Provider, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_BYTES", 100_000)
    loopback.answer = lambda handler: stream(handler, "x" * 200_000)
    with pytest.raises(ProviderError, match="over 100000 bytes"):
        ask(provider, request("hello"))
