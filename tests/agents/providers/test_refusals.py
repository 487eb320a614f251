"""What servers refuse, as plain sentences without a key."""

import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from agents.providers import anthropic_api, openai_api
from agents.providers.base import Provider, ProviderError, Trouble
from tests.agents.providers.conftest import Loopback, refuse, stream
from tests.agents.providers.support import ask, info, request

KEY = "sk-secret-0123456789abcdef"


def anthropic_at(url: str) -> Provider:
    return anthropic_api.provider(info("anthropic", url, key_variable="ANTHROPIC_API_KEY"), KEY)


def openai_at(url: str) -> Provider:
    return openai_api.provider(info("openai", url + "/v1", key_variable="OPENAI_API_KEY"), KEY)


def failed(provider: Provider) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        ask(provider, request("hello"))
    error = caught.value
    assert KEY not in str(error)
    assert error.__cause__ is None
    assert "\n" not in error.sentence
    return error


@pytest.mark.parametrize(
    ("status", "error", "trouble", "words"),
    [
        (401, {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}, "wrong_key", "KEY"),
        (
            403,
            {"message": "Country not supported", "code": "unsupported_country"},
            "wrong_key",
            "Country not supported",
        ),
        (402, {"message": "Pay first"}, "quota", "no credit"),
        (
            404,
            {"message": "The model `x` does not exist", "code": "model_not_found"},
            "unknown_model",
            "knows no model",
        ),
        (404, {}, "unknown_model", "base URL"),
        (400, {"message": "model 'x' not found"}, "unknown_model", "knows no model"),
        (429, {"message": "You exceeded your quota", "code": "insufficient_quota"}, "quota", "no credit"),
        (429, {"message": "Slow down"}, "rate_limit", "limits the rate"),
        (400, {"message": "x", "code": "context_length_exceeded"}, "context_full", "no longer fits"),
        (400, {"message": "prompt is too long: 200001 tokens > 200000 maximum"}, "context_full", "test-model"),
        (413, {"type": "request_too_large"}, "context_full", "no longer fits"),
        (400, {"message": "Your credit balance is too low"}, "quota", "no credit"),
        (400, {"message": "tools.0.name: bad"}, "bad_request", "tools.0.name: bad"),
        (529, {"type": "overloaded_error"}, "overloaded", "overloaded"),
        (503, {}, "overloaded", "overloaded"),
        (504, {}, "timeout", "too long"),
        (500, {"message": "oops"}, "overloaded", "internal error (500)"),
    ],
)
@pytest.mark.parametrize("at", [anthropic_at, openai_at])
def test_each_refusal_has_its_sentence(
    loopback: Loopback, at: Any, status: int, error: dict[str, str], trouble: str, words: str
) -> None:
    loopback.answer = lambda handler: refuse(handler, status, {"error": error})
    found = failed(at(loopback.url))
    assert (found.trouble, words in found.sentence) == (trouble, True)
    assert found.retryable is (trouble in ("rate_limit", "overloaded", "timeout"))


@pytest.mark.parametrize("at", [anthropic_at, openai_at])
def test_a_proxys_error_page_is_not_shown(loopback: Loopback, at: Any) -> None:
    def page(handler: Any) -> None:
        data = b"<html><body>Bad Gateway</body></html>"
        handler.send_response(502)
        handler.send_header("Content-Type", "text/html")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    loopback.answer = page
    error = failed(at(loopback.url))
    assert "<html" not in error.sentence
    assert error.retryable


@pytest.mark.parametrize("at", [anthropic_at, openai_at])
def test_retry_after_may_be_a_date(loopback: Loopback, at: Any) -> None:
    when = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    loopback.answer = lambda handler: refuse(handler, 429, {"error": {}}, Retry_After=when)
    wait = failed(at(loopback.url)).retry_after_s
    assert wait is not None
    assert 25 < wait <= 30


def test_an_error_inside_a_stream_is_read_by_its_kind(loopback: Loopback) -> None:
    event = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    loopback.answer = lambda handler: stream(handler, event)
    assert failed(anthropic_at(loopback.url)).trouble is Trouble.OVERLOADED
    loopback.answer = lambda handler: stream(handler, {"error": {"message": "x", "code": "rate_limit_exceeded"}})
    assert failed(openai_at(loopback.url)).trouble is Trouble.RATE_LIMIT


@pytest.mark.parametrize("at", [anthropic_at, openai_at])
def test_a_server_that_is_not_there_is_named(at: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    error = failed(at(f"http://127.0.0.1:{port}"))
    assert (error.trouble, error.retryable) == (Trouble.UNREACHABLE, True)
    assert f"127.0.0.1:{port}" in error.sentence


@pytest.mark.parametrize("at", [anthropic_at, openai_at])
def test_a_server_without_tls_is_told_from_a_silent_one(loopback: Loopback, at: Any) -> None:
    error = failed(at(loopback.url.replace("http:", "https:")))
    assert error.trouble is Trouble.UNREACHABLE
    assert "https" in error.sentence


@pytest.mark.parametrize("at", [anthropic_at, openai_at])
def test_a_name_that_does_not_exist_is_said(at: Any) -> None:
    assert "can't be re" in failed(at("http://no-such-host.invalid")).sentence


@pytest.mark.parametrize("at", [anthropic_at, openai_at])
def test_a_stream_that_is_not_json_is_said(loopback: Loopback, at: Any) -> None:
    loopback.answer = lambda handler: stream(handler, "not json")
    error = failed(at(loopback.url))
    assert (error.trouble, error.retryable) == (Trouble.BAD_ANSWER, True)
