"""Makes and refreshes the mirror of a source: fetches only, in view of whoever waits, and can be stopped."""

import os
import re
import shlex
import shutil
import time
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from django.utils import timezone

from workspaces import credentials
from workspaces.git import Bounds, Git, GitError, GitStopped, locked, make_bare
from workspaces.models import Repository
from workspaces.remotes import SourceError, local_path, no_folder, program, source_error, talk
from workspaces.store import SUBMODULE, listing, read_blobs

SECONDS_LIMIT = 2 * 3600
BYTES_LIMIT = 20 * 1024**3
FREE_BYTES = 512 * 1024**2
"""What must stay free on the disk."""
LOCK_S = 20
STALE_S = 300
"""Seconds after which a lock in the mirror is one that a killed server left."""
REFS_LIMIT = 16 * 1024 * 1024
"""Bytes of the list of a source's refs."""
LINE_LIMIT = 5000
"""Characters of a file that says where a repository is."""
CLAIM = timedelta(seconds=60)
HEAD_REF = "refs/sakura/head"
REFSPECS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")

_PROGRESS = re.compile(r"(?:remote: )?([A-Z][A-Za-z ]+): +(\d+)%(?: \([\d/]+\), ([\d.]+ [KMGT]iB))?")


def mirror(repository_id: int) -> None:
    """Mirror a repository that waits for it; blocks, keeps its row up to date, and sets it ready or failed.

    A row that is not `mirroring` (any more) is left alone.
    """
    repository = Repository.objects.filter(pk=repository_id, status=Repository.Status.MIRRORING).first()
    if repository is None:
        return
    watch = Watch(repository)
    try:
        with locked(repository.folder / "lock", LOCK_S):
            fetched = _fetch(repository, Bounds(SECONDS_LIMIT, on_error=watch.hear, stop=watch.must_stop))
    except TimeoutError:
        return  # another is at it; the row waits for its turn
    except SourceError as error:
        _settle(repository, status=Repository.Status.FAILED, error=str(watch.why or error))
    else:
        _settle(repository, status=Repository.Status.READY, error="", fetched_at=timezone.now(), **fetched)


def refresh(repository: Repository, timeout_s: float = 60) -> bool:
    """Fetch now and return whether that worked; if not, the mirror stays as it was and `error` says why."""
    started = time.monotonic()
    try:
        with locked(repository.folder / "lock", timeout_s):
            left = max(1.0, timeout_s - (time.monotonic() - started))
            changed = _fetch(repository, Bounds(left)) | {"fetched_at": timezone.now(), "error": ""}
    except SourceError as error:
        changed = {"error": str(error)}
    except TimeoutError:
        changed = {"error": f"{repository.source}: another fetch of it was still at work; try again."}
    Repository.objects.filter(pk=repository.pk, status=Repository.Status.READY).update(**changed)
    for name, value in changed.items():
        setattr(repository, name, value)
    return not changed["error"]


def _settle(repository: Repository, **changes: object) -> None:
    row = Repository.objects.filter(pk=repository.pk, status=Repository.Status.MIRRORING)
    row.update(progress="", percent=None, claimed_until=None, cancel_requested=False, **changes)


def _fetch(repository: Repository, bounds: Bounds) -> dict[str, object]:
    """Bring the mirror up to date and return what changed of the row. Raises SourceError."""
    try:
        _must_be_whole(repository)
        heads = _heads(repository, bounds)
        git = make_bare(repository.mirror, shared=True)
        repository.folder.chmod(0o755)
        _tidy(repository.mirror)
        specs = (*REFSPECS, f"+HEAD:{HEAD_REF}") if heads.commit else REFSPECS
        options = ("--progress", "--prune", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
        talk(repository, repository.mirror).run_within(
            bounds,
            *_kept_packed(repository.mirror),
            "fetch",
            *options,
            *program(repository, "upload-pack"),
            "--",
            repository.source,
            *specs,
        )
        if heads.branch:
            git.run("symbolic-ref", "HEAD", f"refs/heads/{heads.branch}")
        return {"default_branch": heads.branch or heads.commit, "notices": _notices(git, heads)}
    except GitStopped:
        raise SourceError("CANCELLED", f"{repository.source}: mirroring was cancelled.") from None
    except GitError as error:
        raise source_error(repository, error) from error
    except credentials.CredentialUnreadable as error:
        raise SourceError("CREDENTIAL", f"{repository.source}: {error}") from error
    except FileNotFoundError:
        raise no_folder(repository) from None


def _kept_packed(mirror: Path) -> tuple[str, ...]:
    """Let the first fetch keep the pack as it comes: git unpacks a small number of objects, and is silent meanwhile,
    however large they are."""
    return () if any((mirror / "objects" / "pack").glob("*.pack")) else ("-c", "fetch.unpackLimit=1")


def _tidy(mirror: Path) -> None:
    """Take away what a fetch left that was killed: half packs, and locks that are nobody's any more."""
    for left in (mirror / "objects" / "pack").glob("tmp_*"):
        left.unlink(missing_ok=True)
    for lock in (*mirror.glob("*.lock"), *(mirror / "refs").rglob("*.lock")):
        if time.time() - lock.stat().st_mtime > STALE_S:
            lock.unlink(missing_ok=True)


# --- what the source has -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Heads:
    """The source's HEAD: its commit, and its branch unless it is detached."""

    commit: str
    branch: str


def _heads(repository: Repository, bounds: Bounds) -> Heads:
    """Ask the source what it has. Raises SourceError for one that is empty or of SHA-256."""
    bounds = replace(bounds, limit_bytes=REFS_LIMIT, on_error=None)
    where = (*program(repository, "upload-pack"), "--", repository.source)
    out = talk(repository, None).run_within(bounds, "ls-remote", "--symref", *where)
    refs: dict[str, str] = {}
    pointed = ""
    for line in out.decode(errors="replace").splitlines():
        value, _, name = line.partition("\t")
        if value.startswith("ref: "):
            pointed = value.removeprefix("ref: refs/heads/") if name == "HEAD" else pointed
        else:
            refs[name] = value
    branches = [name.removeprefix("refs/heads/") for name in refs if name.startswith("refs/heads/")]
    _must_be_usable(repository, refs, branches)
    if "HEAD" in refs:
        return Heads(refs["HEAD"], pointed if pointed in branches else "")
    return Heads("", next((name for name in ("main", "master") if name in branches), branches[0]))


def _must_be_usable(repository: Repository, refs: dict[str, str], branches: list[str]) -> None:
    where = repository.source
    if any(len(value) != 40 for value in refs.values()):
        raise SourceError(
            "SHA256", f"{where}: it is a SHA-256 repository, which Sakura can't work with; use a SHA-1 one."
        )
    if not branches and "HEAD" not in refs:
        raise SourceError("NO_COMMITS", f"{where}: it has no commits; make a first commit there, then try again.")


def _must_be_whole(repository: Repository) -> None:
    """Raise SourceError for a local source that has only part of its history or objects."""
    path = local_path(repository.source)
    if path is None:
        return
    if not path.is_dir():
        raise FileNotFoundError(path)
    git_dir = git_dir_of(path)
    if git_dir is None:
        raise SourceError(
            "NOT_FOUND", f"{path}: it is no git repository; run `git init` and make a first commit there."
        )
    where = shlex.quote(str(path))
    if (git_dir / "shallow").exists():
        raise SourceError(
            "SHALLOW", f"{path}: it is a shallow clone; run `git -C {where} fetch --unshallow`, then try again."
        )
    names = r"\.promisor$|^extensions\.partialclone$"
    out = Git(None).run("config", "--file", str(git_dir / "config"), "--get-regexp", names, ok=(0, 1))
    if out:
        raise SourceError(
            "PARTIAL",
            f"{path}: it is a partial clone, so objects are missing; run `git -C {where} fetch --refetch --no-filter`, "
            f"then `git -C {where} config --unset remote.origin.promisor`, and try again.",
        )


def git_dir_of(path: Path) -> Path | None:
    """Return the folder with the objects of a local repository: bare, with a work tree, or a linked work tree."""
    marker = path / ".git"
    try:
        if marker.is_file():
            found = (path / _line(marker).removeprefix("gitdir:").strip()).resolve()
            common = found / "commondir"
            return (found / _line(common).strip()).resolve() if common.is_file() else found
        return next(
            (each for each in (marker, path) if (each / "HEAD").is_file() and (each / "objects").is_dir()), None
        )
    except PermissionError:
        raise SourceError("DENIED", f"{path}: the user that runs Sakura may not read it; give it access.") from None


def _line(file: Path) -> str:
    with file.open(errors="surrogateescape") as opened:
        return opened.read(LINE_LIMIT)


def _notices(git: Git, heads: Heads) -> list[str]:
    """Return what a human should know of the default branch's files."""
    tree = listing(git, heads.commit or f"refs/heads/{heads.branch}")
    modules = sum(entry.mode == SUBMODULE for entry in tree.values())
    notices = []
    if modules:
        notices.append(f"It has {modules} submodule{'s' * (modules > 1)}: agents see them as empty folders.")
    attributes = {entry.oid for path, entry in tree.items() if path.rpartition(b"/")[2] == b".gitattributes"}
    if any(b"filter=lfs" in data for _, data in read_blobs(git, attributes)):
        notices.append("It uses Git LFS: agents see the pointer files, not the large files themselves.")
    return notices


# --- while it lasts ----------------------------------------------------------------------------------


class Watch:
    """Writes progress to the row (at most twice a second), and says when to stop: cancelled, gone, or too large."""

    def __init__(self, repository: Repository) -> None:
        self.why: SourceError | None = None
        self._repository = repository
        self._said: tuple[str, int | None] = ("", None)
        self._written = 0.0
        self._measured = time.monotonic()

    def hear(self, piece: bytes) -> None:
        found = _PROGRESS.findall(piece.decode(errors="replace"))
        if found:
            phase, percent, size = found[-1]
            self._said = (f"{phase}: {percent} %{f', {size}' if size else ''}", min(100, int(percent)))

    def must_stop(self) -> bool:
        now = time.monotonic()
        if now - self._written < 0.5:
            return False
        self._written = now
        row = Repository.objects.filter(pk=self._repository.pk, status=Repository.Status.MIRRORING)
        progress, percent = self._said
        if not row.update(progress=progress, percent=percent, claimed_until=timezone.now() + CLAIM):
            return True
        if now - self._measured > 5:
            self._measured = now
            self.why = _no_room(self._repository)
        return self.why is not None or row.filter(cancel_requested=True).exists()


def _no_room(repository: Repository) -> SourceError | None:
    where = repository.source
    if shutil.disk_usage(repository.folder).free < FREE_BYTES:
        return SourceError("DISK_FULL", f"{where}: the disk of the server is nearly full; make room, then try again.")
    packs = repository.mirror / "objects" / "pack"
    size = sum(entry.stat().st_size for entry in os.scandir(packs)) if packs.is_dir() else 0
    if size > BYTES_LIMIT:
        return SourceError("TOO_LARGE", f"{where}: it is larger than {BYTES_LIMIT // 1024**3} GB, so it was left.")
    return None
