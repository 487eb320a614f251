"""The main job in a real browser: from the form to the revert, on a real repository and the real server."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.agents.test_team import FINISH, READ, review, say
from tests.conftest import git
from tests.e2e.conftest import SHOTS
from tests.e2e.server import Server, wait_for

STEPS = {
    "implementer": [
        say(READ, text="I look first."),
        say(
            {"name": "edit_file", "input": {"file_path": "calc.py", "old_string": "a - b", "new_string": "a + b"}},
            {"name": "write_file", "input": {"file_path": "NOTES.md", "content": "Not asked for.\n"}},
        ),
        say({"name": "read_file", "input": {"file_path": "README.md"}}),
        say({"name": "edit_file", "input": {"file_path": "README.md", "old_string": "Adds", "new_string": "Sums"}}),
        say({"name": "run_command", "input": {"command": "for n in $(seq 16); do echo line $n; sleep 0.5; done"}}),
        say(FINISH),
    ],
    "reviewer": [say({"name": "check_changes", "input": {"mode": "full"}}), review("approve")],
}


def log_in(page: Page, server: Server) -> None:
    page.goto(server.login_link)
    page.get_by_role("button", name=re.compile("Log in")).click()
    expect(page.get_by_role("heading", name="Board")).to_be_visible()


def shoot(page: Page, name: str) -> None:
    page.screenshot(path=SHOTS / f"{name}.png")


def seqs(page: Page) -> list[int]:
    """Return the numbers of the events that the transcript shows, in its order."""
    ids = page.eval_on_selector_all('[role="log"] [id^="event-"]', "nodes => nodes.map(node => node.id)")
    return [int(each.removeprefix("event-")) for each in ids]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """One that nobody has ever started, as a newcomer has it."""
    running = Server(tmp_path / "data").start()
    yield running
    running.stop()


@pytest.fixture
def source_state(source: Path) -> tuple[str, str, str]:
    """The source with uncommitted work on its checked-out branch, and what must not change."""
    (source / "calc.py").write_text((source / "calc.py").read_text() + "\n# half a thought\n")
    return git(source, "rev-parse", "HEAD"), git(source, "status", "--porcelain"), (source / "calc.py").read_text()


def test_from_the_form_to_the_revert(
    server: Server, page: Page, source: Path, source_state: tuple[str, str, str]
) -> None:
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))

    log_in(page, server)
    shoot(page, "board-empty")

    # Add a repository.
    page.goto(f"{server.url}/repositories/add/")
    page.locator("[name=source]").fill(str(source))
    page.locator("[name=name]").fill("calc")
    page.get_by_role("button", name="Add").click()
    wait_for(lambda: server.repositories()[0]["status"] == "ready", "the mirror")
    page.goto(f"{server.url}/repositories/")
    expect(page.get_by_text("calc").first).to_be_visible()
    shoot(page, "repositories")

    # Launch: first with a mistake, which costs nothing that was typed.
    page.goto(f"{server.url}/tasks/new/")
    page.locator("[name=base]").fill("no-such-branch")
    page.locator("[name=title]").fill("Mend the addition")
    page.locator("[name=prompt]").fill("`add` subtracts. **Mend** it.")
    fill_script(page)
    page.get_by_role("button", name="Launch").click()
    expect(page.get_by_role("alert").first).to_contain_text("no-such-branch")
    expect(page.locator("[name=title]")).to_have_value("Mend the addition")
    shoot(page, "new-task-error")
    page.locator("[name=base]").fill("main")
    fill_script(page)
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url(re.compile(r"/runs/\d+/$"))
    run_url = page.url
    run = int(re.findall(r"/runs/(\d+)/", run_url)[0])

    # Live: results arrive without a reload; a reload in mid-run loses and doubles nothing.
    log = page.get_by_role("log")
    expect(log.get_by_text("I look first.")).to_be_visible()
    expect(log.get_by_text("line 2").first).to_be_visible()
    shoot(page, "run-live")
    page.reload()
    expect(page.get_by_text("Waits for you").first).to_be_visible(timeout=60_000)
    shown = seqs(page)
    assert shown == sorted(set(shown))
    live = page.locator('[role="log"] > *').all_inner_texts()
    page.reload()
    fresh = page.locator('[role="log"] > *').all_inner_texts()
    assert [text.split("\n")[0] for text in live] == [text.split("\n")[0] for text in fresh]
    shoot(page, "run-done")

    # Review: comment on a line, take one file back, see it in the diff.
    page.goto(f"{run_url}review/")
    expect(page.get_by_text("NOTES.md").first).to_be_visible()
    shoot(page, "review")
    comment_on_line(page)
    revert_file(page, "README.md")
    shoot(page, "review-reverted")
    assert server.answer("GET", f"/runs/{run}/file?path=README.md").content == b"# calc\n\nAdds numbers.\n"

    # Approve, then push as a new branch.
    page.goto(f"{run_url}review/")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("sakura/1-mend-the-addition").first).to_be_visible()
    shoot(page, "review-approved")
    page.get_by_role("button", name=re.compile("Push")).first.click()
    wait_for(
        lambda: "sakura/1-mend-the-addition" in git(source, "branch", "--list", "sakura/*"), "the branch in the source"
    )

    branch = "sakura/1-mend-the-addition"
    assert git(source, "show", f"{branch}:README.md") == git(source, "show", "main:README.md")
    assert "a + b" in git(source, "show", f"{branch}:calc.py")
    assert git(source, "log", "--format=%P", "-1", branch) == git(source, "rev-parse", "main")
    assert (
        git(source, "rev-parse", "HEAD"),
        git(source, "status", "--porcelain"),
        (source / "calc.py").read_text(),
    ) == source_state
    assert problems == []


def fill_script(page: Page) -> None:
    script = page.locator("textarea[name=script]")
    if not script.is_visible():
        script.locator("xpath=ancestor::details/summary").click()
    script.fill(json.dumps(STEPS))
    scripted = page.locator("input[name=model][value=scripted]")
    if scripted.count():
        scripted.check(force=True)


def comment_on_line(page: Page) -> None:
    line = page.locator("tr.add", has_text="a + b").first
    line.hover()
    line.get_by_label(re.compile("Comment on line")).click()
    page.locator("textarea[name=body]").last.fill("Good, but say so in the README.")
    page.get_by_role("button", name="Keep comment").last.click()
    expect(page.get_by_text("Good, but say so in the README.").first).to_be_visible()


def revert_file(page: Page, path: str) -> None:
    section = page.locator("section.file", has=page.get_by_role("heading", name=re.compile(re.escape(path))))
    section.get_by_role("link", name=re.compile("Revert")).first.click()
    page.locator("[data-preview] form button.danger").click()
    expect(page.locator("#undo")).to_contain_text(f"{path} is back to the baseline")
