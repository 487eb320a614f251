"""The sockets: who may listen, what comes in which order, what happens to a client that lags."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from agents import consumers, hub
from agents.models import ApiToken, Kind, Role, Run
from tests.agents.transcripts import Writer, make_run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("server_loop")]

ORIGIN = (b"origin", b"http://testserver")
HOST = (b"host", b"testserver")
PATIENCE_S = 10
application = URLRouter(consumers.websocket_urlpatterns)

Socket = Callable[..., Any]


def person(name: str, *roles: Role) -> User:
    user = User.objects.create_user(name)
    user.groups.set([Group.objects.get_or_create(name=role)[0] for role in roles])
    return user


def cookie_of(user: User) -> tuple[bytes, bytes]:
    client = Client()
    client.force_login(user)
    return cookie_of_client(client)


def cookie_of_client(client: Client) -> tuple[bytes, bytes]:
    return (b"cookie", f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}".encode())


def token_of(user: User) -> tuple[bytes, bytes]:
    return (b"authorization", f"Bearer {ApiToken.make(user, 'test')[1]}".encode())


def notes(run: Run, count: int, text: str = "hello") -> None:
    for number in range(count):
        Writer(run).put(Kind.NOTE, {"text": f"{text} {number}", "to": "human"})


@pytest.fixture
async def run() -> Run:
    return await sync_to_async(make_run)()


@pytest.fixture
async def viewer() -> User:
    return await sync_to_async(person)("vera", Role.VIEWER)


@pytest.fixture
async def socket() -> AsyncIterator[Socket]:
    """Open sockets that are closed at the end of the test."""
    opened: list[WebsocketCommunicator] = []

    async def open_(path: str, *headers: tuple[bytes, bytes]) -> WebsocketCommunicator:
        communicator = WebsocketCommunicator(application, path, [HOST, *headers])
        opened.append(communicator)
        connected, _ = await communicator.connect(PATIENCE_S)
        assert connected
        return communicator

    yield open_
    for communicator in opened:
        await communicator.disconnect()


async def hear(communicator: WebsocketCommunicator, *types: str) -> dict[str, Any]:
    """Return the next message of one of the types."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            message: dict[str, Any] = json.loads(await communicator.receive_from(PATIENCE_S))
            if message["type"] in types:
                return message


async def close_code(communicator: WebsocketCommunicator) -> int:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            message = await communicator.receive_output(PATIENCE_S)
            if message["type"] == "websocket.close":
                return int(message["code"])


async def seqs(communicator: WebsocketCommunicator, last: int, ack: bool = True) -> list[int]:
    """Return the numbers of events up to `last`, as they come."""
    got: list[int] = []
    while not got or got[-1] < last:
        message = await hear(communicator, "events")
        got += [event["seq"] for event in message["events"]]
        if ack:
            await communicator.send_to(json.dumps({"ack": message["last"]}))
    return got


# --- who may listen ------------------------------------------------------------------------------------


async def test_a_session_with_the_sites_own_origin_may_listen(run: Run, viewer: User, socket: Socket) -> None:
    await sync_to_async(notes)(run, 1)
    opened = await socket(f"/ws/runs/{run.pk}/", ORIGIN, await sync_to_async(cookie_of)(viewer))
    message = await hear(opened, "events")
    assert (message["first"], message["last"]) == (1, 1)


@pytest.mark.parametrize("headers", [[], [(b"origin", b"http://evil.example")], [(b"origin", b"null")]])
async def test_a_session_from_elsewhere_is_refused(
    run: Run, viewer: User, socket: Socket, headers: list[tuple[bytes, bytes]]
) -> None:
    opened = await socket(f"/ws/runs/{run.pk}/", *headers, await sync_to_async(cookie_of)(viewer))
    assert await close_code(opened) == 4403


async def test_a_rebound_host_name_does_not_make_an_origin_right(run: Run, viewer: User) -> None:
    headers = [(b"host", b"evil.example"), (b"origin", b"http://evil.example"), await sync_to_async(cookie_of)(viewer)]
    communicator = WebsocketCommunicator(application, f"/ws/runs/{run.pk}/", headers)
    await communicator.connect(PATIENCE_S)
    assert await close_code(communicator) == 4403


async def test_a_token_needs_no_origin(run: Run, viewer: User, socket: Socket) -> None:
    await sync_to_async(notes)(run, 1)
    opened = await socket(f"/ws/runs/{run.pk}/?format=json", await sync_to_async(token_of)(viewer))
    assert await seqs(opened, 1) == [1]


@pytest.mark.parametrize(
    "headers",
    [[ORIGIN], [ORIGIN, (b"cookie", b"sessionid=unknown")], [(b"authorization", b"Bearer nothing")]],
    ids=["nobody", "unknown session", "unknown token"],
)
async def test_who_is_not_logged_in_is_closed_with_4401(
    run: Run, socket: Socket, headers: list[tuple[bytes, bytes]]
) -> None:
    assert await close_code(await socket(f"/ws/runs/{run.pk}/", *headers)) == 4401


async def test_an_account_without_a_role_is_closed_with_4403(run: Run, socket: Socket) -> None:
    stranger = await sync_to_async(person)("sam")
    assert await close_code(await socket("/ws/board/", await sync_to_async(token_of)(stranger))) == 4403


async def test_rights_are_checked_again(
    run: Run, viewer: User, socket: Socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "RECHECK_S", 0.05)
    opened = await socket(f"/ws/runs/{run.pk}/", await sync_to_async(token_of)(viewer))
    await User.objects.filter(pk=viewer.pk).aupdate(is_active=False)
    assert await close_code(opened) == 4401


async def test_logging_out_ends_the_sockets_of_the_session(
    run: Run, viewer: User, socket: Socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "RECHECK_S", 0.05)
    mine, other = Client(), Client()
    opened = []
    for client in (mine, other):
        await sync_to_async(client.force_login)(viewer)
        opened.append(await socket(f"/ws/runs/{run.pk}/", ORIGIN, cookie_of_client(client)))
    await sync_to_async(mine.post)("/logout/")
    assert await close_code(opened[0]) == 4401
    await hear(opened[1], "panel")


async def test_a_new_password_ends_the_sockets_of_other_sessions(
    run: Run, viewer: User, socket: Socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "RECHECK_S", 0.05)
    opened = await socket(f"/ws/runs/{run.pk}/", ORIGIN, await sync_to_async(cookie_of)(viewer))
    mine = Client()
    await sync_to_async(mine.force_login)(viewer)
    await sync_to_async(mine.post)("/settings/password/", {"password": "a-new-and-long-password"})
    assert await close_code(opened) == 4401


@pytest.mark.parametrize("end", ["expires", "deleted", "role taken"])
async def test_a_token_at_its_end_ends_its_socket(
    run: Run, viewer: User, socket: Socket, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr(consumers, "RECHECK_S", 0.05)
    opened = await socket("/ws/board/", await sync_to_async(token_of)(viewer))
    match end:
        case "expires":
            await ApiToken.objects.aupdate(expires_at=timezone.now())
        case "deleted":
            await ApiToken.objects.all().adelete()
        case _:
            await sync_to_async(viewer.groups.clear)()
    assert await close_code(opened) == (4403 if end == "role taken" else 4401)


async def test_a_socket_whose_rights_can_not_be_checked_is_closed(
    run: Run, viewer: User, socket: Socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "RECHECK_S", 0.05)

    def away(scope: dict[str, Any]) -> int:
        raise OperationalError("the connection is gone")

    opened = await socket("/ws/board/", await sync_to_async(token_of)(viewer))
    monkeypatch.setattr(consumers, "check_rights", away)
    assert await close_code(opened) == 1011


async def test_a_person_has_a_bounded_number_of_sockets(
    run: Run, viewer: User, socket: Socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "SOCKETS_PER_PERSON", 2)
    token = await sync_to_async(token_of)(viewer)
    first = [await socket("/ws/board/", token), await socket(f"/ws/runs/{run.pk}/", token)]
    assert await close_code(await socket("/ws/board/", token)) == 4429
    somebody = await sync_to_async(person)("someone else", Role.VIEWER)
    await hear(await socket(f"/ws/runs/{run.pk}/", await sync_to_async(token_of)(somebody)), "panel")
    await first[0].disconnect()
    await hear(await socket(f"/ws/runs/{run.pk}/", token), "panel")


async def test_a_token_in_the_query_opens_nothing(run: Run, viewer: User, socket: Socket) -> None:
    _, secret = await sync_to_async(ApiToken.make)(viewer, "test")
    for name in ("token", "access_token", "authorization"):
        opened = await socket(f"/ws/runs/{run.pk}/?{name}={secret}", ORIGIN)
        assert await close_code(opened) == 4401


@pytest.mark.parametrize("query", ["after=x", "after=-1", "after=", "after=99999999999", "after=²", "format=xml"])
async def test_a_bad_query_is_closed_with_4400(run: Run, viewer: User, socket: Socket, query: str) -> None:
    opened = await socket(f"/ws/runs/{run.pk}/?{query}", await sync_to_async(token_of)(viewer))
    # parse_qs leaves empty values out, and an absent `after` is 0
    assert await close_code(opened) == 4400 if query != "after=" else True


async def test_an_unknown_run_is_closed_with_4404(viewer: User, socket: Socket) -> None:
    assert await close_code(await socket("/ws/runs/999/", await sync_to_async(token_of)(viewer))) == 4404


# --- what comes ----------------------------------------------------------------------------------------


async def test_catching_up_and_going_live_join_without_gap_or_overlap(
    run: Run, viewer: User, socket: Socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "PAGE_EVENTS", 7)
    await sync_to_async(notes)(run, 40)
    opened = await socket(f"/ws/runs/{run.pk}/?after=5&format=json", await sync_to_async(token_of)(viewer))
    writing = asyncio.create_task(sync_to_async(notes)(run, 40))
    assert await seqs(opened, 80) == list(range(6, 81))
    await writing


async def test_a_page_gets_its_panels_and_a_program_does_not(run: Run, viewer: User, socket: Socket) -> None:
    token = await sync_to_async(token_of)(viewer)
    page, program = await socket(f"/ws/runs/{run.pk}/", token), await socket(f"/ws/runs/{run.pk}/?format=json", token)
    assert (await hear(page, "panel"))["name"]
    await sync_to_async(notes)(run, 1)
    assert (await hear(program, "panel", "events"))["type"] == "events"


async def test_a_client_that_does_not_acknowledge_is_stopped_and_goes_on_from_the_database(
    run: Run, viewer: User, socket: Socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "UNACKED_EVENTS", 10)
    monkeypatch.setattr(hub, "PAGE_EVENTS", 5)
    await sync_to_async(notes)(run, 30)
    opened = await socket(f"/ws/runs/{run.pk}/?format=json", await sync_to_async(token_of)(viewer))
    assert await seqs(opened, 10, ack=False) == list(range(1, 11))
    assert await opened.receive_nothing(0.3)
    await opened.send_to('{"ack": 10}')
    assert await seqs(opened, 30) == list(range(11, 31))


async def test_bytes_count_as_well_as_events(
    run: Run, viewer: User, socket: Socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "UNACKED_BYTES", 1000)
    monkeypatch.setattr(hub, "PAGE_EVENTS", 1)
    await sync_to_async(notes)(run, 3, "x" * 2000)
    opened = await socket(f"/ws/runs/{run.pk}/?format=json", await sync_to_async(token_of)(viewer))
    assert await seqs(opened, 1, ack=False) == [1]
    assert await opened.receive_nothing(0.3)


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"ack": "1"}', '{"ack": true}', '{"ack": -1}', '{"ack": 5}', "{}", "[" * 9000]
)
async def test_a_message_that_makes_no_sense_ends_the_socket(run: Run, viewer: User, socket: Socket, text: str) -> None:
    opened = await socket(f"/ws/runs/{run.pk}/", await sync_to_async(token_of)(viewer))
    await opened.send_to(text)
    assert await close_code(opened) == 4400


async def test_a_message_that_is_too_long_ends_the_socket(run: Run, viewer: User, socket: Socket) -> None:
    opened = await socket(f"/ws/runs/{run.pk}/", await sync_to_async(token_of)(viewer))
    await opened.send_to('{"ack": 1' + " " * consumers.INBOUND_BYTES + "}")
    assert await close_code(opened) == 1009


async def test_a_flood_of_messages_ends_the_socket(
    run: Run, viewer: User, socket: Socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "INBOUND_PER_10_S", 5)
    opened = await socket(f"/ws/runs/{run.pk}/", await sync_to_async(token_of)(viewer))
    for _ in range(8):
        await opened.send_to('{"ack": 0}')
    assert await close_code(opened) == 4429


async def test_a_server_that_stops_says_bye_and_closes_with_1012(run: Run, viewer: User, socket: Socket) -> None:
    token = await sync_to_async(token_of)(viewer)
    opened = [await socket(f"/ws/runs/{run.pk}/", token), await socket("/ws/board/", token)]
    await consumers.close_all()
    for each in opened:
        await hear(each, "bye")
        assert await close_code(each) == 1012
    assert hub.count() == 0


async def test_a_socket_that_is_cut_off_leaves_no_hub_behind(run: Run, viewer: User) -> None:
    headers = [HOST, await sync_to_async(token_of)(viewer)]
    communicator = WebsocketCommunicator(application, f"/ws/runs/{run.pk}/", headers)
    await communicator.connect(PATIENCE_S)
    await hear(communicator, "panel")
    assert hub.count() == 1
    communicator.future.cancel()  # as daphne does
    with pytest.raises(asyncio.CancelledError):
        await communicator.future
    assert hub.count() == 0


# --- the board -----------------------------------------------------------------------------------------


async def test_the_board_gets_the_row_of_a_run_that_moved(
    run: Run, viewer: User, socket: Socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = await socket("/ws/board/", await sync_to_async(token_of)(viewer))
    await sync_to_async(notes)(run, 3)
    message = await hear(opened, "panel")
    assert message["name"] == f"task-{run.task_id}"
    assert f'id="task-{run.task_id}"' in message["html"]


def write_until(run: Run, enough: threading.Event) -> None:
    """Write one event after the other until it is enough, or 20,000."""
    for _ in range(20_000):
        if enough.is_set():
            return
        notes(run, 1)


async def test_the_board_gets_at_most_four_bursts_a_second(run: Run, viewer: User, socket: Socket) -> None:
    opened = await socket("/ws/board/", await sync_to_async(token_of)(viewer))
    loop = asyncio.get_running_loop()
    enough = threading.Event()
    writing = asyncio.create_task(sync_to_async(write_until)(run, enough))
    times: list[float] = []
    try:
        async with asyncio.timeout(3 * PATIENCE_S):
            while len(times) < 5:
                await opened.output_queue.get()
                times.append(loop.time())
    finally:
        enough.set()
        await writing
    assert times[-1] - times[0] > 0.7  # four pauses of 0.25 s, less what the first took longer to render


async def test_an_unknown_address_is_refused_without_a_traceback() -> None:
    communicator = WebsocketCommunicator(application, "/ws/nothing/", [HOST, ORIGIN])
    connected, _ = await communicator.connect(PATIENCE_S)
    assert not connected
