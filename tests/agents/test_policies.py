"""The policy of a repository's file: read at the base, held with the task's, and shown with what it decided."""

from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from agents import bench, panels, policies, transcript
from agents.launching import Launch, WrongField
from agents.models import Agent, Kind, Policy, Role, Run, Status
from agents.policies import FILE_BYTES, Applied, FilePolicy, PolicyFault, read_file
from tests.agents.test_team import EDIT, FINISH, READ, results, review, say
from tests.conftest import TASK_FORM, git, work_once
from workspaces import sources
from workspaces.models import Repository

TEST = "tests/test_calc.py"
FILE = Path(policies.PATH)


def faults(text: str) -> list[str]:
    with pytest.raises(PolicyFault) as caught:
        read_file(text)
    return caught.value.sentences


def kept(source: Path, text: str | bytes) -> None:
    """Commit a policy file to the source."""
    (source / FILE).parent.mkdir(exist_ok=True)
    (source / FILE).write_bytes(text.encode() if isinstance(text, str) else text)
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "Policy")


@pytest.fixture
def with_policy(repository: Repository, source: Path) -> Callable[[str | bytes], Repository]:
    """Commit a policy file, and ask the source for news."""

    def keep(text: str | bytes) -> Repository:
        kept(source, text)
        assert sources.refresh(repository)
        return repository

    return keep


# --- reading -------------------------------------------------------------------------------------------


def test_a_whole_file_is_read() -> None:
    found = read_file(
        '\ufeff# Ours\r\nverify = ["pytest -q"]\nprotected = ["db/**"]\nunprotected = [".github/**"]\n'
        'hidden = ["keys/**"]\nsecrets_allowed = ["f/**"]\nblocklist = ["make deploy *"]\ntests = ["checks/**"]\n'
        'rules = ["deny path:docs/**", "allow command:docker build *"]\nmay_change_tests = false\n'
    )
    assert (found.verify, found.tests, found.may_change_tests) == (["pytest -q"], ["checks/**"], False)
    assert found.rules == ["deny path:docs/**", "allow command:docker build *"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("verify = [", "At the end of the file: Invalid value"),
        ("a = 1\nb = = 2", "Line 2, column 5"),
        ('rules = ["deny path:x", "alow path:x"]', "`rules[1]`: `alow path:x` begins with neither allow nor deny"),
        ('rules = "deny path:x"', "`rules`: This must be a list"),
        ("verify = [1]", "`verify[0]`: This must be a text in quotes."),
        ('verify = [""]', "`verify[0]`"),
        ('verify = ["a\\u0000b"]', "`verify[0]`"),
        ("may_change_tests = 1", "`may_change_tests`: This must be true or false."),
        ('protected = ["../x"]', "`protected[0]`: `../x`"),
        ('network = ["packages.example.org:443"]', "`network`: there is no such key. The keys are: verify, protected"),
        ('setup = ["make"]', "`setup`: there is no such key"),
        ("[secrets]\nname = 1", "`secrets`: there is no such key"),
        ('blocklist = ["run_comand(x)"]', "`blocklist[0]`"),
        ("verify = " + "[" * 30000, "nested too deep"),
        ("verify = " + "{a=" * 15000, "nested too deep"),
        (".".join("a" * 20000) + " = 1", "Line 1 has more than 200 dots"),
        ("verify = 1" + "0" * 5000, "It can't be read"),
        ("x" * (FILE_BYTES + 1), "at most 65,536 are taken"),
        ("hidden = [" + ",".join(f'"{"{a,b}" * 9}{"c" * 300}{at}"' for at in range(100)) + "]", "fewer {a,b}"),
        ("hidden = [" + ",".join('"a"' for _ in range(300)) + "]", "`hidden`"),
        ('"\\u202ekey" = 1', "there is no such key"),
    ],
)
def test_what_is_wrong_is_said_with_its_line_or_key(text: str, said: str) -> None:
    before = monotonic()
    sentences = faults(text)
    assert said in sentences[0]
    assert monotonic() - before < 5
    assert all(sentence.isprintable() and len(sentence) < 1200 for sentence in sentences)


def test_many_faults_are_counted_and_the_first_of_them_said() -> None:
    sentences = faults("rules = [" + ",".join('"x"' for _ in range(100)) + "]")
    assert len(sentences) == 21
    assert sentences[-1] == "And 80 more faults."


def test_a_file_that_opens_the_network_is_told_and_not_obeyed() -> None:
    file = read_file('rules = ["allow host:packages.example.org:443", "deny host:other.example.org:443"]')
    assert [note.split(":")[0] for note in file.notes()] == ["`rules[0]` (`allow host"]
    task = Policy(network=["other.example.org:443", "third.example.org:443"])
    applied = policies.of_task(task, file)
    assert applied.policy.network == ["third.example.org:443"]
    assert len(applied.faults) == 1
    assert "only a task opens the network" in applied.faults[0]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("data", "said"), [(b"verify = ['\xff']", "not UTF-8 (byte 11)"), (b"#" * (FILE_BYTES + 9), "more than 65,536")]
)
def test_a_file_of_odd_bytes_is_refused(with_policy: Callable[[bytes], Repository], data: bytes, said: str) -> None:
    row = with_policy(data)
    with pytest.raises(PolicyFault) as caught:
        policies.at(row, sources.resolve(row, "main"))
    assert said in str(caught.value)


@pytest.mark.django_db
def test_a_link_is_no_policy_and_no_file_is_an_empty_one(repository: Repository, source: Path) -> None:
    assert policies.at(repository, sources.resolve(repository, "main")) == FilePolicy()
    (source / ".sakura").mkdir()
    (source / FILE).symlink_to("../README.md")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "Link")
    sources.refresh(repository)
    with pytest.raises(PolicyFault, match="no plain file"):
        policies.at(repository, sources.resolve(repository, "main"))


# --- merging -------------------------------------------------------------------------------------------


def test_task_file_and_settings_come_together() -> None:
    task = Policy(protected=["a/**", "b/**"], rules=["deny path:x"], network=["packages.example.org:443"])
    file = FilePolicy(protected=["b/**", "c/**"], rules=["allow path:y"], verify=["pytest"], tests=["checks/**"])
    found = policies.of_task(task, file, ["make test"])
    assert found.policy.protected == ["a/**", "b/**", "c/**"]
    assert (found.entries("protected", "task"), found.entries("protected", "repository")) == (
        ("a/**", "b/**"),
        ("c/**",),
    )
    assert found.rules == (("deny path:x", "task"), ("allow path:y", "repository"))
    assert (found.verify, found.sources["verify"]) == (["pytest"], "repository")
    assert (found.sources["protected"], found.sources["network"]) == ("both", "task")
    assert Applied.load(found.dump()) == found


@pytest.mark.parametrize(
    ("task", "file", "own", "verify", "source"),
    [
        (["a"], ["b"], ["c"], ["a"], "task"),
        ([], ["b"], ["c"], ["b"], "repository"),
        ([], [], ["c"], ["c"], "settings"),
        ([], [], [], [], None),
    ],
)
def test_verify_commands_are_the_nearest(
    task: list[str], file: list[str], own: list[str], verify: list[str], source: str | None
) -> None:
    found = policies.of_task(Policy(verify=task), FilePolicy(verify=file), own)
    assert (found.verify, found.sources.get("verify")) == (verify, source)


@pytest.mark.parametrize(
    ("task", "file", "may", "by"),
    [
        (False, None, False, None),
        (True, False, True, "task"),
        (False, True, True, "repository"),
        (True, True, True, "both"),
        (False, False, False, None),
    ],
)
def test_who_may_change_tests_is_said_with_who_said_so(
    task: bool, file: bool | None, may: bool, by: str | None
) -> None:
    found = policies.of_task(Policy(may_change_tests=task), FilePolicy(may_change_tests=file))
    assert (found.policy.may_change_tests, found.sources.get("may_change_tests")) == (may, by)


@pytest.mark.parametrize(
    ("rules", "network"),
    [
        ([], ["a.example.org:443", "b.example.org:80"]),
        (["deny host:A.example.org:443"], ["b.example.org:80"]),
        (["allow host:a.example.org:443", "deny effect:NETWORK"], ["a.example.org:443"]),
        (["deny effect:NETWORK"], []),
        (["allow host:c.example.org:443"], ["a.example.org:443", "b.example.org:80", "c.example.org:443"]),
        (["deny host:c.example.org:443", "allow host:c.example.org:443"], ["a.example.org:443", "b.example.org:80"]),
    ],
)
def test_rules_on_hosts_make_the_network_of_a_task(rules: list[str], network: list[str]) -> None:
    task = Policy(network=["a.example.org:443", "b.example.org:80"], rules=rules)
    assert policies.of_task(task).policy.network == network


def test_a_long_merged_list_is_loaded_again() -> None:
    task = Policy(hidden=[f"a{at}" for at in range(200)])
    found = policies.of_task(task, FilePolicy(hidden=[f"b{at}" for at in range(200)]))
    assert len(Applied.load(found.dump()).policy.hidden) == 400


# --- launching -----------------------------------------------------------------------------------------

BROKEN = 'verify = ["pytest"]\nrules = ["alow path:x"]\n'


@pytest.mark.django_db
def test_a_launch_on_a_broken_policy_is_refused_beside_the_base(
    with_policy: Callable[[str], Repository], client: Client
) -> None:
    row = with_policy(BROKEN)
    asked = Launch(repository=row.pk, title="T", prompt="P", script={"implementer": [{"text": "Hi"}]})
    with pytest.raises(WrongField) as caught:
        asked.fields()
    assert caught.value.field == "base"
    assert "`rules[0]`: `alow path:x` begins with neither" in caught.value.sentence
    user = User.objects.create_user("olga")
    user.groups.set([Group.objects.get_or_create(name=Role.OPERATOR)[0]])
    client.force_login(user)
    page = client.post(reverse("task_new"), TASK_FORM | {"repository": str(row.pk)}).content.decode()
    assert "`alow path:x` begins with neither" in page
    assert not Run.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_run_that_meets_a_broken_policy_fails_with_the_reason(
    with_policy: Callable[[str], Repository], launch: Callable[..., Run]
) -> None:
    with_policy(BROKEN)
    launch({"implementer": [say(FINISH)]})
    run = work_once()
    assert run is not None
    assert run.state is Status.FAILED
    assert "`rules[0]`: `alow path:x`" in run.reason
    assert run.policy == {}


@pytest.mark.django_db(transaction=True)
def test_a_run_whose_stored_policy_can_not_be_read_any_more_does_not_go_on(launch: Callable[..., Run]) -> None:
    run = launch({"implementer": [say(FINISH)]})
    stored = policies.of_task(Policy(hidden=["*.pem"])).dump()
    stored["rules"] = [["deny tool:a_tool_that_is_gone", "task"]]
    Run.objects.filter(pk=run.pk).update(policy=stored)
    run = work_once() or run
    assert run.state is Status.FAILED
    assert "a_tool_that_is_gone" in run.reason
    assert not run.place.tree.exists()


# --- in a run ------------------------------------------------------------------------------------------

pytest_run = pytest.mark.django_db(transaction=True)


def call(name: str, **given: Any) -> dict[str, Any]:
    return {"name": name, "input": given}


LOOK = call("read_file", file_path=TEST)
WEAKEN = call("edit_file", file_path=TEST, old_string="== 5", new_string="== -1")
NEW_TEST = call("write_file", file_path="tests/test_double.py", content="def test_double():\n    assert True\n")
SWAP = call("run_command", command="mkdir -p .sakura; echo 'may_change_tests = true' > .sakura/policy.toml")
SCRIPT = {
    "implementer": [say(READ, LOOK), say(WEAKEN), say(NEW_TEST), say(SWAP), say(WEAKEN), say(EDIT), say(FINISH)],
    "reviewer": [review("approve")],
}


@pytest_run
def test_an_existing_test_is_kept_a_new_one_is_written_and_an_agents_own_policy_counts_for_nothing(
    launch: Callable[..., Run],
) -> None:
    launch(SCRIPT)
    run = work_once()
    assert run is not None
    told = [each for each in results(run) if each["tool"] in ("edit_file", "write_file")]
    assert [each["code"] for each in told] == ["PROTECTED_PATH", None, "PROTECTED_PATH", None]
    assert "rule `existing tests`" in told[0]["content"]
    assert "Write a new test in a file of its own" in told[0]["content"]
    assert told[0]["data"]["rule"] == "existing tests"
    assert "== 5" in (run.place.tree / TEST).read_text()
    assert (run.place.tree / "tests/test_double.py").exists()
    assert Applied.load(run.policy).policy.may_change_tests is False


@pytest_run
def test_each_call_tells_the_rule_that_decided(launch: Callable[..., Run]) -> None:
    launch(SCRIPT, policy=Policy(rules=["allow path:calc.py"]).model_dump())
    run = work_once()
    assert run is not None
    told = [event.data for event in run.events.filter(kind=Kind.TOOL_CALL).order_by("seq")]
    decided = [(data["tool"], data["decision"]["allowed"], data["decision"]["rule"]) for data in told]
    assert decided[:4] == [
        ("read_file", True, "allow path:calc.py"),
        ("read_file", True, ""),
        ("edit_file", False, "existing tests"),
        ("write_file", True, ""),
    ]
    assert told[1]["decision"] == {
        "allowed": True, "rule": "", "source": "defaults", "why": "it stays in the sandbox",
    }  # fmt: skip
    page = "".join(patch["html"] for patch in transcript.latest(run).patches)
    assert "Allowed by <code>allow path:calc.py</code> of the task" in page
    assert "Allowed: it stays in the sandbox (the defaults)" in page
    assert "Denied by <code>existing tests</code> of the defaults" in page


@pytest_run
def test_with_the_box_ticked_an_existing_test_is_changed(launch: Callable[..., Run]) -> None:
    script = {"implementer": [say(LOOK), say(WEAKEN), say(FINISH)], "reviewer": [review("approve")]}
    launch(script, policy=Policy(may_change_tests=True).model_dump())
    run = work_once()
    assert run is not None
    assert "== -1" in (run.place.tree / TEST).read_text()
    assert "Existing tests may be changed" in panels.render(run)["rules"]


@pytest_run
def test_the_files_rules_hold_beside_the_tasks_and_are_shown(
    with_policy: Callable[[str], Repository], launch: Callable[..., Run]
) -> None:
    with_policy(
        'rules = ["deny path:docs/**", "deny tool:write_file", "allow host:packages.example.org:443"]\n'
        'blocklist = ["make deploy *"]\nhidden = ["README.md", "<b>x"]\ntests = ["checks/**"]\n'
    )
    script = {
        "implementer": [
            say(NEW_TEST),
            say(call("edit_file", file_path="docs/a.md", old_string="", new_string="x")),
            say(call("read_file", file_path="README.md")),
            say(READ), say(EDIT), say(FINISH),
        ],
        "reviewer": [review("approve")],
    }  # fmt: skip
    launch(script)
    run = work_once()
    assert run is not None
    assert [each["code"] for each in results(run)[:3]] == ["DENIED", "PROTECTED_PATH", "DENIED"]
    assert {each["data"]["source"] for each in results(run)[:3]} == {"repository"}
    assert run.place.base_commit == git(Path(run.task.repository.source), "rev-parse", "HEAD")
    panel = panels.render(run)["rules"]
    assert "<code>deny path:docs/**</code> <small>repository</small>" in panel
    assert "<code>&lt;b&gt;x</code> <small>repository</small>" in panel
    assert "only a task opens the network" in panel
    assert "<dt>Network</dt> <dd>none" in panel


@pytest_run
def test_an_agent_is_told_its_rules_before_it_starts(
    with_policy: Callable[[str], Repository], launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_policy("rules = [" + ",".join(f'"deny path:docs/{"x" * 60}{at}/**"' for at in range(150)) + "]")
    told: dict[Agent, bench.Bench] = {}
    laid_out = bench.lay_out

    def listen(session: Any, environment: Any, *more: Any, **named: Any) -> bench.Bench:
        found = laid_out(session, environment, *more, **named)
        told[session.agent] = found
        return found

    monkeypatch.setattr(bench, "lay_out", listen)
    policy = Policy(network=["a.example.org:443"], rules=["deny tool:write_file", "allow host:b.example.org:443"])
    launch({"implementer": [say(FINISH)]}, policy=policy.model_dump())
    work_once()
    mine = told[Agent.IMPLEMENTER]
    assert "Tests that exist at the base, and the options of test tools, are protected too" in mine.system_prompt
    assert "    deny tool:write_file\n" in mine.system_prompt
    assert "more; a refusal names the rule)" in mine.system_prompt
    assert "network: a.example.org:443, b.example.org:443" in mine.system_prompt
    assert len(mine.system_prompt) < 12_000
    assert mine.place.network == ("a.example.org:443", "b.example.org:443")
    assert "write_file" not in [spec.name for spec in mine.specs]
    assert "edit_file" in [spec.name for spec in mine.specs]


@pytest.mark.django_db
def test_a_run_of_before_has_its_tasks_policy(launch: Callable[..., Run]) -> None:
    run = launch({"implementer": []}, policy=Policy(hidden=["x"]).model_dump())
    assert policies.of(run).policy.hidden == ["x"]
    assert "This run was not prepared yet" in panels.render(panels.load(run.pk))["rules"]
