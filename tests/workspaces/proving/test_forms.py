"""What test tools print and leave behind, as their makers describe it. Nothing was run for go, nextest, jest, vitest,
mocha, bun, rspec, minitest, maven, gradle, phpunit and bats: they are not installed here, so these are written down by
hand from the forms that they document."""

import json
from pathlib import Path

import pytest

from workspaces.proving import reading
from workspaces.proving.adapting import REPORTS, Adapted, adapted


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "home" / Path(REPORTS).name).mkdir(parents=True)
    (tmp_path / "tree").mkdir()
    return tmp_path / "home", tmp_path / "tree"


def _read(places: tuple[Path, Path], command: str, output: str) -> tuple[str, dict[str, str], bool]:
    return reading.read(adapted(command), output.encode(), *places)


def _leave(places: tuple[Path, Path], command: str, text: str) -> Adapted:
    """Leave a report where the adapted command says."""
    found = adapted(command)
    (name,) = (word.rpartition("/")[2] for word in found.command.split() if REPORTS in word)
    (places[0] / Path(REPORTS).name / name).write_text(text)
    return found


GO_EVENTS = [
    {"Action": "start", "Package": "x/a"},
    {"Action": "run", "Package": "x/a", "Test": "TestOne"},
    {"Action": "output", "Package": "x/a", "Test": "TestOne", "Output": "--- FAIL: TestTwo (0.00s)\n"},
    {"Action": "pass", "Package": "x/a", "Test": "TestOne", "Elapsed": 0.01},
    {"Action": "run", "Package": "x/a", "Test": "TestTwo/part_1"},
    {"Action": "fail", "Package": "x/a", "Test": "TestTwo/part_1"},
    {"Action": "skip", "Package": "x/a", "Test": "TestThree"},
    {"Action": "run", "Package": "x/a", "Test": "TestPanics"},
    {"Action": "fail", "Package": "x/a", "Elapsed": 0.2},
    {"ImportPath": "x/b [x/b.test]", "Action": "build-output", "Output": "b.go:3: undefined: y\n"},
    {"ImportPath": "x/b [x/b.test]", "Action": "build-fail"},
    {"Action": "fail", "Package": "x/b", "Elapsed": 0, "FailedBuild": "x/b [x/b.test]"},
    {"Action": "skip", "Package": "x/none", "Elapsed": 0},
    {"Action": "pass", "Package": "x/ok", "Elapsed": 0},
]


def test_go_as_json(places: tuple[Path, Path]) -> None:
    output = "\n".join([*map(json.dumps, GO_EVENTS), "FAIL\tx/older [build failed]"]) + "\n"
    assert _read(places, "go test ./...", output)[:2] == (
        "go",
        {
            "x/a.TestOne": "passed",
            "x/a.TestTwo/part_1": "failed",
            "x/a.TestThree": "skipped",
            "x/a.TestPanics": "failed",
            "x/b": "failed",
            "x/older": "failed",
        },
    )
    shown = reading.told(adapted("go test ./..."), output.encode()).decode()
    assert shown.splitlines() == ["--- FAIL: TestTwo (0.00s)", "b.go:3: undefined: y", "FAIL\tx/older [build failed]"]


GO_VERBOSE = """\
=== RUN   TestOne
--- PASS: TestOne (0.00s)
=== RUN   TestTwo
=== RUN   TestTwo/part_1
    a_test.go:9: wrong
--- FAIL: TestTwo (0.00s)
    --- FAIL: TestTwo/part_1 (0.00s)
=== RUN   TestThree
--- SKIP: TestThree (0.00s)
FAIL
FAIL\tx/a\t0.004s
?   \tx/none\t[no test files]
=== RUN   TestOne
--- PASS: TestOne (0.00s)
PASS
ok  \tx/b\t0.003s
=== RUN   TestPanics
panic: oh
FAIL\tx/c\t0.003s
FAIL\tx/d [build failed]
FAIL
"""


def test_go_as_text(places: tuple[Path, Path]) -> None:
    assert _read(places, "go test -v ./... | tee log", GO_VERBOSE)[1] == {
        "x/a.TestOne": "passed",
        "x/a.TestTwo": "failed",
        "x/a.TestTwo/part_1": "failed",
        "x/a.TestThree": "skipped",
        "x/b.TestOne": "passed",
        "x/c.TestPanics": "failed",
        "x/d": "failed",
    }
    brief = "--- FAIL: TestTwo (0.00s)\nFAIL\nFAIL\tx/a\t0.004s\nok  \tx/b\t(cached)\n"
    assert _read(places, "make test", brief)[1] == {"x/a": "failed", "x/a.TestTwo": "failed", "x/b": "passed"}


NEXTEST = """\
   Compiling made v0.1.0
    Starting 5 tests across 2 binaries (1 test skipped)
        PASS [   0.005s] (1/5) made tests::adds
        FAIL [   0.006s] (2/5) made tests::bad
     SIGABRT [   0.106s] made::api aborts
  TRY 1 FAIL [   0.003s] made::api flaky
  TRY 2 PASS [   0.003s] made::api flaky
        SLOW [> 60.000s] made::api slow
     TIMEOUT [  90.000s] made::api slow
────────────
     Summary [  90.120s] 5 tests run: 2 passed (1 flaky), 3 failed, 1 skipped
        FAIL [   0.006s] (2/5) made tests::bad
"""


def test_nextest(places: tuple[Path, Path]) -> None:
    assert _read(places, "cargo nextest run", NEXTEST)[1] == {
        "made::tests::adds": "passed",
        "made::tests::bad": "failed",
        "made::api::aborts": "failed",
        "made::api::flaky": "passed",
        "made::api::slow": "failed",
    }


JEST = {
    "numFailedTests": 1,
    "testResults": [
        {
            "name": "/workspace/src/a.test.js",
            "status": "failed",
            "assertionResults": [
                {"ancestorTitles": ["sum", "of two"], "title": "adds", "status": "passed", "duration": 3},
                {"ancestorTitles": [], "title": "fails", "status": "failed"},
                {"ancestorTitles": [], "title": "waits", "status": "pending"},
                {"ancestorTitles": [], "title": "later", "status": "todo"},
            ],
        },
        {"name": "/workspace/src/b.test.js", "status": "failed", "message": "Cannot find", "assertionResults": []},
    ],
}


@pytest.mark.parametrize("command", ["npx jest", "npx vitest run"])
def test_jest_and_vitest_by_their_report(places: tuple[Path, Path], command: str) -> None:
    found = _leave(places, command, json.dumps(JEST))
    reader, tests, _ = reading.read(found, b"", *places)
    assert reader == command.split()[1]
    assert tests == {
        "src/a.test.js::sum > of two > adds": "passed",
        "src/a.test.js::fails": "failed",
        "src/a.test.js::waits": "skipped",
        "src/a.test.js::later": "skipped",
        "src/b.test.js": "failed",
    }


JEST_TEXT = """\
FAIL src/a.test.js
  sum
    of two
      ✓ adds (3 ms)
    ✕ fails (1 ms)
  ○ skipped waits

  ● sum › fails

    expect(received).toBe(expected)

      > 1 | expect(1).toBe(2)

FAIL src/b.test.js
  ● Test suite failed to run

    Cannot find module 'x' from 'src/b.test.js'

PASS src/c.test.js (5.1 s)
  ✓ alone

Test Suites: 2 failed, 1 passed, 3 total
Tests:       1 failed, 1 skipped, 2 passed, 4 total
"""


def test_jest_by_its_text(places: tuple[Path, Path]) -> None:
    assert _read(places, "make test", JEST_TEXT)[1] == {
        "src/a.test.js::sum > of two > adds": "passed",
        "src/a.test.js::sum > fails": "failed",
        "src/a.test.js::waits": "skipped",
        "src/b.test.js": "failed",
        "src/c.test.js::alone": "passed",
    }
    brief = "PASS src/a.test.js\nFAIL src/b.test.js\n\nTests:       1 failed, 2 passed, 3 total\n"
    assert _read(places, "make test", brief)[1] == {"src/a.test.js": "passed", "src/b.test.js": "failed"}


MOCHA = """\

  sum
    ✔ adds
    ✔ adds a lot (1200ms)
    1) fails
    - waits

    of three
      ✓ adds


  3 passing (1s)
  1 pending
  1 failing

  1) sum
       fails:
     Error: no
"""
VITEST = """\
 ✓ src/a.test.ts > sum > adds 2ms
 × src/a.test.ts > fails 5ms
   → expected 1 to be 2
 ↓ src/a.test.ts > waits

⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯

 Test Files  1 failed (1)
      Tests  1 failed | 1 passed | 1 skipped (3)
"""
BUN = """\
bun test v1.2.0

a.test.ts:
(pass) sum > adds [0.12ms]
(fail) fails [1.00ms]
(skip) waits

 1 pass
 1 skip
 1 fail
Ran 3 tests across 1 files. [10.00ms]
"""


def test_lists_with_marks(places: tuple[Path, Path]) -> None:
    assert _read(places, "npx mocha", MOCHA)[1] == {
        "sum > adds": "passed",
        "sum > adds a lot": "passed",
        "sum > fails": "failed",
        "sum > waits": "skipped",
        "sum > of three > adds": "passed",
    }
    assert _read(places, "make test", VITEST)[1] == {
        "src/a.test.ts > sum > adds": "passed",
        "src/a.test.ts > fails": "failed",
        "src/a.test.ts > waits": "skipped",
    }
    assert _read(places, "bun test", BUN)[1] == {
        "a.test.ts::sum > adds": "passed",
        "a.test.ts::fails": "failed",
        "a.test.ts::waits": "skipped",
    }


def test_tap_of_others(places: tuple[Path, Path]) -> None:
    tap = "1..5\nok 1 - one\nnot ok 2 two\nok 3 three # skip why\nnot ok 4 - four # TODO\nok 5 - five # time=3ms\n"
    expected = {"one": "passed", "two": "failed", "three": "skipped", "four": "skipped", "five": "passed"}
    assert _read(places, "bats test", tap)[1] == expected
    assert _read(places, "prove -r t", "t/a.t .. ok\nt/b.t .. Failed 1/2 subtests\nt/c.t .. skipped: why\n")[1] == {
        "t/a.t": "passed",
        "t/b.t": "failed",
        "t/c.t": "skipped",
    }


def test_rspec_and_minitest(places: tuple[Path, Path]) -> None:
    examples = [
        {"full_description": "Sum adds", "status": "passed", "file_path": "./spec/a_spec.rb", "run_time": 0.1},
        {"full_description": "Sum fails", "status": "failed", "file_path": "./spec/a_spec.rb"},
        {"full_description": "Sum waits", "status": "pending", "file_path": "./spec/a_spec.rb"},
    ]
    messages = ["\nAn error occurred while loading ./spec/b_spec.rb.\nFailure/Error: x"]
    found = _leave(places, "bundle exec rspec", json.dumps({"examples": examples, "messages": messages}))
    assert reading.read(found, b"", *places)[1] == {
        "spec/a_spec.rb::Sum adds": "passed",
        "spec/a_spec.rb::Sum fails": "failed",
        "spec/a_spec.rb::Sum waits": "skipped",
        "spec/b_spec.rb": "failed",
    }
    minitest = "A#test_one = 0.00 s = .\nA#test_two = 0.01 s = F\nB#test_x = 0.00 s = S\nB#test_y = 0.00 s = E\n\n"
    assert _read(places, "rake test", f"{minitest}4 runs, 4 assertions, 1 failures, 1 errors, 1 skips\n")[1] == {
        "A#test_one": "passed",
        "A#test_two": "failed",
        "B#test_x": "skipped",
        "B#test_y": "failed",
    }


SUREFIRE = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" name="x.SumTest" tests="4" errors="1" skipped="1">
  <properties><property name="java.version" value="17"/></properties>
  <testcase name="adds" classname="x.SumTest" time="0.01"/>
  <testcase name="fails" classname="x.SumTest"><failure message="no" type="E"><![CDATA[x]]></failure></testcase>
  <testcase name="breaks" classname="x.SumTest"><error type="E"/><system-out>testcase</system-out></testcase>
  <testcase name="waits" classname="x.SumTest"><skipped message="why"/></testcase>
</testsuite>
"""
OF_SUREFIRE = {
    "x.SumTest::adds": "passed",
    "x.SumTest::fails": "failed",
    "x.SumTest::breaks": "failed",
    "x.SumTest::waits": "skipped",
}


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("mvn -q verify", "core/target/surefire-reports/TEST-x.SumTest.xml"),
        ("mvn -q verify", "target/failsafe-reports/TEST-x.SumIT.xml"),
        ("./gradlew test", "app/build/test-results/test/TEST-x.SumTest.xml"),
        ("make test", "build/test-results/test/TEST-x.SumTest.xml"),
        ("pytest --junitxml=out/mine.xml", "out/mine.xml"),
    ],
)
def test_xml_that_a_build_left_in_the_tree(places: tuple[Path, Path], command: str, path: str) -> None:
    report = places[1] / path
    report.parent.mkdir(parents=True)
    report.write_text(SUREFIRE)
    (places[1] / "pom.xml").write_text(SUREFIRE)
    assert _read(places, command, "")[:2] == ("junit", OF_SUREFIRE)
    later = report.stat().st_mtime_ns + 1
    assert reading.read(adapted(command), b"", *places, since_ns=later)[1] == {}


def test_phpunit_by_its_report(places: tuple[Path, Path]) -> None:
    found = adapted("vendor/bin/phpunit")
    name = found.command.rpartition("/")[2]
    nested = '<testsuites><testsuite name="a"><testsuite name="T"><testcase name="testX with data set #0" '
    nested += (
        'class="T" classname="T" file="/workspace/T.php" line="9" time="0.1"/></testsuite></testsuite></testsuites>'
    )
    (places[0] / Path(REPORTS).name / name).write_text(nested)
    assert reading.read(found, b"", *places)[:2] == ("phpunit", {"T::testX with data set #0": "passed"})


PYTEST_VERBOSE = """\
============ test session starts ============
tests/test_a.py::test_one PASSED          [ 25%]
tests/test_a.py::test_two[a - b] \x1b[31mFAILED\x1b[0m [ 50%]
tests/test_a.py::test_three SKIPPED (why) [ 75%]
tests/test_a.py::test_four XFAIL          [100%]
FAILED tests/test_a.py::test_two[a - b] - assert 0
==== 1 failed, 1 passed, 1 skipped, 1 xfailed in 0.10s ====
"""


def test_pytest_by_its_text(places: tuple[Path, Path]) -> None:
    assert _read(places, "tox", PYTEST_VERBOSE)[1] == {
        "tests/test_a.py::test_one": "passed",
        "tests/test_a.py::test_two[a - b]": "failed",
        "tests/test_a.py::test_three": "skipped",
        "tests/test_a.py::test_four": "skipped",
    }
    summary = "PASSED a.py::x\nFAILED a.py::y - assert\nERROR b.py - Import\n1 failed, 1 passed, 1 error in 0.1s\n"
    assert _read(places, "tox", summary)[1] == {"a.py::x": "passed", "a.py::y": "failed", "b.py": "failed"}
    shared = "[gw0] [ 50%] PASSED a.py::x \n[gw1] [100%] FAILED a.py::y \n== 1 failed, 1 passed in 1.00s (0:00:01) ==\n"
    assert set(_read(places, "tox", shared)[1].values()) == {"passed", "failed"}
    assert _read(places, "tox", "....F\n1 failed, 4 passed in 0.1s\n")[1] == {}


def test_output_without_tests_is_nobodys(places: tuple[Path, Path]) -> None:
    lint = "src/a.py:3: error: no\nFound 1 error in 1 file (checked 3 source files)\n✔ all good\nok\n1) first\n"
    assert _read(places, "make lint", lint) == ("", {}, False)
    assert _read(places, "mypy .", PYTEST_VERBOSE) == ("", {}, False)
