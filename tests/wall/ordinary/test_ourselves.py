"""This very project's tests run in its own sandbox, with the Python and packages of the run that asks for them."""

import re
import shutil
from pathlib import Path

import pytest
from django.conf import settings

from tests.wall.ordinary.conftest import Desk, Toolchain, needs
from workspaces.sandbox import own

pytestmark = [pytest.mark.django_db, needs("python3", "git")]

PARTS = ("agents", "sakura_web", "static", "templates", "tests", "workspaces", "manage.py", "pyproject.toml")
NOT_COPIED = shutil.ignore_patterns("__pycache__", "node_modules", "*.pyc", "images")
OURS = (
    "tests/workspaces/test_paths.py",
    "tests/workspaces/test_globs.py",
    "tests/agents/test_transitions.py",
    "tests/agents/test_policy.py",
    "tests/agents/test_full_window.py",
    "tests/agents/templatetags",
)


@pytest.fixture
def checkout(desk: Desk) -> Desk:
    """Copy this project's files into the workspace, as the agent's own."""
    uid = desk.bench.context().place.uid
    for name in PARTS:
        source, target = Path(settings.BASE_DIR) / name, desk.tree / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=NOT_COPIED, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, target)
    for path in [desk.tree, *desk.tree.rglob("*")]:
        if ".git" not in path.relative_to(desk.tree).parts:
            own(path, uid)
    return desk


def suite(toolchain: Toolchain, tests: str, options: str) -> str:
    run = f"-m pytest -p no:cacheprovider --no-migrations {options} {tests}"
    return f"mkdir -p /tmp/data; export SAKURA_DATA_DIR=/tmp/data; {toolchain.python} {run}"


def test_tests_with_a_database_and_git_pass(checkout: Desk, toolchain: Toolchain) -> None:
    printed = checkout.runs(suite(toolchain, " ".join(OURS), "-n 2"))
    count = re.search(r"^(\d+) passed in ", printed, re.MULTILINE)
    assert count, printed
    assert int(count[1]) > 100


def test_tests_of_the_sandbox_say_why_they_are_skipped_in_one(checkout: Desk, toolchain: Toolchain) -> None:
    """There is no sandbox in a sandbox: `--disable-userns` forbids it."""
    printed = checkout.runs(suite(toolchain, "tests/workspaces/sandbox/test_run.py", "-rs"))
    assert "no sandbox here" in printed
    assert "failed" not in printed
