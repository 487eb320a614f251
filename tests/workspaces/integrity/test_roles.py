"""What a file is to the tests, by its path."""

import pytest

from workspaces.integrity.roles import Role, role_of


@pytest.mark.parametrize(
    ("role", "paths"),
    [
        (Role.TEST, "tests/test_a.py test_a.py a_test.py shop/tests.py conftest.py sub/conftest.py tests/data/a.bin"),
        (
            Role.TEST,
            "src/a.test.ts src/a.spec.jsx web/__tests__/a.js a/__snapshots__/a.snap a/__mocks__/b.js a-test.js",
        ),
        (
            Role.TEST,
            "pkg/a_test.go pkg/testdata/in.txt src/tests.rs tests/all.rs spec/a_spec.rb spec/models/a.rb test/a.rb",
        ),
        (Role.TEST, "src/test/java/ATest.java src/main/java/ATest.java cypress/a.cy.ts TESTS/Test_A.py golden/x.txt"),
        (
            Role.OPTIONS,
            "pytest.ini sub/.coveragerc jest.config.ts jest.setup.js vitest.workspace.json .rspec phpunit.xml.dist",
        ),
        (
            Role.OPTIONS,
            "tests/pytest.ini src/test/resources/junit-platform.properties .config/nextest.toml .mocharc.yml",
        ),
        (Role.RUNNER, "Makefile sub/justfile Taskfile.yml tox.ini noxfile.py Rakefile rules.mk"),
        (
            Role.MANIFEST,
            "pyproject.toml package.json Cargo.toml go.mod pom.xml build.gradle.kts setup.cfg .cargo/config.toml",
        ),
        (Role.PIPELINE, ".github/workflows/ci.yml .gitlab-ci.yml .circleci/config.yml Jenkinsfile"),
        (Role.LOCK, "package-lock.json go.sum Cargo.lock poetry.lock tests/yarn.lock"),
        (
            Role.OTHER,
            "shop/price.py src/a.ts README.md testing.py contest.py docs/latest/a.md src/attest.go shop/inspec.rb",
        ),
    ],
)
def test_each_path_has_its_role(role: Role, paths: str) -> None:
    assert {path: role_of(path) for path in paths.split()} == dict.fromkeys(paths.split(), role)


@pytest.mark.parametrize("path", ["", "/", "a" * 10_000, "tests\udcff/x.py", "a/../tests/x", "a\nb/test_x.py"])
def test_odd_paths_have_a_role_too(path: str) -> None:
    assert role_of(path) in Role
