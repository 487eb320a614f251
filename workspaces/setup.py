"""Set-up: what a project needs is installed once per key, in the sandbox, and mounted into every run of that key."""

import codecs
import fcntl
import hashlib
import json
import os
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path

from django.conf import settings

from workspaces import cuts, fresh
from workspaces.git import Git
from workspaces.models import Repository, Workspace
from workspaces.sandbox import Connection, Ending, Limits, Outcome, Place, own, probe, run_command, worker_uid
from workspaces.sandbox.identity import is_root
from workspaces.sandbox.layers import MADE, MAX_FOLDERS
from workspaces.sandbox.removal import remove
from workspaces.suggestions import suggest

__all__ = ["SetupFailed", "ensure", "key", "missing_program", "suggest"]

_USUAL = Limits()
LIMITS = replace(
    _USUAL,
    timeout_s=1800,
    processes=max(_USUAL.processes, 1024),
    cpu_s=max(_USUAL.cpu_s, 3600),
    file_bytes=max(_USUAL.file_bytes, 4 * 1024**3),
    open_files=max(_USUAL.open_files, 4096),
)
"""What set-up may use: more than a command of an agent, as it installs whole toolchains."""
LOCK_FILES = (
    *("requirements*.txt", "constraints*.txt", "pyproject.toml", "setup.py", "setup.cfg", "Pipfile*", "pip.conf"),
    *("package*.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", ".npmrc", ".yarnrc*", ".nvmrc"),
    *(
        "*.lock",
        "go.mod",
        "go.sum",
        "Cargo.toml",
        "rust-toolchain*",
        "Gemfile",
        "*.gemspec",
        "composer.json",
        "mix.exs",
    ),
    *("pom.xml", "build.gradle*", "gradle.lockfile", ".tool-versions", ".python-version"),
)
NEVER_KEPT = {".git", "__pycache__"}
TAIL_BYTES = 4000
OLD_S = 14 * 24 * 3600
COPY_S = 900
MISSING = re.compile(r"(?:^|: )(?:line \d+: )?(?P<name>[\w.+-]+): (?:command )?not found$", re.MULTILINE)


class SetupFailed(Exception):
    """A set-up command that failed, in one sentence; `output_tail` is the end of what it said."""

    def __init__(self, message: str, output_tail: str = "") -> None:
        super().__init__(message)
        self.message, self.output_tail = message, output_tail


@dataclass(frozen=True)
class _Work:
    """One set-up: whose, where its scratch is, and whom to tell."""

    workspace: Workspace
    scratch: Path
    on_text: Callable[[str], None]
    cancelled: threading.Event
    on_connection: Callable[[Connection], None] = lambda connection: None

    @property
    def tree(self) -> Path:
        return self.scratch / "tree"

    @property
    def home(self) -> Path:
        return self.scratch / "home"


def key(workspace: Workspace) -> str:
    """Return what set-up depends on, as a short word: its commands, the base's lock files, and the toolchains."""
    commands = [str(command) for command in workspace.repository.setup]
    files = [line for line in _tree(workspace) if _counts(line.rpartition("\t")[2], commands)]
    told = [commands, files, [str(path) for path in settings.SAKURA_TOOLCHAINS], _system()]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:20]


def _system() -> list[str]:
    release = Path("/etc/os-release")
    python = os.path.realpath("/usr/bin/python3")
    return [release.read_text(encoding="utf-8", errors="replace") if release.exists() else "", python]


def _tree(workspace: Workspace) -> list[str]:
    """Return the base's entries as `mode type object<tab>path`, folders with what is in them."""
    listing = Git(workspace.repository.mirror).run("ls-tree", "-r", "-t", "-z", workspace.base_commit)
    return [line for line in listing.decode("utf-8", "surrogateescape").split("\0") if line]


def _counts(path: str, commands: list[str]) -> bool:
    """Return whether a file decides what set-up makes: a lock file anywhere, or one that a command names."""
    name = path.rpartition("/")[2]
    return any(fnmatch(name, pattern) for pattern in LOCK_FILES) or any(
        path in re.split(r"[\s'\"=;&|()<>]+(?:\./)?", f" {command}") for command in commands
    )


def ensure(
    workspace: Workspace,
    on_text: Callable[[str], None],
    cancelled: threading.Event,
    on_connection: Callable[[Connection], None] = lambda connection: None,
) -> Path | None:
    """Return the folder of what set-up made, for Place.environment; run the set-up commands where nobody did yet.

    None where the repository has no set-up, and where SAKURA_SANDBOX=off (they then ran in the tree itself). Whoever
    comes while another sets the same key up waits. Raises SetupFailed; nothing is left of a failed set-up.
    """
    if not workspace.repository.setup:
        return None
    word = key(workspace)
    if probe().level == "off":
        _in_the_tree(workspace, word, on_text, cancelled, on_connection)
        return None
    wanted = workspace.repository.folder / "env" / word
    with _alone(wanted.with_name(f"{word}.lock"), on_text, cancelled):
        if not (wanted / MADE).exists():
            _set_up(workspace, wanted, on_text, cancelled, on_connection)
    os.utime(wanted / MADE)
    return _private(workspace, wanted) if is_root() else wanted


@contextmanager
def _alone(lock: Path, on_text: Callable[[str], None], cancelled: threading.Event) -> Iterator[None]:
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        told = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not told:
                    on_text("Waiting for another run that sets the same project up.\n")
                told = True
            if cancelled.wait(0.2):
                raise SetupFailed("Waiting for the set-up of another run was cancelled.")
        yield


def _set_up(
    workspace: Workspace,
    wanted: Path,
    on_text: Callable[[str], None],
    cancelled: threading.Event,
    on_connection: Callable[[Connection], None],
) -> None:
    _forget_old(wanted.parent)
    with ExitStack() as held:
        scratch = Path(tempfile.mkdtemp(prefix="making-", dir=wanted.parent))
        work = _Work(workspace, scratch, on_text, cancelled, on_connection)
        held.callback(remove, work.scratch)
        work.scratch.chmod(0o711)
        folders = _check_out(work)
        began = time.monotonic()
        for command in workspace.repository.setup:
            _run(work, str(command))
        made = _keep(work, folders) | {"seconds": round(time.monotonic() - began, 1)}
        (work.scratch / "kept" / MADE).write_text(json.dumps(made), encoding="utf-8")
        (work.scratch / "kept").rename(wanted)


def _check_out(work: _Work) -> set[str]:
    """Lay the base out, all of it, as people wrote it; return its folders."""
    fresh.lay_out_base(work.scratch, work.workspace)
    return {line.rpartition("\t")[2] for line in _tree(work.workspace) if line.split()[1] == "tree"}


def _place(work: _Work) -> Place:
    repository = work.workspace.repository
    return Place(
        tree=work.tree,
        home=work.home,
        uid=worker_uid(work.workspace.pk),
        objects=repository.mirror / "objects",
        network=tuple(repository.setup_hosts),
    )


def _run(work: _Work, command: str) -> None:
    """Run one set-up command; raises SetupFailed unless it ends with 0."""
    work.on_text(f"$ {command}\n")
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    spool = work.scratch / "said"
    outcome = run_command(
        command,
        _place(work),
        LIMITS,
        spool=spool,
        on_bytes=lambda data: work.on_text(decoder.decode(data)),
        cancelled=work.cancelled,
        on_start=lambda pid, started: None,
        on_connection=work.on_connection,
    )
    if outcome.ending is not Ending.EXIT or outcome.exit_code != 0:
        tail = _tail(spool)
        raise SetupFailed(_failure(work.workspace.repository, command, outcome, tail), tail)


def _failure(repository: Repository, command: str, outcome: Outcome, tail: str) -> str:
    what = f"Set-up command `{command}` of {repository.name}"
    match outcome.ending:
        case Ending.UNAVAILABLE:
            return f"{what} can't run. {outcome.why}"
        case Ending.CANCELLED:
            return f"{what} was cancelled."
        case Ending.EXIT:
            missing = missing_program(tail) if outcome.exit_code == 127 else None
            hint = f" {missing} is not installed here: name its folder in SAKURA_TOOLCHAINS." if missing else ""
            refused = _refused(outcome)
            hint += f" It was refused the way to {', '.join(refused)}: add it to the set-up hosts." if refused else ""
            return f"{what} ended with exit code {outcome.exit_code}.{hint}"
        case ending:
            return f"{what} was ended: {ending.value.replace('_', ' ')}."


def _refused(outcome: Outcome) -> list[str]:
    found = {str(made["target"]) for made in outcome.applied.get("connections", ()) if made["refused"]}
    return sorted(found - {""})[:10]


def _tail(spool: Path) -> str:
    if not spool.exists():
        return ""
    with spool.open("rb") as file:
        start = max(0, spool.stat().st_size - TAIL_BYTES)
        return cuts.read(file.fileno(), start, TAIL_BYTES).decode("utf-8", "replace")


def _keep(work: _Work, folders: set[str]) -> dict[str, list[str]]:
    """Move what set-up made below `kept`; return its names. The folders of the base themselves are not kept."""
    found = list(_new_folders(work.tree, folders))
    homely = sorted(entry.name for entry in os.scandir(work.home) if not entry.is_symlink())
    for part, names in (("tree", found), ("home", homely)):
        if len(names) > MAX_FOLDERS:
            work.on_text(f"Set-up made {len(names)} folders; the first {MAX_FOLDERS} are kept.\n")
        (work.scratch / "kept" / part).mkdir(parents=True)
        for name in names[:MAX_FOLDERS]:
            target = work.scratch / "kept" / part / name
            target.parent.mkdir(parents=True, exist_ok=True)
            (work.scratch / part / name).rename(target)
    return {"tree": found[:MAX_FOLDERS], "home": homely[:MAX_FOLDERS]}


def _new_folders(tree: Path, known: set[str]) -> Iterator[str]:
    """Yield the folders that the base does not have, each as a whole, nearest the top first."""
    for parent, names, _ in os.walk(tree):
        inner = []
        for name in sorted(names):
            relative = (Path(parent) / name).relative_to(tree).as_posix()
            if relative in known:
                inner.append(name)
            elif name not in NEVER_KEPT and not (Path(parent) / name).is_symlink():
                yield relative
        names[:] = inner


def _private(workspace: Workspace, made: Path) -> Path:
    """Return the run's own copy: as root each run has its own uid, and a layer takes no writes over another's files."""
    wanted = workspace.folder / "environment" / made.name
    if wanted.exists():
        return wanted
    wanted.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        making = Path(tempfile.mkdtemp(prefix="making-", dir=wanted.parent))
        held.callback(remove, making)
        copied = making / "made"
        words = ["cp", "-a", "--reflink=auto", "--", str(made), str(copied)]
        done = subprocess.run(words, capture_output=True, timeout=COPY_S, check=False)
        if done.returncode != 0:
            said = cuts.tail(done.stderr.decode("utf-8", "replace").strip(), 500)
            raise SetupFailed(f"What set-up made can't be copied for run {workspace.pk}: {said}")
        own(copied, worker_uid(workspace.pk))
        copied.rename(wanted)
    return wanted


def _forget_old(folder: Path) -> None:
    """Remove what no run has asked for in two weeks, and what a dead server left half made."""
    for path in folder.iterdir():
        mark = path / MADE if (path / MADE).exists() else path
        if path.is_dir() and mark.stat().st_mtime < time.time() - OLD_S:
            remove(path)


def _in_the_tree(
    workspace: Workspace,
    word: str,
    on_text: Callable[[str], None],
    cancelled: threading.Event,
    on_connection: Callable[[Connection], None],
) -> None:
    """Set up in the run's own tree, once: without a sandbox nothing can be mounted."""
    mark = workspace.tree.parent / f"set-up-{word}"
    if mark.exists():
        return
    with tempfile.TemporaryDirectory(prefix="set-up-", dir=workspace.folder) as name:
        (Path(name) / "tree").symlink_to(workspace.tree)
        (Path(name) / "home").symlink_to(workspace.home)
        work = _Work(workspace, Path(name), on_text, cancelled, on_connection)
        for command in workspace.repository.setup:
            _run(work, str(command))
    mark.touch()


def missing_program(output: str) -> str | None:
    """Return the program that a shell said it could not find (exit code 127), None where it said no such thing."""
    found = MISSING.search(output)
    return found["name"] if found else None
