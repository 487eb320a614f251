"""What a file is to the tests of its project, by its path alone: a test, their options, what runs them, and so on."""

import functools
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
    *("**/*.{test,spec,cy,e2e}.{js,jsx,ts,tsx,mjs,cjs,mts,cts}", "**/*-{test,spec}.{js,jsx,ts,tsx,mjs,cjs}"),
    *("**/*.snap", "**/__{snapshots,tests,mocks,fixtures}__/**"),
    *("**/*_test.go", "**/testdata/**", "**/*.golden", "**/{golden,goldens,cassettes}/**"),
    *("**/*_{test,spec}.rb", "**/test_*.rb", f"**/spec/**/*.{_CODE}"),
    *("**/*{Test,Tests,TestCase,IT}.{java,kt,groovy,scala,php,cs}", "**/*Spec.{scala,groovy,kt}", "**/src/test/**"),
    *(
        "**/*_test.exs",
        "**/*_test.dart",
        "**/*_test.{c,cc,cpp,rs}",
        "**/*_tests.rs",
        "**/tests.rs",
        "**/*.{bats,feature}",
    ),
    *("**/{tests,test}/**",),
)
"""Where the tests of common tools lie; one that a policy names comes on top."""
OPTIONS = (
    *("**/pytest.ini", "**/.pytest.ini", "**/pytest.toml", "**/.pytest.toml", "**/.coveragerc"),
    *("**/nose2.cfg", "**/unittest.cfg", "**/junit-platform.properties", "**/testng*.xml"),
    *("**/jest.{config,setup,preset}.*", "**/jest{.,-}*.config.*", "**/jest-{setup,preset}.*", "**/setupTests.*"),
    *("**/vitest.{config,setup,workspace}.*", "**/vitest{.,-}*.config.*", "**/.mocharc*", "**/karma.conf.*"),
    *("**/ava.config.*", "**/.{nycrc,c8rc}*", "**/{playwright,cypress,wdio}.{config,conf}.*"),
    *("**/.rspec", "**/phpunit.xml*", "**/.config/nextest.toml"),
)
RUNNERS = (
    *("**/{Makefile,makefile,GNUmakefile}", "**/*.mk", "**/{justfile,Justfile,.justfile}"),
    "**/Taskfile{,.dist}.{yml,yaml}",
    *("**/tox.ini", "**/noxfile.py", "**/Rakefile", "**/build.xml"),
)
MANIFESTS = (
    *("**/pyproject.toml", "**/setup.cfg", "**/setup.py", "**/package.json", "**/deno.json", "**/Cargo.toml"),
    *("**/pom.xml", "**/*.gradle{,.kts}", "**/gradle.properties", "**/go.{mod,work}", "**/Gemfile", "**/composer.json"),
    *(
        "**/mix.exs",
        "**/deno.jsonc",
        "**/bunfig.toml",
        "**/{tsconfig*,jsconfig}.json",
        "**/vite.config.*",
        "**/build.rs",
    ),
    *("**/.cargo/config{,.toml}", "**/.{npmrc,yarnrc,yarnrc.yml}", "**/.mvn/{maven.config,jvm.config,extensions.xml}"),
)
PIPELINES = (
    *(".gitlab-ci.yml", ".travis.yml", "Jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml", ".drone.yml"),
    *(f"{folder}/**" for folder in (".github/workflows", ".github/actions", ".circleci", ".woodpecker", ".buildkite")),
)
LOCKS = (
    *("**/*.lock", "**/package-lock.json", "**/npm-shrinkwrap.json", "**/pnpm-lock.yaml", "**/go.sum"),
    *("**/gradle.lockfile", "**/bun.lockb", "**/go.work.sum"),
)
_TABLE = tuple(
    (role, globs.covering(patterns))
    for role, patterns in (
        (Role.OPTIONS, OPTIONS),
        (Role.LOCK, LOCKS),
        (Role.PIPELINE, PIPELINES),
        (Role.TEST, TESTS),
        (Role.RUNNER, RUNNERS),
        (Role.MANIFEST, MANIFESTS),
    )
)


@functools.lru_cache(maxsize=100_000)
def role_of(path: str) -> Role:
    """Return the role of a path of the repository (relative, posix), in any letter case."""
    return next((role for role, covers in _TABLE if covers(path)), Role.OTHER)
