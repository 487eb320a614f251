"""A project in a mirrored repository, and trees of it with some files changed, all in the run store."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import BEGAN, mirrored
from tests.conftest import git as plain_git
from workspaces import sources, store
from workspaces.git import Git
from workspaces.models import Workspace


@dataclass(frozen=True)
class Link:
    """A symbolic link, to put in place of a text."""

    target: str


@dataclass(frozen=True)
class Program:
    """A file that may be run."""

    text: str


What = str | bytes | Link | Program


@dataclass(frozen=True)
class Project:
    """A workspace at the baseline of a project."""

    workspace: Workspace
    git: Git
    base: str

    def tree(self, changes: Mapping[str, What | None]) -> str:
        """Return the baseline's tree with these files written; None: gone."""
        entries = {os.fsencode(path): self._entry(what) for path, what in changes.items()}
        return store.build_tree(self.git, self.base, entries)

    def _entry(self, what: What | None) -> store.TreeEntry | None:
        match what:
            case None:
                return None
            case Link(target):
                return store.TreeEntry(store.LINK, self._blob(os.fsencode(target)))
            case Program(text):
                return store.TreeEntry(store.EXECUTABLE, self._blob(text.encode()))
            case str():
                return store.TreeEntry(store.FILE, self._blob(what.encode()))
            case bytes():
                return store.TreeEntry(store.FILE, self._blob(what))

    def _blob(self, data: bytes) -> str:
        return store.write_blob(self.workspace.repository.store, data)

    def paths(self, tree: str) -> set[str]:
        return {os.fsdecode(path) for path in store.listing(self.git, tree)}

    def read(self, tree: str, path: str) -> str:
        entry = store.listing(self.git, tree)[path.encode()]
        return store.read_blob(self.git, entry.oid).decode()


def begun(folder: Path, files: Mapping[str, What]) -> Project:
    """Return a project of these files, committed, mirrored, and at the start of a run."""
    folder.mkdir()
    plain_git(folder, "init", "--quiet", "--initial-branch=main")
    for path, what in files.items():
        _write(folder / path, what)
    plain_git(folder, "add", "--all", "--force")
    dates = {"GIT_AUTHOR_DATE": BEGAN, "GIT_COMMITTER_DATE": BEGAN}
    plain_git(folder, "commit", "--quiet", "--allow-empty", "-m", "The project", **dates)
    repository = mirrored(folder)
    base = sources.resolve(repository, "main")
    workspace = Workspace.objects.create(repository=repository, pk=1, base_name="main", base_commit=base, epoch=1)
    git = store.ensure(repository)
    return Project(workspace, git, store.begin(workspace, git).tree)


def _write(place: Path, what: What) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    match what:
        case Link(target):
            place.symlink_to(target)
        case Program(text):
            place.write_text(text)
            place.chmod(0o755)
        case str():
            place.write_text(what)
        case bytes():
            place.write_bytes(what)
