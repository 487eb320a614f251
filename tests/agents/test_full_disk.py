"""A disk that is full for a while, in earnest: a small tmpfs for the files, and SQLite's own bound for the database."""

import json
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection, connections
from django.test import Client, RequestFactory
from pytest_django import Settings

from agents import control, events, expiry, full_disk, lease, proof_making, proofs, streams, team, worker
from agents.api import errors
from agents.events import Fact
from agents.models import Control, Kind, ProofState, Run, Status
from agents.session import Session
from agents.streams import OpenStream
from agents.tools import runner
from tests.agents.test_team import EDIT, FINISH, READ, SCRIPT, say
from tests.agents.test_team import review as verdict
from tests.conftest import TASK_FORM, work_once
from workspaces.models import Repository
from workspaces.trees import TreeError

pytestmark = pytest.mark.django_db(transaction=True)

KIB = 1024


def until_full(write: Callable[[], object]) -> None:
    """Write again and again, until there is no room."""
    for _ in range(10_000):
        try:
            write()
        except (OSError, OperationalError) as error:
            if not full_disk.says(error):
                raise
            return
    raise AssertionError("there was always room")


class SmallDisk:
    """A mounted tmpfs that can be filled to the last byte, and freed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        with (self.folder / "filler").open("ab", buffering=0) as file:
            until_full(lambda: file.write(b"\0" * 64 * KIB))

    def overfill(self) -> None:
        """Fill it and find no room, as who works there then does."""
        self.fill()
        (self.folder / "more").write_bytes(b"x")

    def free(self) -> None:
        (self.folder / "filler").unlink()


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[SmallDisk]:
    """Mount a tmpfs at the folder, or skip the test where that is refused."""
    folder.mkdir(exist_ok=True)
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "small", str(folder)], capture_output=True
        )
    except OSError:
        pytest.skip("there is no mount here")
    if mounted.returncode:
        pytest.skip("a tmpfs can't be mounted here")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def disk(data_folder: Path, settings: Settings) -> Iterator[SmallDisk]:
    """The data folder as a disk of 8 MB, of which nothing is to stay free."""
    settings.SAKURA_DISK_FLOOR_MB = 0
    with small_disk(data_folder, "8m") as made:
        yield made


class FullDatabase:
    """Lets the test's SQLite database grow no further; it says then what it says on a full disk."""

    def __init__(self) -> None:
        if connection.vendor != "sqlite":
            pytest.skip("only SQLite has a bound of its own")
        with connection.cursor() as cursor:
            cursor.execute("CREATE TABLE IF NOT EXISTS filler (data BLOB)")

    def fill(self) -> None:
        with connection.cursor() as cursor:
            (pages,) = cursor.execute("PRAGMA page_count").fetchone()
            cursor.execute(f"PRAGMA max_page_count = {pages}")
            for size in (64 * KIB, 3 * KIB, 200):  # what is free within the file, too
                until_full(partial(cursor.execute, f"INSERT INTO filler VALUES (zeroblob({size}))"))

    def fill_for(self, run: Run) -> None:
        """Fill what is free in the pages of events, too."""
        self.fill()
        for size in (3 * KIB, 300, 0):
            until_full(partial(events.append, run.pk, Fact(Kind.NOTE, {"text": "x" * size, "to": "human"})))

    def free(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA max_page_count = 1073741823")
            cursor.execute("DELETE FROM filler")


@pytest.fixture
def database(db: None) -> Iterator[FullDatabase]:
    made = FullDatabase()
    yield made
    made.free()
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE filler")


def after_first(patch: pytest.MonkeyPatch, owner: Any, name: str, act: Callable[[], object]) -> None:
    """Act once, right after `owner.name` was called for the first time."""
    real, acted = getattr(owner, name), False

    def called(*args: Any, **kwargs: Any) -> Any:
        nonlocal acted
        value = real(*args, **kwargs)
        if not acted:
            acted = True
            act()
        return value

    patch.setattr(owner, name, called)


# --- a run -----------------------------------------------------------------------------------------


def test_a_database_that_fills_up_pauses_the_run_as_soon_as_there_is_room(
    launch: Callable[..., Run], database: FullDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = launch({"implementer": [say(READ), say(EDIT), say(FINISH)], "reviewer": [verdict("approve")]})
    after_first(monkeypatch, runner, "execute", database.fill)
    after_first(monkeypatch, connections, "close_all", database.free)  # called between two tries
    paused = work_once()
    assert paused is not None
    assert (paused.state, paused.reason) == (Status.PAUSED, full_disk.SENTENCE)
    assert (paused.resume_to, paused.takeovers) == ("implementing", 0)
    assert [event.seq for event in run.events.order_by("seq")] == list(range(1, paused.last_seq + 1))
    control.resume(paused, None)
    ended = work_once()
    assert ended is not None
    assert ended.state is Status.AWAITING_HUMAN
    assert [call.tool for call in run.calls.order_by("pk")][:2] == ["read_file", "edit_file"]


def test_a_pause_that_found_no_room_is_kept_and_its_word_is_not_lost(
    launch: Callable[..., Run], owner: User, database: FullDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = launch(SCRIPT)
    held = lease.claim()
    assert held is not None
    control.pause(Run.objects.get(pk=run.pk), owner)
    after_first(monkeypatch, Session, "_by", lambda: database.fill_for(run))
    after_first(monkeypatch, connections, "close_all", database.free)
    worker.work(Session(held))
    run.refresh_from_db()
    assert (run.state, run.reason) == (Status.PAUSED, "paused by owner")


def test_a_server_that_stops_does_not_wait_for_room(
    launch: Callable[..., Run], database: FullDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch(SCRIPT)
    held = lease.claim()
    assert held is not None
    session = Session(held)
    after_first(monkeypatch, runner, "execute", database.fill)
    after_first(monkeypatch, connections, "close_all", session.draining.set)
    worker.work(session)
    database.free()
    lease.release(held.run_id, held.epoch)
    ended = work_once()
    assert ended is not None
    assert ended.state is Status.AWAITING_HUMAN
    note = ended.events.filter(kind=Kind.NOTE, data__text__startswith="The database was away while").get()
    assert note.data["to"] == "human"


def test_a_tree_that_finds_no_room_pauses_the_run_and_does_not_fail_it(
    disk: SmallDisk, launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    launch({"implementer": [say(READ), say(EDIT), say(FINISH)], "reviewer": [verdict("approve")]})
    after_first(monkeypatch, team, "_prepare", disk.fill)
    paused = work_once()
    assert paused is not None
    disk.free()
    assert (paused.state, paused.reason) == (Status.PAUSED, full_disk.SENTENCE)
    control.resume(paused, None)
    ended = work_once()
    assert ended is not None
    assert ended.state is Status.AWAITING_HUMAN


def test_a_tree_that_can_t_be_laid_out_where_there_is_room_fails_the_run(
    launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(session: Session) -> None:
        raise TreeError("TOO_LARGE", "It is too large.")

    launch(SCRIPT)
    monkeypatch.setattr(team, "drive", fail)
    failed = work_once()
    assert failed is not None
    assert (failed.state, failed.reason[-17:]) == (Status.FAILED, " It is too large.")


def test_a_store_that_can_t_be_packed_ends_no_thread(
    launch: Callable[..., Run], owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = launch(SCRIPT)
    held = lease.claim()
    assert held is not None
    control.cancel(Run.objects.get(pk=run.pk), owner)
    session = Session(held)
    store = session.place.repository.store
    after_first(monkeypatch, Session, "_by", lambda: (store / "HEAD").write_text("no store any more"))
    worker.work(session)
    run.refresh_from_db()
    assert (run.state, run.reason) == (Status.CANCELLED, "cancelled by owner")


# --- its events ------------------------------------------------------------------------------------


def test_a_long_text_without_room_is_not_stored_and_leaves_nothing(disk: SmallDisk, launch: Callable[..., Run]) -> None:
    run, fact = launch(SCRIPT), Fact(Kind.NOTE, {"text": "x" * 40_000, "to": "human"})
    before = run.events.count()
    disk.fill()
    with pytest.raises(OperationalError, match="No space left") as raised:
        events.append(run.pk, fact)
    assert full_disk.says(raised.value)
    assert isinstance(raised.value, OSError)  # as which a tool tells it to its model
    assert run.events.count() == before
    disk.free()
    assert list(disk.folder.rglob("*.part")) == []
    (stored,) = events.append(run.pk, fact)
    assert events.whole(run.pk, stored.data)["text"] == fact.data["text"]


def test_long_output_that_finds_no_room_does_not_end_the_streams_of_all_runs(
    disk: SmallDisk, launch: Callable[..., Run]
) -> None:
    run = launch(SCRIPT)
    tried, stored = threading.Event(), threading.Event()

    def keep(text: str, offset: int) -> None:
        tried.set()
        events.append(run.pk, Fact(Kind.OUTPUT, {"call_id": "c", "text": text, "offset": offset}, call_id="c"))
        stored.set()

    disk.fill()
    with OpenStream(run.pk, "c", keep) as stream:
        stream.write("x" * 40_000)
        assert tried.wait(10)
    disk.free()
    with OpenStream(run.pk, "c", keep) as stream:
        stream.write("y" * 40_000)
        assert stored.wait(10)
    assert streams._the_ticker().is_alive()


# --- proofs ----------------------------------------------------------------------------------------


def test_a_proof_that_found_no_room_says_so_in_words(
    disk: SmallDisk, launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    launch({"implementer": [say(EDIT), say(FINISH)], "reviewer": [verdict("approve")]}, policy={"verify": ["true"]})
    run = work_once()
    assert run is not None
    assert run.state is Status.AWAITING_HUMAN
    run.proofs.all().delete()
    proof = proofs.want(run)
    assert proof is not None
    claimed = proofs.claim()
    assert claimed is not None
    after_first(monkeypatch, proof_making, "make", disk.overfill)
    worker.prove(claimed)
    disk.free()
    proof.refresh_from_db()
    assert (proof.state, proof.reasons) == (ProofState.UNPROVEN, [worker.PROOF_FOUND_NO_ROOM])


# --- the worker ------------------------------------------------------------------------------------


def test_a_run_that_was_claimed_and_could_not_be_begun_is_claimed_again(
    launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = launch(SCRIPT)
    supervisor = worker.Supervisor(concurrency=1)
    with monkeypatch.context() as patch:
        patch.setattr(Session, "__post_init__", away)
        supervisor._tick_safely()
    run.refresh_from_db()
    assert (run.state, supervisor._sessions) == (Status.PREPARING, {})
    until = run.lease_until
    assert lease.renew(supervisor._held())
    run.refresh_from_db()
    assert run.lease_until == until  # it runs out
    Run.objects.filter(pk=run.pk).update(lease_until=run.created_at)
    ended = work_once()
    assert ended is not None
    assert ended.state is Status.AWAITING_HUMAN


def away(*args: Any, **kwargs: Any) -> Any:
    raise OperationalError("disk I/O error")


def test_a_run_is_not_claimed_by_who_still_works_on_it(launch: Callable[..., Run]) -> None:
    run = launch(SCRIPT)
    assert lease.claim() is not None
    Run.objects.filter(pk=run.pk).update(lease_until=run.created_at)
    assert lease.claim([run.pk]) is None
    assert lease.claim() is not None


def test_a_worker_that_could_not_renew_stops_its_runs_though_the_database_is_away(
    launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    launch(SCRIPT)
    held = lease.claim()
    assert held is not None
    session = Session(held)
    supervisor = worker.Supervisor(concurrency=1)
    supervisor._sessions[threading.current_thread()] = session
    monkeypatch.setattr(Control.objects, "filter", away)
    supervisor._tick_safely()
    assert not session.cancelled.is_set()
    monkeypatch.setattr(lease, "FENCE_S", -1)
    supervisor._tick_safely()
    assert session.cancelled.is_set()


def test_what_tidies_up_says_what_it_could_not_do(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(expiry, "forget", away)
    worker._tidy()
    assert "Not all that has run out could be removed" in caplog.text


def test_a_source_that_can_t_be_mirrored_on_a_full_disk_is_mirrored_once_there_is_room(
    disk: SmallDisk, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = Repository.objects.create(name="calc", source=str(source))
    disk.fill()
    (disk.folder / "repositories").write_text("")  # no folder can be made below it
    worker._mirror(row.pk)
    row.refresh_from_db()
    assert row.status == Repository.Status.MIRRORING
    disk.free()
    (disk.folder / "repositories").unlink()
    worker._mirror(row.pk)
    row.refresh_from_db()
    assert row.status == Repository.Status.READY, row.error


# --- pages -----------------------------------------------------------------------------------------


def test_a_page_that_can_t_keep_what_was_asked_for_says_that_the_disk_is_full(
    owner: User, repository: Repository, database: FullDatabase
) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(owner)
    form = TASK_FORM | {"repository": repository.pk, "prompt": "Mend it. " * 2000}
    database.fill()
    answer = client.post("/tasks/new/", form)
    assert (answer.status_code, answer.get("Retry-After")) == (503, "30")
    assert b"The disk of the server is full" in answer.content
    assert not Run.objects.exists()
    assert client.get("/").status_code == 200
    database.free()
    assert client.post("/tasks/new/", form).status_code == 302


def test_the_api_says_that_the_disk_is_full(rf: RequestFactory) -> None:
    error = OperationalError("database or disk is full")
    cause = sqlite3.OperationalError("database or disk is full")
    cause.sqlite_errorcode, error.__cause__ = sqlite3.SQLITE_FULL, cause
    answer = errors._bug(rf.get("/api/v1/runs"), error)
    assert (answer.status_code, json.loads(answer.content)["error"]["code"]) == (503, "DISK_FULL")
    assert errors._bug(rf.get("/api/v1/runs"), ValueError("x")).status_code == 500
