"""The sockets: one run's transcript, and the board. They only read; what changes something is posted as a form."""

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from http.cookies import CookieError, SimpleCookie
from importlib import import_module
from typing import Any
from urllib.parse import parse_qs

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import User
from django.db import DatabaseError
from django.http import HttpRequest
from django.http.request import split_domain_port, validate_host
from django.urls import path, re_path

from agents import hub as hubs
from agents.board_hub import BoardHub
from agents.hub import Batch, Feed, Format, Hub, Panel, Passing, RunHub, Sign, in_thread
from agents.models import ApiToken, Role, Run, has_role

log = logging.getLogger(__name__)

UNACKED_EVENTS = 1000
UNACKED_BYTES = 2 * 1024 * 1024
INBOUND_BYTES = 16 * 1024
INBOUND_PER_10_S = 500
SOCKETS_PER_PERSON = 100
"""Open at once in one process; a tab holds one."""
RECHECK_S = 60.0

BAD_REQUEST, NOT_LOGGED_IN, FORBIDDEN, NO_SUCH_RUN, TOO_MANY = 4400, 4401, 4403, 4404, 4429
TOO_BIG, RESTART, BROKEN = 1009, 1012, 1011


class Refusal(Exception):
    """The socket is closed with this code."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


# --- who asks ------------------------------------------------------------------------------------------------


def _headers(scope: dict[str, Any]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def check_rights(scope: dict[str, Any]) -> int:
    """Return the id of the user whose token, or session and Origin, the socket has. At most four queries.

    A token needs no Origin, because no browser sends one by itself. Raises Refusal for who may not watch.
    """
    headers = _headers(scope)
    kind, _, secret = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        user = ApiToken.user_of(secret.strip())
    elif _has_right_origin(headers):
        user = _user_of_session(headers.get("cookie", ""))
    else:
        raise Refusal(FORBIDDEN, "The Origin of the page is not this site's.")
    if user is None:
        raise Refusal(NOT_LOGGED_IN, "No valid session or token.")
    if not has_role(user, Role.VIEWER):
        raise Refusal(FORBIDDEN, "The account has no role.")
    return user.pk


def _has_right_origin(headers: dict[str, str]) -> bool:
    """Return whether the Origin is this site's own (RFC 6455 10.2); the Host counts only if it is an allowed one."""
    origin = headers.get("origin", "").lower()
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    host = headers.get("host", "").lower()
    domain, _ = split_domain_port(host)
    schemes = ("https",) if settings.HTTPS else ("http", "https")
    own = {f"{scheme}://{host}" for scheme in schemes}
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS) and origin in own


def _user_of_session(cookies: str) -> User | None:
    try:
        morsel = SimpleCookie(cookies).get(settings.SESSION_COOKIE_NAME)
    except CookieError:
        return None
    if morsel is None:
        return None
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(morsel.value)
    user = get_user(request)
    return user if isinstance(user, User) and user.is_active else None


# --- what may go out -------------------------------------------------------------------------------------------


class Window:
    """What was sent and not yet acknowledged; daphne has no backpressure, so the client's acks are it."""

    def __init__(self, cursor: int) -> None:
        self.cursor = cursor
        self._sent: deque[tuple[int, int]] = deque()
        self._acked = cursor
        self._bytes = 0
        self._open = asyncio.Event()
        self._open.set()

    def sent(self, last: int, size: int) -> None:
        self.cursor = last
        self._sent.append((last, size))
        self._bytes += size
        self._measure()

    def ack(self, seq: int) -> None:
        """Take the client's word that it has everything up to `seq`. Raises Refusal for what was never sent."""
        if seq > self.cursor:
            raise Refusal(BAD_REQUEST, f"Event {seq} was never sent.")
        self._acked = max(self._acked, seq)
        while self._sent and self._sent[0][0] <= self._acked:
            self._bytes -= self._sent.popleft()[1]
        self._measure()

    async def wait_open(self) -> None:
        await self._open.wait()

    def _measure(self) -> None:
        is_open = self.cursor - self._acked < UNACKED_EVENTS and self._bytes < UNACKED_BYTES
        self._open.set() if is_open else self._open.clear()


# --- the sockets ------------------------------------------------------------------------------------------------

_sockets: set["Socket"] = set()


class Socket(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    """What both sockets share: rights, a feed from a hub, bounded input, an orderly end."""

    channel_layer_alias = "none"  # the hub listens to the layer for all sockets of its run
    hub: Hub | None = None
    person: int | None = None

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Serve the socket. A server that shuts down cancels this without a disconnect, so it is tidied up here."""
        self._tasks: list[asyncio.Task[None]] = []
        self._heard: deque[float] = deque(maxlen=INBOUND_PER_10_S)
        self._closed = False
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._tidy_up()

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Call the handler without Channels' detour through the one thread that closes connections (none is open)."""
        handlers = {
            "websocket.connect": self.websocket_connect,
            "websocket.receive": self.websocket_receive,
            "websocket.disconnect": self.websocket_disconnect,
        }
        await handlers[message["type"]](message)

    async def connect(self) -> None:
        try:
            self.person = await in_thread(check_rights, self.scope)
            self._take_a_place()
            await self.open()
        except Refusal as refusal:
            await self.accept()  # a socket that was never open has no close code
            await self._end(refusal.code)
            return
        await self.accept()  # from now on nothing is missed
        self._tasks += [asyncio.create_task(self._until_refused(work)) for work in (self.follow, self._keep_checking)]
        for task in self._tasks:
            task.add_done_callback(self._see_end)

    async def disconnect(self, code: int) -> None:
        self._tidy_up()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self._closed:
            return
        try:
            self._check_pace()
            self.take(_message(text_data))
        except Refusal as refusal:
            await self._end(refusal.code)

    async def open(self) -> None:
        """Join the hub. Raises Refusal."""
        raise NotImplementedError

    async def follow(self) -> None:
        """Send what the hub gives, until it ends."""
        raise NotImplementedError

    def take(self, message: dict[str, Any]) -> None:
        """Take a message of the client. Raises Refusal."""

    async def say_bye(self) -> None:
        """Tell the client that the server goes down, so that it comes back by itself."""
        if not self._closed:
            await self.send(text_data='{"type": "bye"}')
            await self._end(RESTART)

    async def _keep_checking(self) -> None:
        while True:
            await asyncio.sleep(RECHECK_S)
            await in_thread(check_rights, self.scope)

    async def _until_refused(self, work: Callable[[], Awaitable[None]]) -> None:
        """Work until a Refusal; where the database is away, the client had better come back than hang on unchecked."""
        try:
            await work()
        except Refusal as refusal:
            await self._end(refusal.code)
        except DatabaseError:
            log.exception("A socket was closed, as the database could not be asked")
            await self._end(BROKEN)

    def _see_end(self, task: asyncio.Task[None]) -> None:
        """Close the socket when its work failed: open and silent, it would look like a run that stands still."""
        if not task.cancelled() and (fault := task.exception()):
            log.error("A socket was closed by a fault", exc_info=fault)
            self._ending = asyncio.create_task(self._end(BROKEN))

    def _take_a_place(self) -> None:
        if sum(each.person == self.person for each in _sockets) >= SOCKETS_PER_PERSON:
            raise Refusal(TOO_MANY, f"More than {SOCKETS_PER_PERSON} sockets of one account.")
        _sockets.add(self)

    def _check_pace(self) -> None:
        now = time.monotonic()
        if len(self._heard) == INBOUND_PER_10_S and now - self._heard[0] < 10:
            raise Refusal(TOO_MANY, f"More than {INBOUND_PER_10_S} messages in 10 s.")
        self._heard.append(now)

    async def _end(self, code: int) -> None:
        if not self._closed:
            self._closed = True
            await self.close(code)
            self._tidy_up()

    def _tidy_up(self) -> None:
        self._closed = True
        _sockets.discard(self)
        current = asyncio.current_task()
        for task in self._tasks:
            if task is not current:
                task.cancel()
        if self.hub is not None:
            hubs.leave(self.hub, self.feed)
            self.hub = None


def _message(text: str | None) -> dict[str, Any]:
    if text is None:
        raise Refusal(BAD_REQUEST, "Messages are JSON texts.")
    if len(text) > INBOUND_BYTES:
        raise Refusal(TOO_BIG, f"A message may have {INBOUND_BYTES} characters.")
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refusal(BAD_REQUEST, "A message was no JSON.") from error
    if not isinstance(message, dict):
        raise Refusal(BAD_REQUEST, "A message is a JSON object.")
    return message


class RunSocket(Socket):
    """`/ws/runs/<id>/?after=N[&format=json]`: catches up from the database in pages, then goes on live."""

    async def open(self) -> None:
        run_id = self.scope["url_route"]["kwargs"]["pk"]
        query = parse_qs(self.scope.get("query_string", b"").decode("latin-1"), max_num_fields=10)
        after = _whole_number(query.get("after", ["0"])[-1])
        self.feed = Feed(_format(query.get("format", ["html"])[-1]))
        if not await in_thread(_exists, run_id):
            raise Refusal(NO_SUCH_RUN, f"There is no run {run_id}.")
        self.window = Window(after)
        self.run_hub = await hubs.join(RunHub(run_id), self.feed)
        self.hub = self.run_hub

    def take(self, message: dict[str, Any]) -> None:
        seq = message.get("ack")
        if not isinstance(seq, int) or isinstance(seq, bool) or seq < 0:
            raise Refusal(BAD_REQUEST, 'The only message is {"ack": seq}.')
        self.window.ack(seq)

    async def follow(self) -> None:
        await self._catch_up()
        if self.feed.format is Format.HTML:
            for text in list(self.run_hub.panels.values()):
                await self.send(text_data=text)
        while True:
            match await self.feed.get():
                case Batch() as batch:
                    await self._go_on(batch)
                case Passing(text):
                    await self.send(text_data=text)
                case Panel(text) if self.feed.format is Format.HTML:
                    await self.send(text_data=text)
                case Sign.LOST:
                    await self._catch_up()
                case Sign.ENDED:
                    raise Refusal(BROKEN, "The hub ended.")

    async def _go_on(self, batch: Batch) -> None:
        if batch.last <= self.window.cursor:
            return
        text = batch.texts.get(self.feed.format)
        if batch.first != self.window.cursor + 1 or text is None:
            await self._catch_up()
        else:
            await self._deliver(batch, text)

    async def _catch_up(self) -> None:
        format = self.feed.format
        while True:
            await self.window.wait_open()
            batches = await in_thread(hubs.read_batches, self.run_hub.run, self.window.cursor, frozenset({format}))
            if not batches:
                return
            for batch in batches:
                await self._deliver(batch, batch.texts[format])

    async def _deliver(self, batch: Batch, text: str) -> None:
        await self.window.wait_open()
        self.window.sent(batch.last, len(text))
        await self.send(text_data=text)


class BoardSocket(Socket):
    """`/ws/board/`: the rows of the board that changed."""

    async def open(self) -> None:
        self.feed = Feed()
        self.hub = await hubs.join(BoardHub(), self.feed)

    async def follow(self) -> None:
        while True:
            match await self.feed.get():
                case Panel(text):
                    await self.send(text_data=text)
                case Sign():
                    raise Refusal(BROKEN, "The socket lagged, or the hub ended; the page loads afresh.")


def _whole_number(text: str) -> int:
    if not text.isdecimal() or not text.isascii() or len(text) > 9:
        raise Refusal(BAD_REQUEST, "`after` is the number of an event.")
    return int(text)


def _format(text: str) -> Format:
    try:
        return Format(text)
    except ValueError as error:
        raise Refusal(BAD_REQUEST, "`format` is html or json.") from error


def _exists(run_id: int) -> bool:
    return Run.objects.filter(pk=run_id).exists()


async def close_all() -> None:
    """Say bye on every socket and close it with 1012. To be awaited on the server's loop before it shuts down."""
    await asyncio.gather(*(socket.say_bye() for socket in list(_sockets)), return_exceptions=True)


class NoSocket(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    """Any other address: the handshake is refused with 403, instead of a traceback in the log."""

    channel_layer_alias = "none"

    async def connect(self) -> None:
        await self.close()


websocket_urlpatterns = [
    path("ws/runs/<int:pk>/", RunSocket.as_asgi()),
    path("ws/board/", BoardSocket.as_asgi()),
    re_path("", NoSocket.as_asgi()),
]
