"""What can't be reached by guessing: objects of other runs and other people, and files outside of a run's own."""

import json
import os
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents import events
from agents.events import Fact
from agents.models import ApiToken, Comment, Kind, LoginLink, Role, Run
from tests.agents.reviewing import FIXED, Scene, scene
from tests.conftest import person
from workspaces.models import Repository

pytestmark = pytest.mark.django_db
ESCAPES = [
    "../{other}/outputs/secret.txt",
    "..%2f{other}%2foutputs%2fsecret.txt",
    "%2e%2e%2fsecret.txt",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "....//secret.txt",
    "secret.txt%00",
    "%00",
    "link.txt",
    "folder",
    "pipe",
    "..",
    ".",
    "~",
    "secret.txt",
]
PATHS = [
    "../../etc/passwd",
    "/etc/passwd",
    "..",
    "a/../../../etc/passwd",
    "./calc.py/../../..",
    "calc.py\x00.png",
    "\\xff/../etc",
    ".git/config",
    "-",
    "--output=/tmp/x",
    ":(glob)**",
    ":/calc.py",
    "HEAD:calc.py",
]


@pytest.fixture
def pair(repository: Repository) -> tuple[Scene, Scene]:
    """Two runs of the same repository; the second one has what the first must not give away."""
    mine, theirs = scene(repository), scene(repository)
    mine.call("edit_file", files={"calc.py": FIXED})
    for number in range(3):
        theirs.call("write_file", files={f"secret-{number}.txt": f"the secret of the other run, {number}\n"})
    for each in (mine, theirs):
        each.run.place.outputs.mkdir(parents=True, exist_ok=True)
    (theirs.run.place.outputs / "secret.txt").write_text("the secret of the other run\n")
    own = mine.run.place.outputs
    (own / "link.txt").symlink_to(theirs.run.place.outputs / "secret.txt")
    (own / "folder").mkdir()
    os.mkfifo(own / "pipe")
    return mine, theirs


def session(*roles: Role, name: str = "somebody") -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(person(name, *roles))
    return client


def api(user: User) -> Client:
    return Client(raise_request_exception=False, headers={"Authorization": f"Bearer {ApiToken.make(user, 'test')[1]}"})


def test_an_output_never_leaves_its_run(pair: tuple[Scene, Scene]) -> None:
    mine, theirs = pair
    client = session(Role.VIEWER)
    for ref in ESCAPES:
        for start, end in (("/runs", "/"), ("/api/v1/runs", "")):
            address = f"{start}/{mine.run.pk}/outputs/{ref.format(other=theirs.run.pk)}{end}"
            answer = client.get(address)
            assert answer.status_code == 404, address
            assert b"the secret" not in answer.content


def test_a_path_never_leaves_the_snapshot(pair: tuple[Scene, Scene]) -> None:
    run = pair[0].run
    user = person("somebody", Role.REVIEWER)
    client, program = Client(raise_request_exception=False), api(user)
    client.force_login(user)
    for path in PATHS:
        for where in ("tree", "file", "diff", "sakura"):
            answer = program.get(f"/api/v1/runs/{run.pk}/{where}", {"path": path})
            assert answer.status_code in (404, 422), (where, path, answer.status_code, answer.content[:300])
        for page in ("workspace/", "workspace/file/", "workspace/sakura/", "review/", "reverts/"):
            answer = client.get(f"/runs/{run.pk}/{page}", {"path": path, "part": "1"})
            assert answer.status_code in (200, 302, 404, 409, 422), (page, path, answer.status_code)
            assert b"root:" not in answer.content
        answer = program.post(f"/api/v1/runs/{run.pk}/reverts", {"path": path, "dry_run": True}, "application/json")
        assert 400 <= answer.status_code < 500, path


def test_only_the_runs_own_snapshots_can_be_asked_for(pair: tuple[Scene, Scene]) -> None:
    """Trees of all runs lie in one store, but a snapshot is asked for by its number, never by a hash."""
    mine, theirs = pair
    client = session(Role.VIEWER)
    secret = theirs.run.place.snapshots.get(number=3).tree
    for at in (secret, secret[:10], "3", "2", "-1", "HEAD", f"{secret}^{{tree}}", "1e0", "01", "٣", "9" * 40):
        for where in ("tree", "file"):
            answer = client.get(f"/api/v1/runs/{mine.run.pk}/{where}", {"at": at, "path": "secret-0.txt"})
            assert answer.status_code in (404, 422), (where, at)
            assert b"the secret" not in answer.content
        for page in ("workspace/", "workspace/file/"):
            answer = client.get(f"/runs/{mine.run.pk}/{page}", {"at": at, "path": "secret-0.txt"})
            assert b"the secret" not in answer.content, (page, at)
            assert answer.status_code < 500
        for query in ({"to": at}, {"from": at}, {"from": at, "to": at}):
            for where in (f"/runs/{mine.run.pk}/review/", f"/api/v1/runs/{mine.run.pk}/diff"):
                answer = client.get(where, query | {"path": "secret-0.txt"})
                assert b"the secret" not in answer.content
                assert answer.status_code < 500


def test_calls_comments_and_reviews_belong_to_their_run(pair: tuple[Scene, Scene]) -> None:
    mine, theirs = pair
    me = person("somebody", Role.ADMIN)
    client = Client()
    client.force_login(me)
    call = {"call_id": "c", "tool": "read_file", "input": {}, "resolved": {}}
    for _ in range(30):
        (event,) = events.append(theirs.run.pk, Fact(Kind.TOOL_CALL, call, agent="implementer", call_id="c"))
    assert client.get(f"/runs/{theirs.run.pk}/calls/{event.seq}/").status_code == 200
    assert client.get(f"/runs/{mine.run.pk}/calls/{event.seq}/").status_code == 404
    row = Comment.objects.create(run=theirs.run, user=me, path="calc.py", line=1, body="mine, on another run")
    client.post(f"/runs/{mine.run.pk}/comments/{row.pk}/delete/")
    assert Comment.objects.filter(pk=row.pk).exists()


def test_nobody_takes_back_the_comment_of_another_not_even_an_admin(pair: tuple[Scene, Scene]) -> None:
    run = pair[0].run
    row = Comment.objects.create(run=run, user=person("rosa", Role.REVIEWER), path="calc.py", line=1, body="hers")
    for number, role in enumerate((Role.REVIEWER, Role.ADMIN)):
        session(role, name=f"other-{number}").post(f"/runs/{run.pk}/comments/{row.pk}/delete/")
    assert Comment.objects.filter(pk=row.pk).exists()


def test_a_token_that_was_made_with_roles_since_taken_has_them_no_more(repository: Repository) -> None:
    user = person("olga", Role.OPERATOR)
    client = api(user)
    assert client.post(f"/api/v1/repositories/{repository.pk}/refresh", None, "application/json").status_code == 200
    user.groups.set([])
    assert client.get("/api/v1/tasks").status_code == 403
    user.is_active = False
    user.save()
    assert client.get("/api/v1/tasks").status_code == 401


def test_secrets_are_stored_hashed(repository: Repository) -> None:
    user = person("vera", Role.VIEWER)
    _, token = ApiToken.make(user, "test")
    link = LoginLink.make(user)
    kept = json.dumps([*ApiToken.objects.values(), *LoginLink.objects.values()], default=str)
    assert token not in kept
    assert token.removeprefix("sakura_") not in kept
    assert link not in kept
    assert min(len(token), len(link)) >= 43


SOURCES = [
    "{folder}",
    "file://{folder}",
    "file://localhost{folder}",
    "FILE://{folder}",
    "{folder}/../{name}",
    "/proc/self/root{folder}",
    "-oProxyCommand=touch /tmp/pwned",
    "ssh://-oProxyCommand=touch%20pwned/x",
    "ssh://git@-oProxyCommand=x/y",
    "git@-oProxyCommand=x:y",
    "-oProxyCommand=x:y",
    "ext::sh -c touch% pwned",
    "fd::17/foo",
    "transport::address",
    "git://example.org/x.git",
    "http://example.org/x.git",
    "ftp://example.org/x.git",
    "https://user:password@example.org/x.git",
    "https:///x.git",
    "https://example.org\nHost: evil/x.git",
    "../source",
    "source",
]


def test_an_operator_adds_no_folder_of_the_server_and_no_option_of_git(source: Path) -> None:
    client, page = api(person("olga", Role.OPERATOR)), session(Role.OPERATOR, name="otto")
    for given in SOURCES:
        asked = {"name": "other", "source": given.format(folder=source, name=source.name)}
        answer = client.post("/api/v1/repositories", asked, "application/json")
        assert answer.status_code == 422, (given, answer.content)
        assert page.post("/repositories/add/", asked).status_code == 200
    assert not Repository.objects.exists()


def test_the_answers_to_nobody_do_not_tell_what_there_is(pair: tuple[Scene, Scene]) -> None:
    run = pair[0].run
    client = Client()
    for start, end in (("/runs/", "/"), ("/tasks/", "/"), ("/api/v1/runs/", ""), ("/api/v1/tasks/", "")):
        real = client.get(f"{start}{run.pk}{end}")
        unreal = client.get(f"{start}98765{end}")
        assert real.status_code == unreal.status_code in (302, 401)
        assert real.content == unreal.content
    assert Run.objects.filter(pk=98765).count() == 0
