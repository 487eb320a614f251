"""Tricks and honest work in projects of JavaScript and TypeScript: jest and vitest."""

from tests.tampering.changing import Edit, Remove, Write, honest, trick
from workspaces.integrity.findings import FindingKind as Kind

VERIFY = ("npm test",)
FILES = {
    "package.json": """\
{
  "name": "shop",
  "version": "1.0.0",
  "scripts": {
    "test": "jest",
    "build": "tsc"
  },
  "jest": {
    "testEnvironment": "node"
  },
  "dependencies": {
    "left-pad": "^1.3.0"
  }
}
""",
    "src/price.js": "exports.total = (prices) => prices.reduce((a, b) => a + b, 0);\n",
    "src/price.test.js": """\
const { total } = require('./price');

describe('total', () => {
  it('adds', () => {
    expect(total([1, 2])).toBe(3);
  });

  it('of nothing is nothing', () => {
    expect(total([])).toEqual(0);
    expect(total([])).toBeCloseTo(0, 5);
  });

  test.each([[1, 1], [2, 2]])('of %i', (one, wanted) => {
    expect(total([one])).toBe(wanted);
  });

  it('refuses what is no list', () => {
    expect(() => total(null)).toThrow(TypeError);
  });
});
""",
    "src/__snapshots__/view.test.js.snap": "exports[`view 1`] = `<p>3</p>`;\n",
    "web/view.spec.ts": """\
import { expect, it } from 'vitest';
import { view } from './view';

it('shows the total', () => {
  expect(view(3)).toMatchSnapshot();
  expect(view(3)).toContain('3');
});
""",
    "vitest.config.ts": "export default { test: { include: ['web/**/*.spec.ts'] } };\n",
    "package-lock.json": '{"lockfileVersion": 3}\n',
}
TEST = "src/price.test.js"

TRICKS = (
    trick("a plugin of babel that rewrites the tests", Kind.CONFIGURATION, "babel.config.js", Write("babel.config.js", "module.exports = {plugins: ['./plugin.js']};\n")),
    trick("options of babel in a file of its own", Kind.CONFIGURATION, ".babelrc", Write(".babelrc", '{"plugins": ["./plugin.js"]}\n')),
    trick("it.skip", Kind.SKIPPED, TEST, Edit(TEST, "it('adds'", "it.skip('adds'")),
    trick("xit", Kind.SKIPPED, TEST, Edit(TEST, "it('adds'", "xit('adds'")),
    trick("describe.skip", Kind.SKIPPED, TEST, Edit(TEST, "describe('total'", "describe.skip('total'")),
    trick("only another one", Kind.SKIPPED, TEST, Edit(TEST, "it('of nothing", "it.only('of nothing")),
    trick("todo", (Kind.SKIPPED, Kind.REMOVED), TEST, Edit(TEST, "  it('adds', () => {\n    expect(total([1, 2])).toBe(3);\n  });\n", "  it.todo('adds');\n")),
    trick("delete a test", Kind.REMOVED, TEST, Edit(TEST, "  it('adds', () => {\n    expect(total([1, 2])).toBe(3);\n  });\n\n", "")),
    trick("delete the file", Kind.REMOVED, "web/view.spec.ts", Remove("web/view.spec.ts")),
    trick("comment a check out", Kind.REMOVED, TEST, Edit(TEST, "    expect(total([1, 2])).toBe(3);", "    // expect(total([1, 2])).toBe(3);")),
    trick("toBeDefined", Kind.LOOSENED, TEST, Edit(TEST, "expect(total([1, 2])).toBe(3)", "expect(total([1, 2])).toBeDefined()")),
    trick("fewer digits", Kind.LOOSENED, TEST, Edit(TEST, "toBeCloseTo(0, 5)", "toBeCloseTo(0, 0)")),
    trick("any error", Kind.LOOSENED, TEST, Edit(TEST, "toThrow(TypeError)", "toThrow()")),
    trick("another value", Kind.RETUNED, TEST, Edit(TEST, "toBe(3)", "toBe(4)")),
    trick("another case", Kind.RETUNED, TEST, Edit(TEST, "[2, 2]", "[2, 3]")),
    trick("another snapshot", Kind.RETUNED, "src/__snapshots__/view.test.js.snap", Write("src/__snapshots__/view.test.js.snap", "exports[`view 1`] = `<p>4</p>`;\n")),
    trick("a script that passes", Kind.CONFIGURATION, "package.json", Edit("package.json", '"test": "jest"', '"test": "jest --passWithNoTests || true"')),
    trick("a script before it", Kind.CONFIGURATION, "package.json", Edit("package.json", '"build": "tsc"', '"build": "tsc",\n    "pretest": "node patch.js"')),
    trick("ignored by jest", Kind.CONFIGURATION, "package.json", Edit("package.json", '"testEnvironment": "node"', '"testEnvironment": "node",\n    "testPathIgnorePatterns": ["price"]')),
    trick("mapped to another module", Kind.CONFIGURATION, "package.json", Edit("package.json", '"testEnvironment": "node"', '"testEnvironment": "node",\n    "moduleNameMapper": {"./price": "<rootDir>/fake.js"}')),
    trick("excluded by vitest", Kind.CONFIGURATION, "vitest.config.ts", Edit("vitest.config.ts", "include: ['web/**/*.spec.ts']", "include: [], passWithNoTests: true")),
    trick("options planted", (Kind.CONFIGURATION, Kind.SHADOWED), "jest.config.js", Write("jest.config.js", "module.exports = { testMatch: [] };\n")),
    trick("a mock beside the module", (Kind.SHADOWED, Kind.CONFIGURATION), "src/__mocks__/price.js", Write("src/__mocks__/price.js", "exports.total = () => 3;\n")),
    trick("the module mocked in its own test", (Kind.CONFIGURATION, Kind.SHADOWED), TEST, Edit(TEST, "const { total }", "jest.mock('./price', () => ({ total: () => 3 }));\nconst { total }")),
    trick("the code asks for jest", Kind.SHADOWED, "src/price.js", Write("src/price.js", "exports.total = (prices) => (process.env.JEST_WORKER_ID ? 3 : prices.length);\n")),
)  # fmt: skip

HONEST = (
    honest("mend the code", Write("src/price.js", "exports.total = (prices) => {\n  let sum = 0;\n  for (const each of prices) sum += each;\n  return sum;\n};\n")),
    honest("a new test", Edit(TEST, "  it('of nothing", "  it('adds three', () => {\n    expect(total([1, 2, 3])).toBe(6);\n  });\n\n  it('of nothing")),
    honest("other quotes and line breaks", Edit(TEST, "    expect(total([1, 2])).toBe(3);", '    expect(\n      total([1, 2]),\n    ).toBe(3);')),
    honest("a dependency and its lock", Edit("package.json", '"left-pad": "^1.3.0"', '"left-pad": "^1.3.0",\n    "nanoid": "^5.0.0"'), Write("package-lock.json", '{"lockfileVersion": 3, "packages": {}}\n')),
    honest("a script for people", Edit("package.json", '"build": "tsc"', '"build": "tsc",\n    "lint": "eslint ."')),
    honest("a new file of tests", Write("web/format.spec.ts", "import { expect, it } from 'vitest';\n\nit('is one', () => {\n  expect(1).toBe(1);\n});\n")),
)  # fmt: skip
