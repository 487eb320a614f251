"""What left the house: connections as events, their sums, and how panel, card and API show them."""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agents import lease, leaving, network, schema
from agents.events import LeaseLost
from agents.models import Event, Kind, Policy, Run
from agents.session import Session
from agents.transcript import latest
from tests.agents.test_team import FINISH, kinds, results, review, say
from tests.agents.transcripts import Writer, make_run, told_run
from tests.agents.views.pages import Page
from tests.conftest import work_once
from workspaces.models import Repository
from workspaces.sandbox import Connection, Way, probe, proxy

pytestmark = pytest.mark.django_db(transaction=True)

FETCH = (
    "import urllib.request as u\n"
    "for url in {urls}:\n"
    "    try: print(u.urlopen(url, timeout=20).read().decode())\n"
    "    except OSError as error: print(error)\n"
)


class _Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"here you are")

    def log_message(self, format: str, *args: Any) -> None:
        return


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a web server of this machine, as if it were a public one."""
    if probe().level != "full":
        pytest.skip(f"no sandbox here: {probe().reasons}")
    monkeypatch.setattr(proxy, "resolve", lambda host, port: ["127.0.0.1"])
    monkeypatch.setattr(proxy, "is_global", lambda address: True)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"index.example:{server.server_port}"
        server.shutdown()


def fetch(*targets: str) -> str:
    code = FETCH.format(urls=[f"http://{target}/" for target in targets])
    return f"python3 - <<'END'\n{code}END"


def command(text: str, **more: Any) -> dict[str, Any]:
    return say({"name": "run_command", "input": {"command": text, **more}})


def connections(run: Run) -> list[tuple[str, str, int]]:
    found = run.events.filter(kind=Kind.NETWORK).order_by("seq")
    return [(event.data["target"], event.data["way"], event.data["number"]) for event in found]


# --- a whole run -------------------------------------------------------------------------------------------


def test_a_commands_connections_are_events_of_its_run(
    launch: Callable[..., Run], host: str, owner: User, client: Client
) -> None:
    script = {"implementer": [command(fetch(host, "evil.example")), say(FINISH)], "reviewer": [review("approve")]}
    launch(script, policy=Policy(network=[host]).model_dump())
    run = work_once()
    assert run is not None
    told = [kind for kind in kinds(run) if kind != "output"]
    at = told.index("network")
    assert told[at - 1 : at + 4] == ["tool_call", "network", "network", "network", "tool_result"]
    assert connections(run)[0] == (host, "opened", 1)
    assert set(connections(run)[1:]) == {(host, "closed", 1), ("evil.example:80", "refused", 2)}
    opened, closed, refused = (
        run.events.get(kind=Kind.NETWORK, data__way=way) for way in ("opened", "closed", "refused")
    )
    call = run.events.get(kind=Kind.TOOL_CALL, data__tool="run_command")
    assert {event.call_id for event in (opened, closed, refused)} == {call.call_id}
    assert closed.data["received"] > len("here you are")
    assert "evil.example:80 is not on this command's list" in refused.data["why"]
    for event in (opened, closed, refused):
        schema.DATA[Kind.NETWORK].model_validate(event.data)

    client.force_login(owner)
    page = client.get(reverse("run", args=[run.pk])).content.decode()
    panel = Page(page).one("details", id="panel-network").words
    assert f"{host} Allowed, 1 connection" in panel
    assert "evil.example:80 Refused" in panel
    assert f"{closed.data['sent']} B out, {closed.data['received']} B in" in panel
    assert "a person must add it" in panel
    assert f'href="{reverse("run_call", args=[run.pk, call.seq])}">step 1</a>' in page
    assert "No command has a network" not in panel
    card = next(patch["html"] for patch in latest(run).patches if f'id="call-{call.call_id}"' in patch["html"])
    assert f"1 connection, {closed.data['sent']} B out, {closed.data['received']} B in" in Page(card).elements[0].words
    assert "evil.example:80 refused:" in Page(card).elements[0].words
    assert 'class="made bad"' in card
    sums = client.get(f"/api/v1/runs/{run.pk}").json()["network"]
    assert (sums["opened"], sums["refused"], sums["failed"], sums["sent"]) == (1, 1, 0, closed.data["sent"])
    assert {target["target"] for target in sums["targets"]} == {"evil.example:80", host}
    assert [target["calls"] for target in sums["targets"]] == [[call.call_id]] * 2
    assert (sums["model"], sums["pushed"]) == (None, None)


def test_the_wall_around_a_command_stands_on_its_card_and_the_page(
    launch: Callable[..., Run], host: str, owner: User, client: Client
) -> None:
    launch({"implementer": [command("echo hi"), say(FINISH)], "reviewer": [review("approve")]})
    run = work_once()
    assert run is not None
    Run.objects.filter(pk=run.pk).update(masked=2)
    applied = results(run)[0]["data"]["applied"]
    client.force_login(owner)
    page = Page(client.get(reverse("run", args=[run.pk])).content)
    wall = page.one("details", id="panel-wall").words
    assert f"Sandbox full · uid {applied['uid']} · network none" in wall
    assert "2 masked" in wall
    for words in ("120 s", "4.0 GB of memory", "a file", "none given", "2 secrets masked"):
        assert words in wall
    assert "Nothing: no command has a network." in page.one("details", id="panel-network").words
    assert f"Sandbox full, no network, files read-only, uid {applied['uid']}" in page.one("ol", id="log").words
    body = client.get(f"/api/v1/runs/{run.pk}").json()
    assert (body["masked"], body["sandbox"]["level"]) == (2, "full")


def test_a_command_that_was_ended_shows_its_wall_and_limit_too(launch: Callable[..., Run], host: str) -> None:
    launch({"implementer": [command("read -t 60 < <(sleep 60)", timeout_ms=300), say(FINISH)], "reviewer": []})
    run = work_once()
    assert run is not None
    card = next(
        patch["html"] for patch in latest(run).patches if "Timed out" in patch["html"] or "TIMEOUT" in patch["html"]
    )
    words = Page(card).elements[0].words
    assert "Sandbox full, no network" in words
    assert "it met the limit of time" in words


@pytest.mark.parametrize("ends", ["timeout", "background"])
def test_what_is_open_when_a_command_is_ended_is_closed_in_the_transcript(
    launch: Callable[..., Run], host: str, ends: str
) -> None:
    held = f"exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT {host} HTTP/1.1\\r\\n\\r\\nabc' >&3; read -r x <&3; "
    how = {"timeout_ms": 1500} if ends == "timeout" else {"run_in_background": True}
    follow = say({"name": "command_output", "input": {"id": "bg1", "wait_ms": 20_000, "until": "up"}})
    steps = [command(f"{held} echo up; sleep 600", **how), *([follow] if ends == "background" else []), say(FINISH)]
    launch({"implementer": steps, "reviewer": [review("approve")]}, policy=Policy(network=[host]).model_dump())
    run = work_once()
    assert run is not None
    assert connections(run) == [(host, "opened", 1), (host, "closed", 1)], results(run)
    call = run.events.get(kind=Kind.TOOL_CALL, data__tool="run_command")
    closed = run.events.filter(kind=Kind.NETWORK).last()
    assert closed is not None
    assert (closed.call_id, closed.data["sent"]) == (call.call_id, 3)


def test_what_set_up_connects_to_is_told_as_set_ups(
    launch: Callable[..., Run], repository: Repository, host: str, owner: User, client: Client
) -> None:
    repository.setup, repository.setup_hosts = [fetch(host), "mkdir .venv"], [host]
    repository.save()
    launch({"implementer": [command("ls"), say(FINISH)], "reviewer": [review("approve")]})
    run = work_once()
    assert run is not None
    assert connections(run) == [(host, "opened", 1), (host, "closed", 1)]
    assert [event.call_id for event in run.events.filter(kind=Kind.NETWORK)] == ["", ""]
    client.force_login(owner)
    panel = Page(client.get(reverse("run", args=[run.pk])).content).one("details", id="panel-network").words
    assert f"{host} Allowed, 1 connection" in panel
    assert "set-up" in panel
    assert f"Set-up may reach {host}" in panel


# --- storing -------------------------------------------------------------------------------------------------


@pytest.fixture
def session(launch: Callable[..., Run]) -> Session:
    launch({"implementer": [say(FINISH)], "reviewer": []})
    held = lease.claim()
    assert held is not None
    return Session(held)


def _record(session: Session, connection: Connection) -> None:
    """Record as the thread does that tells a command's connections."""
    faults: list[BaseException] = []

    def tell() -> None:
        try:
            network.record(session, "c1", connection)
        except BaseException as fault:
            faults.append(fault)
            raise

    thread = threading.Thread(target=tell)
    thread.start()
    thread.join(60)
    assert not faults
    assert not thread.is_alive()


def test_after_the_lease_is_lost_nothing_is_stored_and_nothing_raised(session: Session) -> None:
    Run.objects.filter(pk=session.run.pk).update(lease_epoch=session.lease.epoch + 1)
    _record(session, Connection(1, "a.example:443", Way.OPENED))
    assert connections(session.run) == []
    assert network.unstored(session.run.pk) == ""
    with pytest.raises(LeaseLost):
        session.note("x")


def test_a_full_transcript_stops_no_connection(session: Session) -> None:
    Run.objects.filter(pk=session.run.pk).update(last_seq=100_000)
    _record(session, Connection(1, "a.example:443", Way.OPENED))
    assert connections(session.run) == []


def test_what_the_database_did_not_take_is_counted_and_told_once(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*facts: Any) -> None:
        raise OperationalError("server closed the connection")

    monkeypatch.setattr(session, "append", away)
    for number in (1, 2):
        _record(session, Connection(number, "a.example:443", Way.REFUSED))
    assert network.unstored(session.run.pk).startswith("2 events of connections")
    assert network.unstored(session.run.pk) == ""


def test_a_lost_event_is_a_note_of_the_next_result(launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    launch({"implementer": [say(FINISH)], "reviewer": [review("approve")]})
    network._unstored[Run.objects.get().pk] = 1
    run = work_once()
    assert run is not None
    [note] = run.events.filter(kind=Kind.NOTE, data__to="human")
    assert note.data["text"].startswith("1 event of a connection")


# --- sums ----------------------------------------------------------------------------------------------------


def test_sums_grow_with_what_is_appended() -> None:
    run = make_run()
    writer = Writer(run)
    writer.connection("c1", "a.example:443", "opened", count=1)
    run.refresh_from_db()
    [first] = network.traffic(run).targets
    assert (first.opened, first.open, first.sent) == (1, 1, 0)
    writer.connection("c1", "a.example:443", "closed", sent=10, received=20, count=1)
    writer.connection("c2", "a.example:443", "opened", count=1)
    writer.connection("c2", "b.example:443", "failed", why="not known", count=1)
    writer.connection("c3", "", "more", sent=5, received=6, count=40, why="40 more")
    run.refresh_from_db()
    found = network.traffic(run)
    b, a = found.targets
    assert (a.opened, a.open, a.sent, a.received, a.calls) == (2, 1, 10, 20, ("c1", "c2"))
    assert (b.failed, b.why, b.calls) == (1, "not known", ("c2",))
    assert (found.opened, found.failed, found.untold, found.sent, found.received) == (2, 1, 40, 15, 26)
    network._ledgers._found.clear()
    assert network.traffic(run) == found


def test_sums_take_one_query_and_none_where_nothing_is_new(django_assert_num_queries: Any) -> None:
    run = told_run()
    with django_assert_num_queries(1):
        found = network.traffic(run)
    assert [target.target for target in found.targets] == ["evil.example:443", "packages.example.org:443"]
    with django_assert_num_queries(0):
        assert network.traffic(run) is found


def test_many_targets_are_bounded(owner: User, client: Client) -> None:
    run = make_run()
    rows = [
        Event(run=run, seq=number + 1, at=timezone.now(), kind=Kind.NETWORK, call_id=f"c{number}",
              data={"target": f"h{number}.example:443", "way": "refused", "why": "no", "number": 1})
        for number in range(network.TARGETS_KEPT + 30)
    ]  # fmt: skip
    Event.objects.bulk_create(rows)
    Run.objects.filter(pk=run.pk).update(last_seq=len(rows))
    run.refresh_from_db()
    found = network.traffic(run)
    assert (len(found.targets), found.more) == (network.TARGETS, len(rows) - network.TARGETS)
    assert (found.refused, len(network._ledgers.get((run.pk, run.created_at), network._Ledger)._tallies)) == (
        1030,
        1000,
    )
    client.force_login(owner)
    page = client.get(reverse("run", args=[run.pk])).content.decode()
    assert f"And {found.more:,} more targets" in Page(page).one("details", id="panel-network").words


# --- what the panel and the API say beside connections ---------------------------------------------------------


def test_a_model_that_was_asked_comes_first(owner: User, client: Client) -> None:
    run = make_run(model="claude-sonnet-5-5")
    Run.objects.filter(pk=run.pk).update(step=7, input_tokens=120_000, output_tokens=3400)
    run.refresh_from_db()
    assert leaving.asked(run) == leaving.Asked("Anthropic", "", "claude-sonnet-5-5", 7, 120_000, 3400)
    client.force_login(owner)
    panel = Page(client.get(reverse("run", args=[run.pk])).content).one("details", id="panel-network").words
    assert "Anthropic The model claude-sonnet-5-5, 7 requests 120K tokens 3.4K back" in panel
    assert "No command has a network." in panel
    told = client.get(f"/api/v1/runs/{run.pk}").json()["network"]["model"]
    assert (told["provider"], told["requests"], told["input_tokens"]) == ("Anthropic", 7, 120_000)


def test_a_model_with_an_address_of_its_own_is_named_by_its_host(settings: Any) -> None:
    settings.SAKURA_MODELS = (
        '[[models]]\nname = "mine"\nprovider = "openai"\nid = "m"\nbase_url = "https://llm.example:8443/v1"\n'
    )
    run = make_run(model="mine")
    run.step = 1
    asked = leaving.asked(run)
    assert asked is not None
    assert (asked.provider, asked.host) == ("", "llm.example")


def test_a_script_asks_nobody() -> None:
    run = make_run(model="scripted")
    run.step = 3
    assert leaving.asked(run) is None


@pytest.mark.parametrize(
    ("source", "host"),
    [
        ("/srv/almanac", ""),
        ("file:///srv/almanac", ""),
        ("https://git.example:8443/a.git", "git.example"),
        ("ssh://me@git.example/a.git", "git.example"),
        ("me@git.example:a.git", "git.example"),
    ],
)
def test_a_pushed_branch_left_the_house_too(source: str, host: str) -> None:
    run = make_run()
    assert leaving.pushed(run) is None
    run.task.repository.source = source
    run.pushed_at, run.branch, run.commit = timezone.now(), "sakura/1-x", "a" * 40
    pushed = leaving.pushed(run)
    assert pushed is not None
    assert (pushed.host, pushed.branch, pushed.commit) == (host, "sakura/1-x", "a" * 40)


def test_without_a_sandbox_the_panel_says_that_nobody_counts(owner: User, client: Client) -> None:
    run = make_run()
    Run.objects.filter(pk=run.pk).update(sandbox={"level": "off", "uid": 1000, "network": ["everything"]})
    client.force_login(owner)
    page = Page(client.get(reverse("run", args=[run.pk])).content)
    assert "nobody counts what they send" in page.one("details", id="panel-network").words
    assert "Nothing" not in page.one("details", id="panel-network").words
    assert "Sandbox off" in page.one("details", id="panel-wall").words


def test_odd_stored_data_break_no_page(owner: User, client: Client) -> None:
    run = make_run()
    odd = {
        "level": "full",
        "uid": "x",
        "network": 7,
        "limits": [1],
        "secrets": {"a": 1},
        "notes": 3,
        "connections": [3],
    }
    Run.objects.filter(pk=run.pk).update(sandbox=json.loads(json.dumps(odd)))
    Writer(run).put(Kind.NETWORK, {"target": "<b>\u202eevil", "way": "refused", "why": "<script>"}, "c1")
    client.force_login(owner)
    page = client.get(reverse("run", args=[run.pk])).content.decode()
    assert "<script>" not in Page(page).one("details", id="panel-network").attrs.values()
    assert "&lt;script&gt;" in page
    assert "\u202e" not in page
