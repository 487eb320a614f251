"""Logging in: password, one-time link, throttle, where one goes afterwards."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agents.models import LoginAttempts, LoginLink
from tests.agents.views.pages import Page

pytestmark = pytest.mark.django_db
PASSWORD = "owner-has-a-long-password"


def attempt(client: Client, password: str, name: str = "owner", **more: str) -> int:
    answer = client.post(reverse("login"), {"username": name, "password": password, **more})
    return answer.status_code


def is_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def test_every_page_asks_for_a_login_first(client: Client) -> None:
    answer = client.get(reverse("settings"))
    assert answer.status_code == 302
    assert answer["Location"] == f"{reverse('login')}?next={reverse('settings')}"


def test_the_right_password_lets_in_and_goes_on_to_the_wanted_page(client: Client, owner: User) -> None:
    answer = client.post(reverse("login"), {"username": "owner", "password": PASSWORD, "next": reverse("repositories")})
    assert answer["Location"] == reverse("repositories")
    assert is_in(client)


@pytest.mark.parametrize(
    "wanted", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "/\\evil.example"]
)
def test_a_wanted_page_elsewhere_is_not_gone_to(client: Client, owner: User, wanted: str) -> None:
    answer = client.post(reverse("login"), {"username": "owner", "password": PASSWORD, "next": wanted})
    assert answer["Location"] == reverse("board")


def test_a_wrong_password_says_so_and_keeps_the_name(client: Client, owner: User) -> None:
    answer = client.post(reverse("login"), {"username": "owner", "password": "wrong"})
    page = Page(answer.content)
    assert "No active account" in page.one("div", role="alert").words
    assert page.one("input", name="username").attrs["value"] == "owner"
    assert "value" not in page.one("input", name="password").attrs


def test_ten_wrong_passwords_lock_the_name_for_the_address(client: Client, owner: User) -> None:
    for _ in range(10):
        attempt(client, "wrong")
    answer = client.post(reverse("login"), {"username": "Owner", "password": PASSWORD})
    assert "Too many attempts" in Page(answer.content).one("div", role="alert").words
    assert not is_in(client)


def test_the_lock_holds_for_one_address_only(client: Client, owner: User) -> None:
    for _ in range(10):
        attempt(client, "wrong")
    elsewhere = Client(REMOTE_ADDR="192.0.2.7")
    assert attempt(elsewhere, PASSWORD) == 302


def test_the_lock_ends_after_ten_minutes(client: Client, owner: User) -> None:
    for _ in range(10):
        attempt(client, "wrong")
    LoginAttempts.objects.update(last_at=timezone.now() - timedelta(minutes=10, seconds=1))
    assert attempt(client, PASSWORD) == 302


def test_a_right_password_forgets_the_wrong_ones(client: Client, owner: User) -> None:
    for _ in range(9):
        attempt(client, "wrong")
    assert attempt(client, PASSWORD) == 302
    assert not LoginAttempts.objects.exists()


def test_the_rows_of_attempts_are_bounded(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LoginAttempts, "ROWS", 3)
    for number in range(6):
        LoginAttempts.may_try(f"name {number}", "192.0.2.1")
    assert LoginAttempts.objects.count() <= 4


def test_looking_at_a_login_link_does_not_spend_it(client: Client, owner: User) -> None:
    link = reverse("login_link", args=[LoginLink.make(owner)])
    for _ in range(3):
        page = Page(client.get(link).content)
    assert page.one("button", class_="primary").words == "Log in as owner"
    assert not is_in(client)
    assert client.post(link)["Location"] == reverse("board")
    assert is_in(client)


def test_a_login_link_works_once(client: Client, owner: User) -> None:
    link = reverse("login_link", args=[LoginLink.make(owner)])
    client.post(link)
    second = Client()
    answer = second.post(link)
    assert answer.status_code == 404
    assert "manage.py loginlink" in answer.content.decode()
    assert not is_in(second)


def test_the_login_page_names_the_command_that_makes_a_link(client: Client) -> None:
    assert "manage.py loginlink USER" in Page(client.get(reverse("login")).content).one("main", id="main").words


def test_logging_out_ends_the_session(client: Client, owner: User) -> None:
    client.force_login(owner)
    assert client.post(reverse("logout"))["Location"] == reverse("login")
    assert not is_in(client)


def test_logging_out_by_get_is_refused(client: Client, owner: User) -> None:
    client.force_login(owner)
    assert client.get(reverse("logout")).status_code == 405
    assert is_in(client)


def test_somebody_without_a_role_is_told_whom_to_ask(client: Client, stranger: User) -> None:
    client.force_login(stranger)
    answer = client.get(reverse("board"))
    assert answer.status_code == 403
    assert "Ask an administrator" in answer.content.decode()


def test_who_comes_by_a_name_that_is_not_known_is_told_the_setting(client: Client) -> None:
    answer = client.get(reverse("login"), headers={"host": "sakura.lan:8000"})
    assert answer.status_code == 400
    assert "SAKURA_BASE_URL" in answer.content.decode()
