"""One file that a person proposes: a commit on top of the source's default branch, pushed there as a new branch."""

import re
import shlex
from dataclasses import dataclass

from workspaces import store
from workspaces.git import Git, locked
from workspaces.models import Repository
from workspaces.names import shown
from workspaces.publishing import commit_tree, push_branch
from workspaces.remotes import SourceError, local_path
from workspaces.store import EXECUTABLE, FILE, TreeEntry

FOLDER = "040000"
PUSH_SECONDS = 120
LOCK_S = 30
BRANCHES = 1000
"""Branches that are looked at to find the next number."""
_NOTHING = "0" * 40


@dataclass(frozen=True)
class Found:
    """What a tree has at a path, or on the way to it; no link is followed. `mode` is "" where there is nothing."""

    path: str = ""
    mode: str = ""
    oid: str = ""

    def is_file(self, path: str) -> bool:
        return self.path == path and self.mode in (FILE, EXECUTABLE)

    def is_in_the_way(self, path: str) -> bool:
        """Return whether a file at the path would take the place of other files, or of a link to a folder."""
        return bool(self.mode) and (self.path != path or self.mode == FOLDER)


@dataclass(frozen=True)
class Proposal:
    """A branch at the source with one commit on top of `base`."""

    branch: str
    commit: str
    base: str


def find(git: Git, commit: str, path: str) -> Found:
    """Return what the commit has at a path, or the file or link that stands on the way there. Raises GitError."""
    parts = path.split("/")
    ways = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    out = git.run("ls-tree", "-z", "--full-tree", commit, "--", *ways)
    found = Found()
    for record in out.split(b"\0")[:-1]:
        head, raw = record.split(b"\t", 1)
        mode, _, oid = head.decode().split()
        name = shown(raw)
        if name in ways and len(name) > len(found.path) and (mode != FOLDER or name == path):
            found = Found(name, mode, oid)
    return found


def propose(
    repository: Repository, base: str, path: str, data: bytes, *, stem: str, message: str, author: tuple[str, str]
) -> Proposal:
    """Commit these bytes as the file at `path` on top of `base`, and push that as a new branch `stem`-<n>.

    Every other file stays as it is, and nothing is checked out. The same bytes on the same base are one proposal. Takes
    up to two minutes. Raises SourceError, GitError, and TimeoutError while another one is being made.
    """
    with locked(repository.folder / "proposing.lock", LOCK_S):
        git = store.ensure(repository)
        tree = _tree(git, base, path, data)
        branch, commit = _made_before(git, stem, tree, base)
        is_new = not branch
        if is_new:
            branch = f"{stem}-{_next(repository, stem)}"
            commit = commit_tree(repository, tree, base, message, author)
            git.run("update-ref", f"refs/heads/{branch}", commit, _NOTHING)
        try:
            push_branch(repository, branch, PUSH_SECONDS)
        except SourceError:
            if is_new:
                git.run("update-ref", "-d", f"refs/heads/{branch}", commit)
            raise
    return Proposal(branch, commit, base)


def _tree(git: Git, base: str, path: str, data: bytes) -> str:
    """Return the tree of `base` with the file in it, and nothing else changed."""
    assert git.git_dir is not None
    there = find(git, base, path)
    if there.is_in_the_way(path):
        what = "a folder" if there.mode == FOLDER else "no folder"
        raise SourceError("IN_THE_WAY", f"{there.path} is {what} in the source; remove it there first.")
    mode = there.mode if there.is_file(path) else FILE
    before = store.tree_of(git, base)
    entry = TreeEntry(mode, store.write_blob(git.git_dir, data))
    tree = store.build_tree(git, before, {path.encode(): entry})
    if tree == before:
        raise SourceError("UNCHANGED", f"{path} is the same at {base[:10]} already, so there is nothing to propose.")
    changed = git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", before, tree)
    if changed != path.encode() + b"\0":  # such as a tree that has a name twice, of which an index holds one
        raise SourceError("BROKEN", f"The files at {base[:10]} can't all be kept; run `git fsck` in the source.")
    return tree


def _made_before(git: Git, stem: str, tree: str, base: str) -> tuple[str, str]:
    """Return the branch and commit of the very same proposal, such as of a button pressed twice."""
    shape = "--format=%(refname:lstrip=2) %(objectname) %(tree) %(parent)"
    for line in git.text("for-each-ref", shape, f"--count={BRANCHES}", f"refs/heads/{stem}-*").splitlines():
        branch, commit, *has = line.split(" ")
        if has == [tree, base]:
            return branch, commit
    return "", ""


def _next(repository: Repository, stem: str) -> int:
    """Return a number that no branch has, of those that are mirrored or were proposed here."""
    shape = ("--sort=-version:refname", f"--count={BRANCHES}", "--format=%(refname:lstrip=2)", f"refs/heads/{stem}-*")
    folders = (repository.mirror, repository.store)
    names = [name for folder in folders for name in Git(folder).text("for-each-ref", *shape).split()]
    numbers = (re.fullmatch(rf"{re.escape(stem)}-([0-9]{{1,9}})", name) for name in names)
    return max((int(found[1]) for found in numbers if found), default=0) + 1


def proposed(repository: Repository, branch: str) -> Proposal | None:
    """Return what was proposed here as this branch, None for what was not. Raises GitError."""
    if not repository.store.exists():
        return None
    shape = "--format=%(refname:lstrip=2) %(objectname) %(parent)"
    for line in Git(repository.store).text("for-each-ref", shape, f"refs/heads/{branch}").splitlines():
        name, commit, *parents = line.split(" ")
        if name == branch:
            return Proposal(branch, commit, "".join(parents[:1]))
    return None


def merge_commands(repository: Repository, branch: str) -> list[str]:
    """Return the commands by which a person takes the branch over into the default branch."""
    place, name = local_path(repository.source), shlex.quote(branch)
    default = repository.default_branch
    switch = [] if re.fullmatch("[0-9a-f]{40}", default) else [f"switch {shlex.quote(default)}"]
    if place is not None and (place / ".git").exists():
        return [f"git -C {shlex.quote(str(place))} {verb}" for verb in (*switch, f"merge {name}")]
    fetch = f"fetch {shlex.quote(repository.source)} {name}"
    return [f"git {verb}" for verb in (*switch, fetch, "merge FETCH_HEAD")]
