"""What root lends to the user of commands while a toolshell works, and the guard that gives it back at any end."""

import fcntl
import os
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from workspaces import names, walking
from workspaces.sandbox.identity import FIRST_UID, UIDS, is_root
from workspaces.sandbox.removal import remove

SYSTEM = tuple(
    map(Path, ("/bin", "/boot", "/dev", "/etc", "/lib", "/proc", "/run", "/sbin", "/sys", "/usr", "/var/lib"))
)
"""Folders that no toolshell takes over."""


class LoanError(Exception):
    """A folder that can't be lent; the message says why."""


@dataclass(frozen=True)
class Loan:
    """What is changed and must be given back. `uid`: whom commands run as, None where that is this process's own user.

    `ways`: folders on the way that only root may pass; the group of `uid` is let through.
    `tree`: the folder whose files of root's belong to `uid` meanwhile; None where it has an owner of its own.
    """

    uid: int | None = None
    ways: tuple[Path, ...] = ()
    tree: Path | None = None

    @property
    def pk(self) -> int:
        """The workspace's number: the one whose user borrows root's folders."""
        return UIDS


def plan(tree: Path, scratch: Path) -> Loan:
    """Work out what must be lent so that commands can run in `tree`. Raises LoanError."""
    if not is_root():
        return Loan()
    owner = tree.stat().st_uid
    is_roots = owner in (0, FIRST_UID)  # another toolshell may be at work there
    if is_roots and (tree == Path("/") or any(tree.is_relative_to(each) for each in SYSTEM)):
        raise LoanError(f"{tree} belongs to the system; name a folder of a project.")
    steps = dict.fromkeys((*reversed(tree.parents), *reversed(scratch.parents)))
    return Loan(FIRST_UID if is_roots else owner, tuple(filter(_is_closed, steps)), tree if is_roots else None)


def _is_closed(folder: Path) -> bool:
    """Return whether only root may pass, or, for now, a toolshell's commands too; others' folders are left alone."""
    found = folder.stat()
    mode = found.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    return (found.st_uid, found.st_gid, mode) in ((0, 0, 0), (0, FIRST_UID, stat.S_IXGRP))


@contextmanager
def lent(loan: Loan, scratch: Path) -> Iterator[None]:
    """Lend for the time being; at the end, also that of a killed process, give back and remove `scratch`.

    A child process waits for that end; so this is entered before any thread or connection is there.
    """
    held = [_share(folder) for folder in (*loan.ways, *([loan.tree] if loan.tree else []))]
    reading, writing = os.pipe()
    guard = os.fork()
    if guard == 0:
        _guard(reading, writing, loan, held, scratch)
    os.close(reading)
    try:
        _lend(loan)
        yield
    finally:
        for handle in (writing, *held):
            os.close(handle)
        os.waitpid(guard, 0)


def _share(folder: Path) -> int:
    """Open the folder and note by a lock that it is in use; who gives it back wants it for himself."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(handle, fcntl.LOCK_SH)
    return handle


def _guard(reading: int, writing: int, loan: Loan, held: list[int], scratch: Path) -> None:
    """Wait until nobody holds the writing end any more, then put everything back. Never returns."""
    status = 1
    try:
        os.setsid()
        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(name, signal.SIG_IGN)
        os.close(writing)
        nothing = os.open(os.devnull, os.O_RDWR)
        for handle in range(3):
            os.dup2(nothing, handle)
        while os.read(reading, 1):
            pass
        _give_back(loan, held)
        remove(scratch)
        status = 0
    finally:
        os._exit(status)


# --- root's files ------------------------------------------------------------------------------------


def _lend(loan: Loan) -> None:
    assert loan.uid is not None or not loan.ways
    for way in loan.ways:
        os.chown(way, -1, FIRST_UID)
        way.chmod(stat.S_IMODE(way.stat().st_mode) | stat.S_IXGRP)
    if loan.tree is not None:
        _rename_owner(loan.tree, 0, FIRST_UID)


def _give_back(loan: Loan, held: list[int]) -> None:
    """Undo what was lent, the tree before the ways to it, as far as no other toolshell uses it."""
    lent_folders = (*loan.ways, *([loan.tree] if loan.tree else []))
    for folder, handle in reversed(list(zip(lent_folders, held, strict=True))):
        with suppress(BlockingIOError, FileNotFoundError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if folder == loan.tree:
                _rename_owner(folder, FIRST_UID, 0)
            else:
                os.chown(handle, -1, 0)
                os.chmod(handle, stat.S_IMODE(os.stat(handle).st_mode) & ~stat.S_IXGRP)


def _rename_owner(tree: Path, old: int, new: int) -> None:
    """Give all that belongs to one user to another; the group goes along where it is the user's own."""
    _give(os.fspath(tree), old, new)
    for met in walking.below(tree):
        _give(met.name, old, new, met.handle)


def _give(name: str, old: int, new: int, handle: int | None = None) -> None:
    with suppress(FileNotFoundError):
        found = os.stat(name, dir_fd=handle, follow_symlinks=False)
        uid = new if found.st_uid == old else -1
        gid = new if found.st_gid == old else -1
        if (uid, gid) == (-1, -1):
            return
        os.chown(name, uid, gid, dir_fd=handle, follow_symlinks=False)
        if not stat.S_ISLNK(found.st_mode) and found.st_mode & (stat.S_ISUID | stat.S_ISGID):
            os.chmod(name, stat.S_IMODE(found.st_mode), dir_fd=handle)  # a change of owner takes these bits away


def settle(tree: Path, paths: tuple[str, ...], wrong: int | None, right: int | None) -> None:
    """Give what was written for the user `wrong` to `right`: these paths of the tree, and the folders above them."""
    if wrong is None or right is None or wrong == right:
        return
    for path in paths:
        parts = os.fsdecode(names.raw(path)).split("/")
        for count in range(1, len(parts) + 1):
            _give(os.path.join(tree, *parts[:count]), wrong, right)
