"""What all tests share: three people, a real git source, and a worker that runs in the test's own thread."""

import atexit
import functools
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connections
from django.utils import timezone
from pytest_django import Settings

from agents import control, lease, worker
from agents.models import Budgets, Policy, Role, Run
from agents.session import Session
from workspaces import sources
from workspaces.models import Repository

GIT_ENV = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
}

BEGAN = f"{int(time.time())} +0000"
"""When all sources of `source` were committed: so they are one, and mirrored but once."""


def git(folder: Path, *args: str, **env: str) -> str:
    """Run plain git in a folder of the test, with no configuration of the machine."""
    done = subprocess.run(["git", *args], cwd=folder, env=GIT_ENV | env, capture_output=True, check=True, text=True)
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, settings: Settings) -> Path:
    """Give each test a data folder of its own, which every uid can reach."""
    for folder in [tmp_path, *list(tmp_path.parents)[:3]]:
        if folder.owner() != "root" or str(folder).count("/") > 1:
            folder.chmod(0o755)
    data = tmp_path / "data"
    data.mkdir()
    settings.SAKURA_DATA_DIR = data
    settings.SAKURA_RUNS_DIR = data / "runs"
    return data


@pytest.fixture(autouse=True)
def quick_passwords(settings: Settings) -> None:
    """Hash passwords in no time: how slow the real hash is, is Django's to test."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def person(name: str, *roles: Role) -> User:
    user = User.objects.create_user(name, password=f"{name}-has-a-long-password")
    user.groups.set([Group.objects.get_or_create(name=role)[0] for role in roles])
    return user


@pytest.fixture
def owner(db: None) -> User:
    """Who set Sakura up: every role."""
    return person("owner", Role.ADMIN)


@pytest.fixture
def teammate(db: None) -> User:
    """Who launches and reviews."""
    return person("teammate", Role.OPERATOR, Role.REVIEWER)


@pytest.fixture
def stranger(db: None) -> User:
    """Who has an account and no role."""
    return person("stranger")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A git repository of a small project, as a person has it on disk."""
    folder = tmp_path / "source"
    (folder / "tests").mkdir(parents=True)
    (folder / "README.md").write_text("# calc\n\nAdds numbers.\n")
    (folder / "calc.py").write_text("def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return add(a, a)\n")
    (folder / "tests" / "test_calc.py").write_text(
        "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
    )
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "First", GIT_AUTHOR_DATE=BEGAN, GIT_COMMITTER_DATE=BEGAN)
    return folder


@pytest.fixture
def repository(db: None, source: Path) -> Repository:
    """The source, added and mirrored."""
    return mirrored(source)


def mirrored(source: Path) -> Repository:
    """Return the source as it is once it was mirrored; the mirror is a copy where one of the same refs was made."""
    row = Repository.objects.create(name="calc", source=str(source))
    refs = _refs(source)
    if refs in _MADE:
        folder, found = _MADE[refs]
        shutil.copytree(folder, row.folder)
        Repository.objects.filter(pk=row.pk).update(fetched_at=timezone.now(), **found)
    else:
        sources.mirror(row.pk)
    row.refresh_from_db()
    assert row.status == Repository.Status.READY, row.error
    if refs and refs not in _MADE:
        folder = shutil.copytree(row.folder, _mirrors() / str(len(_MADE)))
        _MADE[refs] = folder, {name: getattr(row, name) for name in ("status", "default_branch", "notices")}
    return row


_Refs = tuple[tuple[str, bytes], ...]
_MADE: dict[_Refs, tuple[Path, dict[str, Any]]] = {}
"""Mirrors to copy, by the refs of their sources, with what mirroring found out of these."""


@functools.cache
def _mirrors() -> Path:
    """Return a folder for mirrors to copy, which goes with this process."""
    folder = tempfile.TemporaryDirectory(prefix="mirrors-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


def _refs(source: Path) -> _Refs:
    """Return all that names a commit in a plain git repository, () for another."""
    places = [source / ".git" / name for name in ("HEAD", "packed-refs")]
    places += sorted((source / ".git" / "refs").rglob("*"))
    return tuple((str(path.relative_to(source)), path.read_bytes()) for path in places if path.is_file())


def task_fields(repository: Repository) -> dict[str, Any]:
    """Return the fields of a task on the repository's main branch, played from a script."""
    return {
        "repository": repository,
        "title": "Mend add",
        "prompt": "add subtracts. Mend it.",
        "base_name": "main",
        "base_commit": sources.resolve(repository, "main"),
        "model": "scripted",
        "policy": Policy().model_dump(),
        "budgets": Budgets().model_dump(),
    }


TASK_FORM = {
    "title": "Mend add",
    "prompt": "add subtracts. Mend it.",
    "model": "scripted",
    "script": json.dumps({"implementer": [{"text": "Hello."}]}),
    "toolset": "standard",
    "max_rounds": "3",
    "steps": "60",
    "minutes": "45",
    "tokens": "1,000,000",
    "usd": "5.00",
    "max_files": "200",
    "max_lines": "5,000",
}
"""What the form of a new task sends, beside the repository, for a person who fills in only what must be."""


@pytest.fixture
def launch(repository: Repository) -> Callable[..., Run]:
    """Launch a task of the scripted model on the repository: launch(script, by=None, **fields)."""

    def start(script: dict[str, Any], by: User | None = None, **fields: Any) -> Run:
        return control.launch(by, script=script, **(task_fields(repository) | fields))

    return start


def work_once() -> Run | None:
    """Claim the next run and work on it in this thread, as a worker would; None when there is none to claim."""
    held = lease.claim()
    if held is None:
        return None
    session = Session(held)
    worker.work(session)
    return Run.objects.get(pk=held.run_id)


@pytest.fixture(autouse=True)
def plain_process_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run worked on in the test's thread must not close the test's own connection."""
    monkeypatch.setattr(connections, "close_all", lambda: None)
