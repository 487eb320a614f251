"""Settings: the sandbox, models, tokens, one's password, and the team."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from agents.models import ApiToken, Role, roles_of
from tests.agents.views.pages import Page
from workspaces import sandbox

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client: Client, owner: User) -> Client:
    client.force_login(owner)
    return client


def fresh(user: User) -> User:
    return User.objects.get(pk=user.pk)


def save(client: Client, **fields: object) -> Page:
    return Page(client.post(reverse("user_save"), fields, follow=True).content)


def test_the_probe_tells_level_reasons_and_cure(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    report = sandbox.Report("none", reasons=["bwrap: no permission."], cure="Load the AppArmor profile.")
    monkeypatch.setattr(sandbox, "probe", lambda fresh=False: report)
    words = Page(admin.get(reverse("settings")).content).one("section", id="sandbox").words
    assert all(part in words for part in ("None", "bwrap: no permission.", "Load the AppArmor profile."))


def test_a_sandbox_that_is_off_is_a_red_banner_on_every_page(admin: Client, settings: Settings) -> None:
    settings.SAKURA_SANDBOX = "off"
    for name in ("board", "repositories", "settings"):
        banner = Page(admin.get(reverse(name)).content).one("div", class_="bad", role="alert")
        assert "The sandbox is off." in banner.words


def test_models_are_listed_with_what_they_lack(admin: Client, settings: Settings) -> None:
    settings.ANTHROPIC_API_KEY, settings.OPENAI_API_KEY = "key", ""
    words = Page(admin.get(reverse("settings")).content).one("main", id="main").words
    assert "No gpt-6-sol needs a key: set OPENAI_API_KEY" in words
    assert "claude-opus-5-5 Yes" in words


def test_a_token_is_shown_once_and_works(admin: Client, owner: User) -> None:
    fields = {"name": "ci", "roles": ["viewer", "operator"], "days": "30"}
    page = Page(admin.post(reverse("token_make"), fields).content)
    secret = page.one("code", class_="secret").words
    assert secret not in admin.get(reverse("settings")).content.decode()
    user = ApiToken.user_of(secret)
    assert user == owner
    assert roles_of(user) == {Role.VIEWER, Role.OPERATOR}


def test_a_token_gives_no_role_that_its_user_lacks(client: Client, teammate: User) -> None:
    client.force_login(teammate)
    page = Page(client.post(reverse("token_make"), {"name": "ci", "roles": ["admin"], "days": "30"}).content)
    assert "admin" in page.one("div", id="token_roles_error").words
    assert not ApiToken.objects.exists()


def test_only_ones_own_token_can_be_deleted(client: Client, teammate: User, owner: User) -> None:
    theirs, _ = ApiToken.make(owner, "theirs")
    mine, _ = ApiToken.make(teammate, "mine")
    client.force_login(teammate)
    assert client.post(reverse("token_delete", args=[theirs.pk])).status_code == 404
    assert client.post(reverse("token_delete", args=[mine.pk])).status_code == 302
    assert list(ApiToken.objects.all()) == [theirs]


def test_a_new_password_holds_and_keeps_this_session(admin: Client, owner: User) -> None:
    admin.post(reverse("password_set"), {"password": "a-new-and-long-password"})
    assert fresh(owner).check_password("a-new-and-long-password")
    assert admin.get(reverse("settings")).status_code == 200


def test_a_weak_password_is_refused_with_the_reason(admin: Client, owner: User) -> None:
    page = Page(admin.post(reverse("password_set"), {"password": "short"}).content)
    assert "too short" in page.one("div", id="password_password_error").words
    assert fresh(owner).check_password("owner-has-a-long-password")


def test_an_admin_adds_a_person_who_gets_in_by_a_link(admin: Client) -> None:
    page = save(admin, do="add", username="newcomer", roles=["viewer", "reviewer"])
    link = page.one("code", class_="secret").words
    newcomer = User.objects.get(username="newcomer")
    assert roles_of(newcomer) == {Role.VIEWER, Role.REVIEWER}
    visitor = Client()
    assert visitor.post(re.sub("^https?://[^/]+", "", link))["Location"] == reverse("board")
    assert visitor.get(reverse("board")).status_code == 200


def test_a_name_that_is_taken_says_so(admin: Client, teammate: User) -> None:
    page = save(admin, do="add", username="TEAMMATE", roles=["viewer"])
    assert "There is a user “TEAMMATE” already." in page.one("div", id="user_username_error").words


def test_roles_are_set(admin: Client, teammate: User) -> None:
    save(admin, do="roles", user=teammate.pk, roles=["viewer", "no such role"])
    assert roles_of(fresh(teammate)) == {Role.VIEWER}


def test_the_last_word_on_ones_own_admin_role_is_another_admins(admin: Client, owner: User) -> None:
    page = save(admin, do="roles", user=owner.pk, roles=["viewer"])
    assert "can’t take the role admin from yourself" in page.one("div", class_="notices").words
    assert Role.ADMIN in roles_of(fresh(owner))


def test_somebody_shut_out_loses_session_and_token(admin: Client, teammate: User) -> None:
    other = Client()
    other.force_login(teammate)
    _, secret = ApiToken.make(teammate, "ci")
    save(admin, do="shut_out", user=teammate.pk)
    assert other.get(reverse("board")).status_code == 302
    assert ApiToken.user_of(secret) is None
    save(admin, do="let_in", user=teammate.pk)
    assert fresh(teammate).is_active


def test_nobody_shuts_themselves_out(admin: Client, owner: User) -> None:
    save(admin, do="shut_out", user=owner.pk)
    assert fresh(owner).is_active


@pytest.mark.parametrize(
    "fields", [{}, {"do": "dance"}, {"do": "roles", "user": "x"}, {"do": "link", "user": "9" * 30}]
)
def test_a_senseless_post_changes_nothing(admin: Client, fields: dict[str, str]) -> None:
    answer = admin.post(reverse("user_save"), fields)
    assert answer.status_code in (302, 404)


def test_only_an_admin_sees_and_changes_the_team(client: Client, teammate: User, owner: User) -> None:
    client.force_login(teammate)
    assert not Page(client.get(reverse("settings")).content).find("section", id="people")
    answer = client.post(reverse("user_save"), {"do": "roles", "user": owner.pk}, headers={"accept": "text/html"})
    assert answer.status_code == 403
    assert Role.ADMIN in roles_of(fresh(owner))
