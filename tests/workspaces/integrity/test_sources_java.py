"""Tricks and honest edits in tests written in Java."""

import pytest

from tests.workspaces.integrity.test_sources import Edit, assert_caught, assert_quiet, compare, told
from workspaces.integrity.findings import FindingKind as Kind

PATH = "src/test/java/shop/CartTest.java"
BASE = """\
package shop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.*;

import org.junit.jupiter.api.*;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CartTest {
    static final int EXPECTED = 12;
    private Cart cart;

    @BeforeEach
    void setUp() {
        cart = new Cart(5, 7);
    }

    @Test
    void adds() {
        int result = cart.total();
        assertEquals(EXPECTED, result);
        assertEquals(0.3, cart.mean(), 0.001);
        assertTrue(result == 12);
        assertNotNull(cart.name());
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "2, 2"})
    void table(int price, int wanted) {
        assertEquals(wanted, new Cart(price).total());
    }

    @Test
    void refuses() {
        assertThrows(IllegalArgumentException.class, () -> new Cart(-1));
    }

    @Test
    void fluent() {
        assertThat(cart.prices()).containsExactly(5, 7);
        assertThat(cart.total()).isEqualTo(12);
        assertThat(cart.isOpen()).isTrue();
    }

    @Disabled("later")
    @Test
    void notYet() {
        assertEquals(0, new Cart().total());
    }
}
"""


def edit(name: str, kind: Kind | None, old: str, new: str) -> Edit:
    return Edit(name, kind, old, new)


_REFUSES = BASE[BASE.index("    @Test\n    void refuses") : BASE.index("    @Test\n    void fluent")]
TRICKS = (
    edit("a test deleted", Kind.REMOVED, _REFUSES, ""),
    edit("a check deleted", Kind.REMOVED, "        assertEquals(EXPECTED, result);\n", ""),
    edit("a check commented out", Kind.REMOVED, "        assertEquals(EXPECTED, result);\n", "        // assertEquals(EXPECTED, result);\n"),
    edit("no test any more", Kind.REMOVED, "    @Test\n    void refuses", "    void refuses"),
    edit("a case dropped", Kind.REMOVED, ', "2, 2"', ""),
    edit("a body emptied", Kind.REMOVED, "        assertThrows(IllegalArgumentException.class, () -> new Cart(-1));\n", ""),
    edit("@Disabled", Kind.SKIPPED, "    @Test\n    void refuses", "    @Disabled\n    @Test\n    void refuses"),
    edit("@Ignore", Kind.SKIPPED, "    @Test\n    void refuses", "    @org.junit.Ignore\n    @Test\n    void refuses"),
    edit("disabled on some systems", Kind.SKIPPED, "    @Test\n    void refuses", "    @DisabledOnOs(OS.LINUX)\n    @Test\n    void refuses"),
    edit("the class disabled", Kind.SKIPPED, "class CartTest {", "@Disabled\nclass CartTest {"),
    edit("a tag", Kind.SKIPPED, "    @Test\n    void refuses", '    @Tag("slow")\n    @Test\n    void refuses'),
    edit("assumed", Kind.SKIPPED, "        int result", "        assumeTrue(false);\n        int result"),
    edit("assumed by its class", Kind.SKIPPED, "        int result", "        Assumptions.assumeFalse(true);\n        int result"),
    edit("return early", Kind.SKIPPED, "        int result", "        if (cart != null) return;\n        int result"),
    edit("if false", Kind.SKIPPED, "        assertNotNull(cart.name());\n", "        if (false) {\n            assertNotNull(cart.name());\n        }\n"),
    edit("if false without braces", Kind.SKIPPED, "        assertNotNull(cart.name());\n", "        if (false) assertNotNull(cart.name());\n"),
    edit("the process ended", Kind.SKIPPED, "        int result", "        System.exit(0);\n        int result"),
    edit("assertNotNull", Kind.LOOSENED, "assertEquals(EXPECTED, result)", "assertNotNull(result)"),
    edit("assertTrue", Kind.LOOSENED, "assertEquals(EXPECTED, result)", "assertTrue(result > 0)"),
    edit("a wider delta", Kind.LOOSENED, "cart.mean(), 0.001", "cart.mean(), 10.0"),
    edit("a delta", Kind.LOOSENED, "assertEquals(EXPECTED, result)", "assertEquals(EXPECTED, result, 100)"),
    edit("any exception", Kind.LOOSENED, "IllegalArgumentException.class", "Exception.class"),
    edit("or true", Kind.LOOSENED, "assertTrue(result == 12)", "assertTrue(result == 12 || true)"),
    edit("always true", Kind.LOOSENED, "assertTrue(result == 12)", "assertTrue(true)"),
    edit("contains", Kind.LOOSENED, "containsExactly(5, 7)", "contains(5)"),
    edit("isNotNull", Kind.LOOSENED, "isEqualTo(12)", "isNotNull()"),
    edit("isNotEmpty", Kind.LOOSENED, "containsExactly(5, 7)", "isNotEmpty()"),
    edit("failures caught", Kind.LOOSENED, "        assertNotNull(cart.name());\n", "        try {\n            assertNotNull(cart.name());\n        } catch (AssertionError e) {\n        }\n"),
    edit("failures expected", Kind.LOOSENED, "        assertNotNull(cart.name());\n", "        assertThrows(Throwable.class, () -> {\n            assertNotNull(cart.name());\n        });\n"),
    edit("tried again", Kind.LOOSENED, "    @Test\n    void refuses", "    @RetryingTest(5)\n    @Test\n    void refuses"),
    edit("another constant", Kind.RETUNED, "EXPECTED = 12", "EXPECTED = 13"),
    edit("another value", Kind.RETUNED, "isEqualTo(12)", "isEqualTo(13)"),
    edit("another case", Kind.RETUNED, '"2, 2"', '"2, 3"'),
    edit("another set-up", Kind.RETUNED, "new Cart(5, 7)", "new Cart(12)"),
    edit("the result made up", Kind.RETUNED, "int result = cart.total();", "int result = EXPECTED;"),
    edit("another exception", Kind.RETUNED, "IllegalArgumentException.class", "NullPointerException.class"),
    edit("mocked", Kind.SHADOWED, "        int result", "        when(cart.total()).thenReturn(12);\n        int result"),
    edit("exit without failures", Kind.SHADOWED, "        cart = new Cart(5, 7);\n", "        cart = new Cart(5, 7);\n        Runtime.getRuntime().halt(0);\n"),
)  # fmt: skip
HONEST = (
    edit("a new test", Kind.ADDED, "    @Test\n    void fluent", "    @Test\n    void more() {\n        assertEquals(1, new Cart(1).total());\n    }\n\n    @Test\n    void fluent"),
    edit("a check more", None, "        assertNotNull(cart.name());\n", '        assertNotNull(cart.name());\n        assertEquals("a", cart.name());\n'),
    edit("a case more", None, ', "2, 2"', ', "2, 2", "3, 3"'),
    edit("a message", None, "assertEquals(EXPECTED, result)", 'assertEquals(EXPECTED, result, "all of it")'),
    edit("other lines", None, "assertEquals(EXPECTED, result)", "assertEquals(\n                EXPECTED,\n                result)"),
    edit("a comment", None, "        assertNotNull(cart.name());\n", "        // It has one.\n        assertNotNull(cart.name()); /* yes */\n"),
    edit("unskipped", None, '    @Disabled("later")\n', ""),
    edit("assertEquals in place of assertTrue", None, "assertTrue(result == 12)", "assertEquals(12, result)"),
    edit("a tighter delta", None, "cart.mean(), 0.001", "cart.mean(), 0.00001"),
    edit("a display name", None, "    @Test\n    void refuses", '    @DisplayName("refuses")\n    @Test\n    void refuses'),
    edit("an import more", None, "import org.junit.jupiter.api.*;\n", "import java.util.List;\nimport org.junit.jupiter.api.*;\n"),
    edit("a variable renamed", None, "        int result = cart.total();\n        assertEquals(EXPECTED, result);\n        assertEquals(0.3, cart.mean(), 0.001);\n        assertTrue(result == 12);\n", "        int sum = cart.total();\n        assertEquals(EXPECTED, sum);\n        assertEquals(0.3, cart.mean(), 0.001);\n        assertTrue(sum == 12);\n"),
)  # fmt: skip
FOUR = """\
import org.junit.Test;
import static org.junit.Assert.*;
import static org.hamcrest.Matchers.*;

public class OldTest {
    @Test(expected = IllegalStateException.class, timeout = 100)
    public void refuses() {
        new Cart().close();
    }

    @Test
    public void adds() {
        assertEquals("all of it", 3, new Cart(1, 2).total());
        assertThat(new Cart(1).total(), is(equalTo(1)));
    }
}
"""
FOUR_TRICKS = (
    edit("any exception", Kind.LOOSENED, "IllegalStateException.class", "Exception.class"),
    edit("no exception", Kind.REMOVED, "expected = IllegalStateException.class, ", ""),
    edit("another value", Kind.RETUNED, '"all of it", 3,', '"all of it", 4,'),
    edit("a matcher of anything", Kind.LOOSENED, "is(equalTo(1))", "is(notNullValue())"),
    edit("another value of a matcher", Kind.RETUNED, "is(equalTo(1))", "is(equalTo(2))"),
    edit("JUnit 3's way out", Kind.REMOVED, "    @Test\n    public void adds", "    public void xadds"),
)


@pytest.mark.parametrize("trick", TRICKS, ids=lambda each: each.name)
def test_a_trick_is_caught(trick: Edit) -> None:
    assert_caught(PATH, BASE, trick)


@pytest.mark.parametrize("trick", FOUR_TRICKS, ids=lambda each: each.name)
def test_a_trick_is_caught_in_junit_4(trick: Edit) -> None:
    assert_caught("src/test/java/OldTest.java", FOUR, trick)


@pytest.mark.parametrize("honest", HONEST, ids=lambda each: each.name)
def test_an_honest_edit_is_not_suspect(honest: Edit) -> None:
    assert_quiet(PATH, BASE, honest)


@pytest.mark.parametrize(
    "code",
    [
        'for (var e : Thread.currentThread().getStackTrace()) if (e.getClassName().startsWith("org.junit.")) return 12;',
        "System.exit(0);",
    ],
)
def test_code_that_acts_on_its_tests_is_told(code: str) -> None:
    old = "class Cart {\n    int total() {\n        return 1;\n    }\n}\n"
    found = compare(
        "src/main/java/shop/Cart.java", old, old.replace("        return 1;", f"        {code}\n        return 1;")
    )
    assert [each.kind for each in found] == [Kind.SHADOWED], told(found)
