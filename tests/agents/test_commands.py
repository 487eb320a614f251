"""The commands that let somebody in print their secret last."""

import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings as site
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from agents.models import ApiToken, LoginLink, Role
from tests.conftest import person

pytestmark = pytest.mark.django_db


def _run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out, stderr=StringIO())
    return out.getvalue().splitlines()[-1]


def test_createtoken_prints_a_token_that_works() -> None:
    person("vera", Role.VIEWER)
    secret = _run("createtoken", "vera")
    assert Client(headers={"Authorization": f"Bearer {secret}"}).get("/api/v1/tasks").status_code == 200


def test_createtoken_can_give_fewer_roles() -> None:
    person("ada", Role.ADMIN)
    _run("createtoken", "ada", "--roles", "viewer", "operator", "--days", "2")
    assert ApiToken.objects.get().roles == ["operator", "viewer"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nobody"], "no active user nobody"),
        (["stranger"], "has no role"),
        (["vera", "--roles", "admin"], "does not have: admin"),
        (["vera", "--days", "0"], "between 1 and 3650"),
    ],
)
def test_createtoken_says_why_it_makes_none(words: list[str], sentence: str) -> None:
    person("vera", Role.VIEWER)
    person("stranger")
    with pytest.raises(CommandError, match=sentence):
        _run("createtoken", *words)
    assert not ApiToken.objects.exists()


def test_loginlink_prints_a_link_of_this_site(settings: Settings) -> None:
    settings.SAKURA_BASE_URL = "https://sakura.example.org"
    user = person("vera", Role.VIEWER)
    link = _run("loginlink", "vera")
    assert link.startswith("https://sakura.example.org/login/")
    assert LoginLink.use(link.rstrip("/").rpartition("/")[2]) == user


@pytest.mark.parametrize(
    ("host", "start"),
    [("0.0.0.0", "http://127.0.0.1:8123/"), ("::1", "http://[::1]:8123/"), ("10.0.0.5", "http://10.0.0.5:8123/")],
)
def test_loginlink_names_an_address_that_a_browser_takes(settings: Settings, host: str, start: str) -> None:
    settings.SAKURA_BASE_URL, settings.SAKURA_HOST, settings.SAKURA_PORT = "", host, 8123
    person("vera", Role.VIEWER)
    assert _run("loginlink", "vera").startswith(start)


def test_serve_says_that_its_data_folder_cant_be_written(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings.STATIC_ROOT = tmp_path / "file" / "static"
    with pytest.raises(CommandError, match="can't be written: Not a directory"):
        _run("serve", "--port", "0")


def test_a_wrong_setting_is_one_sentence_and_no_traceback(tmp_path: Path) -> None:
    env = {"SAKURA_DATA_DIR": str(tmp_path), "SAKURA_PORT": "eighty"}
    done = subprocess.run([sys.executable, "manage.py", "check"], cwd=site.BASE_DIR, env=env, capture_output=True)
    assert done.returncode == 1
    assert done.stderr.decode() == "Sakura can't start: SAKURA_PORT='eighty' is no whole number.\n"
