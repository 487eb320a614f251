"""How the tree, and what set-up made, are mounted: directly, read-only, or with a layer that takes the writes."""

import errno
import fcntl
import json
import os
import secrets
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from workspaces import cuts
from workspaces.sandbox import environment, mount_points
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
    """Return the mounts of what set-up made, each below a layer for the writes of this run or of this command.

    For a command that runs on, also those that keep the folders on the way there in their place.
    """
    if place.environment is None:
        return []
    made = Made.read(place.environment)
    upper = _upper(place, held, notes) if overlay else None
    if not overlay:
        notes.append("what set-up made is read-only: this kernel gives no overlay to an ordinary user")
    mounts = []
    for part, host, inside in (("tree", place.tree, environment.TREE), ("home", place.home, environment.HOME)):
        sources = {name: place.environment / part / name for name in getattr(made, part)}
        ways = _ways(host, sources, place.uid, notes)
        if place.runs_on and (part == "home" or place.mode is Tree.WRITE):  # otherwise it can't change what lies there
            mounts += _kept(host, inside, ways, held)
        for name in ways:
            if sources[name].is_file() or not overlay:
                mounts += ["--ro-bind", str(sources[name]), f"{inside}/{name}"]
            else:
                layer = upper and upper / part / name.replace("/", "%")
                mounts += _layered(sources[name], f"{inside}/{name}", layer, place.uid, held)
    return mounts


def _ways(host: Path, sources: Mapping[str, Path], uid: int | None, notes: list[str]) -> dict[str, mount_points.Way]:
    """Return the way to each mount point below `host`; what can't be mounted is left out, with a note."""
    ways: dict[str, mount_points.Way] = {}
    for name, source in sources.items():
        way = mount_points.ready(host, PurePosixPath(name), uid, is_file=source.is_file())
        if way is None:
            notes.append(
                f"{name} of set-up is not mounted: its folder is not there, or the run has something of its own"
            )
        elif not mount_points.is_held(host, way):
            notes.append(f"{name} of set-up is not mounted: a command in the background may move it")
        else:
            ways[name] = way
    return ways


def _kept(host: Path, inside: str, ways: Mapping[str, mount_points.Way], held: ExitStack) -> list[str]:
    """Return the mounts that keep the folders on the ways in their place, and let others know of them."""
    everything = {path: inode for way in ways.values() for path, inode in way.items()}
    held.enter_context(mount_points.holding(host, everything))
    folders = sorted(everything.keys() - ways.keys())
    return [word for name in folders for word in ("--bind", str(host / name), f"{inside}/{name}")]


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
