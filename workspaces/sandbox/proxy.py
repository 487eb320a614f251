"""The only way out of a sandbox: an HTTP proxy on a UNIX socket, for an exact list of host:port."""

import ipaddress
import os
import re
import secrets
import selectors
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from workspaces.sandbox.identity import own_folder

HEAD_BYTES = 16 * 1024
HEAD_S = 10.0
CONNECT_S = 15.0
IDLE_S = 120.0
CONNECTIONS = 32
PIECE = 64 * 1024
MAX_RECORDS = 200
CLOSE_S = 2.0
TARGET = re.compile(r"(?P<host>[a-z0-9_.-]{1,253}|\[[0-9a-f:.]{2,45}\]):(?P<port>[0-9]{1,5})")
EMBEDDED = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses that stand for an IPv4 one (RFC 6052)."""


class Refused(Exception):
    """A request that is not passed on: the HTTP status, and why in words for who asked."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


@dataclass
class Record:
    """One request: where to, whether it was allowed, and how many bytes went out and came in."""

    target: str
    allowed: bool = False
    why: str = ""
    sent: int = 0
    received: int = 0


@dataclass
class Proxy:
    """One command's proxy; its threads end with it."""

    hosts: frozenset[str]
    path: Path
    listener: socket.socket
    records: list[Record] = field(default_factory=list)
    open: set[socket.socket] = field(default_factory=set)
    room: threading.BoundedSemaphore = field(default_factory=lambda: threading.BoundedSemaphore(CONNECTIONS))

    def listen(self) -> None:
        while self.room.acquire():
            try:
                client, _ = self.listener.accept()
            except OSError:  # closed
                return
            self.open.add(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in list(self.open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _serve(self, client: socket.socket) -> None:
        record = Record("")
        try:
            with client:
                client.settimeout(HEAD_S)
                self._pass_on(client, record)
        except OSError as error:
            record.why = record.why or str(error)
        finally:
            self.open.discard(client)
            if len(self.records) < MAX_RECORDS:
                self.records.append(record)
            self.room.release()

    def _pass_on(self, client: socket.socket, record: Record) -> None:
        try:
            head, rest = _read_head(client)
            record.target, first = _request(head)
            server = self._connect(record.target)
        except Refused as refusal:
            record.why = refusal.why
            client.sendall(_answer(refusal.status, refusal.why))
            return
        record.allowed = True
        self.open.add(server)
        try:
            with server:
                if first:
                    server.sendall(first + rest)
                else:
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    server.sendall(rest)
                record.sent += len(first) + len(rest)
                _pump(client, server, record)
        finally:
            self.open.discard(server)

    def _connect(self, target: str) -> socket.socket:
        if target not in self.hosts:
            raise Refused("403 Forbidden", f"{target} is not on this command's list of hosts; a person must add it.")
        host, _, port = target.rpartition(":")
        try:
            addresses = resolve(host.strip("[]"), int(port))
            for address in addresses:
                if not is_global(address):
                    raise Refused("403 Forbidden", f"{target} is {address}, an address of a private network.")
            return socket.create_connection((addresses[0], int(port)), timeout=CONNECT_S)
        except OSError as error:
            raise Refused("502 Bad Gateway", f"{target} can't be reached: {error}.") from error


@contextmanager
def opened(hosts: tuple[str, ...], uid: int | None) -> Iterator[Proxy]:
    """Serve the hosts on a socket that only `uid` reaches, as long as the block lasts."""
    folder = own_folder() / f"door-{secrets.token_hex(8)}"
    folder.mkdir(mode=0o700)
    try:
        proxy = Proxy(frozenset(host.lower() for host in hosts), folder / "proxy.sock", _bound(folder, uid))
        thread = threading.Thread(target=proxy.listen, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.close()
            thread.join(CLOSE_S)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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


def is_global(address: str) -> bool:
    """Return whether an address is of the open internet, looking into those that carry an IPv4 address."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if found in EMBEDDED:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return is_global(str(inner))
    return found.is_global and not found.is_multicast


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        if len(data) > HEAD_BYTES:
            raise Refused("431 Request Header Fields Too Large", "The head of the request is too long.")
        piece = client.recv(4096)
        if not piece:
            raise Refused("400 Bad Request", "The request ended early.")
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _request(head: bytes) -> tuple[str, bytes]:
    """Return the target host:port, and the head to send on: empty for CONNECT."""
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3:
        raise Refused("400 Bad Request", "The request line can't be read.")
    method, url, _ = words
    if method == "CONNECT":
        return _target(url), b""
    try:
        parts = urlsplit(url)
        target = _target(f"{parts.netloc}" if parts.port else f"{parts.netloc}:80")
    except ValueError as error:
        raise Refused("400 Bad Request", f"The address can't be read: {error}.") from error
    if parts.scheme != "http":
        raise Refused("400 Bad Request", "This proxy knows http:// addresses and CONNECT.")
    kept = [line for line in lines[1:] if not line.lower().startswith(("host:", "connection:", "proxy-"))]
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    first = [f"{method} {path} HTTP/1.1", f"Host: {parts.netloc}", "Connection: close", *kept]
    return target, ("\r\n".join(first) + "\r\n\r\n").encode("latin-1")


def _target(text: str) -> str:
    found = TARGET.fullmatch(text.lower())
    if found is None or not 0 < int(found["port"]) < 65536:
        raise Refused("400 Bad Request", f"{text[:100]!r} is no host:port.")
    return f"{found['host'].rstrip('.')}:{int(found['port'])}"


def _answer(status: str, why: str) -> bytes:
    body = f"{why}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


def _pump(client: socket.socket, server: socket.socket, record: Record) -> None:
    """Carry bytes both ways until both sides are done or nothing moves for IDLE_S."""
    client.settimeout(IDLE_S)
    server.settimeout(IDLE_S)
    other = {client: server, server: client}
    with selectors.DefaultSelector() as waiting:  # select() takes no descriptor past 1023
        for each in other:
            waiting.register(each, selectors.EVENT_READ, each)
        while waiting.get_map():
            ready = waiting.select(IDLE_S)
            if not ready:
                return
            for key, _ in ready:
                source: socket.socket = key.data
                data = source.recv(PIECE)
                if not data:
                    waiting.unregister(source)
                    other[source].shutdown(socket.SHUT_WR)
                    continue
                other[source].sendall(data)
                if source is client:
                    record.sent += len(data)
                else:
                    record.received += len(data)
