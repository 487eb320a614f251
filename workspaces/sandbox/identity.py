"""Which user a command runs as, and who owns the folders it works in."""

import os
import stat
from pathlib import Path

from django.conf import settings

from workspaces import walking

FIRST_UID = 60706
"""The first of 478 numbers that systemd's table of users leaves to nobody (systemd.io/UIDS-GIDS: 60706…61183)."""
UIDS = 478


def is_root() -> bool:
    return os.geteuid() == 0


def worker_uid(workspace_id: int) -> int | None:
    """Return the uid and gid of a live run when the server is root; None keeps the server's own."""
    return FIRST_UID + workspace_id % UIDS if is_root() else None


def own_folder() -> Path:
    """Return the folder of the sandbox's own things in the data folder; every uid may pass through it."""
    folder = Path(settings.SAKURA_DATA_DIR) / "sandbox"
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o777 != 0o711:
        folder.chmod(0o711)
    return folder


def own(path: Path, uid: int | None) -> None:
    """Give a file or a folder with all that is in it to `uid`; no link is followed, None changes nothing.

    What is owned already is left as it is, so that its change time keeps telling the truth.
    """
    if uid is None:
        return
    _give(os.fspath(path), uid)
    if path.is_dir() and not path.is_symlink():
        for met in walking.below(path):
            _give(met.name, uid, met.handle)


def _give(name: str, uid: int, handle: int | None = None) -> None:
    try:
        found = os.stat(name, dir_fd=handle, follow_symlinks=False)
        if (found.st_uid, found.st_gid) != (uid, uid):
            os.chown(name, uid, uid, dir_fd=handle, follow_symlinks=False)
    except FileNotFoundError:
        return  # a process of the run was faster


def barrier(path: Path, uid: int | None) -> Path | None:
    """Return the first folder on the way to `path` that `uid` may not pass, or None when the way is free."""
    if uid is None or uid == os.geteuid() != 0:
        return None
    for step in (*reversed(path.parents), path):
        found = step.stat()
        if not found.st_mode & _may_pass(found, uid):
            return step
    return None


def _may_pass(found: os.stat_result, uid: int) -> int:
    """Return the mode bit that lets `uid` (whose only group has the same number) enter, or read and run a file."""
    if found.st_uid == uid:
        return stat.S_IXUSR
    return stat.S_IXGRP if found.st_gid == uid else stat.S_IXOTH
