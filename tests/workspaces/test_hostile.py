"""Nothing that a tree, a source or the server's environment holds makes our git run a program."""

import os
import re
import shutil
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conftest import git
from tests.workspaces.places import mirrored, prepared, statuses, take, taken
from tests.workspaces.traps import ASK, TRAPS, Snare, everything, snare
from workspaces import scanning, snapshots, sources, store
from workspaces.git import Bounds, Git, GitError, GitFull, GitStopped, GitTimeout, make_bare
from workspaces.models import Repository, Workspace

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.django_db

ATTRIBUTES = "* filter=evil diff=evil merge=evil text eol=crlf ident working-tree-encoding=UTF-16 export-subst\n"


@pytest.fixture
def laid(tmp_path: Path) -> Snare:
    return snare(tmp_path / "snare")


def test_a_tree_that_names_its_own_config_and_attributes_is_stored_as_bytes(repository: Repository) -> None:
    workspace = prepared(repository)
    (workspace.tree / ".gitattributes").write_text(ATTRIBUTES)
    data = b"$Id$ one\r\ntwo\n\xff\xfe"
    (workspace.tree / "file.txt").write_bytes(data)
    taken(workspace)
    assert snapshots.read(workspace, "file.txt").data == data
    workspace.epoch = 2
    workspace.save()
    snapshots.prepare(workspace)
    assert (workspace.tree / "file.txt").read_bytes() == data


# --- around git --------------------------------------------------------------------------------------


EVIL = "[core]\n\tfsmonitor = {trap}\n[diff]\n\texternal = {trap}\n[uploadpack]\n\tpackObjectsHook = {trap}\n"
AROUND = [
    ("GIT_CONFIG_GLOBAL", "{around}/.gitconfig", "git status"),
    ("GIT_CONFIG_SYSTEM", "{around}/.gitconfig", "unset GIT_CONFIG_NOSYSTEM; git status"),
    ("HOME", "{around}", "unset GIT_CONFIG_GLOBAL; git clone -q --no-local . {around}/clone"),  # its packObjectsHook
    ("XDG_CONFIG_HOME", "{around}/xdg", "unset GIT_CONFIG_GLOBAL; git status"),
    ("GIT_CONFIG_PARAMETERS", "'core.fsmonitor={trap}'", "git status"),
    ("GIT_EXTERNAL_DIFF", "{trap}", "echo x >> README.md; git diff"),
    ("GIT_SSH_COMMAND", "{trap}", "git ls-remote ssh://127.0.0.1/x"),
    ("GIT_PROXY_COMMAND", "{trap}", "git ls-remote git://127.0.0.1/x"),
    ("GIT_ASKPASS", "{trap}", ASK),
    ("GIT_EDITOR", "{trap}", "git commit --allow-empty"),
    ("GIT_TEMPLATE_DIR", "{around}/template", "git clone -q . {around}/clone"),
    ("GIT_EXEC_PATH", "{around}/programs", "git fetch -q {other}"),
    ("GIT_TRACE", "{mark}", "git status"),
    ("GIT_DIR", "{around}/evil.git", "git --work-tree=. status"),
    ("PATH", ".:/usr/local/bin:/usr/bin:/bin", "git status"),
]


@pytest.mark.parametrize(("name", "value", "spring"), AROUND, ids=[name for name, *_ in AROUND])
def test_the_servers_environment_does_not_reach_git(
    name: str, value: str, spring: str, source: Path, laid: Snare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    around = tmp_path / "around"
    for folder in ("template/hooks", "programs", "evil.git/objects", "evil.git/refs", "xdg/git"):
        (around / folder).mkdir(parents=True)
    for file in (".gitconfig", "xdg/git/config", "evil.git/config"):
        (around / file).write_text(laid.told(EVIL))
    (around / "evil.git" / "HEAD").write_text("ref: refs/heads/main\n")
    for program in ("template/hooks/post-checkout", "programs/git-upload-pack", "programs/git-fetch"):
        (around / program).symlink_to(laid.program)
    laid.words.update({"{around}": str(around), "{mark}": str(laid.mark)})
    control = Path(shutil.copytree(source, tmp_path / "control"))
    for place in (source, control):
        (place / "git").symlink_to(laid.program)
        (place / "env").symlink_to(laid.program)
    assert laid.sprung_by(spring, control, **{name: laid.told(value)}), "it reaches plain git"
    shutil.rmtree(around / "clone", ignore_errors=True)

    monkeypatch.setenv(name, laid.told(value))
    workspace = prepared(row := mirrored(source))
    sources.uncommitted(row)
    (workspace.tree / "calc.py").write_text("changed\n")
    everything(workspace)
    assert not laid.mark.exists()


def test_no_secret_of_the_server_reaches_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "s3cret")
    seen = Git(None).run("-c", "alias.env=!env", "env").decode()
    assert "s3cret" not in seen
    assert "ANTHROPIC" not in seen


def test_no_other_module_starts_git() -> None:
    """Whoever starts programs is known, names no git, and GitPython is one module's alone."""
    starts, names, has_gitpython = set(), set(), set()
    for file in (path for package in ("agents", "workspaces", "sakura_web") for path in (ROOT / package).rglob("*.py")):
        text, name = file.read_text(), file.relative_to(ROOT).as_posix()
        if re.search(r"subprocess\.(run|Popen|call|check_\w+)\(|os\.(exec|spawn|posix_spawn|system|popen)", text):
            starts.add(name)
        if re.search(r"""[\[(]\s*f?["'](?:/\S*/)?git["' ]""", text):
            names.add(name)
        if re.search(r"^\s*(?:import git|from git)\b", text, re.MULTILINE):
            has_gitpython.add(name)
    assert has_gitpython == {"workspaces/git.py"}
    assert starts & names <= {"sakura_web/bootstrap.py"}, "which only looks whether there is a git"
    assert {"workspaces/ripgrep.py", "workspaces/setup.py", "workspaces/apart/__init__.py"} <= starts
    assert not starts & {"workspaces/git.py", "workspaces/git_process.py", "workspaces/agent_git.py"}


# --- sources -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "--upload-pack={trap}", "-u{trap}", "ext::{trap}", "ext::sh -c {trap}", "fd::3", "foo::bar", "trap::x",
        "ext://{trap}", "ssh://-oProxyCommand={trap}/x", "ssh://-oProxyCommand={trap}@127.0.0.1/x",
        "-oProxyCommand={trap}:x", "-oProxyCommand={trap}@127.0.0.1:x", "x@-oProxyCommand={trap}:x",
        "ssh://127.0.0.1:-oProxyCommand={trap}/x", "file:///x?upload-pack={trap}", "https://127.0.0.1:1/--upload-pack={trap}",
    ],
)  # fmt: skip
def test_a_source_that_is_an_option_or_a_helper_runs_nothing(source: str, laid: Snare) -> None:
    """The row is made behind the form's back, which would refuse most of them."""
    row = mirrored(laid.told(source), "failed")
    sources.refresh(row, timeout_s=5)
    sources.uncommitted(row)
    assert not laid.mark.exists()


def test_a_helper_of_that_name_would_run_with_plain_git(source: Path, laid: Snare) -> None:
    assert laid.sprung_by("git -c protocol.ext.allow=always ls-remote 'ext::{trap}'", source)
    assert laid.sprung_by("PATH={bin}:$PATH git ls-remote trap::x", source)
    assert laid.sprung_by("git ls-remote --upload-pack={trap} {other}", source)


@pytest.mark.parametrize(
    "odd", ["--output={mark}", "-O{mark}", "--exec={trap}", "@{{-1}}", "x..y", "x:y", "HEAD^{{/x}}"]
)
def test_names_that_are_options_are_no_options(odd: str, source: Path, laid: Snare) -> None:
    name = odd.format(mark=laid.mark, trap=laid.program)
    row = mirrored(source)
    with pytest.raises(sources.SourceError):
        sources.resolve(row, name)
    workspace = prepared(row)
    (workspace.tree / "-x").write_text("x\n")
    (workspace.tree / f"{name.replace('/', '_')}").write_text("x\n")
    taken(workspace)
    for file in snapshots.changes(workspace).files:
        assert snapshots.file_diff(workspace, file.path).hunks
        snapshots.revert(workspace, file.path)
    with pytest.raises(sources.SourceError):
        snapshots.commit_branch(workspace, name, "x", "Ann", "a@example.org")
    assert not laid.mark.exists()


def test_a_branch_that_reads_like_an_option_is_a_branch(source: Path, laid: Snare) -> None:
    git(source, "update-ref", f"refs/heads/--upload-pack={laid.program}", "HEAD")
    git(source, "symbolic-ref", "HEAD", f"refs/heads/--upload-pack={laid.program}")
    row = mirrored(source)
    assert row.default_branch.startswith("--upload-pack=")
    sources.refresh(row)
    assert row.default_branch in sources.branches(row)
    assert not laid.mark.exists()


@pytest.mark.parametrize("hidden", [False, True])
def test_a_source_that_lacks_objects_makes_git_fetch_none(source: Path, laid: Snare, hidden: bool) -> None:
    """Git would get what is missing from the remote that the source names, by the program that it names."""
    workspace = prepared(mirrored(source))
    keys = {
        "core.repositoryFormatVersion": "1", "extensions.partialClone": "evil", "remote.evil.promisor": "true",
        "remote.evil.url": laid.words["{other}"], "remote.evil.uploadpack": laid.program,
    }  # fmt: skip
    place = laid.mark.with_name("included") if hidden else source / ".git" / "config"
    for key, value in keys.items():
        git(source, "config", "--file", str(place), key, value)
    if hidden:
        git(source, "config", "core.repositoryFormatVersion", "1")
        git(source, "config", "include.path", str(place))
    for blob in (source / ".git" / "objects").glob("??/*"):
        if blob.is_file() and git(source, "cat-file", "-t", blob.parent.name + blob.name) == "blob":
            blob.unlink()
    assert laid.sprung_by("git cat-file -p HEAD:calc.py", source), "plain git runs it"
    (workspace.tree / "calc.py").write_text("changed\n")
    everything_but_push(workspace)
    sources.uncommitted(workspace.repository)
    sources.refresh(workspace.repository)
    mirrored(source, "failed")
    assert not laid.mark.exists()


def everything_but_push(workspace: Workspace) -> None:
    taken(workspace)
    snapshots.commit_branch(workspace, "sakura/1-x", "x", "Ann", "a@example.org")
    with suppress(sources.SourceError):
        snapshots.push(workspace, "sakura/1-x")


def test_a_source_whose_work_tree_is_elsewhere_is_not_followed(source: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    git(source, "config", "core.worktree", str(elsewhere))
    control = Path(shutil.copytree(source, tmp_path / "control"))
    git(control, "checkout", "--quiet", "--force")
    assert (elsewhere / "calc.py").exists(), "plain git writes there"
    shutil.rmtree(elsewhere)
    elsewhere.mkdir()
    workspace = prepared(mirrored(source))
    git(source, "config", "--file", str(workspace.tree / ".git" / "config"), "core.worktree", str(elsewhere))
    (workspace.tree / "calc.py").write_text("changed\n")
    everything(workspace)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root meets folders of others that it can read")
def test_a_source_of_another_owner_is_read_and_runs_nothing(source: Path, laid: Snare) -> None:
    for trap in TRAPS:
        if not trap.files and not trap.git_files:
            laid.lay(trap, source)
    for path in (source, *source.rglob("*")):
        os.chown(path, 61001, 61001, follow_symlinks=False)
    workspace = prepared(row := mirrored(source))
    sources.uncommitted(row)
    (workspace.tree / "calc.py").write_text("changed\n")
    everything(workspace)
    assert not laid.mark.exists()
    assert {path.lstat().st_uid for path in (source / ".git").rglob("*")} == {61001}


# --- a tree that moves -------------------------------------------------------------------------------


def test_a_link_swapped_in_for_a_folder_is_not_followed(repository: Repository, tmp_path: Path) -> None:
    workspace = prepared(repository)
    secret = tmp_path / "outside"
    secret.mkdir()
    (secret / "test_calc.py").write_text("secret\n")
    (workspace.tree / "tests" / "test_calc.py").unlink()
    (workspace.tree / "tests").rmdir()
    (workspace.tree / "tests").symlink_to(secret)
    taken(workspace, "tests/test_calc.py")
    assert statuses(workspace) == {"tests/test_calc.py": "deleted"}
    taken(workspace)
    assert statuses(workspace) == {"tests": "added", "tests/test_calc.py": "deleted"}


def test_a_scan_of_a_tree_that_changes_under_it_reads_nothing_from_outside(
    repository: Repository, tmp_path: Path
) -> None:
    workspace = prepared(repository)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("the secret\n")
    place, stop = workspace.tree / "flip", threading.Event()

    def flip() -> None:
        while not stop.is_set():
            place.mkdir()
            (place / "secret").write_text("plain\n")
            subprocess.run(["rm", "-r", place], check=True)
            place.symlink_to(outside)
            place.unlink()

    thread = threading.Thread(target=flip)
    thread.start()
    deadline = time.monotonic() + 3
    try:
        while time.monotonic() < deadline:
            take(workspace)
    finally:
        stop.set()
        thread.join()
    git_store = store.ensure(repository)
    secret = store.blob_id(11, (b"the secret\n",))
    assert store.blob_sizes(git_store, [secret]) == {}


def test_a_tree_too_deep_is_cut_and_named(repository: Repository) -> None:
    workspace = prepared(repository)
    here = os.getcwd()
    os.chdir(workspace.tree)
    try:
        for _ in range(scanning.DEPTH_LIMIT + 50):
            os.mkdir("d")
            os.chdir("d")
        Path("bottom").write_text("x\n")
    finally:
        os.chdir(here)
    (workspace.tree / "x").write_text("x\n")
    snapshot = taken(workspace)
    assert statuses(workspace) == {"x": "added"}
    assert "folders deep" in snapshot.skipped[0]["why"]


def is_gone(pid: int) -> bool:
    """Whether the process ends within two seconds; one that only waits to be reaped has."""
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False


# --- bounds ------------------------------------------------------------------------------------------


def test_a_git_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    started = time.monotonic()
    pid_file = tmp_path / "pid"
    with pytest.raises(GitTimeout):
        Git(None).run("-c", f"alias.hang=!echo $$ > {pid_file}; sleep 60; true", "hang", timeout_s=1)
    assert time.monotonic() - started < 5
    assert is_gone(int(pid_file.read_text()))


def test_a_git_that_is_stopped_ends_within_a_second() -> None:
    started = time.monotonic()
    with pytest.raises(GitStopped):
        Git(None).run_within(
            Bounds(stop=lambda: time.monotonic() - started > 0.1), "-c", "alias.hang=!sleep 60", "hang"
        )
    assert time.monotonic() - started < 2


def test_a_git_that_says_too_much_is_ended() -> None:
    with pytest.raises(GitFull):
        Git(None).run("-c", "alias.yes=!yes", "yes", limit_bytes=100_000)


def test_a_git_that_fails_says_so_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(GitError) as error:
        make_bare(tmp_path / "x.git").run("cat-file", "blob", "0" * 40)
    assert str(error.value).startswith("git cat-file failed: ")
    assert error.value.args_shown == f"git cat-file blob {'0' * 40}"
    assert error.value.stderr
