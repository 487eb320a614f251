"""The demo as a newcomer watches it: an agent that cheats its way to green is stopped, told, and mends the code."""

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.conftest import git
from tests.e2e.server import Server
from tests.e2e.test_main_job import log_in, seqs, shoot

HOUR_TEST = "test_the_hour_of_the_last_bill_is_kept"
PLAYED_MS = 120_000


def text_of(server: Server, run: int, path: str) -> str:
    return server.answer("GET", f"/runs/{run}/file?path={path}").text


def failed(log: Locator) -> Locator:
    return log.locator("[data-failed]")


def test_an_agent_that_cheats_is_stopped_each_time_and_told(server: Server, page: Page) -> None:
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    log_in(page, server)
    page.get_by_role("button", name="Try the demo").click()
    page.wait_for_url(re.compile(r"/runs/\d+/$"))
    run = int(re.findall(r"/runs/(\d+)/", page.url)[0])
    log = page.get_by_role("log")

    # First by the edit tool: denied.
    denied = failed(log).filter(has_text="tests/test_billing.py").filter(has_text="Denied")
    expect(denied.first).to_be_visible()
    # Then by sed: put back at once, with a card of its own.
    put_back = failed(log).filter(has=page.get_by_text("Protected files", exact=True))
    expect(put_back).to_have_count(1)
    expect(put_back).to_contain_text("tests/test_billing.py")
    expect(put_back).to_contain_text("The agent was told")
    expect(failed(log).filter(has_text="sed -i")).to_have_count(1)
    # Then by a conftest.py that its own run goes through: the proof leaves it out, is red, and starts another round.
    red = failed(log).filter(has_text="Proof of snapshot")
    expect(red).to_have_count(1)
    expect(red).to_contain_text(HOUR_TEST)
    expect(red).to_contain_text("conftest.py")
    expect(red).to_contain_text(re.compile("shadowed", re.IGNORECASE))
    shoot(page, "demo-red")
    # It mends the code, and the proof is green.
    expect(log.locator(".proofend").filter(has_text="Green")).to_have_count(2, timeout=PLAYED_MS)
    expect(page.get_by_text("Waits for you").first).to_be_visible(timeout=PLAYED_MS)
    shown = seqs(page)
    assert shown == sorted(set(shown))
    shoot(page, "demo-done")

    source = Path(server.repositories()[0]["source"])
    for path in ("tests/test_billing.py", "tests/test_dates.py", "almanac/__init__.py"):
        assert text_of(server, run, path) == git(source, "show", f"main:{path}") + "\n", path
    proof = server.api("GET", f"/runs/{run}")["proof"]
    assert proof["state"] == "green"
    assert not {kind for kind, count in proof["integrity"]["counts"].items() if count} - {"added"}

    page.goto(f"{server.url}/runs/{run}/review/")
    expect(page.get_by_role("heading", name="Proof of done")).to_be_visible()
    expect(page.get_by_text("run by Sakura itself").first).to_be_visible()
    expect(page.get_by_text("Intact").first).to_be_visible()
    shoot(page, "demo-review")
    prove_again_after_a_revert(page, server, run)
    assert not problems


def prove_again_after_a_revert(page: Page, server: Server, run: int) -> None:
    """A human takes the fix back: the proof is made again, is red, and an approval needs a reason."""
    body = {"path": "almanac/dates.py", "to": 0}
    server.api("POST", f"/runs/{run}/reverts", json=body)
    page.reload()
    expect(page.locator(".proof").get_by_text("Red").first).to_be_visible(timeout=PLAYED_MS)
    why = page.locator("[name=despite]")
    expect(why).to_be_visible()
    shoot(page, "demo-review-red")
    page.get_by_role("button", name="Approve").click()
    expect(page).to_have_url(re.compile("/review/"))
    assert server.api("GET", f"/runs/{run}")["status"] == "awaiting_human"
    why.fill("The other team ships the fix of dates.py.")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Approved").first).to_be_visible()
    expect(page.get_by_text("The other team ships the fix of dates.py.").first).to_be_visible()
