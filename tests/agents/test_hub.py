"""The hub of a run: it hears rings, polls behind them, and outlives the layer."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.layers import InMemoryChannelLayer, get_channel_layer
from django.contrib.auth.models import User
from redis.exceptions import ConnectionError as RedisConnectionError

from agents import doorbell, hub, masks, panels, secrets
from agents.hub import Batch, Feed, Format, Panel, Passing, RunHub, Sign
from agents.models import Kind, Run
from tests.agents.transcripts import Writer, make_run, write_transcript

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("server_loop")]

PATIENCE_S = 10.0


@pytest.fixture
async def run() -> Run:
    return await sync_to_async(make_run)()


@pytest.fixture
def run_of_owner(owner: User) -> Run:
    return make_run()


@pytest.fixture
def no_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "POLL_S", 3600.0)


@pytest.fixture
def quick_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "POLL_S", 0.05)


def note(run: Run, text: str = "hello") -> None:
    Writer(run).put(Kind.NOTE, {"text": text, "to": "human"})


async def until(feed: Feed, fits: Callable[[Any], bool]) -> Any:
    """Return the next frame that fits."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            frame = await feed.get()
            if fits(frame):
                return frame


def is_batch(frame: Any) -> bool:
    return isinstance(frame, Batch)


class DeafLayer(InMemoryChannelLayer):  # type: ignore[misc]
    """Loses every ring."""

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        pass


class FallingLayer(InMemoryChannelLayer):  # type: ignore[misc]
    """Fails as a Redis that goes down does, the first few times it is asked."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.errors: list[Exception] = [
            RedisConnectionError("Connection refused"),
            OSError("Connection reset by peer"),
            TimeoutError("timed out"),
            RuntimeError("got Future attached to a different loop"),
            ValueError("unpack(b) received extra data"),
        ]

    async def receive(self, channel: str) -> Any:
        if self.errors:
            raise self.errors.pop()
        return await super().receive(channel)


@pytest.mark.usefixtures("no_polls")
async def test_a_ring_brings_a_new_event_at_once(run: Run) -> None:
    feed = Feed()
    watched = await hub.join(RunHub(run.pk), feed)
    await until(feed, lambda frame: isinstance(frame, Panel))
    await sync_to_async(note)(run)
    batch = await until(feed, is_batch)
    assert (batch.first, batch.last) == (1, 1)
    message = json.loads(batch.texts[Format.HTML])
    assert message["type"] == "events"
    assert [(patch["op"], patch["target"]) for patch in message["patches"]] == [("append", "log")]
    hub.leave(watched, feed)


@pytest.mark.usefixtures("quick_polls")
async def test_a_lost_ring_is_healed_by_the_poll(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "get_channel_layer", DeafLayer)
    monkeypatch.setattr(doorbell, "get_channel_layer", DeafLayer)
    feed = Feed()
    watched = await hub.join(RunHub(run.pk), feed)
    await sync_to_async(note)(run)
    assert (await until(feed, is_batch)).last == 1
    hub.leave(watched, feed)


@pytest.mark.usefixtures("no_polls")
async def test_a_hub_outlives_every_failure_of_the_layer_and_subscribes_again(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = FallingLayer()
    monkeypatch.setattr(hub, "BACK_OFF_S", (0.01,))
    monkeypatch.setattr(hub, "get_channel_layer", lambda: layer)
    monkeypatch.setattr(doorbell, "get_channel_layer", lambda: layer)
    feed = Feed()
    watched = await hub.join(RunHub(run.pk), feed)
    async with asyncio.timeout(PATIENCE_S):
        while layer.errors:
            await asyncio.sleep(0.01)
    await sync_to_async(note)(run)
    assert (await until(feed, is_batch)).last == 1
    hub.leave(watched, feed)


async def test_one_hub_serves_all_sockets_of_a_run_and_ends_with_the_last(run: Run) -> None:
    feeds = [Feed(), Feed(Format.JSON)]
    first = await hub.join(RunHub(run.pk), feeds[0])
    second = await hub.join(RunHub(run.pk), feeds[1])
    assert first is second
    assert hub.count() == 1
    hub.leave(first, feeds[0])
    assert hub.count() == 1
    hub.leave(first, feeds[1])
    assert hub.count() == 0
    assert first.task is not None
    with pytest.raises(asyncio.CancelledError):
        await first.task
    layer = get_channel_layer()
    assert not layer.groups.get(doorbell.run_group(run.pk))


async def test_events_for_programs_have_no_private_keys(run: Run) -> None:
    feed = Feed(Format.JSON)
    watched = await hub.join(RunHub(run.pk), feed)
    data = {"text": "hi", "blocks": [{"thinking": "secret"}], "usage": {}, "tool_calls": [], "stop_reason": "end"}
    await sync_to_async(Writer(run).put)(Kind.MODEL_RESPONSE, data)
    batch = await until(feed, is_batch)
    (event,) = json.loads(batch.texts[Format.JSON])["events"]
    assert Format.HTML not in batch.texts
    assert (event["seq"], event["kind"], event["data"]["text"]) == (1, "model_response", "hi")
    assert "secret" not in batch.texts[Format.JSON]
    hub.leave(watched, feed)


def test_a_batch_that_is_too_long_for_a_message_is_halved(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run()
    write_transcript(run)
    whole = hub.read_batches(run, 0, frozenset({Format.HTML}))
    monkeypatch.setattr(hub, "MESSAGE_CHARS", 20_000)
    parts = hub.read_batches(run, 0, frozenset({Format.HTML}))
    assert len(parts) > len(whole)
    assert all(len(part.texts[Format.HTML]) <= 20_000 or part.first == part.last for part in parts)
    assert [part.first for part in parts[1:]] == [part.last + 1 for part in parts[:-1]]
    patches = [patch for part in parts for patch in json.loads(part.texts[Format.HTML])["patches"]]
    assert patches == [patch for part in whole for patch in json.loads(part.texts[Format.HTML])["patches"]]


def test_what_was_stored_before_a_secret_was_set_is_masked(run_of_owner: Run, owner: User) -> None:
    note(run_of_owner, "the token is tok-0123456789")
    secrets.put(run_of_owner.task.repository, owner, "TOKEN", "tok-0123456789")
    masks._runs.clear()  # as two seconds later
    (batch,) = hub.read_batches(run_of_owner, 0, frozenset(Format))
    for text in batch.texts.values():
        assert "[masked TOKEN]" in text
        assert "tok-0" not in text


async def test_passing_text_goes_through_with_the_place_it_belongs_to(run: Run) -> None:
    feed = Feed()
    watched = await hub.join(RunHub(run.pk), feed)
    await until(feed, lambda frame: isinstance(frame, Panel))  # it listens by now
    doorbell.say(run.pk, "…", "call/1")
    frame = await until(feed, lambda frame: isinstance(frame, Passing))
    message = json.loads(frame.text)
    assert (message["type"], message["call_id"], message["text"]) == ("delta", "call/1", "…")
    assert message["target"].startswith("out--")
    hub.leave(watched, feed)


async def test_panels_come_when_something_changed(run: Run) -> None:
    feed = Feed()
    watched = await hub.join(RunHub(run.pk), feed)
    frames = [await until(feed, lambda frame: isinstance(frame, Panel)) for _ in panels.NAMES]
    assert {json.loads(frame.text)["name"] for frame in frames} == set(panels.NAMES)
    await Run.objects.filter(pk=run.pk).aupdate(step=7)
    await sync_to_async(note)(run)
    frame = await until(feed, lambda frame: isinstance(frame, Panel))
    assert "step <b>7</b>" in json.loads(frame.text)["html"]
    hub.leave(watched, feed)


async def test_a_hub_that_breaks_tells_its_sockets(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    feed = Feed()
    watched = await hub.join(RunHub(run.pk), feed)

    def broken(*_: Any) -> list[Batch]:
        raise ZeroDivisionError

    monkeypatch.setattr(hub, "read_batches", broken)
    watched.bell.set()
    assert await until(feed, lambda frame: frame is Sign.ENDED)
    assert hub.count() == 0


async def test_a_feed_that_lags_loses_its_frames_and_says_so() -> None:
    feed = Feed()
    for number in range(hub.QUEUE_FRAMES + 5):
        feed.offer(Batch(number, number, {}))
    assert await feed.get() is Sign.LOST
    assert (await feed.get()) == Batch(hub.QUEUE_FRAMES, hub.QUEUE_FRAMES, {})


async def test_a_feed_that_lags_gets_no_passing_text() -> None:
    feed = Feed()
    for number in range(hub.PASSING_FRAMES):
        feed.offer(Batch(number, number, {}))
    feed.offer(Passing("late"))
    frames = [await feed.get() for _ in range(hub.PASSING_FRAMES)]
    feed.offer(Passing("in time"))
    assert all(isinstance(frame, Batch) for frame in frames)
    assert await feed.get() == Passing("in time")


def test_pages_of_the_database_are_cut_by_size() -> None:
    run = make_run()
    writer = Writer(run)
    for _ in range(30):
        writer.put(Kind.NOTE, {"text": "x" * 30_000, "to": "human"})
    batches = hub.read_batches(run, 0, frozenset({Format.JSON}))
    assert len(batches) == 4
    assert [batch.first for batch in batches[1:]] == [batch.last + 1 for batch in batches[:-1]]
    assert all(len(batch.texts[Format.JSON]) < 2 * hub.BATCH_CHARS for batch in batches)


def test_a_page_of_the_database_takes_few_queries_however_long(django_assert_max_num_queries: Any) -> None:
    run = make_run()
    write_transcript(run)
    with django_assert_max_num_queries(2):
        hub.read_batches(run, 0, frozenset({Format.HTML, Format.JSON}))
