"""Test tools that run for real: what they are told to add is what is read, and a change is seen test by test."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from workspaces.proving import reading
from workspaces.proving.adapting import REPORTS, Adapted, adapted

Read = tuple[str, dict[str, str], bool]


class Project:
    """A tree and a HOME; commands run in it as they would in a sandbox, with the folder of reports in its place."""

    def __init__(self, folder: Path) -> None:
        self.tree, self.home = folder / "tree", folder / "home"
        self.output = b""
        self.tree.mkdir()

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def run(self, command: str) -> tuple[int, Read]:
        reports = self.home / Path(REPORTS).name
        shutil.rmtree(reports, ignore_errors=True)
        reports.mkdir(parents=True)
        found = adapted(command)
        here = {name: value.replace(REPORTS, str(reports)) for name, value in found.env}
        found = Adapted(found.command.replace(REPORTS, str(reports)), found.reader, tuple(here.items()))
        keep = {key: os.environ[key] for key in ("HOME", "CARGO_HOME", "RUSTUP_HOME") if key in os.environ}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        env = {**keep, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1", "LANG": "C.UTF-8"}
        env |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **here}  # those of this checkout take most of its start
        done = subprocess.run(
            ["bash", "-c", found.command], cwd=self.tree, env=env, stdout=-1, stderr=subprocess.STDOUT, timeout=120
        )
        self.output = done.stdout
        return done.returncode, reading.read(found, done.stdout, self.home, self.tree)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


PYTHON_TESTS = """
import unittest
class T(unittest.TestCase):
    def test_ok(self): "Says what it does."
    def test_bad(self): self.fail()
    @unittest.skip("why")
    def test_skipped(self): pass
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    def test_prints(self): print("no end", end="")
    def test_parts(self):
        for part in (1, 2):
            with self.subTest(part=part): self.assertEqual(part, 1)
"""
PYTEST_TESTS = """
import pytest
def test_ok(): print("FAILED tests/test_a.py::test_ok")
def test_bad(): assert 0
@pytest.mark.skip(reason="x")
def test_skipped(): pass
@pytest.mark.xfail
def test_expected(): assert 0
@pytest.mark.parametrize("word", ["a b", "é", "\\x00"])
def test_words(word): pass
@pytest.fixture
def breaks():
    yield
    raise RuntimeError
def test_torn_down(breaks): pass
"""
OF_PYTEST = {
    "tests.test_a::test_ok": "passed",
    "tests.test_a::test_bad": "failed",
    "tests.test_a::test_skipped": "skipped",
    "tests.test_a::test_expected": "skipped",
    "tests.test_a::test_words[a b]": "passed",
    "tests.test_a::test_words[\\xe9]": "passed",
    "tests.test_a::test_words[\\x00]": "passed",
    "tests.test_a::test_torn_down": "failed",
}


@pytest.mark.parametrize(
    "command",
    ["pytest -q -p no:cacheprovider", "python -W ignore -m pytest -v", "cd tests && pytest -qq .. | cat"],
)
def test_pytest_is_read_from_its_report(project: Project, command: str) -> None:
    project.write({"tests/__init__.py": "", "tests/test_a.py": PYTEST_TESTS, "pytest.ini": "[pytest]\n"})
    code, (reader, tests, is_cut) = project.run(command)
    assert (code, reader, is_cut) == (0 if "| cat" in command else 1, "pytest", False)
    assert tests == OF_PYTEST


def test_a_file_that_pytest_cannot_collect_failed(project: Project) -> None:
    project.write({"tests/__init__.py": "", "tests/test_a.py": "import nowhere", "pytest.ini": "[pytest]\n"})
    code, (_, tests, _) = project.run("pytest -p no:cacheprovider")
    assert (code, tests) == (2, {"tests.test_a": "failed"})


def test_two_invocations_of_pytest_are_both_read(project: Project) -> None:
    project.write({"test_a.py": "def test_a(): pass", "test_b.py": "def test_b(): pass"})
    code, (_, tests, _) = project.run("pytest -q test_a.py && pytest -q test_b.py")
    assert (code, tests) == (0, {"test_a::test_a": "passed", "test_b::test_b": "passed"})


def test_pytest_behind_make_is_read_by_its_variable(project: Project) -> None:
    project.write({"Makefile": "test:\n\tpytest -q\n", "test_a.py": "def test_a(): pass"})
    assert project.run("make test")[1][:2] == ("pytest", {"test_a::test_a": "passed"})


def test_a_report_that_a_later_pytest_replaced_is_not_taken_for_the_whole(project: Project) -> None:
    project.write({"Makefile": "test:\n\tpytest -q test_a.py\n\tpytest -q test_b.py\n"})
    project.write({"test_a.py": "def test_a(): pass", "test_b.py": "def test_b(): pass"})
    code, (reader, tests, _) = project.run("make test")
    assert (code, reader, tests) == (0, "", {})
    project.write({"Makefile": "test:\n\tpytest -v test_a.py\n\tpytest -v test_b.py\n"})
    assert set(project.run("make test")[1][1]) == {"test_a.py::test_a", "test_b.py::test_b"}


@pytest.mark.parametrize("command", ["python -m unittest", "python -m unittest discover -s tests -t ."])
def test_unittest_is_read_from_what_it_prints(project: Project, command: str) -> None:
    project.write({"tests/__init__.py": "", "tests/test_a.py": PYTHON_TESTS, "tests/test_b.py": "import nowhere"})
    code, (reader, tests, _) = project.run(command)
    assert (code, reader) == (1, "unittest")
    assert tests == {
        "tests.test_a.T.test_ok": "passed",
        "tests.test_a.T.test_bad": "failed",
        "tests.test_a.T.test_skipped": "skipped",
        "tests.test_a.T.test_expected": "skipped",
        "tests.test_a.T.test_prints": "passed",
        "tests.test_a.T.test_parts": "failed",
        "tests.test_b": "failed",
    }


def test_unittest_without_its_names_is_not_understood(project: Project) -> None:
    project.write({"test_a.py": PYTHON_TESTS})
    assert project.run("python -m unittest -q")[1][:2] == ("", {})


NODE_TESTS = """
const {test, describe, it} = require('node:test'); const assert = require('assert');
test('adds', () => { console.log('ok 99 - made up'); });
test('fails # here', () => { assert.equal(1, 2); });
test('waits', {skip: 'why'}, () => {});
test('later', {todo: true}, () => { assert.equal(1, 2); });
describe('group', () => { it('inner', () => {}); describe('deep', () => { it('same', () => {}); }); });
test('same', () => {});
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed here")
@pytest.mark.parametrize("behind", [False, True])
def test_node_is_read_with_its_groups(project: Project, behind: bool) -> None:
    project.write({"test/a.test.js": NODE_TESTS, "test/b.test.js": "require('node:test').test('same', () => {});"})
    project.write({"test/c.test.js": "this is no code", "Makefile": "check:\n\tnode --test\n"})
    code, (reader, tests, _) = project.run("make check" if behind else "node --test")
    assert (code, reader) == ((2, "tap") if behind else (1, "node"))
    assert tests == {
        "adds": "passed",
        "fails # here": "failed",
        "waits": "skipped",
        "later": "skipped",
        "group > inner": "passed",
        "group > deep > same": "passed",
        "group > deep": "passed",
        "group": "passed",
        "same": "passed",
        "same #2": "passed",
        "test/c.test.js": "failed",
    }


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed here")
def test_the_list_of_node_is_read_as_well(project: Project) -> None:
    project.write({"test/a.test.js": NODE_TESTS})
    code, (reader, tests, _) = project.run("node --test --test-reporter=spec")
    assert (code, reader) == (1, "node")
    assert tests["group > deep > same"] == tests["adds"] == "passed"
    assert (tests["fails # here"], tests["later"], tests["waits"]) == ("failed", "skipped", "skipped")


RUST = """
/// ```
/// assert_eq!(made::add(1, 2), 3);
/// ```
/// ```should_panic
/// panic!()
/// ```
pub fn add(a: i32, b: i32) -> i32 { a + b }
#[cfg(test)] mod tests {
    #[test] fn adds() { println!("test made_up ... ok"); assert_eq!(super::add(1, 2), 3); }
    #[test] fn bad() { assert!(false) }
    #[test] #[ignore = "why"] fn ignored() {}
    #[test] #[should_panic] fn panics() { panic!() }
}
"""


def _has_cargo() -> bool:
    return shutil.which("cargo") is not None and subprocess.run(["cargo", "-V"], capture_output=True).returncode == 0


@pytest.mark.skipif(not _has_cargo(), reason="cargo is not installed here, or has no toolchain for this HOME")
def test_cargo_is_read_with_all_its_programs(project: Project) -> None:
    project.write({"Cargo.toml": '[package]\nname = "made"\nversion = "0.1.0"\nedition = "2021"\n', "src/lib.rs": RUST})
    project.write({"tests/api.rs": "#[test] fn works() {}"})
    code, (reader, tests, _) = project.run("cargo test --offline")
    assert (code, reader) == (101, "cargo")
    assert tests == {
        "made src/lib.rs::tests::adds": "passed",
        "made src/lib.rs::tests::bad": "failed",
        "made src/lib.rs::tests::ignored": "skipped",
        "made src/lib.rs::tests::panics": "passed",
        "api tests/api.rs::works": "passed",
        "made documentation::src/lib.rs - add": "passed",
        "made documentation::src/lib.rs - add #2": "passed",
    }
    project.write({"tests/api.rs": "#[test] fn works() { nothing }"})
    code, (_, tests, _) = project.run("cargo test --offline")
    assert code == 101
    assert tests['`made` (test "api") does not compile'] == "failed"


@pytest.mark.skipif(shutil.which("ctest") is None, reason="ctest is not installed here")
def test_ctest_is_read(project: Project) -> None:
    listed = {"good one": "true", "bad": "false", "waits": 'sh "-c" "exit 77"', "absent": "/nowhere/at/all"}
    text = "".join(f'add_test("{name}" {command})\n' for name, command in listed.items())
    text += 'set_tests_properties(waits PROPERTIES SKIP_RETURN_CODE "77")\n'
    text += 'add_test(off true)\nset_tests_properties(off PROPERTIES DISABLED "TRUE")\n'
    project.write({"CTestTestfile.cmake": text})
    code, (reader, tests, _) = project.run("ctest")
    assert (code, reader) == (8, "ctest")
    assert tests == {"good one": "passed", "bad": "failed", "waits": "skipped", "absent": "failed", "off": "skipped"}
