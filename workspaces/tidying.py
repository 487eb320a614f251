"""Gives disk back: trees that nobody works in any more. What people look at comes from the run store."""

from workspaces.models import Workspace
from workspaces.sandbox.removal import remove


def remove_old_trees(workspace: Workspace) -> None:
    """Remove the trees of earlier epochs; the one in use stays."""
    for folder in workspace.folder.glob("e[0-9]*"):
        if folder.name != f"e{workspace.epoch}":
            remove(folder)


def forget_tree(workspace: Workspace) -> None:
    """Remove every tree, HOME and pack of a workspace whose run has ended for good; stored outputs stay."""
    Workspace.objects.filter(pk=workspace.pk).update(epoch=0, tree_snapshot=-1)
    workspace.epoch = 0
    remove_old_trees(workspace)
    remove(workspace.home)
    remove(workspace.fresh)
    remove(workspace.readable)
