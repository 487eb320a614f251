"""The real server on loopback, as a hostile client meets it: raw bytes, floods, stolen tokens, other sites' pages."""

import json
import re
import socket
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.e2e.server import Server, wait_for

PASSWORD = "a-long-and-good-password"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all of these: nothing that they do may harm it."""
    running = Server(tmp_path_factory.mktemp("hostile") / "data").start()
    yield running
    assert running.stop() == 0


@pytest.fixture
def browser_of(server: Server) -> httpx.Client:
    """Log in by a link, as an administrator's browser does."""
    client = httpx.Client(base_url=server.url, timeout=60, headers={"Origin": server.url})
    post(client, re.sub("^http://[^/]+", "", server.manage("loginlink", "admin").split()[-1]))
    return client


def post(client: httpx.Client, address: str, form: dict[str, Any] | None = None) -> httpx.Response:
    """Send a form with the token of its page, or of the settings where the address has no page."""
    page = client.get(address if "/login/" in address else "/settings/").text
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert token, page[:500]
    return client.post(address, data={"csrfmiddlewaretoken": token[1]} | (form or {}))


def raw(server: Server, data: bytes, limit_s: float = 20) -> bytes:
    """Send bytes, and return what comes back until the server hangs up or is silent."""
    with socket.create_connection(("127.0.0.1", int(server.port)), timeout=limit_s) as connection:
        got = b""
        try:
            connection.sendall(data)
            while piece := connection.recv(65536):
                got += piece
        except OSError:
            pass
        return got


def listen(server: Server, path: str, **headers: str) -> ClientConnection:
    url = f"ws{server.url.removeprefix('http')}{path}"
    return connect(url, additional_headers=headers, max_size=None)


def close_code(connection: ClientConnection) -> int:
    try:
        while True:
            connection.recv(timeout=20)
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else 1006


def test_parallel_guesses_are_stopped_at_ten(server: Server, browser_of: httpx.Client) -> None:
    post(browser_of, "/settings/password/", {"password": PASSWORD})
    start = threading.Barrier(40)

    def guess(number: int) -> int:
        client = httpx.Client(base_url=server.url, timeout=120)
        token = re.search(r'csrfmiddlewaretoken" value="([^"]+)"', client.get("/login/").text)
        assert token
        form = {"csrfmiddlewaretoken": token[1], "username": "admin", "password": f"guess {number}"}
        start.wait(60)
        spoofed = {"X-Forwarded-For": f"192.0.2.{number}", "User-Agent": f"Browser {number}"}
        return client.post("/login/", data=form, headers=spoofed).status_code

    with ThreadPoolExecutor(40) as pool:
        statuses = list(pool.map(guess, range(40)))
    assert statuses.count(200) <= 9
    assert set(statuses) <= {200, 429}
    right = httpx.Client(base_url=server.url, timeout=60)
    assert post(right, "/login/", {"username": "admin", "password": PASSWORD}).status_code == 429
    assert browser_of.get("/").status_code == 200


def test_a_body_without_end_is_cut_off(server: Server) -> None:
    head = f"POST /login/ HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: text/plain\r\n"
    announced = raw(server, f"{head}Content-Length: 99999999999\r\n\r\n".encode())
    assert announced.startswith(b"HTTP/1.1 413 ")
    sent = 0
    with socket.create_connection(("127.0.0.1", int(server.port)), timeout=20) as connection:
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        piece = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
        try:
            for _ in range(400):
                connection.sendall(piece)
                sent += 1
        except OSError:
            pass
    assert sent < 100
    assert server._answers()


@pytest.mark.parametrize(
    "request_",
    [
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: " + b"x" * 200_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(5000)) + b"\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x",
        b"TRACE / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Secret: do-not-echo\r\nConnection: close\r\n\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 500 + b"\r\n\r\n",
    ],
    ids=["header", "headers", "path", "host", "hosts", "absolute", "smuggling", "trace", "connect", "tls"],
)  # fmt: skip
def test_raw_requests_get_in_nowhere(server: Server, request_: bytes) -> None:
    answer = raw(server, request_, limit_s=5)
    status = answer.partition(b"\r\n")[0]
    assert b" 200 " not in status
    assert b" 500 " not in status
    assert b"do-not-echo" not in answer
    assert b"Traceback" not in answer
    assert server._answers()


def test_a_hostile_client_of_the_sockets_is_closed(server: Server) -> None:
    bearer = {"Authorization": f"Bearer {server.token}"}
    with listen(server, "/ws/board/", **bearer) as socket_:
        with suppress(ConnectionClosed):  # the server may hang up before it has all
            socket_.send("x" * 10_000_000)
        assert close_code(socket_) == 1009
    with listen(server, "/ws/board/", **bearer) as socket_:
        socket_.send("x" * 20_000)
        assert close_code(socket_) == 1009
    with listen(server, "/ws/board/", **bearer) as socket_:
        with suppress(ConnectionClosed):
            for number in range(5000):
                socket_.send(json.dumps({"ack": number}))
        assert close_code(socket_) == 4429
    with listen(server, "/ws/board/", **bearer) as socket_:
        socket_.send(b"\x00\xff")
        assert close_code(socket_) == 4400
    opened = [listen(server, "/ws/board/", **bearer) for _ in range(101)]
    assert close_code(opened[-1]) == 4429
    for each in opened:
        each.close()
    assert server._answers()


def test_a_long_message_is_refused_by_the_length_that_it_names(server: Server) -> None:
    """Of the message itself nothing is sent: who kept it first would wait for it."""
    for head in (b"\x81\xff" + struct.pack("!Q", 10_000_000), b"\x82\xfe" + struct.pack("!H", 16 * 1024 + 1)):
        with listen(server, "/ws/board/", Authorization=f"Bearer {server.token}") as socket_:
            socket_.socket.sendall(head + b"\0\0\0\0")
            assert close_code(socket_) == 1009


def test_a_message_in_many_fragments_is_counted_as_one(server: Server) -> None:
    bearer = {"Authorization": f"Bearer {server.token}"}
    with listen(server, "/ws/board/", **bearer) as socket_:
        for number in range(82):  # 16,400 bytes of a message that never ends
            socket_.socket.sendall(frame(b"x" * 200, first=not number))
        assert close_code(socket_) == 1009
    with listen(server, "/ws/board/", **bearer) as socket_:
        socket_.send("x" * 100 for _ in range(150))  # a message of 15,000 bytes that is no JSON
        assert close_code(socket_) == 4400
    assert server._answers()


def test_unfinished_messages_of_many_sockets_take_no_memory(server: Server) -> None:
    bearer = {"Authorization": f"Bearer {server.token}"}
    opened = [listen(server, "/ws/board/", **bearer) for _ in range(60)]
    before = memory_kb(server)
    for each in opened:
        with suppress(OSError):  # closed already
            for number in range(40):  # frames of 60,000 bytes, of which none is the last
                each.socket.sendall(frame(b"x" * 60_000, first=not number))
    grown = memory_kb(server) - before
    assert {close_code(each) for each in opened} <= {1006, 1009}
    assert grown < 40_000  # 144 MB were sent
    assert server._answers()


def frame(payload: bytes, *, first: bool) -> bytes:
    """Return a client's frame, of 126 bytes to 64 KB, of a message that goes on (RFC 6455 5.2), masked by zeros."""
    return struct.pack("!BBH", 0x01 if first else 0x00, 0x80 | 126, len(payload)) + b"\0\0\0\0" + payload


def memory_kb(server: Server) -> int:
    assert server.process is not None
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{server.process.pid}/status").read_text())
    assert found
    return int(found[1])


def test_another_sites_page_gets_nothing_by_the_cookie(server: Server, browser_of: httpx.Client) -> None:
    cookies = "; ".join(f"{name}={value}" for name, value in browser_of.cookies.items())
    for origin in ("https://evil.example", "null", f"http://evil.example:{server.port}", "file://"):
        with listen(server, "/ws/board/", Cookie=cookies, Origin=origin) as socket_:
            assert close_code(socket_) == 4403
        form = {"csrfmiddlewaretoken": browser_of.cookies["csrftoken"], "do": "add", "username": "evil"}
        answer = browser_of.post("/settings/users/", data=form, headers={"Origin": origin})
        assert answer.status_code == 403
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        body = '{"name": "evil", "source": "https://evil.example/x.git"}'
        answer = browser_of.post("/api/v1/repositories", content=body, headers={"Content-Type": kind})
        assert answer.status_code in (400, 403, 415)
    answer = browser_of.get("/api/v1/tasks", headers={"Origin": "https://evil.example"})
    assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert server.repositories() == []


def test_who_is_shut_out_is_out_at_once(server: Server, browser_of: httpx.Client) -> None:
    page = post(browser_of, "/settings/users/", {"do": "add", "username": "mallory", "roles": "operator"}).text
    link = re.search(r">http://[^<]+(/login/[^<]+/)<", page)
    assert link
    mallory = httpx.Client(base_url=server.url, timeout=60)
    assert post(mallory, link[1]).status_code == 302
    assert mallory.get(link[1]).status_code == 404
    made = post(mallory, "/settings/tokens/", {"name": "x", "roles": "operator", "days": "365"}).text
    token = re.search(r"sakura_[\w-]+", made)
    assert token
    bearer = {"Authorization": f"Bearer {token[0]}"}
    assert httpx.get(f"{server.url}/api/v1/tasks", headers=bearer).status_code == 200
    number = re.search(r'name="user" value="(\d+)"(?:(?!</tr>).)*?of mallory', browser_of.get("/settings/").text, re.S)
    assert number
    post(browser_of, "/settings/users/", {"do": "shut_out", "user": number[1]})
    post(browser_of, "/settings/users/", {"do": "let_in", "user": number[1]})
    assert httpx.get(f"{server.url}/api/v1/tasks", headers=bearer).status_code == 401
    assert mallory.get("/").headers["location"].startswith("/login/")


def test_an_upgrade_at_another_address_is_refused(server: Server) -> None:
    for path in ("/ws/", "/ws/runs/x/", "/api/v1/tasks", "/ws/runs/1/../../board"):
        with pytest.raises(InvalidStatus):
            listen(server, path, Authorization=f"Bearer {server.token}").close()
    with listen(server, f"/ws/board/?token={server.token}", Origin=server.url) as socket_:
        assert close_code(socket_) == 4401


def test_slow_clients_do_not_keep_others_out(server: Server) -> None:
    waiting = [socket.create_connection(("127.0.0.1", int(server.port)), timeout=20) for _ in range(200)]
    for each in waiting:
        each.sendall(b"POST /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nx")
    begun = time.monotonic()
    wait_for(server._answers, "an answer beside slow clients", 10)
    assert time.monotonic() - begun < 10
    for each in waiting:
        each.close()
