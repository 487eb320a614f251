"""What commands use of a repository: targets and scripts by name, programs by path, through what calls what."""

from pathlib import Path

import pytest

from tests.workspaces.integrity.project import Program, Project, What, begun
from workspaces.integrity.sides import Side
from workspaces.integrity.used import Used, used

pytestmark = pytest.mark.django_db

FILES: dict[str, What] = {
    "Makefile": (
        "RUN = ./scripts/run.sh\n.PHONY: all\nall: build\n\t$(MAKE) -C lib quick\n\nbuild:\n\t@$(RUN) --fast\n\n"
        "docs:\n\t./scripts/docs.sh\n"
    ),
    "lib/Makefile": "quick: part-a\n\npart-%:\n\tbash ../scripts/part.sh $@\n",
    "justfile": "go: one\n    scripts/go.sh\n\none:\n    true\n",
    "Taskfile.yml": (
        "version: '3'\ntasks:\n  go:\n    cmds:\n      - task: inner\n  inner:\n    cmds:\n      - sh scripts/task.sh\n"
    ),
    "package.json": ('{"scripts": {"all": "npm run lint && run-s a b", "a": "node scripts/a.js", "lint": "x"}}'),
    "web/package.json": '{"scripts": {"unit": "jest -c jest.unit.js", "preunit": "./before.sh"}}',
    "web/jest.unit.js": "",
    "web/before.sh": "",
    "app.js": "",
    "calc.py": "",
    "manage.py": "",
    "tools/check.py": "",
    "ci/all.sh": Program("#!/bin/bash\n. ci/common.sh\nfor x in a b; do python tools/check.py $x; done\n"),
    "ci/common.sh": "",
    **dict.fromkeys(
        ("scripts/run.sh", "scripts/docs.sh", "scripts/part.sh", "scripts/go.sh", "scripts/task.sh"), "true\n"
    ),
    "scripts/a.js": "",
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return begun(tmp_path / "source", FILES)


def found(project: Project, *commands: str) -> Used:
    return used(Side.of(project.git, project.base), commands)


@pytest.mark.parametrize(
    ("command", "files", "names"),
    [
        ("make", {"scripts/run.sh", "scripts/part.sh"}, {":all", ":build", "lib:quick", "lib:part-a"}),
        ("make -k -j4 docs", {"scripts/docs.sh"}, {":docs"}),
        ("cd lib && make quick", {"scripts/part.sh"}, {"lib:quick", "lib:part-a"}),
        ("make -f lib/Makefile other", {"lib/Makefile"}, {":other"}),
        ("just go", {"scripts/go.sh"}, {":go", ":one"}),
        ("task go", {"scripts/task.sh"}, {":go", ":inner"}),
        ("npm run all", {"scripts/a.js"}, {":all", ":lint", ":a", ":b"}),
        ("npm t", set(), {":test"}),
        ("npm --prefix web run unit", {"web/jest.unit.js", "web/before.sh"}, {"web:unit", "web:preunit"}),
        ("cd web && yarn unit", {"web/jest.unit.js", "web/before.sh"}, {"web:unit", "web:preunit"}),
        ("pnpm -r run unit", set(), {"*:unit"}),
        ("./ci/all.sh", {"ci/all.sh", "ci/common.sh", "tools/check.py"}, set()),
        ("bash -e ci/all.sh", {"ci/all.sh", "ci/common.sh", "tools/check.py"}, set()),
        ("timeout 60 /workspace/ci/common.sh", {"ci/common.sh"}, set()),
        ("poetry run python -m tools.check", {"tools/check.py"}, set()),
        ("npx jest --config=web/jest.unit.js", {"web/jest.unit.js"}, set()),
        ("python calc.py && node app.js && python manage.py test", set(), set()),
        ("hatch run dev:cov", set(), {":cov"}),
        ("poe check", set(), {":check"}),
    ],
)
def test_what_a_command_uses_is_found(project: Project, command: str, files: set[str], names: set[str]) -> None:
    told = found(project, command)
    assert told.files == files
    assert {f"{folder}:{name}" for folder, name in told.names} == names


def test_targets_that_a_file_of_their_name_would_stop_are_known(project: Project) -> None:
    assert found(project, "make").goals == {"build", "lib/quick"}


def test_scripts_that_are_about_tests_count_without_a_command(tmp_path: Path) -> None:
    package = '{"scripts": {"test": "sh u.sh"}}'
    files: dict[str, What] = {"Makefile": "test:\n\t./t.sh\n", "t.sh": "", "package.json": package, "u.sh": ""}
    project = begun(tmp_path / "own", files)
    assert found(project).files == {"t.sh", "u.sh"}


@pytest.mark.parametrize(
    "command",
    [
        "make " * 20_000,
        "npm run " + "a" * 100_000,
        "cd ../../..; ./x",
        "$(" * 3000,
        "make -C",
        "bash",
        "\0",
        "npm run all; " * 500,
    ],
)
def test_odd_commands_end(project: Project, command: str) -> None:
    assert found(project, command).files <= {"scripts/a.js", "scripts/run.sh", "scripts/part.sh"}


def test_files_that_call_one_another_end(tmp_path: Path) -> None:
    many: dict[str, What] = {f"s{number}.sh": f"./s{number + 1}.sh\n./s0.sh\n" for number in range(300)}
    project = begun(tmp_path / "round", {**many, "Makefile": "a: b\n\nb: a\n\t$(MAKE) a\n"})
    assert 150 < len(found(project, "./s0.sh", "make a").files) <= 210
