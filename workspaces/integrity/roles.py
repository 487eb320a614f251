"""What a file is to the tests of its project, by its path alone: a test, their options, what runs them, and so on."""

from enum import StrEnum

from workspaces import globs


class Role(StrEnum):
    """What a file is for, where that matters to what "the tests pass" means."""

    TEST = "test"
    """A test, or what only tests use: fixtures, helpers, snapshots."""
    OPTIONS = "options"
    """A file of a test tool's own options."""
    RUNNER = "runner"
    """Names the commands that run the tests, such as a Makefile."""
    MANIFEST = "manifest"
    """Of the whole project; a part of it may be about tests."""
    PIPELINE = "pipeline"
    """Of continuous integration."""
    LOCK = "lock"
    """Which versions of dependencies are installed."""
    OTHER = "other"


_CODE = "{py,js,jsx,ts,tsx,mjs,cjs,mts,cts,rb,php,exs,dart,scala,kt}"
TESTS = (
    *("**/test_*.py", "**/*_test.py", "**/tests.py", "**/conftest.py"),
    *("**/*.{test,spec}.{js,jsx,ts,tsx,mjs,cjs,mts,cts}", "**/*.snap", "**/__snapshots__/**", "**/__tests__/**"),
    *("**/*_test.go", "**/testdata/**"),
    *("**/*_{test,spec}.rb", "**/test_*.rb", f"**/spec/**/*.{_CODE}"),
    *("**/*{Test,Tests,TestCase,IT}.{java,kt,groovy,scala,php,cs}", "**/*Spec.{scala,groovy,kt}", "**/src/test/**"),
    *("**/*_test.exs", "**/*_test.dart"),
    *("**/{tests,test}/**",),
)
"""Where the tests of common tools lie; one that a policy names comes on top."""
OPTIONS = (
    *("**/pytest.ini", "**/.pytest.ini", "**/pytest.toml", "**/.pytest.toml", "**/.coveragerc"),
    *("**/jest.{config,setup}.*", "**/vitest.{config,setup,workspace}.*", "**/.mocharc*", "**/karma.conf.*"),
    *("**/ava.config.*", "**/.nycrc*", "**/playwright.config.*", "**/cypress.config.*"),
    *("**/.rspec", "**/phpunit.xml*", "**/.config/nextest.toml"),
)
RUNNERS = (
    *("**/{Makefile,makefile,GNUmakefile}", "**/*.mk", "**/{justfile,Justfile,.justfile}", "**/Taskfile.{yml,yaml}"),
    *("**/tox.ini", "**/noxfile.py", "**/Rakefile", "**/build.xml"),
)
MANIFESTS = (
    *("**/pyproject.toml", "**/setup.cfg", "**/setup.py", "**/package.json", "**/deno.json", "**/Cargo.toml"),
    *("**/pom.xml", "**/build.gradle*", "**/go.mod", "**/Gemfile", "**/composer.json", "**/mix.exs"),
)
PIPELINES = (
    *(".gitlab-ci.yml", ".travis.yml", "Jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml", ".drone.yml"),
    *(f"{folder}/**" for folder in (".github/workflows", ".github/actions", ".circleci", ".woodpecker", ".buildkite")),
)
LOCKS = (
    *("**/*.lock", "**/package-lock.json", "**/npm-shrinkwrap.json", "**/pnpm-lock.yaml", "**/go.sum"),
    *("**/gradle.lockfile", "**/bun.lockb"),
)
_TABLE = (
    (Role.OPTIONS, OPTIONS),
    (Role.LOCK, LOCKS),
    (Role.PIPELINE, PIPELINES),
    (Role.TEST, TESTS),
    (Role.RUNNER, RUNNERS),
    (Role.MANIFEST, MANIFESTS),
)


def role_of(path: str) -> Role:
    """Return the role of a path of the repository (relative, posix), in any letter case."""
    return next((role for role, patterns in _TABLE if globs.covering(patterns)(path)), Role.OTHER)
