"""The policy of a repository in a real browser: tried, proposed; and the box of the form that follows a repository."""

import shutil
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.conftest import git
from tests.e2e.server import Server
from tests.e2e.test_main_job import log_in

SCRIPT = '{"implementer": [{"text": "Hello."}]}'


def watch(page: Page) -> list[str]:
    """Return the list of what the browser complains of."""
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    return problems


def assert_it_fits(page: Page) -> None:
    """Nothing is wider than a small screen."""
    page.set_viewport_size({"width": 360, "height": 780})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360, page.url
    page.set_viewport_size({"width": 1440, "height": 900})


def test_a_policy_is_tried_and_proposed(server: Server, page: Page, source: Path) -> None:
    problems = watch(page)
    row = server.add_repository(source)
    log_in(page, server)
    page.goto(f"{server.url}/repositories/{row}/")
    page.get_by_role("link", name="Edit and try it").click()
    page.get_by_label("Policy", exact=True).fill(f'protected = ["{"docs/" * 40}**"]\nhidden = ["*.pem"]\n')
    page.get_by_label("Try", exact=True).fill("write tests/test_calc.py\nread keys/a.pem\nwrite " + "long" * 80)
    page.get_by_role("button", name="Try", exact=True).click()
    expect(page.get_by_role("row")).to_have_count(4)
    expect(page.get_by_role("row", name="read keys/a.pem")).to_contain_text("Denied")
    assert_it_fits(page)
    page.get_by_role("button", name="Propose").click()
    expect(page.get_by_role("heading", name="Proposed")).to_be_visible()
    assert_it_fits(page)
    assert git(source, "rev-parse", "sakura/policy-1^") == git(source, "rev-parse", "main")
    assert problems == []


def test_the_box_follows_the_repository_until_somebody_clicks_it(
    server: Server, page: Page, browser: Browser, source: Path, tmp_path: Path
) -> None:
    problems = watch(page)
    other = shutil.copytree(source, tmp_path / "other")
    server.add_repository(source, "calc")
    server.add_repository(other, "other")
    log_in(page, server)
    box, choice = page.get_by_label("The agents may change existing tests"), page.get_by_label("Repository")

    def launch(repository: str, *, may_change: bool) -> None:
        page.goto(f"{server.url}/tasks/new/")
        choice.select_option(label=repository)
        page.locator("[name=title]").fill("Try it")
        page.locator("[name=prompt]").fill("Try it.")
        page.locator("[data-script]").evaluate("details => details.open = true")
        page.locator("textarea[name=script]").fill(SCRIPT)
        page.locator("input[name=model][value=scripted]").check()
        box.set_checked(may_change)
        page.get_by_role("button", name="Launch").click()
        expect(page.get_by_role("heading", name="Try it")).to_be_visible()

    launch("other", may_change=True)
    launch("calc", may_change=False)
    page.goto(f"{server.url}/tasks/new/")
    choice.select_option(label="other")
    expect(box).to_be_checked()
    choice.select_option(label="calc")
    expect(box).not_to_be_checked()
    box.check()
    choice.select_option(label="other")
    expect(page.locator("#policy-note")).to_contain_text("other has no policy file")
    choice.select_option(label="calc")
    expect(page.locator("#policy-note")).to_contain_text("calc has no policy file")
    expect(box).to_be_checked()
    assert_it_fits(page)
    assert problems == []

    plain = browser.new_context(storage_state=page.context.storage_state(), java_script_enabled=False).new_page()
    plain.goto(
        f"{server.url}/tasks/new/?repository={choice.locator('option', has_text='other').get_attribute('value')}"
    )
    expect(plain.get_by_label("The agents may change existing tests")).to_be_checked()
    plain.context.close()
