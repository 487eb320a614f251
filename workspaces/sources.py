"""The sources that people add: which may be, what a name in one stands for, what is known of it."""

import difflib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

from workspaces.git import Git, GitError, source_env
from workspaces.mirroring import git_dir_of, mirror, refresh
from workspaces.models import Repository
from workspaces.remotes import SourceError, local_path
from workspaces.trees import discard

__all__ = [
    "SourceError",
    "branches",
    "check_source",
    "delete",
    "mirror",
    "refresh",
    "resolve",
    "uncommitted",
]

SOURCE_LIMIT = 2000
INDEX_LIMIT = 512 * 1024**2
"""Bytes of a source's index that is copied, to count what is not committed."""
NAMES_LIMIT = 5000
"""Names that are searched for near ones."""

_SCP_LIKE = re.compile(r"(?:[\w.+-]+@)?[\w.-]+:(?!/{2})[^\s:]\S*")
_COMMIT = re.compile(r"[0-9a-fA-F]{4,40}")


# --- which source ------------------------------------------------------------------------------------


def check_source(source: str, *, is_admin: bool) -> str:
    """Return the source in the form that is kept. Raises SourceError for one that may not be added.

    Local folders are for admins, or for all below SAKURA_REPOSITORY_ROOTS; they are kept with links resolved.
    """
    given = source.strip()
    if not given or len(given) > SOURCE_LIMIT or re.search(r"[\x00-\x1f\x7f]", given):
        raise SourceError("INVALID_SOURCE", "A source is an absolute path, or a URL with https:// or ssh://.")
    if given.startswith("-"):
        raise SourceError("INVALID_SOURCE", f"{given}: a source can't begin with “-”; write the whole path or URL.")
    if given.startswith("/"):
        return _check_folder(Path(given), is_admin=is_admin)
    if "::" in given.split("/")[0]:
        raise SourceError("BAD_SCHEME", f"{given}: git's remote helpers are not used; give an https:// or ssh:// URL.")
    if "://" in given:
        return _check_url(given, is_admin=is_admin)
    if _SCP_LIKE.fullmatch(given):
        return _check_host(given, given.partition(":")[0].rpartition("@")[2])
    raise SourceError(
        "INVALID_SOURCE", f"{given}: it is neither an absolute path nor a URL; write /path/to/repository or https://…"
    )


def _check_url(given: str, *, is_admin: bool) -> str:
    try:
        parts = urlsplit(given)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise SourceError("INVALID_SOURCE", "This is no valid URL; check its host and port.") from None
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost"):
            raise SourceError("INVALID_SOURCE", f"{given}: a file:// URL has three slashes, as in file:///path.")
        return _check_folder(Path(parts.path), is_admin=is_admin)
    if parts.scheme not in ("https", "ssh"):
        raise SourceError("BAD_SCHEME", f"“{parts.scheme}” is not used for sources; use https://, ssh:// or a path.")
    if parts.password or (parts.scheme == "https" and parts.username):
        raise SourceError(
            "CREDENTIAL_IN_URL",
            "The URL holds a user name or password. Take it out and enter it in the credential field, where it is kept "
            "encrypted.",
        )
    if not parts.path.strip("/"):
        raise SourceError("INVALID_SOURCE", f"{given}: it names no repository on {host}; give the whole URL.")
    return _check_host(given, host)


def _check_host(given: str, host: str) -> str:
    if not host or host.startswith("-") or re.search(r"(?:^|//)-", given):
        raise SourceError("INVALID_SOURCE", f"{given}: it names no host; check the address.")
    return given


def _check_folder(path: Path, *, is_admin: bool) -> str:
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError):
        raise SourceError("NOT_FOUND", f"{path}: there is no such folder on the server; check the path.") from None
    if not is_admin and not any(real.is_relative_to(root.resolve()) for root in settings.SAKURA_REPOSITORY_ROOTS):
        allowed = ", ".join(map(str, settings.SAKURA_REPOSITORY_ROOTS)) or "none is set"
        raise SourceError(
            "OUTSIDE_ROOTS", f"{path}: only an admin may add a folder outside SAKURA_REPOSITORY_ROOTS ({allowed})."
        )
    if not real.is_dir():
        raise SourceError("NOT_A_FOLDER", f"{path}: it is no folder; give the folder that holds the repository.")
    if _is_ours(real):
        raise SourceError("OUTSIDE_ROOTS", f"{path}: it belongs to Sakura itself; add the source that it came from.")
    git_dir = git_dir_of(real)
    if git_dir is None:
        raise SourceError(
            "NOT_FOUND", f"{path}: it is no git repository; run `git init` and make a first commit there."
        )
    if _is_ours(git_dir.resolve()):
        raise SourceError("OUTSIDE_ROOTS", f"{path}: its .git leads to what belongs to Sakura itself; add the source.")
    return str(real)


def _is_ours(path: Path) -> bool:
    return path.is_relative_to((Path(settings.SAKURA_DATA_DIR) / "repositories").resolve())


# --- what a name stands for --------------------------------------------------------------------------


def resolve(repository: Repository, name: str) -> str:
    """Return the commit that a branch, tag or (abbreviated) commit stands for; no name means the default branch.

    Raises SourceError NO_SUCH_BASE with names that are near.
    """
    wanted = name.strip() or repository.default_branch
    git = Git(repository.mirror)
    for full in _candidates(wanted):
        found = git.text("rev-parse", "--verify", "--quiet", "--end-of-options", f"{full}^{{commit}}", ok=(0, 1, 128))
        if found:
            return found
    near = difflib.get_close_matches(wanted, _names(git), n=3, cutoff=0.5)
    hint = f"near ones are {', '.join(near)}" if near else f"its default is {repository.default_branch}"
    raise SourceError("NO_SUCH_BASE", f"{repository.name} has no branch, tag or commit “{wanted[:200]}”; {hint}.")


def _candidates(name: str) -> Iterator[str]:
    if not re.search(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|^-|/$|^/", name):  # git-check-ref-format(1)
        yield f"refs/heads/{name}"
        yield f"refs/tags/{name}"
        if name.startswith(("refs/heads/", "refs/tags/")):
            yield name
    if _COMMIT.fullmatch(name):
        yield name


def _names(git: Git) -> list[str]:
    shape = ("--format=%(refname:lstrip=2)", f"--count={NAMES_LIMIT}")
    return git.text("for-each-ref", *shape, "refs/heads", "refs/tags").splitlines()


def branches(repository: Repository, limit: int = 200) -> list[str]:
    """Return the branches, the default one first, then the latest changed."""
    shape = ("--sort=-committerdate", f"--count={limit}", "--format=%(refname:lstrip=2)")
    names = Git(repository.mirror).text("for-each-ref", *shape, "refs/heads").splitlines()
    default = repository.default_branch
    known = [default] if default and not _COMMIT.fullmatch(default) else []
    return (known + [name for name in names if name != default])[:limit]


# --- the rest ----------------------------------------------------------------------------------------


def uncommitted(repository: Repository) -> int:
    """Return how many uncommitted files a local source has, new ones included; 0 where that can't be told.

    Our own git looks, with a copy of the source's index and none of its configuration: nothing of the source can run.
    """
    path = local_path(repository.source)
    git_dir = git_dir_of(path) if path is not None and (path / ".git").is_dir() else None
    if path is None or git_dir is None or not (git_dir / "index").is_file():
        return 0
    try:
        if (git_dir / "index").stat().st_size > INDEX_LIMIT:
            return 0
        head = Git(git_dir, env=source_env(repository)).text("rev-parse", "--verify", "HEAD", timeout_s=10)
        with tempfile.TemporaryDirectory(prefix="index-", dir=repository.folder) as folder:
            index = Path(folder) / "index"
            shutil.copyfile(git_dir / "index", index)
            return len(_differing(Git(repository.mirror, work_tree=path, index=index), head))
    except (GitError, OSError):
        return 0


def _differing(git: Git, head: str) -> set[bytes]:
    plain = ("-z", "--name-only", "--ignore-submodules=all", "--no-ext-diff", "--no-textconv")
    out = git.run("diff-index", "--cached", *plain, head, timeout_s=10)
    out += git.run("diff-files", *plain, timeout_s=20)
    out += git.run("ls-files", "-z", "--others", "--exclude-standard", "--directory", timeout_s=20)
    return set(out.split(b"\0")) - {b""}


def delete(repository: Repository) -> None:
    """Remove what Sakura keeps of the repository; the source is never touched, and no link is followed."""
    place = repository.folder
    if place.is_symlink():
        os.unlink(place)
    else:
        discard(place)
