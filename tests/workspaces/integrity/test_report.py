"""The report on a tree: files of tests as files, fixtures, options, what is new; all from the run store."""

from pathlib import Path

import pytest

from tests.workspaces.integrity.project import Link, Program, Project, What, begun
from workspaces.integrity.findings import FINDINGS_LIMIT, Finding, FindingKind, Report
from workspaces.integrity.report import report

pytestmark = pytest.mark.django_db

TEST = "from shop import total\n\n\ndef test_total():\n    assert total([1]) == 1\n"
FILES: dict[str, What] = {
    "shop/__init__.py": "def total(prices):\n    return sum(prices)\n",
    "tests/test_shop.py": TEST,
    "tests/data/prices.csv": "a,1\nb,2\n",
    "tests/data/shot.png": b"\x89PNG\0\1",
    "tests/run.sh": Program("#!/bin/sh\npytest\n"),
    "tests/__snapshots__/view.test.js.snap": "exports[`a`] = `1`;\n",
    "tests/view.test.js": "test('a', () => { expect(1).toMatchSnapshot(); });\n",
    "tests/ShopTest.kt": "class ShopTest {\n  @Test fun adds() {}\n}\n",
    "scripts/test.sh": Program("#!/bin/sh\npython -m pytest\n"),
    "scripts/release.sh": Program("#!/bin/sh\necho out\n"),
    "Makefile": "check:\n\t./scripts/test.sh\n",
    "pyproject.toml": '[project]\nname = "shop"\n',
    "requirements.lock": "a==1\n",
    ".gitignore": "*.log\n",
    "config/tests.ini": "[pytest]\naddopts = -ra\n",
    "README.md": "# Shop\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return begun(tmp_path / "source", FILES)


def reported(project: Project, changes: dict[str, What | None], *verify: str, tests: tuple[str, ...] = ()) -> Report:
    return report(project.workspace, project.tree(changes), tests=tests, verify=verify)


def kinds(found: Report) -> list[tuple[str, str]]:
    return [(each.kind.value, each.path) for each in found.findings]


def test_no_change_is_nothing(project: Project) -> None:
    assert report(project.workspace, project.base) == Report()


@pytest.mark.parametrize(
    ("changes", "kind", "path"),
    [
        ({"tests/data/prices.csv": "a,1\nb,3\n"}, "retuned", "tests/data/prices.csv"),
        ({"tests/data/prices.csv": None}, "removed", "tests/data/prices.csv"),
        ({"tests/data/prices.csv": ""}, "removed", "tests/data/prices.csv"),
        ({"tests/data/prices.csv": Link("../../README.md")}, "removed", "tests/data/prices.csv"),
        ({"tests/data/shot.png": b"\x89PNG\0\2"}, "retuned", "tests/data/shot.png"),
        (
            {"tests/__snapshots__/view.test.js.snap": "exports[`a`] = `2`;\n"},
            "retuned",
            "tests/__snapshots__/view.test.js.snap",
        ),
        ({"tests/__snapshots__/view.test.js.snap": None}, "removed", "tests/__snapshots__/view.test.js.snap"),
        ({"tests/test_shop.py": None, "tests/shop_checks.py": TEST}, "removed", "tests/test_shop.py"),
        ({"tests/test_shop.py": None, "docs/test_shop.py": TEST}, "removed", "tests/test_shop.py"),
        ({"tests/test_shop.py": None, "tests/build/test_shop.py": TEST}, "removed", "tests/test_shop.py"),
        ({"tests/test_shop.py": None, "tests/test_shop.py.off": TEST}, "removed", "tests/test_shop.py"),
        ({"tests/test_shop.py": Link("/dev/null")}, "removed", "tests/test_shop.py"),
        ({"tests/test_shop.py": ""}, "removed", "tests/test_shop.py"),
        ({"tests/run.sh": "#!/bin/sh\npytest\n"}, "skipped", "tests/run.sh"),
        ({"tests/ShopTest.kt": "class ShopTest {\n}\n"}, "retuned", "tests/ShopTest.kt"),
        (
            {"tests/ShopTest.kt": "class ShopTest {\n  @Disabled\n  @Test fun adds() {}\n}\n"},
            "skipped",
            "tests/ShopTest.kt",
        ),
        (
            {"pyproject.toml": '[project]\nname = "shop"\n[tool.pytest.ini_options]\naddopts = "-x"\n'},
            "configuration",
            "pyproject.toml",
        ),
        ({"tox.ini": "[pytest]\naddopts = -x\n"}, "configuration", "tox.ini"),
        ({"conftest.py": "collect_ignore = ['tests']\n"}, "shadowed", "conftest.py"),
        ({".github/workflows/ci.yml": "on: push\n"}, "configuration", ".github/workflows/ci.yml"),
        ({".gitignore": "*.log\ntests/\n"}, "configuration", ".gitignore"),
        ({"Makefile": "check:\n\ttrue\n"}, "configuration", "Makefile"),
        ({"Makefile": None}, "configuration", "Makefile"),
        ({"Makefile": Link("README.md")}, "configuration", "Makefile"),
        ({"scripts/test.sh": Program("#!/bin/sh\ntrue\n")}, "configuration", "scripts/test.sh"),
        ({"scripts/test.sh": None}, "configuration", "scripts/test.sh"),
        ({"build.rs": "fn main() {}\n"}, "configuration", "build.rs"),
    ],
)
def test_a_trick_with_files_is_reported(
    project: Project, changes: dict[str, What | None], kind: str, path: str
) -> None:
    found = reported(project, changes, "make check")
    assert (kind, path) in kinds(found)
    assert found.is_suspect
    assert found.count == len(found.findings) == sum(found.counts.values())


@pytest.mark.parametrize(
    "changes",
    [
        {"shop/__init__.py": "def total(prices):\n    return sum(prices, 0)\n"},
        {"tests/test_shop.py": None, "tests/test_total.py": TEST},
        {"tests/test_shop.py": None, "tests/unit/test_shop.py": TEST},
        {"tests/data/prices.csv": None, "tests/data/costs.csv": "a,1\nb,2\n"},
        {"tests/data/more.csv": "c,3\n"},
        {"tests/__snapshots__/view.test.js.snap": "exports[`a`] = `1`;\nexports[`b`] = `1`;\n"},
        {"tests/ShopTest.kt": "class ShopTest {\n  @Test fun adds() {}\n  @Test fun two() {}\n}\n"},
        {"tests/OtherTest.kt": "class OtherTest {\n}\n"},
        {"scripts/release.sh": Program("#!/bin/sh\necho on\n")},
        {"Makefile": "check:\n\t./scripts/test.sh\n\ndocs:\n\tmkdocs\n"},
        {"requirements.lock": "a==2\n"},
        {".gitignore": "*.log\nbuild/\n"},
        {"README.md": "# A shop\n", "docs/testing.md": "Run pytest.\n"},
        {"web/package.json": '{"scripts": {"test": "jest"}}\n', "web/jest.config.js": "module.exports = {};\n"},
        {"docs/Makefile": "test:\n\ttrue\n"},
        {"pyproject.toml": '[project]\nname = "shop"\ndependencies = ["attrs"]\n'},
    ],
)
def test_ordinary_work_is_not_suspect(project: Project, changes: dict[str, What | None]) -> None:
    found = reported(project, changes, "make check")
    assert [each for each in found.findings if each.is_suspect] == []
    assert found.unread == ()


def test_changed_lines_are_named(project: Project) -> None:
    (only,) = reported(project, {"tests/data/prices.csv": "a,1\nb,3\n"}).findings
    assert (only.old_line, only.new_line, only.old, only.new) == (2, 2, "b,2", "b,3")


def test_lock_files_are_named_and_are_no_finding(project: Project) -> None:
    found = reported(project, {"requirements.lock": "a==2\n"})
    assert found == Report(locks=("requirements.lock",))


def test_the_task_may_say_what_else_is_a_test(project: Project) -> None:
    changes: dict[str, What | None] = {"config/tests.ini": "[pytest]\naddopts = -x\n"}
    assert not reported(project, changes).findings
    assert kinds(reported(project, changes, tests=("config/**",))) == [("retuned", "config/tests.ini")]


def test_code_that_the_task_calls_a_test_is_compared_as_one(tmp_path: Path) -> None:
    project = begun(tmp_path / "checks", {"checks/one.py": "def test_one():\n    assert f() == 1\n"})
    changes: dict[str, What | None] = {"checks/one.py": "def test_one():\n    assert f() == 2\n"}
    assert not reported(project, changes).findings
    assert kinds(reported(project, changes, tests=("checks/**",))) == [("retuned", "checks/one.py")]


def test_a_program_that_another_one_runs_counts_too(project: Project) -> None:
    changes: dict[str, What | None] = {"scripts/test.sh": Program("#!/bin/sh\ntrue\n")}
    assert kinds(reported(project, changes)) == [("configuration", "scripts/test.sh")]
    assert kinds(reported(project, {"config/tests.ini": "[pytest]\n"})) == []
    assert kinds(reported(project, {"config/tests.ini": "[pytest]\n"}, "pytest -c config/tests.ini")) == [
        ("configuration", "config/tests.ini")
    ]


def test_a_file_that_make_takes_for_a_made_target_is_found(project: Project) -> None:
    assert kinds(reported(project, {"check": "done\n"})) == [("shadowed", "check")]
    phony: dict[str, What | None] = {"Makefile": ".PHONY: check\ncheck:\n\t./scripts/test.sh\n"}
    assert reported(project, phony).findings == ()


def test_a_test_tool_that_is_checked_in_counts(tmp_path: Path) -> None:
    tool, other = "vendor/example.org/testify/assert/assert.go", "vendor/example.org/money/money.go"
    files: dict[str, What] = {"go.mod": "module a\n", "a_test.go": "package a\n", tool: "package assert\n", other: ""}
    project = begun(tmp_path / "vendored", files)
    found = reported(project, {tool: "package assert\n\nvar T = 1\n", other: "package money\n"})
    assert kinds(found) == [("configuration", tool)]


def test_a_module_that_hides_a_dependency_is_found(tmp_path: Path) -> None:
    project = begun(
        tmp_path / "dependent",
        {
            "pyproject.toml": '[project]\nname = "a"\ndependencies = ["Requests>=2", "typing-extensions"]\n',
            "requirements-dev.txt": "-r x.txt\n# pytest\nattrs==1 # x\n",
            "a/__init__.py": "",
            "tests/test_a.py": "",
        },
    )
    new: dict[str, What | None] = dict.fromkeys(
        ("requests.py", "typing_extensions.py", "attrs/__init__.py", "b.py"), "x"
    )
    assert [path for _, path in kinds(reported(project, new))] == [
        "attrs/__init__.py",
        "requests.py",
        "typing_extensions.py",
    ]


def test_what_a_link_leads_to_counts_as_the_link(tmp_path: Path) -> None:
    project = begun(tmp_path / "linked", {"pytest.ini": Link("etc/options"), "etc/options": "[pytest]\n"})
    assert kinds(reported(project, {"etc/options": "[pytest]\naddopts = -x\n"})) == [("configuration", "etc/options")]


def test_planted_files_stand_among_the_rest(project: Project) -> None:
    planted = Finding(FindingKind.SHADOWED, "sitecustomize.py", "It is planted.")
    assert report(project.workspace, project.base, planted=[planted]).findings == (planted,)


def test_the_worst_stands_first_and_what_is_left_out_is_counted(project: Project) -> None:
    many: dict[str, What | None] = {f"tests/T{number}Test.kt": "class T\n" for number in range(FINDINGS_LIMIT + 20)}
    found = reported(project, {**many, "tests/data/prices.csv": None, "pytest.ini": "[pytest]\n"})
    assert len(found.findings) == FINDINGS_LIMIT
    assert found.count == FINDINGS_LIMIT + 22
    assert found.counts == {"removed": 1, "configuration": 1, "added": FINDINGS_LIMIT + 20}
    assert [each.kind.value for each in found.findings[:3]] == ["removed", "configuration", "added"]


def test_no_flood_of_one_kind_hides_another(project: Project) -> None:
    many: dict[str, What | None] = {f"p{number}.pth": "x" for number in range(FINDINGS_LIMIT + 20)}
    found = reported(project, {**many, "tests/data/prices.csv": "a,1\n", "tests/OtherTest.kt": "class T\n"})
    assert len(found.findings) == FINDINGS_LIMIT
    assert found.counts == {"shadowed": FINDINGS_LIMIT + 20, "retuned": 1, "added": 1}
    assert [each.kind.value for each in found.findings[-3:]] == ["shadowed", "retuned", "added"]


def test_a_folder_that_came_as_a_whole_is_told_once(tmp_path: Path) -> None:
    project = begun(tmp_path / "scripts", {"package.json": "{}", "a.test.js": "test('a', () => {});\n"})
    found = reported(project, {f"node_modules/a{number}/index.js": "x" for number in range(50)})
    assert [(each.kind.value, each.path) for each in found.findings if each.is_suspect] == [
        ("shadowed", "node_modules")
    ]


def test_a_report_can_be_stopped(project: Project) -> None:
    tree = project.tree({"pyproject.toml": "[tool.pytest.ini_options]\n", "Makefile": ""})
    found = report(project.workspace, tree, stop=lambda: True)
    assert found.unread[0] == ("Makefile", "there was no time left to look at it")


def test_hostile_trees_are_looked_at(project: Project) -> None:
    found = reported(
        project,
        {
            "tests/\udcff\n.txt": b"\xff\0",
            "package.json": '{"a":' * 20_000,
            "tests/data/prices.csv": b"\xff\xfe" + bytes(range(256)) * 10,
            "tests/" + "d/" * 100 + "deep.txt": "x",
            "Makefile": "\\\n" * 100_000,
            "pyproject.toml": "a." * 10_000,
            "tests/big.txt": "x" * 3_000_000,
        },
        "make check",
        "cd ../.. && ./x; " + "(" * 2000,
    )
    assert ("configuration", "pyproject.toml") in kinds(found)
    assert ("configuration", "Makefile") in kinds(found)
    assert all(len(each.old) <= 500 and len(each.new) <= 500 for each in found.findings)


def test_a_large_fixture_is_reported_without_lines(tmp_path: Path) -> None:
    project = begun(tmp_path / "large", {"tests/data.txt": "x" * 1_500_000})
    found = reported(project, {"tests/data.txt": "y" * 1_500_000})
    assert kinds(found) == [("retuned", "tests/data.txt")]
