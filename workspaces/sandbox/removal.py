"""Removing what commands made: also folders that they closed to their owner, as some package caches are."""

import os
import shutil
from pathlib import Path

from workspaces.sandbox.identity import is_root


def remove(folder: Path) -> None:
    """Remove a folder of ours with all that is in it, following no link; nothing may run there any more.

    What still can't be removed stays. Nothing is said where the folder is not there.
    """
    if not is_root():
        _open_up(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _open_up(folder: Path) -> None:
    """Let the owner enter and change every folder again; each is opened before the walk goes down into it."""
    if not folder.is_dir() or folder.is_symlink():
        return
    folder.chmod(0o700)
    for parent, names, _ in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            if not path.is_symlink() and path.stat().st_mode & 0o700 != 0o700:
                path.chmod(0o700)
