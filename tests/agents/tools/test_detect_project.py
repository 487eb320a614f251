"""detect_project: what it finds, what it leaves out, and that the policy allows all it suggests."""

import json
from typing import Any

import pytest

from agents import policies, policy
from agents.models import Policy
from tests.agents.tools.bench import Bench

pytestmark = pytest.mark.django_db

SAMPLES: dict[str, dict[str, str]] = {
    "python": {
        "pyproject.toml": '[build-system]\nrequires=[]\n[project]\nname="x"\ndependencies=["Django>=5"]\n'
        '[project.optional-dependencies]\ndev=["pytest"]\n[tool.ruff]\n[tool.mypy]\n[tool.pytest.ini_options]\n',
        "tox.ini": "[tox]\n[flake8]\n",
        "noxfile.py": "",
        "manage.py": "import django\n",
        "requirements-dev.txt": "black\n",
        ".pre-commit-config.yaml": "repos: []\n",
    },
    "uv": {"pyproject.toml": "[project]\nname='x'\n", "uv.lock": "", "tests/test_x.py": ""},
    "poetry": {"pyproject.toml": "[tool.poetry.dependencies]\nflask='*'\n", "poetry.lock": "", "mypy.ini": ""},
    "pipenv": {"Pipfile": "", "Pipfile.lock": "{}", "setup.cfg": "[flake8]\n"},
    "pdm": {"pyproject.toml": "[project]\nname='x'\n", "pdm.lock": "", "pyrightconfig.json": "{}", ".pylintrc": ""},
    "npm": {
        "package.json": json.dumps(
            {
                "scripts": {
                    "test": "jest",
                    "lint": "eslint",
                    "typecheck": "tsc",
                    "build": "vite build",
                    "test:unit": "x",
                },
                "dependencies": {"react": "1", "next": "1"},
                "workspaces": ["packages/*"],
            }
        ),
        "package-lock.json": "{}",
    },
    "pnpm": {"package.json": '{"devDependencies":{"vue":"1"}}', "pnpm-lock.yaml": "", "tsconfig.json": "{}"},
    "yarn": {"package.json": '{"scripts":{"check":"x"}}', "yarn.lock": "", "eslint.config.js": ""},
    "bun": {"package.json": "{}", "bun.lock": "", "tsconfig.json": "{}"},
    "deno": {"deno.json": "{}"},
    "go": {"go.mod": "module x\n\nrequire github.com/gin-gonic/gin v1.2.3\n", ".golangci.yml": ""},
    "rust": {"Cargo.toml": "[package]\nname='x'\n[dependencies]\naxum='1'\n"},
    "maven": {"pom.xml": "<project><groupId>org.springframework.boot</groupId></project>"},
    "gradle": {"build.gradle": "plugins { id 'org.springframework.boot' version '3' }\n", "gradlew": "#!/bin/sh\n"},
    "kotlin": {"build.gradle.kts": 'plugins { id("io.quarkus") }\n'},
    "ruby": {"Gemfile": "gem 'rails'\n", ".rspec": "", ".rubocop.yml": "", "Rakefile": ""},
    "php": {
        "composer.json": '{"require":{"laravel/framework":"1"},"scripts":{"test":"x","lint":"y"}}',
        "phpunit.xml": "",
        "phpstan.neon": "",
    },
    "elixir": {"mix.exs": "{:phoenix, 1}\n"},
    "cmake": {"CMakeLists.txt": ""},
    "dotnet": {"App.sln": "", "src/App.csproj": "", "src/App.cs": ""},
    "make": {
        "Makefile": "test: build\n\tx\nlint:\n\ty\nbuild:\n\tz\nVAR := 1\ntypecheck:\n",
        "justfile": "test:\n  x\n",
    },
}


def _laid_out(bench: Bench, files: dict[str, str], folder: str = "") -> dict[str, Any]:
    for name, text in files.items():
        bench.write(f"{folder}{name}", text)
    result = bench.call("detect_project")
    assert not result.is_error, result.content
    return result.data


def _commands(data: dict[str, Any], kind: str, path: str = ".") -> list[str]:
    project = next(project for project in data["projects"] if project["path"] == path)
    return [each["command"] for each in project["commands"] if each["kind"] == kind]


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("folder", ["", "sub projects/a/"])
def test_all_that_is_suggested_passes_the_policy(bench: Bench, sample: str, folder: str) -> None:
    data = _laid_out(bench, SAMPLES[sample], folder)
    commands = [each["command"] for project in data["projects"] for each in project["commands"]]
    assert commands or (folder and sample in {"cmake", "make", "pipenv"})  # these make no project of a folder below
    assert data["left_out"] == 0
    for command in commands:
        policy.rules_for(policies.of_task(Policy()), "implementer", None).may_run(command)


def test_what_the_policy_blocks_is_left_out(bench: Bench) -> None:
    bench.policy = Policy(blocklist=["run_command(npm *)"])
    bench.write(".github/workflows/ci.yml", "jobs: {a: {steps: [{run: npm publish}, {run: make it}]}}")
    data = _laid_out(bench, SAMPLES["npm"])
    assert [each for project in data["projects"] for each in project["commands"] if "npm" in each["command"]] == []
    assert [each["command"] for each in data["ci"]] == ["make it"]
    assert data["left_out"] > 3


def test_a_python_project_is_described(bench: Bench) -> None:
    data = _laid_out(bench, SAMPLES["python"])
    [project] = data["projects"]
    assert data["languages"][0] == {"name": "Python", "files": 4}
    assert project["package_managers"] == [{"name": "pip", "file": "pyproject.toml"}]
    assert {each["name"]: each["file"] for each in project["frameworks"]} == {
        "Django": "pyproject.toml",
        "pytest": "pyproject.toml",
    }
    assert _commands(data, "setup") == [
        "python3 -m venv .venv && .venv/bin/pip install -r requirements-dev.txt -e '.[dev]'"
    ]
    assert _commands(data, "test") == ["python3 -m pytest -q", "python3 manage.py test", "tox", "nox"]
    assert "python3 -m ruff check ." in _commands(data, "lint")
    assert _commands(data, "types") == ["python3 -m mypy ."]
    assert _commands(data, "build") == ["python3 -m build"]


def test_each_command_names_the_file_that_says_so(bench: Bench) -> None:
    data = _laid_out(bench, SAMPLES["npm"], "web/")
    told = {(each["kind"], each["command"]): each["file"] for each in data["projects"][1]["commands"]}
    assert told[("setup", "cd web && npm ci")] == "web/package-lock.json"
    assert told[("test", "cd web && npm run test")] == "web/package.json"
    assert told[("types", "cd web && npm run typecheck")] == "web/package.json"
    assert told[("build", "cd web && npm run build")] == "web/package.json"
    assert data["projects"][1]["members"] == ["packages/*"]
    assert {each["name"] for each in data["projects"][1]["frameworks"]} == {"React", "Next.js"}


@pytest.mark.parametrize(
    ("sample", "framework"),
    [
        *(("go", "Gin"), ("rust", "Axum"), ("maven", "Spring Boot"), ("gradle", "Spring Boot"), ("kotlin", "Quarkus")),
        *(("ruby", "Rails"), ("php", "Laravel"), ("elixir", "Phoenix"), ("poetry", "Flask"), ("pnpm", "Vue")),
    ],
)
def test_frameworks_are_told_by_dependencies(bench: Bench, sample: str, framework: str) -> None:
    assert framework in [each["name"] for each in _laid_out(bench, SAMPLES[sample])["projects"][0]["frameworks"]]


@pytest.mark.parametrize(
    ("sample", "setup"),
    [
        ("uv", "uv sync --frozen"),
        ("pipenv", "PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev"),
        ("pnpm", "pnpm install --frozen-lockfile"),
        ("yarn", "yarn install --frozen-lockfile"),
        ("bun", "bun install --frozen-lockfile"),
        ("rust", "cargo fetch"),
    ],
)
def test_the_lock_file_decides_how_it_is_set_up(bench: Bench, sample: str, setup: str) -> None:
    assert _commands(_laid_out(bench, SAMPLES[sample]), "setup")[0] == setup


def test_projects_below_are_found_to_a_depth_of_three(bench: Bench) -> None:
    for folder in ("a", "a/b", "a/b/c", "a/b/c/d", "node_modules/p", "it's odd"):
        bench.write(f"{folder}/go.mod", "module x\n")
    data = _laid_out(bench, {"setup/setup.py": "print('nothing to install')\n"})
    assert [project["path"] for project in data["projects"]] == [".", "a", "it's odd", "a/b", "a/b/c"]
    assert _commands(data, "test", "it's odd") == ["cd 'it'\"'\"'s odd' && go test ./..."]


def test_many_projects_are_cut_with_a_true_total(bench: Bench) -> None:
    for number in range(50):
        bench.write(f"p{number}/go.mod", "module x\n")
    result = bench.call("detect_project")
    assert (result.truncated, result.data["total"], len(result.data["projects"])) == (True, 51, 40)
    assert "40 of 51 projects shown" in result.content


def test_the_steps_of_ci_are_evidence(bench: Bench) -> None:
    bench.write(
        ".github/workflows/ci.yml",
        "on: push\njobs:\n  test:\n    steps:\n      - uses: a/b@v1\n      - run: |\n          # all of it\n"
        "          pytest -q \\\n            --cov\n          ruff check .\n      - run: npm test\n"
        "        working-directory: web\n",
    )
    gitlab = ".base: &base\n  script: [make]\njob:\n  <<: *base\n  script:\n    - !reference [a]\n    - go vet\n"
    bench.write(".gitlab-ci.yml", gitlab)
    data = bench.call("detect_project").data
    assert [(each["job"], each["command"]) for each in data["ci"]] == [
        ("test", "pytest -q --cov"),
        ("test", "ruff check ."),
        ("test", "cd web && npm test"),
        (".base", "make"),
        ("job", "go vet"),
    ]
    assert data["projects"][0]["manifests"] == [".gitlab-ci.yml", ".github/workflows/ci.yml"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[project\n"),
        ("pyproject.toml", "a=" + "[" * 50_000),
        ("pyproject.toml", ".".join(["a"] * 50_000) + "=1"),
        ("package.json", '{"scripts":'),
        ("package.json", "[" * 100_000),
        ("package.json", '{"x":"' + "y" * 300_000 + '"}'),
        ("Cargo.toml", "\x00"),
        ("composer.json", "{'a'}"),
        (".gitlab-ci.yml", "a: [b"),
        (".gitlab-ci.yml", "[" * 50_000),
        (".gitlab-ci.yml", "a: !!python/object/apply:os.system [id]"),
        (".github/workflows/ci.yml", "a: b: c\n"),
        (".github/workflows/ci.yml", "a: " + "x" * 100_000),
    ],
)
def test_a_broken_file_is_named_and_breaks_nothing(bench: Bench, name: str, text: str) -> None:
    bench.write("go.mod", "module x\n")
    data = _laid_out(bench, {name: text})
    assert [each["path"] for each in data["unreadable"]] == [name]
    assert "go test ./..." in _commands(data, "test")


@pytest.mark.parametrize("value", ["1", '"x"', "[]", "{}", "null", "[1]", '{"a":{"b":[1]}}'])
def test_values_of_other_kinds_break_nothing(bench: Bench, value: str) -> None:
    keys = ("scripts", "dependencies", "devDependencies", "workspaces", "require")
    package = "{" + ",".join(f'"{key}":{value}' for key in keys) + "}"
    bench.write("composer.json", package)
    bench.write("pnpm-workspace.yaml", f"packages: {value}\n")
    bench.write(".gitlab-ci.yml", f"job: {value}\nother:\n  script: {value}\n")
    bench.write(
        ".github/workflows/x.yml", f"jobs:\n  a: {value}\n  b:\n    steps: {value}\n  c:\n    steps: [{value}]\n"
    )
    toml = value.replace("null", "1").replace('{"a":{"b":[1]}}', "{a={b=[1]}}")
    lines = (f"{key} = {toml}" for key in ("project", "tool", "dependency-groups"))
    assert _laid_out(bench, {"package.json": package, "pyproject.toml": "\n".join(lines)})["unreadable"] == []


def test_links_out_are_not_followed(bench: Bench) -> None:
    outside = bench.tree.parent / "outside.json"
    outside.write_text('{"scripts":{"test":"x"}}')
    (bench.tree / "package.json").symlink_to(outside)
    data = bench.call("detect_project").data
    assert (data["projects"][0]["manifests"], _commands(data, "test")) == ([], ["python3 -m unittest discover"])


def test_hidden_manifests_are_left_out(bench: Bench) -> None:
    bench.policy = Policy(hidden=["package.json", ".github"])
    bench.write(".github/workflows/ci.yml", "jobs: {a: {steps: [{run: make}]}}")
    data = _laid_out(bench, {**SAMPLES["npm"], "web/package.json": "{}"})
    assert [project["path"] for project in data["projects"]] == ["."]
    assert (data["ci"], _commands(data, "build")) == ([], [])


def test_it_says_in_words_what_it_found(bench: Bench) -> None:
    for name, text in SAMPLES["make"].items():
        bench.write(name, text)
    content = bench.call("detect_project").content
    assert "At the root:\n" in content
    assert "  test: make test   [Makefile has the target test]" in content
    assert "  type-check: make typecheck   [Makefile has the target typecheck]" in content
    assert "  test: just test   [justfile has the recipe test]" in content
    assert "VAR" not in content
