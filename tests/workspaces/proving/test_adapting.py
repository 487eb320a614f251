"""What is run in place of a verify command: the same, with words added where a test tool stands in plain sight."""

import itertools
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workspaces.proving.adapting import ANY, REPORTS, adapted

SCRIPTS = {
    "test": "jest",
    "unit": "npm run lint && vitest run",
    "lint": "eslint .",
    "node": "node --test",
    "file": "node --test a.test.js",
    "piped": "jest | cat",
    "nested": "npm test",
    "mocha": "mocha",
    "dashes": "jest -- some",
}
ADDED = [
    ("pytest -q tests", "pytest --junitxml=R-1.pytest.xml -q tests"),
    ("python3.11 -W error -m pytest", "python3.11 -W error -m pytest --junitxml=R-1.pytest.xml"),
    (".venv/bin/pytest -n 4", ".venv/bin/pytest --junitxml=R-1.pytest.xml -n 4"),
    ("poetry run pytest", "poetry run pytest --junitxml=R-1.pytest.xml"),
    ("uv run --with x python -m pytest a", "uv run --with x python -m pytest --junitxml=R-1.pytest.xml a"),
    ("coverage run --branch -m pytest", "coverage run --branch -m pytest --junitxml=R-1.pytest.xml"),
    ("timeout -k 5 600 pytest -x", "timeout -k 5 600 pytest --junitxml=R-1.pytest.xml -x"),
    ("cd a && X=1 pytest 'é b' > f 2>&1", "cd a && X=1 pytest --junitxml=R-1.pytest.xml 'é b' > f 2>&1"),
    ("(cd a; pytest) ; ! pytest", "(cd a; pytest --junitxml=R-1.pytest.xml) ; ! pytest --junitxml=R-2.pytest.xml"),
    ("pytest # all of them", "pytest --junitxml=R-1.pytest.xml # all of them"),
    ('echo "é" && pytest "$@"', 'echo "é" && pytest --junitxml=R-1.pytest.xml "$@"'),
    ("python -m unittest discover -s t", "python -m unittest discover -v -s t"),
    ("python -m unittest 2>&1 | tee log", "python -m unittest -v 2>&1 | tee log"),
    ("python manage.py test app", "python manage.py test -v 2 app"),
    ("go test ./...", "go test -json ./..."),
    ("go -C sub test ./...", "go -C sub test -json ./..."),
    ("cargo +nightly test -- --nocapture", "cargo +nightly test --no-fail-fast -- --nocapture"),
    ("cargo nextest run", "cargo nextest run --no-fail-fast"),
    ("npx --yes jest --ci", "npx --yes jest --json --outputFile=R-1.jest.json --ci"),
    ("node node_modules/jest/bin/jest.js", "node node_modules/jest/bin/jest.js --json --outputFile=R-1.jest.json"),
    ("npm test", "npm test -- --json --outputFile=R-1.jest.json"),
    ("npm run test -- a", "npm run test -- --json --outputFile=R-1.jest.json a"),
    ("yarn test", "yarn test --json --outputFile=R-1.jest.json"),
    ("bundle exec rspec", "bundle exec rspec --format json --out R-1.rspec.json --format progress"),
    ("vendor/bin/phpunit", "vendor/bin/phpunit --log-junit R-1.phpunit.xml"),
    ("rake test", "rake test TESTOPTS=-v"),
]
UNTOUCHED = [
    ("pytest --junitxml=mine.xml", "pytest"),
    ("pytest -p no:junitxml", "pytest"),
    ("go test ./... | grep -v x", "go"),
    ("go test -json ./...", "go"),
    ("python -m unittest -v", "unittest"),
    ("python -m unittest > log", "unittest"),
    ("npx jest --json", "jest"),
    ('npx jest "$ARGS"', "jest"),
    ("node --test --test-reporter=dot", "node"),
    ("npm run file", "node"),
    ("npm run mocha", "mocha"),
    ("npm run dashes", "jest"),
    ("ctest --test-dir build", "ctest"),
    ("mvn -q test", "maven"),
    ("./gradlew check", "gradle"),
    ("ruff check . && mypy src", ""),
    ("uv run ruff check . && cargo clippy && npm ci", ""),
]
BY_VARIABLE = [
    "make test",
    "tox",
    "./run-tests.sh",
    "bash -c 'pytest'",
    "echo $(pytest)",
    "if pytest; then true; fi",
    "for x in 1 2; do pytest; done",
    "pytest() { echo; }; pytest",
    "alias pytest=echo; pytest",
    "pytest <<X\npytest\nX",
    "pytest \\\n -q",
    "exec -a pytest foo",
    "command -v pytest",
    "npx -p jest foo",
    "uv run --unknown pytest foo",
    "npm run piped",
    "npm run nested",
    "npm --prefix web test",
    "npm run nothing",
    "x=pytest; $x",
    "pytest 'never ends",
]


def _short(command: str) -> str:
    return re.sub(rf"{REPORTS}/[0-9a-f]{{8}}", "R", command)


@pytest.mark.parametrize(("command", "expected"), ADDED)
def test_words_are_put_right_after_the_tool(command: str, expected: str) -> None:
    found = adapted(command, SCRIPTS)
    assert _short(found.command) == expected
    assert ANY not in found.reader
    assert not found.env


@pytest.mark.parametrize(("command", "reader"), UNTOUCHED)
def test_what_asks_for_it_itself_or_can_only_be_harmed_is_left_alone(command: str, reader: str) -> None:
    found = adapted(command, SCRIPTS)
    assert (found.command, found.reader, found.env) == (command, reader, ())


@pytest.mark.parametrize("command", BY_VARIABLE)
def test_behind_other_programs_a_variable_has_to_do(command: str) -> None:
    found = adapted(command, SCRIPTS)
    assert found.command == command
    assert ANY in found.reader.split("+")
    assert dict(found.env)["PYTEST_ADDOPTS"].startswith(f"--junitxml={REPORTS}/")


def test_a_script_of_package_json_is_seen_through() -> None:
    assert _short(adapted("npm run unit", SCRIPTS).command) == (
        "npm run unit -- --reporter=default --reporter=json --outputFile.json=R-1.vitest.json"
    )
    assert "--test-reporter=tap" in adapted("npm run node", SCRIPTS).command
    assert adapted("npm test").command == "npm test"  # without scripts nothing is known


def test_a_script_that_calls_itself_ends() -> None:
    assert adapted("yarn a", {"a": "yarn b", "b": "yarn a"}).command == "yarn a"


def test_every_invocation_and_every_command_has_a_report_of_its_own() -> None:
    reports = [
        report
        for command in ("pytest a && pytest b", "pytest a; pytest b")
        for report in re.findall(r"--junitxml=(\S+)", adapted(command).command)
    ]
    assert len(set(reports)) == len(reports) == 4
    assert adapted("pytest a && pytest b") == adapted("pytest a && pytest b")


@pytest.mark.parametrize("hostile", ["pytest \x00", "pytest \ud800", "(" * 5000, "pytest " * 5000, "a|" * 3000, ""])
def test_odd_lines_are_run_as_they_are(hostile: str) -> None:
    assert adapted(hostile).command == hostile


# --- the same meaning -----------------------------------------------------------------------------

STAND_IN = """#!/bin/bash
# says what it was told, without what may be added
for word; do
  case "$word" in
    -v|--no-fail-fast|-json|--json|--junitxml=/home/*|--outputFile=/home/*) ;;
    *) printf '<%s>' "$word" ;;
  esac
done
echo; exit "${CODE:-0}"
"""
_WORDS = st.sampled_from(
    [
        "-q",
        "'a b'",
        '"c $HOME"',
        "$X",
        "a\\ b",
        "-k 'x or y'",
        "*.py",
        "{a,b}",
        "a=b",
        "é",
        "--",
        "'it''s'",
        '"`echo x`"',
    ]
)
_TOOLS = st.sampled_from(
    [
        "pytest",
        "CODE=3 pytest",
        "python -m pytest",
        "go test",
        "cargo test",
        "jest",
        "env A=1 pytest",
        "echo",
        "nice -n 1 pytest",
    ]
)
_ENDS = st.sampled_from(
    ["", " > out", " 2>&1", " >/dev/null", " | cat", " | tee log", " < /dev/null", " # pytest", " &>> f"]
)
_SIMPLE = st.builds(
    lambda tool, words, end: " ".join([tool, *words]) + end, _TOOLS, st.lists(_WORDS, max_size=3), _ENDS
)


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(inner, st.sampled_from([" && ", " || ", "; ", "\n", " | "]), inner)
    return st.one_of(
        pairs.map(lambda pair: f"{pair[0]}\n{pair[2]}" if "#" in pair[0] else "".join(pair)),
        inner.map(lambda line: f"( {line}\n)"),
        inner.map(lambda line: f"{{ {line}\n}}"),
        inner.map(lambda line: f"! {line}"),
        inner.map(lambda line: f'echo "$({line}\n)"'),
        inner.map(lambda line: f"if {line}\nthen echo y; fi"),
        inner.map(lambda line: f"for i in 1 2; do {line}\ndone"),
        inner.map(lambda line: f"cat <<X\n{line}\nX"),
        inner.map(lambda line: f"g() {{ {line}\n}}; g"),
    )


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    for name in ("pytest", "python", "go", "cargo", "jest"):
        (folder / name).write_text(STAND_IN)
        (folder / name).chmod(0o755)
    return folder


def _ran(line: str, programs: Path, folder: Path) -> tuple[int, bytes, dict[str, bytes]]:
    folder = folder / "here"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": "/home/agent", "X": "two words", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["bash", "-c", line], cwd=folder, env=env, capture_output=True, timeout=20)
    files = {each.name: b"" if each.name.startswith("log") else each.read_bytes() for each in folder.iterdir()}
    return done.returncode, done.stdout, files  # what tee wrote depends on how long it was read


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=st.recursive(_SIMPLE, _grown, max_leaves=4))
def test_an_adapted_line_is_read_by_bash_and_means_the_same(line: str, programs: Path, tmp_path: Path) -> None:
    numbers = itertools.count()
    line = re.sub(r" (out|log|f)(?!\w)", lambda name: f" {name[1]}{next(numbers)}", line)  # no two write to one file
    found = adapted(line).command
    checks = [subprocess.run(["bash", "-n", "-c", text], capture_output=True).returncode for text in (line, found)]
    assert checks[0] == checks[1]
    assert _ran(found, programs, tmp_path) == _ran(line, programs, tmp_path)


@settings(max_examples=200, deadline=None)
@given(line=st.text(st.sampled_from("pytest jest \n'\"$(){}[];&|<>\\`#!*é=-"), max_size=60))
def test_no_text_is_made_unreadable_to_bash(line: str) -> None:
    found = adapted(line).command
    if found != line:
        checks = [subprocess.run(["bash", "-n", "-c", text], capture_output=True).returncode for text in (line, found)]
        assert checks[0] == checks[1]
