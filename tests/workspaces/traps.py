"""What in a repository, or around it, makes plain git run a program; and all that Sakura does with one."""

import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import GIT_ENV, git
from tests.workspaces.places import take, taken
from workspaces import comparing, projects, putting_back, snapshots
from workspaces.models import Workspace

LEFT_AND_RIGHT = (
    "git checkout -q -b left && echo l > README.md && git commit -qam l && "
    "git checkout -q -b right HEAD~1 && echo r > README.md && git commit -qam r; git merge left"
)
CHANGE = "echo x >> README.md"
GITLINK = "git update-index --add --cacheinfo 160000,$(git -C {other} rev-parse HEAD),s"
EXT = ("protocol.ext.allow", "always")
ASK = r"printf 'url=https://example.org\n\n' | git credential fill"


@dataclass(frozen=True)
class Trap:
    """How it is laid, and the `spring`: the plain git that a person would type, and that runs it.

    In all of it stand {trap} for the program, {other} for another repository, {evil} for a configuration that runs the
    program at a look (core.fsmonitor), {hooks} for a folder of hooks, {bin} for a folder of programs.
    """

    name: str
    spring: str
    config: tuple[tuple[str, str], ...] = ()
    hook: str = ""
    files: tuple[tuple[str, str], ...] = ()
    """In the tree."""
    git_files: tuple[tuple[str, str], ...] = ()
    """In `.git`."""


def _config(key: str, spring: str, *more: tuple[str, str], value: str = "{trap}", **files: object) -> Trap:
    return Trap(key, spring, ((key, value), *more), **files)  # type: ignore[arg-type]


def _attribute(key: str, attribute: str, spring: str, *more: tuple[str, str]) -> Trap:
    return Trap(key, spring, ((key, "{trap}"), *more), files=((".gitattributes", f"* {attribute}\n"),))


def _hook(name: str, spring: str, *config: tuple[str, str]) -> Trap:
    return Trap(f"hook {name}", spring, config, hook=name)


_PUSHED_TO = "git push -q . HEAD:refs/heads/zz"
_NESTED = (
    ("nested/.git/HEAD", "ref: refs/heads/main\n"),
    ("nested/.git/config", "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {trap}\n"),
    ("nested/.git/objects/x", ""),
    ("nested/.git/refs/x", ""),
    ("nested/file", "x\n"),
)
_BARE = (
    ("bare/HEAD", "ref: refs/heads/main\n"),
    ("bare/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n\tfsmonitor = {trap}\n"),
    ("bare/objects/x", ""),
    ("bare/refs/x", ""),
)
TRAPS = [
    _hook("pre-commit", "git commit -q --allow-empty -m x"),
    _hook("prepare-commit-msg", "git commit -q --allow-empty -m x"),
    _hook("commit-msg", "git commit -q --allow-empty -m x"),
    _hook("post-commit", "git commit -q --allow-empty -m x"),
    _hook("post-rewrite", "git commit -q --amend --allow-empty -m x"),
    _hook("post-checkout", "git checkout -q -b y"),
    _hook(
        "post-merge", "git checkout -q -b y && git commit -q --allow-empty -m x && git checkout -q - && git merge -q y"
    ),
    _hook("post-index-change", f"{CHANGE}; git add README.md"),
    _hook("reference-transaction", "git update-ref refs/heads/zz HEAD"),
    _hook("pre-rebase", "git rebase -f HEAD"),
    _hook("pre-push", "git push -q {other} HEAD:refs/heads/zz"),
    _hook("pre-receive", _PUSHED_TO),
    _hook("update", _PUSHED_TO),
    _hook("post-receive", _PUSHED_TO),
    _hook("post-update", _PUSHED_TO),
    _hook("proc-receive", "git push -q . HEAD:refs/for/x", ("receive.procReceiveRefs", "refs/for")),
    _config("core.hooksPath", "git commit -q --allow-empty -m x", value="{hooks}"),
    _config("core.fsmonitor", "git status"),
    _config("core.editor", "git commit --allow-empty"),
    _config("core.pager", "script -qec 'git log' /dev/null"),
    _config("core.sshCommand", "git ls-remote ssh://127.0.0.1/x"),
    _config("core.gitProxy", "git ls-remote git://127.0.0.1/x"),
    _config("core.askPass", ASK),
    _config("credential.helper", ASK, value="!{trap}"),
    _config("gpg.program", "git commit -q --allow-empty -m x", ("commit.gpgSign", "true")),
    _config("alias.st", "git st", value="!{trap}"),
    _config("trailer.x.command", "git commit -q --allow-empty -m x --trailer x=1"),
    _config("diff.external", f"{CHANGE}; git diff"),
    _config("include.path", "git status", value="{evil}"),
    _config("includeIf.gitdir:/.path", "git status", value="{evil}"),
    _config("url.ext::{trap} .insteadOf", "git ls-remote https://example.org/x", EXT, value="https://example.org/"),
    _config("remote.evil.uploadpack", "git fetch evil", ("remote.evil.url", "{other}")),
    _config("remote.evil.receivepack", "git push evil HEAD:refs/heads/zz", ("remote.evil.url", "{other}")),
    _config("remote.evil.vcs", "PATH={bin}:$PATH git fetch evil", ("remote.evil.url", "{other}"), value="trap"),
    Trap(
        "core.alternateRefsCommand",
        "git fetch -q {other} HEAD",
        (("core.alternateRefsCommand", "{trap}"),),
        git_files=(("objects/info/alternates", "{other}/.git/objects\n"),),
    ),
    Trap(
        "config.worktree",
        "git status",
        (("core.repositoryFormatVersion", "1"), ("extensions.worktreeConfig", "true")),
        git_files=(("config.worktree", "[core]\n\tfsmonitor = {trap}\n"),),
    ),
    Trap(
        "info/attributes",
        f"{CHANGE}; git add README.md",
        (("filter.evil.clean", "{trap}"),),
        git_files=(("info/attributes", "* filter=evil\n"),),
    ),
    _attribute("filter.evil.clean", "filter=evil", f"{CHANGE}; git add README.md"),
    _attribute("filter.evil.smudge", "filter=evil", "rm README.md; git checkout -- README.md"),
    _attribute("filter.evil.process", "filter=evil", f"{CHANGE}; git add README.md", ("filter.evil.required", "true")),
    _attribute("filter.lfs.process", "filter=lfs", f"{CHANGE}; git add README.md"),
    _attribute("diff.evil.textconv", "diff=evil", f"{CHANGE}; git diff"),
    _attribute("diff.evil.command", "diff=evil", f"{CHANGE}; git diff"),
    _attribute("merge.evil.driver", "merge=evil", LEFT_AND_RIGHT),
    Trap(
        "submodule.s.update",
        f"{GITLINK}; git -c protocol.file.allow=always submodule update s",
        (("submodule.s.url", "{other}"), ("submodule.s.update", "!{trap}")),
        files=((".gitmodules", '[submodule "s"]\n\tpath = s\n\turl = {other}\n'),),
    ),
    Trap(
        "submodule.s.url",
        f"{GITLINK}; git -c protocol.ext.allow=always submodule update s",
        (("submodule.s.url", "ext::{trap}"),),
        files=((".gitmodules", '[submodule "s"]\n\tpath = s\n\turl = ext::{trap}\n'),),
    ),
    Trap("a repository in the tree", "cd nested && git status", files=_NESTED),
    Trap("a bare repository in the tree", "cd bare && git status", files=_BARE),
    Trap(
        "a .git file that leads to another repository",
        "cd linked && git status",
        files=(("linked/.git", "gitdir: {gitdir}\n"),),
    ),
]


@dataclass(frozen=True)
class Snare:
    """The program of a trap with what it needs around it; `mark` is there once it ran."""

    mark: Path
    words: dict[str, str]

    @property
    def program(self) -> str:
        return self.words["{trap}"]

    def told(self, text: str) -> str:
        for word, meaning in self.words.items():
            text = text.replace(word, meaning)
        return text

    def lay(self, trap: Trap, folder: Path) -> None:
        """Lay the trap in the repository at this folder."""
        for path, text in trap.files:
            self._write(folder / path, text)
        for path, text in trap.git_files:
            self._write(folder / ".git" / path, text)
        for key, value in trap.config:
            config = str(folder / ".git" / "config")
            git(folder.parent, "config", "--file", config, self.told(key), self.told(value))
        if trap.hook:
            (folder / ".git" / "hooks").mkdir(exist_ok=True)
            hook = folder / ".git" / "hooks" / trap.hook
            hook.unlink(missing_ok=True)
            hook.symlink_to(self.program)

    def _write(self, place: Path, text: str) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(self.told(text))

    def sprung_by(self, command: str, folder: Path, **env: str) -> bool:
        """Type a command of plain git and return whether it ran the program; the mark is taken away again."""
        words = ["sh", "-c", self.told(command)]
        subprocess.run(
            words, cwd=folder, env=GIT_ENV | env, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60
        )
        ran = self.mark.exists()
        self.mark.unlink(missing_ok=True)
        return ran


def snare(folder: Path) -> Snare:
    """Make the program, and what traps need beside it, in a new folder."""
    folder.mkdir()
    mark, program = folder / "it-ran", folder / "trap"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    other, hooks, programs = folder / "other", folder / "hooks", folder / "bin"
    for place in (other, hooks, programs):
        place.mkdir()
    git(other, "init", "--quiet", "--initial-branch=main")
    git(other, "commit", "--quiet", "--allow-empty", "-m", "other")
    for name in (
        "pre-commit",
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "pre-push",
        "pre-receive",
    ):
        (hooks / name).symlink_to(program)
    (programs / "git-remote-trap").symlink_to(program)
    evil, gitdir = folder / "evil.config", folder / "elsewhere.git"
    evil.write_text(f"[core]\n\tfsmonitor = {program}\n")
    git(folder, "init", "--quiet", "--bare", str(gitdir))
    git(folder, "config", "--file", str(gitdir / "config"), "core.fsmonitor", str(program))
    git(folder, "config", "--file", str(gitdir / "config"), "core.bare", "false")
    places = {"trap": program, "other": other, "evil": evil, "hooks": hooks, "bin": programs, "gitdir": gitdir}
    return Snare(mark, {f"{{{name}}}": str(place) for name, place in places.items()})


def everything(workspace: Workspace) -> None:
    """Do all that reads the tree or its history, and lay it out once more."""
    number = taken(workspace).number
    taken_again = take(workspace, "calc.py")
    assert taken_again is None
    comparing.compare_with_baseline(workspace, texts=True)
    projects.detect(workspace.tree, threading.Event())
    snapshots.patch(workspace)
    for file in snapshots.changes(workspace).files:
        hunks = snapshots.file_diff(workspace, file.path).hunks
        if hunks:
            snapshots.revert(workspace, file.path, hunks=[hunks[0].id])
        snapshots.revert(workspace, file.path)
    snapshots.align(workspace)
    putting_back.carry_out(workspace, putting_back.planned(workspace, "calc.py", number))
    take(workspace)
    snapshots.commit_branch(workspace, "sakura/1-x", "x", "Ann", "a@example.org")
    snapshots.push(workspace, "sakura/1-x")
    snapshots.pack(workspace.repository)
    workspace.epoch += 1
    workspace.save()
    snapshots.prepare(workspace)
