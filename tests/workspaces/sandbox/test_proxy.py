"""The way out: exact hosts, public addresses, and nothing beside it. Only the network itself is replaced."""

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.workspaces.sandbox.conftest import Runner
from workspaces.sandbox import Ending, proxy

FETCH = (
    "python3 -c \"import urllib.request as u; print(u.urlopen('{url}', timeout=20).read().decode())\" 2>&1 | tail -1"
)


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"{self.headers['Host']} {self.path} {self.headers['Connection']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        return


@pytest.fixture
def port() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every name lead to this machine, as if that were a public address."""
    monkeypatch.setattr(proxy, "resolve", lambda host, port: ["127.0.0.1"])
    monkeypatch.setattr(proxy, "is_global", lambda address: True)


@pytest.mark.usefixtures("named")
def test_a_listed_host_is_reached_and_counted(run: Runner, port: int) -> None:
    host = f"index.example:{port}"
    outcome = run(FETCH.format(url=f"http://{host}/a?b=c"), network=(host,))
    assert run.output == f"{host} /a?b=c close\n"
    assert outcome.applied["network"] == [host]
    [record] = outcome.applied["connections"]
    assert record["target"] == host
    assert record["allowed"]
    assert record["received"] > 20 < record["sent"]


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
    assert [record["allowed"] for record in outcome.applied["connections"]] == [False]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine_is_refused_even_when_it_is_listed(run: Runner, port: int, host: str) -> None:
    outcome = run(f"no_proxy= NO_PROXY= {FETCH.format(url=f'http://{host}:{port}/')}", network=(f"{host}:{port}",))
    assert "403" in run.output
    assert "private network" in outcome.applied["connections"][0]["why"]


def test_there_is_no_way_around_the_proxy(run: Runner, port: int) -> None:
    command = f"env -u http_proxy -u HTTP_PROXY {FETCH.format(url=f'http://127.0.0.1:{port}/')}"
    outcome = run(command, network=(f"127.0.0.1:{port}",))
    assert "refused" in run.output
    assert outcome.applied["connections"] == []


@pytest.mark.usefixtures("named")
def test_the_exit_code_stays_the_commands_own(run: Runner) -> None:
    outcome = run("sleep 600 & exit 5", network=("index.example:80",))
    assert (outcome.ending, outcome.exit_code) == (Ending.EXIT, 5)


def test_without_hosts_there_is_no_proxy(run: Runner) -> None:
    run("env | grep -ci proxy; ls /sakura")
    assert run.output.startswith("0\n")


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("192.168.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("64:ff9b::808:808", True),
        ("2002:a00:1::", False),
        ("ff02::1", False),
    ],
)
def test_only_addresses_of_the_open_internet_count_as_public(address: str, public: bool) -> None:
    assert proxy.is_global(address) is public


def test_a_name_with_a_private_address_among_its_own_is_refused(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "resolve", lambda host, port: ["8.8.8.8", "10.0.0.1"])
    run(FETCH.format(url="http://index.example/"), network=("index.example:80",))
    assert "403" in run.output
