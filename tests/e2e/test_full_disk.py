"""A real server whose disk fills up under a command and is freed again: nothing breaks for good, nobody restarts it."""

import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.agents.test_full_disk import SmallDisk, small_disk
from tests.agents.test_team import EDIT, FINISH, review, say
from tests.conftest import GIT_ENV
from tests.e2e.server import Server, wait_for
from tests.e2e.test_crash import command, launch


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "data", "64m") as made:
        yield made


@pytest.fixture
def server(disk: SmallDisk, tmp_path: Path, begun: Server) -> Iterator[Server]:
    running = Server(tmp_path / "data", SAKURA_DISK_FLOOR_MB="4").go_on_from(begun).start()
    yield running
    running.stop()


def left_unwaited_for(server: Server) -> list[str]:
    """Return the processes of the server that ended and that it never asked for."""
    assert server.process is not None
    told = subprocess.run(
        ["ps", "-o", "stat=,args=", "--ppid", str(server.process.pid)], capture_output=True, text=True
    )
    return [line for line in told.stdout.splitlines() if line.startswith("Z")]


def check_stores(data: Path) -> None:
    """Check that nothing stored is broken: the database, and every repository of ours."""
    with closing(sqlite3.connect(data / "sakura.sqlite3")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    stores = list(data.glob("repositories/*/*.git"))
    assert {store.name for store in stores} == {"mirror.git", "runs.git"}
    for store in stores:
        subprocess.run(["git", "--git-dir", str(store), "fsck", "--full"], env=GIT_ENV, check=True, capture_output=True)


def post_to_login(server: Server) -> httpx.Response:
    page = httpx.get(f"{server.url}/login/")
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert (page.status_code, token is None) == (200, False)
    assert token is not None
    form = {"csrfmiddlewaretoken": token[1], "username": "admin", "password": "not-this-one"}
    return httpx.post(f"{server.url}/login/", data=form, cookies=page.cookies, timeout=30)


def test_a_disk_that_fills_up_under_a_command_breaks_nothing_for_good(
    server: Server, disk: SmallDisk, source: Path
) -> None:
    slow = command("echo begun | tee begun.txt; for i in $(seq 100); do echo line $i; sleep 0.1; done")
    script = {"implementer": [say(slow), say(EDIT), say(FINISH)], "reviewer": [review("approve")]}
    run = launch(server, source, script)
    wait_for(lambda: any(event["kind"] == "output" for event in server.events(run)), "the command's first words")
    disk.fill()
    wait_for(lambda: "can't be moved to paused yet" in server.log(), "the run to find no room", 20)
    answer = post_to_login(server)
    assert (answer.status_code, "The disk of the server is full" in answer.text) == (503, True)
    assert server.run(run)["status"] == "implementing"
    disk.free()
    paused = server.wait_status(run, "paused", limit_s=20)
    assert "The disk is full" in paused["reason"]
    server.api("POST", f"/runs/{run}/resume")
    server.wait_status(run, "awaiting_human")
    assert [event["seq"] for event in server.events(run)] == list(range(1, server.run(run)["last_seq"] + 1))
    another = server.api("POST", f"/tasks/{paused['task']}/runs")["id"]
    wait_for(lambda: any(event["kind"] == "output" for event in server.events(another)), "a new run's command")
    server.api("POST", f"/runs/{another}/cancel")
    server.wait_status(another, "cancelled")
    wait_for(lambda: not left_unwaited_for(server), "no process to be left", 10)
    assert "Exception in thread" not in server.log()
    assert server.stop() == 0
    check_stores(server.data)
