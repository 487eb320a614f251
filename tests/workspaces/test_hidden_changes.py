"""An agent can't hide a change: what it did by commands shows in what a reviewer is given."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.agents.tools.bench import Bench
from tests.conftest import git
from tests.workspaces.places import prepared, statuses, take, taken
from workspaces import keeping, scanning, snapshots, sources, store, trees
from workspaces.known import known_of, read_of
from workspaces.models import Repository, Workspace
from workspaces.sandbox.identity import worker_uid

pytestmark = pytest.mark.django_db


@pytest.fixture
def bench(source: Path, repository: Repository) -> Iterator[Bench]:
    """An agent at a base that ignores logs and `build`, with a submodule in it."""
    (source / ".gitignore").write_text("*.log\nbuild/\n")
    git(source, "add", "--all")
    git(source, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    git(source, "commit", "--quiet", "-m", "rules")
    sources.refresh(repository)
    agent = Bench(prepared(repository))
    yield agent
    agent.jobs.stop(agent.jobs.running())


PLAIN = {"calc.py": "modified"}
EVIL = "echo evil >> calc.py"


def new(*paths: str) -> dict[str, str]:
    return dict.fromkeys(paths, "added")


def gone(*paths: str) -> dict[str, str]:
    return dict.fromkeys(paths, "deleted")


HIDING = [
    # rules and the index of its own git
    (
        "a rule for a new file",
        "echo '*.evil' >> .gitignore; echo x > a.evil",
        {".gitignore": "modified"} | new("a.evil"),
    ),
    (
        "a rule for everything",
        f"echo '*' > .gitignore; {EVIL}; echo x > a",
        PLAIN | {".gitignore": "modified"} | new("a"),
    ),
    ("a rule in the folder", "mkdir d; echo '*' > d/.gitignore; echo x > d/a", new("d/.gitignore", "d/a")),
    ("info/exclude", "mkdir -p .git/info; echo '*' > .git/info/exclude; echo x > a", new("a")),
    ("core.excludesFile", "echo '*' > ~/all; git config core.excludesFile ~/all; echo x > a", new("a")),
    ("--assume-unchanged", f"git update-index --assume-unchanged calc.py; {EVIL}", PLAIN),
    ("--skip-worktree", f"git update-index --skip-worktree calc.py; {EVIL}", PLAIN),
    (
        "a sparse checkout",
        "git sparse-checkout set --no-cone /calc.py",
        gone(".gitignore", "sub", "README.md", "tests/test_calc.py"),
    ),
    ("a commit", f"{EVIL}; git commit -qam x", PLAIN),
    (
        "a replaced .git",
        f"rm -rf .git; git init -q; git add -A; git commit -qm x; {EVIL}; git add -A; git commit -qm y",
        PLAIN,
    ),
    ("no .git", f"rm -rf .git; {EVIL}", PLAIN),
    ("a .git that is a file", f"rm -rf .git; echo 'gitdir: /nowhere' > .git; {EVIL}", PLAIN),
    ("attributes", f"echo '* -diff -text filter=x binary' > .gitattributes; {EVIL}", PLAIN | new(".gitattributes")),
    # repositories in the tree
    ("git init, no commit", "git init -q n; echo x > n/a", new("n/a")),
    ("git init, a commit", "git init -q n; cd n; echo x > a; git add a; git commit -qm x", new("n/a")),
    ("a .git file below", "mkdir n; echo 'gitdir: ../.git' > n/.git; echo x > n/a", new("n/a")),
    ("a bare repository", "git init -q --bare n; echo x > n/objects/a", None),
    ("a moved submodule", f"git update-index --cacheinfo 160000,{'2' * 40},sub; {EVIL}", PLAIN),
    ("files in a submodule", "mkdir -p sub; echo x > sub/a", gone("sub") | new("sub/a")),
    (
        "a repository as the submodule",
        "mkdir -p sub; cd sub; git init -q; echo x > a; git add a; git commit -qm x",
        gone("sub") | new("sub/a"),
    ),
    # names
    ("a newline", "echo x > $'a\\nb'", new("a\nb")),
    ("quotes", "echo x > '\"a'\"'\"", new("\"a'")),
    ("bytes that are no text", "echo x > $'a\\xff\\xfe'", new("a\\xff\\xfe")),
    ("a leading dash", "echo x > ./--output=x; echo x > ./-O", new("--output=x", "-O")),
    ("spaces at the end", "echo x > 'a '; echo x > ' '", new("a ", " ")),
    ("a very long name", "echo x > $(printf 'n%.0s' $(seq 255))", new("n" * 255)),
    ("a look-alike", "echo x > cаlc.py", new("cаlc.py")),
    (
        "characters that can't be seen",
        "echo x > $'calc\\u200b.py'; echo x > $'\\u202ecalc.py'",
        new("calc\u200b.py", "\u202ecalc.py"),
    ),
    ("nearly .git", "mkdir .gitx .git_ git; echo x | tee .gitx/a .git_/a git/a", new(".gitx/a", ".git_/a", "git/a")),
    ("a name in another case", "mv calc.py Calc.py; echo evil >> Calc.py", {"Calc.py": "renamed"}),
    # what a path is
    ("a folder for a file", "rm calc.py; mkdir calc.py; echo x > calc.py/a", gone("calc.py") | new("calc.py/a")),
    ("a file for a folder", "rm -r tests; echo x > tests", gone("tests/test_calc.py") | new("tests")),
    ("a link for a file", "rm calc.py; ln -s README.md calc.py", {"calc.py": "type"}),
    ("a link for a folder", "mv tests ~/t; ln -s ~/t tests", gone("tests/test_calc.py") | new("tests")),
    ("a mode", "chmod +x calc.py", PLAIN),
    ("a FIFO for a file", "rm calc.py; mkfifo calc.py", gone("calc.py")),
    (
        "a socket for a file",
        "rm calc.py; python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('calc.py')\"",
        gone("calc.py"),
    ),
    ("a hard link", "echo x > a; ln a b; echo evil >> b", new("a", "b")),
    ("an empty file", "> calc.py; > a", PLAIN | new("a")),
    # times and rights
    ("the time of before", "touch -r calc.py ~/t; sed -i 's/a - b/a + b/' calc.py; touch -r ~/t calc.py", PLAIN),
    (
        "the time of before, in place",
        "touch -r calc.py ~/t; printf X | dd of=calc.py conv=notrunc status=none; touch -r ~/t calc.py",
        PLAIN,
    ),
    (
        "a rename over it",
        "cp -p calc.py ~/c; touch -r calc.py ~/t; sed -i 's/a - b/a + b/' ~/c; touch -r ~/t ~/c; mv ~/c calc.py",
        PLAIN,
    ),
    (
        "a write by memory",
        "python3 -c \"import mmap; f = open('calc.py', 'r+b'); mmap.mmap(f.fileno(), 0)[0:1] = b'X'\"",
        PLAIN,
    ),
    ("an unreadable file", f"{EVIL}; echo x > a; chmod 000 calc.py a", PLAIN | new("a")),
    (
        "a closed folder",
        "echo x > tests/a; echo x >> tests/test_calc.py; chmod 000 tests",
        {"tests/test_calc.py": "modified"} | new("tests/a"),
    ),
    ("a new closed folder", "mkdir d; echo x > d/a; chmod 000 d", new("d/a")),
    ("a folder that can't be listed", "echo x > tests/a; chmod 311 tests", new("tests/a")),
    # content
    ("line ends", "sed -i 's/$/\\r/' calc.py", PLAIN),
    ("a sparse file", "truncate -s 60M a", new("a")),
    ("a NUL", "printf 'x\\0y' >> calc.py", PLAIN),
    ("after the command", f"({EVIL}; echo x > a) & wait", PLAIN | new("a")),
]


@pytest.mark.parametrize(("command", "shown"), [case[1:] for case in HIDING], ids=[case[0] for case in HIDING])
def test_what_a_command_did_is_shown(command: str, shown: dict[str, str] | None, bench: Bench) -> None:
    result = bench.call("run_command", command=command)
    assert not result.is_error, result.content
    found = statuses(bench.workspace)
    if shown is None:
        assert "n/objects/a" in found
    else:
        assert found == shown, result.content
    told = {row["path"]: row["status"] for row in bench.call("check_changes").data["files"]}
    assert told == found
    for file in snapshots.changes(bench.workspace).files:
        diff = snapshots.file_diff(bench.workspace, file.path)
        has_content = diff.hunks or diff.binary or file.old_mode != file.new_mode or not file.size_new
        assert has_content, f"nothing of {file.path!r} would be seen"


def test_a_diff_that_attributes_would_turn_off_is_shown(bench: Bench) -> None:
    bench.call("run_command", command=f"echo '* binary -diff' > .gitattributes; {EVIL}")
    (hunk,) = snapshots.file_diff(bench.workspace, "calc.py").hunks
    assert [line.text for line in hunk.lines if line.kind == "+"] == ["evil"]


def test_of_a_large_file_every_byte_counts(bench: Bench) -> None:
    size = store.STORED_LIMIT + 10
    bench.call("run_command", command=f"truncate -s {size} big; touch -d 2001-01-01 big")
    assert statuses(bench.workspace) == {"big": "added"}
    number = store.latest(bench.workspace).number
    last = "printf X | dd of=big conv=notrunc status=none bs=1 seek="
    bench.call("run_command", command=f"{last}{size - 1}; touch -d 2001-01-01 big")
    assert statuses(bench.workspace, number) == {"big": "modified"}


def test_names_that_pass_for_git_are_named_as_left_out_and_are_in_no_branch(bench: Bench) -> None:
    bench.call("run_command", command=f"mkdir .GIT 'git~1' '.git '; echo x | tee .GIT/a 'git~1/a' '.git /a'; {EVIL}")
    assert statuses(bench.workspace) == PLAIN
    assert {row["path"] for row in store.latest(bench.workspace).skipped} == {".GIT", "git~1", ".git "}


def test_what_the_baseline_ignores_is_in_no_branch(bench: Bench) -> None:
    bench.call("run_command", command=f"mkdir build; echo x > build/evil.py; echo x > a.log; {EVIL}")
    assert statuses(bench.workspace) == PLAIN
    commit = snapshots.commit_branch(bench.workspace, "sakura/1", "x", "Ann", "a@example.org")
    names = git(bench.workspace.repository.store, "ls-tree", "-r", "--name-only", commit).splitlines()
    assert not [name for name in names if name.startswith(("build", "a.log"))]


def test_what_runs_on_after_its_call_is_seen_by_the_next_look(bench: Bench) -> None:
    command = f"echo up; until [ -e ~/go ]; do sleep 0.02; done; {EVIL}"
    job = bench.call("run_command", command=command, run_in_background=True).data["id"]
    assert statuses(bench.workspace) == {}
    (bench.workspace.home / "go").touch()
    assert bench.jobs.find(job).join(20)
    bench.call("command_output", id=job)
    assert statuses(bench.workspace) == PLAIN


MAPPED = """
import mmap, os, time
file = open("calc.py", "r+b")
held = mmap.mmap(file.fileno(), 0)
held[0:1] = b"1"
open("ready", "w").close()
while not os.path.exists(os.path.expanduser("~/go")):
    time.sleep(0.01)
held[0:1] = b"2"
"""


def test_a_write_into_a_page_that_is_dirty_already_changes_no_time_and_is_seen(bench: Bench) -> None:
    (bench.workspace.home / "map.py").write_text(MAPPED)
    job = bench.call("run_command", command="python3 ~/map.py", run_in_background=True).data["id"]
    wait_for(bench.tree / "ready")
    settle(bench.tree / "calc.py")
    taken(bench.workspace)
    before = (bench.tree / "calc.py").stat()
    assert snapshots.read(bench.workspace, "calc.py").data[:1] == b"1"
    (bench.workspace.home / "go").touch()
    assert bench.jobs.find(job).join(20)
    after = (bench.tree / "calc.py").stat()
    assert (before.st_ctime_ns, before.st_mtime_ns) == (after.st_ctime_ns, after.st_mtime_ns), "nothing tells of it"
    taken(bench.workspace)
    assert snapshots.read(bench.workspace, "calc.py").data[:1] == b"2"


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def settle(path: Path) -> None:
    """Wait until the file's times are so old that they would prove what is known of it."""
    while time.time_ns() - path.stat().st_ctime_ns < 5 * scanning.RACY_NS:
        time.sleep(0.01)


def test_a_file_that_changes_while_it_is_read_is_read_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bench.tree / "calc.py"
    path.write_text("one\n")
    settle(path)
    real = keeping._read

    def changed_after(handle: int, size: int) -> bytes | None:
        data = real(handle, size)
        if data == b"one\n":
            times = path.stat()
            path.write_text("two\n")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        return data

    monkeypatch.setattr(keeping, "_read", changed_after)
    taken(bench.workspace)
    taken(bench.workspace)
    assert snapshots.read(bench.workspace, "calc.py").data == b"two\n"


# --- where the server is no root ---------------------------------------------------------------------


@contextmanager
def as_a_plain_server(workspace: Workspace) -> Iterator[None]:
    """Look as a server that is the very user of its commands, and so is kept out by a mode as they are."""
    uid = worker_uid(workspace.pk)
    if uid is None:
        yield
        return
    for folder in (workspace.repository.folder, workspace.folder):
        for path in (folder, *folder.rglob("*")):
            os.chown(path, uid, uid, follow_symlinks=False)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


CLOSING = [
    ("echo x >> calc.py; chmod 000 calc.py", {b"calc.py"}),
    ("echo x > a; chmod 000 a", {b"a"}),
    ("echo x > tests/a; echo x >> tests/test_calc.py; chmod 000 tests", {b"tests/a", b"tests/test_calc.py"}),
    ("mkdir -p d/e; echo x > d/e/a; chmod 000 d/e/a d/e d", {b"d/e/a"}),
    ("echo x > tests/a; chmod 444 tests", {b"tests/a"}),
    ("echo x > tests/a; chmod 111 tests", {b"tests/a"}),
    ("echo x > a; chmod 000 .", {b"a"}),
]


@pytest.mark.parametrize(("command", "shown"), CLOSING, ids=[command for command, _ in CLOSING])
def test_what_a_mode_closes_is_seen_by_a_server_that_is_no_root(command: str, shown: set[bytes], bench: Bench) -> None:
    workspace, git_store = bench.workspace, store.ensure(bench.workspace.repository)
    before = store.latest(workspace)
    known = read_of(git_store, before.tree, before.tree)
    bench.call("run_command", command=command)
    modes = {path: path.lstat().st_mode for path in (bench.tree, *bench.tree.rglob("*"))}
    with as_a_plain_server(workspace), scanning.looking(workspace, git_store, known, None) as scan:
        assert set(scan.changes) == shown
        assert scan.skipped == {}
    assert {path: path.lstat().st_mode for path in modes} == modes, "it is as the command left it"


def test_a_closed_tree_is_removed_by_a_server_that_is_no_root(bench: Bench) -> None:
    bench.call("run_command", command="mkdir -p d/e; echo x > d/e/a; chmod 000 d/e d")
    with as_a_plain_server(bench.workspace):
        trees.discard(bench.tree)
        assert not bench.tree.exists()


def test_a_tree_that_nothing_changed_is_unchanged(bench: Bench) -> None:
    assert known_of(bench.workspace, store.ensure(bench.workspace.repository), store.latest(bench.workspace)).entries
    assert take(bench.workspace) is None
