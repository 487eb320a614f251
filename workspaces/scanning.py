"""Finds what changed in a tree that may be hostile: our own walk by folder descriptors; no git looks at the tree."""

import errno
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from workspaces import rules
from workspaces.git import Git
from workspaces.keeping import Keeping
from workspaces.known import Known, Stat, memory, parents
from workspaces.models import Workspace
from workspaces.names import raw, shown
from workspaces.objects import Objects
from workspaces.opening import entered, folder, readable
from workspaces.store import (
    EXECUTABLE,
    FILE,
    LINK,
    SUBMODULE,
    StoreError,
    Tree,
    TreeEntry,
    build_tree,
)
from workspaces.unfit import is_unfit

DEPTH_LIMIT = 200
"""Folders in folders; what lies deeper is left out and named."""
PATH_LIMIT = 3000
"""Bytes of a path; a longer one is left out and named. The kernel takes 4,095, the folder of the tree among them."""
HELD = 16
"""Folders on the way down that are held open at once; those above are opened anew when the walk comes back."""
ENTRY_LIMIT = 500_000
"""Files that are not ignored, in one tree."""
AHEAD = 500
"""Unknown paths that are gathered before the rules are asked."""
VERDICT_LIMIT = 100_000
RACY_NS = 20_000_000
"""A file changed so shortly before it was read may change again with the same time (the kernel's clock ticks in up to
10 ms), so its stat proves nothing: git's own notion of "racily clean"."""
BEYOND = f"it lies more than {DEPTH_LIMIT} folders deep, or its path is longer than {PATH_LIMIT:,} bytes"
CLOSED = "its mode keeps it from being read"
WITHHELD = "the policy hides what the base has at this path"

_GONE = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.ESTALE, errno.ENAMETOOLONG}
)
"""What the kernel says of a path that is not there any more, or was swapped for a link or a device."""


@contextmanager
def looking(
    workspace: Workspace, git: Git, known: Known, paths: Sequence[str] | None, *, trusting: bool = False
) -> Iterator["Scan"]:
    """Look at these paths of the workspace's tree (None: at everything), and take away what was not flushed after.

    For who holds the tree's lock.
    """
    ignoring = rules.of_baseline(workspace, git, known.baseline)
    scan = Scan(workspace.tree, known, ignoring, Objects(workspace.repository.store), trusting=trusting)
    try:
        if paths is None:
            scan.whole()
        else:
            scan.some(list({each for path in paths for each in (raw(path), os.fsencode(path))}))
        yield scan
    finally:
        scan.objects.discard()


@dataclass(slots=True)
class _Level:
    """A folder on the way down: what waits in it, and whether all of it was walked.

    `ahead`: it is not known yet whether the rules ignore what is in it; `is_asked`: nor whether they ignore itself.
    """

    prefix: bytes
    depth: int
    handle: int | None = None
    waiting: list[bytes] = field(default_factory=list)
    ahead: bool = False
    is_asked: bool = False
    complete: bool = True
    opened: ExitStack = field(default_factory=ExitStack)

    def let_go(self) -> None:
        self.handle = None
        self.opened.close()


class Scan:
    """One look at a tree. `changes` are against `known.entries`; `skipped` names what can't be stored, and why.

    `stats` prove the entries in `changes`, once those are known; `large` are the paths stored as stand-ins. What must
    be stored goes into `objects`, which are the caller's to flush or to discard.
    """

    def __init__(
        self, root: Path, known: Known, ignoring: rules.Rules, objects: Objects, *, trusting: bool = False
    ) -> None:
        self.root = root
        self.known = known
        self.objects = objects
        self._keeping = Keeping(known.entries, objects)
        self.changes: dict[bytes, TreeEntry | None] = {}
        self.skipped: dict[bytes, str] = {}
        self.stats: dict[bytes, Stat] = {}
        self.large = self._keeping.large
        self._rules = ignoring
        self._trusting = trusting
        self._is_written = memory.is_written(root)
        self._seen: set[bytes] = set()
        self._matched: dict[bytes, list[str]] = {}
        self._unread: set[bytes] = set(known.withheld)
        self._pending: list[bytes] = []
        self._walked_ahead: set[bytes] = set()

    def whole(self) -> None:
        """Look at everything."""
        with folder(self.root) as handle:
            top = _Level(b"", 0, handle)
            self._list(top)
            self._walk(top)
        self._settle()
        entries = self.known.entries
        if sum(map(len, self._matched.values())) + sum(path in entries for path in self._seen) != len(entries):
            self._note_gone(entries)

    def some(self, paths: list[bytes]) -> None:
        """Look at these paths only, and at what they must have displaced."""
        entries = self.known.entries
        touched = set(paths)
        for path in paths:
            self._look_at(path)
            touched |= {parent for parent in parents(path) if parent in entries}
            if path in self.known.folders:
                touched |= {known for known in entries if known.startswith(path + b"/")}
        self._settle()
        for path in touched - self._all_seen():
            self._look_at(path)
        self._settle()
        self._note_gone({path: entries[path] for path in touched if path in entries})

    def left_out(self) -> list[dict[str, str]]:
        """Return what can't be stored, by path, as {"path", "why"}."""
        return [{"path": shown(path), "why": why} for path, why in sorted(self.skipped.items())]

    def tree(self, git: Git) -> str:
        """Add the tree with the changes in it to `objects`, and return its id."""
        draft = self.known.draft(self.changes)
        if draft is None:
            self.objects.flush()  # git wants to see the blobs
            return build_tree(git, self.known.tree, self.changes)
        for data in draft.objects:
            self.objects.add("tree", data)
        return draft.tree

    def _all_seen(self) -> set[bytes]:
        return self._seen.union(prefix + os.fsencode(name) for prefix, names in self._matched.items() for name in names)

    # --- the walk --------------------------------------------------------------------------------

    def _walk(self, first: "_Level") -> None:
        """Look at what waits in a folder and at all below; of the folders on the way, the last few are held open."""
        levels = [first]
        try:
            while levels:
                here = levels[-1]
                if not here.waiting or not self._hold(here):
                    self._finish(levels.pop(), levels)
                    continue
                below = self._enter(here, here.waiting.pop())
                if below is not None:
                    levels.append(below)
                    if len(levels) > HELD:
                        levels[-HELD - 1].let_go()
                    self._list(below)
        finally:
            for level in levels:
                level.let_go()

    def _list(self, level: "_Level") -> None:
        """Look at the files in a folder and note the folders in it; a walk ahead may be cut short here."""
        assert level.handle is not None
        stats = self.known.stats.get(level.prefix, {})
        matched: list[str] = []
        self._matched[level.prefix] = matched
        with os.scandir(level.handle) as found:
            for item in found:  # the hot loop: nothing is called that can be written here
                sign = stats.get(item.name)
                if sign is not None:
                    try:
                        now = item.stat(follow_symlinks=False)
                    except OSError:
                        continue  # gone
                    if sign == (now.st_mode, now.st_size, now.st_mtime_ns, now.st_ctime_ns, now.st_ino):
                        matched.append(item.name)
                        continue
                elif level.ahead and len(self._pending) > AHEAD:
                    level.waiting, level.complete = [], False
                    return
                self._meet(level, item)

    def _meet(self, level: "_Level", item: "os.DirEntry[str]") -> None:
        """Look at what no stat proves to be as it was."""
        name = item.name
        path = level.prefix + os.fsencode(name)
        if (name[0] in ".gG" or not name.isascii()) and is_unfit(name):
            self._skip_name(path)
        elif path in self.known.withheld:
            self._leave(path, WITHHELD)
        elif item.is_dir(follow_symlinks=False):
            level.waiting.append(path)
        else:
            assert level.handle is not None
            self._meet_file(level.handle, path)

    def _meet_file(self, handle: int, path: bytes) -> None:
        if len(path) > PATH_LIMIT:
            self._leave(path, BEYOND)
        elif path in self.known.withheld_folders:
            self.skipped[path] = f"{WITHHELD}, in a folder; what was known of it stays"
        elif path in self.known.entries:
            self._look(handle, path)
        else:
            self._ask(path, handle)

    def _enter(self, here: "_Level", path: bytes) -> "_Level | None":
        """Open a folder to be walked; None where the baseline's rules ignore it, or it can't be entered.

        Unknown ones are walked ahead to gather what to ask, so that a verdict on many costs one process.
        """
        if path in self.known.folders or path in self.known.entries:
            return self._open(here, path, ahead=here.ahead)
        verdict = self.known.verdicts.get(path + b"/")
        if verdict is not None:
            return None if verdict else self._open(here, path, ahead=here.ahead)
        self._pending.append(path + b"/")
        if len(self._pending) > AHEAD:
            here.complete = False
            return None
        below = self._open(here, path, ahead=True)
        if below is None:
            self._walked_ahead.add(path + b"/")
        else:
            below.is_asked = True
        return below

    def _open(self, here: "_Level", path: bytes, *, ahead: bool) -> "_Level | None":
        if here.depth >= DEPTH_LIMIT or len(path) > PATH_LIMIT:
            self._leave(path, BEYOND)
            return None
        below = _Level(path + b"/", here.depth + 1, ahead=ahead)
        try:
            below.handle = below.opened.enter_context(entered(path.rpartition(b"/")[2], here.handle))
        except PermissionError:
            self._leave(path, CLOSED)
        except OSError as error:
            _must_be_gone(error)
        else:
            entry = self.known.entries.get(path)
            if entry is None or entry.mode != SUBMODULE or not _is_empty(below.handle):
                return below
            below.let_go()
            self._seen.add(path)
        return None

    def _hold(self, level: "_Level") -> bool:
        """Have a folder open that was let go meanwhile; False where it is not there any more."""
        if level.handle is None:
            try:
                level.handle = level.opened.enter_context(folder(self.root, level.prefix[:-1]))
            except PermissionError:
                self._leave(level.prefix[:-1], CLOSED)
            except OSError as error:
                _must_be_gone(error)
        return level.handle is not None

    def _finish(self, level: "_Level", above: list["_Level"]) -> None:
        level.let_go()
        if level.is_asked and level.complete:
            self._walked_ahead.add(level.prefix)
        if above and not level.complete:
            above[-1].complete = False

    def _leave(self, path: bytes, why: str) -> None:
        """Leave out what is there, and what was known of it as it is: a diff must not call it deleted."""
        self.skipped[path] = f"{why}; what was known of it stays"
        self._unread.add(path)

    def _ask(self, path: bytes, handle: int) -> None:
        verdict = False if path in self.known.baseline else self.known.verdicts.get(path)
        if verdict is None:
            self._pending.append(path)
            if len(self._pending) + len(self.changes) + len(self.known.entries) > ENTRY_LIMIT:
                raise StoreError(
                    f"The workspace has more than {ENTRY_LIMIT:,} files that git would not ignore; near {shown(path)}."
                )
        elif verdict is False:
            self._look(handle, path)

    def _settle(self) -> None:
        """Get the verdicts that are waited for and go on where nothing is ignored, until none is left."""
        while self._pending:
            asked, self._pending = self._pending, []
            ignored = self._rules.ignored(asked)
            if len(self.known.verdicts) > VERDICT_LIMIT:
                self.known.verdicts.clear()
            self.known.verdicts.update({path: path in ignored for path in asked})
            for path in asked:
                if path not in ignored and path not in self._walked_ahead:
                    self._look_at(path.removesuffix(b"/"))

    def _look_at(self, path: bytes) -> None:
        """Look at one path, opened from the root."""
        parent, _, name = path.rpartition(b"/")
        if any(is_unfit(os.fsdecode(part)) for part in path.split(b"/")):
            return
        kept = next((each for each in (path, *parents(path)) if each in self.known.withheld), None)
        try:
            with folder(self.root, parent) as handle:
                found = os.stat(name, dir_fd=handle, follow_symlinks=False)
                if kept is not None:
                    self._leave(kept, WITHHELD)
                elif path.count(b"/") > DEPTH_LIMIT:
                    self._leave(path, BEYOND)
                elif stat.S_ISDIR(found.st_mode):
                    self._walk(_Level(parent + b"/" * bool(parent), path.count(b"/"), handle, waiting=[path]))
                else:
                    self._meet_file(handle, path)
        except PermissionError:
            self._leave(path, CLOSED)
        except OSError as error:
            _must_be_gone(error)

    def _note_gone(self, entries: Tree) -> None:
        seen = self._all_seen()
        for path in entries:
            if path not in seen and not (self._unread and self._unread.intersection((path, *parents(path)))):
                self.changes[path] = None

    def _skip_name(self, path: bytes) -> None:
        if path.rpartition(b"/")[2] != b".git":
            self.skipped[path] = "git refuses its name, which some file systems take for .git"

    # --- one file --------------------------------------------------------------------------------

    def _look(self, handle: int, path: bytes) -> None:
        """Find out what is at the path now and note it, if that is another content or mode than what is known."""
        name = path.rpartition(b"/")[2]
        started = time.time_ns()
        try:
            found = os.stat(name, dir_fd=handle, follow_symlinks=False)
            if stat.S_ISLNK(found.st_mode):
                entry = self._link(handle, name, path)
            elif stat.S_ISREG(found.st_mode):
                entry = self._file(handle, name, path)
            else:
                self.skipped[path] = "it is a device, FIFO or socket"
                return
            after = os.stat(name, dir_fd=handle, follow_symlinks=False)
        except PermissionError:
            self._leave(path, CLOSED)
            return
        except OSError as error:
            _must_be_gone(error)
            return
        if entry is None:
            return
        self._seen.add(path)
        before, now = _sign(found), _sign(after)
        proves = before == now and (self._trusting or (now[3] < started - RACY_NS and not self._may_be_written()))
        if entry == self.known.entries.get(path):
            self.known.note(path, now if proves else None)
        else:
            self.changes[path] = entry
            if proves:
                self.stats[path] = now

    def _may_be_written(self) -> bool:
        """Return whether a command runs on: a file that it has mapped can change while its times stay as they were."""
        return self._is_written or memory.is_written(self.root)

    def _link(self, handle: int, name: bytes, path: bytes) -> TreeEntry | None:
        if name.lower().startswith((b".gitmodules", b"gitmod~")):
            self.skipped[path] = "git refuses a link of this name"
            return None
        return TreeEntry(LINK, self._keeping.data(os.readlink(name, dir_fd=handle), path))

    def _file(self, handle: int, name: bytes, path: bytes) -> TreeEntry | None:
        known = self.known.entries.get(path)
        with open(readable(handle, name), "rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                return None
            mode = EXECUTABLE if found.st_mode & stat.S_IXUSR else FILE
            if self._trusting and known is not None:
                return known
            return TreeEntry(mode, self._keeping.file(file.fileno(), found.st_size, path))


def _must_be_gone(error: OSError) -> None:
    """Raise the error again unless it says that the path is gone: a full disk must not pass for a deleted file."""
    if error.errno not in _GONE:
        raise error


def _sign(found: os.stat_result) -> Stat:
    return found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _is_empty(handle: int) -> bool:
    with os.scandir(handle) as found:
        return all(item.name.lower() == ".git" for item in found)


def on_disk(root: Path, path: bytes, ignoring: rules.Rules, store: Path) -> TreeEntry | None:
    """Store what is at the path now, ignored or not, and return it; None for nothing, a folder or a device."""
    scan = Scan(root, Known("", {}, {path: TreeEntry(FILE, "")}), ignoring, Objects(store))
    try:
        scan.some([path])
        scan.objects.flush()
    finally:
        scan.objects.discard()
    return scan.changes.get(path)
