"""What options, scripts and targets mean: a change of meaning is found by name and lines, layout is none."""

import time

import pytest

from workspaces.integrity import configuration
from workspaces.integrity.findings import Finding, FindingKind


def found(path: str, old: str | None, new: str | None, *used: str) -> list[Finding]:
    before, now = (text.encode() if text is not None else None for text in (old, new))
    if configuration.reader_of(path) is None:
        return configuration.by_lines(path, before, now, "lines")
    return configuration.compare(path, before, now, frozenset(used))


PYTEST = "[pytest]\naddopts = -ra\ntestpaths = tests\n"
PROJECT = """\
[project]
name = "shop"
dependencies = ["requests>=2"]

[tool.ruff]
line-length = 100

[tool.pytest.ini_options]
addopts = "-ra"
testpaths = ["tests"]

[tool.coverage.report]
fail_under = 90

[tool.poe.tasks]
test = "pytest"
docs = "mkdocs"
"""
PACKAGE = """\
{
  "scripts": { "test": "jest", "build": "tsc", "unit": "jest unit" },
  "jest": { "testEnvironment": "node", "moduleNameMapper": {"^a$": "b"} },
  "dependencies": { "left-pad": "^1.3.0" }
}
"""
CARGO = """\
[package]
name = "shop"
version = "0.1.0"

[dependencies]
money = "1"

[[test]]
name = "totals"
path = "tests/totals.rs"
"""
MAKE = """\
PYTEST = python -m pytest
DOCS = sphinx

.PHONY: test docs

test: deps
\t$(PYTEST) tests

deps:
\tpip install .

docs:
\t$(DOCS) build
"""
TOX = (
    "[tox]\nenvlist = py311,lint\n\n[testenv]\ndeps = pytest\ncommands = pytest\n\n[testenv:lint]\ncommands = ruff .\n"
)
POM = """\
<project>
  <properties><java.version>17</java.version></properties>
  <modules><module>core</module></modules>
  <build><plugins>
    <plugin>
      <artifactId>maven-surefire-plugin</artifactId>
      <configuration><includes><include>**/*Test.java</include></includes></configuration>
    </plugin>
    <plugin><artifactId>maven-jar-plugin</artifactId></plugin>
  </plugins></build>
  <dependencies><dependency><artifactId>junit</artifactId><version>5</version></dependency></dependencies>
</project>
"""
GRADLE = """\
plugins { id 'java' }
dependencies {
    testImplementation 'org.junit:junit:5'
}
test {
    useJUnitPlatform()
}
"""
JUST = "set shell := ['bash', '-c']\n\ntest: build\n    pytest\n\nbuild:\n    make\n\ndocs:\n    mkdocs\n"
TASK = """\
version: '3'
tasks:
  test:
    deps: [build]
    cmds:
      - go test ./...
  build:
    cmds:
      - go build
  docs: mkdocs
"""
NOX = "import nox\n\n\n@nox.session\ndef tests(session):\n    session.run('pytest')\n"
MODULE = "module example.org/shop\n\ngo 1.22\n\nrequire example.org/money v1.2.0\n"
GEMS = "source 'https://packages.example.org'\ngem 'rspec'\n"
DENO = '{"tasks": {"test": "deno test"}, "imports": {"@std/assert": "jsr:@std/assert@1"}}\n'


@pytest.mark.parametrize(
    ("path", "old", "edit", "names"),
    [
        ("pytest.ini", PYTEST, ("-ra", "-ra --deselect tests/x.py::test_y"), ["[pytest] addopts"]),
        ("pytest.ini", PYTEST, ("testpaths = tests", "testpaths = src"), ["[pytest] testpaths"]),
        ("pytest.ini", PYTEST, ("testpaths = tests\n", ""), ["[pytest] testpaths"]),
        ("pytest.ini", PYTEST, ("-ra", "-ra\n    -p no:terminal"), ["[pytest] addopts"]),
        ("sub/.pytest.ini", PYTEST, ("-ra", "-x"), ["[pytest] addopts"]),
        (
            "setup.cfg",
            "[metadata]\nname = a\n",
            ("[metadata]", "[tool:pytest]\naddopts = -x\n[metadata]"),
            ["[tool:pytest] addopts"],
        ),
        (
            "setup.cfg",
            "[metadata]\nname = a\n",
            ("name = a\n", "name = a\n[aliases]\ntest = true\n"),
            ["[aliases] test"],
        ),
        ("tox.ini", TOX, ("commands = pytest", "commands = -pytest"), ["[testenv] commands"]),
        ("tox.ini", TOX, ("[testenv]\n", "[testenv]\nignore_outcome = true\n"), ["[testenv] ignore_outcome"]),
        ("tox.ini", TOX, ("[tox]\n", "[pytest]\naddopts = -x\n[tox]\n"), ["[pytest] addopts"]),
        (".coveragerc", "[run]\nsource = shop\n", ("source = shop", "source = shop\nomit = shop/*"), ["[run] omit"]),
        (
            "pyproject.toml",
            PROJECT,
            ('addopts = "-ra"', 'addopts = "-ra -k not_total"'),
            ["tool.pytest.ini_options.addopts"],
        ),
        ("pyproject.toml", PROJECT, ('testpaths = ["tests"]\n', ""), ["tool.pytest.ini_options.testpaths"]),
        ("pyproject.toml", PROJECT, ("fail_under = 90", "fail_under = 10"), ["tool.coverage.report.fail_under"]),
        ("pyproject.toml", PROJECT, ('test = "pytest"', 'test = "true"'), ["tool.poe.tasks.test"]),
        (
            "pyproject.toml",
            PROJECT,
            ("[tool.ruff]", '[project.entry-points.pytest11]\nx = "shop.x"\n\n[tool.ruff]'),
            ["project.entry-points.pytest11.x"],
        ),
        (
            "pyproject.toml",
            "[tool]\n",
            ("[tool]", "[tool]\npytest.ini_options = {addopts = '-x'}"),
            ["tool.pytest.ini_options.addopts"],
        ),
        ("package.json", PACKAGE, ('"test": "jest"', '"test": "jest || true"'), ["scripts.test"]),
        ("package.json", PACKAGE, ('"build": "tsc"', '"build": "tsc", "pretest": "node x.js"'), ["scripts.pretest"]),
        ("package.json", PACKAGE, ('"unit": "jest unit"', '"unit": "true"'), ["scripts.unit"]),
        ("package.json", PACKAGE, ('"^a$": "b"', '"^a$": "c"'), ["jest.moduleNameMapper.^a$"]),
        (
            "package.json",
            PACKAGE,
            ('"jest": {', '"overrides": {"jest": "npm:fake@1"},\n  "jest": {'),
            ["overrides.jest"],
        ),
        ("package.json", PACKAGE, ('"left-pad": "^1.3.0"', '"left-pad": "file:./fake"'), ["left-pad (source)"]),
        (
            "package.json",
            PACKAGE,
            ('"dependencies": {', '"imports": {"#db": "./fake.js"}, "dependencies": {'),
            ["imports.#db"],
        ),
        ("deno.json", DENO, ('"deno test"', '"true"'), ["tasks.test"]),
        ("deno.json", DENO, ("jsr:@std/assert@1", "./fake.ts"), ["imports.@std/assert"]),
        ("tsconfig.json", '{"compilerOptions": {"paths": {"@/*": ["src/*"]}}}', ("src/*", "fake/*"), ["paths @/*"]),
        ("Cargo.toml", CARGO, ('version = "0.1.0"', 'version = "0.1.0"\nautotests = false'), ["package.autotests"]),
        ("Cargo.toml", CARGO, ('path = "tests/totals.rs"', 'path = "tests/totals.rs"\nharness = false'), ["test"]),
        ("Cargo.toml", CARGO, ('money = "1"', 'money = { path = "fake" }'), ["dependencies.money (source)"]),
        ("Cargo.toml", CARGO, ("[[test]]", "[lib]\ntest = false\n\n[[test]]"), ["lib.test"]),
        (
            "Cargo.toml",
            CARGO,
            ("[[test]]", "[profile.test]\noverflow-checks = false\n\n[[test]]"),
            ["profile.test.overflow-checks"],
        ),
        (".cargo/config.toml", "[net]\noffline = true\n", ("[net]", "[alias]\ntest = 'check'\n[net]"), ["alias.test"]),
        (
            ".config/nextest.toml",
            "[profile.default]\nretries = 0\n",
            ("retries = 0", "retries = 9"),
            ["profile.default.retries"],
        ),
        ("Makefile", MAKE, ("\t$(PYTEST) tests", "\t-$(PYTEST) tests"), ["target test"]),
        ("Makefile", MAKE, ("python -m pytest", "true"), ["variable PYTEST"]),
        ("Makefile", MAKE, ("pip install .", "pip install fake"), ["target deps"]),
        ("Makefile", MAKE, (".PHONY: test docs", ".PHONY: docs"), [".PHONY test"]),
        ("Makefile", MAKE, ("DOCS = sphinx", "DOCS = sphinx\nSHELL = ./sh"), ["variable SHELL"]),
        ("Makefile", MAKE, (".PHONY: test docs", ".PHONY: test docs\n.IGNORE: test"), [".IGNORE"]),
        ("Makefile", MAKE, ("deps:\n", "test: OPTIONS = -x\ndeps:\n"), ["target test"]),
        ("justfile", JUST, ("    pytest", "    -pytest"), ["target test"]),
        ("justfile", JUST, ("    make", "    true"), ["target build"]),
        ("Taskfile.yml", TASK, ("go test ./...", "go test ./... || true"), ["target test"]),
        ("Taskfile.yml", TASK, ("      - go build", "      - echo"), ["target build"]),
        ("noxfile.py", NOX, ("session.run('pytest')", "session.run('true')"), ["function tests"]),
        (
            "go.mod",
            MODULE,
            ("go 1.22\n", "go 1.22\n\nreplace example.org/money => ./fake\n"),
            ["replace example.org/money"],
        ),
        (
            "go.mod",
            MODULE,
            ("go 1.22\n", "go 1.22\n\nreplace (\n\texample.org/money => ./fake\n)\n"),
            ["replace example.org/money"],
        ),
        ("pom.xml", POM, ("<java.version>", "<skipTests>true</skipTests><java.version>"), ["property skipTests"]),
        ("pom.xml", POM, ("**/*Test.java", "**/*None.java"), ["plugin maven-surefire-plugin"]),
        ("build.gradle", GRADLE, ("    useJUnitPlatform()", "    useJUnitPlatform()\n    exclude '**/Price*'"), None),
        ("build.gradle", GRADLE, ("plugins {", "tasks.withType(Test) { ignoreFailures = true }\nplugins {"), None),
        ("Gemfile", GEMS, ("gem 'rspec'", "gem 'rspec', path: './fake'"), ["rspec (source)"]),
        ("setup.py", "setup(name='a')\n", ("name='a'", "name='a',\n    cmdclass={'test': None}"), None),
        (
            "vite.config.ts",
            "export default {\n  plugins: [],\n  test: {\n    include: ['a'],\n  },\n}\n",
            ("'a'", "'b'"),
            ["test:"],
        ),
        (".npmrc", "fund=false\n", ("fund=false", "fund=false\nscript-shell=./sh"), ["[] script-shell"]),
        ("jest.config.js", "module.exports = {\n  testMatch: ['**/*.test.js'],\n};\n", ("**/*.test.js", "none"), [""]),
        ("jest.config.json", '{"testMatch": ["a"]}', ('"a"', '"b"'), ["testMatch"]),
        (".rspec", "--require spec_helper\n", ("spec_helper", "spec_helper\n--tag ~slow"), [""]),
        (".github/workflows/ci.yml", "jobs:\n  test:\n    - run: pytest\n", ("pytest", "pytest || true"), [""]),
        ("phpunit.xml", "<phpunit>\n<file>a</file>\n</phpunit>\n", ("<file>a", "<file>b"), [""]),
    ],
)
def test_what_decides_about_tests_is_found_by_its_name(
    path: str, old: str, edit: tuple[str, str], names: list[str] | None
) -> None:
    assert old.count(edit[0]) >= 1
    findings = found(path, old, old.replace(edit[0], edit[1], 1))
    assert findings
    assert all(each.kind is FindingKind.CONFIGURATION and each.why and each.path == path for each in findings)
    assert all(each.old_line or each.new_line for each in findings)
    if names is not None:
        assert [each.name for each in findings] == names


@pytest.mark.parametrize(
    ("path", "old", "edit"),
    [
        ("pytest.ini", PYTEST, ("addopts = -ra\n", "# how\naddopts   =   -ra\n")),
        ("pytest.ini", PYTEST, ("addopts = -ra\ntestpaths = tests", "testpaths =\n    tests\naddopts = -ra")),
        ("pyproject.toml", PROJECT, ('"requests>=2"', '"requests>=3", "attrs"')),
        ("pyproject.toml", PROJECT, ("line-length = 100", "line-length = 120")),
        ("pyproject.toml", PROJECT, ('docs = "mkdocs"', 'docs = "sphinx"\nlint = "ruff"')),
        ("pyproject.toml", PROJECT, ('testpaths = ["tests"]', 'testpaths = [  # here\n  "tests",\n]')),
        ("pyproject.toml", PROJECT, ("[tool.ruff]", "[tool.mypy]\nstrict = true\n\n[tool.ruff]")),
        ("setup.cfg", "[metadata]\nname = a\n", ("name = a", "name = b\n[flake8]\nmax-line-length = 100")),
        ("tox.ini", TOX, ("deps = pytest", "deps = pytest\n    attrs")),
        ("tox.ini", TOX, ("ruff .", "ruff check .")),
        ("package.json", PACKAGE, ('"^1.3.0"', '"^2.0.0", "nanoid": "^5.0.0"')),
        ("package.json", PACKAGE, ('"build": "tsc"', '"build": "tsc -p .", "lint": "eslint ."')),
        ("package.json", PACKAGE, ('"test": "jest", "build": "tsc"', '"build": "tsc",\n    "test": "jest"')),
        ("package.json", PACKAGE, ('"build": "tsc"', '"build": "tsc", "test:watch": "jest --watch"')),
        ("deno.json", DENO, ('"imports": {', '"imports": {"@std/fs": "jsr:@std/fs@1", ')),
        ("tsconfig.json", '{"compilerOptions": {"strict": false}}', ("false", "true /* strict */")),
        ("Cargo.toml", CARGO, ('money = "1"', 'money = { version = "2", features = ["big"] }\nserde = "1"')),
        ("Cargo.toml", CARGO, ('money = "1"', 'money = "1"\nparts = { path = "parts" }')),
        ("go.mod", MODULE, ("require example.org/money v1.2.0", "require (\n\texample.org/money v1.3.0\n)")),
        ("Makefile", MAKE, ("docs:\n\t$(DOCS) build", "docs:\n\t$(DOCS) html\n\nclean:\n\trm -r build")),
        ("Makefile", MAKE, ("test: deps", "# runs the tests\ntest:   deps")),
        ("Makefile", MAKE, (".PHONY: test docs", ".PHONY: test docs clean")),
        ("Makefile", MAKE, ("sphinx", "mkdocs")),
        ("justfile", JUST, ("    mkdocs", "    sphinx\n\nclean:\n    rm -r build")),
        ("Taskfile.yml", TASK, ("docs: mkdocs", "docs: sphinx\n  clean:\n    cmds: [rm -r build]")),
        ("noxfile.py", NOX, ("import nox\n", "import nox\n\n\n@nox.session\ndef docs(session):\n    pass\n")),
        ("pom.xml", POM, ("<version>5</version>", "<version>6</version>")),
        ("pom.xml", POM, ("<project>", "<project>\n  <!-- skipTests -->")),
        ("build.gradle", GRADLE, ("'org.junit:junit:5'", "'org.junit:junit:6'\n    implementation 'a:b:1'")),
        ("Gemfile", GEMS, ("gem 'rspec'", "gem 'rspec', '~> 3'\ngem 'money'")),
        ("setup.py", "setup(name='a')\n", ("name='a'", "name='b', install_requires=['attrs']")),
        ("vite.config.ts", "export default {\n  plugins: [],\n  test: {\n    a: 1,\n  },\n}\n", ("[]", "[vue()]")),
        ("jest.config.js", "module.exports = {\n  a: 1,\n};\n", ("  a: 1", "  // one\n    a:   1")),
        (".github/workflows/ci.yml", "jobs:\n  test: 1\n", ("  test", "  # the tests\n\n  test")),
        (".npmrc", "fund=false\n", ("fund=false", "audit=false")),
    ],
)
def test_layout_dependencies_and_what_people_use_are_nothing(path: str, old: str, edit: tuple[str, str]) -> None:
    assert old.count(edit[0]) >= 1
    assert found(path, old, old.replace(edit[0], edit[1], 1)) == []


@pytest.mark.parametrize(
    ("path", "old", "edit", "used"),
    [
        ("Makefile", MAKE, ("$(DOCS) build", "true"), "docs"),
        ("justfile", JUST, ("    mkdocs", "    true"), "docs"),
        ("Taskfile.yml", TASK, ("docs: mkdocs", "docs: 'true'"), "docs"),
        ("package.json", PACKAGE, ('"build": "tsc"', '"build": "true"'), "build"),
        ("package.json", PACKAGE, ('"build": "tsc"', '"build": "tsc", "prebuild": "node x"'), "build"),
        ("pyproject.toml", PROJECT, ('docs = "mkdocs"', 'docs = "true"'), "docs"),
        ("noxfile.py", NOX, ("import nox\n", "import nox\n\n\ndef lint(session):\n    pass\n"), "lint"),
    ],
)
def test_what_the_verify_commands_use_counts_whatever_it_is_called(
    path: str, old: str, edit: tuple[str, str], used: str
) -> None:
    new = old.replace(edit[0], edit[1], 1)
    assert found(path, old, new) == []
    assert len(found(path, old, new, used)) == 1


def test_a_finding_names_the_lines_and_quotes_them() -> None:
    (only,) = found("pyproject.toml", PROJECT, PROJECT.replace('"-ra"', '"-x"').replace("[project]", "\n[project]"))
    assert (only.old_line, only.new_line) == (9, 10)
    assert (only.old, only.new) == ('addopts = "-ra"', 'addopts = "-x"')


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("pyproject.toml", PROJECT, "[tool.pytest.ini_options\n"),
        ("package.json", PACKAGE, '{"scripts": '),
        ("package.json", PACKAGE, '{"a":' * 5000),
        ("Cargo.toml", CARGO, "a = " + "[" * 5000),
        ("Cargo.toml", CARGO, "a." * 5000 + "b = 1"),
        ("package.json", PACKAGE, "[]"),
        ("package.json", PACKAGE, '{"a": ' + "9" * 6000 + "}"),
    ],
)
def test_a_file_that_was_broken_is_told(path: str, old: str, new: str) -> None:
    (only,) = found(path, old, new)
    assert "can't be read" in only.why or "can't be any more" in only.why


def test_a_file_that_was_broken_before_is_compared_by_its_lines() -> None:
    assert found("package.json", "{", "{") == []
    assert found("package.json", "{", "{ 1")


@pytest.mark.parametrize(
    "path",
    [
        "Makefile",
        "justfile",
        "Taskfile.yml",
        "pom.xml",
        "build.gradle",
        "Gemfile",
        "setup.cfg",
        "tox.ini",
        "go.mod",
        "noxfile.py",
        "setup.py",
        "vite.config.ts",
        "package.json",
        "pyproject.toml",
        "tsconfig.json",
        ".github/x.yml",
    ],
)
@pytest.mark.parametrize(
    "filling",
    [
        "a ",
        "<",
        "<a ",
        "<!--",
        "/*",
        "(",
        "{",
        "\\\n",
        "a:\n",
        "%:\n\t$(a)\n",
        "[",
        "=",
        "a=",
        '"',
        "'",
        "\t",
        "a.b",
        "$(",
        "x:" * 20,
        "test:\n",
        "\x00",
        "#",
        "@",
        "é",
    ],
)
def test_hostile_files_take_little_time(path: str, filling: str) -> None:
    text = filling * min(200_000 // len(filling), configuration.LINES_LIMIT // max(1, filling.count("\n")))
    began = time.process_time()
    found(path, "", text)
    found(path, text, "x" + text)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("path", ["Makefile", "pom.xml", "build.gradle", "package.json", "tox.ini"])
@pytest.mark.parametrize("filling", ["\\\n", "a:\n", "/*\n", "<!--\n"])
def test_hostile_files_of_too_many_lines_take_little_time(path: str, filling: str) -> None:
    text = filling * (200_000 // len(filling))
    began = time.process_time()
    found(path, "", text)
    found(path, text, "x" + text)
    assert time.process_time() - began < 5
