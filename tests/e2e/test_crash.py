"""Kill -9 of the real server in mid-run: nothing is lost, nothing happens twice, the run goes on."""

from pathlib import Path
from typing import Any

import pytest

from tests.agents.test_team import EDIT, FINISH, READ, review, say
from tests.e2e.server import Server, wait_for


def launch(server: Server, source: Path, script: dict[str, Any]) -> int:
    repository = server.add_repository(source)
    task = server.api(
        "POST",
        "/tasks",
        json={
            "repository": repository,
            "title": "Mend add",
            "prompt": "Mend it.",
            "model": "scripted",
            "script": script,
        },
    )
    return int(task["runs"][0]["id"])


def command(text: str) -> dict[str, Any]:
    return {"name": "run_command", "input": {"command": text}}


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["kind"] for event in events]


def test_a_run_killed_while_its_model_thinks_goes_on_as_if_nothing_had_been(server: Server, source: Path) -> None:
    script = {"implementer": [say(READ), say(EDIT) | {"delay_ms": 3000}, say(FINISH)], "reviewer": [review("approve")]}
    run = launch(server, source, script)
    wait_for(lambda: "tool_result" in kinds(server.events(run)), "the first result")
    before = server.events(run)
    server.kill()
    server.start()
    server.wait_status(run, "awaiting_human")
    after = server.events(run)
    assert after[: len(before)] == before
    assert [event["seq"] for event in after] == list(range(1, len(after) + 1))
    assert kinds(after).count("model_response") == 4
    calls = [event["data"]["call_id"] for event in after if event["kind"] == "tool_call"]
    assert len(calls) == len(set(calls)) == 4


def test_a_command_that_a_crash_cut_off_is_interrupted_and_never_run_again(server: Server, source: Path) -> None:
    script = {
        "implementer": [say(command("echo once >> ran.txt; echo started; sleep 30")), say(FINISH)],
        "reviewer": [review("approve")],
    }
    run = launch(server, source, script)
    wait_for(lambda: "output" in kinds(server.events(run)), "the command's first words")
    server.kill()
    server.start()
    server.wait_status(run, "awaiting_human")
    result = next(event["data"] for event in server.events(run) if event["kind"] == "tool_result")
    assert (result["code"], result["is_error"]) == ("INTERRUPTED", True)
    assert server.answer("GET", f"/runs/{run}/file?path=ran.txt").text == "once\n"


def test_a_stopped_server_gives_its_runs_back_and_the_next_start_goes_on(server: Server, source: Path) -> None:
    script = {
        "implementer": [say(READ), say(EDIT) | {"delay_ms": 20_000}, say(FINISH)],
        "reviewer": [review("approve")],
    }
    run = launch(server, source, script)
    wait_for(lambda: "tool_result" in kinds(server.events(run)), "the first result")
    assert server.stop() == 0
    script["implementer"][1]["delay_ms"] = 0
    server.start()
    assert server.run(run)["status"] in ("queued", "preparing", "implementing")
    server.api("POST", f"/runs/{run}/cancel")
    assert server.wait_status(run, "cancelled")["reason"] == "cancelled by admin"


@pytest.mark.parametrize("command_text", ["sleep 300", "(setsid sleep 300 &) ; trap '' TERM INT; sleep 300"])
def test_a_cancel_kills_the_whole_tree_of_a_running_command(server: Server, source: Path, command_text: str) -> None:
    run = launch(server, source, {"implementer": [say(command(f"echo here; {command_text}"))]})
    wait_for(lambda: "output" in kinds(server.events(run)), "the command to run")
    server.api("POST", f"/runs/{run}/cancel")
    server.wait_status(run, "cancelled", limit_s=10)
    result = next(event["data"] for event in server.events(run) if event["kind"] == "tool_result")
    assert result["code"] == "CANCELLED"
