"""Attacks on what the policy hides: in the tree, and in what the agent's git may read."""

from contextlib import ExitStack
from functools import partial
from unittest.mock import patch

from agents.models import Policy
from tests.conftest import git
from tests.wall.attack import BARE, Attack, Control, Group, tells
from tests.wall.scene import Scene
from workspaces import readable, snapshots
from workspaces.models import Snapshot
from workspaces.readable import Readable

HIDDEN = ["*.pem", "deep/private/**"]


def _hide(scene: Scene, held: ExitStack) -> None:
    """Hide files with the treasure from agents, one by its name and one by its folder."""
    scene.bench.policy = Policy(hidden=HIDDEN)
    scene.write("key.pem", scene.treasure)
    scene.write("deep/private/plan.txt", scene.treasure)


FIND = """
cat key.pem deep/private/plan.txt
ln key.pem open; cat open; cp -r deep/private mine; cat mine/*
exec 9< key.pem; cat /proc/self/fd/9; cat $tree/key.pem /proc/self/cwd/key.pem
umount key.pem deep/private; cat key.pem deep/private/plan.txt
"""
RENAME = """
mv key.pem open; cat open
mv deep other; mv deep/private shown; cat other/private/plan.txt shown/plan.txt
rm -rf key.pem; cat key.pem
"""


def _commit(scene: Scene, held: ExitStack) -> None:
    """Hide what the source holds: at the base, earlier under a name that is not hidden now, and on another branch."""
    scene.bench.policy = Policy(hidden=HIDDEN)
    if "blob" in scene.told:
        return
    workspace, repository = scene.bench.workspace, scene.bench.workspace.repository
    source = scene.outside_folder.parent / "clone"
    git(source.parent, "clone", "--quiet", str(repository.mirror), source.name)
    for name in ("plan.pem", "deep/private/plan.txt"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(f"{scene.treasure}\n")
        git(source, "add", "--all")
        git(source, "commit", "--quiet", "-m", name)
    git(source, "rm", "--quiet", "plan.pem")
    git(source, "commit", "--quiet", "-m", "Without")
    scene.told |= {
        "base": git(source, "rev-parse", "HEAD"),
        "blob": git(source, "rev-parse", "HEAD:deep/private/plan.txt"),
    }
    git(source, "push", "--quiet", "origin", "HEAD:refs/heads/main", "HEAD~1:refs/heads/other")
    workspace.base_commit = str(scene.told["base"])
    workspace.save()
    Snapshot.objects.filter(workspace=workspace).delete()
    snapshots.prepare(workspace, HIDDEN)


def _with_the_mirror(scene: Scene, attack: Attack) -> bool:
    """Run it with the mirror's objects in the place of those that may be read."""
    workspace = scene.bench.workspace
    mirror = Readable(workspace.repository.mirror / "objects", workspace.base_commit, "")
    with patch.object(readable, "of", return_value=mirror):
        return attack.breach(scene, scene.inside(attack))


MIRROR = Control("the same with the mirror's objects mounted", _with_the_mirror)
_hidden = partial(Attack, group=Group.HIDDEN, language="bash", breach=tells, control=BARE)
_history = partial(
    _hidden, stage=_commit, control=MIRROR, stopped_by="a pack of the base without hidden paths, and no history"
)

HIDES = (
    _hidden("A file that the policy hides is read", script=FIND, stage=_hide, stopped_by="covered by a mount"),
    _hidden(
        "A file that the policy hides is given another name",
        script=RENAME,
        stage=_hide,
        stopped_by="covered by a mount, its folders can't be renamed",
    ),
    _history(
        "A committed file that the policy hides is shown at the base",
        script="git show $base:deep/private/plan.txt || git show HEAD:deep/private/plan.txt; git cat-file -p $blob",
    ),
    _history(
        "A committed file that the policy hides is checked out or archived",
        script="git worktree add -f ../tmp/w $base || git worktree add -f /tmp/w; cat /tmp/w/deep/private/*\n"
        "git archive $base | tar -xO; git stash -u; git checkout -f $base -- . ; git grep -h . $base",
    ),
    _history(
        "What the policy hides is read from an earlier commit",
        script="git log --all -p; git log -p $base; git log -p --reflog; git show $base~1:plan.pem",
    ),
    _history(
        "What the policy hides is found among all objects that git reaches",
        script="git cat-file --batch-all-objects --batch | strings; git fsck --lost-found --no-reflogs\n"
        "find /sakura -type f -exec sh -c 'git show-index < {}' \\; ; cat .git/lost-found/*/*",
    ),
    _history(
        "What the policy hides is unpacked from a copy of all that git reads",
        script="git init -q /tmp/r; cd /tmp/r; cp -r /sakura/objects/. .git/objects\n"
        "git cat-file --batch-all-objects --batch; git verify-pack -v .git/objects/pack/*.pack",
    ),
)
