"""New files that are found in place of others, or are loaded before the tests; and those that are neither."""

from collections.abc import Collection

import pytest

from workspaces.integrity.findings import FindingKind
from workspaces.integrity.layout import Layout
from workspaces.integrity.shadowing import Intruder, Scene, intruders

PYTHON = (
    *(
        "shop/__init__.py",
        "shop/price.py",
        "shop/plugins/a.py",
        "src/stock/__init__.py",
        "src/stock/count.py",
        "tool.py",
    ),
    *("tests/test_price.py", "unit/__init__.py", "unit/test_count.py", "Makefile", "setup.py"),
)
SCRIPTS = (
    *("package.json", "src/price.ts", "src/price.test.ts", "src/view/index.js", "src/old.jsx", "web/app.js"),
    *("types/a.d.ts", "web/app.test.js", "packages/a/package.json"),
)
RUBY = ("Gemfile", "lib/shop.rb", "spec/shop_spec.rb")
JAVA = ("pom.xml", "src/main/java/Shop.java", "src/test/java/ShopTest.java")
GO = ("go.mod", "shop.go", "shop_test.go")


def found(base: Collection[str], *new: str, gone: str = "", data: bytes = b"x = 1\n") -> list[Intruder]:
    now = {*base, *new} - {gone}
    scene = Scene(Layout(base), frozenset({"yaml", "requests"}), frozenset({"check", "Makefile"}))
    return intruders(scene, now, new, lambda path: data)


@pytest.mark.parametrize(
    ("base", "path", "of_tests"),
    [
        (PYTHON, "sitecustomize.py", False),
        (PYTHON, "src/usercustomize.py", False),
        (PYTHON, "sitecustomize/__init__.py", False),
        (PYTHON, "start.pth", False),
        (PYTHON, "conftest.py", True),
        (PYTHON, "tests/conftest.py", True),
        (PYTHON, "tests/__init__.py", True),
        (PYTHON, "unittest.py", False),
        (PYTHON, "json/__init__.py", False),
        (PYTHON, "tests/random.py", False),
        (PYTHON, "src/decimal.py", False),
        (PYTHON, "pytest.py", False),
        (PYTHON, "_pytest/python.py", False),
        (PYTHON, "tests/hypothesis.py", False),
        (PYTHON, "requests/__init__.py", False),
        (PYTHON, "tests/yaml.py", False),
        (PYTHON, "check", False),
        (PYTHON, "check/notes.md", False),
        (PYTHON, "shop/price/__init__.py", False),
        (PYTHON, "shop.py", False),
        (PYTHON, "shop/conftest.py", True),
        (PYTHON, "tests/slow/conftest.py", True),
        (PYTHON, "shop/plugins.py", False),
        (PYTHON, "shop/price.so", False),
        (PYTHON, "shop/price.abi3.so", False),
        (PYTHON, "shop/price.cpython-311-x86_64-linux-gnu.so", False),
        (PYTHON, "shop/price.pyd", False),
        (PYTHON, "shop/price.pyc", False),
        (PYTHON, "tests/shop/price.py", False),
        (PYTHON, "tests/shop.py", False),
        (PYTHON, "tests/stock/count.py", False),
        (PYTHON, "stock/count.py", False),
        (PYTHON, "stock", False),
        (PYTHON, "tests/tool.py", False),
        (PYTHON, "pytest", False),
        (PYTHON, "bin/python", False),
        (PYTHON, "bin/make", False),
        (SCRIPTS, "node_modules/jest/index.js", False),
        (SCRIPTS, "src/price.js", False),
        (SCRIPTS, "src/view.ts", False),
        (SCRIPTS, "src/old.mjs", False),
        (SCRIPTS, "src/__mocks__/price.ts", False),
        (SCRIPTS, "__mocks__/fs.js", False),
        (SCRIPTS, "bin/node", False),
        (RUBY, "spec/spec_helper.rb", True),
        (RUBY, "lib/rspec.rb", False),
        (RUBY, "lib/set.rb", False),
        (JAVA, "src/test/resources/META-INF/services/org.junit.platform.launcher.TestExecutionListener", True),
        (GO, "vendor/example.org/money/money.go", False),
    ],
)
def test_a_file_in_place_of_another_is_found(base: Collection[str], path: str, of_tests: bool) -> None:
    (only,) = found(base, path)
    assert (only.path, only.kind, only.is_of_tests) == (path, FindingKind.SHADOWED, of_tests)
    assert only.why.endswith(".")


@pytest.mark.parametrize(
    ("base", "path"),
    [
        (PYTHON, "pytest.ini"),
        (PYTHON, "tests/pytest.ini"),
        (PYTHON, ".coveragerc"),
        (PYTHON, "GNUmakefile"),
        (SCRIPTS, "jest.config.js"),
        (SCRIPTS, "src/vitest.config.ts"),
        (RUBY, ".rspec"),
        (JAVA, "src/test/resources/junit-platform.properties"),
    ],
)
def test_new_options_of_tests_that_exist_are_configuration(base: Collection[str], path: str) -> None:
    (only,) = found(base, path)
    assert (only.path, only.kind, only.is_of_tests) == (path, FindingKind.CONFIGURATION, True)


@pytest.mark.parametrize(
    ("base", "path"),
    [
        (PYTHON, "shop/random.py"),
        (PYTHON, "shop/requests.py"),
        (PYTHON, "tests/shop/test_price.py"),
        (PYTHON, "unit/json.py"),
        (PYTHON, "shop/stock.py"),
        (PYTHON, "shop/tool.py"),
        (PYTHON, "docs/conf.py"),
        (PYTHON, "scripts/release.py"),
        (PYTHON, "shop/__pycache__/price.cpython-311.pyc"),
        (PYTHON, "tests/test_more.py"),
        (PYTHON, "jest.config.js"),
        (PYTHON, "shop/speedups.so"),
        (PYTHON, "docs/pytest"),
        (PYTHON, "src/stock/json.py"),
        (SCRIPTS, "sitecustomize.py"),
        (SCRIPTS, "src/price.d.ts"),
        (SCRIPTS, "src/price.spec.js"),
        (SCRIPTS, "src/__mocks__/stock.ts"),
        (SCRIPTS, "src/total.ts"),
        (SCRIPTS, "pytest.ini"),
        (SCRIPTS, "src/view/part.js"),
        (RUBY, "lib/shop/set.rb"),
        (RUBY, "spec/more_spec.rb"),
        (JAVA, "src/main/resources/META-INF/services/org.example.Shop"),
        (GO, "internal/vendor.go"),
        (GO, "more_test.go"),
    ],
)
def test_an_ordinary_new_file_is_none(base: Collection[str], path: str) -> None:
    assert found(base, path) == []


def test_a_module_that_becomes_a_package_hides_nothing() -> None:
    assert found(PYTHON, "shop/price/__init__.py", "shop/price/tax.py", gone="shop/price.py") == []
    assert found(SCRIPTS, "src/price.js", gone="src/price.ts") == []


def test_an_empty_init_among_the_tests_does_nothing() -> None:
    assert found(PYTHON, "tests/__init__.py", "tests/shop/__init__.py", data=b"\n") == []


def test_a_cache_that_python_never_checks_is_found_and_an_ordinary_one_is_not() -> None:
    path = "shop/__pycache__/price.cpython-311.pyc"
    magic = b"\xa7\x0d\x0d\x0a"
    assert found(PYTHON, path, data=magic + bytes([0b01, 0, 0, 0]) + bytes(8))
    assert not found(PYTHON, path, data=magic + bytes([0b11, 0, 0, 0]) + bytes(8))
    assert not found(PYTHON, path, data=magic + bytes(12))


def test_names_that_are_no_text_are_looked_at() -> None:
    (only,) = found(PYTHON, "tests/shop/price.py", "\udcff/\udcfe.py", "tests/\udcff.pth")[:1]
    assert only.path == "tests/shop/price.py"
    assert found(PYTHON, "a\udcff.pth")[0].finding.path == "a\\xff.pth"
