"""What an agent's git may read where a policy hides paths: ordinary work goes on, and what is hidden is not there."""

from pathlib import Path

import pytest

from agents.models import Policy
from tests.agents.tools.bench import Bench
from tests.conftest import git
from tests.workspaces.places import hide, mirrored, prepared, taken
from workspaces import readable, snapshots, sources, tidying
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db

FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "README.md": "# calc\n",
    "customers/acme.txt": "Acme pays late.\n",
    "customers/list/all.txt": "Acme, Busch.\n",
    "Notes #1.KEY": "4711\n",
    "same.txt": "shared\n",
    "customers/same.txt": "shared\n",
}
HIDDEN = ("customers/**", "*.key")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "plan.key").write_text("0815\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "Earlier")
    (folder / "plan.key").unlink()
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "Now\n\nWith a body.")
    return folder


def at(source: Path, *hidden: str) -> Bench:
    row = mirrored(source)
    workspace = Workspace.objects.create(
        pk=1, repository=row, base_name="main", base_commit=sources.resolve(row, "main"), epoch=1
    )
    hide(workspace, list(hidden))
    snapshots.prepare(workspace)
    return Bench(workspace, policy=Policy(hidden=list(hidden)))


def said(bench: Bench, command: str) -> str:
    result = bench.call("run_command", command=command)
    assert result.data["exit_code"] == 0, result.content
    return result.content


def test_git_begins_clean_at_one_commit_with_the_words_of_the_base(source: Path) -> None:
    bench = at(source, *HIDDEN)
    assert said(bench, "git status --porcelain --untracked-files=all").startswith("(no output)")
    assert said(bench, "git ls-files").splitlines()[:3] == ["README.md", "calc.py", "same.txt"]
    told = said(
        bench, "git log --all --format='%an %ae %ad %s|%b' --date=raw; git rev-list --all --count; git fsck --strict"
    )
    assert git(source, "log", "-1", "--format=%an %ae %ad %s|%b", "--date=raw") in told
    assert "\n1\n" in told


def test_ordinary_work_with_git_goes_on(source: Path) -> None:
    bench = at(source, *HIDDEN)
    edit = "sed -i 's/a - b/a + b/' calc.py"
    assert "a + b" in said(bench, f"{edit}; git diff")
    assert said(bench, "git stash && git status --short && git stash pop").count("calc.py") == 1
    work = "git add -A && git commit -qm Mend && git checkout -qb side HEAD~1 && echo x > new && git add new && "
    assert "1\n" in said(bench, work + "git commit -qm New && git rebase -q sakura/work && git rev-list --count HEAD~2")
    assert "calc.py | 2 +-" in said(bench, "git show --stat HEAD~1")
    taken_paths = [file.path for file in snapshots.changes(bench.workspace).files]
    assert taken_paths == ["calc.py", "new"]


def test_what_is_at_a_path_that_is_shown_can_be_read_from_git_as_ever(source: Path) -> None:
    bench = at(source, *HIDDEN)
    assert "shared" in said(bench, "git show HEAD:same.txt")


def test_all_of_a_base_can_be_hidden(source: Path) -> None:
    bench = at(source, "**")
    assert readable.of(bench.workspace).tree == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def test_globs_that_fit_nothing_at_the_base_still_leave_the_history_out(source: Path) -> None:
    bench = at(source, "plan.key")
    everything = said(bench, "git cat-file --batch-all-objects --batch")
    assert "Acme pays late" in everything
    assert "0815" not in everything


def test_it_is_made_once_and_anew_where_a_crash_left_half(source: Path) -> None:
    bench = at(source, *HIDDEN)
    known = readable.of(bench.workspace)
    (pack,) = (known.objects / "pack").glob("*.pack")
    before = pack.stat().st_ino
    assert readable.of(bench.workspace) == known
    assert pack.stat().st_ino == before
    (known.objects.parent / "about.json").write_text("")
    pack.unlink()
    assert readable.of(bench.workspace) == known
    assert pack.exists()
    assert len(list(bench.workspace.readable.iterdir())) == 1


def test_other_globs_are_answered_by_another_pack(source: Path) -> None:
    bench = at(source, *HIDDEN)
    first = readable.of(bench.workspace)
    hide(bench.workspace, ["README.md"])
    assert readable.of(bench.workspace).commit != first.commit


def test_without_globs_it_is_the_mirror(source: Path) -> None:
    workspace = prepared(mirrored(source))
    found = readable.of(workspace)
    assert (found.objects, found.commit) == (workspace.repository.mirror / "objects", workspace.base_commit)
    assert not workspace.readable.exists()


def test_it_goes_with_the_tree(source: Path) -> None:
    bench = at(source, *HIDDEN)
    bench.write("new.txt", "x\n")
    taken(bench.workspace)
    assert bench.workspace.readable.exists()
    tidying.forget_tree(bench.workspace)
    assert not bench.workspace.readable.exists()
