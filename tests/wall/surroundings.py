"""What stands around a run: each function sets one thing up for a scene and returns what a script must know of it."""

import ctypes
import errno
import http.server
import json
import secrets
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import redis as redis_client
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection

from tests.agents.tools.bench import Bench
from tests.e2e import scaled
from workspaces import snapshots, store
from workspaces.git import Git
from workspaces.models import Snapshot, Workspace
from workspaces.sandbox import own, proxy

if TYPE_CHECKING:
    from tests.wall.scene import Scene

IPC_RMID = 0
UIDS = 478
"""After so many runs the users of runs begin again."""
Told = dict[str, Any]


# --- the application -----------------------------------------------------------------------------------------


def application(scene: "Scene") -> Told:
    """Put down the application's database as it is now, its secret key, and a folder of code."""
    User.objects.create(username="treasurer", password=scene.treasure)
    database = scene.put("db.sqlite3", b"")
    with sqlite3.connect(database) as target:
        connection.ensure_connection()
        target.executescript("\n".join(connection.connection.iterdump()))
    key, code = scene.put("secret_key", scene.treasure), scene.put("code/manage.py", "print()\n")
    scene.outside_then = scene.outside_now()
    return {"database": str(database), "secret_key": str(key), "code": str(code), "base": str(settings.BASE_DIR)}


@dataclass
class Victim:
    """A process of the machine that plays the server."""

    process: "subprocess.Popen[str]"
    before: tuple[str, ...] = field(default=())

    def state(self) -> tuple[str, ...]:
        """Return its niceness, its limits and its tracer; "gone" once it has ended."""
        if self.process.poll() is not None:
            return ("gone",)
        proc = Path("/proc") / str(self.process.pid)
        nice = (proc / "stat").read_text().rpartition(")")[2].split()[16]
        return nice, (proc / "limits").read_text(), "T (stopped)" if "T (stopped)" in _status(proc) else ""


def _status(proc: Path) -> str:
    return (proc / "status").read_text()


def server(scene: "Scene") -> Told:
    """Start the process that plays the server, as the commands' user."""
    key = secrets.randbelow(2**30) + 1
    scene.held.callback(remove_shared, key)
    program = scene.put("server.py", (Path(__file__).parent / "victim.py").read_text())
    who: dict[str, Any] = {} if scene.uid is None else {"user": scene.uid, "group": scene.uid, "extra_groups": []}
    process = subprocess.Popen(
        ["/usr/bin/python3", str(program), f"--key={scene.treasure}", str(key)],
        env={"PATH": "/usr/bin:/bin", "SAKURA_SECRET_KEY": scene.treasure},
        cwd=scene.outside_folder, stdout=subprocess.PIPE, text=True, **who,
    )  # fmt: skip
    scene.held.callback(process.wait, 10)
    scene.held.callback(process.kill)
    assert process.stdout is not None
    scene.held.callback(process.stdout.close)
    told: Told = json.loads(process.stdout.readline())
    scene.server = Victim(process)
    scene.server.before = scene.server.state()
    return told | {"key": key}


def remove_shared(key: int) -> None:
    """Take away what a killed victim left in the machine's shared memory and queues."""
    libc = ctypes.CDLL(None)
    shared = libc.shmget(key, ctypes.c_size_t(0), 0)
    if shared >= 0:
        libc.shmctl(shared, IPC_RMID, None)
    libc.mq_unlink(f"/sakura-{key}".encode())


# --- other runs ----------------------------------------------------------------------------------------------


def other_run(scene: "Scene") -> Told:
    """Lay out another run of the same user, with a file, a commit of its own, and what the run store keeps of it."""
    mine = scene.bench.workspace
    row = Workspace.objects.create(
        pk=mine.pk + UIDS,
        repository=mine.repository,
        base_name="main",
        base_commit=mine.base_commit,
        epoch=1,
    )
    snapshots.prepare(row)
    theirs = Bench(row)
    theirs.write("plan.txt", scene.treasure)
    own(theirs.tree, scene.uid)
    (row.home / "note").write_text(scene.treasure)
    own(row.home, scene.uid)
    done = theirs.call("run_command", command="git add plan.txt && git commit -qm plan && git rev-parse HEAD:plan.txt")
    assert done.data["exit_code"] == 0, done.content
    kept = shutil.copytree(row.repository.store, scene.outside_folder / "runs.git")
    own(kept, scene.uid)
    stored = Git(row.repository.store)
    assert store.read_blob(stored, done.content.split()[0]).decode() == scene.treasure
    assert Snapshot.objects.filter(workspace=row).count() > 1
    return {
        "other": str(row.tree), "other_home": str(row.home), "blob": done.content.split()[0],
        "stores": f"{row.tree}/.git/objects:{kept}/objects:{row.repository.store}/objects",
        "mirror": str(row.repository.mirror),
    }  # fmt: skip


# --- listeners -----------------------------------------------------------------------------------------------


def web(scene: "Scene") -> Told:
    """Serve the treasure by HTTP on the loopback address."""

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(scene.treasure.encode())

        def log_message(self, format: str, *args: Any) -> None:
            return

    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    scene.held.callback(served.server_close)
    threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    scene.held.callback(served.shutdown)
    return {"web_port": served.server_address[1], "metadata": "169.254.169.254", "metadata_port": 80}


def web_six(scene: "Scene") -> Told:
    """Answer with the treasure on the loopback address of IPv6."""
    return {"six_port": _answering(scene, socket.AF_INET6, ("::1", 0)).getsockname()[1]}


def datagrams(scene: "Scene") -> Told:
    """Listen for datagrams on the loopback address."""
    listener = scene.held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    listener.bind(("127.0.0.1", 0))
    listener.setblocking(False)
    scene.datagrams.append(listener)
    return {"udp_port": listener.getsockname()[1]}


def unix(scene: "Scene") -> Told:
    """Hand out the treasure, and an open file of it, on an abstract socket and on one in a folder open to all."""
    folder = Path(tempfile.mkdtemp(prefix="sakura-wall-"))
    scene.held.callback(shutil.rmtree, folder, True)
    folder.chmod(0o755)
    name = f"sakura-wall-{secrets.token_hex(6)}"
    _answering(scene, socket.AF_UNIX, f"\0{name}")
    _answering(scene, socket.AF_UNIX, str(folder / "socket"))
    (folder / "socket").chmod(0o777)
    (folder / "left").write_text(scene.treasure)
    (folder / "left").chmod(0o644)
    return {"abstract": name, "path_socket": str(folder / "socket"), "left_in_tmp": str(folder / "left")}


def _answering(scene: "Scene", family: int, address: Any) -> socket.socket:
    """Listen, and send each that connects the treasure; over a UNIX socket with an open file of it."""
    try:
        listener = scene.held.enter_context(socket.socket(family))
        listener.bind(address)
    except OSError as error:
        if error.errno in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
            pytest.skip(f"this machine has no {address}: {error}")
        raise
    listener.listen()

    def answer() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:  # closed
                return
            with client, open(scene.told["treasure"], "rb") as file:
                if family == socket.AF_UNIX:
                    socket.send_fds(client, [b"take this"], [file.fileno()])
                else:
                    client.settimeout(5)
                    client.recv(4096)  # what is closed with unread bytes is reset, and the answer lost
                    client.sendall(scene.treasure.encode())

    threading.Thread(target=answer, daemon=True).start()
    scene.held.callback(listener.shutdown, socket.SHUT_RDWR)
    return listener


def shared_memory_file(scene: "Scene") -> Told:
    """Leave the treasure in the machine's /dev/shm, open to all."""
    path = Path("/dev/shm") / f"sakura-wall-{secrets.token_hex(6)}"
    path.write_text(scene.treasure)
    path.chmod(0o644)
    scene.held.callback(path.unlink)
    return {"left_in_shm": str(path)}


def databases(scene: "Scene") -> Told:
    """Find the real PostgreSQL and Redis of the machine."""
    if why := scaled.missing():
        pytest.skip(why)
    postgres, redis = urlsplit(scaled.POSTGRES), urlsplit(scaled.REDIS)
    number = redis.path.strip("/") or "0"
    client = redis_client.Redis.from_url(scaled.REDIS, socket_timeout=5)
    scene.held.callback(client.close)
    scene.held.callback(client.delete, scene.word)
    return {
        "pg_host": postgres.hostname, "pg_port": postgres.port or 5432,
        "pg_socket": f"/var/run/postgresql/.s.PGSQL.{postgres.port or 5432}",
        "redis_host": redis.hostname, "redis_port": redis.port or 6379, "redis_number": number,
    }  # fmt: skip


def redis_has(scene: "Scene") -> bool:
    """Return whether the word was written to Redis."""
    with redis_client.Redis.from_url(scaled.REDIS, socket_timeout=5) as client:
        return bool(client.exists(scene.word))


# --- the way to the network ----------------------------------------------------------------------------------


def allowed_loopback(scene: "Scene") -> Told:
    """Allow this run every spelling of the loopback address, which the proxy must refuse all the same."""
    port = scene.told["web_port"]
    names = ("localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]")
    targets = [f"{name}:{port}" for name in names]
    scene.bench.network = tuple(targets)
    return {"targets": targets}


def other_door(scene: "Scene") -> Told:
    """Open the door of another command, as one with network has it."""
    way = scene.held.enter_context(proxy.opened(("example.org:443",), scene.uid, lambda connection: None))
    scene.bench.network = ("example.com:443",)
    return {"door": str(way.path.parent)}
