"""Rings the channel layer from any thread. A ring is only a hint: whoever waits for it also polls."""

import asyncio
import logging
import threading
from concurrent.futures import Future
from typing import Any

from channels.layers import get_channel_layer
from redis.exceptions import RedisError

log = logging.getLogger(__name__)

BOARD = "board"
WORKERS = "agents"
RING_S = 5.0
"""A layer that hangs must not gather rings without end."""


class _Loop:
    """The event loop that owns the layer: the server's own, or one in a thread of ours."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def use(self, loop: asyncio.AbstractEventLoop | None) -> None:
        with self._lock:
            self._loop = loop

    def get(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._loop.is_closed():
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="doorbell", daemon=True).start()
            return self._loop


_loop = _Loop()


def use_loop(loop: asyncio.AbstractEventLoop | None) -> None:
    """Send through this loop from now on; the in-memory layer belongs to one loop."""
    _loop.use(loop)


def run_group(run_id: int) -> str:
    return f"run-{run_id}"


def ring_run(run_id: int) -> None:
    """Tell the hubs of the run, and the board, that there is something new."""
    _send_group(run_group(run_id), {"type": "wake"})
    _send_group(BOARD, {"type": "wake", "run": run_id})


def ring_workers() -> None:
    """Tell the workers that there may be a run to claim or a word for one."""
    _submit(_layer_send(WORKERS, {"type": "wake"}))


def say(run_id: int, text: str, call_id: str = "") -> None:
    """Push passing text (a model's words, a terminal's output) to who watches now; it is never stored."""
    _send_group(run_group(run_id), {"type": "delta", "call_id": call_id, "text": text})


def answers(timeout_s: float) -> bool:
    """Return whether a message sent through the layer comes back in time."""
    future = asyncio.run_coroutine_threadsafe(_round_trip(timeout_s), _loop.get())
    try:
        return future.result(timeout_s + 1)
    except (OSError, TimeoutError, RedisError) as error:
        log.warning("The channel layer does not answer: %s", error or type(error).__name__)
        return False


async def _round_trip(timeout_s: float) -> bool:
    layer = get_channel_layer()
    if layer is None:
        return False
    async with asyncio.timeout(timeout_s):
        channel = await layer.new_channel()
        await layer.send(channel, {"type": "ping"})
        answer: dict[str, Any] = await layer.receive(channel)
    return bool(answer["type"] == "ping")


def _send_group(group: str, message: dict[str, Any]) -> None:
    _submit(_group_send(group, message))


async def _group_send(group: str, message: dict[str, Any]) -> None:
    layer = get_channel_layer()
    if layer is not None:
        await layer.group_send(group, message)


async def _layer_send(channel: str, message: dict[str, Any]) -> None:
    layer = get_channel_layer()
    if layer is not None:
        await layer.send(channel, message)


def _submit(coroutine: Any) -> None:
    future: Future[None] = asyncio.run_coroutine_threadsafe(asyncio.wait_for(coroutine, RING_S), _loop.get())
    future.add_done_callback(_forgive)


def _forgive(future: "Future[None]") -> None:
    if not future.cancelled() and (error := future.exception()):
        log.warning("A doorbell was lost (%s); whoever waits for it polls.", error)
