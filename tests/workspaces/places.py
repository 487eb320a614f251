"""What tests share: a mirrored source, a workspace laid out at its main branch, and short words for snapshots."""

from pathlib import Path

from workspaces import snapshots, sources
from workspaces.models import Repository, Snapshot, Workspace


def prepared(repository: Repository, pk: int = 1) -> Workspace:
    workspace = Workspace.objects.create(
        pk=pk, repository=repository, base_name="main", base_commit=sources.resolve(repository, "main"), epoch=1
    )
    snapshots.prepare(workspace)
    return workspace


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
