"""A run whose every text attacks its reader, in a real browser: nothing of it acts, hides, leaves or covers."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.e2e import hostile
from tests.e2e.conftest import SHOTS
from tests.e2e.hostile import BIDI, HIDDEN, NAMES, TEMPLATE, Home
from tests.e2e.server import Server, wait_for
from tests.e2e.test_cards import PHONE, WIDE, open_all
from tests.e2e.watching import Watch, faults_of

TITLE = f"<script>pwned('title')</script> {BIDI} {HIDDEN}{TEMPLATE}"
USER = "<b onclick=pwned('user')>\u202eann"
_MAKE_USER = (
    "from django.contrib.auth.models import Group, User; "
    f"user = User.objects.create_user({USER!r}); user.groups.set(Group.objects.all())"
)
SNIPPET = "<script>pwned(1)</script>\u202e"


class Scene(NamedTuple):
    """The server with the hostile run, and what a browser saw of it while it ran."""

    server: Server
    home: Home
    run: int
    live: list[str]
    """The nodes of the transcript as they had come."""
    fresh: list[str]
    """The same after a reload."""
    state: Path
    """The browser's login."""


def start(server: Server, home: Home, folder: Path) -> int:
    """Add the repository and launch the task; return its run."""
    server.manage("shell", "-c", _MAKE_USER)
    token = server.manage("createtoken", USER).strip().split("\n")[-1]
    repository = server.add_repository(
        hostile.make_source(folder / "source", home), name=f"<img onerror=pwned(1)>{BIDI}"
    )
    task = {
        "repository": repository, "title": TITLE, "prompt": hostile.prose(home), "base": hostile.BRANCH,
        "model": "scripted", "max_rounds": 1, "script": hostile.make_script(home),
    }  # fmt: skip
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    made = httpx.post(f"{server.url}/api/v1/tasks", content=json.dumps(task), headers=headers, timeout=60)
    assert made.status_code == 201, made.text[:500]
    return int(made.json()["runs"][0]["id"])


def nodes(page: Page) -> list[str]:
    """Return the transcript's nodes as HTML, all cards closed and without what only this reader did."""
    return list(page.evaluate(_NODES))


_NODES = """() => [...document.querySelectorAll("#log > li")].map((node) => {
  const copy = node.cloneNode(true);
  copy.querySelectorAll("details").forEach((details) => { details.open = false; delete details.dataset.touched; });
  return copy.outerHTML;
})"""


@pytest.fixture(scope="module")
def scene(browser: Browser, begun: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("hostile")
    for parent in [folder, *list(folder.parents)[:3]]:
        if str(parent).count("/") > 1:
            parent.chmod(0o755)
    with hostile.listening() as home:
        server = Server(folder / "data").go_on_from(begun).start()
        context = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
        watch = Watch(context, server.url)
        try:
            page = context.new_page()
            page.goto(server.login_link)
            page.get_by_role("button", name=re.compile("Log in")).click()
            context.storage_state(path=folder / "state.json")
            run = start(server, home, folder)
            page.goto(f"{server.url}/runs/{run}/")
            comment(server, run, home)
            live, fresh = watch_it_run(page, server, run)
            assert watch.faults == []
            yield Scene(server, home, run, live, fresh, folder / "state.json")
        finally:
            context.close()
            server.stop()
            shutil.rmtree(folder, ignore_errors=True)


def comment(server: Server, run: int, home: Home) -> None:
    """Steer the run and remark on it, as a human who is as hostile."""
    server.api("POST", f"/runs/{run}/messages", json={"text": hostile.prose(home)[:15_000]})


def watch_it_run(page: Page, server: Server, run: int) -> tuple[list[str], list[str]]:
    expect(page.locator("#log > li.step").first).to_be_attached()
    server.wait_status(run, "awaiting_human", limit_s=120)
    last = server.run(run)["last_seq"]
    expect(page.locator("#log")).to_have_attribute("data-last", str(last))
    live = nodes(page)
    page.reload()
    return live, nodes(page)


@pytest.fixture
def context(scene: Scene, browser: Browser) -> Iterator[BrowserContext]:
    opened = browser.new_context(viewport=WIDE, storage_state=scene.state)  # type: ignore[arg-type]
    opened.set_default_timeout(20_000)
    yield opened
    opened.close()


def paths(scene: Scene) -> list[str]:
    """Return the pages that show what agents, repositories or people wrote."""
    run, file = f"/runs/{scene.run}", f"/runs/{scene.run}/workspace/file/?"
    names = ["page.html", "trojan.py", "many.txt", "nested.py", "book.ipynb", *NAMES.values(), SNIPPET]
    return [
        "/", f"/?{urlencode({'q': SNIPPET})}", f"{run}/", f"{run}/review/", "/tasks/1/", "/tasks/new/?repository=1",
        *(f"{run}/workspace/{page}" for page in ("", "reads/", "baselines/", "sakura/")),
        f"{run}/workspace/sakura/?{urlencode({'path': hostile.DOCUMENT})}",
        *(file + urlencode({"path": name}, errors="surrogateescape") for name in names),
        f"{file}at=0&path=one-line.js", f"{run}/review/?{urlencode({'path': SNIPPET, 'q': SNIPPET})}",
        "/repositories/", "/repositories/1/", "/settings/", "/settings/skills/", f"/nothing/{quote(SNIPPET)}",
    ]  # fmt: skip


def test_no_page_lets_a_text_act_hide_or_leave(scene: Scene, context: BrowserContext) -> None:
    watch = Watch(context, scene.server.url)
    page = context.new_page()
    bad: dict[str, object] = {}
    for path in paths(scene):
        answer = page.goto(f"{scene.server.url}{path}")
        assert answer is not None
        bad |= {path: answer.status} if answer.status not in (200, 404) else {}
        bad |= {path: faults} if (faults := faults_of(page)) else {}
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        too_wide = page.evaluate("Math.max(0, document.documentElement.scrollWidth - innerWidth)")
        bad |= {f"{path} on a phone": too_wide} if too_wide else {}
        page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    assert bad == {}
    assert watch.faults == []
    assert scene.home.calls == []


def test_every_card_opened_does_no_harm_and_fits(scene: Scene, context: BrowserContext) -> None:
    watch = Watch(context, scene.server.url)
    page = context.new_page()
    page.goto(f"{scene.server.url}/runs/{scene.run}/")
    title = page.title()
    open_all(page)
    assert faults_of(page) == {}
    assert page.title() == title
    assert "‹U+202E›" in title
    for name, size in (("wide", WIDE), ("phone", PHONE)):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.screenshot(path=SHOTS / f"hostile-run-{name}.png")
    assert page.locator("#log .odd", has_text="U+202E").first.get_attribute("title") == "RIGHT-TO-LEFT OVERRIDE"
    assert watch.faults == []
    assert scene.home.calls == []


def test_what_came_live_is_what_a_reload_shows(scene: Scene) -> None:
    assert len(scene.fresh) == 100
    assert scene.live[-100:] == scene.fresh


def test_older_events_and_the_poll_bring_the_same(scene: Scene, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{scene.server.url}/runs/{scene.run}/?before=60")
    older = {html.partition(">")[0]: html for html in nodes(page)}
    live = {html.partition(">")[0]: html for html in scene.live}
    assert len(older) > 30
    assert {key: live[key] for key in older} == older


def test_the_terminal_shows_all_that_the_model_was_told_and_no_escape(scene: Scene, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{scene.server.url}/runs/{scene.run}/")
    open_all(page)
    term = page.locator("#log .term", has_text="black on black").last
    text = term.inner_text()
    assert "concealed" in text
    assert "all is well" in text
    assert "U+0007" in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f]|pwned\('osc'\)\x1b|another title", text)
    expect(term.locator(".a-32", has_text="green")).to_be_visible()


def test_every_colour_of_a_terminal_can_be_read(scene: Scene, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{scene.server.url}/runs/{scene.run}/")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(_UNREADABLE) == []


_UNREADABLE = r"""() => {
  const holder = document.querySelector("#log .term");
  const luminance = (rgb) => rgb.map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const painted = (...colours) => {
    colours.forEach((colour) => { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); });
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const codes = (from) => ["", ...Array.from({ length: 8 }, (_, n) => [`a-${from + n}`, `a-${from + 60 + n}`]).flat()];
  const names = codes(30).flatMap((colour) => codes(40).flatMap((ground) => ["", "a-r", "a-b", "a-d"].map((mark) => `${colour} ${ground} ${mark}`)));
  const ground = getComputedStyle(holder).backgroundColor;
  return names.filter((name) => {
    const part = document.createElement("span");
    part.className = name;
    holder.append(part);
    const style = getComputedStyle(part);
    const [one, other] = [luminance(painted(ground, style.backgroundColor)), luminance(painted(ground, style.backgroundColor, style.color))];
    part.remove();
    return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05) < 3;
  });
}"""  # noqa: E501 -- a table of names


def test_a_change_that_reorders_code_is_marked_in_the_diff(scene: Scene, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{scene.server.url}/runs/{scene.run}/review/")
    added = page.locator("tr.add", has_text="access !=").first
    assert [mark.inner_text() for mark in added.locator(".odd").all()][:2] == ["U+202E", "U+2066"]
    page.screenshot(path=SHOTS / "hostile-review.png")


def test_copied_code_holds_the_marks_and_nothing_hidden(scene: Scene, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{scene.server.url}/runs/{scene.run}/workspace/file/?path=trojan.py&at=0")
    row = page.locator("#L1 .code")
    copied = row.evaluate("row => { const all = getSelection(); all.selectAllChildren(row); return all.toString(); }")
    assert copied == hostile.TROJAN.partition("\n")[0].translate(
        {ord(c): f"U+{ord(c):04X}" for c in "\u202e\u2066\u2069"}
    )
    original = scene.server.answer("GET", f"/runs/{scene.run}/file?path=trojan.py&at=0").content.decode()
    assert original == hostile.TROJAN


@pytest.mark.parametrize(
    "wanted", ["javascript:pwned(1)//", "//phish.example/", "https://phish.example/", "/\\phish.example"]
)
def test_a_login_leads_nowhere_else(scene: Scene, browser: Browser, wanted: str) -> None:
    context = browser.new_context()
    watch = Watch(context, scene.server.url)
    page = context.new_page()
    page.goto(f"{scene.server.url}/login/?{urlencode({'next': wanted})}")
    assert faults_of(page) == {}
    context.add_cookies(json.loads(scene.state.read_text())["cookies"])
    page.reload()
    assert page.url.startswith(f"{scene.server.url}/")
    assert watch.faults == []
    context.close()


def test_bytes_of_a_repository_are_given_as_no_page_and_no_script(scene: Scene) -> None:
    for name in ("page.html", "drawing.svg", "one-line.js"):
        answer = scene.server.answer("GET", f"/runs/{scene.run}/file?{urlencode({'path': name})}")
        assert answer.headers["content-type"].partition(";")[0] in ("text/plain", "application/octet-stream")
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_pages_of_the_api_break_no_policy(scene: Scene, context: BrowserContext) -> None:
    watch = Watch(context, scene.server.url)
    page = context.new_page()
    page.goto(f"{scene.server.url}/api/v1/docs")
    expect(page.locator(".opblock").first).to_be_visible()
    assert watch.faults == []


def test_on_an_unguarded_page_the_same_texts_do_act_and_leave(browser: Browser) -> None:
    context = browser.new_context()
    watch = Watch(context, "http://sakura.example")
    page = context.new_page()
    with hostile.listening() as home:
        page.set_content(hostile.markup(home), wait_until="domcontentloaded")
        expect(page.locator("iframe")).to_be_attached()
        wait_for(lambda: home.calls, "a call home")
        wait_for(lambda: page.evaluate("true") and "a script ran: script" in watch.faults, "a script to run")
    assert any(each.startswith(f"a request left: {home.url}") for each in watch.faults)
    context.close()
