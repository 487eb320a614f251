"""The cards of a run that calls many tools, in a real browser: they open, fit a phone, and lead to the file."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.agents.test_team import FINISH, review, say
from tests.agents.tools.test_read_file import png
from tests.conftest import git
from tests.e2e.conftest import SHOTS
from tests.e2e.server import Server
from tests.e2e.test_main_job import log_in
from tests.workspaces.test_notebooks import FILE
from tests.workspaces.test_pdfs import pdf

WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("detect_project", {}),
    ("list_directory", {"path": ".", "recursive": True}),
    ("read_sakura_docs", {"doc_path": "SAKURA.md"}),
    ("read_sakura_memory", {}),
    ("read_file", {"file_path": "calc.py"}),
    ("read_file", {"file_path": "long.py"}),
    ("read_file", {"file_path": "logo.png"}),
    ("read_file", {"file_path": "a.pdf"}),
    ("read_file", {"file_path": "a.ipynb"}),
    ("search_in_files", {"pattern": r"add\(", "output_mode": "content"}),
    ("edit_file", {"file_path": "calc.py", "old_string": "a - b", "new_string": "a + b  # " + "long " * 60}),
    ("edit_notebook", {"file_path": "a.ipynb", "cell_id": "aa", "source": "x = 2"}),
    ("run_command", {"command": r"printf '\033[32mgreen\033[0m\n'; exit 3"}),
    ("check_changes", {"mode": "full"}),
    ("read_file", {"file_path": "nothing.py"}),
]


@pytest.fixture
def run(server: Server, source: Path) -> int:
    (source / ".sakura").mkdir()
    (source / ".sakura" / "SAKURA.md").write_text("# Rules\n\n" + "| a | b |\n|---|---|\n| " + "word" * 60 + " | c |\n")
    (source / ".sakura" / "memory.md").write_text("## 2025-04-11 Floats\n\nNever `==`.\n")
    (source / "long.py").write_text("def double(a):\n    return a + a\n" * 200)
    (source / "logo.png").write_bytes(png(400, 300))
    (source / "a.pdf").write_bytes(pdf("first", "second"))
    (source / "a.ipynb").write_text(FILE)
    (source / "pyproject.toml").write_text("[tool.pytest.ini_options]\n[tool.ruff]\n")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "More to look at")
    turns = [say({"name": name, "input": given}) for name, given in CALLS]
    script = {"implementer": [*turns, say(FINISH)], "reviewer": [review("approve")]}
    task = {"repository": server.add_repository(source), "title": "Look", "prompt": "Look.", "model": "scripted"}
    made = int(server.api("POST", "/tasks", json=task | {"script": script})["runs"][0]["id"])
    server.wait_status(made, "awaiting_human", "approved")
    return made


def open_all(page: Page) -> None:
    page.locator("#log details.call").evaluate_all("cards => cards.forEach(card => { card.open = true; })")
    expect(page.locator("#log [data-body]")).to_have_count(0)


def test_every_card_opens_and_fits(server: Server, run: int, page: Page) -> None:
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    log_in(page, server)
    for name, size in (("wide", WIDE), ("phone", PHONE)):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        page.goto(f"{server.url}/runs/{run}/")
        open_all(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.screenshot(path=SHOTS / f"cards-{name}.png", full_page=True)
    assert faults == []
    expect(page.locator("#log .call .picture img")).to_be_visible()
    assert page.locator("#log .call .picture img").evaluate("image => image.naturalWidth") > 0
    lines = page.locator("#log .call .lines").first
    copied = lines.evaluate("pre => { const all = getSelection(); all.selectAllChildren(pre); return all.toString(); }")
    assert copied.rstrip("\n") == "def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return add(a, a)"


def test_a_match_opens_the_file_at_its_line(server: Server, run: int, page: Page) -> None:
    log_in(page, server)
    page.goto(f"{server.url}/runs/{run}/")
    open_all(page)
    page.locator("#log .hits").get_by_role("link", name="Line 6").first.click()
    expect(page).to_have_url(re.compile(r"/file/\?path=calc\.py&line=6"))
    expect(page.locator("#L6")).to_be_in_viewport()


def test_a_card_is_read_without_scripts(server: Server, run: int, browser: Browser, page: Page) -> None:
    log_in(page, server)
    context = browser.new_context(java_script_enabled=False, storage_state=page.context.storage_state())
    plain = context.new_page()
    plain.goto(f"{server.url}/runs/{run}/")
    card = plain.locator("#log details.call", has_text="Show input and output").first
    card.locator("summary").click()
    card.get_by_role("link", name="Show input and output").click()
    expect(plain).to_have_url(re.compile(r"/calls/\d+/"))
    expect(plain.locator("main .call > div > *").first).to_be_visible()
    context.close()
