"""The scaled mode as processes of its own: daphnes and workers on a throw-away PostgreSQL database, and Redis."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import redis
from psycopg import sql
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.e2e.server import ROOT, Server, wait_for

POSTGRES = os.environ.get("SAKURA_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres")
REDIS = os.environ.get("SAKURA_TEST_REDIS", f"redis://127.0.0.1:6379/{os.getpid() % 15 + 1}")


def missing() -> str:
    """Return why the scaled mode can't be tried here, or ""."""
    try:
        psycopg.connect(POSTGRES, connect_timeout=5).close()
    except psycopg.OperationalError as error:
        return f"no PostgreSQL at {POSTGRES} (SAKURA_TEST_POSTGRES names another): {error}"
    try:
        redis.Redis.from_url(REDIS, socket_timeout=5).ping()
    except redis.RedisError as error:
        return f"no Redis at {REDIS} (SAKURA_TEST_REDIS names another): {error}"
    return ""


@contextmanager
def database(name: str) -> Iterator[str]:
    """Make a database of that name, yield its URL, and drop it."""
    with psycopg.connect(POSTGRES, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield urlunsplit(urlsplit(POSTGRES)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(POSTGRES, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


class Web(Server):
    """One daphne; what it is asked, it answers from what all share."""

    def launch(self, log: Path) -> None:
        """Start without waiting."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "daphne", "-b", "127.0.0.1", "-p", self.port, "sakura_web.asgi:application"],
            cwd=ROOT, env=self.env, stdout=log.open("a"), stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def new_task(self, repository: int, script: dict[str, Any]) -> int:
        """Launch a task of the scripted model; return its run."""
        task = {
            "repository": repository,
            "title": "Mend add",
            "prompt": "Mend it.",
            "model": "scripted",
            "script": script,
        }
        return int(self.api("POST", "/tasks", json=task)["runs"][0]["id"])


class Cluster:
    """Two daphnes and two workers; whatever a test ended is started again by `fill`."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.folder, self.database_url = folder, database_url
        env = {"DATABASE_URL": database_url, "REDIS_URL": REDIS, "SAKURA_CONCURRENCY": "2"}
        self.webs = [Web(folder / "data", **env) for _ in range(2)]
        self.workers: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        first, second = self.webs
        first.manage("migrate", "--verbosity", "0")
        first.manage("loginlink")
        for web in self.webs:
            web.launch(self.folder / "web.log")
        self.fill()
        second._token = first.token
        for web in self.webs:
            wait_for(web._answers, f"daphne to answer; it says: {self.log()}")

    def fill(self) -> None:
        """See to it that two workers run."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < 2:
            self.workers.append(self.new_worker())

    def new_worker(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "manage.py", "runworker", "agents"],
            cwd=ROOT, env=self.webs[0].env, stdout=(self.folder / "worker.log").open("a"), stderr=subprocess.STDOUT,
        )  # fmt: skip

    def log(self) -> str:
        return "".join(path.read_text()[-3000:] for path in self.folder.glob("*.log"))

    def stop(self) -> None:
        processes: list[subprocess.Popen[Any]] = [*self.workers, *(web.process for web in self.webs if web.process)]
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in processes:
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(timeout=10)

    def holders(self) -> dict[int, int]:
        """Return of each run that is worked on the process that holds it."""
        with psycopg.connect(self.database_url) as connection:
            rows = connection.execute("SELECT id, lease_owner FROM agents_run WHERE lease_until > now()").fetchall()
        return {int(run): int(owner.split(":")[2]) for run, owner in rows}

    def holder(self, run: int) -> "subprocess.Popen[bytes]":
        """Return the worker of the run, once it has one."""
        pid = wait_for(lambda: self.holders().get(run), f"a worker to take run {run}")
        return next(worker for worker in self.workers if worker.pid == pid)

    def cut_redis(self) -> int:
        """Break every connection of our processes to Redis; return how many there were."""
        client = redis.Redis.from_url(REDIS, socket_timeout=5)
        mine, number = client.client_id(), str(client.connection_pool.connection_kwargs.get("db", 0))
        clients: Any = client.client_list()
        cut = [each["id"] for each in clients if each["db"] == number and int(each["id"]) != mine]
        for each in cut:
            client.client_kill_filter(_id=each)
        return len(cut)


class Watcher(threading.Thread):
    """An independent client of a run's socket: keeps what it gets, acknowledges it, and never connects twice."""

    def __init__(self, web: Web, run: int) -> None:
        super().__init__(daemon=True)
        self.events: list[dict[str, Any]] = []
        self.arrived: list[float] = []
        self.ended: ConnectionClosed | None = None
        self._socket: ClientConnection = connect(
            f"ws{web.url.removeprefix('http')}/ws/runs/{run}/?after=0&format=json",
            additional_headers={"Authorization": f"Bearer {web.token}"},
        )
        self.start()

    def run(self) -> None:
        try:
            for text in self._socket:
                message = json.loads(text)
                if message["type"] == "events":
                    self.events += message["events"]
                    self.arrived.append(time.monotonic())
                    self._socket.send(json.dumps({"ack": message["last"]}))
        except ConnectionClosed as closed:
            self.ended = closed

    def wait_for(self, count: int) -> list[dict[str, Any]]:
        """Return all events once there are as many."""
        wait_for(lambda: len(self.events) >= count, f"{count} events; there are {len(self.events)}, {self.ended}")
        return self.events

    def close(self) -> None:
        self._socket.close()
        self.join(timeout=10)
