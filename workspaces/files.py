"""The write door: every byte that a tool writes into a workspace goes through `write_workspace_bytes`."""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from workspaces.paths import PathError, WorkspaceError, WorkspacePath, open_file, open_folder, refuse_special, split
from workspaces.rescue import note, remove_temporaries, unless_gone

_LOCKS = 256
_KEPT, _PART = ".kept", ".part"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TO_REWRITE = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class Content:
    """The bytes of a file and what `fstat` said of it before they were read."""

    data: bytes
    stat: os.stat_result


@dataclass(frozen=True)
class Written:
    """What a write did. `links_broken`: how many other names keep the old bytes. `in_place`: not by rename."""

    created: bool
    stat: os.stat_result
    links_broken: int = 0
    in_place: bool = False


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read(root: Path, path: WorkspacePath, limit_bytes: int) -> Content:
    """Return a whole regular file. Raises PathError, and WorkspaceError TOO_LARGE past the limit."""
    with open(open_file(root, path), "rb", buffering=0) as file:
        found = os.fstat(file.fileno())
        most = min(found.st_size, limit_bytes) + 1
        data = file.read(most)
        while len(data) < most and (piece := file.read(most - len(data))):
            data += piece
    if len(data) > limit_bytes:
        raise WorkspaceError(
            "TOO_LARGE", f"{path.given} has {found.st_size} bytes; file tools change files up to {limit_bytes} bytes."
        )
    return Content(data, found)


@contextlib.contextmanager
def lock(folder: Path, path: WorkspacePath) -> Iterator[None]:
    """Hold the lock of a real path: among threads and processes, only one checks and writes it at a time.

    The lock files lie in `folder`, outside the tree; a few paths may share one, which only makes them wait.
    """
    number = int.from_bytes(hashlib.sha256(os.fsencode(path.real)).digest()[:2], "big") % _LOCKS
    handle = _open_lock(folder, f"{number:02x}")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _open_lock(folder: Path, name: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(f"{folder}/{name}", flags, 0o600)
    except FileNotFoundError:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(f"{folder}/{name}", flags, 0o600)


def write_workspace_bytes(
    root: Path, path: WorkspacePath, data: bytes, *, rescue: Path, announce: Callable[[], None] = lambda: None
) -> Written:
    """Make the file at a resolved path hold these bytes: the old ones or the new ones, never a mix.

    Missing folders are made; an existing file keeps mode and owner; as root, what is new gets the owner of `root`.
    `rescue` is a folder outside the tree, for what a crash would need to be made good (see put_back_interrupted).
    `announce` is called when all is on disk, just before the file changes; what it raises keeps the file as it is.
    Raises PathError, and OSError with the old content intact and nothing left behind.
    """
    folder, name = split(path.relative)
    if not name:
        raise PathError("IS_DIRECTORY", f"{path.given} is the workspace itself; name a file in it.")
    if path.wants_folder:
        raise PathError("IS_DIRECTORY", f"{path.given} ends in a slash, so it names a folder; name a file.")
    with _folder(root, folder, path) as above:
        place = _Place(root, folder, above, name, path, rescue, announce)
        try:
            before = os.stat(name, dir_fd=above, follow_symlinks=False)
        except FileNotFoundError:
            return _create(place, data)
        refuse_special(before, path)
        return _replace(place, data, before)


@dataclass(frozen=True)
class _Place:
    """Where a write goes: the open folder `above` (at `folder` below `root`) and the name in it."""

    root: Path
    folder: str
    above: int
    name: str
    path: WorkspacePath
    rescue: Path
    announce: Callable[[], None]

    def stat(self) -> os.stat_result:
        return os.stat(self.name, dir_fd=self.above, follow_symlinks=False)


def _owner_of_new(root: Path) -> tuple[int, int] | None:
    """Return the owner that new files get, None to leave it: only root can give a file away."""
    if os.geteuid() != 0:
        return None
    found = os.stat(root)
    return found.st_uid, found.st_gid


@contextlib.contextmanager
def _folder(root: Path, relative: str, path: WorkspacePath) -> Iterator[int]:
    """Open the folder a file goes into, making what is missing; what was made goes away again if the write fails."""
    made: list[str] = []
    try:
        folder = _open_or_make(root, relative, path, made)
        try:
            yield folder
        finally:
            os.close(folder)
    except BaseException:
        for each in reversed(made):
            _remove_folder(root, each)
        raise


def _open_or_make(root: Path, relative: str, path: WorkspacePath, made: list[str]) -> int:
    try:
        try:
            return open_folder(root, relative)
        except FileNotFoundError:
            return _make_folders(root, relative, made)
    except NotADirectoryError:
        raise PathError("NOT_A_DIRECTORY", f"{path.given}: a part of the path is a file, not a folder.") from None


def _make_folders(root: Path, relative: str, made: list[str]) -> int:
    owner = _owner_of_new(root)
    folder = open_folder(root, "")
    so_far = ""
    for part in relative.split("/"):
        so_far = f"{so_far}/{part}" if so_far else part
        try:
            try:
                os.mkdir(part, 0o777, dir_fd=folder)
                made.append(so_far)
                if owner:
                    os.chown(part, *owner, dir_fd=folder, follow_symlinks=False)
                os.fsync(folder)
            except FileExistsError:
                pass
            below = os.open(part, _FOLDER, dir_fd=folder)
        finally:
            os.close(folder)
        folder = below
    return folder


def _remove_folder(root: Path, relative: str) -> None:
    """Remove an empty folder, reached without following a link that was put on the way since."""
    folder, name = split(relative)
    with contextlib.suppress(OSError):
        above = open_folder(root, folder)
        try:
            os.rmdir(name, dir_fd=above)
        finally:
            os.close(above)


def _create(place: _Place, data: bytes) -> Written:
    """Write beside, then link: the name appears with the whole content, or not at all if it exists by now."""
    above, name = place.above, place.name
    with _temporary(place, data, 0o666, _owner_of_new(place.root), None) as temporary:
        place.announce()
        try:
            os.link(temporary, name, src_dir_fd=above, dst_dir_fd=above, follow_symlinks=False)
        except FileExistsError:
            raise PathError(
                "ALREADY_EXISTS", f"{place.path.given} exists by now; read it before you write it."
            ) from None
        os.unlink(temporary, dir_fd=above)
        os.fsync(above)
    return Written(True, place.stat())


def _replace(place: _Place, data: bytes, before: os.stat_result) -> Written:
    above = place.above
    owner = (before.st_uid, before.st_gid)
    try:
        with _temporary(place, data, 0o600, owner, stat.S_IMODE(before.st_mode)) as temporary:
            place.announce()
            os.rename(temporary, place.name, src_dir_fd=above, dst_dir_fd=above)
            os.fsync(above)
    except PermissionError as error:
        if error.errno != errno.EPERM:
            raise
        # The folder forbids the rename (sticky, of another owner), or the owner can't be kept.
        _write_in_place(place, data)
        return Written(False, place.stat(), in_place=True)
    return Written(False, place.stat(), links_broken=before.st_nlink - 1)


@contextlib.contextmanager
def _temporary(
    place: _Place, data: bytes, create_mode: int, owner: tuple[int, int] | None, mode: int | None
) -> Iterator[str]:
    """Yield the name of a whole, synced file in the folder; it is gone afterwards whatever happens."""
    name = f".sakura-{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    note(place.rescue, place.path.relative, name)
    try:
        with open(os.open(name, flags, create_mode, dir_fd=place.above), "wb", buffering=0) as file:
            _write_all(file.fileno(), data)
            if owner:
                os.fchown(file.fileno(), *owner)
            if mode is not None:  # last, since a write and a change of owner take the set-user-id bit away
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        yield name
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=place.above)


def _write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


# --- in place ------------------------------------------------------------------------------------


def _write_in_place(place: _Place, data: bytes) -> None:
    """Rewrite an open file, with a copy kept until the write has ended.

    Opened without O_CREAT: Linux (fs.protected_regular) refuses O_CREAT on a foreign file in a sticky directory.
    """
    with open(os.open(place.name, _TO_REWRITE, dir_fd=place.above), "r+b", buffering=0) as file:
        copy = _keep_copy(place.rescue, place.path, file.fileno())
        place.announce()
        try:
            _overwrite(file.fileno(), data)
        except OSError:
            _put_back(copy, file.fileno())
            copy.unlink()
            raise
        copy.unlink()


def _keep_copy(rescue: Path, path: WorkspacePath, file: int) -> Path:
    """Store the file's bytes below a first line that says which path they belong to."""
    rescue.mkdir(mode=0o700, parents=True, exist_ok=True)
    copy = rescue / f"{secrets.token_hex(8)}{_KEPT}"
    part = copy.with_suffix(_PART)
    try:
        with part.open("wb") as out:
            out.write(json.dumps({"path": path.relative}).encode() + b"\n")
            os.lseek(file, 0, os.SEEK_SET)
            while block := os.read(file, 1 << 20):
                out.write(block)
            out.flush()
            os.fsync(out.fileno())
    except OSError:
        part.unlink(missing_ok=True)
        raise
    part.rename(copy)
    handle = os.open(rescue, _FOLDER)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    return copy


def _overwrite(file: int, data: bytes) -> None:
    os.lseek(file, 0, os.SEEK_SET)
    _write_all(file, data)
    os.ftruncate(file, len(data))
    os.fsync(file)


def _put_back(copy: Path, file: int) -> None:
    with copy.open("rb") as kept:
        kept.readline()
        _overwrite(file, kept.read())


# --- after a crash -------------------------------------------------------------------------------


def put_back_interrupted(root: Path, rescue: Path) -> list[str]:
    """Make good what writes left that a crash cut short; to be called before an agent goes on.

    Temporaries are removed; writes in place are undone, and their paths returned.
    """
    done: list[str] = []
    remove_temporaries(root, rescue)
    for copy in sorted(rescue.glob(f"*{_KEPT}")):
        done += _undo(root, copy)
        copy.unlink()
    for part in rescue.glob(f"*{_PART}"):  # a copy that was cut short itself: its write had not begun
        part.unlink()
    return done


def _undo(root: Path, copy: Path) -> list[str]:
    with copy.open("rb") as kept:
        relative = str(json.loads(kept.readline())["path"])
    folder, name = split(relative)
    with unless_gone():
        above = open_folder(root, folder)
        try:
            with open(os.open(name, _TO_REWRITE, dir_fd=above), "r+b", buffering=0) as file:
                if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    _put_back(copy, file.fileno())
                    return [relative]
        finally:
            os.close(above)
    return []


# --- what the operating system says --------------------------------------------------------------

OS_ERRORS: dict[int, tuple[str, str]] = {
    errno.EACCES: ("WORKSPACE_WRITE_PERMISSION_DENIED", "permission denied; its mode or owner must be changed first"),
    errno.EPERM: ("WORKSPACE_WRITE_PERMISSION_DENIED", "the operation is not permitted on it"),
    errno.EROFS: ("WORKSPACE_WRITE_PERMISSION_DENIED", "it lies on a read-only file system"),
    errno.ENOSPC: ("DISK_FULL", "no space is left on the disk; nothing was changed"),
    errno.EDQUOT: ("DISK_FULL", "the disk quota is used up; nothing was changed"),
    errno.EFBIG: ("TOO_LARGE", "it is larger than this system lets a file be"),
    errno.ENOENT: ("NOT_FOUND", "it does not exist (any more)"),
    errno.ENOTDIR: ("NOT_A_DIRECTORY", "a part of the path is a file, not a folder"),
    errno.EISDIR: ("IS_DIRECTORY", "it is a folder"),
    errno.EEXIST: ("ALREADY_EXISTS", "it exists already"),
    errno.ELOOP: ("INVALID_INPUT", "links on the way point at each other, or were changed while it was opened"),
    errno.ENAMETOOLONG: ("INVALID_INPUT", "the path is too long"),
    errno.EINVAL: ("INVALID_INPUT", "the system does not take this path"),
    errno.ENXIO: ("SPECIAL_FILE", "it is a device, pipe or socket"),
    errno.ENODEV: ("SPECIAL_FILE", "it is a device that is not there"),
}
"""What an error number of the system is in the tools' contract, and in words."""
