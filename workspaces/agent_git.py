"""The agent's own `.git`: made once in a new tree, with objects of ours borrowed, and never read again."""

import os
from pathlib import Path

from workspaces.git import Git
from workspaces.readable import Readable

AGENT_OBJECTS = "/sakura/objects"
"""Where the sandbox mounts the objects that it may read, read-only; the path exists only inside."""
BRANCH = "sakura/work"

_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
\tcheckStat = minimal
\ttrustctime = false
[user]
\tname = Sakura agent
\temail = agent@sakura.invalid
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""
# checkStat: owner and inode look different from inside the sandbox, so `git status` would read every file each time.


def make(tree: Path, readable: Readable) -> None:
    """Write the repository's skeleton: HEAD on its branch at the base, objects by alternates."""
    folder = tree / ".git"
    for name in ("objects/info", "objects/pack", "refs/tags", "refs/heads/sakura"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text(f"ref: refs/heads/{BRANCH}\n")
    (folder / "config").write_text(_CONFIG)
    (folder / "objects" / "info" / "alternates").write_text(f"{AGENT_OBJECTS}\n")
    (folder / "refs" / "heads" / BRANCH).write_text(f"{readable.commit}\n")


def make_index(git: Git, tree: Path, base_tree: str, scratch: Path, uid: int | None) -> None:
    """Write its index: the base, with the stats of the files as they lie there, so that `git status` is fast.

    Our git does it on a copy, before any command of the agent ran in the tree.
    """
    assert git.git_dir is not None
    indexed = Git(git.git_dir, work_tree=tree, index=scratch)
    indexed.run("read-tree", base_tree)
    indexed.run("update-index", "-q", "--refresh", timeout_s=600, ok=(0, 1))
    place = tree / ".git" / "index"
    place.write_bytes(scratch.read_bytes())
    if uid is not None:
        os.chown(place, uid, uid)
