"""The tree objects of a tree's folders, kept so that a changed path costs only the folders above it."""

from collections.abc import Mapping
from dataclasses import dataclass

from workspaces.objects import object_id
from workspaces.store import Tree, TreeEntry

_FOLDER_MODE = b"40000"

Folder = dict[bytes, bytes]
"""What a folder holds: by the key that git sorts by (a folder's name ends in `/`), the record of its tree object."""


@dataclass(frozen=True)
class Draft:
    """A tree that would come of some changes: its id, the tree objects it needs, the folders that differ."""

    tree: str
    objects: list[bytes]
    folders: dict[bytes, Folder]


class Nested:
    """All folders of one tree. `tree` is the id that git gives to the root."""

    def __init__(self, entries: Tree) -> None:
        self._folders: dict[bytes, Folder] = {b"": {}}
        draft = self.draft(entries)
        self.adopt(draft)
        self.tree = draft.tree

    def draft(self, changes: Mapping[bytes, TreeEntry | None]) -> Draft:
        """Return the tree that comes of these changes (None takes a path away); nothing here changes by it."""
        fresh: dict[bytes, Folder] = {}
        for path in (path for path, entry in changes.items() if entry is None):
            folder, _, name = path.rpartition(b"/")
            self._copied(fresh, folder).pop(name, None)
        for path, entry in changes.items():
            if entry is not None:
                folder, _, name = path.rpartition(b"/")
                self._copied(fresh, folder)[name] = _record(entry.mode.encode(), name, entry.oid)
        return self._joined(fresh)

    def adopt(self, draft: Draft) -> None:
        """Make a draft the tree that is known."""
        for path, folder in draft.folders.items():
            if folder or not path:
                self._folders[path] = folder
            else:
                self._folders.pop(path, None)
        self.tree = draft.tree

    def _copied(self, fresh: dict[bytes, Folder], path: bytes) -> Folder:
        if path not in fresh:
            fresh[path] = dict(self._folders.get(path, {}))
        return fresh[path]

    def _joined(self, fresh: dict[bytes, Folder]) -> Draft:
        """Write each changed folder into the one above it, from the deepest up."""
        objects: list[bytes] = []
        by_depth: dict[int, set[bytes]] = {}
        for path in fresh:
            by_depth.setdefault(_depth(path), set()).add(path)
        for depth in range(max(by_depth, default=0), 0, -1):
            for path in sorted(by_depth.get(depth, ())):
                above, _, name = path.rpartition(b"/")
                by_depth.setdefault(depth - 1, set()).add(above)
                self._put(self._copied(fresh, above), name, fresh[path], objects)
        root = _data(self._copied(fresh, b""))
        return Draft(object_id("tree", len(root), (root,)), [*objects, root], fresh)

    def _put(self, above: Folder, name: bytes, folder: Folder, objects: list[bytes]) -> None:
        if not folder:
            above.pop(name + b"/", None)
            return
        data = _data(folder)
        objects.append(data)
        above.pop(name, None)
        above[name + b"/"] = _record(_FOLDER_MODE, name, object_id("tree", len(data), (data,)))


def _depth(path: bytes) -> int:
    return path.count(b"/") + 1 if path else 0


def _record(mode: bytes, name: bytes, oid: str) -> bytes:
    return b"%s %s\0%s" % (mode, name, bytes.fromhex(oid))


def _data(folder: Folder) -> bytes:
    """Return the tree object of a folder: git sorts by bytes, a folder as if its name ended in `/`."""
    return b"".join([folder[key] for key in sorted(folder)])


def fitting(entries: Tree, tree: str) -> Nested | None:
    """Return the folders of a tree, or None for one that git would not write like this, which only git can change.

    Such as one with an empty folder in it, from another program.
    """
    nested = Nested(entries)
    return nested if nested.tree == tree else None
