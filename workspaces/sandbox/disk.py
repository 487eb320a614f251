"""How much room is left on the disks that a command can fill."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path


def free_bytes(folders: Iterable[Path]) -> int:
    """Return what an ordinary user may still write where these lie, the least of them; folders not there don't count.

    Costs one statvfs each, some microseconds.
    """
    return min((free for folder in folders if (free := _free(folder)) is not None), default=sys.maxsize)


def _free(folder: Path) -> int | None:
    try:
        found = os.statvfs(folder)
    except OSError:  # not there, or a disk that fails: whoever writes there is told
        return None
    return found.f_bavail * found.f_frsize
