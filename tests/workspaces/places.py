"""What tests share: a mirrored source, a workspace laid out at its main branch, and short words for snapshots."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agents import policies, policy
from agents.models import Policy
from workspaces import snapshots, sources, withheld
from workspaces.models import Repository, Snapshot, Workspace


def prepared(repository: Repository, pk: int = 1) -> Workspace:
    workspace = Workspace.objects.create(
        pk=pk, repository=repository, base_name="main", base_commit=sources.resolve(repository, "main"), epoch=1
    )
    snapshots.prepare(workspace)
    return workspace


def hide(workspace: Workspace, globs: list[str]) -> None:
    """Let the workspace's agents see nothing that these globs fit, from the next tree on."""
    withheld.hide(workspace, policy.withholding(policies.of_task(Policy(hidden=globs))))
    workspace.save()


def take(workspace: Workspace, *paths: str) -> Snapshot | None:
    number = Snapshot.objects.filter(workspace=workspace).count()
    return snapshots.take(workspace, call_id=f"call_{number}", step=number, paths=list(paths) or None)


def taken(workspace: Workspace, *paths: str) -> Snapshot:
    snapshot = take(workspace, *paths)
    assert snapshot is not None
    return snapshot


def statuses(workspace: Workspace, start: int = 0) -> dict[str, str]:
    return {file.path: file.status for file in snapshots.changes(workspace, start).files}


def mirrored(source: Path | str, status: str = "ready") -> Repository:
    """Return a repository with this source after it was mirrored, which came to the status."""
    row = Repository.objects.create(name=str(Repository.objects.count()), source=str(source))
    sources.mirror(row.pk)
    row.refresh_from_db()
    assert row.status == status, row.error
    return row


DEEP = 5_000
"""Folders in folders: far more than Python recurses, a process has descriptors, and the kernel takes in a path."""


def dig(folder: Path, depth: int, name: str = "d") -> None:
    """Make folders in folders below this one, with a file in the last."""
    folder.mkdir(exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=handle)
        inner = os.open(name, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(os.open("last", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    os.close(handle)


@contextmanager
def few_descriptors(more: int) -> Iterator[None]:
    """Let this process open only so many more files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
