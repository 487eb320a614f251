"""Kill -9 of the real server: what its commands started dies with it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents.test_team import FINISH, say
from tests.e2e.server import ROOT, Server, wait_for
from tests.wall.attacks_resources import CLOSED, DAEMON, HELD, QUIET, UNLEASH, WAIT, held
from tests.wall.scene import end_daemon

OFF = {"SAKURA_SANDBOX": "off", "SAKURA_I_KNOW_COMMANDS_RUN_UNCONFINED": "1"}
KIT = (ROOT / "tests" / "wall" / "kit.py").read_text()


def _with_a_daemon(server: Server, source: Path, daemon: str) -> Path:
    """Start a run whose command leaves a daemon, wait until that is up, and kill the server."""
    files = {"go.py": f"from kit import *\n{daemon}", "kit.py": KIT, "scene.json": json.dumps({"numbers": {}})}
    lay_out = "".join(f"cat > attack/{name} <<'END'\n{text}\nEND\n" for name, text in files.items())
    command = f"mkdir attack\n{lay_out}exec /usr/bin/python3 attack/go.py"
    script = {"implementer": [say({"name": "run_command", "input": {"command": command}}), say(FINISH)]}
    task: dict[str, Any] = {
        "repository": server.add_repository(source), "title": "Stay", "prompt": "Stay.", "model": "scripted",
        "script": script,
    }  # fmt: skip
    run = int(server.api("POST", "/tasks", json=task)["runs"][0]["id"])
    ready = wait_for(lambda: next(server.data.glob(f"runs/{run}/e*/tree/attack/ready"), None), "the daemon to be up")
    server.kill()
    return ready.parent.parent


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[Server]:
    """A server that the test starts and kills."""
    server = Server(tmp_path / "data")
    yield server
    if server.process and server.process.poll() is None:
        server.kill()


@pytest.mark.parametrize(
    "daemon", [CLOSED + WAIT + QUIET + DAEMON, HELD + WAIT + UNLEASH + DAEMON], ids=["plain", "unleashed"]
)
def test_a_daemon_dies_with_a_server_that_is_killed(killed: Server, source: Path, daemon: str) -> None:
    tree = _with_a_daemon(killed.start(), source, daemon)
    wait_for(lambda: not held(tree), "the daemon to die", 10)


def test_it_would_have_lived_without_a_sandbox(killed: Server, source: Path) -> None:
    killed.env |= OFF
    tree = _with_a_daemon(killed.start(), source, CLOSED + WAIT + QUIET + DAEMON)
    try:
        assert held(tree)
        os.kill(int((tree / "attack" / "ready").read_text()), 0)
    finally:
        end_daemon(tree)
