"""The reviewer's HOME: of its own, since what the implementer left in one decides what commands do and print."""

import os
from pathlib import Path

from workspaces.models import Workspace
from workspaces.sandbox import worker_uid
from workspaces.sandbox.removal import remove


def for_review(workspace: Workspace) -> Path:
    """Return an empty HOME for the commands of one review. Raises OSError where an earlier one can't be removed."""
    remove(workspace.review_home)
    workspace.review_home.mkdir(mode=0o700)
    uid = worker_uid(workspace.pk)
    if uid is not None:
        os.chown(workspace.review_home, uid, uid)
    return workspace.review_home
