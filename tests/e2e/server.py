"""The real server as a process of its own, on a data folder of the test."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx

ROOT = Path(__file__).resolve().parent.parent.parent
T = TypeVar("T")


def wait_for(condition: Callable[[], T | None], what: str, limit_s: float = 60.0) -> T:
    """Return what `condition` gives once it is true; fail with `what` was waited for after the limit."""
    deadline = time.monotonic() + limit_s
    pause_s = 0.05
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(pause_s)
        pause_s = min(0.25, pause_s * 1.2)  # to ask costs the server the time that it is waited for
    raise AssertionError(f"waited {limit_s:.0f} s in vain for {what}")


class Server:
    """One `manage.py serve` on a folder; it can be stopped, killed and started again."""

    def __init__(self, data: Path, **env: str) -> None:
        self.data = data
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(data.parent),
            "LANG": "C.UTF-8",
            "SAKURA_DATA_DIR": str(data),
            **env,
        }
        self.process: subprocess.Popen[str] | None = None
        self.url = ""
        self.login_link = ""
        self.port = "0"
        self._token = ""

    def go_on_from(self, other: "Server") -> "Server":
        """Take the data and the token of a server that was stopped, so that neither is made anew."""
        shutil.copytree(other.data, self.data, dirs_exist_ok=True)
        self._token = other.token
        return self

    def start(self) -> "Server":
        """Start and wait until it has said where it is; a second start takes the same port."""
        log = (self.data.parent / "server.log").open("a")
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "serve", "--port", self.port],
            cwd=ROOT, env=self.env, stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        said = ""
        for line in self.process.stdout:
            said += line
            if "Stop it by" in line:
                break
        links = re.search(r"(http://\S+?)/login/\S+/", said)
        assert links, f"{said}\n{self.log()}"
        self.url, self.login_link = links[1], links[0]
        self.port = self.url.rsplit(":", 1)[1]
        wait_for(self._answers, "the server to answer")
        return self

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/healthz", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    def log(self) -> str:
        return (self.data.parent / "server.log").read_text()[-5000:]

    def kill(self) -> None:
        """End it as a crash does."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=30)

    def stop(self) -> int:
        """End it as an operator does, and return its exit status."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)

    def manage(self, *args: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *args], cwd=ROOT, env=self.env, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def token(self) -> str:
        if not self._token:
            self._token = self.manage("createtoken", "admin").strip().split("\n")[-1]
        return self._token

    def api(self, method: str, path: str, **more: Any) -> Any:
        """Call the API as admin; return the JSON of a good answer."""
        return self.answer(method, path, **more).json()

    def answer(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Call the API as admin; return a good answer as it came."""
        answer = httpx.request(
            method, f"{self.url}/api/v1{path}", headers={"Authorization": f"Bearer {self.token}"}, timeout=60, **more
        )
        assert answer.status_code < 300, f"{method} {path}: {answer.status_code} {answer.text[:2000]}"
        return answer

    def add_repository(self, source: Path, name: str = "calc", **more: Any) -> int:
        """Add a source and wait until it is mirrored; return its id."""
        added = self.api("POST", "/repositories", json={"name": name, "source": str(source), **more})

        def ready() -> bool:
            row = next(each for each in self.repositories() if each["id"] == added["id"])
            assert row["status"] != "failed", row
            return bool(row["status"] == "ready")

        wait_for(ready, "the mirror")
        return int(added["id"])

    def repositories(self) -> list[dict[str, Any]]:
        found = self.api("GET", "/repositories")
        return list(found["repositories"] if isinstance(found, dict) else found)

    def run(self, run_id: int) -> dict[str, Any]:
        return dict(self.api("GET", f"/runs/{run_id}"))

    def wait_status(self, run_id: int, *statuses: str, limit_s: float = 60.0) -> dict[str, Any]:
        """Wait until the run stands in one of the statuses; return it."""
        return wait_for(
            lambda: run if (run := self.run(run_id))["status"] in statuses else None,
            f"run {run_id} to be {' or '.join(statuses)}; it is {self.run(run_id)}",
            limit_s,
        )

    def events(self, run_id: int) -> list[dict[str, Any]]:
        """Return all events of the run."""
        found: list[dict[str, Any]] = []
        while page := self.api("GET", f"/runs/{run_id}/events?after={len(found)}&limit=500")["events"]:
            found += page
        return found
