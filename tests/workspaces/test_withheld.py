"""What a policy hides of a base is in no tree of its agents, and stays as it was, whatever they put in its place."""

import os
import unicodedata
from pathlib import Path

import pytest

from agents import policies, policy
from agents.models import Policy
from tests.agents.tools.bench import Bench
from tests.conftest import git
from tests.workspaces.places import hide, mirrored, statuses, taken
from workspaces import fresh, restoring, snapshots, sources, store, withheld
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db

HIDDEN = ["customers/**", "*.key", "lone"]
BASE = ("calc.py", "customers/acme.txt", "customers/list/all.txt", "app/plan.key", "app/main.py", "lone/a", "README.md")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    for name in BASE:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{name} as it was\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "First")
    return folder


@pytest.fixture
def bench(source: Path) -> Bench:
    row = mirrored(source)
    workspace = Workspace.objects.create(
        pk=1, repository=row, base_name="main", base_commit=sources.resolve(row, "main"), epoch=1
    )
    hide(workspace, HIDDEN)
    snapshots.prepare(workspace)
    return Bench(workspace, policy=Policy(hidden=HIDDEN))


def run(bench: Bench, command: str) -> str:
    result = bench.call("run_command", command=command)
    assert result.data["exit_code"] == 0, result.content
    return result.content


def files(tree: Path) -> list[str]:
    return sorted(
        str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file() and ".git" not in path.parts
    )


def kept(bench: Bench) -> dict[bytes, store.TreeEntry]:
    """Return what the latest snapshot has of what is hidden."""
    git_store = store.ensure(bench.workspace.repository)
    found = store.listing(git_store, store.latest(bench.workspace).tree)
    return {path: entry for path, entry in found.items() if path in hidden_paths(bench)}


def base(bench: Bench) -> dict[bytes, store.TreeEntry]:
    found = store.listing(store.ensure(bench.workspace.repository), store.at(bench.workspace, 0).tree)
    return {path: found[path] for path in hidden_paths(bench)}


def hidden_paths(bench: Bench) -> frozenset[bytes]:
    git_store = store.ensure(bench.workspace.repository)
    return withheld.among(git_store, bench.workspace, store.listing(git_store, store.at(bench.workspace, 0).tree))


def test_it_is_in_no_tree_that_is_laid_out(bench: Bench) -> None:
    shown = ["README.md", "app/main.py", "calc.py"]
    assert files(bench.tree) == shown
    assert files(fresh.lay_out(bench.workspace, store.latest(bench.workspace).tree, "review").tree) == shown
    bench.write("new.txt", "x\n")
    taken(bench.workspace)
    bench.workspace.epoch = 2
    bench.workspace.save()
    snapshots.prepare(bench.workspace)
    assert files(bench.tree) == ["README.md", "app/main.py", "calc.py", "new.txt"]


def test_snapshots_and_the_branch_carry_it_on(bench: Bench) -> None:
    run(bench, "true")
    assert store.latest(bench.workspace).number == 0
    run(bench, "echo x > new.txt; sed -i s/was/is/ calc.py")
    bench.call("write_file", file_path="app/more.py", content="x\n")
    assert statuses(bench.workspace) == {"new.txt": "added", "calc.py": "modified", "app/more.py": "added"}
    assert kept(bench) == base(bench)
    assert len(base(bench)) == 4


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("mkdir customers; echo mine > customers/acme.txt", "customers/acme.txt"),
        ("mkdir -p customers/acme.txt/deep; echo mine > customers/acme.txt/deep/a", "customers/acme.txt"),
        ("echo mine > customers", "customers"),
        ("ln -s app customers", "customers"),
        ("ln -s ../calc.py app/plan.key", "app/plan.key"),
        ("mkdir customers; echo mine > customers/list", "customers/list"),
        ("echo mine > lone", "lone"),
    ],
)
def test_what_is_put_in_its_place_is_named_and_changes_nothing(bench: Bench, command: str, path: str) -> None:
    run(bench, command)
    assert statuses(bench.workspace) == {}
    assert kept(bench) == base(bench)
    (left_out,) = store.latest(bench.workspace).skipped
    assert left_out["path"] == path
    assert "the policy hides what the base has" in left_out["why"]
    bench.write("app/main.py", "changed\n")
    taken(bench.workspace, "app/main.py", path)
    assert kept(bench) == base(bench)
    assert [row["path"] for row in store.latest(bench.workspace).skipped] == [path]


def test_what_an_earlier_rule_allows_is_there_though_a_later_one_hides_its_folder(bench: Bench) -> None:
    rules = ["allow path:customers/acme.txt", "deny effect:READ path:customers/**"]
    withheld.hide(bench.workspace, policy.withholding(policies.of_task(Policy(rules=rules))))
    bench.workspace.save()
    snapshots.prepare(bench.workspace)
    assert "customers/acme.txt" in files(bench.tree)
    assert "customers/list/all.txt" not in files(bench.tree)
    run(bench, "echo mine > customers/acme.txt")
    assert statuses(bench.workspace) == {"customers/acme.txt": "modified"}


def test_protected_files_are_put_back_though_a_file_stands_where_their_folder_hides_something(bench: Bench) -> None:
    run(bench, "rm -r app; echo x > app")
    assert statuses(bench.workspace) == {"app/main.py": "deleted"}
    restored = restoring.restore(bench.workspace, {b"app/main.py": base_entry(bench, b"app/main.py")}, 1)
    assert restored.left == {}
    assert statuses(bench.workspace) == {}
    assert (bench.tree / "app" / "main.py").exists()


def base_entry(bench: Bench, path: bytes) -> store.TreeEntry:
    found = store.entry(store.ensure(bench.workspace.repository), store.at(bench.workspace, 0).tree, path)
    assert found is not None
    return found


def test_a_new_file_that_the_globs_fit_is_a_change_like_any_other(bench: Bench) -> None:
    run(bench, "mkdir customers; echo mine > customers/new.txt; echo mine > own.key")
    assert statuses(bench.workspace) == {"customers/new.txt": "added", "own.key": "added"}


def test_the_folder_beside_it_can_be_moved_away_and_its_own_files_go_along(bench: Bench) -> None:
    assert "plan" not in run(bench, "mv app .git/app; ls -A .git/app")
    assert statuses(bench.workspace) == {"app/main.py": "deleted"}
    assert kept(bench) == base(bench)


def test_no_tool_shows_it_or_writes_there(bench: Bench) -> None:
    run(bench, "mkdir customers; echo mine > customers/new.txt")
    calls = [
        ("read_file", {"file_path": "app/plan.key"}),
        ("read_file", {"file_path": "customers/acme.txt"}),
        ("write_file", {"file_path": "customers/acme.txt", "content": "x\n"}),
        ("revert_file", {"file_path": "app/plan.key"}),
        ("search_in_files", {"pattern": "as it was", "output_mode": "content"}),
        ("glob", {"pattern": "**/*"}),
        ("list_directory", {"recursive": True}),
        ("check_changes", {"mode": "full"}),
        ("detect_project", {}),
    ]
    said = {name: bench.give(name, arguments).content for name, arguments in calls}
    assert all("plan.key as" not in text and "acme.txt as" not in text for text in said.values())
    assert "hides" in said["revert_file"]
    assert "acme" not in said["list_directory"] + said["glob"] + said["search_in_files"]


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("d/?.txt", b"d/\xff.txt"),
        ("d/\\\\xff.txt", b"d/\xff.txt"),
        ("café/**", unicodedata.normalize("NFD", "café/menu").encode()),
        (unicodedata.normalize("NFD", "café/**"), "café/menu".encode()),
        ("Secret/**", b"sECRET/a"),
        ("a b", b"a b"),
        ("*", b"odd\nname"),
    ],
    ids=repr,
)
def test_a_path_is_hidden_in_whatever_form_the_glob_fits_it(glob: str, path: bytes) -> None:
    hides = policy.withholding(policies.of_task(Policy(hidden=[glob])))
    assert hides is not None
    assert hides(path)


def test_names_that_are_not_utf8_are_hidden_in_the_tree(source: Path) -> None:
    folder = os.path.join(os.fsencode(source), b"d")
    os.mkdir(folder)
    with open(os.path.join(folder, b"\xff.txt"), "wb") as file:
        file.write(b"secret\n")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "Second")
    row = mirrored(source)
    workspace = Workspace.objects.create(
        pk=2, repository=row, base_name="main", base_commit=sources.resolve(row, "main"), epoch=1
    )
    hide(workspace, ["d/?.txt"])
    snapshots.prepare(workspace)
    assert not os.path.lexists(os.path.join(os.fsencode(workspace.tree), b"d"))
