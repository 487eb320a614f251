"""What an agent's git may read: all of the mirror, or, where a policy hides paths, the base without them."""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from workspaces import globs, objects, store
from workspaces.git import Git
from workspaces.models import Workspace
from workspaces.names import shown
from workspaces.sandbox.covering import COVERED
from workspaces.sandbox.removal import remove

PACK_S = 600
_ABOUT = "about.json"
_KEPT_HEADERS = (b"author ", b"committer ", b"encoding ")


@dataclass(frozen=True)
class Readable:
    """The commit that an agent's branch stands at, and where its objects lie.

    `left_out` are the hidden paths of the base, of a hidden folder itself alone: they lie covered in the tree, and are
    no files of the commit. At most as many as can be covered.
    """

    objects: Path
    commit: str
    tree: str
    left_out: tuple[str, ...] = ()


def of(workspace: Workspace, hidden: Sequence[str]) -> Readable:
    """Return what the workspace's agents may read where these globs are hidden from them. Raises GitError.

    With globs it is a pack of the workspace's own, made the first time, of one commit without a parent: what they hide
    may be anywhere in the history, in other branches, and in what the mirror fetches meanwhile.
    """
    git = store.ensure(workspace.repository)
    if not hidden:
        tree = store.tree_of(git, workspace.base_commit)
        return Readable(workspace.repository.mirror / "objects", workspace.base_commit, tree)
    word = hashlib.sha256(json.dumps([workspace.base_commit, list(hidden)]).encode()).hexdigest()[:16]
    folder = workspace.readable / word
    known = _known(folder)
    if known is None:
        _make(git, workspace, tuple(hidden), folder)
        known = _known(folder)
    assert known is not None
    return known


def _known(folder: Path) -> Readable | None:
    """Return what lies there, None where that is nothing, or what a crash of the machine left."""
    try:
        about = json.loads((folder / _ABOUT).read_text())
    except (FileNotFoundError, ValueError):
        return None
    return Readable(folder / "objects", about["commit"], about["tree"], tuple(about["left_out"]))


def _make(git: Git, workspace: Workspace, hidden: tuple[str, ...], folder: Path) -> None:
    base = store.tree_of(git, workspace.base_commit)
    hides = globs.covering(hidden)
    gone = [path for path in store.listing(git, base) if hides(shown(path)) or hides(os.fsdecode(path))]
    tree = store.build_tree(git, base, dict.fromkeys(gone))
    commit = objects.write(workspace.repository.store, "commit", _commit_data(git, workspace.base_commit, tree))
    workspace.readable.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix="making-", dir=workspace.readable))
    try:
        pack = making / "objects" / "pack"
        pack.mkdir(parents=True)
        words = ("pack-objects", "--quiet", "--revs", "--window=0", "--delta-base-offset", str(pack / "pack"))
        git.run(*words, input=commit.encode(), timeout_s=PACK_S)
        about = {"commit": commit, "tree": tree, "left_out": _topmost(gone, hides)}
        (making / _ABOUT).write_text(json.dumps(about))
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


def _topmost(paths: Iterable[bytes], hides: Callable[[str], bool]) -> tuple[str, ...]:
    """Return of each path the first folder that is hidden as a whole, else the path itself, once each and in order."""
    found: dict[str, None] = {}
    for path in paths:
        parts = os.fsdecode(path).split("/")
        above = ("/".join(parts[:count]) for count in range(1, len(parts)))
        found[next((folder for folder in above if hides(folder)), os.fsdecode(path))] = None
        if len(found) == COVERED:
            break
    return tuple(found)
