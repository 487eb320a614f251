"""Attacks on what the policy hides: in the tree, and in what the agent's git may read."""

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from unittest.mock import patch

from agents.models import Policy
from tests.conftest import git
from tests.wall.attack import Attack, Control, Group, nothing, tells
from tests.wall.scene import Scene
from tests.workspaces.places import hide
from workspaces import readable, snapshots
from workspaces.models import Snapshot

HIDDEN = ["*.pem", "deep/private/**"]


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
MOVE = """
mv deep .git/deep; cat .git/deep/private/plan.txt; mv .git/deep deep
chmod 0 deep; chmod 755 deep; cat deep/private/plan.txt
ln -s deep/private open; cat open/plan.txt
"""


def _commit(scene: Scene, held: ExitStack) -> None:
    """Hide what the source holds: at the base, earlier under a name that is gone now, and on another branch."""
    scene.bench.policy = Policy(hidden=HIDDEN)
    if "blob" in scene.told:
        return
    workspace, repository = scene.bench.workspace, scene.bench.workspace.repository
    source = scene.outside_folder.parent / "clone"
    git(source.parent, "clone", "--quiet", str(repository.mirror), source.name)
    for name in ("plan.pem", "key.pem", "deep/private/plan.txt"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(f"{scene.treasure}\n")
    (source / "deep" / "shown.txt").write_text("shown\n")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "With")
    git(source, "rm", "--quiet", "plan.pem")
    git(source, "commit", "--quiet", "-m", "Without")
    scene.told["base"] = git(source, "rev-parse", "HEAD")
    scene.told["blob"] = git(source, "rev-parse", "HEAD:deep/private/plan.txt")
    git(source, "push", "--quiet", "origin", "HEAD:refs/heads/main", "HEAD~1:refs/heads/other")
    workspace.base_commit = str(scene.told["base"])
    Snapshot.objects.filter(workspace=workspace).delete()
    _lay_out(scene, HIDDEN)


def _lay_out(scene: Scene, hidden: list[str]) -> None:
    hide(scene.bench.workspace, hidden)
    snapshots.prepare(scene.bench.workspace)


def _with_the_files(scene: Scene, attack: Attack) -> bool:
    """Run it in a tree that has the files."""
    _lay_out(scene, [])
    scene.bench.policy = Policy()
    return attack.breach(scene, scene.inside(replace(attack, stage=nothing)))


def _with_the_mirror(scene: Scene, attack: Attack) -> bool:
    """Run it with the mirror's objects in the place of those that may be read."""
    with patch.object(readable, "of", readable.of_mirror):
        return attack.breach(scene, scene.inside(attack))


_hidden = partial(
    Attack,
    group=Group.HIDDEN,
    language="bash",
    breach=tells,
    stage=_commit,
    stopped_by="not in the tree",
    control=Control("the same in a tree that has the files", _with_the_files),
)
_history = partial(
    _hidden,
    stopped_by="a pack of the base without hidden paths, and no history",
    control=Control("the same with the mirror's objects mounted", _with_the_mirror),
)

HIDES = (
    _hidden("A file that the policy hides is read", script=FIND),
    _hidden("A file that the policy hides is given another name", script=RENAME),
    _hidden("A file that the policy hides is moved where nobody looks, or closed and opened", script=MOVE),
    _hidden(
        "A file that the policy hides is put back under its old name after its folder was moved",
        script="mv deep old; git checkout -q -- . ; git stash -q; git reset -q --hard; cat {deep,old}/private/*",
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
