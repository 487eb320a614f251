"""Fresh trees: files of a run store laid out anew, for commands that must meet nothing that an agent left elsewhere."""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from workspaces import agent_git, readable, store, trees, withheld
from workspaces.models import Workspace
from workspaces.readable import Readable
from workspaces.sandbox.identity import own, worker_uid
from workspaces.sandbox.removal import remove


@dataclass(frozen=True)
class Fresh:
    """A tree without ignored files, with a `.git` of its own at the base, and an empty HOME."""

    folder: Path
    objects: Path
    """What its git may read, for the sandbox to mount."""

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def remove(self) -> None:
        remove(self.folder)


def lay_out(workspace: Workspace, tree: str, name: str) -> Fresh:
    """Lay out a tree of the run store below the run's folder, in place of an earlier one of this `name`.

    What is hidden from agents is not there. Raises TreeError for one that is too large, OSError where an earlier one
    can't be removed.
    """
    folder = workspace.fresh / name
    remove(folder)
    folder.mkdir(parents=True)
    for each in (workspace.fresh, folder):
        each.chmod(0o711)
    shown = withheld.without(store.ensure(workspace.repository), workspace, tree)
    return _lay_out(folder, workspace, shown, readable.of(workspace))


def lay_out_base(folder: Path, workspace: Workspace) -> Fresh:
    """Lay out all of the base, for people's own commands, in an empty folder that their user may pass through."""
    known = readable.of_mirror(workspace)
    return _lay_out(folder, workspace, known.tree, known)


def _lay_out(folder: Path, workspace: Workspace, tree: str, known: Readable) -> Fresh:
    fresh = Fresh(folder, known.objects)
    for each in (fresh.tree, fresh.home):
        each.mkdir()
        each.chmod(0o755)
    git, uid = store.ensure(workspace.repository), worker_uid(workspace.pk)
    with tempfile.TemporaryDirectory(prefix="index-", dir=folder) as scratch:
        trees.lay_out(git, tree, fresh.tree, Path(scratch) / "index")
        agent_git.make(fresh.tree, known)
        trees.hand_over([fresh.tree], uid, time.time_ns())
        agent_git.make_index(git, fresh.tree, known.tree, Path(scratch) / "agent", uid)
    own(fresh.home, uid)
    return fresh


def clear(workspace: Workspace) -> None:
    """Remove what fresh trees there are; for who holds the run, once nothing runs in them."""
    remove(workspace.fresh)
