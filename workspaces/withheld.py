"""What a policy hides of a base: it lies in no tree that agents work in, and snapshots carry it on as it was."""

import os
from collections.abc import Iterable, Sequence

from workspaces import globs, store
from workspaces.git import Git
from workspaces.models import Workspace
from workspaces.names import shown


def among(hidden: Sequence[str], paths: Iterable[bytes]) -> frozenset[bytes]:
    """Return the paths that the globs hide, as bytes that are not UTF-8 are shown, or as they are."""
    if not hidden:
        return frozenset()
    hides = globs.covering(tuple(hidden))
    return frozenset(path for path in paths if hides(shown(path)) or hides(os.fsdecode(path)))


def without(git: Git, workspace: Workspace, tree: str) -> str:
    """Return a tree of the workspace without what is hidden of its base; the tree itself where that is nothing."""
    if not workspace.hidden:
        return tree
    base = store.listing(git, store.tree_of(git, workspace.base_commit))
    gone = among(workspace.hidden, base)
    return store.build_tree(git, tree, dict.fromkeys(gone)) if gone else tree
