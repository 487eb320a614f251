"""The tree that is proven: tests and their options as at the baseline, planted files left out, the code as it is."""

import json
import random
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workspaces.integrity.project import Link, Program, Project, What, begun
from workspaces import store
from workspaces.integrity.proof_tree import ProofTree, proof_tree
from workspaces.integrity.report import report
from workspaces.integrity.roles import Role, role_of

pytestmark = pytest.mark.django_db

PACKAGE = """\
{
  "name": "shop",
  "scripts": {"test": "jest", "build": "tsc"},
  "jest": {"testEnvironment": "node"},
  "dependencies": {"a": "1"}
}
"""
PROJECT = """\
[project]
name = "shop"
dependencies = ["requests>=2"]

[tool.pytest.ini_options]
addopts = "-ra"
testpaths = ["tests"]

[tool.ruff]
line-length = 100
"""
SETUP = "[metadata]\nname = shop\n\n[tool:pytest]\naddopts = -ra\n\n[flake8]\nmax-line-length = 100\n"
CARGO = '[package]\nname = "shop"\nedition = "2021"\n\n[dependencies]\na = "1"\n'
MODULE = "module example.org/shop\n\ngo 1.22\n\nrequire example.org/money v1.2.0\n"
FILES: dict[str, What] = {
    "shop/__init__.py": "",
    "shop/price.py": "def total(prices):\n    return 0\n",
    "tests/test_price.py": "def test_total():\n    assert True\n",
    "tests/run.sh": Program("#!/bin/sh\n"),
    "tests/link": Link("test_price.py"),
    "pytest.ini": "[pytest]\naddopts = -ra\n",
    "Makefile": "test:\n\tscripts/verify.sh\n",
    "scripts/verify.sh": Program("#!/bin/sh\npytest\n"),
    "scripts/release.sh": Program("#!/bin/sh\n"),
    "package.json": PACKAGE,
    "pyproject.toml": PROJECT,
    "setup.cfg": SETUP,
    "Cargo.toml": CARGO,
    "go.mod": MODULE,
    "pom.xml": "<project>\n<properties>\n<a>1</a>\n</properties>\n</project>\n",
    "src/view.ts": "export const a = 1;\n",
    "src/view.test.ts": "test('a', () => {});\n",
    "src/lib.rs": "fn a() {}\n",
    "README.md": "# Shop\n",
}
CODE: dict[str, What | None] = {
    "shop/price.py": "def total(prices):\n    return sum(prices)\n",
    "shop/tax.py": "RATE = 2\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return begun(tmp_path / "source", FILES)


def protects(path: str) -> bool:
    return role_of(path) in (Role.TEST, Role.OPTIONS)


def nothing(path: str) -> bool:
    return False


def proven(
    project: Project,
    changes: dict[str, What | None],
    is_protected: Callable[[str], bool] = protects,
    may_change_tests: bool = False,
) -> ProofTree:
    """Return the tree to prove of one with these changes beside honest ones, which must all be in it."""
    given = project.tree({**CODE, **changes})
    found = proof_tree(project.workspace, given, is_protected, may_change_tests=may_change_tests, verify=["make test"])
    assert project.read(found.tree, "shop/price.py") == CODE["shop/price.py"]
    assert proof_tree(
        project.workspace, found.tree, is_protected, may_change_tests=may_change_tests, verify=["make test"]
    ) == ProofTree(found.tree, (), ())
    return found


def entry(project: Project, tree: str, path: str) -> store.TreeEntry | None:
    return store.listing(project.git, tree).get(path.encode())


def test_a_tree_without_a_change_is_itself(project: Project) -> None:
    assert proof_tree(project.workspace, project.base, protects, may_change_tests=False) == ProofTree(
        project.base, (), ()
    )


def test_honest_work_is_proven_as_it_is(project: Project) -> None:
    changes: dict[str, What | None] = {
        **CODE,
        "tests/test_tax.py": "def test_tax():\n    assert 1\n",
        "tests/slow/conftest.py": "import pytest\n",
        "tests/slow/test_slow.py": "def test_slow():\n    assert 1\n",
        "package.json": PACKAGE.replace('"a": "1"', '"a": "2", "b": "1"'),
        "pyproject.toml": PROJECT.replace('"requests>=2"', '"requests>=2", "attrs"'),
        "docs/Makefile": "html:\n\tmkdocs\n",
        "README.md": None,
        "shop/price.py": None,
        "shop/price/__init__.py": "def total(prices):\n    return sum(prices)\n",
    }
    tree = project.tree(changes)
    for protected, may in ((protects, False), (nothing, True)):
        found = proof_tree(project.workspace, tree, protected, may_change_tests=may, verify=["make test"])
        assert found == ProofTree(tree, (), ())


@pytest.mark.parametrize(
    "changes",
    [
        {"tests/test_price.py": "def test_total():\n    pass\n"},
        {"tests/test_price.py": None},
        {"tests/test_price.py": Link("/dev/null")},
        {"tests/test_price.py": Program("x")},
        {"tests/run.sh": "#!/bin/sh\n"},
        {"tests/link": Link("nowhere")},
        {"tests/link": "a file\n"},
        {"pytest.ini": "[pytest]\naddopts = -x\n"},
        {"Makefile": "test:\n\ttrue\n"},
        {"Makefile": None},
        {"scripts/verify.sh": Program("#!/bin/sh\ntrue\n")},
        {"scripts/verify.sh": "#!/bin/sh\npytest\n"},
        {"setup.cfg": None},
        {"package.json": Link("README.md")},
        {"package.json": "{"},
        {"pyproject.toml": "["},
    ],
)
def test_what_decides_comes_back_as_it_was(project: Project, changes: dict[str, What | None]) -> None:
    found = proven(project, changes)
    (path,) = changes
    assert found.put_back == (path,)
    assert found.left_out == ()
    assert entry(project, found.tree, path) == entry(project, project.base, path)


def test_a_program_that_no_command_names_stays_as_it_is(project: Project) -> None:
    assert proven(project, {"scripts/release.sh": Program("#!/bin/sh\nnew\n")}).put_back == ()


def test_a_renamed_test_is_back_at_its_old_place_and_stays_at_the_new_one(project: Project) -> None:
    text = FILES["tests/test_price.py"]
    found = proven(project, {"tests/test_price.py": None, "tests/test_money.py": text})
    assert found.put_back == ("tests/test_price.py",)
    assert {"tests/test_price.py", "tests/test_money.py"} <= project.paths(found.tree)


@pytest.mark.parametrize(
    "path",
    [
        "conftest.py",
        "sitecustomize.py",
        "unittest.py",
        "shop/price/__init__.py",
        "tests/shop/price.py",
        "a.pth",
        "bin/pytest",
        "jest.config.js",
        "src/view.js",
        "node_modules/x/index.js",
        "GNUmakefile",
        "tests/pytest.ini",
        "shop/price.so",
        "shop/__pycache__/price.cpython-311.pyc",
        "build.rs",
        "test",
        "tests/__init__.py",
    ],
)
def test_a_planted_file_is_left_out_with_the_reason(project: Project, path: str) -> None:
    found = proven(project, {path: "x = 1\n"})
    assert [left for left, _ in found.left_out] == [path]
    assert found.left_out[0][1].endswith(".")
    assert found.put_back == ()
    assert path not in project.paths(found.tree)


def test_new_settings_of_tests_are_left_out_and_the_rest_of_their_file_stays(tmp_path: Path) -> None:
    files = {path: what for path, what in FILES.items() if path not in ("pyproject.toml", "setup.cfg")}
    project = begun(tmp_path / "bare", files)
    text = '[project]\nname = "shop"\n\n[tool.pytest.ini_options]\naddopts = "-x"\n'
    found = proven(project, {"pyproject.toml": text, "setup.cfg": "[tool:pytest]\naddopts = -x\n"})
    assert project.read(found.tree, "pyproject.toml") == '[project]\nname = "shop"\n\n'
    assert "addopts" not in project.read(found.tree, "setup.cfg")


def test_the_part_of_a_package_that_is_about_tests_comes_back(project: Project) -> None:
    text = json.dumps(
        {
            "name": "store",
            "scripts": {"test": "true", "build": "vite", "pretest": "node x", "lint": "eslint"},
            "jest": {"testEnvironment": "node", "testPathIgnorePatterns": ["."]},
            "vitest": {"a": 1},
            "dependencies": {"a": "file:./fake", "b": "2"},
        }
    )
    found = proven(project, {"package.json": text})
    assert found.put_back == ("package.json",)
    assert json.loads(project.read(found.tree, "package.json")) == {
        "name": "store",
        "scripts": {"test": "jest", "build": "vite", "lint": "eslint"},
        "jest": {"testEnvironment": "node"},
        "dependencies": {"a": "1", "b": "2"},
    }


@pytest.mark.parametrize(
    "text",
    [
        PROJECT.replace('"-ra"', '"-x"'),
        PROJECT.replace('addopts = "-ra"\n', ""),
        PROJECT.replace('testpaths = ["tests"]\n', 'testpaths = ["tests"]\npython_files = "none.py"\n'),
        PROJECT.replace('[tool.pytest.ini_options]\naddopts = "-ra"\ntestpaths = ["tests"]\n', ""),
        PROJECT.replace('testpaths = ["tests"]', 'testpaths = [\n  "a",  # here\n  "b",\n]'),
        PROJECT + '\n[tool.coverage.report]\nfail_under = 0\n\n[tool.poe.tasks]\ndocs = "x"\n',
        PROJECT.replace("[tool.ruff]", '[tool.coverage.run]\nomit = """\na\n[tool.ruff]\n"""\n\n[tool.ruff]'),
    ],
)
def test_the_tables_of_a_toml_file_that_are_about_tests_come_back(project: Project, text: str) -> None:
    new = text.replace('"requests>=2"', '"requests>=2", "attrs"').replace("100", "120")
    found = proven(project, {"pyproject.toml": new})
    assert found.put_back == ("pyproject.toml",)
    held, given = tomllib.loads(project.read(found.tree, "pyproject.toml")), tomllib.loads(new)
    assert held["tool"]["pytest"] == tomllib.loads(PROJECT)["tool"]["pytest"]
    assert held["tool"]["ruff"] == {"line-length": 120}
    assert held["project"] == given["project"]
    assert held["tool"].get("poe") == given["tool"].get("poe")
    assert not held["tool"].get("coverage")


def test_what_cannot_be_told_apart_comes_back_whole(project: Project) -> None:
    new = '[project]\nname = "b"\n[tool]\npytest.ini_options = {addopts = "-x"}\nruff = {line-length = 1}\n'
    found = proven(
        project,
        {"pyproject.toml": new, "pom.xml": "<project><properties><skipTests>1</skipTests></properties></project>"},
    )
    assert found.put_back == ("pom.xml", "pyproject.toml")
    assert project.read(found.tree, "pyproject.toml") == PROJECT


def test_sections_and_lines_of_other_manifests_come_back(project: Project) -> None:
    found = proven(
        project,
        {
            "setup.cfg": SETUP.replace("-ra", "-x").replace("100", "120") + "\n[aliases]\ntest = true\n",
            "Cargo.toml": CARGO.replace('"2021"', '"2021"\nautotests = false').replace('a = "1"', 'a = "2"\nb = "1"')
            + "\n[profile.test]\nopt-level = 3\n",
            "go.mod": MODULE.replace("v1.2.0", "v1.3.0") + "\nreplace example.org/money => ./fake\n",
        },
    )
    assert found.put_back == ("Cargo.toml", "go.mod", "setup.cfg")
    setup, cargo = project.read(found.tree, "setup.cfg"), tomllib.loads(project.read(found.tree, "Cargo.toml"))
    assert "addopts = -ra" in setup
    assert "120" in setup
    assert "test = true" not in setup
    assert cargo["package"] == {"name": "shop", "edition": "2021"}
    assert cargo["dependencies"] == {"a": "2", "b": "1"}
    assert not cargo.get("profile")
    assert project.read(found.tree, "go.mod") == MODULE.replace("v1.2.0", "v1.3.0") + "\n"


def test_a_run_that_may_change_tests_keeps_them_and_not_what_hides_modules(project: Project) -> None:
    changes: dict[str, What | None] = {
        "tests/test_price.py": "def test_total():\n    assert 2\n",
        "pytest.ini": "[pytest]\n",
        "Makefile": "test:\n\tpytest\n",
        "package.json": "{}",
        "conftest.py": "import pytest\n",
        "jest.config.js": "module.exports = {};\n",
        "sitecustomize.py": "x = 1\n",
    }
    found = proven(project, changes, nothing, may_change_tests=True)
    assert found.put_back == ()
    assert [path for path, _ in found.left_out] == ["sitecustomize.py"]
    assert proven(project, {"shop/tax.py": "x", **changes}, lambda path: path == "Makefile", True).put_back == (
        "Makefile",
    )


def test_what_lies_in_the_way_of_a_protected_file_is_left_out(project: Project) -> None:
    found = proven(
        project,
        {"tests/test_price.py": None, "tests/test_price.py/x.py": "1\n", "tests/run.sh": None, "tests/link": None},
    )
    assert dict(found.left_out).keys() == {"tests/test_price.py/x.py"}
    all_gone: dict[str, What | None] = {path: None for path in FILES if path.startswith("tests/")}
    found = proven(project, {**all_gone, "tests": Link("shop")})
    assert dict(found.left_out).keys() == {"tests"}
    assert found.put_back == ("tests/link", "tests/run.sh", "tests/test_price.py")


def test_a_package_that_would_hide_what_came_back_is_left_out(tmp_path: Path) -> None:
    project = begun(tmp_path / "helpers", {**FILES, "tests/helpers.py": "A = 1\n"})
    found = proven(project, {"tests/helpers.py": None, "tests/helpers/__init__.py": "A = 2\n"})
    assert found.put_back == ("tests/helpers.py",)
    assert dict(found.left_out).keys() == {"tests/helpers/__init__.py"}


def test_odd_names_come_back_and_are_left_out(tmp_path: Path) -> None:
    project = begun(tmp_path / "odd", {**FILES, "tests/caf\udce9.py": "a = 1\n"})
    found = proven(project, {"tests/caf\udce9.py": "a = 2\n", "\udcff\n.pth": "x"})
    assert found.put_back == ("tests/caf\\xe9.py",)
    assert [path for path, _ in found.left_out] == ["\\xff\n.pth"]


MOVES: tuple[tuple[str, What | None], ...] = (
    *((path, None) for path in FILES if path != "shop/price.py"),
    *((path, "x = 1\n") for path in ("conftest.py", "unittest.py", "src/view.js", "tests/test_b.py", "docs/a.md")),
    *(("package.json", text) for text in ("{}", '{"scripts": {"test": "x"}}', '{"jest": "a", "scripts": 1}')),
    *(("pyproject.toml", PROJECT.replace(old, new)) for old, new in (("-ra", "-x"), ("[tool.ruff]", "[tool.tox]"))),
    *(("setup.cfg", SETUP.replace(old, new)) for old, new in (("-ra", "-x\n  -y"), ("[flake8]\n", ""))),
    *(
        ("Cargo.toml", CARGO + more)
        for more in ("[lib]\ntest = false\n", '[patch.a]\nb = "1"\n', "[[test]]\nname = 'x'\n")
    ),
    *(("go.mod", MODULE + more) for more in ("replace a => b\n", "replace (\n a => b\n c => d\n)\n")),
    *(("Makefile", "all:\n\ttrue\n"), ("tests/test_price.py", Link("x")), ("tests/run.sh/x", "y")),
)


@pytest.mark.parametrize("seed", range(12))
def test_nothing_suspect_is_left_and_proving_twice_is_proving_once(project: Project, seed: int) -> None:
    chance = random.Random(seed)
    changes = dict(chance.sample(MOVES, 8))
    if "tests/run.sh/x" in changes:
        changes["tests/run.sh"] = None
    found = proven(project, changes)
    left = report(project.workspace, found.tree, verify=["make test"])
    assert [each for each in left.findings if each.is_suspect] == []
