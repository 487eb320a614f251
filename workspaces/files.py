"""The write door: every byte that a tool writes into a workspace goes through `write_workspace_bytes`."""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workspaces.paths import PathError, WorkspaceError, WorkspacePath, open_file, open_folder, refuse_special, split

_LOCKS = 256
_TEMPORARY = ".sakura-"


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
    with open(open_file(root, path), "rb") as file:
        found = os.fstat(file.fileno())
        data = file.read(min(found.st_size, limit_bytes) + 1)
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
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    number = int.from_bytes(hashlib.sha256(os.fsencode(path.real)).digest()[:2], "big") % _LOCKS
    with open(folder / f"{number:02x}", "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_workspace_bytes(root: Path, path: WorkspacePath, data: bytes, *, rescue: Path) -> Written:
    """Make the file at a resolved path hold these bytes: the old ones or the new ones, never a mix.

    Missing folders are made; an existing file keeps mode and owner; as root, what is new gets the owner of `root`.
    `rescue` is a folder outside the tree, for the copy that an in-place write needs (see put_back_interrupted).
    Raises PathError, and OSError with the old content intact and nothing left behind.
    """
    folder, name = split(path.relative)
    if not name:
        raise PathError("IS_DIRECTORY", f"{path.given} is the workspace itself; name a file in it.")
    if path.wants_folder:
        raise PathError("IS_DIRECTORY", f"{path.given} ends in a slash, so it names a folder; name a file.")
    with _folder(root, folder, path) as above:
        try:
            before = os.stat(name, dir_fd=above, follow_symlinks=False)
        except FileNotFoundError:
            return _create(above, name, data, path, _owner_of_new(root))
        refuse_special(before, path)
        return _replace(above, name, data, before, path, rescue)


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
        try:
            folder = open_folder(root, relative)
        except FileNotFoundError:
            folder = _make_folders(root, relative, made)
    except NotADirectoryError:
        raise PathError("NOT_A_DIRECTORY", f"{path.given}: a part of the path is a file, not a folder.") from None
    try:
        yield folder
    except BaseException:
        for relative in reversed(made):
            with contextlib.suppress(OSError):
                (root / relative).rmdir()
        raise
    finally:
        os.close(folder)


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
            except FileExistsError:
                pass
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)
        folder = below
    return folder


def _create(above: int, name: str, data: bytes, path: WorkspacePath, owner: tuple[int, int] | None) -> Written:
    """Write beside, then link: the name appears with the whole content, or not at all if it exists by now."""
    with _temporary(above, data, 0o666, owner, None) as temporary:
        try:
            os.link(temporary, name, src_dir_fd=above, dst_dir_fd=above, follow_symlinks=False)
        except FileExistsError:
            raise PathError("ALREADY_EXISTS", f"{path.given} exists by now; read it before you write it.") from None
        os.unlink(temporary, dir_fd=above)
    os.fsync(above)
    return Written(True, os.stat(name, dir_fd=above, follow_symlinks=False))


def _replace(above: int, name: str, data: bytes, before: os.stat_result, path: WorkspacePath, rescue: Path) -> Written:
    owner = (before.st_uid, before.st_gid)
    try:
        with _temporary(above, data, 0o600, owner, stat.S_IMODE(before.st_mode)) as temporary:
            os.rename(temporary, name, src_dir_fd=above, dst_dir_fd=above)
    except PermissionError:
        # The folder forbids the rename (sticky, of another owner), or the owner can't be kept.
        _write_in_place(above, name, data, path, rescue)
        return Written(False, os.stat(name, dir_fd=above, follow_symlinks=False), in_place=True)
    os.fsync(above)
    after = os.stat(name, dir_fd=above, follow_symlinks=False)
    return Written(False, after, links_broken=before.st_nlink - 1)


@contextlib.contextmanager
def _temporary(
    above: int, data: bytes, create_mode: int, owner: tuple[int, int] | None, mode: int | None
) -> Iterator[str]:
    """Yield the name of a whole, synced file in the folder; it is gone afterwards whatever happens."""
    name = f"{_TEMPORARY}{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with open(os.open(name, flags, create_mode, dir_fd=above), "wb", buffering=0) as file:
            if owner and owner != (os.geteuid(), os.getegid()):
                os.fchown(file.fileno(), *owner)
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            _write_all(file.fileno(), data)
            os.fsync(file.fileno())
        yield name
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=above)


def _write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


# --- in place ------------------------------------------------------------------------------------


def _write_in_place(above: int, name: str, data: bytes, path: WorkspacePath, rescue: Path) -> None:
    """Rewrite an open file, with a copy kept until the write has ended.

    Opened without O_CREAT: Linux (fs.protected_regular) refuses O_CREAT on a foreign file in a sticky directory.
    """
    with open(os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above), "r+b", buffering=0) as file:
        copy = _keep_copy(rescue, path, file.fileno())
        try:
            _overwrite(file.fileno(), data)
        except OSError:
            _put_back(copy, file.fileno())
            raise
        finally:
            copy.unlink()


def _keep_copy(rescue: Path, path: WorkspacePath, file: int) -> Path:
    """Store the file's bytes below a first line that says which path they belong to."""
    rescue.mkdir(mode=0o700, parents=True, exist_ok=True)
    copy = rescue / secrets.token_hex(8)
    with open(copy.with_suffix(".part"), "wb") as out:
        out.write(json.dumps({"path": path.relative}).encode() + b"\n")
        os.lseek(file, 0, os.SEEK_SET)
        while block := os.read(file, 1 << 20):
            out.write(block)
        out.flush()
        os.fsync(out.fileno())
    return copy.with_suffix(".part").rename(copy)


def _overwrite(file: int, data: bytes) -> None:
    os.lseek(file, 0, os.SEEK_SET)
    _write_all(file, data)
    os.ftruncate(file, len(data))
    os.fsync(file)


def _put_back(copy: Path, file: int) -> None:
    with copy.open("rb") as kept:
        kept.readline()
        _overwrite(file, kept.read())


def put_back_interrupted(root: Path, rescue: Path) -> list[str]:
    """Undo in-place writes that a crash cut short; return their paths. To be called before an agent goes on."""
    done: list[str] = []
    for copy in sorted(rescue.glob("*")) if rescue.is_dir() else ():
        if copy.suffix != ".part":  # a copy that was cut short itself: its write had not begun
            with copy.open("rb") as kept:
                relative = json.loads(kept.readline())["path"]
            folder, name = split(relative)
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                above = open_folder(root, folder)
                try:
                    file = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
                    with open(file, "r+b", buffering=0):
                        _put_back(copy, file)
                    done.append(relative)
                finally:
                    os.close(above)
        copy.unlink()
    return done


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
