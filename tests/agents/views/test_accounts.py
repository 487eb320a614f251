"""Logging in: password, one-time link, throttle, where one goes afterwards."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from axes.models import AccessAttempt, AccessLog
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection
from django.db.models import Model
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from agents import expiry, throttle
from agents.models import ApiToken, IdempotencyKey, LoginLink
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


def lock(client: Client) -> None:
    for _ in range(10):
        attempt(client, "wrong")


def test_ten_wrong_passwords_lock_the_name_for_the_address(client: Client, owner: User) -> None:
    statuses = [attempt(client, "wrong") for _ in range(10)]
    assert statuses == [200] * 9 + [429]
    answer = client.post(reverse("login"), {"username": "Owner", "password": PASSWORD})
    assert answer.status_code == 429
    assert 0 < int(answer["Retry-After"]) <= 600
    assert "no-store" in answer["Cache-Control"]
    alert = Page(answer.content).one("div", role="alert")
    assert "Too many attempts" in alert.words
    assert "opens again in 10 minutes" in alert.words
    assert not is_in(client)


def test_the_tenth_attempt_may_still_be_the_right_one(client: Client, owner: User) -> None:
    for _ in range(9):
        attempt(client, "wrong")
    assert attempt(client, PASSWORD) == 302
    assert is_in(client)
    assert not AccessAttempt.objects.exists()


def test_a_lock_is_not_lengthened_by_further_attempts(client: Client, owner: User) -> None:
    lock(client)
    before = list(AccessAttempt.objects.values())
    assert attempt(client, "wrong") == 429
    assert list(AccessAttempt.objects.values()) == before


def test_the_lock_holds_for_one_address_only(client: Client, owner: User) -> None:
    lock(client)
    assert attempt(Client(REMOTE_ADDR="192.0.2.7"), PASSWORD) == 302


def test_another_browser_is_no_way_around_the_lock(client: Client, owner: User) -> None:
    for number in range(10):
        attempt(Client(headers={"user-agent": f"Browser {number}"}), "wrong")
    assert attempt(client, PASSWORD) == 429


def test_a_header_is_no_way_around_the_lock(client: Client, owner: User) -> None:
    for number in range(10):
        attempt(Client(headers={"x-forwarded-for": f"192.0.2.{number}"}), "wrong")
    assert attempt(Client(headers={"x-forwarded-for": "192.0.2.99", "forwarded": "for=192.0.2.98"}), PASSWORD) == 429


@pytest.mark.parametrize(
    ("peer", "forwarded", "is_https", "expected"),
    [
        ("192.0.2.7", "", False, "192.0.2.7"),
        ("192.0.2.7", "198.51.100.1", False, "192.0.2.7"),
        ("127.0.0.1", "198.51.100.1", True, "198.51.100.1"),
        ("127.0.0.1", "203.0.113.9, 198.51.100.1", True, "198.51.100.1"),
        ("127.0.0.1", "198.51.100.1, nonsense", True, throttle.UNKNOWN),
        ("2001:db8:1:2:3::4", "", False, "2001:db8:1:2::"),
        ("::ffff:192.0.2.7", "", False, "192.0.2.7"),
        ("", "", False, throttle.UNKNOWN),
    ],
)
def test_an_attempt_counts_for_the_address_that_the_proxy_or_the_socket_tells(
    settings: Settings, peer: str, forwarded: str, is_https: bool, expected: str
) -> None:
    settings.HTTPS = is_https
    headers = {"x-forwarded-for": forwarded} if forwarded else {}
    assert throttle.address(RequestFactory().get("/", REMOTE_ADDR=peer, headers=headers)) == expected


def test_the_lock_ends_after_ten_minutes(client: Client, owner: User) -> None:
    lock(client)
    AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(minutes=10, seconds=1))
    assert attempt(client, PASSWORD) == 302


def test_a_right_password_forgets_the_wrong_ones(client: Client, owner: User) -> None:
    for _ in range(9):
        attempt(client, "wrong")
    assert attempt(client, PASSWORD) == 302
    assert not AccessAttempt.objects.exists()


def test_a_link_lets_in_who_is_locked(client: Client, owner: User) -> None:
    lock(client)
    assert client.post(reverse("login_link", args=[LoginLink.make(owner)]))["Location"] == reverse("board")
    assert is_in(client)


def test_what_is_kept_of_attempts_is_bounded_and_holds_no_secret(
    client: Client, owner: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(throttle, "ROWS", 3)
    for number in range(6):
        attempt(client, "a-secret-password", name=f"typed-by-mistake-{number}", next="/?secret")
    rows = list(AccessAttempt.objects.values())
    assert len(rows) == 3
    for told in (str(rows), caplog.text):
        assert not any(word in told for word in ("a-secret-password", "typed-by-mistake", "/?secret"))
    assert not AccessLog.objects.exists()


def test_an_account_that_is_not_there_is_answered_like_one_that_is(client: Client, owner: User) -> None:
    def answers(name: str) -> list[tuple[int, str]]:
        posts = [client.post(reverse("login"), {"username": name, "password": "wrong"}) for _ in range(11)]
        said = [Page(post.content).one("div", role="alert").words.partition(",")[0] for post in posts]
        return [(post.status_code, words) for post, words in zip(posts, said, strict=True)]

    User.objects.create_user("shut-out", password=PASSWORD, is_active=False)
    assert answers("owner") == answers("nobody") == answers("shut-out")


@pytest.mark.parametrize("name", ["owner", "nobody", "no-password", "shut-out"])
def test_each_wrong_password_costs_one_hash_whoever_it_is_for(
    client: Client, owner: User, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    User.objects.create_user("no-password")
    User.objects.create_user("shut-out", password=PASSWORD, is_active=False)
    hashed: list[str] = []
    encode = MD5PasswordHasher.encode

    def count(self: MD5PasswordHasher, word: str, salt: str) -> str:
        hashed.append(word)
        return encode(self, word, salt)

    monkeypatch.setattr(MD5PasswordHasher, "encode", count)
    assert attempt(client, "wrong", name) == 200
    assert len(hashed) == 1


@pytest.mark.django_db(transaction=True)
def test_forty_attempts_at_once_look_at_ten_passwords(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    start = threading.Barrier(40)

    def look(self: ModelBackend, request: HttpRequest, username: str, password: str, **more: object) -> None:
        looked.append(password)

    def guess(number: int) -> int:
        try:
            start.wait(30)
            return attempt(Client(headers={"user-agent": f"Browser {number % 3}"}), f"guess {number}")
        finally:
            connection.close()

    monkeypatch.setattr(ModelBackend, "authenticate", look)
    with ThreadPoolExecutor(40) as pool:
        statuses = list(pool.map(guess, range(40)))
    assert len(looked) == 10
    assert statuses.count(429) >= 30


# --- links -----------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_login_link_works_once_even_for_two_at_the_same_moment(owner: User) -> None:
    start = threading.Barrier(2)

    def use(link: str) -> int:
        try:
            start.wait(30)
            return int(Client().post(link).status_code)
        finally:
            connection.close()

    for _ in range(5):
        link = reverse("login_link", args=[LoginLink.make(owner)])
        with ThreadPoolExecutor(2) as pool:
            assert sorted(pool.map(use, [link, link])) == [302, 404]


@pytest.mark.parametrize("change", [{"expires_at": timezone.now()}, {"used_at": timezone.now()}])
def test_a_link_that_is_too_old_or_spent_says_nothing_of_whose_it_was(
    client: Client, owner: User, change: dict[str, object]
) -> None:
    link = reverse("login_link", args=[LoginLink.make(owner)])
    LoginLink.objects.update(**change)
    for answer in (client.get(link), client.post(link)):
        assert answer.status_code == 404
        assert "owner" not in Page(answer.content).one("main", id="main").words
    assert client.get("/login/never-made/").content.count(b"owner") == client.get(link).content.count(b"owner")
    assert not is_in(client)


def test_the_page_of_a_link_is_neither_kept_nor_told_to_others(client: Client, owner: User) -> None:
    answer = client.get(reverse("login_link", args=[LoginLink.make(owner)]))
    assert "no-store" in answer["Cache-Control"]
    assert answer["Referrer-Policy"] == "strict-origin"
    assert [meta.attrs["content"] for meta in Page(answer.content).find("meta", name="referrer")][-1] == "strict-origin"


def test_a_prefetch_does_not_spend_a_link(client: Client, owner: User) -> None:
    link = reverse("login_link", args=[LoginLink.make(owner)])
    for ask in (client.get, client.head):
        assert ask(link, headers={"sec-purpose": "prefetch", "purpose": "prefetch"}).status_code == 200
    assert not is_in(client)
    assert LoginLink.objects.filter(used_at=None).count() == 1


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


@pytest.mark.parametrize("way", ["password", "link"])
def test_a_session_ends_at_a_fixed_time(client: Client, owner: User, way: str) -> None:
    if way == "password":
        attempt(client, PASSWORD)
    else:
        client.post(reverse("login_link", args=[LoginLink.make(owner)]))
    end = client.session.get_expiry_date()
    assert timedelta(days=13, hours=23) < end - timezone.now() <= timedelta(days=14)
    client.post(reverse("token_delete", args=[ApiToken.make(owner, "x")[0].pk]))  # leaves a message in the session
    client.post(reverse("password_set"), {"password": "a-new-and-long-password"})
    assert client.session.get_expiry_date() == end
    Session.objects.update(expire_date=timezone.now())
    assert client.get(reverse("settings")).status_code == 302


def test_logging_in_gives_the_session_a_new_key(client: Client, owner: User) -> None:
    session = client.session
    session["planted"] = True
    session.save()
    before = session.session_key
    client.cookies["sessionid"] = before or ""
    attempt(client, PASSWORD)
    assert client.session.session_key != before
    assert not Session.objects.filter(pk=before).exists()


def test_what_has_run_out_is_forgotten_and_what_lives_is_kept(client: Client, owner: User) -> None:
    attempt(client, PASSWORD)
    old = timezone.now() - timedelta(days=40)
    Session.objects.create(session_key="old", session_data="", expire_date=old)
    for name in ("old", "new"):
        LoginLink.make(owner)
        ApiToken.make(owner, name)
        IdempotencyKey.objects.create(user=owner, key=name, request="")
    for model, field in ((LoginLink, "expires_at"), (ApiToken, "expires_at"), (IdempotencyKey, "created_at")):
        first = model.objects.order_by("pk").first()
        assert first is not None
        model.objects.filter(pk=first.pk).update(**{field: old})
    expiry.forget()
    kept: list[type[Model]] = [LoginLink, ApiToken, IdempotencyKey, Session]
    assert [model._default_manager.count() for model in kept] == [1, 1, 1, 1]
    assert is_in(client)
