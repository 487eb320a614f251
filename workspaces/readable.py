"""What an agent's git may read: all of the mirror, or, where a policy hides paths, the base without them."""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from workspaces import objects, store
from workspaces.git import Git
from workspaces.models import Workspace
from workspaces.sandbox.removal import remove

PACK_S = 600
_ABOUT = "about.json"
_KEPT_HEADERS = (b"author ", b"committer ", b"encoding ")


@dataclass(frozen=True)
class Readable:
    """The commit that an agent's branch stands at, its tree, and where the objects of both lie."""

    objects: Path
    commit: str
    tree: str


def of(workspace: Workspace) -> Readable:
    """Return what the workspace's agents may read. Raises GitError.

    Where paths are hidden from them it is a pack of the workspace's own, made the first time, of one commit without a
    parent: what is hidden may be anywhere in the history, in other branches, and in what the mirror fetches meanwhile.
    """
    git = store.ensure(workspace.repository)
    if not workspace.visible_tree:
        return of_mirror(workspace)
    folder = workspace.readable / workspace.visible_tree
    known = _known(folder)
    if known is None:
        _make(git, workspace, folder)
        known = _known(folder)
    assert known is not None
    return known


def of_mirror(workspace: Workspace) -> Readable:
    """Return all that there is: for people's own commands."""
    tree = store.tree_of(store.ensure(workspace.repository), workspace.base_commit)
    return Readable(workspace.repository.mirror / "objects", workspace.base_commit, tree)


def _known(folder: Path) -> Readable | None:
    """Return what lies there, None where that is nothing, or what a crash of the machine left."""
    try:
        about = json.loads((folder / _ABOUT).read_text())
    except (FileNotFoundError, ValueError):
        return None
    return Readable(folder / "objects", about["commit"], about["tree"])


def _make(git: Git, workspace: Workspace, folder: Path) -> None:
    tree = workspace.visible_tree
    commit = objects.write(workspace.repository.store, "commit", _commit_data(git, workspace.base_commit, tree))
    workspace.readable.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix="making-", dir=workspace.readable))
    try:
        pack = making / "objects" / "pack"
        pack.mkdir(parents=True)
        words = ("pack-objects", "--quiet", "--revs", "--window=0", "--delta-base-offset", str(pack / "pack"))
        git.run(*words, input=commit.encode(), timeout_s=PACK_S)
        (making / _ABOUT).write_text(json.dumps({"commit": commit, "tree": tree}))
        for path in (workspace.readable, making, pack.parent, pack):
            path.chmod(0o755)
        if _known(folder) is None:
            remove(folder)
            making.rename(folder)
    except OSError:
        if _known(folder) is None:  # otherwise another process of ours was first
            raise
    finally:
        remove(making)


def _commit_data(git: Git, base: str, tree: str) -> bytes:
    """Return the base as a commit of another tree, without what it grew from."""
    head, _, message = git.run("cat-file", "commit", base).partition(b"\n\n")
    kept = [line for line in head.split(b"\n") if line.startswith(_KEPT_HEADERS)]
    return b"\n".join([b"tree " + tree.encode(), *kept, b"", message])
