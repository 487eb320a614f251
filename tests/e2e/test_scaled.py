"""Two daphnes and two workers on PostgreSQL and Redis: whatever process ends or connection breaks, nothing is lost."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents.test_team import EDIT, FINISH, READ, review, say
from tests.e2e import scaled
from tests.e2e.scaled import Cluster, Watcher
from tests.e2e.server import ROOT, wait_for
from tests.e2e.test_crash import command, kinds

pytestmark = pytest.mark.xdist_group("scaled")  # one cluster for all, however many processes test

WAITING = {"implementer": [say(command("echo once >> ran.txt; echo here; sleep 300")), say(FINISH)]}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if why := scaled.missing():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("scaled")
    for each in [folder, *list(folder.parents)[:3]]:
        if str(each).count("/") > 1:
            each.chmod(0o755)  # the agents' uids must get there
    with scaled.database(f"sakura_scaled_{os.getpid()}") as url:
        running = Cluster(folder, url)
        try:
            running.start()
            yield running
        finally:
            running.stop()


@pytest.fixture
def repository(cluster: Cluster, source: Path) -> int:
    """The source, mirrored by one of the workers, all of which run."""
    cluster.fill()
    return cluster.webs[0].add_repository(source, name=source.parent.name)


def assert_whole(seen: list[dict[str, Any]], stored: list[dict[str, Any]]) -> None:
    """Every event arrived once, in order, as the API tells it."""
    assert [event["seq"] for event in seen] == list(range(1, len(stored) + 1))
    assert seen == stored


def test_each_run_is_one_workers_and_both_servers_show_all_of_it(cluster: Cluster, repository: int) -> None:
    slow = say(EDIT) | {"delay_ms": 4000}
    script = {"implementer": [say(READ), slow, say(FINISH)], "reviewer": [review("approve")]}
    runs = [cluster.webs[number % 2].new_task(repository, script) for number in range(4)]
    watchers = {run: [Watcher(web, run) for web in cluster.webs] for run in runs}
    held = wait_for(lambda: now if set(now := cluster.holders()) >= set(runs) else None, "all four to be worked on")
    assert sorted(held[run] for run in runs) == sorted([worker.pid for worker in cluster.workers] * 2)
    for run in runs:
        last = cluster.webs[0].wait_status(run, "awaiting_human")["last_seq"]
        stored = cluster.webs[1].events(run)
        calls = [event["data"]["call_id"] for event in stored if event["kind"] == "tool_call"]
        claims = [event for event in stored if event["kind"] == "status" and event["data"]["to"] == "preparing"]
        assert (len(stored), len(claims), len(calls)) == (last, 1, 4)
        for watcher in watchers[run]:
            assert_whole(watcher.wait_for(last), stored)
            watcher.close()


def test_words_reach_a_run_in_another_process_at_once(cluster: Cluster, repository: int) -> None:
    one, other = cluster.webs
    thinking = {"implementer": [say(READ) | {"delay_ms": 60_000}]}
    cancelled, paused = one.new_task(repository, WAITING), one.new_task(repository, thinking)
    wait_for(lambda: "output" in kinds(one.events(cancelled)), "the command to run")
    one.wait_status(paused, "implementing")
    other.api("POST", f"/runs/{cancelled}/cancel")
    other.api("POST", f"/runs/{paused}/messages", json={"text": "Look at double as well."})
    other.api("POST", f"/runs/{paused}/pause")
    one.wait_status(paused, "paused", limit_s=8)
    one.wait_status(cancelled, "cancelled", limit_s=8)
    one.api("POST", f"/runs/{paused}/resume")
    told = wait_for(
        lambda: [event for event in one.events(paused) if event["kind"] == "message"][1:], "the message to be taken", 15
    )
    assert told[0]["data"]["text"] == "Look at double as well."
    other.api("POST", f"/runs/{paused}/cancel")
    one.wait_status(paused, "cancelled", limit_s=8)


def test_a_killed_workers_run_goes_on_in_the_other_and_no_command_runs_twice(cluster: Cluster, repository: int) -> None:
    script = WAITING | {"reviewer": [review("approve")]}
    run = cluster.webs[0].new_task(repository, script)
    watchers = [Watcher(web, run) for web in cluster.webs]
    wait_for(lambda: "output" in kinds(cluster.webs[0].events(run)), "the command's first words")
    before = cluster.webs[0].events(run)
    worker = cluster.holder(run)
    worker.kill()
    worker.wait(timeout=10)
    wait_for(lambda: cluster.holders().get(run, worker.pid) != worker.pid, "the other to take over", limit_s=10)
    last = cluster.webs[0].wait_status(run, "awaiting_human")["last_seq"]
    after = cluster.webs[0].events(run)
    assert after[: len(before)] == before
    results = [event["data"]["code"] for event in after if event["kind"] == "tool_result"]
    assert results[0] == "INTERRUPTED"
    assert cluster.webs[1].answer("GET", f"/runs/{run}/file?path=ran.txt").text == "once\n"
    for watcher in watchers:
        assert_whole(watcher.wait_for(last), after)
        watcher.close()


def test_a_stopped_worker_gives_its_run_back_and_the_other_goes_on(cluster: Cluster, repository: int) -> None:
    script = {"implementer": [say(READ), say(EDIT) | {"delay_ms": 4000}, say(FINISH)], "reviewer": [review("approve")]}
    run = cluster.webs[0].new_task(repository, script)
    wait_for(lambda: "tool_result" in kinds(cluster.webs[0].events(run)), "the first result")
    worker = cluster.holder(run)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=40) == 0
    cluster.webs[0].wait_status(run, "awaiting_human")
    moves = [event["data"]["to"] for event in cluster.webs[0].events(run) if event["kind"] == "status"]
    assert moves[:4] == ["queued", "preparing", "implementing", "queued"]
    assert cluster.webs[0].run(run)["status"] == "awaiting_human"


def test_a_redis_that_drops_all_connections_costs_nothing(cluster: Cluster, repository: int) -> None:
    script = {"implementer": [say(READ), say(EDIT) | {"delay_ms": 3000}, say(FINISH)], "reviewer": [review("approve")]}
    run = cluster.webs[0].new_task(repository, script)
    watchers = [Watcher(web, run) for web in cluster.webs]
    for watcher in watchers:
        watcher.wait_for(5)
    assert cluster.cut_redis() >= 4
    last = cluster.webs[0].wait_status(run, "awaiting_human")["last_seq"]
    for watcher in watchers:
        assert_whole(watcher.wait_for(last), cluster.webs[0].events(run))
        assert watcher.ended is None
        watcher.close()
    assert all(worker.poll() is None for worker in cluster.workers)


def test_an_idle_cluster_stays_up_and_rings_at_once(cluster: Cluster, repository: int) -> None:
    run = cluster.webs[0].new_task(repository, {"implementer": [say(READ) | {"delay_ms": 12_000}]})
    watchers = [Watcher(web, run) for web in cluster.webs]
    cluster.webs[0].wait_status(run, "implementing")
    quiet = len(cluster.webs[0].events(run))
    for watcher in watchers:
        watcher.wait_for(quiet + 1)
        assert watcher.ended is None
        watcher.close()
    assert all(worker.poll() is None for worker in cluster.workers)


# --- what is refused --------------------------------------------------------------------------------------------


def manage(folder: Path, *args: str, **env: str) -> "subprocess.CompletedProcess[str]":
    plain = {"PATH": os.environ["PATH"], "HOME": str(folder), "SAKURA_DATA_DIR": str(folder / "data")}
    return subprocess.run(
        [sys.executable, "manage.py", *args], cwd=ROOT, env=plain | env, capture_output=True, text=True, timeout=60
    )


def test_a_worker_refuses_a_layer_and_a_database_that_others_cannot_share(tmp_path: Path) -> None:
    alone = manage(tmp_path, "runworker", "agents")
    assert (alone.returncode, "runworker needs REDIS_URL" in alone.stderr) == (1, True)
    sqlite = manage(tmp_path, "runworker", "agents", REDIS_URL=scaled.REDIS)
    assert (sqlite.returncode, "runworker needs PostgreSQL" in sqlite.stderr) == (1, True)


def test_a_production_set_up_for_many_processes_passes_djangos_own_check(tmp_path: Path) -> None:
    env = {"SAKURA_ENV": "production", "SAKURA_BASE_URL": "https://sakura.example.org", "REDIS_URL": scaled.REDIS}
    good = manage(
        tmp_path, "check", "--deploy", "--fail-level", "WARNING", DATABASE_URL="postgres://127.0.0.1/x", **env
    )
    assert (good.returncode, good.stdout) == (0, "System check identified no issues (0 silenced).\n"), good.stderr
    mixed = manage(tmp_path, "check", "--deploy", **env)
    assert "Several processes need PostgreSQL" in mixed.stderr
