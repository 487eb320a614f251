"""Every trick of the tables is caught, by its kind and at its file; nothing in honest work is suspect."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import git
from tests.tampering import in_go, in_java_and_ruby, in_javascript, in_python, in_rust
from tests.tampering.changing import Honest, Trick, changed
from tests.workspaces.places import mirrored
from workspaces import sources, store
from workspaces.integrity import report as integrity
from workspaces.integrity.findings import Report
from workspaces.models import Workspace

TABLES = (in_python, in_javascript, in_go, in_rust, in_java_and_ruby)
Reported = Callable[[Mapping[str, str | None]], Report]

pytestmark = pytest.mark.django_db


def committed(folder: Path, files: Mapping[str, str]) -> Path:
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "-m", "The project")
    return folder


def reporting(folder: Path, files: Mapping[str, str], verify: Sequence[str]) -> Reported:
    """Return what reports on a tree: the project's with some files written, None: gone."""
    repository = mirrored(committed(folder, files))
    base = sources.resolve(repository, "main")
    workspace = Workspace.objects.create(pk=1, repository=repository, base_name="main", base_commit=base)
    run_store = store.ensure(repository)
    baseline = store.begin(workspace, run_store)

    def entry(text: str | None) -> store.TreeEntry | None:
        return (
            store.TreeEntry(store.FILE, store.write_blob(repository.store, text.encode())) if text is not None else None
        )

    def reported(texts: Mapping[str, str | None]) -> Report:
        tree = store.build_tree(run_store, baseline.tree, {path.encode(): entry(text) for path, text in texts.items()})
        return integrity.report(workspace, tree, verify=verify)

    return reported


def told(report: Report) -> list[tuple[str, str, str, int, int]]:
    return [(each.kind.value, each.path, each.why, each.old_line, each.new_line) for each in report.findings]


def fault(table: ModuleType, reported: Reported, each: Trick) -> str:
    """Return how the report on a trick falls short; "" where it is caught."""
    report = reported(changed(table.FILES, each.changes))
    hits = [found for found in report.findings if found.kind in each.kinds and found.path == each.path]
    if not hits:
        found = f"found {told(report)}, unread {report.unread}"
        return f"{each.name}: not caught as {sorted(each.kinds)} at {each.path}; {found}"
    if not report.is_suspect or not all(found.why for found in hits):
        return f"{each.name}: caught without a word on why"
    return ""


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__.rpartition(".")[2])
def test_every_trick_is_caught_by_its_kind(table: ModuleType, tmp_path: Path) -> None:
    reported = reporting(tmp_path / "source", table.FILES, table.VERIFY)
    faults = [words for each in table.TRICKS if (words := fault(table, reported, each))]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__.rpartition(".")[2])
def test_nothing_in_honest_work_is_suspect(table: ModuleType, tmp_path: Path) -> None:
    def suspect(each: Honest) -> list[tuple[str, str, str, int, int]]:
        report = reported(changed(table.FILES, each.changes))
        assert not report.unread, (each.name, report.unread)
        return [words for words in told(report) if words[0] != "added"]

    reported = reporting(tmp_path / "source", table.FILES, table.VERIFY)
    faults = {each.name: found for each in table.HONEST if (found := suspect(each))}
    assert not faults, "\n".join(f"{name}: {found}" for name, found in faults.items())


def test_the_tables_are_as_long_as_promised() -> None:
    assert sum(len(table.TRICKS) for table in TABLES) >= 90
    assert sum(len(table.HONEST) for table in TABLES) >= 30
