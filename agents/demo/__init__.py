"""The demo: a sample repository with a real bug, and a scripted team that tries to cheat before it fixes it."""

import hashlib
import os
import shutil
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User

from agents import control
from agents.control import Refused
from agents.demo.script import PROMPT, SCRIPT
from agents.models import Budgets, Policy, Run
from agents.models.task import SCRIPTED
from workspaces import sources
from workspaces.git import Git
from workspaces.models import Repository

PROJECT = Path(__file__).parent / "project"
NAME = "almanac (demo)"


def start(by: User | None) -> Run:
    """Launch the scripted team on the sample repository, which is made first where it is missing."""
    repository = _repository()
    return control.launch(
        by,
        repository=repository,
        title="Renewal dates are wrong at the end of a month",
        prompt=PROMPT,
        base_name=repository.default_branch,
        base_commit=sources.resolve(repository, repository.default_branch),
        model=SCRIPTED,
        script=SCRIPT,
        policy=Policy(verify=["python3 -m unittest"]).model_dump(),
        budgets=Budgets().model_dump(),
        max_rounds=3,
    )


def _repository() -> Repository:
    """Return the sample repository, mirrored and ready."""
    source = _make_source()
    known = Repository.objects.filter(is_demo=True, source=str(source)).order_by("pk").first()
    repository = known or Repository.objects.create(
        name=_free_name(), source=str(source), is_demo=True, verify=["python3 -m unittest"]
    )
    if repository.status != Repository.Status.READY:
        sources.mirror(repository.pk)
        repository.refresh_from_db()
    if repository.status != Repository.Status.READY:
        raise Refused("DEMO_FAILED", f"The sample repository could not be made: {repository.error}", 500)
    return repository


def _free_name() -> str:
    """Return a name that no demo of an earlier version has."""
    taken = set(Repository.objects.filter(name__startswith=NAME).values_list("name", flat=True)[:100])
    return next(name for name in (NAME, *(f"{NAME} {n}" for n in range(2, 103))) if name not in taken)


def _make_source() -> Path:
    """Return the folder of the sample project as a git repository with one commit; another version has another one."""
    folder = Path(settings.SAKURA_DATA_DIR) / "demo" / f"almanac-{_version()}"
    if (folder / ".git" / "refs" / "heads" / "main").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path in [folder, *folder.rglob("*")]:
        os.chmod(path, 0o755 if path.is_dir() else 0o644)
    _commit(folder)
    return folder


def _version() -> str:
    files = sorted(path for path in PROJECT.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    told = b"".join(path.relative_to(PROJECT).as_posix().encode() + b"\0" + path.read_bytes() for path in files)
    return hashlib.sha256(told).hexdigest()[:12]


def _commit(folder: Path) -> None:
    Git(folder / ".git").run("init", "--quiet", "--initial-branch=main", str(folder))
    git = Git(folder / ".git", work_tree=folder)
    git.run("add", "--all")
    identity = ("-c", "user.name=Sakura demo", "-c", "user.email=demo@localhost")
    git.run(*identity, "commit", "--quiet", "-m", "The almanac, with a bug at the end of a month")
