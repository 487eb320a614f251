"""A place in the data folder, and how to run a command there."""

import secrets
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings

from workspaces.sandbox import Connection, Limits, Outcome, Place, own, probe, run_command, worker_uid

NUMBER = 7


@dataclass
class Runner:
    """Runs commands at one place; the last output and the process told at the start are kept."""

    place: Place
    spool: Path
    cancelled: threading.Event = field(default_factory=threading.Event)
    on_bytes: Callable[[bytes], None] = lambda data: None
    started: list[tuple[int, int]] = field(default_factory=list)
    heard: list[Connection] = field(default_factory=list)

    def __call__(self, command: str, limits: Limits | None = None, **place: Any) -> Outcome:
        return run_command(
            command,
            replace(self.place, **place),
            limits or Limits(timeout_s=30),
            spool=self.spool,
            on_bytes=self.on_bytes,
            cancelled=self.cancelled,
            on_start=lambda pid, started: self.started.append((pid, started)),
            on_connection=self.heard.append,
        )

    @property
    def output(self) -> str:
        return self.spool.read_bytes().decode("utf-8", "replace")

    @property
    def tree(self) -> Path:
        return self.place.tree


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yield a folder of the data folder that every uid may pass through; pytest's own are closed to them."""
    path = Path(django_settings.SAKURA_DATA_DIR) / "tests" / secrets.token_hex(6)
    path.mkdir(parents=True)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def run(folder: Path) -> Runner:
    if probe().level != "full":
        pytest.skip(f"no sandbox here: {probe().reasons}")
    uid = worker_uid(NUMBER)
    for name in ("tree", "home"):
        (folder / name).mkdir()
        own(folder / name, uid)
    return Runner(Place(folder / "tree", folder / "home", uid=uid), folder / "spool")


@pytest.fixture
def bare(run: Runner, settings: Any) -> Callable[[str], Outcome]:
    """Return how to run the same command without the sandbox: the control that shows an attack would have worked."""

    def without(command: str) -> Outcome:
        settings.SAKURA_SANDBOX = "off"
        try:
            return run(command)
        finally:
            settings.SAKURA_SANDBOX = "full"

    return without
