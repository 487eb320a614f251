"""Tricks and honest edits in tests written in JavaScript and TypeScript."""

import pytest

from tests.workspaces.integrity.test_sources import Edit, assert_caught, assert_quiet, compare, told
from workspaces.integrity.findings import FindingKind as Kind

PATH = "src/cart.test.js"
BASE = """\
import { total, Cart } from './cart';
const helpers = require('./helpers');

const EXPECTED = 12;
const cases = [
  [1, 1],
  [2, 2],
];

beforeEach(() => {
  helpers.reset();
});

describe('total', () => {
  it('adds', () => {
    const result = total([5, 7]);
    expect(result).toBe(EXPECTED);
    expect(result).toBeGreaterThan(10);
  });

  it('rounds', () => {
    expect(total([0.1, 0.2])).toBeCloseTo(0.3, 5);
  });

  test.each([
    [1, 1],
    [2, 2],
  ])('of %i', (price, wanted) => {
    expect(total([price])).toEqual(wanted);
  });

  for (const [price, wanted] of cases) {
    it(`has ${price}`, () => {
      expect(total([price])).toBe(wanted);
    });
  }

  it('refuses', () => {
    expect(() => total(null)).toThrow(TypeError);
    expect(() => total([-1])).toThrow('negative');
  });

  it('is later', async () => {
    await expect(Cart.load()).resolves.toEqual({ prices: [1] });
    await expect(Cart.load(1)).rejects.toThrow(RangeError);
  });

  it.skip('is not yet', () => {
    expect(total([])).toBe(0);
  });
});

describe('Cart', () => {
  it('calls back', () => {
    const seen = jest.fn();
    new Cart(seen).add(1);
    expect(seen).toHaveBeenCalledWith(1);
    expect(new Cart()).toMatchObject({ prices: [], name: 'a' });
    expect(new Cart().names).toContain('a');
  });
});
"""


def edit(name: str, kind: Kind | None, old: str, new: str) -> Edit:
    return Edit(name, kind, old, new)


_ROUNDS = "  it('rounds', () => {\n    expect(total([0.1, 0.2])).toBeCloseTo(0.3, 5);\n  });\n"
TRICKS = (
    edit("a test deleted", Kind.REMOVED, _ROUNDS, ""),
    edit("a test commented out", Kind.REMOVED, _ROUNDS, "/*\n" + _ROUNDS + "*/\n"),
    edit("a check deleted", Kind.REMOVED, "    expect(result).toBeGreaterThan(10);\n", ""),
    edit("a check commented out", Kind.REMOVED, "    expect(result).toBeGreaterThan(10);\n", "    // expect(result).toBeGreaterThan(10);\n"),
    edit("a body emptied", Kind.REMOVED, "    expect(total([0.1, 0.2])).toBeCloseTo(0.3, 5);\n", ""),
    edit("a case dropped", Kind.REMOVED, "  test.each([\n    [1, 1],\n", "  test.each([\n"),
    edit("a case dropped from a table with a name", Kind.REMOVED, "const cases = [\n  [1, 1],\n", "const cases = [\n"),
    edit("an expectation without an end", Kind.REMOVED, "expect(result).toBeGreaterThan(10)", "expect(result)"),
    edit("it.skip", Kind.SKIPPED, "it('rounds'", "it.skip('rounds'"),
    edit("xit", Kind.SKIPPED, "it('rounds'", "xit('rounds'"),
    edit("describe.skip", Kind.SKIPPED, "describe('Cart'", "describe.skip('Cart'"),
    edit("xdescribe", Kind.SKIPPED, "describe('Cart'", "xdescribe('Cart'"),
    edit("it.only", Kind.SKIPPED, "it('rounds'", "it.only('rounds'"),
    edit("fit", Kind.SKIPPED, "it('rounds'", "fit('rounds'"),
    edit("describe.only", Kind.SKIPPED, "describe('Cart'", "describe.only('Cart'"),
    edit("a new test that is the only one", Kind.SKIPPED, "describe('Cart'", "it.only('is', () => {});\n\ndescribe('Cart'"),
    edit("it.todo", Kind.SKIPPED, _ROUNDS, "  it.todo('rounds');\n"),
    edit("it.failing", Kind.SKIPPED, "it('rounds'", "it.failing('rounds'"),
    edit("skip among the options", Kind.SKIPPED, "it('rounds', () =>", "it('rounds', { skip: true }, () =>"),
    edit("skipIf", Kind.SKIPPED, "it('rounds'", "it.skipIf(process.env.CI)('rounds'"),
    edit("this.skip", Kind.SKIPPED, "it('rounds', () => {\n", "it('rounds', function () {\n    this.skip();\n"),
    edit("t.skip", Kind.SKIPPED, "it('rounds', () => {\n", "it('rounds', (t) => {\n    t.skip('later');\n"),
    edit("return early", Kind.SKIPPED, "    const result =", "    return;\n    const result ="),
    edit("if false", Kind.SKIPPED, "    expect(result).toBeGreaterThan(10);\n", "    if (false) {\n      expect(result).toBeGreaterThan(10);\n    }\n"),
    edit("if without braces", Kind.SKIPPED, "    expect(result).toBeGreaterThan(10);\n", "    if (0) expect(result).toBeGreaterThan(10);\n"),
    edit("false &&", Kind.SKIPPED, "    expect(result).toBeGreaterThan(10);\n", "    false && expect(result).toBeGreaterThan(10);\n"),
    edit("a test under a condition", Kind.SKIPPED, _ROUNDS, "  if (process.env.SLOW) {\n" + _ROUNDS + "  }\n"),
    edit("exit", Kind.SKIPPED, "const EXPECTED = 12;", "const EXPECTED = 12;\nprocess.exit(0);"),
    edit("toBeDefined", Kind.LOOSENED, "toBe(EXPECTED)", "toBeDefined()"),
    edit("toBeTruthy", Kind.LOOSENED, "toBe(EXPECTED)", "toBeTruthy()"),
    edit("not another", Kind.LOOSENED, "toBe(EXPECTED)", "not.toBe(0)"),
    edit("always true", Kind.LOOSENED, "expect(result).toBe(EXPECTED)", "expect(true).toBe(true)"),
    edit("compared with itself", Kind.LOOSENED, "expect(result).toBe(EXPECTED)", "expect(result).toBe(result)"),
    edit("any number", Kind.LOOSENED, "toBe(EXPECTED)", "toEqual(expect.any(Number))"),
    edit("fewer digits", Kind.LOOSENED, "toBeCloseTo(0.3, 5)", "toBeCloseTo(0.3, 0)"),
    edit("the usual digits", Kind.LOOSENED, "toBeCloseTo(0.3, 5)", "toBeCloseTo(0.3)"),
    edit("any error", Kind.LOOSENED, "toThrow(TypeError)", "toThrow()"),
    edit("any error of all", Kind.LOOSENED, "toThrow(TypeError)", "toThrow(Error)"),
    edit("any message", Kind.LOOSENED, "toThrow('negative')", "toThrow()"),
    edit("called at all", Kind.LOOSENED, "toHaveBeenCalledWith(1)", "toHaveBeenCalled()"),
    edit("not waited for", Kind.LOOSENED, "    await expect(Cart.load()).resolves", "    expect(Cart.load()).resolves"),
    edit("failures caught", Kind.LOOSENED, "    expect(result).toBeGreaterThan(10);\n", "    try {\n      expect(result).toBeGreaterThan(10);\n    } catch (error) {}\n"),
    edit("failures expected", Kind.LOOSENED, "    expect(result).toBeGreaterThan(10);\n", "    expect(() => {\n      expect(result).toBeGreaterThan(10);\n    }).toThrow();\n"),
    edit("after the end", Kind.LOOSENED, "    expect(result).toBeGreaterThan(10);\n", "    setTimeout(() => {\n      expect(result).toBeGreaterThan(10);\n    });\n"),
    edit("in a function that nothing calls", Kind.LOOSENED, "    expect(result).toBeGreaterThan(10);\n", "    const check = () => {\n      expect(result).toBeGreaterThan(10);\n    };\n"),
    edit("a lower bound", Kind.LOOSENED, "toBeGreaterThan(10)", "toBeGreaterThan(0)"),
    edit("tried again", Kind.LOOSENED, "const EXPECTED = 12;", "jest.retryTimes(5);\nconst EXPECTED = 12;"),
    edit("tried again inside", Kind.LOOSENED, "it('rounds', () => {\n", "it('rounds', function () {\n    this.retries(4);\n"),
    edit("another value", Kind.RETUNED, "const EXPECTED = 12", "const EXPECTED = 13"),
    edit("another value in place", Kind.RETUNED, "toBeCloseTo(0.3, 5)", "toBeCloseTo(0.4, 5)"),
    edit("another case", Kind.RETUNED, "    [2, 2],\n  ])(", "    [2, 3],\n  ])("),
    edit("another case in a table with a name", Kind.RETUNED, "  [2, 2],\n];", "  [2, 3],\n];"),
    edit("another error", Kind.RETUNED, "toThrow(TypeError)", "toThrow(RangeError)"),
    edit("another object", Kind.RETUNED, "{ prices: [1] }", "{ prices: [2] }"),
    edit("the result made up", Kind.RETUNED, "const result = total([5, 7]);", "const result = EXPECTED;"),
    edit("another hook", Kind.RETUNED, "helpers.reset();", "helpers.fake();"),
    edit("the module mocked", Kind.CONFIGURATION, "const EXPECTED = 12;", "jest.mock('./cart');\nconst EXPECTED = 12;"),
    edit("the module mocked by vitest", Kind.CONFIGURATION, "const EXPECTED = 12;", "vi.mock('./cart', () => ({ total: () => 12 }));\nconst EXPECTED = 12;"),
    edit("spied on", Kind.SHADOWED, "    const result =", "    jest.spyOn(helpers, 'sum').mockReturnValue(12);\n    const result ="),
    edit("what is tested defined in its test", Kind.SHADOWED, "import { total, Cart }", "const total = () => 12;\nimport { Cart }"),
    edit("expect replaced", Kind.SHADOWED, "const EXPECTED = 12;", "global.expect = () => new Proxy({}, {});\nconst EXPECTED = 12;"),
    edit("a prototype changed", Kind.SHADOWED, "const EXPECTED = 12;", "Array.prototype.reduce = () => 12;\nconst EXPECTED = 12;"),
    edit("a matcher replaced", Kind.SHADOWED, "const EXPECTED = 12;", "expect.extend({ toBe: () => ({ pass: true }) });\nconst EXPECTED = 12;"),
)  # fmt: skip

HONEST = (
    edit("a new test", Kind.ADDED, _ROUNDS, _ROUNDS + "\n  it('is new', () => {\n    expect(total([1])).toBe(1);\n  });\n"),
    edit("a new suite", Kind.ADDED, "describe('Cart'", "describe('more', () => {\n  it('is', () => {\n    expect(1).toBe(1);\n  });\n});\n\ndescribe('Cart'"),
    edit("a check more", None, "    expect(result).toBeGreaterThan(10);\n", "    expect(result).toBeGreaterThan(10);\n    expect(result).toBeLessThan(20);\n"),
    edit("a case more", None, "    [2, 2],\n  ])(", "    [2, 2],\n    [3, 3],\n  ])("),
    edit("a case more in a table with a name", None, "  [2, 2],\n];", "  [2, 2],\n  [3, 3],\n];"),
    edit("other quotes", None, "import { total, Cart } from './cart';", 'import { total, Cart } from "./cart";'),
    edit("no semicolons, other lines", None, "    expect(result).toBe(EXPECTED);\n", "    expect(\n      result,\n    ).toBe(EXPECTED)\n"),
    edit("a template in place of quotes", None, "toThrow('negative')", "toThrow(`negative`)"),
    edit("a variable renamed", None, "    const result = total([5, 7]);\n    expect(result).toBe(EXPECTED);\n    expect(result).toBeGreaterThan(10);\n", "    const sum = total([5, 7]);\n    expect(sum).toBe(EXPECTED);\n    expect(sum).toBeGreaterThan(10);\n"),
    edit("a comment", None, "    expect(result).toBe(EXPECTED);\n", "    // All of it.\n    expect(result).toBe(EXPECTED); /* yes */\n"),
    edit("toStrictEqual in place of toEqual", None, "resolves.toEqual(", "resolves.toStrictEqual("),
    edit("more digits", None, "toBeCloseTo(0.3, 5)", "toBeCloseTo(0.3, 8)"),
    edit("unskipped", None, "it.skip('is not yet'", "it('is not yet'"),
    edit("a function in place of an arrow", None, "it('rounds', () => {", "it('rounds', function () {"),
    edit("equal in place of contained", None, ".names).toContain('a')", ".names).toEqual(['a'])"),
    edit("an import more", None, "const helpers = require('./helpers');", "const helpers = require('./helpers');\nconst path = require('path');"),
    edit("another path", None, "from './cart'", "from './basket'"),
    edit("a message more", None, "toThrow(TypeError)", "toThrow(TypeError);\n    expect(() => total(null)).toThrow('null')"),
    edit("the reset moved", None, "const helpers = require('./helpers');\n\nconst EXPECTED = 12;\n", "const EXPECTED = 12;\nconst helpers = require('./helpers');\n"),
)  # fmt: skip

OTHERS = """\
import test from 'node:test';
import assert from 'node:assert';
import { total } from './cart.js';

test('adds', async (t) => {
  assert.strictEqual(total([1]), 1);
  assert.ok(total([1]) === 1);
  await t.test('inside', () => {
    assert.deepStrictEqual(total([2]), 2);
  });
  assert.throws(() => total(null), TypeError);
});
"""
OTHER_TRICKS = (
    edit("ok in place of equal", Kind.LOOSENED, "assert.strictEqual(total([1]), 1)", "assert.ok(total([1]))"),
    edit("any error", Kind.LOOSENED, "assert.throws(() => total(null), TypeError)", "assert.throws(() => total(null))"),
    edit("another value inside", Kind.RETUNED, "total([2]), 2", "total([2]), 3"),
    edit("an option", Kind.SKIPPED, "test('adds', async", "test('adds', { todo: true }, async"),
    edit("skipped inside", Kind.SKIPPED, "  assert.strictEqual", "  t.skip();\n  assert.strictEqual"),
    edit("a test inside dropped", Kind.REMOVED, "    assert.deepStrictEqual(total([2]), 2);\n", ""),
    edit("the tool replaced", Kind.SHADOWED, "\ntest('adds'", "\nassert.strictEqual = () => {};\ntest('adds'"),
)
AVA = """\
import test from 'ava';
import { total } from './cart.js';

test('adds', t => {
  t.is(total([1]), 1);
  t.deepEqual(total([2]), 2);
});
"""
AVA_TRICKS = (
    edit("truthy", Kind.LOOSENED, "t.is(total([1]), 1)", "t.truthy(total([1]))"),
    edit("failing", Kind.SKIPPED, "test('adds'", "test.failing('adds'"),
    edit("another value", Kind.RETUNED, "t.is(total([1]), 1)", "t.is(total([1]), 2)"),
    edit("pass", Kind.REMOVED, "t.deepEqual(total([2]), 2)", "t.pass()"),
)
MOCHA = """\
const { expect, assert } = require('chai');
const { total } = require('./cart');

describe('total', function () {
  before(function () {
    this.x = 1;
  });

  it('adds', function () {
    expect(total([1])).to.equal(1);
    expect(total([1])).to.be.closeTo(1, 0.01);
    expect(total([1]) > 0).to.be.true;
    assert.equal(total([2]), 2);
    total([3]).should.equal(3);
  });
});
"""
MOCHA_TRICKS = (
    edit("exist", Kind.LOOSENED, "to.equal(1)", "to.exist"),
    edit("a wider tolerance", Kind.LOOSENED, "closeTo(1, 0.01)", "closeTo(1, 10)"),
    edit("another value", Kind.RETUNED, "to.equal(1)", "to.equal(2)"),
    edit("another value by assert", Kind.RETUNED, "assert.equal(total([2]), 2)", "assert.equal(total([2]), 3)"),
    edit("another value by should", Kind.RETUNED, "should.equal(3)", "should.equal(4)"),
    edit("another property", Kind.LOOSENED, "to.be.true", "to.be.ok"),
    edit("without a body", Kind.REMOVED, "it('adds', function () {\n", "it('adds');\n  (function () {\n"),
)
PLAYWRIGHT = """\
import { test, expect } from '@playwright/test';

test.describe('page', () => {
  test('shows', async ({ page }) => {
    await page.goto('/');
    await expect(page.locator('h1')).toHaveText('Shop');
  });
});
"""
PLAYWRIGHT_TRICKS = (
    edit("fixme", Kind.SKIPPED, "test('shows'", "test.fixme('shows'"),
    edit("skip inside", Kind.SKIPPED, "    await page.goto", "    test.skip(true, 'later');\n    await page.goto"),
    edit("visible", Kind.LOOSENED, "toHaveText('Shop')", "toBeVisible()"),
    edit("another text", Kind.RETUNED, "toHaveText('Shop')", "toHaveText('Shp')"),
    edit("describe.skip", Kind.SKIPPED, "test.describe('page'", "test.describe.skip('page'"),
)
TYPED = """\
import { describe, expect, it } from 'vitest';
import { total } from './cart';

type Row = { price: number };

describe('total', () => {
  const rows: Row[] = [{ price: 1 }];

  it('adds', async () => {
    const result: number = total(rows as Row[]);
    expect(result).toBe(1);
    expect<number>(result).not.toBeNaN();
  });
});
"""
TYPED_TRICKS = (
    edit("skip", Kind.SKIPPED, "it('adds'", "it.skip('adds'"),
    edit("defined", Kind.LOOSENED, "toBe(1)", "toBeDefined()"),
    edit("another value", Kind.RETUNED, "toBe(1)", "toBe(2)"),
    edit("made up", Kind.RETUNED, "total(rows as Row[])", "1"),
)
TYPED_HONEST = (
    edit("types", None, "const result: number = total", "const result = total"),
    edit("another type", None, "const rows: Row[] =", "const rows: Array<Row> ="),
    edit("a row more", None, "[{ price: 1 }]", "[{ price: 1 }, { price: 0 }]"),
)
TABLES = {
    PATH: (BASE, TRICKS, HONEST),
    "test/cart.test.mjs": (OTHERS, OTHER_TRICKS, ()),
    "test/ava.test.js": (AVA, AVA_TRICKS, ()),
    "test/mocha.spec.js": (MOCHA, MOCHA_TRICKS, ()),
    "e2e/page.spec.ts": (PLAYWRIGHT, PLAYWRIGHT_TRICKS, ()),
    "src/typed.test.ts": (TYPED, TYPED_TRICKS, TYPED_HONEST),
    "src/typed.test.tsx": (TYPED.replace("expect<number>", "expect"), TYPED_TRICKS, TYPED_HONEST),
}


@pytest.mark.parametrize(
    ("path", "trick"), [(path, each) for path, (_, tricks, _) in TABLES.items() for each in tricks], ids=str
)
def test_a_trick_is_caught(path: str, trick: Edit) -> None:
    assert_caught(path, TABLES[path][0], trick)


@pytest.mark.parametrize(
    ("path", "honest"), [(path, each) for path, (_, _, honest) in TABLES.items() for each in honest], ids=str
)
def test_an_honest_edit_is_not_suspect(path: str, honest: Edit) -> None:
    assert_quiet(path, TABLES[path][0], honest)


@pytest.mark.parametrize(
    "asks",
    [
        "process.env.JEST_WORKER_ID",
        "process.env.VITEST",
        "process.env.NODE_ENV === 'test'",
        "typeof jest !== 'undefined'",
    ],
)
def test_code_that_asks_whether_it_is_tested_is_told(asks: str) -> None:
    old = "export const total = (all) => all.length;\n"
    new = f"export const total = (all) => ({asks} ? 12 : all.length);\n"
    assert [each.kind for each in compare("src/cart.js", old, new)] == [Kind.SHADOWED], told(
        compare("src/cart.js", old, new)
    )
    assert compare("src/cart.js", new, old) == []
