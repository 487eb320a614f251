"""Removing what commands made: also folders that they closed to their owner, as some package caches are."""

import os
from contextlib import suppress
from pathlib import Path

from workspaces import walking
from workspaces.sandbox.identity import is_root

TRIES = 3
"""Some file systems leave names out of a list that is read while others are removed; then all is looked at again."""


def remove(folder: Path) -> None:
    """Remove a folder of ours with all that is in it, following no link; nothing may run there any more.

    What still can't be removed stays. Nothing is said where the folder is not there.
    """
    for _ in range(TRIES):
        if not folder.is_dir() or folder.is_symlink():
            return
        with suppress(OSError):
            _empty(folder)
        with suppress(OSError):
            folder.rmdir()


def _empty(folder: Path) -> None:
    """Remove what is in a folder; each folder is opened to its owner before the walk goes down into it."""
    if not is_root():
        folder.chmod(0o700)
    for met in walking.below(folder):
        with suppress(OSError):
            if met.after:
                os.rmdir(met.name, dir_fd=met.handle)
            elif not met.is_folder:
                os.unlink(met.name, dir_fd=met.handle)
            elif not is_root():
                os.chmod(met.name, 0o700, dir_fd=met.handle)
