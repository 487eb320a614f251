"""A mock model server that others wrote, and one of our own for what it can't do."""

import fcntl
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import pytest

ROOT = Path(__file__).resolve().parents[3]
WIRE = ROOT / "tests" / "wire"
FIXTURES = Path(__file__).parent / "fixtures"


@dataclass
class Mock:
    """A running aimock."""

    url: str

    def reset(self) -> None:
        """Forget the requests and their count, and end the chaos; the fixtures stay."""
        self._send("POST", "/__aimock/reset/journal")
        self._send("DELETE", "/__aimock/chaos")

    def chaos(self, **rates: float) -> None:
        """Make every request fail from now on; `reset` ends it."""
        self._send("POST", "/__aimock/chaos", rates)

    def requests(self) -> list[dict[str, Any]]:
        """Return the bodies of the requests since the reset."""
        with urllib.request.urlopen(f"{self.url}/v1/_requests", timeout=5) as answer:
            return [entry["body"] for entry in json.load(answer)]

    def _send(self, method: str, path: str, body: object = None) -> None:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, json.dumps(body or {}).encode(), headers, method=method)
        urllib.request.urlopen(request, timeout=5).close()


def _program() -> Path:
    """Return llmock, installed below tests/wire if it is nowhere."""
    given = os.environ.get("SAKURA_AIMOCK")
    places = [Path(given)] if given else [base / "node_modules/.bin/llmock" for base in (ROOT, WIRE)]
    for place in places:
        if place.exists():
            return place
    if given or not shutil.which("npm"):
        pytest.skip("The mock model server is not here: install npm, or name its llmock in SAKURA_AIMOCK.")
    with (Path(tempfile.gettempdir()) / "sakura-wire.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes start at once
        if not places[-1].exists():
            _install()
    return places[-1]


def _install() -> None:
    command = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=WIRE, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        pytest.skip(f"npm can't install the mock model server: {done.stderr[-500:]}")


@pytest.fixture(scope="session")
def aimock() -> Iterator[Mock]:
    program = _program()
    if not shutil.which("node"):
        pytest.skip("The mock model server needs node.")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["node", str(program), "-p", str(port), "-f", str(FIXTURES), "--strict", "--validate-on-load"]
    process = subprocess.Popen(
        [*command, "--log-level", "warn"],
        env={"PATH": os.environ["PATH"], "AIMOCK_STRICT_TURN_INDEX": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _await_port(port, process)
        yield Mock(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(10)


def _await_port(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        assert process.poll() is None, "The mock model server did not start."
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("The mock model server does not listen.")


@pytest.fixture
def mock(aimock: Mock) -> Mock:
    aimock.reset()
    return aimock


@dataclass
class Loopback:
    """A server that answers every POST as the test says, and keeps what it was sent."""

    answer: Callable[[BaseHTTPRequestHandler], None]
    url: str = ""
    asked: threading.Event = field(default_factory=threading.Event)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    closed: threading.Event = field(default_factory=threading.Event)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        loopback = cast(Any, self.server).loopback
        loopback.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        loopback.asked.set()
        loopback.answer(self)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    given = Loopback(lambda handler: refuse(handler, 500, {}), f"http://127.0.0.1:{server.server_port}")
    cast(Any, server).loopback = given
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield given
    server.shutdown()
    server.server_close()
    thread.join(5)


def refuse(handler: BaseHTTPRequestHandler, status: int, body: object, **headers: str) -> None:
    """Answer with a JSON body."""
    data = json.dumps(body).encode()
    handler.send_response(status)
    for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(data)


def begin_stream(handler: BaseHTTPRequestHandler) -> None:
    """Begin a stream that ends with the connection."""
    handler.close_connection = True
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.wfile.flush()


def stream(handler: BaseHTTPRequestHandler, *events: object) -> None:
    """Answer with server-sent events; a text goes out as it stands, an object with its type as the event's name."""
    begin_stream(handler)
    for event in events:
        if isinstance(event, str):
            line = f"data: {event}\n\n"
        else:
            name = event.get("type") if isinstance(event, dict) else None
            line = (f"event: {name}\n" if name else "") + f"data: {json.dumps(event)}\n\n"
        handler.wfile.write(line.encode())
    handler.wfile.flush()
