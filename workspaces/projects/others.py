"""Commands of make and just, and of languages whose projects all go the same way."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from workspaces.projects.manifests import Manifests, table
from workspaces.projects.proposal import Proposal

MAKEFILES = ("Makefile", "GNUmakefile", "makefile")
JUSTFILES = ("justfile", "Justfile", ".justfile")
_KINDS = {
    "test": "test",
    "check": "test",
    "tests": "test",
    "unit": "test",
    "lint": "lint",
    "build": "build",
    "typecheck": "types",
    "type-check": "types",
    "types": "types",
    "mypy": "types",
    "deps": "setup",
    "setup": "setup",
    "bootstrap": "setup",
}
_TARGET = re.compile(r"^([A-Za-z][\w-]*)[ \t]*:(?!:?=)", re.MULTILINE)
_RECIPE = re.compile(r"^@?([A-Za-z][\w-]*)[ \t]*:(?!=)", re.MULTILINE)  # those with arguments are left out
_FIRST_TARGETS = {"test", "check", "lint"}


@dataclass(frozen=True)
class _Way:
    """How projects with a certain file go. `only_with`: files one of which must be there, too."""

    file: str
    kind: str
    command: str
    first_choice: bool = False
    only_with: tuple[str, ...] = ()


def _way(file: str, setup: str, test: str, *more: tuple[str, str]) -> list[_Way]:
    first = [("setup", setup), ("test", test)]
    return [
        *(_Way(file, kind, command, first_choice=True) for kind, command in first if command),
        *(_Way(file, kind, command) for kind, command in more),
    ]


_BUNDLE = "bundle config set --local path .bundle/gems && bundle install"
_WAYS: tuple[_Way, ...] = (
    *_way("go.mod", "go mod download", "go test ./...", ("lint", "go vet ./..."), ("build", "go build ./...")),
    _Way("go.mod", "lint", "golangci-lint run", only_with=(".golangci.yml", ".golangci.yaml", ".golangci.toml")),
    *_way(
        "Cargo.toml",
        "cargo fetch",
        "cargo test --offline",
        *(("lint", "cargo clippy --offline --all-targets"), ("lint", "cargo fmt --check")),
        *(("types", "cargo check --offline --all-targets"), ("build", "cargo build --offline")),
    ),
    *_way("Gemfile", _BUNDLE, ""),
    _Way("Gemfile", "lint", "bundle exec rubocop", only_with=(".rubocop.yml",)),
    *_way("composer.json", "composer install --no-interaction", ""),
    _Way("composer.json", "types", "vendor/bin/phpstan analyse", only_with=("phpstan.neon", "phpstan.neon.dist")),
    *_way("pom.xml", "mvn -q -B dependency:go-offline", "mvn -q -B -o test", ("build", "mvn -q -B -o package")),
    *_way(
        "gradlew",
        "./gradlew --no-daemon classes testClasses",
        "./gradlew --no-daemon --offline test",
        ("build", "./gradlew --no-daemon --offline assemble"),
    ),
    *_way("mix.exs", "mix deps.get", "mix test", ("lint", "mix format --check-formatted"), ("build", "mix compile")),
    _Way("CMakeLists.txt", "build", "cmake -S . -B build && cmake --build build"),
    _Way("CMakeLists.txt", "test", "ctest --test-dir build --output-on-failure"),
    _Way("deno.json", "test", "deno test"),
    _Way("deno.json", "lint", "deno lint"),
    _Way(".pre-commit-config.yaml", "lint", "pre-commit run --all-files"),
)
_GRADLE = ("build.gradle", "build.gradle.kts")


def make(files: Manifests) -> Iterator[Proposal]:
    """Yield the targets of a Makefile that say by their names what they are for."""
    for name in MAKEFILES:
        targets = dict.fromkeys(_TARGET.findall(files.text(name)))
        for target in sorted(targets, key=lambda target: target not in _FIRST_TARGETS):
            if target in _KINDS:
                why = f"{name} has the target {target}"
                yield Proposal(_KINDS[target], f"make {target}", name, why, target in _FIRST_TARGETS)


def just(files: Manifests) -> Iterator[Proposal]:
    """Yield the recipes of a justfile that say by their names what they are for."""
    for name in JUSTFILES:
        for recipe in dict.fromkeys(_RECIPE.findall(files.text(name))):
            if recipe in _KINDS:
                yield Proposal(_KINDS[recipe], f"just {recipe}", name, f"{name} has the recipe {recipe}")


def commands(files: Manifests) -> Iterator[Proposal]:
    """Yield what projects of a language do who have a certain file."""
    for way in _WAYS:
        told = next((name for name in way.only_with if files.has(name)), "" if way.only_with else way.file)
        if files.has(way.file) and told:
            yield Proposal(way.kind, way.command, told, f"{told} is there", way.first_choice)
    yield from _ruby(files)
    yield from _php(files)
    yield from _gradle(files)
    yield from _dotnet(files)


def _ruby(files: Manifests) -> Iterator[Proposal]:
    if files.has("Gemfile"):
        if files.has(".rspec") or files.has("spec"):
            yield Proposal("test", "bundle exec rspec", "Gemfile", "Gemfile is there", first_choice=True)
        elif files.has("Rakefile"):
            yield Proposal("test", "bundle exec rake test", "Gemfile", "Gemfile is there", first_choice=True)


def _php(files: Manifests) -> Iterator[Proposal]:
    if not files.has("composer.json"):
        return
    if files.has("phpunit.xml.dist") or files.has("phpunit.xml"):
        yield Proposal("test", "vendor/bin/phpunit", "composer.json", "composer.json is there", first_choice=True)
    for script in table(files.json("composer.json"), "scripts"):
        if script in _KINDS:
            why = f"composer.json has the script {script}"
            yield Proposal(_KINDS[script], f"composer run-script {script}", "composer.json", why)


def _gradle(files: Manifests) -> Iterator[Proposal]:
    name = next((name for name in _GRADLE if files.has(name)), None)
    if name and not files.has("gradlew"):
        yield Proposal("test", "gradle --no-daemon test", name, f"{name} is there")
        yield Proposal("build", "gradle --no-daemon assemble", name, f"{name} is there")


def _dotnet(files: Manifests) -> Iterator[Proposal]:
    name = next((name for name in sorted(files.names) if name.endswith((".sln", ".csproj", ".fsproj"))), None)
    if name:
        for kind, command in (("setup", "dotnet restore"), ("test", "dotnet test"), ("build", "dotnet build")):
            yield Proposal(kind, command, name, f"{name} is there")
