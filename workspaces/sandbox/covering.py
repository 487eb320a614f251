"""What a policy hides of the tree: the paths that fit its globs, found anew before each command, to be covered."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from workspaces import globs
from workspaces.paths import WorkspaceError
from workspaces.sandbox.place import Place

LOOKED_AT = 500_000
COVERED = 2_000


def hiding(place: Place, patterns: tuple[str, ...]) -> Place:
    """Return the place with what fits the globs covered; a walk through the tree, none without globs.

    A folder that fits is covered as a whole. Raises WorkspaceError TOO_LARGE where the tree or what is to be covered is
    too large: then no command runs, since it could read what is hidden.
    """
    if not patterns:
        return place
    found: list[str] = []
    pinned: set[str] = set()
    for path, pattern in _fitting(place.tree, patterns):
        found.append(path)
        if len(found) > COVERED:
            raise WorkspaceError(
                "TOO_LARGE", f"the policy hides more than {COVERED} paths here, so no command can run; use file tools."
            )
        if "/" in pattern.strip("/"):
            parts = path.split("/")[:-1]
            pinned.update("/".join(parts[:count]) for count in range(1, len(parts) + 1))
    return replace(place, hidden=tuple(found), pinned=tuple(sorted(pinned)))


def _fitting(root: Path, patterns: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the paths below the root that fit, each with the first glob it fits; no link is followed."""
    waiting, left = [""], LOOKED_AT
    while waiting:
        folder = waiting.pop()
        for entry in _entries(root / folder):
            left -= 1
            if left < 0:
                raise WorkspaceError(
                    "TOO_LARGE",
                    f"the tree has more than {LOOKED_AT} entries, so what the policy hides can't be covered and no "
                    "command can run; use file tools.",
                )
            path = f"{folder}/{entry.name}" if folder else entry.name
            pattern = next((pattern for pattern in patterns if globs.matches(pattern, path)), None)
            if pattern is not None:
                yield path, pattern
            elif entry.is_dir(follow_symlinks=False) and entry.name != ".git":
                waiting.append(path)


def _entries(folder: Path) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:  # gone, or closed to us, and so to the command
        return []
