"""A real server and a real browser."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.e2e.server import ROOT, Server

expect.set_options(timeout=30_000)
SHOTS = ROOT / "var" / "screenshots"


@pytest.fixture(scope="session")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Server:
    """A server that was started on an empty folder, gave out a token, and was stopped: what others begin with."""
    first = Server(tmp_path_factory.mktemp("begun") / "data").start()
    assert first.token
    assert first.stop() == 0
    return first


@pytest.fixture
def server(tmp_path: Path, begun: Server) -> Iterator[Server]:
    running = Server(tmp_path / "data").go_on_from(begun).start()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("chromium is not installed here: apt-get install chromium")
    SHOTS.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        quiet = ["--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
        if os.geteuid() == 0:
            quiet.append("--no-sandbox")
        started = playwright.chromium.launch(executable_path=path, args=quiet)
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(20_000)
    opened = context.new_page()
    yield opened
    context.close()
