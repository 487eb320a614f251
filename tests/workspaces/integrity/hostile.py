"""Texts that are hard on who reads sources, each in the language in which it is the hardest, and what bounds them."""

import os
from collections.abc import Sequence

from workspaces.integrity import sources
from workspaces.integrity.sources import Pair

MIB = 1 << 20
NAMES = {
    "python": "tests/test_a.py",
    "javascript": "a.test.js",
    "typescript": "a.test.ts",
    "go": "a_test.go",
    "rust": "tests/a.rs",
    "java": "src/test/java/ATest.java",
    "ruby": "spec/a_spec.rb",
}
TEXTS: dict[str, bytes] = {
    "open brackets": b"(" * MIB,
    "open braces": b"{" * (MIB // 4),
    "deep lists": b"[" * 100_000 + b"]" * 100_000,
    "deep calls": b"f(" * 50_000 + b")" * 50_000,
    "deep blocks": b"".join(b" " * at + b"if x:\n" for at in range(1000)),
    "deep braces": b"if (x) {" * 20_000,
    "long chain": b"a" + b".b()" * 100_000,
    "long sum": b"assert " + b"1 + " * 100_000 + b"1\n",
    "quotes": b'"' * (MIB // 2),
    "backslashes": b"'" + b"\\" * MIB,
    "one name": b"x" * MIB,
    "not UTF-8": bytes(range(128, 256)) * 4000,
    "lines of nothing": b"\n" * MIB,
    "carriage returns": b"x = 1\r" * 15_000,
    "minified": b"function a(b){return b?a(b-1):0};" * 8_000,
    "many tests": b"".join(b"def test_%d():\n    assert %d\n" % (at, at) for at in range(8_000)),
    "many names": b" ".join(b"x%d" % at for at in range(40_000)),
    "not ends": b"assert " + b"not " * 100_000 + b"x\n",
    "interpolations": b"f'{" * 20_000,
    "comments": b"/*" * (MIB // 4),
    "strings in templates": b"`${" * 50_000,
    "heredocs": b"<<A <<B <<C\n" * 20_000,
    "assertions": b"expect(expect(" * 20_000,
}

WORST = {
    "open brackets": "python",
    "open braces": "javascript",
    "deep lists": "python",
    "deep calls": "python",
    "deep blocks": "python",
    "deep braces": "ruby",
    "long chain": "java",
    "long sum": "go",
    "quotes": "javascript",
    "backslashes": "ruby",
    "one name": "python",
    "not UTF-8": "python",
    "lines of nothing": "javascript",
    "carriage returns": "java",
    "minified": "javascript",
    "many tests": "java",
    "many names": "javascript",
    "not ends": "ruby",
    "interpolations": "typescript",
    "comments": "ruby",
    "strings in templates": "ruby",
    "heredocs": "go",
    "assertions": "go",
}
"""The languages in which a text costs the most, or comes to a bound; `make soak` has every text in every language."""


def ends_within_bounds(pairs: Sequence[Pair], seconds: float) -> None:
    """Compare the pairs, in so many seconds of processor time, and look at the sizes of what comes of it."""
    before = os.times()
    found, unread = sources.compare(pairs)
    after = os.times()
    spent = [now - then for now, then in zip(after[:4], before[:4], strict=True)]
    assert sum(spent) < seconds, spent
    assert len(found) <= 200 * len(pairs)
    assert all(len(each.new) <= 500 and len(each.name) <= 200 for each in found)
    assert all(why for _, why in unread)
