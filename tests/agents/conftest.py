"""What tests of a run's result share."""

import pytest

from tests.agents.reviewing import FIXED, Scene, scene
from workspaces.models import Repository


@pytest.fixture
def done(repository: Repository) -> Scene:
    """A run that mended calc.py, wrote a file and waits for a human."""
    made = scene(repository)
    made.call("edit_file", files={"calc.py": FIXED}, say="The sign is wrong.")
    made.call("write_file", files={"NOTES.md": "# Notes\n"}, say="For later.")
    return made
