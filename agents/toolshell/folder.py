"""Any folder as a workspace: its tree is the folder itself, its baseline the commit there, or what was found."""

import os
import shutil
import threading
from pathlib import Path

from django.conf import settings

from workspaces import ripgrep, snapshots, store
from workspaces.git import Git, GitError, make_bare, source_env
from workspaces.known import memory, read_of
from workspaces.models import Repository, Snapshot, Workspace

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
RULES_LIMIT = 5000
PACK_S = 600


class FolderError(Exception):
    """A folder that can't be worked in; the message says why."""


class FolderWorkspace(Workspace):
    """A workspace whose tree is a folder that somebody else made."""

    class Meta:
        proxy = True
        app_label = "workspaces"

    @property
    def tree(self) -> Path:
        return Path(self.repository.source)


def open_folder(tree: Path, pk: int) -> Workspace:
    """Return the workspace of a folder (a real path), with its baseline and, where it differs, a snapshot as found."""
    repository = Repository.objects.create(pk=pk, name=f"folder {pk}", source=str(tree), status=Repository.Status.READY)
    commit = _head(repository) if (tree / ".git").exists() else ""
    workspace = FolderWorkspace(pk=pk, repository=repository, base_name="HEAD", epoch=1, tree_snapshot=0)
    _make_folders(workspace)
    workspace.base_commit = commit or _empty(repository)
    workspace.save(force_insert=True)
    store.begin(workspace, store.ensure(repository))
    if not commit:
        _start_as_found(workspace)
    else:
        snapshots.take(workspace, call_id="", step=0, paths=None)
    return workspace


def _make_folders(workspace: Workspace) -> None:
    runs = Path(settings.SAKURA_RUNS_DIR)
    for folder in (runs, workspace.folder):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
    workspace.outputs.mkdir()
    workspace.home.mkdir(mode=0o700)


# --- the commit that is there --------------------------------------------------------------------------


def _head(repository: Repository) -> str:
    """Bring the commit at HEAD, with its tree and files but no history, into the mirror and return it; "" for none.

    Git runs on repositories of ours only. Of the folder's own it is asked what HEAD is, and borrows the objects while
    they are copied; no hook, filter, monitor or helper that is configured there has a part in either.
    """
    own = Git(_git_dir(Path(repository.source)), env=source_env(repository) | {"GIT_ALLOW_PROTOCOL": "none"})
    commit = own.text("rev-parse", "--verify", "--quiet", "HEAD", ok=(0, 1, 128))
    if not commit:
        return ""
    if len(commit) != 40:
        raise FolderError(f"{repository.source} is a SHA-256 repository, which Sakura can't work with.")
    objects = own.text("rev-parse", "--path-format=absolute", "--git-path", "objects")
    mirror = make_bare(repository.mirror, shared=True)
    borrowed = repository.mirror / "objects" / "info" / "alternates"
    borrowed.parent.mkdir(exist_ok=True)
    borrowed.write_bytes(_quoted(os.fsencode(objects)))
    (repository.mirror / "shallow").write_text(f"{commit}\n")
    pack = str(repository.mirror / "objects" / "pack" / "pack")
    try:
        mirror.run("pack-objects", "--quiet", "--revs", "--window=0", pack, input=commit.encode(), timeout_s=PACK_S)
    except GitError as error:
        raise FolderError(
            f"{repository.source}: the files of its commit {commit[:12]} can't be read: {error}"
        ) from None
    borrowed.unlink()
    return commit


def _git_dir(tree: Path) -> Path:
    """Return the folder of the repository: `.git`, or where the file `.git` of a linked work tree points."""
    marker = tree / ".git"
    if not marker.is_file():
        return marker
    line = marker.read_text(errors="surrogateescape")[:5000]
    return (tree / line.removeprefix("gitdir:").strip()).resolve()


def _quoted(path: bytes) -> bytes:
    r"""Return a path as a line of `alternates`, where one that begins with `"` or `#` would mean something else."""
    plain = path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return path + b"\n" if plain == path else b'"' + plain + b'"\n'


# --- the folder as it was found ------------------------------------------------------------------------


def _empty(repository: Repository) -> str:
    """Make a commit of nothing, to start from, and return it."""
    mirror = make_bare(repository.mirror, shared=True)
    mirror.run("hash-object", "-t", "tree", "-w", "--stdin", input=b"")
    return mirror.text("commit-tree", EMPTY_TREE, "-m", "Nothing")


def _start_as_found(workspace: Workspace) -> None:
    """Make the folder as it is snapshot 0; its own ignore rules hold, so they are taken in first."""
    rules = _rules(workspace.tree)
    if rules and snapshots.take(workspace, call_id="", step=0, paths=rules):
        _start_here(workspace)
    if snapshots.take(workspace, call_id="", step=0, paths=None):
        _start_here(workspace)


def _rules(tree: Path) -> list[str]:
    """Return the folder's ignore files; none where one of them keeps ripgrep from its work, as a pipe does."""
    found = ripgrep.run(
        ["--files", "--null", "--glob=.gitignore"], tree, "", separator=b"\0", cancelled=threading.Event()
    )
    try:
        return [os.fsdecode(name.removeprefix(b"./")) for name, _ in zip(found, range(RULES_LIMIT), strict=False)]
    except ripgrep.RipgrepError:
        return []


def _start_here(workspace: Workspace) -> None:
    """Let the latest snapshot be the baseline."""
    latest = store.latest(workspace)
    Snapshot.objects.filter(workspace=workspace, number=0).delete()
    Snapshot.objects.filter(pk=latest.pk).update(number=0)
    Workspace.objects.filter(pk=workspace.pk).update(tree_snapshot=0, base_commit=latest.commit)
    workspace.refresh_from_db(fields=["tree_snapshot", "base_commit"])
    shutil.rmtree(workspace.folder / "rules", ignore_errors=True)
    seen = memory.get(workspace.tree, latest.tree)
    known = read_of(store.ensure(workspace.repository), latest.tree, latest.tree)
    known.stats = seen.stats if seen is not None else {}
    memory.keep(workspace.tree, known)
