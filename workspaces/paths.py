"""Turns what a model wrote into a path that may be opened, and opens it without following a link; nothing else does."""

import errno
import os
import re
import stat
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from workspaces import names

INSIDE = "/workspace"
"""The name of the tree as commands see it."""

MAX_LINKS = 40  # as in Linux, path_resolution(7)
_NAME_MAX = 255
_PATH_MAX = 4095
_DRIVE = re.compile(r"[A-Za-z]:(?:[\\/]|$)")


class WorkspaceError(Exception):
    """An expected failure on a workspace: a code of the tools' contract and a sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class PathError(WorkspaceError):
    """A path that may not, or can't, be opened."""


@dataclass(frozen=True)
class WorkspacePath:
    """A resolved path: `relative` (posix, "" for the root) has no link, no `..` and no `.git` in it."""

    relative: str
    real: Path
    given: str
    wants_folder: bool = False


def _raw(given: str) -> str:
    return os.fsdecode(names.raw(given))


def is_git(path: str) -> bool:
    """Return whether a part of the path is `.git`, in any letter case."""
    return any(part.casefold() == ".git" for part in path.split("/"))


def resolve(root: Path, given: str) -> WorkspacePath:
    r"""Return the path inside `root` that `given` names; it need not exist.

    Links are followed and the end must lie inside. A path shown with `\xNN` is taken back when no file has
    that literal name.
    Raises PathError: INVALID_INPUT, OUTSIDE_WORKSPACE, PROTECTED_PATH.
    """
    refuse_odd(given)
    top = _real(str(root))
    found = _walk(top, given, _below(top, str(root), given))
    if "\\x" in given and not os.path.lexists(found.real):
        found = _walk(top, given, _below(top, str(root), _raw(given)))
    _refuse_git(found.relative, given)
    return found


@lru_cache(maxsize=1024)
def _real(root: str) -> str:
    """Return the real path of a tree, which lies where no agent can move it; it is asked for in every call."""
    return os.path.realpath(root)


def resolve_parent(root: Path, given: str) -> WorkspacePath:
    """Return the path itself, without following a link at its end; only its folder is resolved."""
    refuse_odd(given)
    folder, _, name = given.rstrip("/").rpartition("/")
    if name in ("", ".", "..") or _below(_real(str(root)), str(root), given) == ".":
        return resolve(root, given)
    above = resolve(root, folder or ("/" if given.startswith("/") else "."))
    relative = f"{above.relative}/{name}" if above.relative else name
    if "\\x" in name and not os.path.lexists(above.real / name):
        relative = relative.removesuffix(name) + _raw(name)
    _refuse_git(relative, given)
    return WorkspacePath(relative, Path(os.path.realpath(root)) / relative, given)


def _refuse_git(relative: str, given: str) -> None:
    if is_git(relative):
        raise PathError("PROTECTED_PATH", f"{given}: rule `.git`: file tools leave a repository's own files alone.")


def refuse_odd(given: str) -> None:
    """Raise PathError for what no path of a workspace can be, before any call of the file system."""
    if not given.strip():
        raise PathError("INVALID_INPUT", "The path is empty: name a file relative to the workspace root.")
    if "\0" in given:
        raise PathError("INVALID_INPUT", "The path holds a NUL character.")
    if given.startswith("\\\\") or re.match(r"//[^/]", given) or _DRIVE.match(given):
        raise PathError(
            "OUTSIDE_WORKSPACE", f"{given} is a Windows or network path; give one relative to the workspace."
        )
    try:
        parts = os.fsencode(given).split(b"/")
    except UnicodeEncodeError:
        raise PathError("INVALID_INPUT", "The path holds half a surrogate pair, which no file name can.") from None
    if any(len(part) > _NAME_MAX for part in parts) or sum(map(len, parts)) + len(parts) > _PATH_MAX:
        raise PathError(
            "INVALID_INPUT", f"{given[:60]}…: the path is too long ({_NAME_MAX} bytes a name, {_PATH_MAX} in all)."
        )


def _below(top: str, root: str, given: str) -> str:
    """Return the part below the root, which may be named by its real path, as given to us, or as /workspace."""
    if not given.startswith("/"):
        return given
    path = "/" + given.lstrip("/")
    for prefix in (top, root, INSIDE):
        if path == prefix or path.startswith(prefix + "/"):
            return path[len(prefix) :].lstrip("/") or "."
    raise PathError("OUTSIDE_WORKSPACE", f"{given} is not in the workspace; give a path relative to its root.")


def _walk(top: str, given: str, below: str) -> WorkspacePath:
    """Follow links part by part, looking only at what lies below `top`."""
    here, links = top, 0
    todo = [part for part in reversed(below.split("/")) if part not in ("", ".")]
    while todo:
        part = todo.pop()
        if part == "..":
            here = os.path.dirname(here)
            continue
        step = f"{here}/{part}" if here != "/" else f"/{part}"
        target = _link_target(step, given) if step.startswith(top + "/") else None
        if target is None:
            here = step
            continue
        links += 1
        if links > MAX_LINKS:
            raise PathError("INVALID_INPUT", f"{given}: too many links on the way; they may point at each other.")
        if target.startswith("/"):
            inside = target == INSIDE or target.startswith(INSIDE + "/")
            here, target = (top, target[len(INSIDE) :]) if inside else ("/", target)
        todo += [name for name in reversed(target.split("/")) if name not in ("", ".")]
    if here != top and not here.startswith(top + "/"):
        raise PathError("OUTSIDE_WORKSPACE", f"{given} leads out of the workspace; only paths inside it can be used.")
    return WorkspacePath(here[len(top) + 1 :], Path(here), given, wants_folder=below.endswith(("/", "/.")))


def _link_target(path: str, given: str) -> str | None:
    try:
        return os.readlink(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise PathError("INVALID_INPUT", f"{given[:60]}…: the path is too long.") from None
        return None  # no link, no folder above, or no right to look: opening it will tell


# --- opening -------------------------------------------------------------------------------------


def open_folder(root: Path, relative: str) -> int:
    """Return a descriptor of the folder at `relative` (as resolved), reached part by part without following a link."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in relative.split("/") if relative else ():
        try:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)
        folder = below
    return folder


def split(relative: str) -> tuple[str, str]:
    """Return folder and name of a resolved path."""
    folder, _, name = relative.rpartition("/")
    return folder, name


def open_file(root: Path, path: WorkspacePath) -> int:
    """Return a descriptor of a regular file, to read. A FIFO can't hang it, a link swapped in since can't lead it away.

    Raises PathError: NOT_FOUND, IS_DIRECTORY, NOT_A_DIRECTORY, SPECIAL_FILE, OUTSIDE_WORKSPACE; and OSError.
    """
    folder, name = split(path.relative)
    if not name:
        raise PathError("IS_DIRECTORY", f"{path.given} is a folder; list_directory shows what is in it.")
    try:
        above = open_folder(root, folder)
    except FileNotFoundError:
        raise PathError("NOT_FOUND", missing(root, path)) from None
    except NotADirectoryError:
        raise PathError(
            "NOT_FOUND", f"{path.given} does not exist: a part of the path is a file, not a folder."
        ) from None
    try:
        refuse_special(os.stat(name, dir_fd=above, follow_symlinks=False), path)
        return os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY, dir_fd=above)
    except FileNotFoundError:
        raise PathError("NOT_FOUND", missing(root, path)) from None
    finally:
        os.close(above)


def refuse_special(found: os.stat_result, path: WorkspacePath) -> None:
    """Raise PathError unless the stat (not following links) is of a regular file."""
    if stat.S_ISDIR(found.st_mode):
        raise PathError("IS_DIRECTORY", f"{path.given} is a folder; list_directory shows what is in it.")
    if stat.S_ISLNK(found.st_mode):
        raise PathError("OUTSIDE_WORKSPACE", f"{path.given} was replaced by a link while it was opened; look again.")
    if not stat.S_ISREG(found.st_mode):
        raise PathError("SPECIAL_FILE", f"{path.given} is a device, pipe or socket, not a file with content.")
    if path.wants_folder:
        raise PathError("NOT_A_DIRECTORY", f"{path.given} ends in a slash, but it is a file.")


def missing(root: Path, path: WorkspacePath) -> str:
    """Return the sentence for a path that does not exist, with names nearby that differ in letter case only."""
    folder, name = split(path.relative)
    try:
        with os.scandir(path.real.parent) as entries:
            near = [e.name for _, e in zip(range(5000), entries, strict=False) if e.name.casefold() == name.casefold()]
    except OSError:
        near = []
    if near:
        there = f"{folder}/{near[0]}" if folder else near[0]
        return f"{path.given} does not exist; there is {names.shown(there)} (letter case matters)."
    return f"{path.given} does not exist; glob or list_directory shows what does."
