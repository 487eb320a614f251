"""Secrets in a whole run: given to the commands that the policy names, and seen by nobody."""

import base64
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from agents import control, events, masks, review, secrets
from agents.control import Refused
from agents.events import Fact
from agents.models import Event, Kind, Policy, Run, Status, Task
from agents.models.task import SecretUse
from agents.providers.retry import respond_with_retries
from agents.secrets import TaskSecrets
from agents.streams import Stream
from tests.agents.test_team import FINISH, results, say
from tests.agents.test_team import review as reviewed
from tests.conftest import git, work_once
from workspaces import credentials, snapshots
from workspaces.models import Repository

pytestmark = pytest.mark.django_db(transaction=True)

VALUE = "tok-9f8e7d6c5b4a<&>" + "x1"
RULES = ["sh show.sh *"]
SHOW = """\
printf '%s\\n' "$NPM_TOKEN"
printf 'user:%s' "$NPM_TOKEN" | base64
printf '%s' "$NPM_TOKEN" | od -An -tx1 | tr -d ' \\n'
printf 'token=%s\\n' "$NPM_TOKEN" > out.txt
"""


@pytest.fixture
def keeper(repository: Repository, owner: User) -> Repository:
    """A repository with one secret."""
    secrets.put(repository, owner, "NPM_TOKEN", VALUE)
    return repository


def policy(*rules: str) -> dict[str, Any]:
    return Policy(secrets=[SecretUse(name="NPM_TOKEN", commands=list(rules or RULES))]).model_dump()


def command(text: str, **more: Any) -> dict[str, Any]:
    return {"name": "run_command", "input": {"command": text} | more}


def write(path: str, content: str) -> dict[str, Any]:
    return {"name": "write_file", "input": {"file_path": path, "content": content}}


def read(path: str) -> dict[str, Any]:
    return {"name": "read_file", "input": {"file_path": path}}


def spellings() -> list[str]:
    inner = base64.b64encode(b"user:" + VALUE.encode()).decode()[8:-4]
    return [VALUE, VALUE[:12], VALUE.encode().hex(), inner, json.dumps(VALUE)[1:-1]]


def everything_stored(run: Run) -> str:
    """Return every text that the run left: all tables, and all files of outputs."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            if table != "agents_secret":
                cursor.execute(f'SELECT * FROM "{table}"')
                found += [str(value) for row in cursor.fetchall() for value in row]
    outputs = run.place.outputs
    found += [path.read_text(errors="replace") for path in outputs.glob("*") if path.is_file()]
    return "\n".join(found)


def test_a_run_prints_writes_and_reads_its_secret_and_nobody_sees_it(
    launch: Callable[..., Run], keeper: Repository, client: Client, owner: User
) -> None:
    calls = [
        write("show.sh", SHOW),
        command("sh show.sh"),
        read("out.txt"),
        command("cat out.txt"),
        {"name": "search_in_files", "input": {"pattern": "token=", "output_mode": "content"}},
        command("echo [$NPM_TOKEN]; env | grep -c NPM_TOKEN; cat /proc/*/environ | grep -c NPM_TOKEN"),
        command('cat out.txt out.txt > two.txt; yes "$(cat out.txt)" | head -n 3000'),
        write("three.txt", f"pasted {VALUE}"),
        FINISH,
    ]
    script = {"implementer": [say(each, text=f"I use {VALUE}.") for each in calls], "reviewer": [reviewed("approve")]}
    started = launch(script, policy=policy(), prompt=f"Use {VALUE} to publish.")
    Task.objects.filter(pk=started.task_id).update(script=script)  # as a model would that knows the value
    run = work_once()
    assert run is not None
    assert run.state is Status.AWAITING_HUMAN, run.reason

    given = results(run)
    assert given[1]["data"]["applied"]["secrets"] == ["NPM_TOKEN"]
    assert given[1]["content"].count("[masked NPM_TOKEN]") == 3
    assert "token=[masked NPM_TOKEN]" in given[2]["content"]
    assert "token=[masked NPM_TOKEN]" in given[3]["content"]
    assert "[masked NPM_TOKEN]" in given[4]["content"]
    assert given[5]["content"].startswith("[]\n0\n0\n")
    assert "NPM_TOKEN is not given to this command. Only `sh show.sh *` gets it" in given[5]["content"]
    assert given[6]["output_ref"]
    assert "three.txt" in {path.name for path in run.place.tree.iterdir()}
    assert (run.place.tree / "three.txt").read_text() == "pasted [masked NPM_TOKEN]"

    Task.objects.filter(pk=run.task_id).update(script=None)
    stored = everything_stored(run)
    for spelling in spellings():
        assert spelling not in stored, spelling
    assert run.masked > 3000

    client.force_login(owner)
    patch = client.get(f"/runs/{run.pk}/patch/")
    assert VALUE.encode() not in patch.content
    assert int(patch["X-Sakura-Masked"]) >= 3
    for page in ("", "review/", "workspace/file/?path=out.txt", "workspace/"):
        answer = client.get(f"/runs/{run.pk}/{page}")
        assert answer.status_code == 200, page
        for spelling in spellings():
            assert spelling.encode() not in answer.content, page

    notes = [event.data for event in run.events.filter(kind=Kind.NOTE, data__to="implementer").order_by("seq")]
    assert [each["text"].split(". ")[0] for each in notes] == [
        "A secret lies in files of the workspace now: out.txt (NPM_TOKEN)",
        "A secret lies in files of the workspace now: two.txt (NPM_TOKEN)",
    ]
    with pytest.raises(Refused) as refused:
        review.decide(run, owner, "approve", f"I saw {VALUE}")
    assert refused.value.code == "SECRET_FOUND"
    assert "out.txt (NPM_TOKEN), two.txt (NPM_TOKEN)" in refused.value.message


def test_without_a_sandbox_and_in_the_background_it_is_the_same(
    launch: Callable[..., Run], keeper: Repository, settings: Settings
) -> None:
    settings.SAKURA_SANDBOX = "off"
    settings.SAKURA_SANDBOX_OFF_CONFIRMED = True
    calls = [
        write("show.sh", SHOW.replace("> out.txt", "")),
        command("sh show.sh"),
        command("sh show.sh x", run_in_background=True),
        {"name": "command_output", "input": {"id": "bg1", "wait_ms": 20_000, "until": "token="}},
        FINISH,
    ]
    launch({"implementer": [say(*calls)], "reviewer": [reviewed("approve")]}, policy=policy())
    run = work_once()
    assert run is not None
    given = results(run)
    assert given[1]["content"].count("[masked NPM_TOKEN]") == 4
    assert "token=[masked NPM_TOKEN]" in given[3]["content"]
    spools = "".join(path.read_text() for path in run.place.outputs.glob("*"))
    assert VALUE not in spools
    assert run.masked >= 8


def test_a_reviewer_gets_none_and_the_prompt_names_no_value(
    launch: Callable[..., Run], keeper: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def listen(provider: Any, request: Any, *rest: Any) -> Any:
        asked.append(request)
        return respond_with_retries(provider, request, *rest)

    monkeypatch.setattr("agents.loop.respond_with_retries", listen)
    script = {
        "implementer": [say(write("show.sh", SHOW)), say(FINISH)],
        "reviewer": [say(command("sh show.sh")), reviewed("approve")],
    }
    launch(script, policy=policy())
    run = work_once()
    assert run is not None
    systems = {request.agent: request.system for request in asked}
    assert "NPM_TOKEN, only for `sh show.sh *`" in systems["implementer"]
    assert "NPM_TOKEN" not in systems["reviewer"]
    assert VALUE not in str(asked)
    reviewers = [each for each in results(run) if each["tool"] == "run_command"]
    assert reviewers[0]["data"]["applied"]["secrets"] == []


# --- giving ---------------------------------------------------------------------------------------------


def test_a_secret_that_is_gone_is_not_given_and_the_agent_is_told(keeper: Repository, owner: User) -> None:
    given = TaskSecrets(keeper.pk, (SecretUse(name="NPM_TOKEN", commands=["npm publish"]),))
    assert given.for_command("npm publish") == (("NPM_TOKEN", VALUE),)
    secrets.delete(keeper, owner, "NPM_TOKEN")
    assert given.for_command("npm publish") == ()
    assert "set it again" in given.hint("npm publish # NPM_TOKEN", ())


# --- keeping ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [
        *((name, "where programs are found") for name in ("PATH", "LD_PRELOAD", "ld_library_path")),
        *((name, "what a shell runs") for name in ("BASH_ENV", "ENV", "IFS", "BASH_FUNC_x")),
        *((name, "what a language runs") for name in ("PYTHONSTARTUP", "NODE_OPTIONS", "npm_config_script_shell")),
        *((name, "what git runs") for name in ("GIT_SSH_COMMAND", "EDITOR")),
        *((name, "where a command lives") for name in ("HOME", "TMPDIR", "LC_ALL")),
        *((name, "how the network") for name in ("http_proxy", "ALL_PROXY", "SSL_CERT_FILE")),
        *((name, "letters, digits and _") for name in ("", "1A", "A-B", "Ä", "A\n", "A" * 101)),
    ],
)
def test_a_name_that_changes_what_runs_is_refused(repository: Repository, owner: User, name: str, said: str) -> None:
    with pytest.raises(Refused) as refused:
        secrets.put(repository, owner, name, VALUE)
    assert refused.value.message.startswith("name: ")
    assert said in refused.value.message


@pytest.mark.parametrize(
    ("value", "said"),
    [("sh0rt!", "6 characters"), ("x" * 8193, "8,193"), ("ababababab", "different"), ("nul \0 inside", "no variable")],
)
def test_a_value_that_can_not_be_masked_is_refused(repository: Repository, owner: User, value: str, said: str) -> None:
    with pytest.raises(Refused) as refused:
        secrets.put(repository, owner, "TOKEN", value)
    assert refused.value.message.startswith("value: ")
    assert said in refused.value.message
    assert value not in refused.value.message


def test_a_repository_has_fifty_secrets_at_most(repository: Repository, owner: User) -> None:
    for number in range(secrets.PER_REPOSITORY):
        secrets.put(repository, owner, f"TOKEN_{number}", f"{VALUE}{number}")
    secrets.put(repository, owner, "TOKEN_0", "another value")
    with pytest.raises(Refused, match="50 secrets"):
        secrets.put(repository, owner, "ONE_MORE", VALUE)


def test_all_values_together_are_bounded(repository: Repository, owner: User) -> None:
    for number in range(8):
        secrets.put(repository, owner, f"KEY_{number}", f"{number}ab".ljust(8192, "z"))
    with pytest.raises(Refused, match="65,536 characters"):
        secrets.put(repository, owner, "KEY_9", VALUE)


def test_values_are_sealed_apart_from_credentials_and_another_key_is_told(
    keeper: Repository, owner: User, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    row = keeper.secrets.get()
    assert VALUE.encode() not in bytes(row.sealed)
    with pytest.raises(credentials.CredentialUnreadable):
        credentials.unseal(bytes(row.sealed))
    settings.SECRET_KEY = "another" * 10
    assert not secrets.is_readable(row)
    given = TaskSecrets(keeper.pk, (SecretUse(name="NPM_TOKEN", commands=["npm publish"]),))
    assert given.for_command("npm publish") == ()
    assert "NPM_TOKEN was encrypted with another SAKURA_SECRET_KEY; enter it again." in caplog.text


# --- events ----------------------------------------------------------------------------------------------


def note(text: str) -> Fact:
    return Fact(Kind.NOTE, {"text": text, "to": "human", "more": [{text: (text,)}]})


def test_an_append_masks_all_texts_and_counts_in_the_same_two_statements(
    launch: Callable[..., Run], keeper: Repository, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    run = launch({"implementer": []})
    with django_assert_num_queries(4):  # BEGIN, UPDATE … RETURNING, INSERT, COMMIT
        events.append(run.pk, note(f"a {VALUE}"), note("b"))
    stored = Event.objects.filter(run=run, kind=Kind.NOTE).earliest("seq").data
    assert stored == {
        "text": "a [masked NPM_TOKEN]",
        "to": "human",
        "more": [{"a [masked NPM_TOKEN]": ["a [masked NPM_TOKEN]"]}],
    }
    run.refresh_from_db()
    assert run.masked == 3


def test_a_secret_set_by_another_process_is_masked_in_the_very_next_event(
    launch: Callable[..., Run], repository: Repository, owner: User
) -> None:
    run = launch({"implementer": []})
    events.append(run.pk, note("before"))
    secrets.put(repository, owner, "LATE", VALUE)
    events.append(run.pk, note(VALUE))
    assert Event.objects.filter(run=run).latest("seq").data["text"] == "[masked LATE]"
    secrets.put(repository, owner, "LATE", "the next value")
    events.append(run.pk, note("the next value"))
    assert Event.objects.filter(run=run).latest("seq").data["text"] == "[masked LATE]"
    secrets.delete(repository, owner, "LATE")
    events.append(run.pk, note("gone"))
    events.append(run.pk, note("the next value"))
    assert Event.objects.filter(run=run).latest("seq").data["text"] == "the next value"
    run.refresh_from_db()
    assert run.masked == 6


def test_a_long_text_is_masked_before_it_goes_to_a_file(launch: Callable[..., Run], keeper: Repository) -> None:
    run = launch({"implementer": []})
    events.append(run.pk, note("-" * 40_000 + VALUE + "-" * 40_000))
    whole = events.whole(run.pk, Event.objects.filter(run=run).latest("seq").data)
    assert VALUE not in whole["text"]
    assert "[masked NPM_TOKEN]" in whole["text"]


def test_what_people_write_is_masked_where_it_is_stored(
    launch: Callable[..., Run], keeper: Repository, owner: User
) -> None:
    run = launch({"implementer": []}, title=f"Use {VALUE}", prompt=VALUE)
    control.steer(run, owner, f"It is {VALUE}!")
    row = review.comment(run, owner, path="", line=None, side="new", body=f"not {VALUE}")
    assert run.controls.get().text == "It is [masked NPM_TOKEN]!"
    assert row.body == "not [masked NPM_TOKEN]"
    run.task.refresh_from_db()
    assert (run.task.title, run.task.prompt) == ("Use [masked NPM_TOKEN]", "[masked NPM_TOKEN]")


def test_streamed_text_is_masked_across_its_pieces(launch: Callable[..., Run], keeper: Repository) -> None:
    run = launch({"implementer": []})
    kept: list[str] = []
    stream = Stream(run.pk, "call", lambda text, offset: kept.append(text), masks.of_run(run.pk))
    for letter in f"é {VALUE}, and.":
        stream.write(letter)
    stream.keep()
    assert kept == ["é [masked NPM_TOKEN], and."]


# --- commits ---------------------------------------------------------------------------------------------


def _finished(run: Run, files: dict[str, bytes]) -> Run:
    workspace = run.place
    workspace.epoch = 1
    workspace.save()
    snapshots.prepare(workspace)
    for path, data in files.items():
        (workspace.tree / path).write_bytes(data)
    taken = snapshots.take(workspace, call_id="call-1", step=1, paths=None)
    assert taken is not None
    Run.objects.filter(pk=run.pk).update(status=Status.AWAITING_HUMAN, snapshot=taken.number)
    run.refresh_from_db()
    return run


@pytest.mark.parametrize(
    "data",
    [
        VALUE.encode(),
        b"\0\1" + VALUE.encode() + b"\0",
        base64.b64encode(b"me:" + VALUE.encode() + b"!"),
        b"x" * 10**6 + VALUE.encode(),
    ],
    ids=["plain", "binary", "base64", "far in"],
)
def test_a_secret_never_leaves_in_a_commit(
    launch: Callable[..., Run], keeper: Repository, owner: User, data: bytes
) -> None:
    run = _finished(launch({"implementer": []}), {"config.bin": data, "fine.txt": b"fine"})
    with pytest.raises(Refused) as refused:
        review.decide(run, owner, "approve", "")
    assert refused.value.code == "SECRET_FOUND"
    assert "config.bin (NPM_TOKEN)" in refused.value.message
    assert "fine.txt" not in refused.value.message
    assert VALUE not in refused.value.message
    run.refresh_from_db()
    assert run.state is Status.AWAITING_HUMAN
    assert git(run.place.repository.store, "for-each-ref", "refs/heads") == ""


def test_what_the_base_holds_already_does_not_count(
    launch: Callable[..., Run], source: Path, repository: Repository, owner: User
) -> None:
    secrets.put(repository, owner, "OLD", "def add(a, b):")
    run = _finished(launch({"implementer": []}), {"calc.py": b"def add(a, b):\n    return a + b\n"})
    review.decide(run, owner, "approve", "def add(a, b): is fine")
    run.refresh_from_db()
    assert run.state is Status.APPROVED
    assert "[masked OLD] is fine" in git(repository.store, "log", "-1", "--format=%B", run.branch)


def test_a_secret_set_after_the_approval_stops_the_push(
    launch: Callable[..., Run], source: Path, repository: Repository, owner: User
) -> None:
    run = _finished(launch({"implementer": []}), {"config.txt": VALUE.encode()})
    review.decide(run, owner, "approve", "")
    secrets.put(repository, owner, "NPM_TOKEN", VALUE)
    with pytest.raises(Refused, match=r"config\.txt \(NPM_TOKEN\)"):
        review.push(run, owner)
    assert git(source, "branch", "--list", "sakura/*") == ""


def test_no_argument_of_a_process_holds_the_value(
    launch: Callable[..., Run], keeper: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    whole = subprocess.Popen.__init__

    def listen(self: Any, args: Any, *rest: Any, **more: Any) -> None:
        started.append(str(args))
        whole(self, args, *rest, **more)

    monkeypatch.setattr(subprocess.Popen, "__init__", listen)
    launch({"implementer": [say(write("show.sh", SHOW), command("sh show.sh"), FINISH)]}, policy=policy())
    work_once()
    assert any("sh show.sh" in args for args in started)
    assert VALUE not in "".join(started)
