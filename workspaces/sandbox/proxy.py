"""The only way out of a sandbox: an HTTP proxy on a UNIX socket, for an exact list of host:port."""

import os
import secrets
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from workspaces.masking import Mask
from workspaces.sandbox import heads
from workspaces.sandbox.heads import Refused
from workspaces.sandbox.identity import own_folder
from workspaces.sandbox.place import Connection, Way
from workspaces.sandbox.telling import Line, Telling
from workspaces.targets import BadTarget, is_global, normal

CONNECT_S = 15.0
IDLE_S = 120.0
CONNECTIONS = 32
ADDRESSES = 8
"""Addresses of one host that are tried."""
PIECE = 64 * 1024
CLOSE_S = 2.0
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


@dataclass
class Proxy:
    """One command's proxy; its threads end with it."""

    hosts: frozenset[str]
    path: Path
    listener: socket.socket
    telling: Telling
    mask: Mask = field(default_factory=Mask)
    _open: set[socket.socket] = field(default_factory=set)
    _threads: set[threading.Thread] = field(default_factory=set)
    _is_closed: bool = False

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._room = threading.BoundedSemaphore(CONNECTIONS)

    def listen(self) -> None:
        while self._room.acquire():
            try:
                client, _ = self.listener.accept()
            except OSError:  # closed
                return
            thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
            self._threads.add(thread)
            thread.start()

    def close(self) -> None:
        """End every connection; when this returns, all that became of them is told. Calling again does no harm."""
        with self._lock:
            self._is_closed = True
            connections = list(self._open)
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in connections:
            _shut(connection)
        until = time.monotonic() + CLOSE_S
        for thread in list(self._threads):
            thread.join(max(0.0, until - time.monotonic()))
        self.telling.finish()

    def _serve(self, client: socket.socket) -> None:
        line = self.telling.begin()
        try:
            # A side that goes away ends the connection; what was carried until then is told.
            with suppress(OSError), client, self._held(client):
                self._answer(client, line)
        finally:
            self.telling.ended(line)
            self._threads.discard(threading.current_thread())
            self._room.release()

    @contextmanager
    def _held(self, connection: socket.socket) -> Iterator[None]:
        """Let the proxy's end end this connection too. Raises OSError where that has come already."""
        with self._lock:
            if self._is_closed:
                raise ConnectionAbortedError("The command has ended.")
            self._open.add(connection)
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(connection)

    def _answer(self, client: socket.socket, line: Line) -> None:
        try:
            request = heads.read(client)
            if request is None:
                return
            line.target = self.mask.text(request.target)[0]
            server = self._connect(request.target)
        except Refused as refusal:
            self.telling.ended(line, refusal.way, self.mask.text(refusal.why)[0])
            client.sendall(_refusal(refusal))
            return
        with server, self._held(server):
            if self.telling.opened(line):
                _carry(client, server, request, line)

    def _connect(self, target: str) -> socket.socket:
        if target not in self.hosts:
            raise Refused("403 Forbidden", f"{target} is not on this command's list of hosts; a person must add it.")
        host, _, port = target.rpartition(":")
        try:
            addresses = resolve(host.strip("[]"), int(port))
            for address in addresses:
                if not is_global(address):
                    raise Refused("403 Forbidden", f"{target} is {address}, an address of a private network.")
            return _first(addresses, int(port))
        except (OSError, UnicodeError) as error:
            raise Refused("502 Bad Gateway", f"{target} can't be reached: {error}.", Way.FAILED) from error


@contextmanager
def opened(
    hosts: tuple[str, ...], uid: int | None, hear: Callable[[Connection], None], mask: Mask | None = None
) -> Iterator[Proxy]:
    """Serve the hosts on a socket that only `uid` reaches, as long as the block lasts.

    `hear` is told what becomes of each connection, without what the mask knows: a secret may be asked for as a host.
    """
    folder = own_folder() / f"door-{secrets.token_hex(8)}"
    folder.mkdir(mode=0o700)
    try:
        proxy = Proxy(_readable(hosts), folder / "proxy.sock", _bound(folder, uid), Telling(hear), mask or Mask())
        thread = threading.Thread(target=proxy.listen, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.close()
            thread.join(CLOSE_S)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _readable(hosts: tuple[str, ...]) -> frozenset[str]:
    """Return the hosts as requests name them; what can't be read lets nothing through."""
    found = set()
    for host in hosts:
        with suppress(BadTarget):
            found.add(normal(host))
    return frozenset(found)


def _bound(folder: Path, uid: int | None) -> socket.socket:
    """Return a listening socket; it is bound by way of a descriptor, since a socket's path may have 107 bytes only."""
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"/proc/self/fd/{handle}/proxy.sock")
        listener.listen(128)
    finally:
        os.close(handle)
    if uid is not None:
        os.chown(folder / "proxy.sock", uid, uid)
        os.chown(folder, uid, uid)
    return listener


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host; raises OSError."""
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def _first(addresses: list[str], port: int) -> socket.socket:
    """Connect to the first of these very addresses that answers; no name is asked for again. Raises OSError."""
    until = time.monotonic() + CONNECT_S
    fault = OSError("the name has no address")
    for address in list(dict.fromkeys(addresses))[:ADDRESSES]:
        try:
            return socket.create_connection((address, port), timeout=max(0.1, until - time.monotonic()))
        except OSError as error:
            fault = error
    raise fault


def _refusal(refusal: Refused) -> bytes:
    body = f"{refusal.why}\n".encode()
    fields = f"Content-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close"
    return f"HTTP/1.1 {refusal.status}\r\n{fields}\r\n\r\n".encode() + body


def _carry(client: socket.socket, server: socket.socket, request: heads.Request, line: Line) -> None:
    """Carry bytes both ways, each in a thread, until both sides are done or nothing moves for IDLE_S."""
    client.settimeout(IDLE_S)
    server.settimeout(IDLE_S)
    first = request.head + request.rest
    line.sent += len(first)
    if not request.head:
        client.sendall(ESTABLISHED)
    server.sendall(first)
    flow = _Flow(client, server, line)
    back = threading.Thread(target=flow.inwards, daemon=True)
    back.start()
    flow.outwards()
    back.join()


@dataclass
class _Flow:
    client: socket.socket
    server: socket.socket
    line: Line
    moved_at: float = field(default_factory=time.monotonic)

    def outwards(self) -> None:
        self._pump(self.client, self.server, self._sent)

    def inwards(self) -> None:
        self._pump(self.server, self.client, self._received)

    def _sent(self, count: int) -> None:
        self.line.sent += count

    def _received(self, count: int) -> None:
        self.line.received += count

    def _pump(self, source: socket.socket, target: socket.socket, count: Callable[[int], None]) -> None:
        try:
            while data := self._piece(source):
                count(len(data))
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            _shut(source)
            _shut(target)

    def _piece(self, source: socket.socket) -> bytes:
        """Return what comes next; raises TimeoutError once nothing has moved either way for IDLE_S."""
        while True:
            try:
                data = source.recv(PIECE)
            except TimeoutError:
                if time.monotonic() - self.moved_at >= IDLE_S:
                    raise
            else:
                self.moved_at = time.monotonic()
                return data


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
