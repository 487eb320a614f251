"""What tests of a run's result, and of what is live, share."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from agents import doorbell
from tests.agents.providers.conftest import loopback as loopback
from tests.agents.reviewing import FIXED, Scene, scene
from workspaces.models import Repository


@pytest.fixture
def done(repository: Repository) -> Scene:
    """A run that mended calc.py, wrote a file and waits for a human."""
    made = scene(repository)
    made.call("edit_file", files={"calc.py": FIXED}, say="The sign is wrong.")
    made.call("write_file", files={"NOTES.md": "# Notes\n"}, say="For later.")
    return made


@pytest.fixture
async def server_loop() -> AsyncIterator[None]:
    """Let the doorbell ring on the loop of the test, as a server does on its own."""
    doorbell.use_loop(asyncio.get_running_loop())
    yield
    doorbell.use_loop(None)
