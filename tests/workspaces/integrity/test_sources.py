"""Sources are compared in a process of their own: what comes of it, of many at once, and of hostile ones."""

import resource
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workspaces.integrity import sources
from workspaces.integrity.findings import Finding, FindingKind
from workspaces.integrity.sources import Pair


@dataclass(frozen=True)
class Edit:
    """An edit of a file of tests, and the kind of finding that must come of it; None: nothing at all."""

    name: str
    kind: FindingKind | None
    old: str
    new: str

    def made(self, base: str) -> str:
        assert base.count(self.old) == 1, (self.name, base.count(self.old))
        return base.replace(self.old, self.new)


def compare(path: str, old: str | None, new: str | None) -> list[Finding]:
    found, unread = sources.compare(
        [Pair(path, old.encode() if old is not None else None, new.encode() if new is not None else None)]
    )
    assert not unread
    return found


def told(findings: Sequence[Finding]) -> list[tuple[str, str, str, str, str]]:
    return [(each.kind.value, each.name, each.why, each.old, each.new) for each in findings]


def assert_caught(path: str, base: str, trick: Edit) -> None:
    """The trick is found, of its kind, with the lines that it is about."""
    found = compare(path, base, trick.made(base))
    hits = [each for each in found if each.kind is trick.kind]
    assert hits, told(found)
    before, after = base.splitlines(), trick.made(base).splitlines()
    for each in hits:
        assert each.path == path
        assert each.why.endswith(".")
        assert each.old_line or each.new_line
        assert not each.old or each.old.split("\n")[0] == before[each.old_line - 1].strip()
        assert not each.new or each.new.split("\n")[0] == after[each.new_line - 1].strip()
        assert len(each.old) <= 500
        assert len(each.new) <= 500


def assert_quiet(path: str, base: str, honest: Edit) -> None:
    """Nothing is suspect, and the findings are new tests, or none."""
    found = compare(path, base, honest.made(base))
    assert [each for each in found if each.is_suspect] == [], told(found)
    assert {each.kind for each in found} == ({honest.kind} if honest.kind else set())


# --- files seen together -----------------------------------------------------------------------------

TEST = "tests/test_shop.py"
FIRST = "from shop.cart import total\n\n\ndef test_one():\n    assert total(1) == 1\n\n\ndef test_two():\n    assert total(2) == 2\n"
ONE = "def test_one():\n    assert total(1) == 1\n\n\n"


def together(files: Mapping[str, tuple[str | None, str | None]]) -> list[tuple[str, str, str]]:
    def raw(text: str | None) -> bytes | None:
        return None if text is None else text.encode()

    pairs = [Pair(path, raw(old), raw(new)) for path, (old, new) in files.items()]
    found, unread = sources.compare(pairs)
    assert not unread
    return [(each.kind.value, each.path, each.name) for each in found]


def test_a_test_that_moves_to_another_file_is_neither_gone_nor_new() -> None:
    moved = FIRST.replace("def test_two():\n    assert total(2) == 2\n", "")
    assert together({TEST: (FIRST, FIRST.replace(ONE, "")), "tests/test_new.py": (None, moved)}) == []


def test_a_test_that_asks_for_less_in_its_new_file_is_told_there() -> None:
    moved = "from shop.cart import total\n\n\ndef test_one():\n    assert total(1)\n"
    found = together({TEST: (FIRST, FIRST.replace(ONE, "")), "tests/test_new.py": (None, moved)})
    assert found == [("loosened", "tests/test_new.py", "test_one")]


def test_tests_that_move_to_a_file_that_no_tool_collects_are_gone() -> None:
    assert together({TEST: (FIRST, None), "tests/shop_checks.py": (None, FIRST)})[:2] == [
        ("removed", TEST, "test_one"),
        ("removed", TEST, "test_two"),
    ]


def test_a_file_that_is_renamed_is_one_file() -> None:
    found, _ = sources.compare([Pair("tests/test_b.py", FIRST.encode(), FIRST.encode(), TEST)])
    assert found == []
    found, _ = sources.compare([Pair("tests/checks.py", FIRST.encode(), FIRST.encode(), TEST)])
    assert {(each.kind.value, each.path) for each in found if each.is_suspect} == {("removed", TEST)}


def test_a_file_that_is_deleted_is_told_test_by_test() -> None:
    assert together({TEST: (FIRST, None)}) == [("removed", TEST, "test_one"), ("removed", TEST, "test_two")]


def test_a_new_file_has_new_tests() -> None:
    assert together({TEST: (None, FIRST)}) == [("added", TEST, "test_one"), ("added", TEST, "test_two")]


CODE = "def total(x):\n    return x\n"


def test_a_function_that_has_another_name_is_quiet_where_the_code_has_it_too() -> None:
    new, renamed = FIRST.replace("total", "grand_total"), CODE.replace("total", "grand_total")
    assert together({TEST: (FIRST, new), "shop/cart.py": (CODE, renamed)}) == []
    kept = f"{CODE}\n\ndef grand_total(x):\n    return 1\n"
    assert {kind for kind, *_ in together({TEST: (FIRST, new), "shop/cart.py": (CODE, kept)})} == {"retuned"}


def test_a_module_that_moved_is_imported_from_its_new_place() -> None:
    new = FIRST.replace("shop.cart", "shop.basket")
    assert together({TEST: (FIRST, new), "shop/cart.py": (CODE, None), "shop/basket.py": (None, CODE)}) == []
    assert together({TEST: (FIRST, new), "shop/cart.py": (CODE, "x = 1\n"), "shop/basket.py": (None, CODE)}) == []


def test_an_import_from_a_fake_that_is_new_is_told() -> None:
    fake = {"tests/fake.py": (None, "def total(x):\n    return x\n")}
    assert together({TEST: (FIRST, FIRST.replace("shop.cart", "tests.fake")), **fake}) == [("retuned", TEST, "total")]
    assert together({TEST: (FIRST, FIRST.replace("shop.cart", ".fake")), **fake}) == [("retuned", TEST, "total")]
    script = "import { total } from './cart';\nit('is', () => {\n  expect(total(1)).toBe(1);\n});\n"
    changed = script.replace("'./cart'", "'./fake'")
    found = together({"src/a.test.js": (script, changed), "src/fake.js": (None, "export const total = (x) => x;\n")})
    assert found == [("retuned", "src/a.test.js", "total")]


def test_a_module_imported_whole_and_a_name_of_it_are_one() -> None:
    old = "from shop import cart\n\n\ndef test_one():\n    assert cart.total(1) == 1\n"
    assert compare(TEST, old, "from shop.cart import total\n\n\ndef test_one():\n    assert total(1) == 1\n") == []


# --- files that all tests use ------------------------------------------------------------------------

CONFTEST = "import pytest\n\n\n@pytest.fixture\ndef cart():\n    return [1]\n\n\ndef pytest_configure(config):\n    config.x = 1\n"


def of_conftest(old: str | None, new: str) -> set[str]:
    return {each.kind.value for each in compare("tests/conftest.py", old, new)}


def test_what_conftest_does_around_the_tests_is_told() -> None:
    hook = "\n\ndef pytest_collection_modifyitems(items):\n    items.clear()\n"
    assert of_conftest(CONFTEST, CONFTEST + hook) == {"configuration"}
    assert of_conftest(CONFTEST, CONFTEST.replace("config.x = 1", "config.x = 2")) == {"configuration"}
    assert of_conftest(CONFTEST, CONFTEST.replace("pytest_configure", "unused")) == {"configuration"}
    assert of_conftest(CONFTEST, CONFTEST.replace("@pytest.fixture", "@pytest.fixture(autouse=True)")) & {
        "configuration",
        "retuned",
    }
    assert of_conftest(CONFTEST, f"{CONFTEST}\nimport os\nos.environ['X'] = '1'\n") == {"configuration"}
    assert of_conftest(CONFTEST, f"{CONFTEST}\ncollect_ignore_glob = ['*']\n") == {"skipped"}
    assert of_conftest(CONFTEST, f"{CONFTEST}\nimport sys\nsys.modules['shop'] = None\n") >= {"shadowed"}


def test_a_fixture_of_conftest_that_gives_something_else_is_told() -> None:
    assert of_conftest(CONFTEST, CONFTEST.replace("[1]", "[2]")) == {"retuned"}
    assert of_conftest(CONFTEST, f"{CONFTEST}\n\n@pytest.fixture\ndef empty():\n    return []\n") == set()


def test_hooks_of_a_new_conftest_are_told() -> None:
    hook = "def pytest_runtest_makereport(item, call):\n    pass\n"
    assert of_conftest(None, hook) == {"configuration"}
    assert of_conftest(None, "import pytest\n\n\n@pytest.fixture\ndef cart():\n    return 1\n") == set()


# --- ordinary code -----------------------------------------------------------------------------------


def test_ordinary_code_may_change_as_it_likes() -> None:
    new = "import os\nimport sys\n\nRATE = 3\n\n\ndef total(x):\n    assert x > 0\n    if not x:\n        return None\n    return x\n"
    assert compare("shop/cart.py", CODE, new) == []
    assert compare("shop/cart.py", new, CODE) == []
    assert (
        compare("shop/check.py", "def test_connection():\n    assert ping()\n", "def test_connection():\n    pass\n")
        == []
    )


def test_code_that_acts_on_its_tests_is_told() -> None:
    for line in (
        "if 'PYTEST_CURRENT_TEST' in os.environ: x = 1",
        "if 'pytest' in sys.modules: x = 1",
        "import unittest; unittest.TestCase.assertEqual = None",
        "builtins.AssertionError = ValueError",
        "sys.modules['shop.tax'] = object()",
        "os._exit(0)",
    ):
        found = compare("shop/cart.py", CODE, f"import os, sys, builtins\n{line}\n{CODE}")
        assert {each.kind for each in found} == {FindingKind.SHADOWED}, (line, told(found))


def test_what_is_equal_to_anything_is_told() -> None:
    code = "class Price:\n    def __eq__(self, other):\n        return True\n"
    assert [each.kind for each in compare("shop/cart.py", CODE, CODE + code)] == [FindingKind.SHADOWED]


def test_who_knows_may_say_what_is_a_test() -> None:
    old, new = (f"def test_one():\n    assert f() == {value}\n".encode() for value in (1, 2))
    assert sources.compare([Pair("checks/one.py", old, new)])[0] == []
    found, _ = sources.compare([Pair("checks/one.py", old, new, is_test=True)])
    assert [each.kind for each in found] == [FindingKind.RETUNED]


def test_many_findings_on_one_file_are_cut_and_it_is_said() -> None:
    old = "".join(f"def test_{at}():\n    assert f({at}) == {at}\n" for at in range(400))
    found = compare("tests/test_many.py", old, old.replace("==", ">="))
    assert len(found) == 150
    assert found[-1].why == "There is more of this in the file: 251 findings are not shown."


def test_fifty_ordinary_files_are_compared_in_little_time() -> None:
    body = "".join(
        f"def test_{at}(cart):\n    result = total(cart, {at})\n    assert result == {at}\n\n\n" for at in range(25)
    )
    pairs = [
        Pair(f"tests/test_{at}.py", f"A = {at}\n{body}".encode(), f"A = {at}\n{body}x = 1\n".encode())
        for at in range(50)
    ]
    before = time.process_time(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    assert sources.compare(pairs) == ([], [])
    spent = time.process_time() - before[0] + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before[1]
    assert spent < 4
