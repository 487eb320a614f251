"""Files that git ignores, in the live tree, which would change what tests do."""

import os
from pathlib import Path

import pytest

from tests.workspaces.integrity.project import Project, begun
from tests.workspaces.places import taken
from workspaces import snapshots
from workspaces.integrity import planted as planting
from workspaces.integrity.findings import FindingKind
from workspaces.integrity.planted import planted

pytestmark = pytest.mark.django_db
IGNORED = """\
conftest.py
sitecustomize.py
*.pth
*.pyc
*.so
jest.config.js
__mocks__/
bin/
build/
.venv/
node_modules/
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    files = {
        "shop/__init__.py": "",
        "shop/price.py": "def total():\n    return 1\n",
        "tests/test_price.py": "def test_a():\n    assert 1\n",
        "web/app.js": "exports.a = 1;\n",
        "web/app.test.js": "test('a', () => {});\n",
        "package.json": "{}\n",
        ".gitignore": IGNORED,
    }
    project = begun(tmp_path / "source", files)
    snapshots.prepare(project.workspace)
    return project


def plant(project: Project, path: str, data: bytes = b"x = 1\n") -> None:
    place = project.workspace.tree / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)


@pytest.mark.parametrize(
    "path",
    [
        "conftest.py",
        "tests/conftest.py",
        "sitecustomize.py",
        "x.pth",
        "shop/price.so",
        "shop/price.pyc",
        "jest.config.js",
        "web/__mocks__/app.js",
        "bin/pytest",
        "bin/node",
    ],
)
def test_a_planted_file_is_found(project: Project, path: str) -> None:
    plant(project, path)
    (only,) = planted(project.workspace)
    assert (only.kind, only.path) == (FindingKind.SHADOWED, path)
    assert only.why.endswith("Git ignores it, so no diff shows it.")


def test_what_tools_make_is_none(project: Project) -> None:
    for path in (
        *(
            "shop/__pycache__/price.cpython-311.pyc",
            ".pytest_cache/v/cache/lastfailed",
            "node_modules/jest/jest.config.js",
        ),
        *(
            ".venv/lib/python3.11/site-packages/a.pth",
            ".venv/bin/pytest",
            "build/lib/shop/price.py",
            "build/conftest.py",
        ),
        *("shop.egg-info/PKG-INFO", "debug.log"),
    ):
        plant(project, path, b"\0" * 20)
    assert planted(project.workspace) == ()


def test_a_cache_that_python_never_checks_is_found(project: Project) -> None:
    plant(project, "shop/__pycache__/price.cpython-311.pyc", b"\xa7\x0d\x0d\x0a\1\0\0\0" + b"\0" * 20)
    assert [each.path for each in planted(project.workspace)] == ["shop/__pycache__/price.cpython-311.pyc"]


def test_a_file_that_a_snapshot_has_is_left_to_the_report(project: Project) -> None:
    plant(project, "shop/price/__init__.py")
    taken(project.workspace)
    assert planted(project.workspace) == ()


def test_no_link_is_followed_and_odd_things_are_passed_over(project: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "conftest.py").write_text("x = 1\n")
    (project.workspace.tree / "build").symlink_to(outside)
    (project.workspace.tree / "loop").symlink_to(".")
    os.mkfifo(project.workspace.tree / "sitecustomize.py")
    (project.workspace.tree / "tests" / "conftest.py").symlink_to("/etc/passwd")
    plant(project, os.fsdecode(b"\xff.pth"))
    assert {each.path for each in planted(project.workspace)} == {"sitecustomize.py", "tests/conftest.py", "\\xff.pth"}


def test_a_tree_that_is_too_large_is_told(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planting, "ENTRIES_LIMIT", 4)
    (only,) = planted(project.workspace)
    assert "more files than can be looked at" in only.why
