"""The whole API by HTTP against the real server: a task from its launch to the pushed branch."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import ConsoleMessage, Page
from pydantic import TypeAdapter

from agents.schema import EventsOut
from tests.agents.test_team import EDIT, FINISH, READ, review, say
from tests.conftest import git
from tests.e2e.conftest import SHOTS
from tests.e2e.server import Server

SCRIPT = {"implementer": [say(READ), say(EDIT), say(FINISH)], "reviewer": [review("approve")]}


@pytest.fixture
def waiting(server: Server, source: Path) -> dict[str, Any]:
    """A run that the agents are done with."""
    repository = server.add_repository(source)
    wish = {"repository": repository, "title": "Mend add", "prompt": "Mend it.", "script": SCRIPT}
    task = server.api("POST", "/tasks", json=wish)
    return server.wait_status(task["runs"][0]["id"], "awaiting_human")


def test_a_task_goes_from_launch_to_branch(server: Server, source: Path, waiting: dict[str, Any]) -> None:
    run = waiting["id"]
    changes = server.api("GET", f"/runs/{run}/changes")
    assert [(file["path"], file["status"]) for file in changes["files"]] == [("calc.py", "modified")]
    patch = server.answer("GET", f"/runs/{run}/patch").content
    (source / "run.patch").write_bytes(patch)
    git(source, "apply", "--check", "run.patch")
    review = server.api("POST", f"/runs/{run}/reviews", json={"verdict": "approve", "summary": "Thanks."})
    pushed = server.api("POST", f"/runs/{run}/push")
    assert pushed == {"branch": review["branch"], "commit": review["commit"]}
    assert git(source, "rev-parse", review["branch"]) == review["commit"]
    assert server.run(run)["status"] == "approved"


def test_every_event_has_its_documented_shape(server: Server, waiting: dict[str, Any]) -> None:
    page = server.api("GET", f"/runs/{waiting['id']}/events", params={"limit": 500})
    found = TypeAdapter(EventsOut).validate_python(page)
    assert [event.seq for event in found.events] == list(range(1, found.last_seq + 1))
    assert {"status", "message", "model_response", "tool_call", "tool_result", "snapshot", "review"} <= {
        event.kind for event in found.events
    }


def test_what_the_agent_read_and_touched_is_listed(server: Server, waiting: dict[str, Any]) -> None:
    run = waiting["id"]
    assert [row["path"] for row in server.api("GET", f"/runs/{run}/reads")["reads"]] == ["calc.py"]
    assert [row["path"] for row in server.api("GET", f"/runs/{run}/baselines")["baselines"]] == ["calc.py"]
    assert [row["number"] for row in server.api("GET", f"/runs/{run}/snapshots")["snapshots"]] == [0, 1]


def test_a_reverted_hunk_is_seen_in_the_next_round(server: Server, waiting: dict[str, Any]) -> None:
    run = waiting["id"]
    hunks = server.api("GET", f"/runs/{run}/diff", params={"path": "calc.py"})["hunks"]
    tried = {"path": "calc.py", "hunks": [hunks[0]["id"]], "dry_run": True}
    tree = server.api("POST", f"/runs/{run}/reverts", json=tried)["tree"]
    done = server.api("POST", f"/runs/{run}/reverts", json=tried | {"dry_run": False})
    assert done["tree"] == tree == server.api("GET", f"/runs/{run}/changes")["baseline_tree"]
    server.api("POST", f"/runs/{run}/reviews", json={"verdict": "request_changes", "summary": "Again, please."})
    after = server.wait_status(run, "awaiting_human", "failed")
    assert after["round"] == 2


def test_a_launch_sent_twice_with_one_key_is_one_task(server: Server, source: Path) -> None:
    wish = {"repository": server.add_repository(source), "title": "Once", "prompt": "P", "script": SCRIPT}
    headers = {"Authorization": f"Bearer {server.token}", "Idempotency-Key": "launch-1"}
    answers = [httpx.post(f"{server.url}/api/v1/tasks", json=wish, headers=headers, timeout=60) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    assert server.api("GET", "/tasks")["count"] == 1


def test_the_documentation_runs_under_the_content_security_policy(server: Server, page: Page) -> None:
    said: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        if message.type == "error":
            said.append(message.text)

    page.on("console", listen)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(server.login_link)
    page.get_by_role("main").get_by_role("button").click()
    page.wait_for_url(f"{server.url}/")
    answer = page.goto(f"{server.url}/api/v1/docs")
    assert answer is not None
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    page.get_by_text("/api/v1/runs/{run_id}/reverts").click()
    page.get_by_role("button", name="Try it out").wait_for()
    page.screenshot(path=SHOTS / "api-docs.png")
    assert said == []
