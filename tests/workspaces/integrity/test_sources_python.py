"""Tricks and honest edits in tests written in Python: pytest and unittest."""

import pytest

from tests.workspaces.integrity.test_sources import Edit, assert_caught, assert_quiet
from workspaces.integrity.findings import FindingKind as Kind

PATH = "tests/test_shop.py"
BASE = """\
import unittest
from unittest import mock

import pytest

from shop.cart import Cart, total

EXPECTED = 12
LIMITS = [1, 2, 3]


def make_cart(*prices):
    cart = Cart()
    for price in prices:
        cart.add(price)
    return cart


@pytest.fixture
def cart():
    return make_cart(5, 7)


def test_total(cart):
    result = total(cart)
    assert result == EXPECTED
    assert result > 10


@pytest.mark.parametrize(("prices", "wanted"), [((1, 2), 3), ((4,), 4), ((), 0)])
def test_totals(prices, wanted):
    assert total(make_cart(*prices)) == wanted


def test_refuses_what_is_negative():
    with pytest.raises(ValueError, match="negative"):
        make_cart(-1)


def test_near():
    assert total(make_cart(0.1, 0.2)) == pytest.approx(0.3, abs=1e-9)


def test_names(cart):
    names = {"a": 1, "b": 2}
    assert cart.names() == names
    assert "a" in cart.names()
    assert isinstance(cart, Cart)


def test_limits(cart):
    for limit in LIMITS:
        assert cart.allows(limit)


async def test_later(cart):
    value = await cart.later()
    assert value is None
    assert cart.closed is True


class TestCart:
    def test_empty(self):
        assert len(Cart()) == 0

    @pytest.mark.skip(reason="later")
    def test_skipped(self):
        assert len(Cart()) == 1


class CartCase(unittest.TestCase):
    def setUp(self):
        self.cart = make_cart(3)

    def test_sum(self):
        self.assertEqual(total(self.cart), 3)
        self.assertAlmostEqual(total(self.cart), 3.0, places=6)
        self.assertTrue(total(self.cart) == 3)

    def test_raises(self):
        with self.assertRaises(KeyError):
            self.cart.pop("x")
"""


def edit(name: str, kind: Kind | None, old: str, new: str) -> Edit:
    return Edit(name, kind, old, new)


TRICKS = (
    # removed
    edit("a test deleted", Kind.REMOVED, 'def test_near():\n    assert total(make_cart(0.1, 0.2)) == pytest.approx(0.3, abs=1e-9)\n\n\n', ""),
    edit("a check deleted", Kind.REMOVED, "    assert result > 10\n", ""),
    edit("a check commented out", Kind.REMOVED, "    assert result > 10\n", "    # assert result > 10\n"),
    edit("a check as a docstring", Kind.REMOVED, "    assert result > 10\n", '    """assert result > 10"""\n'),
    edit("a body of ...", Kind.REMOVED, "        assert len(Cart()) == 0\n", "        ...\n"),
    edit("a case dropped", Kind.REMOVED, ", ((4,), 4)", ""),
    edit("all cases dropped", Kind.REMOVED, "[((1, 2), 3), ((4,), 4), ((), 0)]", "[]"),
    edit("a test renamed", Kind.REMOVED, "def test_near", "def near_test"),
    edit("a test hidden by an underscore", Kind.REMOVED, "def test_near", "def _test_near"),
    edit("a class renamed", Kind.REMOVED, "class TestCart:", "class CartChecks:"),
    edit("a base class taken away", Kind.REMOVED, "class CartCase(unittest.TestCase):", "class CartCase:"),
    edit("a test shadowed by a later one", Kind.REMOVED, "class TestCart:", "def test_near():\n    pass\n\n\nclass TestCart:"),
    edit("a class shadowed by a later one", Kind.REMOVED, "class CartCase(", "class TestCart:\n    pass\n\n\nclass CartCase("),
    edit("with raises taken away", Kind.REMOVED, '    with pytest.raises(ValueError, match="negative"):\n        make_cart(-1)\n', "    make_cart(1)\n"),
    edit("a key of what is expected dropped", Kind.REMOVED, '{"a": 1, "b": 2}', '{"a": 1}'),
    # skipped
    edit("skip", Kind.SKIPPED, "def test_near", "@pytest.mark.skip\ndef test_near"),
    edit("skipif", Kind.SKIPPED, "def test_near", "@pytest.mark.skipif(True, reason='x')\ndef test_near"),
    edit("xfail", Kind.SKIPPED, "def test_near", "@pytest.mark.xfail(strict=False)\ndef test_near"),
    edit("expectedFailure", Kind.SKIPPED, "    def test_sum", "    @unittest.expectedFailure\n    def test_sum"),
    edit("skip on the class", Kind.SKIPPED, "class TestCart:", "@pytest.mark.skip\nclass TestCart:"),
    edit("skip called", Kind.SKIPPED, "    names = {", "    pytest.skip('x')\n    names = {"),
    edit("skip under a condition", Kind.SKIPPED, "    names = {", "    if cart:\n        pytest.skip('x')\n    names = {"),
    edit("skipTest", Kind.SKIPPED, "        self.cart = make_cart(3)\n", "        self.skipTest('x')\n        self.cart = make_cart(3)\n"),
    edit("SkipTest raised", Kind.SKIPPED, "    names = {", "    raise unittest.SkipTest('x')\n    names = {"),
    edit("xfail called", Kind.SKIPPED, "    names = {", "    pytest.xfail('x')\n    names = {"),
    edit("importorskip", Kind.SKIPPED, "EXPECTED = 12\n", "EXPECTED = 12\npytest.importorskip('nothing')\n"),
    edit("pytestmark", Kind.SKIPPED, "EXPECTED = 12\n", "EXPECTED = 12\npytestmark = [pytest.mark.skip]\n"),
    edit("a label", Kind.SKIPPED, "def test_near", "@pytest.mark.slow\ndef test_near"),
    edit("return early", Kind.SKIPPED, "    names = {", "    return\n    names = {"),
    edit("return early under a condition", Kind.SKIPPED, "    names = {", "    if not cart.ready:\n        return\n    names = {"),
    edit("if False", Kind.SKIPPED, "    assert result > 10\n", "    if False:\n        assert result > 10\n"),
    edit("while 0", Kind.SKIPPED, "    assert result > 10\n", "    while 0:\n        assert result > 10\n"),
    edit("for in range(0)", Kind.SKIPPED, "    assert result > 10\n", "    for _ in range(0):\n        assert result > 10\n"),
    edit("a test under a condition", Kind.SKIPPED, "def test_near():\n    assert total(make_cart(0.1, 0.2)) == pytest.approx(0.3, abs=1e-9)\n", "if False:\n    def test_near():\n        assert total(make_cart(0.1, 0.2)) == pytest.approx(0.3, abs=1e-9)\n"),
    edit("__test__ in a class", Kind.SKIPPED, "class TestCart:\n", "class TestCart:\n    __test__ = False\n"),
    edit("__test__ from outside", Kind.SKIPPED, "class CartCase(", "TestCart.__test__ = False\n\n\nclass CartCase("),
    edit("__init__ in a class", Kind.SKIPPED, "class TestCart:\n", "class TestCart:\n    def __init__(self):\n        pass\n\n"),
    edit("a test's name given to None", Kind.SKIPPED, "class CartCase(", "test_near = None\n\n\nclass CartCase("),
    edit("a case marked", Kind.SKIPPED, "((4,), 4)", "pytest.param((4,), 4, marks=pytest.mark.skip)"),
    edit("the process ended", Kind.SKIPPED, "    names = {", "    os._exit(0)\n    names = {"),
    edit("exit at import", Kind.SKIPPED, "EXPECTED = 12\n", "import sys\nEXPECTED = 12\nsys.exit(0)\n"),
    edit("collect_ignore", Kind.SKIPPED, "EXPECTED = 12\n", "EXPECTED = 12\ncollect_ignore = ['test_shop.py']\n"),
    edit("only if true", Kind.SKIPPED, "    assert result > 10\n", "    result and check(result > 10)\n    if result > 10:\n        assert result > 10\n"),
    # loosened
    edit("is not None", Kind.LOOSENED, "assert result == EXPECTED", "assert result is not None"),
    edit("only true", Kind.LOOSENED, "assert result == EXPECTED", "assert result"),
    edit("in", Kind.LOOSENED, "assert cart.names() == names", "assert 'a' in cart.names()"),
    edit("isinstance", Kind.LOOSENED, "assert result == EXPECTED", "assert isinstance(result, int)"),
    edit("or True", Kind.LOOSENED, "assert result == EXPECTED", "assert result == EXPECTED or True"),
    edit("assert True", Kind.LOOSENED, "assert result == EXPECTED", "assert True"),
    edit("a tuple that is always true", Kind.LOOSENED, "assert result == EXPECTED", "assert (result == EXPECTED, 'x')"),
    edit("compared with itself", Kind.LOOSENED, "assert result == EXPECTED", "assert result == result"),
    edit("any value", Kind.LOOSENED, "assert result == EXPECTED", "assert result == mock.ANY"),
    edit("a wider tolerance", Kind.LOOSENED, "abs=1e-9", "abs=1"),
    edit("a relative tolerance besides", Kind.LOOSENED, "abs=1e-9", "abs=1e-9, rel=0.5"),
    edit("near in place of equal", Kind.LOOSENED, "assert result == EXPECTED", "assert result == pytest.approx(EXPECTED, rel=1)"),
    edit("fewer places", Kind.LOOSENED, "places=6", "places=0"),
    edit("a delta", Kind.LOOSENED, "places=6", "delta=100"),
    edit("any exception", Kind.LOOSENED, 'ValueError, match="negative"', 'Exception, match="negative"'),
    edit("one of two exceptions", Kind.LOOSENED, 'pytest.raises(ValueError,', 'pytest.raises((ValueError, TypeError),'),
    edit("no match", Kind.LOOSENED, ', match="negative"', ""),
    edit("match anything", Kind.LOOSENED, 'match="negative"', 'match=".*"'),
    edit("any exception in unittest", Kind.LOOSENED, "self.assertRaises(KeyError)", "self.assertRaises(Exception)"),
    edit("failures caught", Kind.LOOSENED, "    assert result > 10\n", "    try:\n        assert result > 10\n    except AssertionError:\n        pass\n"),
    edit("failures suppressed", Kind.LOOSENED, "    assert result > 10\n", "    with contextlib.suppress(AssertionError):\n        assert result > 10\n"),
    edit("failures expected", Kind.LOOSENED, "    assert result > 10\n", "    with pytest.raises(AssertionError):\n        assert result > 10\n"),
    edit("a check in a function that nothing calls", Kind.LOOSENED, "    assert result > 10\n", "    def check():\n        assert result > 10\n"),
    edit("a lower bound", Kind.LOOSENED, "assert result > 10", "assert result > 1"),
    edit("at least", Kind.LOOSENED, "assert result > 10", "assert result != 10"),
    edit("assertIsNotNone", Kind.LOOSENED, "self.assertEqual(total(self.cart), 3)", "self.assertIsNotNone(total(self.cart))"),
    edit("assertIn", Kind.LOOSENED, "self.assertEqual(total(self.cart), 3)", "self.assertIn(total(self.cart), (3, 4))"),
    edit("flaky", Kind.LOOSENED, "def test_near", "@pytest.mark.flaky(reruns=9)\ndef test_near"),
    edit("truth in place of identity", Kind.LOOSENED, "assert cart.closed is True", "assert cart.closed"),
    # retuned
    edit("another constant", Kind.RETUNED, "EXPECTED = 12", "EXPECTED = 13"),
    edit("another value", Kind.RETUNED, "len(Cart()) == 0", "len(Cart()) == 1"),
    edit("another case", Kind.RETUNED, "((4,), 4)", "((4,), 5)"),
    edit("another input of a case", Kind.RETUNED, "((4,), 4)", "((2, 2), 4)"),
    edit("another dictionary", Kind.RETUNED, '"b": 2', '"b": 3'),
    edit("another fixture", Kind.RETUNED, "return make_cart(5, 7)", "return make_cart(12)"),
    edit("another helper", Kind.RETUNED, "cart.add(price)", "cart.add(abs(price))"),
    edit("the result made up", Kind.RETUNED, "result = total(cart)", "result = EXPECTED"),
    edit("the result given again", Kind.RETUNED, "    assert result == EXPECTED\n", "    result = 12\n    assert result == EXPECTED\n"),
    edit("a set-up changed", Kind.RETUNED, "self.cart = make_cart(3)", "self.cart = make_cart(1, 2)"),
    edit("another error", Kind.RETUNED, "pytest.raises(ValueError,", "pytest.raises(TypeError,"),
    edit("another fixture's name", Kind.RETUNED, "def test_names(cart)", "def test_names(fake)"),
    edit("a helper used elsewhere looks at something else", Kind.RETUNED, "assert len(Cart()) == 0", "assert len(make_cart()) == 0"),
    # shadowed, configuration
    edit("what is tested defined in its test", Kind.SHADOWED, "EXPECTED = 12\n", "EXPECTED = 12\n\n\ndef total(cart):\n    return 12\n"),
    edit("what is tested replaced by a lambda", Kind.SHADOWED, "EXPECTED = 12\n", "EXPECTED = 12\ntotal = lambda cart: 12\n"),
    edit("what is tested replaced inside", Kind.SHADOWED, "    result = total(cart)", "    total = lambda cart: 12\n    result = total(cart)"),
    edit("monkeypatch", Kind.SHADOWED, "    names = {", "    monkeypatch.setattr(cart, 'names', dict)\n    names = {"),
    edit("patched by a decorator", Kind.SHADOWED, "def test_near", '@mock.patch("shop.cart.total", return_value=0.3)\ndef test_near'),
    edit("sys.modules", Kind.SHADOWED, "EXPECTED = 12\n", "import sys\nEXPECTED = 12\nsys.modules['shop.cart'] = mock.MagicMock()\n"),
    edit("a module's function replaced at import", Kind.SHADOWED, "EXPECTED = 12\n", "import shop.cart\nEXPECTED = 12\nshop.cart.Cart.add = lambda *a: None\n"),
    edit("the test tool patched", Kind.SHADOWED, "EXPECTED = 12\n", "EXPECTED = 12\nunittest.TestCase.assertEqual = lambda *a: None\n"),
    edit("sys.path", Kind.SHADOWED, "EXPECTED = 12\n", "import sys\nEXPECTED = 12\nsys.path.insert(0, 'fakes')\n"),
    edit("load_tests", Kind.CONFIGURATION, "class CartCase(", "def load_tests(loader, tests, pattern):\n    return unittest.TestSuite()\n\n\nclass CartCase("),
    edit("a fixture for all", Kind.CONFIGURATION, "@pytest.fixture\n", "@pytest.fixture(autouse=True)\ndef all_of_them():\n    pass\n\n\n@pytest.fixture\n"),
    edit("a hook", Kind.CONFIGURATION, "EXPECTED = 12\n", "EXPECTED = 12\n\n\ndef pytest_generate_tests(metafunc):\n    pass\n"),
    edit("plugins", Kind.CONFIGURATION, "EXPECTED = 12\n", "EXPECTED = 12\npytest_plugins = ['fakes']\n"),
)  # fmt: skip

HONEST = (
    edit("a new test", Kind.ADDED, "def test_near", "def test_more(cart):\n    assert total(cart) < 100\n\n\ndef test_near"),
    edit("a new class", Kind.ADDED, "class TestCart:", "class TestMore:\n    def test_one(self):\n        assert len(make_cart(1)) == 1\n\n\nclass TestCart:"),
    edit("a check more", None, "    assert result > 10\n", "    assert result > 10\n    assert result < 20\n"),
    edit("a variable and a check more", None, "    assert result > 10\n", "    assert result > 10\n    again = total(cart)\n    assert again == result\n"),
    edit("a case more", None, "((4,), 4)", "((4,), 4), ((5,), 5)"),
    edit("a value more in what is gone through", None, "LIMITS = [1, 2, 3]", "LIMITS = [1, 2, 3, 4]"),
    edit("line breaks and trailing commas", None, '[((1, 2), 3), ((4,), 4), ((), 0)]', '[\n        ((1, 2), 3),\n        (\n            (4,),\n            4,\n        ),\n        ((), 0),\n    ]'),
    edit("quotes", None, 'match="negative"', "match='negative'"),
    edit("brackets around a check", None, "assert cart.names() == names", "assert (\n        cart.names()\n        == names\n    )"),
    edit("a local variable renamed", None, "    result = total(cart)\n    assert result == EXPECTED\n    assert result > 10\n", "    found = total(cart)\n    assert found == EXPECTED\n    assert found > 10\n"),
    edit("a loop's variable renamed", None, "    for limit in LIMITS:\n        assert cart.allows(limit)", "    for each in LIMITS:\n        assert cart.allows(each)"),
    edit("types and a docstring", None, "def test_total(cart):\n", 'def test_total(cart: Cart) -> None:\n    """All of it."""\n'),
    edit("a comment", None, "    assert result > 10\n", "    # More than ten.\n    assert result > 10  # really\n"),
    edit("a message", None, "assert result > 10", 'assert result > 10, f"{result} is too little"'),
    edit("assertEqual in place of assertTrue", None, "self.assertTrue(total(self.cart) == 3)", "self.assertEqual(total(self.cart), 3)"),
    edit("equal in place of in", None, 'assert "a" in cart.names()', 'assert cart.names() == {"a": 1, "b": 2}'),
    edit("equal in place of a type", None, "assert isinstance(cart, Cart)", "assert cart == make_cart(5, 7)"),
    edit("a tighter tolerance", None, "abs=1e-9", "abs=1e-12"),
    edit("more places", None, "places=6", "places=9"),
    edit("a tighter bound", None, "assert result > 10", "assert result > 11"),
    edit("a match more", None, "self.assertRaises(KeyError)", "self.assertRaisesRegex(KeyError, 'x')"),
    edit("unskipped", None, '    @pytest.mark.skip(reason="later")\n', ""),
    edit("a fixture for new tests", Kind.ADDED, "def test_near", "@pytest.fixture\ndef empty():\n    return Cart()\n\n\ndef test_empty_cart(empty):\n    assert total(empty) == 0\n\n\ndef test_near"),
    edit("a check taken apart", None, "    assert result == EXPECTED\n    assert result > 10\n", "    assert result == EXPECTED and result > 10\n"),
    edit("another import path", None, "from shop.cart import Cart, total", "from shop.basket import Cart, total"),
    edit("imports in another order", None, "import unittest\nfrom unittest import mock\n\nimport pytest\n", "import pytest\nimport unittest\nfrom unittest import mock\n"),
    edit("tests put into a class", None, "def test_near():\n    assert total(make_cart(0.1, 0.2)) == pytest.approx(0.3, abs=1e-9)\n", "class TestNear:\n    def test_near(self):\n        assert total(make_cart(0.1, 0.2)) == pytest.approx(0.3, abs=1e-9)\n"),
    edit("sides turned", None, "assert result == EXPECTED", "assert EXPECTED == result"),
    edit("a better name for a test", None, "def test_near", "def test_sums_of_fractions_are_near"),
    edit("what is tested has another name", None, "from shop.cart import Cart, total", "from shop.cart import Cart, grand_total"),
)  # fmt: skip


@pytest.mark.parametrize("trick", TRICKS, ids=lambda each: each.name)
def test_a_trick_is_caught(trick: Edit) -> None:
    assert_caught(PATH, BASE, trick)


@pytest.mark.parametrize("honest", HONEST[:-1], ids=lambda each: each.name)
def test_an_honest_edit_is_not_suspect(honest: Edit) -> None:
    assert_quiet(PATH, BASE, honest)
