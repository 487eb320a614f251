"""Folders in folders far beyond what Python, the kernel and git follow: nothing breaks, leaks, stays or is hidden."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.tools.bench import Bench
from tests.conftest import git
from tests.workspaces.places import DEEP, dig, few_descriptors, mirrored, prepared, statuses, take, taken
from workspaces import fresh, scanning, snapshots, store, tidying, trees
from workspaces.models import Repository
from workspaces.sandbox.identity import own, worker_uid
from workspaces.scanning import DEPTH_LIMIT, PATH_LIMIT

pytestmark = pytest.mark.django_db


@pytest.fixture
def bench(source: Path) -> Iterator[Bench]:
    """An agent at a base that has rules, so that each new folder is asked for."""
    (source / ".gitignore").write_text("*.log\n")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "rules")
    agent = Bench(prepared(mirrored(source)))
    yield agent
    subprocess.run(["rm", "-rf", "--", str(agent.workspace.folder)], check=True)  # pytest could not


def digging(top: str, lengths: list[int]) -> str:
    """Return a command that makes folders with names this long, each in the one before, and a file in the last."""
    return f"""mkdir {top}; cd {top}; python3 -c '
import os
for length in {lengths}:
    os.mkdir("d" * length)
    os.chdir("d" * length)
open("evil", "w").write("evil")
'"""


SHAPES = {
    "just too deep": [1] * DEPTH_LIMIT,
    "as deep as no path goes": [1] * DEEP,
    "names as long as they may be": [255] * 30,
    "a path that is just too long": [250] * (PATH_LIMIT // 251) + [PATH_LIMIT % 251],
    "a file whose path alone is too long": [250] * (PATH_LIMIT // 251) + [PATH_LIMIT % 251 - len("top/")],
}


@pytest.mark.parametrize("lengths", SHAPES.values(), ids=SHAPES)
def test_every_tool_works_beside_folders_of_any_depth(lengths: list[int], bench: Bench) -> None:
    assert bench.call("run_command", command=f"{digging('top', lengths)}").data["exit_code"] == 0
    before = len(os.listdir("/proc/self/fd"))
    for name, arguments in (
        ("list_directory", {"recursive": True}),
        ("list_directory", {"path": "top", "recursive": True}),
        ("glob", {"pattern": "**/evil"}),
        ("search_in_files", {"pattern": "evil"}),
        ("check_changes", {}),
        ("detect_project", {}),
        ("run_command", {"command": "echo x >> calc.py; git status"}),
        ("revert_file", {"file_path": "calc.py", "to": 0}),
        ("write_file", {"file_path": "top/beside", "content": "x"}),
    ):
        result = bench.call(name, **arguments)
        assert not result.is_error, (name, result.content)
    assert statuses(bench.workspace) == {"top/beside": "added"}
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.parametrize("lengths", SHAPES.values(), ids=SHAPES)
def test_what_lies_too_deep_is_named_as_left_out_and_all_trees_can_be_made_and_removed(
    lengths: list[int], bench: Bench
) -> None:
    workspace = bench.workspace
    bench.call("run_command", command=f"{digging('top', lengths)}; cd; {digging('top', lengths)}")
    bench.call("run_command", command="echo x > a")
    (left_out,) = store.latest(workspace).skipped
    assert left_out["path"].startswith("top/d")
    assert "folders deep" in left_out["why"]
    assert statuses(workspace) == {"a": "added"}
    laid_out = fresh.lay_out(workspace, store.latest(workspace).tree, "review")
    assert (laid_out.tree / "a").exists()
    assert snapshots.align(workspace) == []
    snapshots.prepare(workspace)
    assert sorted(os.listdir(bench.tree)) == [".git", ".gitignore", "README.md", "a", "calc.py", "tests"]
    bench.call("run_command", command=digging("again", lengths))
    own(bench.tree, worker_uid(workspace.pk))
    tidying.forget_tree(workspace)
    assert not {"home", "fresh", "e1"} & set(os.listdir(workspace.folder))


def test_what_would_be_lost_in_a_folder_is_found_at_any_depth(bench: Bench) -> None:
    bench.call("run_command", command=f"rm calc.py; {digging('calc.py', [1] * DEEP)}")
    refused = bench.call("revert_file", file_path="calc.py")
    assert refused.code == "IS_DIRECTORY", refused.content
    assert len(refused.content) < 100_000
    bench.call("run_command", command="rm -rf calc.py; mkdir calc.py")
    dig(bench.tree / "calc.py", DEEP)
    subprocess.run(["find", bench.tree / "calc.py", "-name", "last", "-delete"], check=True)
    trees.remove_empty(bench.tree, b"calc.py")
    assert not (bench.tree / "calc.py").exists()


@pytest.mark.parametrize("depth", [DEPTH_LIMIT + 50, 1500])
def test_a_base_that_is_too_deep_is_laid_out_and_nothing_in_it_is_called_deleted(depth: int, source: Path) -> None:
    dig(source, depth)
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "deep")
    bench = Bench(prepared(mirrored(source)))
    bench.call("run_command", command="echo x > a")
    assert statuses(bench.workspace) == {"a": "added"}
    assert [each["path"] for each in store.latest(bench.workspace).skipped] == ["/".join("d" * (DEPTH_LIMIT + 1))]
    bench.call("run_command", command="rm -r d")
    assert statuses(bench.workspace) == {"a": "added", "/".join("d" * depth) + "/last": "deleted"}
    subprocess.run(["rm", "-rf", "--", str(source), str(bench.workspace.folder)], check=True)


def test_a_look_at_a_deep_tree_takes_few_descriptors_and_frames(repository: Repository) -> None:
    workspace = prepared(repository)
    for number in range(3):
        dig(workspace.tree / f"top{number}", DEPTH_LIMIT - 1)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    try:
        with few_descriptors(300):  # 200 of them to make what was found durable
            taken(workspace)
            assert take(workspace) is None
    finally:
        sys.setrecursionlimit(limit)
    assert len(statuses(workspace)) == 3


def test_a_folder_that_goes_while_the_walk_is_deep_in_it_is_gone(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = prepared(repository)
    dig(workspace.tree / "top", 100)
    for name in ("a", "b"):
        dig(workspace.tree / "top" / "d" / name, 50)
    real = scanning.Scan._ask
    moved: list[bytes] = []

    def ask(scan: scanning.Scan, path: bytes, handle: int) -> None:
        real(scan, path, handle)
        if path.endswith(b"last") and not moved:
            moved.append(path)
            (workspace.tree / "top").rename(workspace.home / "top")

    monkeypatch.setattr(scanning.Scan, "_ask", ask)
    take(workspace)
    assert moved
    take(workspace)
    assert statuses(workspace) == {}
