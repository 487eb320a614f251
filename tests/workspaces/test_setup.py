"""Set-up runs once per key, is seen by every run of that key, and leaves nothing when it fails."""

import importlib
import json
import os
import platform
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings

from tests.workspaces.opened import SECRET, knowing, parts
from workspaces import setup
from workspaces.models import Repository, Workspace
from workspaces.sandbox import Limits, Outcome, Place, Tree, own, probe, run_command, worker_uid
from workspaces.sandbox.layers import Made
from workspaces.sandbox.removal import remove

pytestmark = pytest.mark.django_db(transaction=True)

MAKE_TOOL = """\
mkdir -p .venv/bin lib/made ~/.cache/index
printf '#!/bin/sh\\necho tool %s\\n' "$(cat version)" > .venv/bin/tool
chmod +x .venv/bin/tool
echo x > lib/made/part; echo cached > ~/.cache/index/file; echo setting > ~/.toolrc
"""


def _git(folder: Path, *words: str) -> str:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    env |= {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return subprocess.run(
        ["git", *words], cwd=folder, env=env, check=True, capture_output=True, text=True
    ).stdout.strip()


class Project:
    """A repository with its mirror and as many workspaces as a test asks for."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "source"
        self.source.mkdir()
        _git(self.source, "init", "--quiet", "--initial-branch=main")
        self.repository = Repository.objects.create(name="tool", source=str(self.source), default_branch="main")
        self.commit(version="one", lib={"kept": "x"}, lock="a")

    def commit(self, *, version: str, lib: dict[str, str], lock: str, **files: str) -> str:
        (self.source / "lib").mkdir(exist_ok=True)
        told = {
            "version": version,
            "requirements.txt": lock,
            **{f"lib/{name}": text for name, text in lib.items()},
            **files,
        }
        for name, text in told.items():
            (self.source / name).write_text(text)
        _git(self.source, "add", "--all")
        _git(self.source, "commit", "--quiet", "--allow-empty", "-m", "Change")
        shutil.rmtree(self.repository.mirror, ignore_errors=True)
        self.repository.folder.mkdir(parents=True, exist_ok=True)
        _git(self.source, "clone", "--quiet", "--mirror", str(self.source), str(self.repository.mirror))
        return _git(self.source, "rev-parse", "HEAD")

    def workspace(self, number: int, base: str = "") -> Workspace:
        base = base or _git(self.source, "rev-parse", "HEAD")
        made = Workspace.objects.create(
            id=number, repository=self.repository, base_name="main", base_commit=base, epoch=1
        )
        for folder in (made.tree, made.home, made.outputs):
            folder.mkdir(parents=True)
            own(folder, worker_uid(number))
        return made

    def set_up_with(self, *commands: str, hosts: tuple[str, ...] = ()) -> None:
        self.repository.setup, self.repository.setup_hosts = list(commands), list(hosts)
        self.repository.save()


@pytest.fixture
def folder(settings: Any, request: pytest.FixtureRequest) -> Iterator[Path]:
    path = Path(django_settings.SAKURA_DATA_DIR) / f"setup-{abs(hash(request.node.name)):x}"
    path.mkdir(parents=True)
    settings.SAKURA_DATA_DIR = path
    settings.SAKURA_RUNS_DIR = path / "runs"
    yield path
    remove(path)
    assert not path.exists()


@pytest.fixture
def project(folder: Path) -> Project:
    if probe().level != "full":
        pytest.skip(f"no sandbox here: {probe().reasons}")
    return Project(folder)


def _ensure(workspace: Workspace, said: list[str] | None = None) -> Path | None:
    return setup.ensure(workspace, (said if said is not None else []).append, threading.Event())


def _run(workspace: Workspace, environment: Path | None, command: str, mode: Tree = Tree.WRITE) -> tuple[Outcome, str]:
    place = Place(workspace.tree, workspace.home, mode, uid=worker_uid(workspace.pk), environment=environment)
    spool = workspace.outputs / "spool"
    outcome = run_command(
        command,
        place,
        Limits(timeout_s=30),
        spool=spool,
        on_bytes=lambda data: None,
        cancelled=threading.Event(),
        on_start=lambda pid, started: None,
    )
    return outcome, spool.read_text()


def test_without_commands_there_is_no_environment(project: Project) -> None:
    assert _ensure(project.workspace(1)) is None


def test_what_set_up_made_is_there_in_every_run(project: Project) -> None:
    project.set_up_with(MAKE_TOOL)
    for number in (1, 2):
        workspace = project.workspace(number)
        environment = _ensure(workspace)
        outcome, output = _run(workspace, environment, "tool; cat ~/.cache/index/file ~/.toolrc; echo $VIRTUAL_ENV")
        assert output == "tool one\ncached\nsetting\n/workspace/.venv\n", outcome


def test_only_what_the_base_does_not_have_is_kept(project: Project) -> None:
    project.set_up_with(f"{MAKE_TOOL} mkdir __pycache__; echo more >> lib/kept; ln -s /etc away")
    environment = _ensure(project.workspace(1))
    assert Made.read(environment) == Made(tree=[".venv", "lib/made"], home=[".cache", ".toolrc"])


def test_set_up_runs_once_for_all_who_wait_for_it(project: Project) -> None:
    project.set_up_with("sleep 0.5; mkdir .venv; echo once")
    workspaces = [project.workspace(number) for number in (1, 2, 3)]
    said: list[str] = []
    found: list[Path | None] = []
    threads = [threading.Thread(target=lambda one=one: found.append(_ensure(one, said))) for one in workspaces]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 3
    assert said.count("once\n") == 1
    assert any("Waiting" in text for text in said)


def test_writes_to_it_stay_within_their_run(project: Project) -> None:
    project.set_up_with(MAKE_TOOL)
    first, second = project.workspace(1), project.workspace(2)
    of_first, of_second = _ensure(first), _ensure(second)
    _run(first, of_first, "echo mine > .venv/mine; echo changed > .venv/bin/tool; rm ~/.cache/index/file")
    assert _run(first, of_first, "cat .venv/mine .venv/bin/tool; ls ~/.cache/index")[1] == "mine\nchanged\n"
    assert _run(second, of_second, "ls .venv; tool; cat ~/.cache/index/file")[1] == "bin\ntool one\ncached\n"


@pytest.mark.parametrize("mode", [Tree.READ, Tree.OVERLAY])
def test_a_look_at_the_tree_leaves_nothing_in_it(project: Project, mode: Tree) -> None:
    project.set_up_with(MAKE_TOOL)
    workspace = project.workspace(1)
    environment = _ensure(workspace)
    assert (
        _run(workspace, environment, "tool && echo more > .venv/more && ls .venv", mode)[1] == "tool one\nbin\nmore\n"
    )
    assert _run(workspace, environment, "ls .venv", mode)[1] == "bin\n"


def test_without_overlays_it_is_there_to_read(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.set_up_with(MAKE_TOOL)
    workspace = project.workspace(1)
    environment = _ensure(workspace)
    monkeypatch.setattr(
        importlib.import_module("workspaces.sandbox.probe"), "_overlay_works", lambda wall, place: False
    )
    probe(fresh=True)
    outcome, output = _run(workspace, environment, "tool; touch .venv/new && echo written")
    assert output.startswith("tool one\n")
    assert "written" not in output
    assert any("read-only" in note for note in outcome.applied["notes"])
    monkeypatch.undo()
    probe(fresh=True)


def test_what_the_run_put_in_its_place_is_left_alone(project: Project) -> None:
    project.set_up_with(MAKE_TOOL)
    workspace = project.workspace(1)
    environment = _ensure(workspace)
    (workspace.tree / ".venv").symlink_to("/etc")
    outcome, output = _run(workspace, environment, "readlink .venv")
    assert output == "/etc\n"
    assert any(".venv" in note for note in outcome.applied["notes"])


def test_two_commands_at_once_do_not_share_a_layer(project: Project) -> None:
    project.set_up_with(MAKE_TOOL)
    workspace = project.workspace(1)
    environment = _ensure(workspace)
    slow = threading.Thread(
        target=_run, args=(workspace, environment, "touch up; while [ ! -e done ]; do sleep 0.05; done")
    )
    slow.start()
    while slow.is_alive() and not (workspace.tree / "up").exists():
        slow.join(0.02)
    place = Place(workspace.tree, workspace.home, uid=worker_uid(1), environment=environment)
    outcome = run_command(
        "tool; touch done",
        place,
        Limits(timeout_s=30),
        spool=workspace.outputs / "other",
        on_bytes=lambda data: None,
        cancelled=threading.Event(),
        on_start=lambda pid, started: None,
    )
    slow.join(30)
    assert outcome.exit_code == 0
    assert any("thrown away" in note for note in outcome.applied["notes"])


@contextmanager
def running_on(workspace: Workspace, environment: Path | None, command: str, *, runs_on: bool = True) -> Iterator[None]:
    """Let a command run meanwhile, as one in the background does, until it finds the file `done`."""
    place = Place(workspace.tree, workspace.home, uid=worker_uid(1), environment=environment, runs_on=runs_on)
    arguments: dict[str, Any] = {
        "spool": workspace.outputs / "background",
        "on_bytes": lambda data: None,
        "cancelled": threading.Event(),
        "on_start": lambda pid, started: None,
    }
    thread = threading.Thread(target=run_command, args=(command, place, Limits(timeout_s=60)), kwargs=arguments)
    thread.start()
    try:
        while thread.is_alive() and not (workspace.tree / "up").exists():
            thread.join(0.02)
        yield
    finally:
        (workspace.tree / "done").touch()
        thread.join(30)


def with_lib(project: Project) -> tuple[Workspace, Path | None]:
    project.set_up_with(MAKE_TOOL)
    workspace = project.workspace(1)
    (workspace.tree / "lib").mkdir()
    own(workspace.tree, worker_uid(1))
    return workspace, _ensure(workspace)


WAIT = "touch up; while [ ! -e done ]; do sleep 0.05; done"


def test_a_command_in_the_background_can_not_move_what_leads_to_set_up_s_folders(project: Project) -> None:
    workspace, environment = with_lib(project)
    with running_on(workspace, environment, f"mv lib other 2> said; ls lib > listed; {WAIT}"):
        outcome, output = _run(workspace, environment, "ls lib/made; mv lib other && ls other/made && mv other lib")
        assert not [note for note in outcome.applied["notes"] if "not mounted" in note]
        assert output == "part\npart\n"
    assert "busy" in (workspace.tree / "said").read_text()
    assert "made" in (workspace.tree / "listed").read_text()


def test_beside_one_that_does_not_hold_a_folder_set_up_s_is_not_mounted_there(project: Project) -> None:
    workspace, environment = with_lib(project)
    with running_on(workspace, environment, WAIT):
        _run(workspace, environment, "mv lib old; mkdir lib")
        outcome, output = _run(workspace, environment, "ls lib/made; tool")
        assert output == "tool one\n"
        assert "lib/made of set-up is not mounted: a command in the background may move it" in outcome.applied["notes"]
    assert _run(workspace, environment, "ls lib/made")[1] == "part\n"


SWAP = """
import ctypes, os
libc = ctypes.CDLL(None)
os.symlink("/oldroot{outside}", "link")
open("up", "w").close()
while not os.path.exists("done"):
    libc.syscall(316, -100, b"lib", -100, b"link", 2)  # renameat2, to exchange the two
    for _ in range(20000): pass
"""


@pytest.mark.parametrize("runs_on", [True, False], ids=["as in the background", "the control"])
def test_no_folder_is_made_on_the_machine_through_a_link_that_is_swapped_in(
    project: Project, folder: Path, runs_on: bool
) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("the number of renameat2 is another one here")
    workspace, environment = with_lib(project)
    outside = folder / "outside"
    outside.mkdir()
    own(outside, worker_uid(1))
    (workspace.tree / "swap.py").write_text(SWAP.format(outside=outside))
    with running_on(workspace, environment, "/usr/bin/python3 swap.py", runs_on=runs_on):
        for _ in range(30 if runs_on else 300):
            _run(workspace, environment, "true")
            if os.listdir(outside):
                break
    assert os.listdir(outside) == ([] if runs_on else ["made"])


def test_a_failed_set_up_leaves_nothing_and_says_what_failed(project: Project) -> None:
    project.set_up_with("mkdir .venv", "echo wrong version >&2; exit 4")
    with pytest.raises(setup.SetupFailed) as raised:
        _ensure(project.workspace(1))
    assert "exit code 4" in raised.value.message
    assert "wrong version" in raised.value.output_tail
    assert [path.name for path in (project.repository.folder / "env").iterdir() if path.is_dir()] == []


def test_the_end_of_what_a_failed_set_up_printed_begins_with_no_half_of_a_secret(project: Project) -> None:
    project.set_up_with(f"printf '%s%s%0{setup.TAIL_BYTES - 20}d' x '{SECRET}' 0; exit 4")
    for known in ((), (SECRET,)):
        with knowing(*known), pytest.raises(setup.SetupFailed) as raised:
            _ensure(project.workspace(1 + len(known)))
        assert len(raised.value.output_tail) == setup.TAIL_BYTES
        assert bool(parts(raised.value.output_tail)) == (not known)


def test_a_missing_program_is_named(project: Project) -> None:
    project.set_up_with("no-such-program sync")
    with pytest.raises(setup.SetupFailed, match="no-such-program is not installed"):
        _ensure(project.workspace(1))


def test_a_host_that_was_refused_is_named(project: Project) -> None:
    fetch = "python3 -c \"import urllib.request as u; u.urlopen('http://index.example/')\""
    project.set_up_with(fetch, hosts=("other.example:443",))
    with pytest.raises(setup.SetupFailed, match=r"index\.example:80"):
        _ensure(project.workspace(1))


def test_a_cancel_ends_set_up(project: Project) -> None:
    project.set_up_with("echo up; sleep 600")
    cancelled = threading.Event()
    with pytest.raises(setup.SetupFailed, match="cancelled"):
        setup.ensure(project.workspace(1), lambda text: cancelled.set() if "up" in text else None, cancelled)


def test_the_key_follows_commands_and_lock_files_only(project: Project) -> None:
    project.set_up_with("sh install")
    first = project.workspace(1)
    other_code = project.workspace(2, project.commit(version="two", lib={}, lock="a"))
    other_lock = project.workspace(3, project.commit(version="two", lib={}, lock="b"))
    script = project.workspace(4, project.commit(version="two", lib={}, lock="b", install="echo"))
    keys = [setup.key(one) for one in (first, other_code, other_lock, script)]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    project.set_up_with("sh install", "more")
    first.refresh_from_db()
    assert setup.key(Workspace.objects.get(pk=1)) != keys[0]


def test_folders_that_a_package_manager_closed_can_be_removed(project: Project) -> None:
    project.set_up_with("mkdir -p ~/go/mod/x && touch ~/go/mod/x/f && chmod -R a-w ~/go && mkdir .venv && exit 3")
    with pytest.raises(setup.SetupFailed):
        _ensure(project.workspace(1))
    assert [path.name for path in (project.repository.folder / "env").iterdir() if path.is_dir()] == []


def test_git_knows_the_base_during_set_up(project: Project) -> None:
    project.set_up_with("git log --oneline | grep -q Change && git status --porcelain | wc -l")
    said: list[str] = []
    _ensure(project.workspace(1), said)
    assert said[-1] == "0\n"


def test_without_a_sandbox_set_up_runs_in_the_tree_once(project: Project, settings: Any) -> None:
    settings.SAKURA_SANDBOX = "off"
    project.set_up_with("echo once >> made")
    workspace = project.workspace(1)
    for _ in range(2):
        assert _ensure(workspace) is None
    assert (workspace.tree / "made").read_text() == "once\n"


@pytest.mark.parametrize(
    ("output", "name"),
    [
        ("/bin/bash: line 1: cargo: command not found\n", "cargo"),
        ("sh: 1: node: not found\n", "node"),
        ("make: npm: No such file or directory\n", None),
        ("all is well\n", None),
    ],
)
def test_the_missing_program_is_read_from_what_the_shell_said(output: str, name: str | None) -> None:
    assert setup.missing_program(output) == name


def _suggested(project: Project, **files: str) -> dict[str, Any]:
    names = {name.replace("__", "/"): text for name, text in files.items()}
    for name in ("requirements.txt", "version", "lib"):
        _git(project.source, "rm", "-rq", name)
    for name, text in names.items():
        (project.source / name).parent.mkdir(exist_ok=True)
        (project.source / name).write_text(text)
    _git(project.source, "add", "--all")
    _git(project.source, "commit", "--quiet", "-m", "Files")
    shutil.rmtree(project.repository.mirror)
    _git(project.source, "clone", "--quiet", "--mirror", str(project.source), str(project.repository.mirror))
    return setup.suggest(project.repository)


def test_a_python_project_is_set_up_in_a_virtual_environment(project: Project) -> None:
    pyproject = '[project]\nname = "x"\n[project.optional-dependencies]\ndev = ["pytest"]\n[tool.pytest.ini_options]\n'
    found = _suggested(
        project, **{"pyproject.toml": pyproject, "requirements.txt": "--index-url https://u:p@index.example/simple\n"}
    )
    [command] = found["setup"]
    assert command["command"] == "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt -e '.[dev]'"
    assert "pyproject.toml" in command["because"]
    assert found["verify"][0]["command"] == "python3 -m pytest -q"
    assert found["hosts"] == [{"host": "index.example:443", "because": "requirements.txt names it"}]


def test_a_node_project_is_set_up_from_its_lock_file(project: Project) -> None:
    package = json.dumps({"scripts": {"test": "node --test"}, "dependencies": {"a": "1"}})
    lock = json.dumps({"packages": {"node_modules/a": {"resolved": "https://packages.example:8443/a.tgz"}}})
    found = _suggested(project, **{"package.json": package, "package-lock.json": lock})
    assert [one["command"] for one in found["setup"]] == ["npm ci"]
    assert [one["command"] for one in found["verify"]] == ["npm run test"]
    assert [one["host"] for one in found["hosts"]] == ["packages.example:8443"]


def test_where_no_file_names_a_host_the_person_is_asked_to(project: Project) -> None:
    found = _suggested(project, **{"go.mod": "module x\n", "Makefile": "test: build\n\tgo test ./...\n"})
    assert found["hosts"] == []
    assert "host:port" in found["notes"][0]
    assert [one["command"] for one in found["verify"]] == ["make test"]


def test_a_project_without_manifests_gets_no_proposal(project: Project) -> None:
    found = _suggested(project, readme="text")
    assert found == {"setup": [], "verify": [], "hosts": [], "notes": []}
