"""Files of the live tree that no snapshot shows, because git ignores them, and that would change what tests do."""

import os
import stat
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from workspaces import store
from workspaces.integrity.findings import Finding, FindingKind
from workspaces.integrity.layout import Layout
from workspaces.integrity.matters import scene
from workspaces.integrity.shadowing import Intruder, intruders
from workspaces.integrity.sides import Side, folder_of, name_of, told
from workspaces.integrity.used import used
from workspaces.models import Workspace
from workspaces.opening import folder, readable

ENTRIES_LIMIT = 200_000
DEPTH_LIMIT = 40
TIME_LIMIT_S = 20
FINDINGS_LIMIT = 100
HEAD_BYTES = 4096
"""Bytes of a file that are looked at."""
UNSEEN = "Git ignores it, so no diff shows it."
_PASSED_OVER = frozenset(
    {
        ".git",
        ".svn",
        ".hg",
        ".jj",
        "node_modules",
        ".venv",
        "venv",
        ".tox",
        ".nox",
        "site-packages",
        ".eggs",
        ".pnpm-store",
    }
    | {".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".cache", ".gradle", "target", ".turbo", ".next"}
    | {"bower_components", "htmlcov", ".parcel-cache", ".nuxt", ".svelte-kit", ".angular", ".terraform"}
)
"""Folders of dependencies and caches; what is in them was made by tools, and a proof runs without it."""


def planted(workspace: Workspace, verify: Sequence[str] = ()) -> tuple[Finding, ...]:
    """Return what is wrong with files of the live tree that the latest snapshot doesn't have; for who holds the run.

    At most 200,000 entries are looked at, for 20 seconds; a finding says when it was cut.
    """
    git = store.ensure(workspace.repository)
    base = Side.of(git, store.tree_of(git, workspace.base_commit))
    now = store.listing(git, store.latest(workspace).tree)
    known = {os.fsdecode(path) for path in now}
    walk = _Walk(workspace.tree, known)
    unseen = list(walk.files())
    around = scene(base, Layout(base.entries.keys()), used(base, verify))
    found = [each for each in intruders(around, known.union(unseen), unseen, walk.head) if not _is_made(each)]
    findings = [Finding(FindingKind.SHADOWED, told(each.path), f"{each.why} {UNSEEN}") for each in found]
    return (*findings[:FINDINGS_LIMIT], *walk.cut())


def _is_made(each: Intruder) -> bool:
    """Return whether a tool makes such files by itself: links to a project that is installed in place."""
    return name_of(each.path).endswith(".egg-link") or ".egg-info/" in f"{folder_of(each.path)}/"


class _Walk:
    """Goes through a tree that may be hostile, by descriptors, through no link."""

    def __init__(self, root: Path, known: set[str]) -> None:
        self._root = root
        self._known = known
        self._entries = 0
        self._until = time.monotonic() + TIME_LIMIT_S
        self._is_cut = False

    def files(self) -> Iterator[str]:
        """Yield the files and links that are not known, those nearest the root first."""
        todo = deque([""])
        while todo and not self._is_cut:
            place = todo.popleft()
            try:
                with folder(self._root, os.fsencode(place)) as handle:
                    yield from self._in_folder(handle, place, todo)
            except OSError:
                continue  # it is gone, or can't be entered: then no test can be found in it either

    def _in_folder(self, handle: int, place: str, todo: deque[str]) -> Iterator[str]:
        with os.scandir(handle) as found:
            for item in found:
                self._entries += 1
                if self._entries > ENTRIES_LIMIT or time.monotonic() > self._until:
                    self._is_cut = True
                    return
                path = f"{place}/{item.name}" if place else item.name
                if item.is_dir(follow_symlinks=False):
                    if item.name.lower() not in _PASSED_OVER and path.count("/") < DEPTH_LIMIT:
                        todo.append(path)
                elif path not in self._known:
                    yield path

    def head(self, path: str) -> bytes | None:
        """Return the first bytes of a regular file, None for anything else."""
        try:
            with folder(self._root, os.fsencode(folder_of(path))) as handle:
                descriptor = readable(handle, os.fsencode(name_of(path)))
                with open(descriptor, "rb", buffering=0) as file:
                    return file.read(HEAD_BYTES) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
        except OSError:
            return None

    def cut(self) -> list[Finding]:
        """Return a finding that says so, when not all was looked at."""
        if not self._is_cut:
            return []
        why = (
            f"The tree has more files than can be looked at ({ENTRIES_LIMIT:,}, in {TIME_LIMIT_S} s), ignored ones too."
        )
        return [Finding(FindingKind.SHADOWED, ".", why)]
