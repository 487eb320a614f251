"""How the tree, and what set-up made, are mounted: directly, read-only, or with a layer that takes the writes."""

import errno
import fcntl
import json
import os
import secrets
import subprocess
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from workspaces import cuts
from workspaces.sandbox import environment
from workspaces.sandbox.identity import own, own_folder
from workspaces.sandbox.place import Place, Tree
from workspaces.sandbox.removal import remove

MADE = "made.json"
MAX_FOLDERS = 40
COPY_S = 600


@dataclass(frozen=True)
class Made:
    """What set-up made: folders below the tree, and folders and files at the top of HOME."""

    tree: list[str] = field(default_factory=list)
    home: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, folder: Path | None) -> "Made":
        """Read the list kept beside what set-up made; nothing for None."""
        if folder is None:
            return cls()
        found = json.loads((folder / MADE).read_text(encoding="utf-8"))
        return cls(tree=found["tree"][:MAX_FOLDERS], home=found["home"][:MAX_FOLDERS])


def tree_mounts(place: Place, held: ExitStack, *, overlay: bool, notes: list[str]) -> list[str]:
    """Return the mount of the tree at /workspace."""
    tree = str(place.tree)
    match place.mode:
        case Tree.WRITE:
            return ["--bind", tree, environment.TREE]
        case Tree.READ:
            return ["--ro-bind", tree, environment.TREE]
        case Tree.OVERLAY if overlay:
            return ["--overlay-src", tree, "--tmp-overlay", environment.TREE]
        case Tree.OVERLAY:
            notes.append("the tree is a private copy: this kernel gives no overlay to an ordinary user")
            return ["--bind", str(_copied(place, held)), environment.TREE]


def _copied(place: Place, held: ExitStack) -> Path:
    """Return a copy of the tree, made with the rights of the command's user: the tree may change under our hands."""
    scratch = own_folder() / f"copy-{secrets.token_hex(8)}"
    scratch.mkdir(mode=0o711)
    held.callback(remove, scratch)
    own(scratch, place.uid)
    uid = place.uid
    who: dict[str, Any] = {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}
    words = ["cp", "-a", "--reflink=auto", "--", str(place.tree), str(scratch / "tree")]
    done = subprocess.run(words, capture_output=True, timeout=COPY_S, check=False, **who)
    if done.returncode != 0:
        said = cuts.tail(done.stderr.decode("utf-8", "replace").strip(), 500)
        raise OSError(errno.EIO, f"The tree can't be copied: {said}")
    return scratch / "tree"


def made_mounts(place: Place, held: ExitStack, *, overlay: bool, notes: list[str]) -> list[str]:
    """Return the mounts of what set-up made, each below a layer for the writes of this run or of this command."""
    if place.environment is None:
        return []
    made = Made.read(place.environment)
    upper = _upper(place, held, notes) if overlay else None
    if not overlay:
        notes.append("what set-up made is read-only: this kernel gives no overlay to an ordinary user")
    mounts = []
    for part, host, inside in (("tree", place.tree, environment.TREE), ("home", place.home, environment.HOME)):
        for name in getattr(made, part):
            source = place.environment / part / name
            if not _mount_point(host, PurePosixPath(name), place.uid, is_file=source.is_file()):
                notes.append(f"{name} of set-up is not mounted: the run has something of its own there")
            elif source.is_file() or not overlay:
                mounts += ["--ro-bind", str(source), f"{inside}/{name}"]
            else:
                layer = upper and upper / part / name.replace("/", "%")
                mounts += _layered(source, f"{inside}/{name}", layer, place.uid, held)
    return mounts


def _upper(place: Place, held: ExitStack, notes: list[str]) -> Path | None:
    """Return the folder that keeps this run's writes, locked, or None where they are thrown away."""
    if place.environment is None or place.mode is not Tree.WRITE:
        return None
    upper = place.home.parent / "layers" / place.environment.name
    upper.mkdir(parents=True, exist_ok=True)
    lock = held.enter_context((upper / ".lock").open("w"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        notes.append("writes to what set-up made are thrown away: another command of this run is writing there")
        return None
    return upper


def _layered(source: Path, inside: str, upper: Path | None, uid: int | None, held: ExitStack) -> list[str]:
    if upper is None:
        return ["--overlay-src", str(source), "--tmp-overlay", inside]
    for name in ("upper", "work"):
        (upper / name).mkdir(parents=True, exist_ok=True)
        if uid is not None:
            os.chown(upper / name, uid, uid)
    held.callback(_clear, upper / "work")
    return ["--overlay-src", str(source), "--overlay", str(upper / "upper"), str(upper / "work"), inside]


def _clear(work: Path) -> None:
    """Remove the closed, empty folder that the kernel leaves, so that the run's folder can be removed like others."""
    with suppress(OSError):  # the kernel made none, or has it still; it makes do with an old one
        (work / "work").rmdir()


def _mount_point(root: Path, name: PurePosixPath, uid: int | None, *, is_file: bool) -> bool:
    """Make an empty folder or file to mount on and return True; False where the run put something else there.

    No link is followed: the folders belong to the run.
    """
    opened: list[int] = []
    try:
        opened.append(os.open(root, os.O_DIRECTORY | os.O_PATH))
        for part in name.parts[:-1]:
            opened.append(os.open(part, os.O_DIRECTORY | os.O_NOFOLLOW | os.O_PATH, dir_fd=opened[-1]))
        return _place(opened[-1], name.name, uid, is_file=is_file)
    except (FileNotFoundError, NotADirectoryError):
        return False
    finally:
        for handle in opened:
            os.close(handle)


def _place(parent: int, name: str, uid: int | None, *, is_file: bool) -> bool:
    try:
        if is_file:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644, dir_fd=parent))
        else:
            os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
        return (found.st_mode & 0o170000) == (0o100000 if is_file else 0o040000) and not (is_file and found.st_size)
    if uid is not None:
        os.chown(name, uid, uid, dir_fd=parent, follow_symlinks=False)
    return True


def hidden_covers(place: Place) -> tuple[list[str], list[str]]:
    """Return the folders and the files, as paths inside, that cover the hidden paths which exist now."""
    folders: set[Path] = set()
    files: set[Path] = set()
    root = Path(os.path.realpath(place.tree))
    for name in place.hidden:
        path = root / name
        if path.is_symlink():  # what it leads to is hidden by its own name, or not at all
            continue
        if path.is_dir():
            folders.add(path)
        elif path.exists():
            files.add(path)
    outermost, lone = (
        [path for path in sorted(paths) if folders.isdisjoint(path.parents)] for paths in (folders, files)
    )
    return _inside(outermost, root), _inside(lone, root)


def _inside(paths: list[Path], root: Path) -> list[str]:
    return [f"{environment.TREE}/{path.relative_to(root)}" for path in paths]


def pins(place: Place) -> list[str]:
    """Return mounts of folders onto themselves, outermost first: the kernel renames no mount point.

    Only a tree that keeps its writes needs them.
    """
    if place.mode is not Tree.WRITE:
        return []
    root = Path(os.path.realpath(place.tree))
    mounts = []
    for name in sorted(place.pinned):
        real = Path(os.path.realpath(root / name))
        if real == root / name and real.is_dir():
            mounts += ["--bind", str(real), f"{environment.TREE}/{name}"]
    return mounts
