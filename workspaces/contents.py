"""What a snapshot holds: its folders and the bytes of its files, from the run store."""

import os
from dataclasses import dataclass

from workspaces import cuts, store
from workspaces.git import GitError
from workspaces.models import Workspace
from workspaces.names import raw, shown

KINDS = {"040000": "dir", store.LINK: "link", store.SUBMODULE: "submodule"}
ENTRIES_LIMIT = 5000
"""Names of one folder that are listed."""


@dataclass(frozen=True)
class Entry:
    """One name in a folder of a snapshot; kind is file, dir, link or submodule."""

    path: str
    name: str
    kind: str
    mode: str
    size: int


@dataclass(frozen=True)
class Blob:
    data: bytes
    size: int
    truncated: bool
    mode: str
    stored: bool = True


def entries(workspace: Workspace, at: int | None = None, path: str = "") -> list[Entry]:
    """Return what a folder of a snapshot (None: the latest) holds, folders first; at most 5,000 names.

    Raises FileNotFoundError when there is no such folder.
    """
    git, tree = store.ensure(workspace.repository), store.at(workspace, at).tree
    inside = _tree_path(path)
    name = f"{tree}:{os.fsdecode(inside)}" if inside else tree
    try:
        out = git.run("ls-tree", "-z", "-l", "--full-tree", name)
    except GitError:
        raise FileNotFoundError(path) from None
    found = [_entry(record, inside) for record in out.split(b"\0")[:-1]]
    return sorted(found, key=lambda entry: (entry.kind != "dir", entry.name.lower(), entry.name))[:ENTRIES_LIMIT]


def _entry(record: bytes, inside: bytes) -> Entry:
    head, name = record.split(b"\t", 1)
    mode, _, _, size = head.decode().split()
    path = inside + b"/" + name if inside else name
    return Entry(shown(path), shown(name), KINDS.get(mode, "file"), mode, 0 if size == "-" else int(size))


def read(workspace: Workspace, path: str, at: int | None = None, limit_bytes: int = 1_000_000) -> Blob:
    """Return a file's bytes (a link's target) in a snapshot, cut at `limit_bytes`. Raises FileNotFoundError."""
    git, tree = store.ensure(workspace.repository), store.at(workspace, at).tree
    inside = _tree_path(path)
    found = store.entry(git, tree, inside) or store.entry(git, tree, os.fsencode(path))
    if found is None or found.mode == store.SUBMODULE:
        raise FileNotFoundError(path)
    size = store.blob_sizes(git, [found.oid])[found.oid]
    if size > limit_bytes:
        data = cuts.first_bytes(store.read_head(git, found.oid, limit_bytes + cuts.reach()), limit_bytes)
    else:
        data = store.read_blob(git, found.oid)
    stands_for = store.stood_in(data)
    return Blob(data, stands_for or size, size > limit_bytes, found.mode, stored=stands_for is None)


def _tree_path(path: str) -> bytes:
    """Return the path as it stands in a tree. Raises FileNotFoundError for one that can't stand in any."""
    parts = [part for part in raw(path).split(b"/") if part not in (b"", b".")]
    if b".." in parts or b"\0" in raw(path):
        raise FileNotFoundError(path)
    return b"/".join(parts)
