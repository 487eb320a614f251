"""Commands of Python projects."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from workspaces.projects.manifests import Manifests, table
from workspaces.projects.proposal import Proposal

_VENV = "python3 -m venv .venv"
_LOCKS = {
    "uv.lock": "uv sync --frozen",
    "poetry.lock": "poetry config --local virtualenvs.in-project true && poetry install",
    "Pipfile.lock": "PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev",
}
_REQUIREMENTS = ("requirements.txt", "requirements-dev.txt", "requirements-test.txt", "dev-requirements.txt")
_DEV_EXTRAS = {"dev", "test", "tests", "testing"}


@dataclass(frozen=True)
class _Tool:
    """A tool and what tells that it is set up: a table of pyproject.toml, a file of its own, a section of `places`."""

    kind: str
    command: str
    table: str = ""
    files: tuple[str, ...] = ()
    section: str = ""
    places: tuple[str, ...] = ()


_SHARED = ("setup.cfg", "tox.ini")
_TOOLS = (
    _Tool("lint", "python3 -m ruff check .", "ruff", ("ruff.toml", ".ruff.toml")),
    _Tool("lint", "python3 -m flake8", "flake8", (".flake8",), "[flake8]", _SHARED),
    _Tool("lint", "python3 -m black --check .", "black"),
    _Tool("lint", "python3 -m pylint --recursive=y .", "pylint", (".pylintrc", "pylintrc")),
    _Tool("types", "python3 -m mypy .", "mypy", ("mypy.ini", ".mypy.ini"), "[mypy]", _SHARED),
    _Tool("types", "pyright", "pyright", ("pyrightconfig.json",)),
    _Tool("test", "tox", "tox", (), "[tox]", tuple(reversed(_SHARED))),
    _Tool("test", "nox", files=("noxfile.py",)),
    _Tool("setup", "pdm sync", files=("pdm.lock",)),
)


def commands(files: Manifests) -> Iterator[Proposal]:
    """Yield what a Python project's files propose."""
    project = files.toml("pyproject.toml")
    yield from _setup(files, project)
    yield from _tests(files, project)
    yield from _tools(files, project)
    if "build-system" in project:
        yield Proposal("build", "python3 -m build", "pyproject.toml", "pyproject.toml has a build-system")


def _setup(files: Manifests, project: dict[str, Any]) -> Iterator[Proposal]:
    lock = next((name for name in _LOCKS if files.has(name)), None)
    if lock:
        yield Proposal("setup", _LOCKS[lock], lock, f"{lock} is there", first_choice=True)
        return
    wanted = list(_pip(files, project))
    if wanted:
        named = ", ".join(name for _, name in wanted)
        command = f"{_VENV} && .venv/bin/pip install {' '.join(word for word, _ in wanted)}"
        yield Proposal("setup", command, wanted[0][1], f"{named} says what the project needs", first_choice=True)


def _pip(files: Manifests, project: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what pip is to install, with the file that says so."""
    for name in _REQUIREMENTS:
        if files.has(name):
            yield f"-r {name}", name
    extras = [str(name) for name in table(project, "project", "optional-dependencies")]
    chosen = [name for name in extras if name in _DEV_EXTRAS]
    if "project" in project or "build-system" in project:
        yield f"-e '.[{','.join(chosen)}]'" if chosen else "-e .", "pyproject.toml"
    elif files.has("setup.py"):
        yield "-e .", "setup.py"


def _tests(files: Manifests, project: dict[str, Any]) -> Iterator[Proposal]:
    pytest = {"pytest.ini": True, "conftest.py": True, "tox.ini": "[pytest]" in files.text("tox.ini")}
    said = [name for name, counts in pytest.items() if counts and files.has(name)]
    said += ["pyproject.toml"] if "pytest" in table(project, "tool") else []
    lists = [name for name in files.names if re.fullmatch(r"requirements.*\.txt|setup\.cfg", name)]
    said += [name for name in sorted(lists) if "pytest" in files.text(name)]
    has_python = any(name.endswith(".py") or name == "pyproject.toml" for name in files.names)
    if said:
        yield Proposal("test", "python3 -m pytest -q", said[0], f"{said[0]} speaks of pytest", first_choice=True)
    elif files.has("tests") and has_python:
        why = "there are Python files and a folder tests"
        yield Proposal("test", "python3 -m unittest discover", "tests", why, first_choice=True)
    if files.has("manage.py") and "django" in files.text("manage.py"):
        yield Proposal("test", "python3 manage.py test", "manage.py", "manage.py is Django's")


def _tools(files: Manifests, project: dict[str, Any]) -> Iterator[Proposal]:
    for tool in _TOOLS:
        told = next((file for file in tool.files if files.has(file)), "")
        told = told or ("pyproject.toml" if tool.table and tool.table in table(project, "tool") else "")
        told = told or next((file for file in tool.places if tool.section in files.text(file)), "")
        if told:
            name = tool.command.removeprefix("python3 -m ").split()[0]
            yield Proposal(tool.kind, tool.command, told, f"{told} sets {name} up")
