"""What a policy hides of a base: it lies in no tree that agents work in, and snapshots carry it on as it was."""

from collections.abc import Callable, Iterable

from workspaces import store
from workspaces.git import Git
from workspaces.models import Workspace

Hides = Callable[[bytes], bool]


def hide(workspace: Workspace, hides: Hides | None) -> bool:
    """Set which part of the base its agents may see (None: all of it) and return whether that is another one now.

    The row is the caller's to save. Raises GitError.
    """
    git, visible = store.ensure(workspace.repository), ""
    if hides is not None:
        base = store.tree_of(git, workspace.base_commit)
        gone = [path for path in store.listing(git, base) if hides(path)]
        visible = store.build_tree(git, base, dict.fromkeys(gone)) if gone else base
    before, workspace.visible_tree = workspace.visible_tree, visible
    return before != visible


def among(git: Git, workspace: Workspace, base: Iterable[bytes]) -> frozenset[bytes]:
    """Return which paths of the base's tree are hidden."""
    if not workspace.visible_tree:
        return frozenset()
    return frozenset(base) - store.listing(git, workspace.visible_tree).keys()


def without(git: Git, workspace: Workspace, tree: str) -> str:
    """Return a tree of the workspace without what is hidden of its base; the tree itself where that is nothing."""
    if not workspace.visible_tree:
        return tree
    gone = among(git, workspace, store.listing(git, store.tree_of(git, workspace.base_commit)))
    return store.build_tree(git, tree, dict.fromkeys(gone)) if gone else tree
