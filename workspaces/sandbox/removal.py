"""Removing what commands made: also folders that they closed to their owner, as some package caches are."""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from workspaces.sandbox.identity import is_root

DEEP_S = 600
"""How long the removal of folders may take that lie too deep for Python."""


def remove(folder: Path) -> None:
    """Remove a folder of ours with all that is in it, following no link; nothing may run there any more.

    What still can't be removed stays. Nothing is said where the folder is not there.
    """
    if not is_root():
        with suppress(OSError):  # such as a path that is too long
            _open_up(folder)
    with suppress(RecursionError):  # folders lie deeper in folders than Python follows, or has descriptors for
        shutil.rmtree(folder, ignore_errors=True)
    if folder.is_dir() and not folder.is_symlink():
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(["rm", "-rf", "--", str(folder)], capture_output=True, timeout=DEEP_S, check=False)


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
