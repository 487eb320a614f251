"""The card of a command that ran: its colours are kept for people, and never told to the model."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from agents import transcript
from agents.cards import BODY_CHARS, slug
from agents.models import Event, Kind, Run
from tests.agents.test_team import FINISH, review, say
from tests.conftest import work_once

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ran(launch: Callable[..., Run]) -> Callable[[str], Event]:
    """Run a command in a whole run, and return its result."""

    def run(command: str, **more: int) -> Event:
        call = {"name": "run_command", "input": {"command": command, **more}}
        launch({"implementer": [say(call), say(FINISH)], "reviewer": [review("approve")]})
        done = work_once()
        assert done is not None
        return done.events.filter(kind=Kind.TOOL_RESULT).order_by("seq")[0]

    return run


def card_of(result: Event) -> str:
    page = transcript.latest(Run.objects.get(pk=result.run_id))
    return next(patch["html"] for patch in page.patches if f'id="call-{slug(result.call_id)}"' in patch["html"])


def test_a_finished_command_keeps_its_colours(ran: Callable[..., Event], owner: User, client: Client) -> None:
    result = ran(r"printf '\033]0;title\007\033[32m 10%%\r100%%\033[0m done\n\033[1;31mFAILED\033[0m <b>\n'; exit 1")
    assert result.data["content"] == "100% done\nFAILED <b>\nExit code 1"
    kept = "\x1b[32m100%\x1b[0m done\n\x1b[31;1mFAILED\x1b[0m <b>\nExit code 1"
    assert result.data["data"]["output"] == kept
    client.force_login(owner)
    page = client.get(reverse("run", args=[result.run_id])).content.decode()
    for html in (card_of(result), page):
        assert '<span class="a-32">100%</span> done' in html
        assert '<span class="a-31 a-b">FAILED</span> &lt;b&gt;' in html


def test_a_command_without_colours_is_kept_once(ran: Callable[..., Event]) -> None:
    result = ran(r"printf '10%%\r100%%\n\033[2Kdone\n'")
    assert result.data["content"] == "100%\ndone\nExit code 0"
    assert not result.data["data"]["output"]


def test_a_command_that_was_ended_keeps_its_colours(ran: Callable[..., Event]) -> None:
    result = ran(r"printf '\033[31mred\033[0m\n'; sleep 60", timeout_ms=1000)
    assert result.data["code"] == "TIMEOUT"
    html = card_of(result)
    assert '<span class="a-31">red</span>' in html
    assert "tool_use_error" not in html
    assert html.count("What it printed until then") == 1


def test_a_long_coloured_output_is_bounded_and_its_whole_is_a_link_away(ran: Callable[..., Event]) -> None:
    numbers = r"for n in $(seq 1 3000); do printf '\033[3%dm%d\033[0m' $((n % 8)) $n; done"
    result = ran(rf"{numbers}; printf '\033[36mEND'; exit 1")
    kept = result.data["data"]["output"]
    assert 20_000 < len(kept) <= 30_000
    html = card_of(result)
    assert '<span class="a-31">1</span><span class="a-32">2</span>' in html
    assert '<span class="a-36">END</span>' in html
    assert "left out" in html
    assert len(html) < 10 * BODY_CHARS
    assert reverse("run_output", args=[result.run_id, result.data["output_ref"]]) in html


def test_a_comparison_names_what_can_not_be_kept(launch: Callable[..., Run], owner: User, client: Client) -> None:
    make = {"name": "run_command", "input": {"command": "mkfifo 'p<b>'; echo x > new"}}
    look = {"name": "check_changes", "input": {}}
    launch({"implementer": [say(make), say(look), say(FINISH)], "reviewer": [review("approve")]})
    run = work_once()
    assert run is not None
    client.force_login(owner)
    html = client.get(reverse("run", args=[run.pk])).content.decode()
    assert "Not kept, so in no diff and no branch: <code>p&lt;b&gt;</code> (it is a device, FIFO or socket)" in html
