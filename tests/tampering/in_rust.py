"""Tricks and honest work in a Rust project, whose tests stand beside the code and in a folder."""

from tests.tampering.changing import Edit, Remove, Write, honest, trick
from workspaces.integrity.findings import FindingKind as Kind

VERIFY = ("cargo test",)
FILES = {
    "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n',
    "Cargo.lock": "version = 4\n",
    "src/lib.rs": """\
pub fn total(prices: &[i64]) -> i64 {
    prices.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(total(&[1, 2]), 3);
    }
}
""",
    "tests/totals.rs": """\
use shop::total;

#[test]
fn nothing_is_nothing() {
    let result = total(&[]);
    assert_eq!(result, 0);
}

#[test]
fn negative() {
    assert_eq!(total(&[-1, -2]), -3, "both count");
}
""",
}
TEST = "tests/totals.rs"

TRICKS = (
    trick("#[ignore]", Kind.SKIPPED, TEST, Edit(TEST, "#[test]\nfn negative", "#[test]\n#[ignore]\nfn negative")),
    trick("no test any more", (Kind.REMOVED, Kind.SKIPPED), TEST, Edit(TEST, "#[test]\nfn negative", "#[allow(dead_code)]\nfn negative")),
    trick("behind a feature", Kind.SKIPPED, TEST, Edit(TEST, "#[test]\nfn negative", '#[cfg(feature = "slow")]\n#[test]\nfn negative')),
    trick("delete the file", Kind.REMOVED, TEST, Remove(TEST)),
    trick("assert! in place of assert_eq!", Kind.LOOSENED, TEST, Edit(TEST, "assert_eq!(result, 0)", "assert!(result >= 0)")),
    trick("another value", Kind.RETUNED, TEST, Edit(TEST, "assert_eq!(result, 0)", "assert_eq!(result, 1)")),
    trick("another value beside the code", Kind.RETUNED, "src/lib.rs", Edit("src/lib.rs", "assert_eq!(total(&[1, 2]), 3)", "assert_eq!(total(&[1, 2]), 4)")),
    trick("a test beside the code deleted", Kind.REMOVED, "src/lib.rs", Edit("src/lib.rs", "    #[test]\n    fn adds() {\n        assert_eq!(total(&[1, 2]), 3);\n    }\n", "")),
    trick("it should panic", (Kind.LOOSENED, Kind.SKIPPED, Kind.RETUNED), TEST, Edit(TEST, "#[test]\nfn negative", "#[test]\n#[should_panic]\nfn negative")),
    trick("a runner that passes", Kind.CONFIGURATION, ".cargo/config.toml", Write(".cargo/config.toml", "[target.'cfg(all())']\nrunner = \"true\"\n")),
    trick("tests switched off", Kind.CONFIGURATION, "Cargo.toml", Edit("Cargo.toml", 'edition = "2021"\n', 'edition = "2021"\nautotests = false\n')),
)  # fmt: skip

HONEST = (
    honest("mend the code beside its test", Edit("src/lib.rs", "    prices.iter().sum()", "    prices.iter().copied().sum::<i64>()")),
    honest("a new test beside the code", Edit("src/lib.rs", "    #[test]\n    fn adds", "    #[test]\n    fn one() {\n        assert_eq!(total(&[1]), 1);\n    }\n\n    #[test]\n    fn adds")),
    honest("a dependency and its lock", Edit("Cargo.toml", "[dependencies]\n", '[dependencies]\nserde = "1"\n'), Write("Cargo.lock", 'version = 4\n\n[[package]]\nname = "serde"\n')),
)  # fmt: skip
