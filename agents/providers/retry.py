"""Asking again: which failures are worth another try, and how long to wait before it."""

import random
import threading
from collections.abc import Callable

from agents.providers.base import Cancelled, Provider, ProviderError, Request, Response

MAX_TRIES = 5
FIRST_WAIT_S = 1.0
MAX_WAIT_S = 30.0
MAX_RETRY_AFTER_S = 60.0
"""A server's Retry-After is honoured up to here; the try after it is cheap."""
JITTER = 0.25


def respond_with_retries(
    provider: Provider,
    request: Request,
    on_text: Callable[[str], None],
    cancelled: threading.Event,
    on_wait: Callable[[str, float], None],
) -> Response:
    """Ask until there is a response, at most five times.

    `on_wait(sentence, seconds)` says why and how long a wait will be. What a failed try has streamed to `on_text`
    before it is void: the next try streams from the start, and only the returned response counts.
    Raises the last ProviderError, and Cancelled from a wait too.
    """
    for tries in range(1, MAX_TRIES):
        try:
            return provider.respond(request, on_text, cancelled)
        except ProviderError as error:
            if not error.retryable:
                raise
            seconds = wait_s(error, tries)
            on_wait(error.sentence, seconds)
        if cancelled.wait(seconds):
            raise Cancelled
    return provider.respond(request, on_text, cancelled)


def wait_s(error: ProviderError, tries: int) -> float:
    """Return the seconds to wait after so many failed tries: doubling, spread, or what the server asked for."""
    if error.retry_after_s is not None:
        return min(max(error.retry_after_s, 0.0), MAX_RETRY_AFTER_S)
    doubled = min(FIRST_WAIT_S * float(2 ** (tries - 1)), MAX_WAIT_S)
    return doubled * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 -- spreads retries, guards nothing
