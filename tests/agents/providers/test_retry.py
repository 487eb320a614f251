"""Asking again after a failure."""

import threading
from collections.abc import Callable

import pytest

from agents.providers import retry
from agents.providers.base import Cancelled, ProviderError, Request, Response, Trouble
from agents.providers.retry import respond_with_retries, wait_s
from tests.agents.providers.support import request


class Flaky:
    """Fails so many times, then answers."""

    name = "flaky"

    def __init__(self, failures: int, **fields: object) -> None:
        self.failures = failures
        self.fields = {"retryable": True, "retry_after_s": 0.0, **fields}
        self.tries = 0

    def respond(self, request: Request, on_text: Callable[[str], None], cancelled: threading.Event) -> Response:
        self.tries += 1
        if self.tries <= self.failures:
            raise ProviderError(Trouble.OVERLOADED, "It is overloaded.", **self.fields)  # type: ignore[arg-type]
        return Response("at last")


def asked(provider: Flaky, cancelled: threading.Event | None = None) -> tuple[Response, list[tuple[str, float]]]:
    waits: list[tuple[str, float]] = []
    response = respond_with_retries(
        provider, request(), lambda _: None, cancelled or threading.Event(), lambda *wait: waits.append(wait)
    )
    return response, waits


def test_a_passing_failure_is_waited_out_and_said() -> None:
    response, waits = asked(Flaky(2))
    assert response.text == "at last"
    assert waits == [("It is overloaded.", 0.0)] * 2


def test_a_fifth_failure_is_the_last() -> None:
    provider = Flaky(99)
    with pytest.raises(ProviderError, match="overloaded"):
        asked(provider)
    assert provider.tries == 5


def test_a_failure_that_will_not_pass_is_not_tried_again() -> None:
    provider = Flaky(1, retryable=False)
    with pytest.raises(ProviderError):
        asked(provider)
    assert provider.tries == 1


def test_a_wait_ends_when_the_run_is_cancelled() -> None:
    cancelled = threading.Event()
    cancelled.set()
    provider = Flaky(1, retry_after_s=50.0)
    with pytest.raises(Cancelled):
        asked(provider, cancelled)
    assert provider.tries == 1


def test_waits_double_within_bounds_and_are_spread() -> None:
    error = ProviderError(Trouble.OVERLOADED, "x", retryable=True)
    waits = [[wait_s(error, tries) for _ in range(50)] for tries in (1, 2, 3, 4, 10)]
    for around, found in zip((1, 2, 4, 8, retry.MAX_WAIT_S), waits, strict=True):
        assert all(around * 0.75 <= seconds <= around * 1.25 for seconds in found)
        assert len(set(found)) > 1


@pytest.mark.parametrize(("asked_for", "waited"), [(3.0, 3.0), (7200.0, 60.0), (-5.0, 0.0)])
def test_the_servers_own_wait_is_kept_up_to_a_minute(asked_for: float, waited: float) -> None:
    assert wait_s(ProviderError(Trouble.RATE_LIMIT, "x", retry_after_s=asked_for), 1) == waited
