"""Reads what is new in the database, once per process and run, and hands it to the sockets that watch.

The database is the only truth. The layer rings (agents/doorbell.py); a lost ring costs at most one poll.
"""

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from channels.exceptions import ChannelFull, InvalidChannelLayerError
from channels.layers import get_channel_layer
from django.db import DatabaseError, close_old_connections
from redis.exceptions import RedisError

from agents import cards, doorbell, events, masks, panels, schema, transcript
from agents.models import Event, Run

log = logging.getLogger(__name__)

POLL_S = 3.0
PANELS_S = 0.5
PAGE_EVENTS = 200
BATCH_CHARS = 256 * 1024
MESSAGE_CHARS = 768 * 1024
"""Of one message to a socket: daphne sends none past 1 MB, and the texts are ASCII."""
QUEUE_FRAMES = 100
PASSING_FRAMES = 30
"""Frames that wait for a socket above which it gets no passing text."""
SUBSCRIBE_AGAIN_S = 3600.0
BACK_OFF_S = (0.5, 1.0, 2.0, 5.0)

LAYER_ERRORS = (
    OSError,  # refused, reset, timed out
    RedisError,
    EOFError,  # asyncio.IncompleteReadError
    ChannelFull,
    InvalidChannelLayerError,
    RuntimeError,  # "got Future attached to a different loop", "Event loop is closed", a closed transport
    ValueError,  # a message that can't be unpacked (msgpack's errors are ValueErrors)
    TypeError,
    KeyError,  # in-memory: a channel that expired while it was read
    AttributeError,  # redis-py, when the connection goes while it is used
)
"""What a layer may raise, by reading channels 4.3, channels_redis 4.3 and redis-py 7; none of it may end a hub."""

_executor = ThreadPoolExecutor(max_workers=4, thread_name_prefix="live")

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function that uses the database in the pool of the live views, never in Django's one thread for all."""
    call = partial(_with_fresh_connection, function, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_executor, call)


def _with_fresh_connection(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    close_old_connections()
    try:
        return function(*args, **kwargs)
    finally:
        close_old_connections()


# --- what goes to sockets -----------------------------------------------------------------------------------


class Format(Enum):
    """What a socket wants of events: patches for a page, or the events themselves."""

    HTML = "html"
    JSON = "json"


@dataclass(frozen=True)
class Batch:
    """Neighbouring events as messages ready to send, one per format."""

    first: int
    last: int
    texts: dict[Format, str]


@dataclass(frozen=True)
class Passing:
    """Text that is never stored; whoever lags misses it."""

    text: str


@dataclass(frozen=True)
class Panel:
    """A part of the page beside the transcript."""

    text: str


class Sign(Enum):
    """What a feed says instead of a frame."""

    LOST = "lost"
    ENDED = "ended"


Frame = Batch | Passing | Panel | Sign


class Feed:
    """The frames that wait for one socket. When it lags they are thrown away, and it reads the database instead."""

    def __init__(self, format: Format = Format.HTML) -> None:
        self.format = format
        self._frames: deque[Frame] = deque()
        self._some = asyncio.Event()

    def offer(self, frame: Frame) -> None:
        if isinstance(frame, Passing) and len(self._frames) >= PASSING_FRAMES:
            return
        if len(self._frames) >= QUEUE_FRAMES:
            self._frames.clear()
            self._frames.append(Sign.LOST)
        self._frames.append(frame)
        self._some.set()

    def end(self) -> None:
        """Tell the socket that its hub is gone."""
        self._frames.clear()
        self.offer(Sign.ENDED)

    async def get(self) -> Frame:
        while not self._frames:
            self._some.clear()
            await self._some.wait()
        return self._frames.popleft()


def read_batches(run: Run, after: int, formats: frozenset[Format]) -> list[Batch]:
    """Return the next page of events past `after` as batches that a server sends as one message each."""
    rows = events.after(run.pk, after, PAGE_EVENTS)
    return [batch for chunk in _chunks(rows) for batch in _batches(run, chunk, formats)]


def _batches(run: Run, rows: Sequence[Event], formats: frozenset[Format]) -> Iterator[Batch]:
    """Yield the rows as one batch, or in halves where its text is too long for a message."""
    batch = _encode(run, rows, formats)
    if len(rows) == 1 or max(map(len, batch.texts.values())) <= MESSAGE_CHARS:
        yield batch
        return
    half = len(rows) // 2
    yield from _batches(run, rows[:half], formats)
    yield from _batches(run, rows[half:], formats)


def _chunks(rows: Sequence[Event]) -> Iterator[list[Event]]:
    chunk: list[Event] = []
    size = 0
    for event in rows:
        weight = _weight(event.data)
        if chunk and size + weight > BATCH_CHARS:
            yield chunk
            chunk, size = [], 0
        chunk.append(event)
        size += weight
    if chunk:
        yield chunk


def _weight(value: Any) -> int:
    match value:
        case str():
            return len(value)
        case dict():
            return sum(_weight(item) for item in value.values()) + 16 * len(value)
        case list():
            return sum(_weight(item) for item in value) + 8
        case _:
            return 8


def _encode(run: Run, rows: Sequence[Event], formats: frozenset[Format]) -> Batch:
    mask = masks.of_run(run.pk)  # what was stored before a secret was set holds its value
    head = {"type": "events", "first": rows[0].seq, "last": rows[-1].seq}
    texts = {}
    if Format.HTML in formats:
        texts[Format.HTML] = json.dumps({**head, "patches": transcript.patches(run, rows)})
    if Format.JSON in formats:
        texts[Format.JSON] = json.dumps({**head, "events": [schema.event_json(event) for event in rows]})
    return Batch(rows[0].seq, rows[-1].seq, {name: mask.text(text)[0] for name, text in texts.items()})


# --- hubs -----------------------------------------------------------------------------------------------------


class Hub:
    """Wakes on a ring of its layer group, or by its poll; ends when the last socket leaves."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.feeds: set[Feed] = set()
        self.ready = asyncio.Event()
        self.bell = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self.task is None:
            self.task = asyncio.create_task(self._work(), name=f"hub {self.group}")

    def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()

    def broadcast(self, frame: Frame) -> None:
        for feed in self.feeds:
            feed.offer(frame)

    async def turn(self) -> None:
        """Read what is new and hand it on. Called at the start, at every ring and at every poll."""
        raise NotImplementedError

    def heard(self, message: dict[str, Any]) -> None:
        """Take a message of the layer."""
        self.bell.set()

    def patience_s(self) -> float:
        """Return how long to wait for a ring."""
        return POLL_S

    async def _work(self) -> None:
        listener = asyncio.create_task(self._listen(), name=f"ear {self.group}")
        try:
            while True:
                self.bell.clear()
                await self._try_turn()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.bell.wait(), self.patience_s())
        finally:
            listener.cancel()
            _forget(self)
            for feed in self.feeds:
                feed.end()
            self.feeds.clear()
            self.ready.set()

    async def _try_turn(self) -> None:
        try:
            await self.turn()
        except (DatabaseError, OSError) as error:
            log.warning("%s can't read the database (%s); it tries again in %s s.", self.group, error, POLL_S)

    async def _listen(self) -> None:
        """Pass on what the layer says; subscribe again, with patience, whenever the layer fails."""
        failures = 0
        while True:
            try:
                await self._hear()
                failures = 0
            except LAYER_ERRORS as error:
                pause = BACK_OFF_S[min(failures, len(BACK_OFF_S) - 1)]
                failures += 1
                log.warning(
                    "The layer failed %s (%r); it is asked again in %s s, polls go on.", self.group, error, pause
                )
                await asyncio.sleep(pause)

    async def _hear(self) -> None:
        """Subscribe and pass on messages for an hour at most: a layer forgets members and expired channels."""
        layer = get_channel_layer()
        if layer is None:
            raise InvalidChannelLayerError("There is no channel layer.")
        channel = await layer.new_channel()
        hour = asyncio.timeout(SUBSCRIBE_AGAIN_S)
        try:
            await layer.group_add(self.group, channel)
            self.bell.set()  # what was committed before the subscription rang nobody
            async with hour:
                while True:
                    self.heard(await layer.receive(channel))
        except TimeoutError:
            if not hour.expired():
                raise
        finally:
            with suppress(*LAYER_ERRORS):
                await layer.group_discard(self.group, channel)


class RunHub(Hub):
    """The hub of one run: its transcript, its passing text, its panels."""

    def __init__(self, run_id: int) -> None:
        super().__init__(doorbell.run_group(run_id))
        self.run = Run(pk=run_id)
        self.cursor = -1
        self.panels: dict[str, str] = {}
        self._panels_old = True
        self._panels_at = 0.0

    def heard(self, message: dict[str, Any]) -> None:
        if message.get("type") == "delta":
            self.broadcast(Passing(_delta(message)))
        else:
            super().heard(message)

    def patience_s(self) -> float:
        return PANELS_S if self._panels_old and Format.HTML in self._formats() else POLL_S

    async def turn(self) -> None:
        if self.cursor < 0:
            self.cursor = await in_thread(_last_seq, self.run.pk)
            self.ready.set()
        while batches := await in_thread(read_batches, self.run, self.cursor, self._formats()):
            for batch in batches:
                self.broadcast(batch)
            self.cursor = batches[-1].last
            self._panels_old = True
        await self._renew_panels()

    def _formats(self) -> frozenset[Format]:
        return frozenset(feed.format for feed in self.feeds)

    async def _renew_panels(self) -> None:
        now = time.monotonic()
        if not self._panels_old or now - self._panels_at < PANELS_S or Format.HTML not in self._formats():
            return
        self._panels_old, self._panels_at = False, now
        for name, html in (await in_thread(_render_panels, self.run.pk)).items():
            text = _panel(name, html)
            if self.panels.get(name) != text:
                self.panels[name] = text
                self.broadcast(Panel(text))


def _last_seq(run_id: int) -> int:
    return Run.objects.values_list("last_seq", flat=True).get(pk=run_id)


def _render_panels(run_id: int) -> dict[str, str]:
    mask = masks.of_run(run_id)
    return {name: mask.text(html)[0] for name, html in panels.render(panels.load(run_id)).items()}


def _delta(message: dict[str, Any]) -> str:
    call_id = str(message.get("call_id") or "")
    target = {"call_id": call_id, "target": f"out-{cards.slug(call_id)}"} if call_id else {}
    return json.dumps({"type": "delta", **target, "text": str(message.get("text", ""))[:BATCH_CHARS]})


def _panel(name: str, html: str) -> str:
    return json.dumps({"type": "panel", "name": name, "html": html})


# --- who watches what ------------------------------------------------------------------------------------------

_hubs: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Hub]]" = WeakKeyDictionary()

H = TypeVar("H", bound=Hub)


async def join(hub: H, feed: Feed) -> H:
    """Add the feed to the running hub of the same group, or start this one; return it when it has its cursor.

    Whoever joined, then reads the database until nothing is new, misses nothing.
    """
    hubs = _hubs.setdefault(asyncio.get_running_loop(), {})
    kept: Any = hubs.setdefault(hub.group, hub)
    kept.feeds.add(feed)
    kept.start()
    try:
        await kept.ready.wait()
    except asyncio.CancelledError:
        leave(kept, feed)
        raise
    running: H = kept
    return running


def leave(hub: Hub, feed: Feed) -> None:
    """Take the feed out; the hub ends with its last one."""
    hub.feeds.discard(feed)
    if not hub.feeds:
        hub.stop()
        _forget(hub)


def _forget(hub: Hub) -> None:
    hubs = _hubs.get(asyncio.get_running_loop(), {})
    if hubs.get(hub.group) is hub:
        del hubs[hub.group]


def count() -> int:
    """Return how many hubs run in this process."""
    return sum(len(hubs) for hubs in _hubs.values())
