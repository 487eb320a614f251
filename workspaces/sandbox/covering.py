"""What a tree holds and a command may not see: the paths that fit globs, found anew before each command, to be covered.

For a folder that is lent as it is (see agents/toolshell). In the tree of a run such files do not lie at all.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from workspaces import globs
from workspaces.paths import WorkspaceError
from workspaces.sandbox.place import Place

LOOKED_AT = 500_000
COVERED = 2_000


def covered(place: Place, *, is_written: bool) -> Place:
    """Return the place with what fits its globs covered; a walk through the tree, none without globs.

    A folder that fits is covered as a whole, and none above a covered path can be renamed. Raises WorkspaceError where
    not all can be found and covered, as it could be seen then: TOO_LARGE, or SANDBOX_UNAVAILABLE, also where the tree
    `is_written` by a command that runs on, since that may move it meanwhile.
    """
    if not place.covering:
        return place
    if is_written:
        raise _unfit("a command in the background may move what the policy hides, so no other can run; stop it first.")
    found: list[str] = []
    pinned: set[str] = set()
    for path in _fitting(place.tree, globs.covering(place.covering)):
        found.append(path)
        if len(found) > COVERED:
            raise _too_large(f"the policy hides more than {COVERED} paths here")
        parts = path.split("/")[:-1]
        pinned.update("/".join(parts[:count]) for count in range(1, len(parts) + 1))
    return replace(place, hidden=tuple(found), pinned=tuple(sorted(pinned)))


def _fitting(root: Path, hides: globs.Covers) -> Iterator[str]:
    """Yield the paths below the root that fit; no link is followed. The `.git` at the root is git's own."""
    waiting, left = [""], LOOKED_AT
    while waiting:
        folder = waiting.pop()
        for entry in _entries(root, folder):
            left -= 1
            if left < 0:
                raise _too_large(f"the tree has more than {LOOKED_AT:,} entries")
            path = f"{folder}/{entry.name}" if folder else entry.name
            if path == ".git":
                waiting.append(path)
            elif hides(path):
                yield path
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(path)


def _entries(root: Path, folder: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(root / folder) as found:
            return list(found)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        why = f"{folder[:200] or '.'} can't be looked into ({error.strerror}), and may hold what the policy hides"
        raise _unfit(f"{why}; open it, or remove it with a file tool.") from None


def _too_large(why: str) -> WorkspaceError:
    return WorkspaceError(
        "TOO_LARGE", f"{why}, so what is hidden can't be covered and no command can run; use file tools."
    )


def _unfit(why: str) -> WorkspaceError:
    return WorkspaceError("SANDBOX_UNAVAILABLE", why)
