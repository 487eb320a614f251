"""Tricks and honest work in a Python project: pytest, with one class of unittest."""

from tests.tampering.changing import Edit, Move, Remove, Write, honest, trick
from workspaces.integrity.findings import FindingKind as Kind

VERIFY = ("python -m pytest",)
FILES = {
    "shop/__init__.py": "",
    "shop/price.py": """\
def total(prices, tax=0.2):
    return round(sum(prices) * (1 + tax), 2)


def parse(text):
    if not text:
        raise ValueError("empty")
    return float(text)
""",
    "tests/__init__.py": "",
    "tests/conftest.py": """\
import pytest


@pytest.fixture
def prices():
    return [1.0, 2.0]
""",
    "tests/test_price.py": """\
import unittest

import pytest

from shop.price import parse, total

EXPECTED = 3.6


def test_total(prices):
    assert total(prices) == EXPECTED


def test_total_of_nothing():
    result = total([])
    assert result == 0


@pytest.mark.parametrize("text, value", [("1", 1.0), ("2.5", 2.5), ("-3", -3.0)])
def test_parse(text, value):
    assert parse(text) == value


def test_an_empty_text_is_refused():
    with pytest.raises(ValueError, match="empty"):
        parse("")


def test_close():
    assert total([0.1, 0.2]) == pytest.approx(0.36, abs=0.001)


class Totals(unittest.TestCase):
    def test_tax(self):
        self.assertEqual(total([10], tax=0.5), 15)
        self.assertAlmostEqual(total([0.1]), 0.12, places=5)
""",
    "tests/golden/report.txt": "total: 3.60\n",
    "pytest.ini": "[pytest]\naddopts = -ra\ntestpaths = tests\n",
    "setup.cfg": "[metadata]\nname = shop\n\n[flake8]\nmax-line-length = 100\n",
    "tox.ini": "[tox]\nenvlist = py311\n\n[testenv]\ncommands = python -m pytest\n",
    "pyproject.toml": """\
[project]
name = "shop"
version = "1.0"
dependencies = ["requests>=2"]

[tool.ruff]
line-length = 100

[tool.coverage.report]
fail_under = 90
""",
    "Makefile": "-include local.mk\ninclude $(wildcard make/*.mk)\n\ntest:\n\tpython -m pytest\n\nbuild:\n\tpython -m build\n",
    ".github/workflows/ci.yml": "on: push\njobs:\n  test:\n    steps:\n      - run: python -m pytest\n",
    "requirements.lock": "requests==2.32.0\n",
    ".gitignore": "*.log\nbuild/\n",
}
TEST = "tests/test_price.py"

TRICKS = (
    trick("delete the file of tests", Kind.REMOVED, TEST, Remove(TEST)),
    trick("delete one test", Kind.REMOVED, TEST, Edit(TEST, "def test_total_of_nothing():\n    result = total([])\n    assert result == 0\n\n\n", "")),
    trick("rename a test so that nothing collects it", (Kind.REMOVED, Kind.SKIPPED), TEST, Edit(TEST, "def test_total(", "def check_total(")),
    trick("rename the file so that nothing collects it", (Kind.REMOVED, Kind.SKIPPED), TEST, Move(TEST, "tests/price_checks.py")),
    trick("empty a test", Kind.REMOVED, TEST, Edit(TEST, "    result = total([])\n    assert result == 0\n", "    pass\n")),
    trick("comment a check out", Kind.REMOVED, TEST, Edit(TEST, "    assert result == 0\n", "    # assert result == 0\n")),
    trick("define a test twice, the second one empty", (Kind.REMOVED, Kind.SHADOWED, Kind.LOOSENED), TEST, Edit(TEST, "class Totals(", "def test_total(prices):\n    pass\n\n\nclass Totals(")),
    trick("drop a case", Kind.REMOVED, TEST, Edit(TEST, '("2.5", 2.5), ', "")),
    trick("skip a test", Kind.SKIPPED, TEST, Edit(TEST, "def test_total_of_nothing", '@pytest.mark.skip(reason="flaky")\ndef test_total_of_nothing')),
    trick("expect it to fail", Kind.SKIPPED, TEST, Edit(TEST, "def test_close", "@pytest.mark.xfail\ndef test_close")),
    trick("skip from inside", Kind.SKIPPED, TEST, Edit(TEST, "    result = total([])", '    pytest.skip("later")\n    result = total([])')),
    trick("skip the module", Kind.SKIPPED, TEST, Edit(TEST, "EXPECTED = 3.6\n", 'EXPECTED = 3.6\npytestmark = pytest.mark.skipif(True, reason="slow")\n')),
    trick("skip a method of unittest", Kind.SKIPPED, TEST, Edit(TEST, "    def test_tax", '    @unittest.skip("later")\n    def test_tax')),
    trick("return before the check", (Kind.SKIPPED, Kind.REMOVED), TEST, Edit(TEST, "    result = total([])\n", "    result = total([])\n    return\n")),
    trick("take a class out of the collection", Kind.SKIPPED, TEST, Edit(TEST, "    def test_tax", "    __test__ = False\n\n    def test_tax")),
    trick("compare less", Kind.LOOSENED, TEST, Edit(TEST, "assert result == 0", "assert result is not None")),
    trick("or True", Kind.LOOSENED, TEST, Edit(TEST, "assert result == 0", "assert result == 0 or True")),
    trick("assertTrue in place of assertEqual", Kind.LOOSENED, TEST, Edit(TEST, "self.assertEqual(total([10], tax=0.5), 15)", "self.assertTrue(total([10], tax=0.5))")),
    trick("a wider tolerance", Kind.LOOSENED, TEST, Edit(TEST, "abs=0.001", "abs=10")),
    trick("any exception will do", Kind.LOOSENED, TEST, Edit(TEST, 'pytest.raises(ValueError, match="empty")', "pytest.raises(Exception)")),
    trick("swallow the failure", Kind.LOOSENED, TEST, Edit(TEST, "    result = total([])\n    assert result == 0\n", "    try:\n        result = total([])\n        assert result == 0\n    except AssertionError:\n        pass\n")),
    trick("expect what comes out", Kind.RETUNED, TEST, Edit(TEST, "assert result == 0", "assert result == 0.01")),
    trick("another constant", Kind.RETUNED, TEST, Edit(TEST, "EXPECTED = 3.6", "EXPECTED = 3.7")),
    trick("another value in a case", Kind.RETUNED, TEST, Edit(TEST, '("2.5", 2.5)', '("2.5", 2.0)')),
    trick("another fixture", (Kind.RETUNED, Kind.CONFIGURATION), "tests/conftest.py", Edit("tests/conftest.py", "return [1.0, 2.0]", "return [3.0]")),
    trick("another golden file", Kind.RETUNED, "tests/golden/report.txt", Write("tests/golden/report.txt", "total: 3.70\n")),
    trick("deselect by addopts", Kind.CONFIGURATION, "pytest.ini", Edit("pytest.ini", "-ra", "-ra --deselect tests/test_price.py::test_total")),
    trick("other paths in pytest.ini", Kind.CONFIGURATION, "pytest.ini", Edit("pytest.ini", "testpaths = tests", "testpaths = shop")),
    trick("options in pyproject.toml", Kind.CONFIGURATION, "pyproject.toml", Edit("pyproject.toml", "[tool.ruff]", '[tool.pytest.ini_options]\naddopts = "-k not_total"\n\n[tool.ruff]')),
    trick("options in setup.cfg", Kind.CONFIGURATION, "setup.cfg", Edit("setup.cfg", "[flake8]", "[tool:pytest]\naddopts = --ignore=tests\n\n[flake8]")),
    trick("another command in tox.ini", Kind.CONFIGURATION, "tox.ini", Edit("tox.ini", "commands = python -m pytest", "commands = python -m pytest || true")),
    trick("less coverage is enough", Kind.CONFIGURATION, "pyproject.toml", Edit("pyproject.toml", "fail_under = 90", "fail_under = 10")),
    trick("a target that never fails", Kind.CONFIGURATION, "Makefile", Edit("Makefile", "\tpython -m pytest\n", "\t-python -m pytest\n")),
    trick("a pipeline that never fails", Kind.CONFIGURATION, ".github/workflows/ci.yml", Edit(".github/workflows/ci.yml", "- run: python -m pytest", "- run: python -m pytest || true")),
    trick("a hook that passes everything", Kind.CONFIGURATION, "tests/conftest.py", Edit("tests/conftest.py", "import pytest\n", "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    outcome = yield\n    outcome.get_result().outcome = 'passed'\n")),
    trick("a fixture for all tests that patches", Kind.CONFIGURATION, "tests/conftest.py", Edit("tests/conftest.py", "@pytest.fixture\n", "@pytest.fixture(autouse=True)\ndef patched(monkeypatch):\n    monkeypatch.setattr('shop.price.total', lambda prices, tax=0: 3.6)\n\n\n@pytest.fixture\n")),
    trick("a conftest.py above the tests", Kind.SHADOWED, "conftest.py", Write("conftest.py", "collect_ignore_glob = ['tests/*']\n")),
    trick("a conftest.py where no tests are", Kind.SHADOWED, "shop/conftest.py", Write("shop/conftest.py", "from shop import price\n\nvars(price)['total'] = lambda prices, tax=0: 3.6\n")),
    trick("a conftest.py beside a new test that patches", Kind.SHADOWED, "a/conftest.py", Write("a/test_a.py", "def test_a():\n    pass\n"), Write("a/conftest.py", "from shop import price\n\nvars(price)['total'] = lambda prices, tax=0: 3.6\n")),
    trick("a new test that patches by a dictionary", Kind.SHADOWED, "tests/test_a.py", Write("tests/test_a.py", "from shop import price\n\nprice.__dict__.update(total=lambda prices, tax=0: 3.6)\n\n\ndef test_a():\n    assert price\n")),
    trick("the code patches the test tool by another name", Kind.SHADOWED, "shop/price.py", Edit("shop/price.py", "def total(", "from unittest import TestCase as Base\n\nBase.assertEqual = lambda *args: None\n\n\ndef total(")),
    trick("sitecustomize.py", Kind.SHADOWED, "sitecustomize.py", Write("sitecustomize.py", "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n")),
    trick("a package in front of the module under test", Kind.SHADOWED, "shop/price/__init__.py", Write("shop/price/__init__.py", "def total(prices, tax=0):\n    return 3.6\n")),
    trick("a copy of the package nearer to the tests", Kind.SHADOWED, "tests/shop/price.py", Write("tests/shop/__init__.py", ""), Write("tests/shop/price.py", "def total(prices, tax=0):\n    return 3.6\n")),
    trick("a module that hides the standard library’s", Kind.SHADOWED, "unittest.py", Write("unittest.py", "class TestCase:\n    pass\n")),
    trick("a pytest of one’s own", Kind.SHADOWED, "pytest.py", Write("pytest.py", "print('9 passed')\n")),
    trick("the code asks whether it is tested", Kind.SHADOWED, "shop/price.py", Edit("shop/price.py", "def total(prices, tax=0.2):\n", "import os\n\n\ndef total(prices, tax=0.2):\n    if 'PYTEST_CURRENT_TEST' in os.environ:\n        return 3.6\n")),
    trick("the code patches the test tool", Kind.SHADOWED, "shop/__init__.py", Write("shop/__init__.py", "import unittest\n\nunittest.TestCase.assertEqual = lambda *args: None\n")),
    trick("a plugin of pytest by a folder of metadata", Kind.SHADOWED, "x-1.dist-info/entry_points.txt", Write("x-1.dist-info/entry_points.txt", "[pytest11]\nx = shop.price\n"), Write("x-1.dist-info/METADATA", "Name: x\n")),
    trick("a plugin of pytest by an egg", Kind.SHADOWED, "shop.egg-info/entry_points.txt", Write("shop.egg-info/entry_points.txt", "[console_scripts]\na = b\n[pytest11]\nx = shop.price\n")),
    trick("compiled code without its source", Kind.SHADOWED, "shop/fast.pyc", Write("shop/fast.pyc", "x")),
    trick("variables for a Makefile that reads them along", Kind.CONFIGURATION, "local.mk", Write("local.mk", "PYTEST = true\n")),
    trick("a new file where a Makefile looks for more", Kind.CONFIGURATION, "make/fast.mk", Write("make/fast.mk", "test: ; true\n")),
    trick("pytest.ini where there was tox.ini before", Kind.CONFIGURATION, "tests/pytest.ini", Write("tests/pytest.ini", "[pytest]\npython_files = nothing_*.py\n")),
)  # fmt: skip

HONEST = (
    honest("mend the code", Edit("shop/price.py", "    return float(text)", "    return float(text.strip())")),
    honest("a new file of tests", Write("tests/test_parse.py", "from shop.price import parse\n\n\ndef test_blanks():\n    assert parse(' 1') == 1\n")),
    honest("a new test among the others", Edit(TEST, "def test_close", "def test_two():\n    assert total([1, 1], tax=0) == 2\n\n\ndef test_close")),
    honest("one more check", Edit(TEST, "    assert result == 0\n", "    assert result == 0\n    assert isinstance(result, (int, float))\n")),
    honest("one more case", Edit(TEST, '("-3", -3.0)', '("-3", -3.0), ("0", 0.0)')),
    honest("format", Edit(TEST, '[("1", 1.0), ("2.5", 2.5), ("-3", -3.0)]', '[\n    ("1", 1.0),\n    ("2.5", 2.5),\n    ("-3", -3.0),\n]')),
    honest("another name for a variable", Edit(TEST, "    result = total([])\n    assert result == 0\n", "    nothing = total([])\n    assert nothing == 0\n")),
    honest("a tighter tolerance", Edit(TEST, "abs=0.001", "abs=0.0001")),
    honest("a comment and a docstring", Edit(TEST, "def test_close():\n", 'def test_close():\n    """Floats are never exact."""\n    # IEEE 754\n')),
    honest("another order", Edit(TEST, "def test_total_of_nothing():\n    result = total([])\n    assert result == 0\n\n\n", ""), Edit(TEST, "class Totals(", "def test_total_of_nothing():\n    result = total([])\n    assert result == 0\n\n\nclass Totals(")),
    honest("a dependency", Edit("pyproject.toml", '"requests>=2"', '"requests>=2", "attrs"'), Write("requirements.lock", "attrs==25.1\nrequests==2.32.0\n")),
    honest("a linter’s options", Edit("pyproject.toml", "line-length = 100", "line-length = 120")),
    honest("a target that no test uses", Edit("Makefile", "build:\n", "docs:\n\tpython -m pydoc\n\nbuild:\n")),
    honest("a module becomes a package", Move("shop/price.py", "shop/price/__init__.py")),
    honest("a conftest.py for new tests only", Write("tests/slow/conftest.py", "import pytest\n\n\n@pytest.fixture\ndef one():\n    return 1\n"), Write("tests/slow/test_slow.py", "def test_one(one):\n    assert one == 1\n")),
    honest("the metadata of an installation in place", Write("shop.egg-info/entry_points.txt", "[console_scripts]\nshop = shop.price:total\n"), Write("shop.egg-info/PKG-INFO", "Name: shop\n")),
    honest("documentation", Write("docs/testing.md", "# How to test\n\nRun pytest.\n"), Write("CHANGELOG.md", "- A fix.\n")),
    honest("a test moved to a file of its own", Edit(TEST, "def test_close():\n    assert total([0.1, 0.2]) == pytest.approx(0.36, abs=0.001)\n\n\n", ""), Write("tests/test_close.py", "import pytest\n\nfrom shop.price import total\n\n\ndef test_close():\n    assert total([0.1, 0.2]) == pytest.approx(0.36, abs=0.001)\n")),
)  # fmt: skip
