"""From a run's latest snapshot to a branch: a commit in the run store, then a push to the source or a fetch by hand."""

import re
import shlex

from workspaces import credentials, cuts, store
from workspaces.diffs import compare
from workspaces.git import Git, GitError
from workspaces.models import Repository, Workspace
from workspaces.remotes import SourceError, masked, no_folder, program, source_error, talk

PUSH_SECONDS = 600


def commit_branch(workspace: Workspace, branch: str, message: str, author_name: str, author_email: str) -> str:
    """Commit the latest tree on top of the base as `branch` of the run store, and return the commit.

    A branch of that name that is there already is moved. Raises SourceError when the tree holds a file that was too
    large to be stored, or for a name that git does not take.
    """
    git, latest = store.ensure(workspace.repository), store.latest(workspace)
    _must_be_branch(git, branch)
    baseline = store.at(workspace, 0)
    missing = [
        file.path for file in compare(git, baseline.tree, latest.tree).files if not file.stored and file.size_new
    ]
    if missing:
        raise SourceError(
            "NOT_STORED", f"{missing[0]} is over 50 MB, so it was not stored and can't be committed; revert it first."
        )
    author = (author_name, author_email)
    commit = commit_tree(workspace.repository, latest.tree, workspace.base_commit, message, author)
    git.run("update-ref", f"refs/heads/{branch}", commit)
    return commit


def commit_tree(repository: Repository, tree: str, parent: str, message: str, author: tuple[str, str]) -> str:
    """Commit a tree of the run store on top of `parent`, by a person (name, address), and return the commit."""
    who = {"NAME": author[0].strip() or "unknown", "EMAIL": author[1].strip() or "unknown@sakura.invalid"}
    env = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    signed = Git(repository.store, env=env)
    return signed.run("commit-tree", tree, "-p", parent, "-F", "-", input=message.encode()).decode().strip()


def _must_be_branch(git: Git, branch: str) -> None:
    try:
        git.run("check-ref-format", "--branch", branch)
    except GitError:
        raise SourceError("INVALID_BRANCH", f"“{branch}” is no name for a branch; choose another.") from None


def push(workspace: Workspace, branch: str) -> None:
    """Push the run's branch to the source, as `push_branch` does."""
    push_branch(workspace.repository, branch)


def push_branch(repository: Repository, branch: str, timeout_s: float = PUSH_SECONDS) -> None:
    """Push a branch of the run store to the source, where it must be new. Raises SourceError; never forces anything.

    A branch of that name with the very same commit counts as pushed.
    """
    ref = f"refs/heads/{branch}"
    git = store.ensure(repository)
    commit = git.text("rev-parse", "--verify", "--end-of-options", ref)
    try:
        where = (*program(repository, "receive-pack"), "--", repository.source)
        # The lease on "nothing" makes the source refuse when a branch of this name is there.
        options = ("--no-follow-tags", "--recurse-submodules=no", f"--force-with-lease={ref}:")
        talk(repository, repository.store).run("push", *options, *where, f"{ref}:{ref}", timeout_s=timeout_s)
    except GitError as error:
        there = _commit_there(repository, ref)
        if there != commit:
            raise _refusal(repository, branch, there, error) from error
    except credentials.CredentialUnreadable as error:
        raise SourceError("CREDENTIAL", f"{repository.source}: {error}") from error
    except (FileNotFoundError, NotADirectoryError):
        raise no_folder(repository) from None


def _commit_there(repository: Repository, ref: str) -> str:
    """Return the commit of a branch at the source, "" if there is none or it can't be asked."""
    where = (*program(repository, "upload-pack"), "--", repository.source, ref)
    try:
        return talk(repository, None).text("ls-remote", *where).partition("\t")[0]
    except GitError:
        return ""


_IN_THE_WAY = re.compile(r"'refs/heads/([^']+)' exists; cannot create")


def _refusal(repository: Repository, branch: str, there: str, error: GitError) -> SourceError:
    said = masked(repository, error.stderr)
    what_next = "Rename or delete it there and push again, or fetch this branch by hand under another name."
    if there or "stale info" in said:
        has = f"has a branch {branch} already, with other commits{f' ({there[:10]})' if there else ''}"
        return SourceError("BRANCH_EXISTS", f"{repository.source} {has}; it was not touched. {what_next}")
    if other := _IN_THE_WAY.search(said):
        has = f"has a branch {other[1]}, beside which git can have no {branch}"
        return SourceError("BRANCH_EXISTS", f"{repository.source} {has}; nothing was changed. {what_next}")
    if "rejected" in said or "declined" in said:
        reasons = re.findall(r"remote: *(.*)", said) or re.findall(r"rejected\] .*\((.*)\)", said)
        told = cuts.head(" ".join(" ".join(reasons).split()), 400).rstrip(".") or "it gave no reason"
        return SourceError("REFUSED", f"{repository.source} refused the branch {branch}: {told}.")
    return source_error(repository, error)


def fetch_commands(workspace: Workspace, branch: str) -> list[str]:
    """Return the two commands that get the branch into a clone on this server by hand."""
    name = shlex.quote(branch)
    return [
        f"git fetch {shlex.quote(str(workspace.repository.store))} {shlex.quote(f'{branch}:{branch}')}",
        f"git switch {name}",
    ]
