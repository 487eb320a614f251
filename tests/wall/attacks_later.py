"""Attacks that leave something in the tree or in HOME for Sakura's own hands, or for a later command."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any

from agents.tools.base import Result
from tests.conftest import GIT_ENV
from tests.wall.attack import BARE, Attack, Control, Group, changed
from tests.wall.scene import Scene
from workspaces import store
from workspaces.git import Git
from workspaces.sandbox import Tree

HANG_S = 20
ROUNDS = 12


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise TimeoutError where the block hangs."""

    def ring(number: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def as_user(scene: Scene, *words: str, **more: Any) -> None:
    """Run a program of the machine in the tree, as the commands' user and with its HOME."""
    who: dict[str, Any] = {} if scene.uid is None else {"user": scene.uid, "group": scene.uid, "extra_groups": []}
    home = {"HOME": str(scene.bench.workspace.home)}
    subprocess.run(words, cwd=scene.bench.tree, env=GIT_ENV | home, capture_output=True, timeout=20, **who, **more)


# --- what Sakura does with it ------------------------------------------------------------------------------


def _acts(scene: Scene, result: Result) -> bool:
    """Something left in the tree ran while tools and snapshots worked on it."""
    scene.use_tools()
    return changed(scene, result)


def _shows(scene: Scene, result: Result) -> bool:
    """A tool shows what a link leads to, or writes there."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read_file", {"file_path": "link"}),
        ("read_file", {"file_path": "folder/treasure"}),
        ("list_directory", {"path": "folder"}),
        ("glob", {"pattern": "folder/*"}),
        ("search_in_files", {"pattern": scene.treasure[:8], "output_mode": "content"}),
        ("search_in_files", {"pattern": scene.treasure[:8], "path": "folder", "output_mode": "content"}),
        ("write_file", {"file_path": "folder/new", "content": "x\n"}),
        ("write_file", {"file_path": "link", "content": "x\n"}),
    ]
    said = "".join(scene.bench.give(name, arguments).content for name, arguments in calls)
    return scene.treasure in said or changed(scene, result)


def _is_stored(scene: Scene, result: Result) -> bool:
    """A snapshot holds the bytes that a link leads to."""
    git = Git(scene.bench.workspace.repository.store)
    tree = store.listing(git, store.latest(scene.bench.workspace).tree)
    assert tree[b"link"].mode == store.LINK
    return any(
        scene.treasure.encode() in data for _, data in store.read_blobs(git, {each.oid for each in tree.values()})
    )


def _hangs(scene: Scene, result: Result) -> bool:
    try:
        with _limited(HANG_S):
            scene.use_tools()
            scene.bench.call("read_file", file_path="pipe")
            scene.bench.call("write_file", file_path="pipe", content="x\n")
    except TimeoutError:
        return True
    return False


def _gets_out(scene: Scene, result: Result) -> bool:
    """File tools are led outside by a folder that becomes a link while they work."""
    said = ""
    for number in range(ROUNDS):
        said += scene.bench.call("write_file", file_path=f"door/new{number}", content=f"{number}\n").content
        said += scene.bench.call("read_file", file_path="door/treasure").content
    return scene.treasure in said or changed(scene, result)


def _naive(scene: Scene, attack: Attack) -> bool:
    """Who looks for a link and then opens by name is led out soon."""
    door = scene.bench.tree / "door"
    for _ in range(500_000):
        with suppress(OSError):
            if not door.is_symlink() and (door / "treasure").read_text() == scene.treasure:
                return True
    return False


def _by_git(*words: str) -> Control:
    def holds(scene: Scene, attack: Attack) -> bool:
        as_user(scene, "git", *words)
        return changed(scene, scene.results[-1])

    return Control(f"plain `git {words[0]}` in the same tree runs it", holds)


def _by_command(words: str, command: str) -> Control:
    def holds(scene: Scene, attack: Attack) -> bool:
        return changed(scene, scene.command_outside(command))

    return Control(words, holds)


def _follows(scene: Scene, attack: Attack) -> bool:
    return (scene.bench.tree / "link").read_text() == scene.treasure


def _blocks(scene: Scene, attack: Attack) -> bool:
    try:
        subprocess.run(["cat", str(scene.bench.tree / "pipe")], timeout=0.3, capture_output=True)
    except subprocess.TimeoutExpired:
        return True
    return False


PAYLOAD = """
payload="touch $outside/ran"
program() { mkdir -p "$(dirname "$1")"; printf '#!/bin/sh\\n%s\\nexit 0\\n' "$payload" > "$1"; chmod 755 "$1"; }
"""
PROGRAMS = """
for name in .venv/bin/python .venv/bin/pip .venv/bin/pytest node_modules/.bin/eslint node_modules/.bin/npm \\
            vendor/bin/php bin/git bin/rg rg git gradlew mvnw; do program $name; done
printf 'import os\\nos.system("%s")\\n' "$payload" | tee conftest.py setup.py sitecustomize.py > json.py
printf 'all test:\\n\\t%s\\n$(shell %s)\\n' "$payload" "$payload" > Makefile
printf '{"scripts": {"test": "%s", "preinstall": "%s"}}' "$payload" "$payload" > package.json
"""
HOME = """
for name in .bashrc .profile .bash_profile .bash_logout .inputrc .pythonstartup; do echo "$payload" > $HOME/$name; done
git config --global core.fsmonitor "$payload"; git config --global core.pager "$payload"
program $HOME/.local/bin/git; program $HOME/.local/bin/rg
"""
NEXT = """
export LD_PRELOAD=$tree/evil.so BASH_ENV=$tree/evil PATH=$tree/evil:$PATH PYTHONPATH=$tree/evil GIT_DIR=$tree/evil
env | grep evil
echo $tree/evil.so > /etc/ld.so.preload; echo "PATH=$tree/evil" >> /etc/environment
echo "$tree/evil" > /etc/profile.d/x.sh
"""


def _goes_on(scene: Scene, result: Result) -> bool:
    """The next command finds what an earlier one put into its environment."""
    return "evil" in scene.bench.call("run_command", command="env; cat /etc/ld.so.preload /etc/environment").content


def _had_it(scene: Scene, attack: Attack) -> bool:
    return "evil" in scene.results[-1].content


# --- views of the tree ---------------------------------------------------------------------------------------


def _is_written(scene: Scene, result: Result) -> bool:
    return scene.word in (scene.bench.tree / "README.md").read_text() or not (scene.bench.tree / "calc.py").exists()


def _in_mode(mode: Tree) -> Any:
    def stage(scene: Scene, held: ExitStack) -> None:
        scene.bench.mode = mode

    return stage


WRITE = """
exec 9< README.md
chmod u+w . README.md; echo $word >> README.md; echo $word >> $tree/README.md
echo $word >> /proc/self/fd/9; echo $word >> /proc/self/cwd/README.md
rm -f calc.py; mv calc.py gone
"""


def _escapes(scene: Scene, result: Result) -> bool:
    """What a terminal acts on is in what a model or a page gets."""
    return "\x1b" in result.content or "\x1b]" in str(result.data)


_later = partial(Attack, group=Group.LATER, language="bash", stopped_by="nothing in a workspace is run by Sakura")
LATER = (
    _later(
        "Git is told to run a program (core.fsmonitor)",
        script=PAYLOAD + 'git config core.fsmonitor "$payload"',
        breach=_acts,
        control=_by_git("status"),
        stopped_by="Sakura's git never reads the agent's .git",
    ),
    _later(
        "Git is told to run a filter and a hook",
        script=PAYLOAD + "program .git/hooks/pre-commit; program .git/hooks/post-index-change\n"
        'git config filter.evil.clean "$payload"; echo "* filter=evil" > .gitattributes; echo x > new',
        breach=_acts,
        control=_by_git("add", "new"),
        stopped_by="Sakura's git never reads the agent's .git, attributes off",
    ),
    _later(
        "A repository within the tree runs a program",
        script=PAYLOAD + 'git init -q inner; git -C inner config core.fsmonitor "$payload"\n'
        "git -C inner commit -qm x --allow-empty; git add inner",
        breach=_acts,
        control=_by_git("status"),
        stopped_by="nested repositories are walked as plain files",
    ),
    _later(
        "Programs and start-up files of the project are replaced",
        script=PAYLOAD + PROGRAMS,
        breach=_acts,
        control=_by_command("a command that runs one of them runs the payload", ".venv/bin/python"),
    ),
    _later(
        "Start-up files in HOME are written",
        script=PAYLOAD + HOME,
        breach=_acts,
        control=_by_command("a later command of the same run runs them", "bash -lic true; git status"),
        stopped_by="HOME per run, which Sakura never uses",
    ),
    _later(
        "The environment of the next command is poisoned",
        script=NEXT,
        breach=_goes_on,
        control=Control("the command itself has it", _had_it),
        stopped_by="clean environment, read-only /etc",
    ),
    _later(
        "File tools are led outside by links",
        script="ln -s $treasure link; ln -s $outside folder",
        breach=_shows,
        control=Control("who opens by name follows the link", _follows),
        stopped_by="file tools open beneath the tree, without links",
    ),
    _later(
        "A snapshot is made to store what a link leads to",
        script="ln -s $treasure link; ln -s $outside folder",
        breach=_is_stored,
        control=Control("who opens by name follows the link", _follows),
        stopped_by="a link is stored as a link",
    ),
    _later(
        "A snapshot or a tool is made to wait for a pipe",
        script="mkfifo pipe; python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('plug')\"\n"
        "ln -s loop loop; truncate -s 900M holes; chmod 0 calc.py",
        breach=_hangs,
        control=Control("who opens the pipe waits for ever", _blocks),
        stopped_by="only ordinary files are opened",
    ),
    _later(
        "A folder becomes a link while file tools work in it",
        language="python",
        script="""
os.makedirs("door", exist_ok=True)
os.symlink(scene["outside"], "away")
while True:
    libc.renameat2(-100, b"door", -100, b"away", 2)  # both change places, at once
""",
        in_background=True,
        timeout_ms=240_000,
        breach=_gets_out,
        control=Control("who looks for a link first, and then opens by name, is led out", _naive),
        stopped_by="file tools open beneath the tree, without links",
    ),
    _later(
        "A tree that is mounted read-only is written",
        script=WRITE,
        stage=_in_mode(Tree.READ),
        breach=_is_written,
        control=BARE,
        stopped_by="read-only mount",
    ),
    _later(
        "A reviewer's command changes the tree",
        script=WRITE,
        stage=_in_mode(Tree.OVERLAY),
        breach=_is_written,
        control=BARE,
        stopped_by="throw-away overlay",
    ),
    _later(
        "What a terminal acts on is printed",
        script=r"printf 'x\033]52;c;ZXZpbA==\007\033]0;title\007\033[2J\033[20t\033P+q\033\\abc\n'",
        breach=_escapes,
        control=Control("it came as it was printed", lambda scene, attack: "\x1b]52" in "".join(scene.bench.printed)),
        stopped_by="sequences are taken out of what is shown",
    ),
)
