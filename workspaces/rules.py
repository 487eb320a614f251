"""What counts as ignored: the `.gitignore` files of one tree, asked apart from any working tree."""

import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from workspaces.git import Git
from workspaces.models import Workspace
from workspaces.store import EXECUTABLE, FILE, Tree, read_blobs

NAME = b".gitignore"
RULES_LIMIT = 5000
"""`.gitignore` files of one tree that are looked at."""


def of(tree: Tree) -> Tree:
    """Return the entries of a tree that hold rules."""
    return {
        path: entry
        for path, entry in tree.items()
        if path.rpartition(b"/")[2] == NAME and entry.mode in (FILE, EXECUTABLE)
    }


class Rules:
    """The ignore rules of one tree, laid out in a folder of their own where git reads them."""

    def __init__(self, git: Git, folder: Path) -> None:
        assert git.git_dir is not None
        self._folder = folder
        self._git = Git(git.git_dir, work_tree=folder, env={"GIT_LITERAL_PATHSPECS": "0"})

    def ignored(self, paths: Collection[bytes]) -> set[bytes]:
        """Return those of the paths that the rules ignore. A folder's has a `/` at its end. One process at most."""
        if not paths or not os.listdir(self._folder):
            return set()
        # check-ignore takes no literal pathspecs; a "./" in front keeps a name such as ":(top)x" from being magic.
        asked = {b"./" + path.removesuffix(b"/"): path for path in paths}
        with self._folders([path for path in paths if path.endswith(b"/")]):
            data = b"".join(b"%s\0" % path for path in asked)
            out = self._git.run("check-ignore", "-z", "--stdin", "--no-index", input=data, ok=(0, 1))
        return {asked[path] for path in out.split(b"\0")[:-1]}

    @contextmanager
    def _folders(self, paths: Iterable[bytes]) -> Iterator[None]:
        """Have these folders there while git is asked: it looks, and a `/` at the end would match "folder/*" too."""
        made: dict[bytes, bool] = {}
        root = os.fsencode(self._folder)
        for path in paths:
            parts = path.split(b"/")[:-1]
            for count in range(1, len(parts) + 1):
                place = os.path.join(root, *parts[:count])
                if place not in made:
                    made[place] = _make(place)
        try:
            yield
        finally:
            for place in reversed([place for place, ours in made.items() if ours]):
                os.rmdir(place)


def _make(place: bytes) -> bool:
    """Make a folder and return whether it was not there."""
    try:
        os.mkdir(place)
    except FileExistsError:
        return False
    return True


def lay_out(git: Git, rules: Tree, folder: Path) -> Rules:
    """Write the `.gitignore` files below `folder`, a new folder of ours, and return the rules."""
    data = dict(read_blobs(git, {entry.oid for entry in rules.values()}))
    for path, entry in sorted(rules.items())[:RULES_LIMIT]:
        place = folder / os.fsdecode(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data[entry.oid])
    return Rules(git, folder)


def of_baseline(workspace: Workspace, git: Git, baseline: Tree) -> Rules:
    """Return the rules of the run's baseline, kept beside its tree from the first call on."""
    folder = workspace.folder / "rules"
    if not folder.is_dir():
        workspace.folder.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix="rules-", dir=workspace.folder))
        lay_out(git, of(baseline), fresh)
        try:
            fresh.rename(folder)
        except OSError:  # another was faster; its rules are the same
            shutil.rmtree(fresh)
    return Rules(git, folder)


def hidden(git: Git, tree: Tree, paths: Iterable[bytes]) -> list[bytes]:
    """Return those of the paths that the rules in this tree would ignore."""
    wanted = sorted(paths)
    with tempfile.TemporaryDirectory(prefix="rules-", dir=git.git_dir) as folder:
        ignored = lay_out(git, of(tree), Path(folder)).ignored(wanted)
    return [path for path in wanted if path in ignored]
