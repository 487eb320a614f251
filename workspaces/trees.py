"""Writes files of a snapshot into a tree that may be hostile: by folder descriptors, never through a link."""

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path

from workspaces import store, walking
from workspaces.git import Git, GitFull, GitTimeout
from workspaces.known import parents
from workspaces.names import shown
from workspaces.opening import entered, folder
from workspaces.paths import WorkspaceError
from workspaces.sandbox.removal import remove as remove_all
from workspaces.scanning import ENTRY_LIMIT

BYTES_LIMIT = 20 * 1024**3
"""Bytes of all files of a tree that is laid out."""
LIST_S = 120
_SMALLER = "choose a smaller base, or make room."
_TEMPORARY = ".sakura-put-"
_IN_THE_WAY = frozenset(
    {errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EBUSY}
)
"""What the kernel says of a path that can't be written for what it is, or where; a full disk is none of it."""


class TreeError(WorkspaceError):
    """A path that can't be put as it should be; the message says what is in the way."""


def put(
    git: Git,
    root: Path,
    wanted: Mapping[bytes, store.TreeEntry | None],
    uid: int | None,
    faults: dict[bytes, str] | None = None,
) -> list[bytes]:
    """Make these paths of the tree what the entries say (None: absent) and return those that were written.

    A large file that was never stored stays as it is. Raises TreeError when a folder that is not empty is in the way;
    with `faults`, such a path is noted there with the reason, and the others are put all the same.
    """
    written: list[bytes] = []
    for path in sorted((path for path, entry in wanted.items() if entry is None), reverse=True):
        with _noting(path, faults):
            if remove(root, path):
                written.append(path)
    come = {path: entry for path, entry in sorted(wanted.items()) if entry is not None}
    of_oid: dict[str, list[bytes]] = {}
    for path, entry in come.items():
        if entry.mode != store.SUBMODULE:
            of_oid.setdefault(entry.oid, []).append(path)
            continue
        with _noting(path, faults), _parent(root, path, uid, make=True) as (handle, name):
            _make_folder(handle, name, uid)
            written.append(path)
    for oid, data in store.read_blobs(git, of_oid):
        for path in of_oid[oid] if store.stood_in(data) is None else ():
            with _noting(path, faults):
                put_bytes(root, path, come[path].mode, data, uid)
                written.append(path)
    return sorted(written)


@contextmanager
def _noting(path: bytes, faults: dict[bytes, str] | None) -> Iterator[None]:
    """Note why a path can't be put, where there is a place for it."""
    try:
        yield
    except TreeError as error:
        if faults is None:
            raise
        faults[path] = error.message
    except OSError as error:
        if faults is None or error.errno not in _IN_THE_WAY:
            raise
        faults[path] = f"{shown(path)} can't be written: {os.strerror(error.errno)}."


def put_bytes(root: Path, path: bytes, mode: str, data: bytes, uid: int | None) -> None:
    """Put a file or link at the path, whole or not at all. Raises TreeError."""
    with _parent(root, path, uid, make=True) as (handle, name):
        temporary = os.fsencode(_TEMPORARY + secrets.token_hex(8))
        try:
            if mode == store.LINK:
                os.symlink(data, temporary, dir_fd=handle)
                _give(temporary, handle, uid)
            else:
                _write(handle, temporary, data, 0o755 if mode == store.EXECUTABLE else 0o644, uid)
            _clear_the_way(handle, name, path)
            os.rename(temporary, name, src_dir_fd=handle, dst_dir_fd=handle)
            os.fsync(handle)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=handle)
            raise


def in_folder(root: Path, path: bytes, limit: int = 20) -> list[bytes]:
    """Return the first files below the path if it is a folder; no link is followed."""
    try:
        with folder(root, path) as handle:
            files = (met for met in walking.below(".", handle) if not met.is_folder)
            return [path + b"/" + os.fsencode(met.path) for met in islice(files, limit)]
    except OSError:
        return []


def remove_empty(root: Path, path: bytes) -> None:
    """Take away a folder that holds nothing but folders, as far as it does."""
    with suppress(OSError):
        with folder(root, path) as handle:
            for met in walking.below(".", handle):
                if met.after:
                    with suppress(OSError):
                        os.rmdir(met.name, dir_fd=met.handle)
        with _parent(root, path, None, make=False) as (parent, name):
            os.rmdir(name, dir_fd=parent)


def remove_hollow(root: Path, path: bytes, *, also_files: bool = False) -> None:
    """Take away a link, FIFO, socket or device, in which nothing can be lost, or a file where that is asked for."""
    with suppress(FileNotFoundError), _parent(root, path, None, make=False) as (handle, name):
        mode = os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode
        if not stat.S_ISDIR(mode) and (also_files or not stat.S_ISREG(mode)):
            os.unlink(name, dir_fd=handle)


def remove(root: Path, path: bytes) -> bool:
    """Take away a file, a link or an empty folder, and return whether it was there. Raises TreeError."""
    try:
        with _parent(root, path, None, make=False) as (handle, name):
            if stat.S_ISDIR(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
                os.rmdir(name, dir_fd=handle)
            else:
                os.unlink(name, dir_fd=handle)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise _folder_in_the_way(path) from None
        raise
    _prune(root, path)
    return True


def _prune(root: Path, path: bytes) -> None:
    """Take away the folders above a removed path that are empty now, as git does."""
    while path := path.rpartition(b"/")[0]:
        try:
            with _parent(root, path, None, make=False) as (handle, name):
                os.rmdir(name, dir_fd=handle)
        except (OSError, TreeError):
            return


@contextmanager
def _parent(root: Path, path: bytes, uid: int | None, *, make: bool) -> Iterator[tuple[int, bytes]]:
    """Open the folder that holds the path. Raises FileNotFoundError, or TreeError when a link or file is on the way."""
    *parents, name = path.split(b"/")
    here = ExitStack()
    try:
        handle = here.enter_context(entered(os.fsencode(root), None, to_write=True))
        for part in parents:
            if make:
                _make_folder(handle, part, uid)
            with here:  # what is above may be closed again once what is below is open
                here = ExitStack()
                handle = here.enter_context(_below(handle, part, path, make=make))
        yield handle, name
    finally:
        here.close()


@contextmanager
def _below(handle: int, part: bytes, path: bytes, *, make: bool) -> Iterator[int]:
    with ExitStack() as opened:
        try:
            below = opened.enter_context(entered(part, handle, to_write=True))
        except OSError as error:
            if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
            if not make:
                raise FileNotFoundError(shown(path)) from None
            raise TreeError("NOT_A_DIRECTORY", f"{shown(part)} on the way to {shown(path)} is no folder.") from None
        yield below


def _make_folder(handle: int, name: bytes, uid: int | None) -> None:
    with suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=handle)
        _give(name, handle, uid)


def _write(handle: int, name: bytes, data: bytes, mode: int, uid: int | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(name, flags, 0o600, dir_fd=handle), "wb") as file:
        file.write(data)
        file.flush()
        if uid is not None:
            os.fchown(file.fileno(), uid, uid)
        os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())


def _clear_the_way(handle: int, name: bytes, path: bytes) -> None:
    """Take away an empty folder at the path; a rename would not replace it."""
    try:
        if stat.S_ISDIR(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
            os.rmdir(name, dir_fd=handle)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise _folder_in_the_way(path) from None
        raise


def _folder_in_the_way(path: bytes) -> TreeError:
    return TreeError("IS_DIRECTORY", f"{shown(path)} is a folder now and is not empty; its files would be lost.")


def _give(name: bytes, handle: int, uid: int | None) -> None:
    if uid is not None:
        os.chown(name, uid, uid, dir_fd=handle, follow_symlinks=False)


# --- a whole new tree --------------------------------------------------------------------------------


def lay_out(git: Git, tree: str, folder_path: Path, index: Path) -> None:
    """Write a tree into a new, empty folder of ours that no agent can reach yet. Git does it, with nothing to run.

    Raises TreeError for one that is too large: a few hundred objects can stand for more files, and one small object
    for more bytes, than any disk holds.
    """
    assert git.git_dir is not None
    _must_fit(git, tree, shutil.disk_usage(folder_path).free)
    Git(git.git_dir, work_tree=folder_path, index=index).run("read-tree", "-u", "-m", tree, timeout_s=600)


def _must_fit(git: Git, tree: str, free_bytes: int) -> None:
    try:
        out = git.run("ls-tree", "-r", "-l", "-z", "--full-tree", tree, timeout_s=LIST_S)
    except (GitFull, GitTimeout):
        raise TreeError("TOO_LARGE", f"The base has more files than can be listed; {_SMALLER}") from None
    heads_and_paths = [record.split(b"\t", 1) for record in out.split(b"\0")[:-1]]
    if len(heads_and_paths) > ENTRY_LIMIT:
        raise TreeError("TOO_LARGE", f"The base has {len(heads_and_paths):,} files, over {ENTRY_LIMIT:,}; {_SMALLER}")
    _must_be_tree([path for _, path in heads_and_paths])
    sizes = (head.rsplit(b" ", 1)[1] for head, _ in heads_and_paths)
    total = sum(int(size) for size in sizes if size != b"-")
    if total > min(BYTES_LIMIT, free_bytes):
        raise TreeError(
            "TOO_LARGE",
            f"The files of the base are {total:,} bytes; up to {BYTES_LIMIT:,} are laid out, and {free_bytes:,} are "
            f"free. {_SMALLER.capitalize()}",
        )


def _must_be_tree(paths: list[bytes]) -> None:
    """Refuse names that stand twice in a folder, of which git would lay out one and compare the other."""
    known: set[bytes] = set()
    for path in paths:
        if path in known:
            raise _twice(path)
        known.add(path)
    for above in {path.rpartition(b"/")[0] for path in paths}:
        for place in (above, *parents(above)):
            if place in known:
                raise _twice(place)


def _twice(path: bytes) -> TreeError:
    return TreeError("BROKEN", f"The base has “{shown(path)}” twice; run `git fsck` in the source, choose another.")


def hand_over(paths: Iterable[Path], uid: int | None, changed_ns: int) -> None:
    """Give what is in these folders of ours to `uid` and set when it was changed; no link is followed."""
    for path in paths:
        for met in walking.below(path):
            if not met.after:
                os.utime(met.name, ns=(changed_ns, changed_ns), dir_fd=met.handle, follow_symlinks=False)
                _give(os.fsencode(met.name), met.handle, uid)
        if uid is not None:
            os.chown(path, uid, uid, follow_symlinks=False)


def discard(path: Path) -> None:
    """Remove a folder of ours with all in it; links are removed, not followed."""
    remove_all(path)
    with suppress(FileNotFoundError):  # or there is a reason why it is still there
        shutil.rmtree(path)
