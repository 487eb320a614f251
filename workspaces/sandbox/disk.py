"""How much room is left on the disks that a command can fill, with bytes or with files."""

import os
from collections.abc import Iterable
from pathlib import Path

from workspaces.sandbox.place import MIB

FILES = 1000
"""So many more files must fit where the file system counts them; a disk full of empty files is full too."""


def shortage(folders: Iterable[Path], floor_bytes: int) -> str:
    """Return what is short where these folders lie, as in "only 24 MB are free"; "" where there is room, or no floor.

    What counts is what an ordinary user may still write. Costs one statvfs each, some microseconds.
    """
    for folder in folders if floor_bytes else ():
        try:
            found = os.statvfs(folder)
        except OSError:  # not there, or a disk that fails: whoever writes there is told
            continue
        free = found.f_bavail * found.f_frsize
        if free < floor_bytes:
            return f"only {free // MIB} MB are free"
        if found.f_files and found.f_favail < FILES:
            return f"only {found.f_favail} more files fit on the disk"
    return ""
