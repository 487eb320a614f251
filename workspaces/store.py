"""The run store: objects, trees and the chain of snapshots of each run, in one bare repository that no agent sees."""

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from workspaces import objects
from workspaces.git import Git, GitError, make_bare
from workspaces.models import Repository, Snapshot, Workspace

LINK, FILE, EXECUTABLE, SUBMODULE = "120000", "100644", "100755", "160000"
NO_MODE = "000000"
"""What git says of a side where there is no file."""
STORED_LIMIT = 50 * 1024 * 1024
"""Bytes up to which a file that a run made is stored; of a larger one only size and hash are."""
LEFT_S = 3600
"""Seconds after which scratch of ours is nobody's any more."""
BATCH_LIMIT = 64 * 1024 * 1024
"""Bytes of blobs that are read from git at a time."""

_STAND_IN = re.compile(rb"sakura: not stored, (\d+) bytes, sha256 ([0-9a-f]{64})\n")


class StoreError(Exception):
    """What can't be kept or found in a run store; the message says what, on what, and what to try."""


class TreeEntry(NamedTuple):
    """What a tree says of one path: the mode as in git, and the object."""

    mode: str
    oid: str


Tree = dict[bytes, TreeEntry]


def ensure(repository: Repository) -> Git:
    """Return the repository's run store, made if it isn't there; it borrows the mirror's objects."""
    folder = repository.store
    alternates = folder / "objects" / "info" / "alternates"
    if not alternates.exists():
        make_bare(folder)
        folder.chmod(0o700)
        for number in range(256):  # where objects go; made now, so that no snapshot has to
            (folder / "objects" / f"{number:02x}").mkdir(exist_ok=True)
        alternates.parent.mkdir(exist_ok=True)
        alternates.write_text("../../mirror.git/objects\n")
    return Git(folder)


def run_ref(workspace: Workspace) -> str:
    """Return the ref that names the run's latest snapshot."""
    return f"refs/sakura/runs/{workspace.pk}"


def latest(workspace: Workspace) -> Snapshot:
    """Return the run's latest snapshot. Raises StoreError before the workspace was prepared."""
    found = Snapshot.objects.filter(workspace=workspace).order_by("-number").first()
    if found is None:
        raise StoreError(f"Workspace {workspace.pk} has no snapshot yet: it was never prepared.")
    return found


def at(workspace: Workspace, number: int | None) -> Snapshot:
    """Return the snapshot of this number, or the latest for None. Raises StoreError."""
    if number is None:
        return latest(workspace)
    found = Snapshot.objects.filter(workspace=workspace, number=number).first()
    if found is None:
        raise StoreError(
            f"There is no snapshot {number} of run {workspace.pk}; the latest is {latest(workspace).number}."
        )
    return found


# --- objects -----------------------------------------------------------------------------------------


def blob_id(size: int, pieces: Iterable[bytes]) -> str:
    """Return the id that git gives to these bytes."""
    return objects.object_id("blob", size, pieces)


def write_blob(folder: Path, data: bytes) -> str:
    """Store the bytes, as they are, durably in the repository at `folder`, and return the blob's id."""
    return objects.write(folder, "blob", data)


def read_blob(git: Git, oid: str, limit_bytes: int = STORED_LIMIT * 4) -> bytes:
    """Return a blob whole. Raises GitError when it is larger than the limit."""
    return git.run("cat-file", "blob", oid, limit_bytes=limit_bytes)


def read_head(git: Git, oid: str, limit_bytes: int) -> bytes:
    """Return the first bytes of a blob, without taking the rest."""
    return git.head("cat-file", "blob", oid, limit_bytes=limit_bytes)


def blob_sizes(git: Git, oids: Iterable[str]) -> dict[str, int]:
    """Return the size of each blob; one that isn't there is left out. One process."""
    wanted = dict.fromkeys(oids)
    if not wanted:
        return {}
    out = git.run("cat-file", "--batch-check=%(objectname) %(objectsize)", input="\n".join(wanted).encode() + b"\n")
    parts = (line.split() for line in out.decode().splitlines())
    return {part[0]: int(part[1]) for part in parts if part[1] != "missing"}


def read_blobs(git: Git, oids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield each blob with its bytes, about 64 MB in memory at a time."""
    batch: list[str] = []
    total = 0
    for oid, size in blob_sizes(git, oids).items():
        if batch and total + size > BATCH_LIMIT:
            yield from _batch(git, batch, total)
            batch, total = [], 0
        batch.append(oid)
        total += size
    if batch:
        yield from _batch(git, batch, total)


def _batch(git: Git, oids: list[str], total: int) -> Iterator[tuple[str, bytes]]:
    out = git.run("cat-file", "--batch", input="\n".join(oids).encode() + b"\n", limit_bytes=total + 128 * len(oids))
    start = 0
    for oid in oids:
        head = out.index(b"\n", start)
        size = int(out[start:head].rsplit(b" ", 1)[1])
        yield oid, out[head + 1 : head + 1 + size]
        start = head + size + 2


def stand_in(size: int, sha256: str) -> bytes:
    """Return what is stored in place of a file that is too large."""
    return b"sakura: not stored, %d bytes, sha256 %s\n" % (size, sha256.encode())


def stood_in(data: bytes) -> int | None:
    """Return the size of the file that these bytes stand for, or None where they stand for themselves."""
    found = _STAND_IN.fullmatch(data) if len(data) < 200 else None
    return int(found[1]) if found else None


STAND_IN_SIZES = range(len(stand_in(STORED_LIMIT, "0" * 64)), len(stand_in(10**18, "0" * 64)) + 1)
"""What a stand-in may measure; any other blob needs no look."""


def stand_ins(git: Git, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return, of these blobs and their sizes, those that are stand-ins, with the size of what they stand for."""
    suspects = [oid for oid, size in sizes.items() if size in STAND_IN_SIZES]
    found = ((oid, stood_in(data)) for oid, data in read_blobs(git, suspects))
    return {oid: size for oid, size in found if size is not None}


# --- trees -------------------------------------------------------------------------------------------


def listing(git: Git, tree: str, *paths: bytes) -> Tree:
    """Return all files, links and submodules of a tree, or of some paths in it (a folder's: all below it)."""
    names = [os.fsdecode(path) for path in paths]
    out = git.run("ls-tree", "-r", "-z", "--full-tree", tree, "--", *names)
    found: Tree = {}
    for record in out.split(b"\0")[:-1]:
        head, path = record.split(b"\t", 1)
        mode, _, oid = head.decode().split()
        found[path] = TreeEntry(mode, oid)
    return found


def entry(git: Git, tree: str, path: bytes) -> TreeEntry | None:
    """Return what the tree has at this very path, if that is no folder; nothing for a path that no tree can hold."""
    if b"\0" in path or {b"", b".", b".."} & set(path.split(b"/")):
        return None
    return listing(git, tree, path).get(path)


def build_tree(git: Git, base: str, changes: Mapping[bytes, TreeEntry | None]) -> str:
    """Return the tree that comes from `base` by these changes; None takes a path away. Touches no working tree."""
    assert git.git_dir is not None
    gone = [b"0 %s\t%s\0" % (b"0" * 40, path) for path, new in changes.items() if new is None]
    come = [b"%s %s\t%s\0" % (new.mode.encode(), new.oid.encode(), path) for path, new in changes.items() if new]
    with tempfile.TemporaryDirectory(prefix="index-", dir=git.git_dir) as folder:
        indexed = Git(git.git_dir, index=Path(folder) / "index")
        indexed.run("read-tree", base)
        indexed.run("update-index", "-z", "--index-info", input=b"".join(gone + come))
        return indexed.text("write-tree")


def tree_of(git: Git, commit: str) -> str:
    """Return the id of a commit's tree. Raises GitError for what is no commit."""
    return git.text("rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}")


# --- the chain ---------------------------------------------------------------------------------------


def begin(workspace: Workspace, git: Git) -> Snapshot:
    """Return snapshot 0, the baseline, made if the run has none: its commit is the base itself."""
    known = Snapshot.objects.filter(workspace=workspace, number=0).first()
    if known is not None:
        return known
    tree = tree_of(git, workspace.base_commit)
    git.run("update-ref", run_ref(workspace), workspace.base_commit)
    row, _ = Snapshot.objects.get_or_create(
        workspace=workspace, number=0, defaults={"tree": tree, "commit": workspace.base_commit}
    )
    return row


def chain(workspace: Workspace, git: Git, before: Snapshot, tree: str, message: str) -> str:
    """Commit the tree on top of a snapshot, move the run's ref to it and return the commit. Raises StoreError."""
    commit = objects.write(workspace.repository.store, "commit", objects.commit_data(tree, before.commit, message))
    move_ref(workspace, git, before, commit)
    return commit


def move_ref(workspace: Workspace, git: Git, before: Snapshot, commit: str) -> None:
    """Move the run's ref from a snapshot's commit to a new one, which is durable already.

    Raises StoreError when somebody else made a snapshot in the meantime. A commit that the ref names and no row knows
    is what a broken-off transaction left behind, an older snapshot's what a crash of the machine did; both are passed
    over.
    """
    ref = run_ref(workspace)
    try:
        git.run("update-ref", ref, commit, before.commit)
    except GitError:
        current = git.text("rev-parse", "--verify", "--quiet", ref, ok=(0, 1))
        later = Snapshot.objects.filter(workspace=workspace, commit=current, number__gt=before.number)
        if current and later.exists():
            raise StoreError(
                f"Another snapshot of run {workspace.pk} was made in the meantime; look at the latest and try again."
            ) from None
        git.run("update-ref", ref, commit, current or "0" * 40)


def unlock(workspace: Workspace) -> None:
    """Take away the lock of the run's ref that a server left when it was killed. For who holds the run."""
    lock = workspace.repository.store / f"{run_ref(workspace)}.lock"
    lock.unlink(missing_ok=True)


def pack(repository: Repository) -> None:
    """Pack the run store; nothing is thrown away, also what no ref names (bytes that only baselines know)."""
    if not repository.store.exists():
        return
    Git(repository.store).run("repack", "-a", "-d", "-l", "-k", "-q", timeout_s=600)
    objects.sweep(repository.store, LEFT_S)
    for left in repository.store.glob("*-????????"):  # scratch folders of a server that was killed
        if left.name.startswith(("index-", "rules-")) and time.time() - left.stat().st_mtime > LEFT_S:
            shutil.rmtree(left, ignore_errors=True)
