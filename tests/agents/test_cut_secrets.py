"""What pages, the API and errors cut shows no half of a secret, also of one that was set after it was stored."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents import events, secrets, told
from agents.events import Fact
from agents.models import Kind, Run
from agents.providers import troubles
from tests.workspaces.opened import SECRET, knowing, parts
from workspaces.masking import Mask
from workspaces.models import Repository

pytestmark = pytest.mark.django_db(transaction=True)
SERVER = troubles.Server("Model", "https://model.example", "m-1", "KEY", "")


class Refused(Exception):
    """As an SDK raises it."""

    status_code = 400
    response = None

    def __init__(self, said: str, blanks: int = 0) -> None:
        super().__init__(said)
        self.body = {"error": {"message": " " * blanks + said}}


@pytest.mark.parametrize(
    ("chars", "blanks"), [(troubles.MAX_DETAIL_CHARS, 0), (100, troubles.READ_CHARS - 100)], ids=["sentence", "body"]
)
def test_the_words_of_a_provider_end_in_no_half_of_a_secret(chars: int, blanks: int) -> None:
    refused = Refused("x" * (chars - 20) + SECRET + "y" * 20_000, blanks)
    assert parts(troubles.translate(refused, SERVER).sentence)
    with knowing(SECRET):
        sentence = troubles.translate(refused, SERVER).sentence
    assert not parts(Mask({"TOKEN": SECRET}).text(sentence)[0])


def test_a_card_that_shows_the_ends_of_a_text_shows_no_half_of_a_secret() -> None:
    text = "x" * 480 + SECRET + "y" * 2000 + SECRET + "z" * 480
    assert parts(told.clip(text, 1000))
    with knowing(SECRET):
        shown = told.clip(text, 1000)
    assert not parts(shown)
    assert shown.startswith("x" * 480 + "[masked TOKEN]\n… ")


def test_no_window_into_an_output_shows_a_part_of_a_secret_that_was_set_later(
    launch: Callable[..., Run], repository: Repository, owner: User, client: Client
) -> None:
    run = launch({"implementer": []})
    run.place.outputs.mkdir(parents=True, exist_ok=True)
    data = f"{'-' * 30}{SECRET}{'-' * 30}".encode()
    (run.place.outputs / "a.txt").write_bytes(data)
    client.force_login(owner)
    windows = [(at, size) for at in range(0, len(data), 3) for size in (10, 25)]

    def shown() -> list[str]:
        pages = (f"/runs/{run.pk}/outputs/a.txt/", f"/api/v1/runs/{run.pk}/outputs/a.txt")
        found = []
        for page in pages:
            for offset, limit in windows:
                answer = client.get(f"{page}?offset={offset}&limit={limit}")
                assert answer.status_code == 200, page
                found.append(answer.content[:limit].decode())
        return found

    with knowing():
        assert any(map(parts, shown()))
        secrets.put(repository, owner, "TOKEN", SECRET)
        found = shown()
    assert not any(parts(each, size=4) for each in found)
    assert all(len(each) == len(data[at : at + size]) for each, (at, size) in zip(found, windows * 2, strict=True))


def test_the_first_answer_after_a_secret_was_set_cuts_none_in_two(
    launch: Callable[..., Run], repository: Repository, owner: User, client: Client
) -> None:
    run = launch({"implementer": []})
    text = "x" * (told.BODY_CHARS // 2 - 20) + SECRET + "y" * told.BODY_CHARS
    events.append(run.pk, Fact(Kind.NOTE, {"text": text, "to": "human"}))
    client.force_login(owner)
    with knowing():
        assert parts(client.get(f"/runs/{run.pk}/").content.decode())
        secrets.put(repository, owner, "TOKEN", SECRET)
        page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "[masked TOKEN]" in page
    assert not parts(page)
