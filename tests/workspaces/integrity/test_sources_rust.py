"""Tricks and honest edits in tests written in Rust, in files of tests and beside the code."""

import pytest

from tests.workspaces.integrity.test_sources import Edit, assert_caught, assert_quiet, compare, told
from workspaces.integrity.findings import FindingKind as Kind

TESTS = """\
    const EXPECTED: i64 = 12;

    fn cart(prices: &[i64]) -> Cart {
        Cart::from(prices)
    }

    #[test]
    fn adds() {
        let result = total(&cart(&[5, 7]));
        assert_eq!(result, EXPECTED, "all of it");
        assert!(result > 10);
    }

    #[test]
    #[should_panic(expected = "negative")]
    fn refuses() {
        cart(&[-1]);
    }

    #[test]
    fn table() {
        for (price, wanted) in [(1, 1), (2, 2)] {
            assert_eq!(total(&cart(&[price])), wanted);
        }
        let cases = vec![(3, 3), (4, 4)];
        for (price, wanted) in cases {
            assert_eq!(total(&cart(&[price])), wanted);
        }
    }

    #[test]
    fn near() {
        assert_abs_diff_eq!(mean(&cart(&[1, 2])), 1.5, epsilon = 0.001);
        assert!(matches!(parse("x"), Err(Error::Parse)));
        assert!(cart(&[]).is_empty() == true);
    }

    #[test]
    #[ignore]
    fn not_yet() {
        assert_eq!(total(&cart(&[])), 0);
    }

    #[tokio::test]
    async fn later() {
        let value = load().await;
        assert_eq!(value, Ok(3));
    }
"""
CODE = """\
pub fn total(cart: &Cart) -> i64 {
    cart.prices.iter().sum()
}

impl Cart {
    pub fn add(&mut self, price: i64) {
        self.prices.push(price);
    }
}

"""
OUTSIDE = "use shop::*;\n\n" + "\n".join(line.removeprefix("    ") for line in TESTS.splitlines()) + "\n"
BESIDE = CODE + "#[cfg(test)]\nmod tests {\n    use super::*;\n\n" + TESTS + "}\n"
PATHS = ("src/lib.rs", "tests/totals.rs")


def base(path: str) -> str:
    return OUTSIDE if path.startswith("tests") else BESIDE


def edit(name: str, kind: Kind | None, old: str, new: str) -> Edit:
    return Edit(name, kind, old, new)


TRICKS = (
    edit("a check deleted", Kind.REMOVED, "assert!(result > 10);", ""),
    edit("a check commented out", Kind.REMOVED, "assert!(result > 10);", "// assert!(result > 10);"),
    edit("no test any more", Kind.REMOVED, "#[tokio::test]", "#[allow(dead_code)]"),
    edit("a case dropped", Kind.REMOVED, "[(1, 1), (2, 2)]", "[(1, 1)]"),
    edit("a case dropped from a vec", Kind.REMOVED, "vec![(3, 3), (4, 4)]", "vec![(4, 4)]"),
    edit("should_panic taken away", Kind.REMOVED, '#[should_panic(expected = "negative")]', ""),
    edit("a test commented out", Kind.REMOVED, "async fn later() {", "async fn later() {}\n#[cfg(any())]\nasync fn gone() {"),
    edit("ignore", Kind.SKIPPED, "#[tokio::test]", '#[tokio::test]\n#[ignore = "slow"]'),
    edit("a feature", Kind.SKIPPED, "#[tokio::test]", '#[cfg(feature = "slow")]\n#[tokio::test]'),
    edit("cfg_attr ignore", Kind.SKIPPED, "#[tokio::test]", "#[tokio::test]\n#[cfg_attr(all(), ignore)]"),
    edit("return early", Kind.SKIPPED, "let result =", "return;\nlet result ="),
    edit("return under a condition", Kind.SKIPPED, "let result =", "if std::env::var(\"CI\").is_err() { return; }\nlet result ="),
    edit("if false", Kind.SKIPPED, "assert!(result > 10);", "if false { assert!(result > 10); }"),
    edit("only if it is so", Kind.SKIPPED, "assert!(result > 10);", "if result > 10 { assert!(result > 10); }"),
    edit("the process ended", Kind.SKIPPED, "let result =", "std::process::exit(0);\nlet result ="),
    edit("assert! in place of assert_eq!", Kind.LOOSENED, 'assert_eq!(result, EXPECTED, "all of it")', "assert!(result > 0)"),
    edit("assert_ne!", Kind.LOOSENED, 'assert_eq!(result, EXPECTED, "all of it")', "assert_ne!(result, 0)"),
    edit("or true", Kind.LOOSENED, "assert!(result > 10)", "assert!(result > 10 || true)"),
    edit("always true", Kind.LOOSENED, "assert!(result > 10)", "assert!(true)"),
    edit("compared with itself", Kind.LOOSENED, 'assert_eq!(result, EXPECTED, "all of it")', "assert_eq!(result, result)"),
    edit("should_panic", Kind.LOOSENED, "#[tokio::test]", "#[tokio::test]\n#[should_panic]"),
    edit("any panic", Kind.LOOSENED, '#[should_panic(expected = "negative")]', "#[should_panic]"),
    edit("a wider epsilon", Kind.LOOSENED, "epsilon = 0.001", "epsilon = 10.0"),
    edit("a lower bound", Kind.LOOSENED, "assert!(result > 10)", "assert!(result > 1)"),
    edit("panics caught", Kind.LOOSENED, "assert!(result > 10);", "let _ = std::panic::catch_unwind(|| { assert!(result > 10); });"),
    edit("in a closure that nothing calls", Kind.LOOSENED, "assert!(result > 10);", "let check = || { assert!(result > 10); };"),
    edit("another constant", Kind.RETUNED, "EXPECTED: i64 = 12", "EXPECTED: i64 = 13"),
    edit("another value", Kind.RETUNED, "Ok(3)", "Ok(4)"),
    edit("another case", Kind.RETUNED, "(2, 2)]", "(2, 3)]"),
    edit("another case in a vec", Kind.RETUNED, "(4, 4)]", "(4, 5)]"),
    edit("another variant", Kind.RETUNED, "Error::Parse", "Error::Other"),
    edit("the result made up", Kind.RETUNED, "let result = total(&cart(&[5, 7]));", "let result = EXPECTED;"),
    edit("another helper", Kind.RETUNED, "Cart::from(prices)", "Cart::fake(prices)"),
)  # fmt: skip
HONEST = (
    edit("a new test", Kind.ADDED, "#[tokio::test]", "#[test]\nfn more() {\n    assert_eq!(total(&cart(&[1])), 1);\n}\n\n#[tokio::test]"),
    edit("a check more", None, "assert!(result > 10);", "assert!(result > 10);\nassert!(result < 20);"),
    edit("a case more", None, "[(1, 1), (2, 2)]", "[(1, 1), (2, 2), (3, 3)]"),
    edit("a case more in a vec", None, "vec![(3, 3), (4, 4)]", "vec![(3, 3), (4, 4), (5, 5)]"),
    edit("no message", None, ', "all of it")', ")"),
    edit("other lines", None, 'assert_eq!(result, EXPECTED, "all of it")', 'assert_eq!(\n    result,\n    EXPECTED,\n    "all of it",\n)'),
    edit("a comment", None, "assert!(result > 10);", "// More than ten.\nassert!(result > 10); /* really */"),
    edit("unskipped", None, "#[test]\n    #[ignore]\n", "#[test]\n"),
    edit("a variable renamed", None, "let value = load().await;", "let value = load().await;"),
    edit("assert_eq! in place of assert!", None, "assert!(cart(&[]).is_empty() == true)", "assert_eq!(cart(&[]).is_empty(), true)"),
    edit("a tighter epsilon", None, "epsilon = 0.001", "epsilon = 0.0001"),
    edit("a derive", None, "const EXPECTED", "#[derive(Debug)]\nstruct Extra;\n\nconst EXPECTED"),
)  # fmt: skip


def fitted(path: str, each: Edit) -> Edit:
    """The edit as it is made in a file of tests, whose lines stand further left."""
    return Edit(
        each.name, each.kind, each.old.replace("\n    ", "\n") if path.startswith("tests") else each.old, each.new
    )


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("trick", TRICKS, ids=lambda each: each.name)
def test_a_trick_is_caught(path: str, trick: Edit) -> None:
    assert_caught(path, base(path), fitted(path, trick))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("honest", HONEST, ids=lambda each: each.name)
def test_an_honest_edit_is_not_suspect(path: str, honest: Edit) -> None:
    assert_quiet(path, base(path), fitted(path, honest))


def test_code_beside_tests_may_be_mended() -> None:
    new = BESIDE.replace(
        "cart.prices.iter().sum()", "let mut sum = 0;\n    for p in &cart.prices { sum += p; }\n    sum"
    )
    new = new.replace("self.prices.push(price);", "assert!(price > 0);\n        self.prices.push(price);")
    assert compare("src/lib.rs", BESIDE, new) == []


@pytest.mark.parametrize(
    "code",
    [
        "if cfg!(test) { return 12; }",
        "#[cfg(test)]\n    return 12;\n    #[cfg(not(test))]",
    ],
)
def test_code_that_asks_whether_it_is_tested_is_told(code: str) -> None:
    found = compare("src/lib.rs", CODE, CODE.replace("    cart.prices", f"    {code}\n    cart.prices"))
    assert {each.kind for each in found} == {Kind.SHADOWED}, told(found)
