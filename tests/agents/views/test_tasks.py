"""The form of a new task, its preview, the page of a task, running it again, the demo."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from agents import control
from agents.models import Budgets, Role, Run, Status, Task
from tests.agents.views.pages import Page
from tests.conftest import TASK_FORM, git, person
from workspaces import sandbox, sources
from workspaces.models import Repository

pytestmark = pytest.mark.django_db
SCRIPT = {"implementer": [{"text": "Hello."}]}
NEW = "/tasks/new/"


@pytest.fixture
def form(repository: Repository) -> dict[str, Any]:
    """What a person sends who fills in only what must be."""
    return TASK_FORM | {"repository": repository.pk, "script": json.dumps(SCRIPT)}


@pytest.fixture
def operator(client: Client, teammate: User) -> Client:
    client.force_login(teammate)
    return client


def errors_of(page: Page) -> str:
    return " ".join(error.words for error in page.find("div", class_="errors"))


def test_launching_makes_a_task_and_leads_to_its_run(
    operator: Client, form: dict[str, Any], repository: Repository, source: Path, teammate: User
) -> None:
    answer = operator.post(NEW, form)
    run = Run.objects.get()
    assert answer["Location"] == reverse("run", args=[run.pk])
    task = run.task
    assert (task.repository, task.title, task.created_by) == (repository, "Mend add", teammate)
    assert (task.base_name, task.base_commit) == ("main", git(source, "rev-parse", "main"))
    assert (task.model, task.script, task.max_rounds) == ("scripted", SCRIPT, 3)
    assert task.limits() == Budgets()
    assert run.state is Status.QUEUED


def test_the_source_is_asked_for_news_at_launch(operator: Client, form: dict[str, Any], source: Path) -> None:
    (source / "new.txt").write_text("new")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "Second")
    operator.post(NEW, form)
    assert Task.objects.get().base_commit == git(source, "rev-parse", "main")


def test_a_source_that_is_gone_is_a_warning_and_no_error(operator: Client, form: dict[str, Any], source: Path) -> None:
    source.rename(source.with_name("elsewhere"))
    answer = operator.post(NEW, form)
    assert answer.status_code == 302
    assert (
        "its source did not answer" in Page(operator.get(reverse("board")).content).one("div", class_="notices").words
    )


def test_rules_and_budgets_are_kept(operator: Client, form: dict[str, Any]) -> None:
    more = {
        "verify": "pytest -q\n\nruff check .\n",
        "protected": "docs/**",
        "network": "packages.example.org:443",
        "steps": "12",
        "minutes": "2",
        "usd": "0.50",
    }
    operator.post(NEW, form | more)
    task = Task.objects.get()
    rules, limits = task.rules(), task.limits()
    assert rules.verify == ["pytest -q", "ruff check ."]
    assert (rules.protected, rules.network) == (["docs/**"], ["packages.example.org:443"])
    assert (limits.steps, limits.seconds, limits.usd) == (12, 120, 0.5)


def test_hidden_paths_and_paths_with_secrets_are_kept_and_shown(operator: Client, form: dict[str, Any]) -> None:
    more = {"hidden": "secrets/**\n*.pem", "secrets_allowed": "tests/fixtures/**", "blocklist": "npm publish *"}
    operator.post(NEW, form | more)
    task = Task.objects.get()
    rules = task.rules()
    assert (rules.hidden, rules.secrets_allowed) == (["secrets/**", "*.pem"], ["tests/fixtures/**"])
    shown = Page(operator.get(reverse("task", args=[task.pk])).content).one("main").words
    assert all(words in shown for words in ("Hidden paths", "*.pem", "May hold secrets", "tests/fixtures/**"))


@pytest.mark.parametrize(
    ("field", "typed", "said"),
    [
        ("blocklist", "make x\nrun_command(git push", "the parentheses do not match"),
        ("blocklist", "run_comand(git push *)", "there is no tool"),
        ("hidden", "../etc/**", "leave out"),
        ("secrets_allowed", "[z-a]", "brackets"),
        ("protected", "/", "A glob is empty"),
    ],
)
def test_a_rule_that_cannot_be_read_is_an_error_beside_its_field(
    operator: Client, form: dict[str, Any], field: str, typed: str, said: str
) -> None:
    page = Page(operator.post(NEW, form | {field: typed}).content)
    area = page.one("textarea", name=field)
    assert area.attrs["aria-invalid"] == "true"
    assert area.text.strip() == typed
    assert said in page.one("div", id=f"id_{field}_error").words
    assert not Task.objects.exists()


def test_an_unknown_base_says_what_is_near_and_keeps_the_rest(
    operator: Client, form: dict[str, Any], source: Path
) -> None:
    git(source, "branch", "release/2.3")
    page = Page(operator.post(NEW, form | {"base": "release/2.x", "prompt": "Line one\n<b>two</b>"}).content)
    assert "release/2.3" in errors_of(page)
    base = page.one("input", name="base")
    assert (base.attrs["value"], base.attrs["aria-invalid"]) == ("release/2.x", "true")
    assert page.one("textarea", name="prompt").text.strip() == "Line one\n<b>two</b>"
    assert page.one("input", name="title").attrs["value"] == "Mend add"
    assert json.loads(page.one("textarea", name="script").text) == SCRIPT
    assert not Task.objects.exists()


def test_the_summary_leads_to_each_field_with_an_error(operator: Client, form: dict[str, Any]) -> None:
    page = Page(operator.post(NEW, form | {"title": " ", "prompt": "", "tokens": "12"}).content)
    summary = page.one("div", role="alert")
    assert "3 things to correct" in summary.words
    links = [a.attrs["href"].lstrip("#") for a in page.find("a") if summary in a.parents]
    assert len(links) == 3
    assert all(any(each.attrs.get("id") == link for each in page.elements) for link in links)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"script": "{"}, "Not JSON"),
        ({"script": '{"implementer": [{"tex": 1}]}'}, "implementer[0].tex"),
        ({"script": "[" * 100_000}, "nested too deep"),
        ({"script": "1" * 5_000}, "a number that is too long"),
        ({"script": ""}, "plays a script, and none is given"),
        ({"model": "gpt-6-sol"}, "A script is played by “scripted” only"),
        ({"model": "gpt-6-sol", "script": ""}, "needs a key"),
        ({"model": "no-such"}, "There is no model “no-such”"),
        ({"model": "", "script": ""}, "Choose a model"),
        ({"repository": "999"}, "not ready"),
        ({"steps": "0"}, "At least 1"),
        ({"usd": "nan"}, "no number"),
        ({"minutes": "100000"}, "At most 1,440"),
        ({"verify": "\n".join(["x"] * 21)}, "at most 20"),
        ({"network": "y" * 261}, "261 characters"),
        ({"network": "packages.example.org:443\nhttps://packages.example.org/"}, "leave out https://"),
        ({"network": "*.packages.example.org:443"}, "no wildcards"),
        ({"network": "packages.example.org"}, "port is missing"),
        ({"network": "127.0.0.1:5432"}, "which no command ever reaches"),
    ],
)
def test_what_can_not_be_launched_says_why_at_its_field(
    operator: Client, form: dict[str, Any], settings: Settings, more: dict[str, str], expected: str
) -> None:
    settings.OPENAI_API_KEY = ""
    page = Page(operator.post(NEW, form | more).content)
    assert expected in errors_of(page)
    assert not Task.objects.exists()


def test_a_script_without_a_chosen_model_is_played(operator: Client, form: dict[str, Any]) -> None:
    operator.post(NEW, form | {"model": ""})
    assert Task.objects.get().model == "scripted"


def test_a_script_file_takes_the_place_of_the_text(operator: Client, form: dict[str, Any]) -> None:
    upload = SimpleUploadedFile("script.json", json.dumps({"reviewer": []}).encode())
    operator.post(NEW, form | {"script_file": upload})
    assert Task.objects.get().script == {"reviewer": []}


def test_a_script_file_stays_as_text_when_the_form_comes_back(operator: Client, form: dict[str, Any]) -> None:
    upload = SimpleUploadedFile("script.json", b'{"reviewer": []}')
    page = Page(operator.post(NEW, form | {"script": "", "title": "", "script_file": upload}).content)
    assert page.one("textarea", name="script").text.strip() == '{"reviewer": []}'


def test_the_same_form_sent_twice_launches_once(operator: Client, form: dict[str, Any]) -> None:
    once = Page(operator.get(NEW).content).one("input", name="once").attrs["value"]
    answers = [operator.post(NEW, form | {"once": once}) for _ in range(2)]
    assert Run.objects.count() == 1
    assert answers[0]["Location"] == answers[1]["Location"]


def test_a_form_with_an_error_can_be_corrected_and_sent_again(operator: Client, form: dict[str, Any]) -> None:
    once = Page(operator.get(NEW).content).one("input", name="once").attrs["value"]
    operator.post(NEW, form | {"once": once, "base": "nowhere"})
    assert operator.post(NEW, form | {"once": once}).status_code == 302


def test_a_model_with_a_key_is_chosen_at_first(operator: Client, repository: Repository, settings: Settings) -> None:
    settings.ANTHROPIC_API_KEY = "key"
    page = Page(operator.get(NEW).content)
    (chosen,) = [each for each in page.find("input", name="model") if "checked" in each.attrs]
    assert chosen.attrs["value"].startswith("claude-")


def test_models_without_a_key_are_shown_disabled_with_the_cure(
    operator: Client, repository: Repository, settings: Settings
) -> None:
    settings.ANTHROPIC_API_KEY = settings.OPENAI_API_KEY = ""
    page = Page(operator.get(NEW).content)
    choices = page.find("input", name="model")
    assert [each.attrs["value"] for each in choices if "disabled" not in each.attrs] == ["scripted"]
    note = page.one("span", id=choices[-1].attrs["aria-describedby"])
    assert "OPENAI_API_KEY" in note.words


def test_the_form_offers_the_branches_of_the_repository(operator: Client, repository: Repository, source: Path) -> None:
    page = Page(operator.get(NEW, {"repository": repository.pk}).content)
    assert [option.attrs["value"] for option in page.find("option") if _in(option, "branches")] == ["main"]


def _in(element: Any, name: str) -> bool:
    return any(parent.attrs.get("id") == name for parent in element.parents)


def test_uncommitted_files_are_said_to_stay_out(operator: Client, repository: Repository, source: Path) -> None:
    (source / "README.md").write_text("changed")
    page = Page(operator.get(NEW).content)
    assert "1 uncommitted file stays out." in page.one("div", id="repository-banners").words


def test_the_verify_commands_begin_as_those_of_the_repository(operator: Client, repository: Repository) -> None:
    Repository.objects.update(verify=["pytest -q", "ruff check ."])
    page = Page(operator.get(NEW).content)
    assert page.one("textarea", name="verify").text.split("\n")[-2:] == ["pytest -q", "ruff check ."]


def test_a_missing_sandbox_is_told_with_its_cure(
    operator: Client, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = sandbox.Report("none", reasons=["No user namespaces."], cure="Set kernel.unprivileged_userns_clone=1.")
    monkeypatch.setattr(sandbox, "probe", lambda fresh=False: report)
    words = Page(operator.get(NEW).content).one("main", id="main").words
    assert "Commands can’t run here. No user namespaces." in words
    assert "Set kernel.unprivileged_userns_clone=1." in words


def test_without_a_repository_the_form_says_what_to_do_first(operator: Client) -> None:
    page = Page(operator.get(NEW).content)
    assert "No repository yet." in page.one("div", class_="empty").words
    assert page.one("a", class_="primary").attrs["href"] == reverse("repository_add")


def test_a_repository_that_is_not_ready_is_named(operator: Client, db: None) -> None:
    Repository.objects.create(name="kernel", source="https://git.example.org/kernel.git", percent=42)
    assert "kernel: is being mirrored, 42 %" in Page(operator.get(NEW).content).one("div", class_="empty").words


def test_a_viewer_may_not_launch(client: Client, form: dict[str, Any]) -> None:
    client.force_login(person("viewer", Role.VIEWER))
    answer = client.post(NEW, form, headers={"accept": "text/html"})
    assert answer.status_code == 403
    assert "This needs the role operator" in answer.content.decode()
    assert not Task.objects.exists()


def test_the_preview_renders_markdown_and_no_markup(operator: Client) -> None:
    html = operator.post(
        reverse("task_preview"), {"text": "**b** <script>x</script> ![i](http://a/b)"}
    ).content.decode()
    assert "<strong>b</strong>" in html
    assert "&lt;script&gt;" in html
    assert "<img" not in html


def test_a_task_shows_what_was_asked_and_its_runs(operator: Client, launch: Callable[..., Run]) -> None:
    run = launch(SCRIPT)
    page = Page(operator.get(reverse("task", args=[run.task_id])).content)
    assert page.one("h1").words == "Mend add"
    assert page.one("a", href=reverse("run", args=[run.pk])).words == "Run 1"
    assert page.find("span", class_="scripted")


def test_run_again_queues_one_more_attempt(operator: Client, launch: Callable[..., Run]) -> None:
    run = launch(SCRIPT)
    answer = operator.post(reverse("task_run", args=[run.task_id]))
    second = Run.objects.get(task=run.task_id, number=2)
    assert answer["Location"] == reverse("run", args=[second.pk])


def test_the_demo_leads_to_its_run(operator: Client) -> None:
    answer = operator.post(reverse("demo"))
    run = Run.objects.get()
    assert answer["Location"] == reverse("run", args=[run.pk])
    assert run.task.repository.is_demo
    assert run.task.is_scripted


def test_a_refused_demo_is_told_on_the_board(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> None:
        raise control.Refused("DEMO_FAILED", "The disk is full.", 500)

    monkeypatch.setattr(control, "launch", lambda *_, **__: refuse())
    operator.post(reverse("demo"))
    assert "The disk is full." in Page(operator.get(reverse("board")).content).one("div", class_="notices").words


# --- rules and tests ---------------------------------------------------------------------------------


def test_rules_are_kept_in_their_order_and_shown(operator: Client, form: dict[str, Any]) -> None:
    rules = ["deny effect:WRITE path:docs/legal/**", "allow command:docker build *", "deny tool:edit_notebook"]
    operator.post(NEW, form | {"rules": "\n\n".join(rules), "may_change_tests": "on"})
    task = Task.objects.get()
    assert task.rules().rules == rules
    assert task.rules().may_change_tests
    words = Page(operator.get(reverse("task", args=[task.pk])).content).one("dl", class_="pairs").words
    assert "Ordered rules" + "".join(rules) in words
    assert "Existing testsMay be changed" in words


def test_a_rule_that_can_not_be_read_names_its_line(operator: Client, form: dict[str, Any]) -> None:
    more = {"rules": "deny path:x\n\n  \ndeny nothing\nallow host:x", "protected": "\ndocs/**\n../up", "hidden": "["}
    page = Page(operator.post(NEW, form | more).content)
    said = page.one("div", id="id_rules_error").words
    assert "Line 4: `deny nothing`" in said
    assert "Line 5: `allow host:x`" in said
    assert "Line 3: `../up`" in page.one("div", id="id_protected_error").words
    assert page.one("textarea", name="rules").text.strip() == more["rules"]
    assert not Task.objects.exists()


@pytest.mark.parametrize("rules", ["deny path:x\n" * 201, "deny path:" + "x" * 500, "deny path:\u202ex"])
def test_odd_rules_are_refused_beside_their_field(operator: Client, form: dict[str, Any], rules: str) -> None:
    page = Page(operator.post(NEW, form | {"rules": rules}).content)
    assert page.one("div", id="id_rules_error").words


def box(page: Page) -> bool:
    return "checked" in page.one("input", name="may_change_tests").attrs


def test_the_box_is_remembered_for_each_repository(
    operator: Client, form: dict[str, Any], repository: Repository
) -> None:
    other = Repository.objects.create(name="other", source="/srv/other", status="ready", default_branch="main")
    assert not box(Page(operator.get(NEW).content))
    operator.post(NEW, form | {"may_change_tests": "on"})
    assert box(Page(operator.get(f"{NEW}?repository={repository.pk}").content))
    assert not box(Page(operator.get(f"{NEW}?repository={other.pk}").content))
    operator.post(NEW, form)
    assert not box(Page(operator.get(NEW).content))
    assert [task.rules().may_change_tests for task in Task.objects.order_by("pk")] == [True, False]


def test_a_form_with_errors_keeps_what_was_clicked_and_remembers_nothing(
    operator: Client, form: dict[str, Any], repository: Repository
) -> None:
    assert box(Page(operator.post(NEW, form | {"title": "", "may_change_tests": "on"}).content))
    repository.refresh_from_db()
    assert not repository.may_change_tests
    Repository.objects.update(may_change_tests=True)
    assert not box(Page(operator.post(NEW, form | {"title": ""}).content))


def test_the_form_says_how_the_policy_file_of_the_repository_stands(
    operator: Client, repository: Repository, source: Path
) -> None:
    def said() -> str:
        return Page(operator.get(NEW).content).one("p", id="policy-note").words

    assert "calc has no policy file" in said()
    (source / ".sakura").mkdir()
    for text, expected in (("verify = []\n", "its rules come after yours"), ("verify = 1\n", "no task starts from")):
        (source / ".sakura" / "policy.toml").write_text(text)
        git(source, "add", "--all")
        git(source, "commit", "--quiet", "-m", "A policy")
        sources.refresh(repository)
        assert expected in said()
