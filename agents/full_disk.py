"""Which failures say that there is no room left: of the system, of a git of ours, of the database."""

import errno
import re
import sqlite3
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, OperationalError

from workspaces.git import GitError
from workspaces.sandbox import disk
from workspaces.sandbox.place import MIB
from workspaces.store import StoreError
from workspaces.trees import TreeError

SENTENCE = "The disk is full. Make room, then resume; nothing that was done is lost."
LEAST_MB = 1
"""With less than this a disk is full, also where the operator keeps no floor."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
STORING = (GitError, StoreError, TreeError, OperationalError)
"""Who stores, or lays out, and tells in words of its own why it could not."""
POSTGRES_DISK_FULL = "53100"
"""https://www.postgresql.org/docs/current/errcodes-appendix.html"""


def says(error: BaseException) -> bool:
    """Return whether the error came of a full disk."""
    match error:
        case GitError():
            return re.search(r"No space left|Disk quota|Out of diskspace", error.stderr) is not None
        case OSError():
            return error.errno in NO_ROOM
        case DatabaseError():
            return _says_database(error.__cause__)
    return False


def is_behind(error: BaseException, folder: Path) -> bool:
    """Return whether a full disk made the error, or may have.

    What could not be written is often told in other words, such as "disk I/O error". So it counts, too, where less than
    SAKURA_DISK_FLOOR_MB is left at the folder, at Sakura's data or at an SQLite file.
    """
    return says(error) or (isinstance(error, STORING) and _is_near(folder))


def shortage(folder: Path, floor_mb: int) -> str:
    """Return how little is left at the folder, at Sakura's data or at an SQLite file, "" where that is enough."""
    folders = [folder, Path(settings.SAKURA_DATA_DIR)]
    if settings.SQLITE:
        folders.append(Path(settings.DATABASES["default"]["NAME"]).parent)
    return disk.shortage(folders, floor_mb * MIB)


def _is_near(folder: Path) -> bool:
    return bool(shortage(folder, max(settings.SAKURA_DISK_FLOOR_MB, LEAST_MB)))


class NoRoom(OperationalError, OSError):
    """What belongs to a row, and lies in a file beside, found no room: for who stores rows as if the database had none,
    for who works with files, such as a tool, the system's error that it is."""


def _says_database(cause: BaseException | None) -> bool:
    """Return whether the database's own error is that of a full disk. See https://www.sqlite.org/rescode.html#full."""
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
    return getattr(cause, "sqlstate", None) == POSTGRES_DISK_FULL
