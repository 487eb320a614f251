"""The page of a run: what it shows, what a script asks it for, and what people may ask of the run."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from agents.models import Control, Event, Kind, Role, Run, Status
from tests.agents.transcripts import Writer, make_run, told_run

pytestmark = pytest.mark.django_db

SCRIPT = {"Accept": "application/json"}


def person(name: str, *roles: Role) -> User:
    user = User.objects.create_user(name)
    user.groups.set([Group.objects.get_or_create(name=role)[0] for role in roles])
    return user


def client_of(user: User, **more: Any) -> Client:
    client = Client(**more)
    client.force_login(user)
    return client


@pytest.fixture
def operator() -> Client:
    return client_of(person("olga", Role.OPERATOR))


@pytest.fixture
def viewer() -> Client:
    return client_of(person("vera", Role.VIEWER))


@pytest.fixture
def run() -> Run:
    return told_run()


def url(name: str, run: Run, *more: Any) -> str:
    return reverse(name, args=[run.pk, *more])


# --- reading -------------------------------------------------------------------------------------------


def test_the_page_shows_the_transcript_and_where_to_go_on_from(viewer: Client, run: Run) -> None:
    page = viewer.get(url("run", run)).content.decode()
    assert "add_months" in page
    assert 'id="call-toolu_12"' in page
    assert f'data-last="{run.last_seq}"' in page
    assert page.count('role="log"') == 1


def test_the_page_takes_the_same_few_queries_for_any_transcript(
    viewer: Client, run: Run, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(14) as few:
        viewer.get(url("run", run))
    writer = Writer(run)
    for number in range(200):
        writer.say("more")
        writer.call(f"more-{number}", "read_file", {"file_path": "a.py"})
        writer.result(f"more-{number}", "read_file", "text")
    with django_assert_max_num_queries(len(few)):
        viewer.get(url("run", run))


def test_the_page_of_a_long_run_begins_with_its_last_events(viewer: Client, run: Run) -> None:
    writer = Writer(run)
    for _ in range(150):
        writer.put(Kind.NOTE, {"text": "more", "to": "human"})
    page = viewer.get(url("run", run)).content.decode()
    first = run.last_seq + 51
    assert f'href="?before={first}"' in page
    assert 'id="event-2"' not in page
    assert 'id="event-2"' in viewer.get(url("run", run), {"before": first}).content.decode()


def test_marks_of_the_strip_lead_to_steps_of_this_page_or_of_the_latest_events(viewer: Client, run: Run) -> None:
    assert ' href="#step-3" aria-label="Step 3: ' in viewer.get(url("run", run)).content.decode()
    older = viewer.get(url("run", run), {"before": 8}).content.decode()
    assert f' href="{url("run", run)}#step-3" aria-label="Step 3: ' in older


def test_a_scripted_run_says_so(viewer: Client) -> None:
    run = make_run(model="scripted")
    assert "no model is asked" in viewer.get(url("run", run)).content.decode()


def test_older_events_come_as_patches(viewer: Client, run: Run) -> None:
    answer = viewer.get(url("run_events", run), {"before": 8, "limit": 2}).json()
    assert [patch["seq"] for patch in answer["patches"]] == [6, 7]
    assert answer["more"] is True
    assert answer["first"] == 6


def test_a_poll_brings_patches_and_panels_since_an_event(viewer: Client, run: Run) -> None:
    answer = viewer.get(url("run_events", run), {"after": run.last_seq - 1}).json()
    assert [patch["seq"] for patch in answer["patches"]] == [run.last_seq]
    assert answer["last"] == run.last_seq
    assert "head" in answer["panels"]
    assert "panels" not in viewer.get(url("run_events", run), {"after": run.last_seq}).json()


def test_the_body_of_a_card_comes_alone_or_within_a_page(viewer: Client, run: Run) -> None:
    call = Event.objects.get(run=run, kind=Kind.TOOL_CALL, call_id="toolu_11")
    alone = viewer.get(url("run_call", run, call.seq), {"part": 1}).content.decode()
    assert "# Rules" in alone
    assert "<html" not in alone
    page = viewer.get(url("run_call", run, call.seq)).content.decode()
    assert "# Rules" in page
    assert "</html>" in page


def test_an_event_that_is_no_call_has_no_body(viewer: Client, run: Run) -> None:
    assert viewer.get(url("run_call", run, 1)).status_code == 404


def test_an_output_is_plain_text_in_pieces(viewer: Client, run: Run) -> None:
    run.place.outputs.mkdir(parents=True)
    (run.place.outputs / "out-1").write_bytes(b"<script>0123456789")
    answer = viewer.get(url("run_output", run, "out-1"))
    assert answer.content == b"<script>0123456789"
    assert answer["Content-Type"].startswith("text/plain")
    assert answer["X-Content-Type-Options"] == "nosniff"
    piece = viewer.get(url("run_output", run, "out-1"), {"offset": 8, "limit": 4})
    assert piece.content.startswith(b"0123\n")
    assert b"6 bytes more" in piece.content
    assert piece["X-Output-Size"] == "18"


@pytest.mark.parametrize("ref", ["..", "missing", "secret"])
def test_an_output_is_read_only_from_its_folder(viewer: Client, run: Run, ref: str) -> None:
    run.place.outputs.mkdir(parents=True)
    (run.place.folder / "key").write_text("key")
    (run.place.outputs / "secret").symlink_to(run.place.folder / "key")
    assert viewer.get(url("run_output", run, ref)).status_code == 404


def test_an_account_without_a_role_sees_nothing(run: Run) -> None:
    stranger = client_of(person("sam"))
    for name in ("run", "run_events"):
        assert stranger.get(url(name, run)).status_code == 403


# --- steering ------------------------------------------------------------------------------------------


def test_a_message_is_left_for_the_agent(operator: Client, run: Run) -> None:
    answer = operator.post(url("run_message", run), {"text": "Mind the leap years."})
    assert answer.status_code == 302
    assert answer["Location"] == url("run", run)
    control = Control.objects.get(run=run)
    assert (control.verb, control.text) == ("steer", "Mind the leap years.")
    assert "Mind the leap years." in operator.get(url("run", run)).content.decode()


def test_a_refused_message_comes_back_with_its_text(operator: Client, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(status=Status.APPROVED)
    answer = operator.post(url("run_message", run), {"text": "Too late & <odd>"})
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "Too late &amp; &lt;odd&gt;</textarea>" in page
    assert "No agent reads messages" in page


def test_a_script_hears_of_a_refusal_as_json(operator: Client, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(status=Status.APPROVED)
    answer = operator.post(url("run_cancel", run), headers=SCRIPT)
    assert answer.status_code == 409
    assert answer.json()["error"]["code"] == "ENDED"


@pytest.mark.parametrize(
    ("name", "status", "then"),
    [
        ("run_pause", Status.QUEUED, Status.PAUSED),
        ("run_resume", Status.PAUSED, Status.QUEUED),
        ("run_cancel", Status.PAUSED, Status.CANCELLED),
        ("run_retry", Status.FAILED, Status.QUEUED),
    ],
)
def test_each_action_moves_the_run(operator: Client, run: Run, name: str, status: Status, then: Status) -> None:
    Run.objects.filter(pk=run.pk).update(status=status)
    assert operator.post(url(name, run), headers=SCRIPT).status_code == 204
    run.refresh_from_db()
    assert run.status == then


def test_an_action_leads_back_to_where_it_was_pressed_but_never_off_the_site(operator: Client, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(status=Status.QUEUED)
    assert operator.post(url("run_pause", run), {"next": "/?show=mine"})["Location"] == "/?show=mine"
    assert operator.post(url("run_resume", run), {"next": "https://evil.example/"})["Location"] == url("run", run)


@pytest.mark.parametrize("name", ["run_message", "run_pause", "run_resume", "run_cancel", "run_retry"])
def test_only_operators_may_steer_and_only_by_post(viewer: Client, operator: Client, run: Run, name: str) -> None:
    assert viewer.post(url(name, run), {"text": "x"}).status_code == 403
    assert operator.get(url(name, run)).status_code == 405
    assert not Control.objects.filter(run=run).exists()


def test_a_post_needs_the_token_of_the_page(run: Run) -> None:
    strict = client_of(person("olga", Role.OPERATOR), enforce_csrf_checks=True)
    assert strict.post(url("run_pause", run)).status_code == 403
    page = strict.get(url("run", run)).content.decode()
    token = page.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
    assert strict.post(url("run_pause", run), {"csrfmiddlewaretoken": token}).status_code == 302
