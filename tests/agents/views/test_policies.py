"""The policy page of a repository: how the file stands, checking, trying and proposing an edited one."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from agents import policy_file, secrets
from agents.models import Role
from agents.policies import FILE_BYTES, PolicyFault
from tests.agents.views.pages import Page
from tests.conftest import git, mirrored, person
from workspaces import sources
from workspaces.models import Repository

pytestmark = pytest.mark.django_db
PATH = ".sakura/policy.toml"


@pytest.fixture
def operator(client: Client, teammate: User) -> Client:
    client.force_login(teammate)
    return client


@pytest.fixture
def viewer(client: Client) -> Client:
    client.force_login(person("watcher", Role.VIEWER))
    return client


def address(row: Repository) -> str:
    return reverse("repository_policy", args=[row.pk])


def with_file(source: Path, repository: Repository, text: str | bytes) -> Repository:
    """Commit a policy file and mirror it."""
    (source / ".sakura").mkdir(exist_ok=True)
    (source / PATH).write_bytes(text if isinstance(text, bytes) else text.encode())
    return committed(source, repository)


def committed(source: Path, repository: Repository) -> Repository:
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "More")
    assert sources.refresh(repository)
    return repository


def send(client: Client, row: Repository, do: str, **fields: Any) -> Any:
    """Send the form as the page gave it, with what a person changed."""
    page = Page(client.get(address(row)).content)
    seen = page.one("input", name="seen").attrs["value"]
    return client.post(address(row), {"do": do, "seen": seen, "text": "", "tries": ""} | fields)


def kept(page: Page) -> str:
    return page.one("textarea", name="text").text.replace("\r\n", "\n").removeprefix("\n")


def errors(page: Page, field: str = "text") -> str:
    return page.one("div", id=f"id_{field}_error").words


# --- how it stands -----------------------------------------------------------------------------------


def test_a_repository_without_a_file_offers_an_example_that_says_nothing(
    operator: Client, repository: Repository
) -> None:
    page = Page(operator.get(address(repository)).content)
    assert "No file" in page.one("div", class_="headline").words
    assert kept(page) == policy_file.EXAMPLE
    assert not policy_file.check(policy_file.EXAMPLE).model_dump(exclude_defaults=True)


def test_the_example_is_right_once_its_lines_are_taken_in() -> None:
    lines = [
        line.removeprefix("# ") for line in policy_file.EXAMPLE.split("\n") if re.match(r"# (\w+ = |\]|  \")", line)
    ]
    known = policy_file.check("\n".join(lines))
    assert known.verify == ["pytest -q"]
    assert len(known.rules) == len(known.protected) == 2


def test_the_file_of_the_default_branch_is_in_the_form(operator: Client, repository: Repository, source: Path) -> None:
    with_file(source, repository, '# </textarea> Häuser & "co"\nprotected = ["docs/**"]\n')
    page = Page(operator.get(address(repository)).content)
    assert kept(page) == '# </textarea> Häuser & "co"\nprotected = ["docs/**"]\n'
    assert "Valid" in page.one("div", class_="headline").words


def test_a_viewer_reads_the_file_and_changes_nothing(viewer: Client, repository: Repository, source: Path) -> None:
    with_file(source, repository, "verify = []\n# \u202e<script>\n")
    page = Page(viewer.get(address(repository)).content)
    assert "verify = [] # U+202E<script>" in page.one("pre", class_="whole").words
    assert not page.find("textarea")
    assert viewer.post(address(repository), {"do": "propose", "text": "verify = []"}).status_code == 403
    assert git(source, "branch", "--list", "sakura/*") == ""


def test_a_broken_file_says_where_and_stays_to_be_mended(
    operator: Client, repository: Repository, source: Path
) -> None:
    with_file(source, repository, 'verify = ["x"]\nprotected = ["docs/**"\nrules = 1\n')
    page = Page(operator.get(address(repository)).content)
    assert "Line 3, column 1" in page.one("div", class_="bad").words
    assert kept(page).startswith('verify = ["x"]\nprotected')
    section = Page(operator.get(reverse("repository", args=[repository.pk])).content).one("section", id="policy")
    assert "Broken" in section.words
    assert "Line 3, column 1" in section.words


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"verify = []\n\xff\xfe\n", "not UTF-8"),
        (b"# " + b"x" * FILE_BYTES, "more than 65,536 bytes"),
        (b'verify = ["a\x00b"]\n', "Line 1"),
        (b"a = " + b"[" * 30_000, "nested too deep"),
        (b"verify = []\nverify = []\n", "Line 2"),
    ],
)
def test_what_can_not_be_read_of_a_file_is_told(
    operator: Client, repository: Repository, source: Path, data: bytes, expected: str
) -> None:
    with_file(source, repository, data)
    answer = operator.get(address(repository))
    assert answer.status_code == 200
    assert expected in Page(answer.content).one("ul", class_="faults").words


@pytest.mark.parametrize("kind", ["a link", "a folder", "a link above"])
def test_a_link_or_a_folder_in_its_place_is_told_and_not_followed(
    operator: Client, repository: Repository, source: Path, kind: str
) -> None:
    (source / "elsewhere").mkdir()
    (source / "elsewhere" / "policy.toml").write_text('verify = ["from elsewhere"]\n')
    if kind == "a link above":
        (source / ".sakura").symlink_to("elsewhere")
    elif kind == "a link":
        (source / ".sakura").mkdir()
        (source / PATH).symlink_to("../elsewhere/policy.toml")
    else:
        (source / PATH).mkdir(parents=True)
        (source / PATH / "x").write_text("x")
    committed(source, repository)
    answer = operator.get(address(repository))
    page = Page(answer.content)
    said = page.one("ul", class_="faults").words
    assert {"a link": "no plain file", "a folder": "is a folder", "a link above": "no link is followed"}[kind] in said
    assert b"from elsewhere" not in answer.content
    sent = send(operator, repository, "propose", text="verify = []\n")
    assert (sent.status_code == 302) == (kind == "a link")


@pytest.mark.parametrize(
    ("status", "expected"),
    [("mirroring", "being mirrored"), ("failed", "could not be made")],
)
def test_a_repository_that_is_not_ready_says_so_and_keeps_the_text(
    operator: Client, repository: Repository, status: str, expected: str
) -> None:
    Repository.objects.filter(pk=repository.pk).update(status=status)
    assert expected in Page(operator.get(address(repository)).content).one("div", class_="warn").words
    page = Page(send(operator, repository, "propose", text='verify = ["x"]\n').content)
    assert "is not ready" in page.one("div", class_="bad").words
    assert kept(page) == 'verify = ["x"]\n'


def test_an_empty_repository_has_a_page(operator: Client, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "empty")
    row = Repository.objects.create(name="empty", source=str(tmp_path / "empty"))
    sources.mirror(row.pk)
    assert "could not be made" in Page(operator.get(address(row)).content).one("div", class_="warn").words


def test_a_damaged_mirror_is_told_and_no_error(operator: Client, repository: Repository) -> None:
    (repository.mirror / "HEAD").unlink()
    assert "can’t be read now" in Page(operator.get(address(repository)).content).one("div", class_="warn").words
    assert operator.get(reverse("repository", args=[repository.pk])).status_code == 200


def test_the_page_of_the_repository_leads_there(viewer: Client, repository: Repository) -> None:
    page = Page(viewer.get(reverse("repository", args=[repository.pk])).content)
    assert "No file" in page.one("section", id="policy").words
    assert page.find("a", href=address(repository))


def test_the_tests_that_are_kept_are_counted_and_named(operator: Client, repository: Repository, source: Path) -> None:
    for number in range(60):
        (source / "tests" / f"test_{number}.py").write_text("x")
    (source / "checks").mkdir()
    (source / "checks" / "own.py").write_text("x")
    committed(source, repository)
    card = Page(operator.get(address(repository)).content).one("section", class_="kept")
    assert "61 files" in card.words
    assert "The first 50" in card.words
    assert card.text.count("tests/test_") == 50
    with_file(source, repository, 'tests = ["checks/**"]\nunprotected = ["tests/test_1*.py"]\n')
    assert "51 files" in Page(operator.get(address(repository)).content).one("section", class_="kept").words
    page = Page(send(operator, repository, "check", text="may_change_tests = true\n").content)
    assert "No file" in page.one("section", class_="kept").words


# --- checking ----------------------------------------------------------------------------------------


def test_a_text_that_can_be_read_is_said_to_hold_for_nobody_yet(operator: Client, repository: Repository) -> None:
    page = Page(send(operator, repository, "check", text='protected = ["docs/**"]\r\n').content)
    assert "This text can be read" in page.one("div", class_="ok").words
    assert kept(page) == 'protected = ["docs/**"]\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('verify = ["x"]\nprotected = 1 2', "Line 2, column 15"),
        ('verify = ["x"]\nprotected = [', "At the end of the file"),
        ("foo = 1", "`foo`: there is no such key"),
        ('rules = ["deny path:x", "deny nothing"]', "`rules[1]`: `deny nothing`"),
        ('protected = ["../x"]', "`protected[0]`"),
        ("verify = []\nverify = []\n", "Line 2"),
        ("a = " + "[" * 20_000, "nested too deep"),
        ("a\x00b = 1", "Line 1"),
        ("# " + "x" * FILE_BYTES, "at most 65,536 are taken"),
    ],
)
def test_what_is_wrong_stands_beside_the_field_and_nothing_is_lost(
    operator: Client, repository: Repository, text: str, expected: str
) -> None:
    tries = "write x"
    for do in ("check", "try", "propose"):
        page = Page(send(operator, repository, do, text=text, tries=tries).content)
        assert expected in errors(page), do
        assert kept(page) == text
        assert page.one("textarea", name="tries").text.strip() == tries
        assert not page.find("table")


def test_half_a_character_is_told_with_its_line() -> None:
    with pytest.raises(PolicyFault, match="Line 2: it holds half of a character"):
        policy_file.check("verify = []\n# \ud800")


def test_a_byte_order_mark_is_no_fault(operator: Client, repository: Repository, source: Path) -> None:
    with_file(source, repository, b'\xef\xbb\xbfverify = ["x"]\r\n')
    page = Page(operator.get(address(repository)).content)
    assert kept(page) == 'verify = ["x"]\n'
    assert "Valid" in page.one("div", class_="headline").words


def test_characters_that_nobody_sees_are_shown_as_marks(operator: Client, repository: Repository) -> None:
    page = Page(send(operator, repository, "check", text="# a\u202eb\n").content)
    assert any("# aU+202Eb" in box.words for box in page.find("div", class_="warn"))


# --- trying ------------------------------------------------------------------------------------------


def test_each_try_tells_decision_rule_whose_and_why(operator: Client, repository: Repository, source: Path) -> None:
    text = 'hidden = ["*.pem"]\nprotected = ["docs/**"]\nrules = ["deny command:npm publish *", "allow path:src/**"]\n'
    tries = (
        "write tests/test_calc.py\nwrite /workspace/TESTS/Test_Calc.py\nwrite tests/test_new.py\n\nread keys/a.pem\n"
        "Write docs/a.md\nread docs/a.md\nwrite src/a.py\ncommand cd x && npm publish --tag y\ncommand rm -rf build\n"
        "command sudo ls\nhost packages.example.org:443\nwrite .sakura/policy.toml\nread ../../etc/passwd\nwrite a\x07b"
    )
    page = Page(send(operator, repository, "try", text=text, tries=tries).content)
    rows = [row.words for row in page.find("tr")][1:]
    expected = [
        ("write tests/test_calc.py", "Denied", "existing tests the defaults"),
        ("write /workspace/TESTS/Test_Calc.py", "Denied", "existing tests the defaults"),
        ("write tests/test_new.py", "Allowed", "No rule the defaults It stays in the sandbox."),
        ("read keys/a.pem", "Denied", "*.pem this file"),
        ("write docs/a.md", "Denied", "docs/** this file"),
        ("read docs/a.md", "Allowed", "No rule the defaults"),
        ("write src/a.py", "Allowed", "allow path:src/** this file"),
        ("command cd x && npm publish --tag y", "Denied", "deny command:npm publish * this file"),
        ("command rm -rf build", "Allowed", "No rule the defaults"),
        ("command sudo ls", "Denied", "sudo the defaults"),
        ("host packages.example.org:443", "Denied", "No rule the defaults"),
        ("write .sakura/policy.toml", "Denied", "the defaults"),
        ("read ../../etc/passwd", "Denied", "the defaults"),
        ("write aU+0007b", "Allowed", "the defaults"),
    ]
    assert len(rows) == len(expected)
    for row, (tried, decision, rule) in zip(rows, expected, strict=True):
        assert row.startswith(tried), row
        assert f" {decision} " in row, row
        assert rule in row, row
    assert kept(page) == text
    assert git(source, "branch", "--list", "sakura/*") == ""


@pytest.mark.parametrize(
    ("tries", "expected"),
    [
        ("write a\n\nlook at b", "Line 3: begin with read, write, command or host"),
        ("read", "Line 1: say what"),
        ("", "Write what to try"),
        ("read a\n" * 51, "51 lines; at most 50 are tried"),
        ("read " + "a" * 2001, "Line 1: it has 2,001 characters"),
        ("read " + "a" * 200_000, "at most"),
        ("read " + "a/" * 101, "Line 1: it has more than 100 folders"),
    ],
)
def test_a_try_that_can_not_be_says_in_which_line(
    operator: Client, repository: Repository, tries: str, expected: str
) -> None:
    page = Page(send(operator, repository, "try", tries=tries).content)
    assert expected in errors(page, "tries")
    assert not page.find("table")


def test_what_stands_in_the_way_of_a_test_is_tried_as_the_test(repository: Repository) -> None:
    commit = sources.resolve(repository, "")
    wanted = [policy_file.read_try(f"write tests/test_calc.py/{end}") for end in ("x", "../y/../../tests/test_calc.py")]
    found = policy_file.tried(repository, commit, policy_file.check(""), wanted)
    assert [each.decision.rule for each in found] == ["existing tests"] * 2


def test_tries_that_take_too_long_are_left_out_and_counted(
    operator: Client, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_file, "TRIED_S", 0.0)
    page = Page(send(operator, repository, "try", tries="read a\nread b\nread c").content)
    assert not page.find("tbody")
    assert "3 further lines were not tried" in page.one("section", id="tried").words


# --- proposing ---------------------------------------------------------------------------------------


def test_a_proposal_is_pushed_and_the_page_tells_branch_commit_and_commands(
    operator: Client, repository: Repository, source: Path, teammate: User
) -> None:
    head = git(source, "rev-parse", "main")
    answer = send(operator, repository, "propose", text='protected = ["docs/**"]', tries="nonsense")
    assert answer["Location"] == f"{address(repository)}?proposed=1"
    commit = git(source, "rev-parse", "sakura/policy-1")
    assert git(source, "show", f"{commit}:{PATH}") == 'protected = ["docs/**"]'
    assert git(source, "log", "-1", "--format=%P %an %ae", commit) == f"{head} teammate teammate@sakura.invalid"
    assert "Proposed on Sakura by teammate." in git(source, "log", "-1", "--format=%B", commit)
    card = Page(operator.get(answer["Location"]).content).one("section", class_="proposal").words
    assert "sakura/policy-1" in card
    assert commit[:10] in card
    assert f"git -C {source.resolve()} merge sakura/policy-1" in card
    assert git(source, "rev-parse", "main") == head


def test_line_ends_of_the_file_are_kept(operator: Client, repository: Repository, source: Path) -> None:
    with_file(source, repository, b'verify = ["x"]\r\n')
    send(operator, repository, "propose", text='verify = ["x"]\r\nprotected = ["docs/**"]')
    git(source, "checkout", "--quiet", "sakura/policy-1")
    assert (source / PATH).read_bytes() == b'verify = ["x"]\r\nprotected = ["docs/**"]\r\n'


def test_it_goes_on_top_of_what_the_source_has_now(operator: Client, repository: Repository, source: Path) -> None:
    (source / "new.py").write_text("x")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "Meanwhile")
    send(operator, repository, "propose", text="verify = []\n")
    assert git(source, "rev-parse", "sakura/policy-1^") == git(source, "rev-parse", "main")


def test_who_changed_the_file_meanwhile_is_not_overruled_unseen(
    operator: Client, repository: Repository, source: Path
) -> None:
    old = Page(operator.get(address(repository)).content).one("input", name="seen").attrs["value"]
    (source / ".sakura").mkdir()
    (source / PATH).write_text('hidden = ["theirs"]\n')
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "Theirs")
    wish = {"do": "propose", "seen": old, "text": 'hidden = ["mine"]\n', "tries": ""}
    page = Page(operator.post(address(repository), wish).content)
    assert "The file changed at the source" in page.one("div", class_="bad").words
    assert 'hidden = ["theirs"]' in page.one("pre", class_="term").words
    assert kept(page) == 'hidden = ["mine"]\n'
    assert git(source, "branch", "--list", "sakura/*") == ""
    again = wish | {"seen": page.one("input", name="seen").attrs["value"]}
    assert operator.post(address(repository), again).status_code == 302


@pytest.mark.parametrize("text", ['verify = ["x"]\n', 'verify = ["x"]', 'verify = ["x"]\r\n'])
def test_an_unchanged_text_is_not_proposed(operator: Client, repository: Repository, source: Path, text: str) -> None:
    with_file(source, repository, 'verify = ["x"]\n')
    page = Page(send(operator, repository, "propose", text=text).content)
    assert "change it first" in page.one("div", class_="bad").words
    assert git(source, "branch", "--list", "sakura/*") == ""


def test_the_example_as_it_stands_is_not_proposed(operator: Client, repository: Repository, source: Path) -> None:
    page = Page(send(operator, repository, "propose", text=policy_file.EXAMPLE).content)
    assert "take out a # first" in page.one("div", class_="bad").words
    assert git(source, "branch", "--list", "sakura/*") == ""


def test_a_secret_of_the_repository_is_never_pushed(
    operator: Client, repository: Repository, source: Path, teammate: User
) -> None:
    secrets.put(repository, teammate, "NPM_TOKEN", "tok-0123456789abcdef")
    page = Page(send(operator, repository, "propose", text='verify = ["x tok-0123456789abcdef"]\n').content)
    assert "A secret of “calc” stands in the text: NPM_TOKEN" in page.one("div", class_="bad").words
    assert git(source, "branch", "--list", "sakura/*") == ""


def test_a_source_that_is_gone_or_refuses_says_so_and_keeps_the_text(
    operator: Client, repository: Repository, source: Path
) -> None:
    git(source, "config", "receive.hideRefs", "refs/heads/sakura")
    page = Page(send(operator, repository, "propose", text="verify = []\n").content)
    assert "refused the branch sakura/policy-1" in page.one("div", class_="bad").words
    source.rename(source.with_name("moved"))
    page = Page(send(operator, repository, "propose", text="verify = []\n").content)
    assert "did not answer" in page.one("div", class_="bad").words
    assert kept(page) == "verify = []\n"


def test_a_detached_head_is_shown_and_built_on(operator: Client, source: Path, db: None) -> None:
    git(source, "checkout", "--quiet", "--detach")
    row = mirrored(source)
    assert send(operator, row, "propose", text="verify = []\n").status_code == 302
    assert git(source, "rev-parse", "sakura/policy-1^") == git(source, "rev-parse", "HEAD")


@pytest.mark.parametrize("number", ["2", "x", "-1", "9" * 30, "1/../2", "１"])
def test_a_proposal_that_was_never_made_is_not_shown(operator: Client, repository: Repository, number: str) -> None:
    send(operator, repository, "propose", text="verify = []\n")
    assert Page(operator.get(address(repository), {"proposed": "1"}).content).find("section", class_="proposal")
    assert not Page(operator.get(address(repository), {"proposed": number}).content).find("section", class_="proposal")


def test_a_proposal_needs_the_token_of_the_form(repository: Repository, teammate: User, source: Path) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(teammate)
    answer = strict.post(address(repository), {"do": "propose", "text": "verify = []\n"})
    assert answer.status_code == 403
    assert git(source, "branch", "--list", "sakura/*") == ""
