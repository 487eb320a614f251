"""JavaScript and TypeScript: jest, vitest, mocha with chai, node:test, ava, playwright."""

from collections.abc import Iterator

from . import conditions
from .conditions import Check, compared
from .grammar import Link, arguments, chain, dotted, joined, norm, tokens, unwrapped
from .javascript_facts import facts, imports
from .javascript_grammar import FUNCTIONS, G
from .nodes import Nodes
from .shapes import Definition, Mark, Tongue, listed

_MATCHERS = {
    "toBe": "eq", "toEqual": "eq", "toStrictEqual": "eq", "toMatchObject": "prop", "toBeCloseTo": "close",
    "toContain": "in", "toContainEqual": "in", "toMatch": "match", "toHaveLength": "eq-length",
    "toBeInstanceOf": "type",
    "toHaveProperty": "prop", "toBeGreaterThan": ">", "toBeGreaterThanOrEqual": ">=", "toBeLessThan": "<",
    "toBeLessThanOrEqual": "<=", "toBeTruthy": "truthy", "toBeFalsy": "falsy", "toBeDefined": "defined",
    "toBeNull": "none", "toBeUndefined": "none", "toBeNaN": "eq", "toThrow": "raises", "toThrowError": "raises",
    "toHaveBeenCalled": "called", "toBeCalled": "called", "toHaveBeenCalledTimes": "called-once",
    "toHaveBeenCalledWith": "called-with", "toHaveBeenLastCalledWith": "called-with", "toBeCalledWith": "called-with",
    "toMatchSnapshot": "snapshot", "toMatchInlineSnapshot": "snapshot", "toThrowErrorMatchingSnapshot": "snapshot",
    "toThrowErrorMatchingInlineSnapshot": "snapshot", "toHaveText": "eq", "toContainText": "in", "toHaveURL": "eq",
    "toHaveTitle": "eq", "toHaveValue": "eq", "toHaveCount": "eq", "toBeVisible": "defined", "toBeAttached": "defined",
    "toHaveTextContent": "in", "toBeInTheDocument": "defined", "toHaveAttribute": "prop", "toHaveClass": "in",
    # chai
    "equal": "eq", "equals": "eq", "eq": "eq", "eql": "eq", "eqls": "eq", "include": "in", "includes": "in",
    "contain": "in", "contains": "in", "match": "match", "matches": "match", "closeTo": "close",
    "approximately": "close",
    "throw": "raises", "throws": "raises", "instanceof": "type", "instanceOf": "type", "a": "type", "an": "type",
    "above": ">", "least": ">=", "below": "<", "most": "<=", "lengthOf": "eq-length", "property": "prop",
    "true": "eq-true", "false": "eq-false", "null": "none", "undefined": "none", "ok": "truthy", "exist": "defined",
    "empty": "falsy", "members": "count", "deep": "other", "rejected": "raises", "rejectedWith": "raises",
    "toBeTrue": "eq-true", "toBeFalse": "eq-false",
}  # fmt: skip
_ASSERTS = {
    "strictEqual": "eq", "equal": "eq", "deepEqual": "eq", "deepStrictEqual": "eq", "is": "eq", "like": "prop",
    "notEqual": "ne", "notStrictEqual": "ne", "notDeepEqual": "ne", "notDeepStrictEqual": "ne", "not": "ne",
    "same": "eq", "eq": "eq", "isNull": "none", "isUndefined": "none", "isDefined": "defined", "exists": "defined",
    "isNotNull": "defined", "isTrue": "eq-true", "isFalse": "eq-false", "true": "eq-true", "false": "eq-false",
    "ok": "truthy", "truthy": "truthy", "falsy": "falsy", "isOk": "truthy", "assert": "truthy", "notOk": "falsy",
    "throws": "raises", "rejects": "raises", "throwsAsync": "raises", "doesNotThrow": "not-raises",
    "notThrows": "not-raises", "notThrowsAsync": "not-raises", "doesNotReject": "not-raises", "match": "match",
    "regex": "match", "doesNotMatch": "no-match", "include": "in", "notInclude": "out", "includes": "in",
    "closeTo": "close", "approximately": "close", "isAbove": ">", "isAtLeast": ">=", "isBelow": "<", "isAtMost": "<=",
    "instanceOf": "type", "isInstanceOf": "type", "typeOf": "type", "lengthOf": "eq-length", "snapshot": "snapshot",
    "fail": "fail", "deepInclude": "in", "sameMembers": "count", "partialDeepStrictEqual": "prop", "property": "prop",
    "isArray": "type", "isString": "type", "isNumber": "type", "isObject": "type", "isFunction": "type",
}  # fmt: skip
_ONE = frozenset(("truthy", "falsy", "defined", "none", "eq-true", "eq-false", "not-raises", "snapshot", "fail"))
_OPPOSITES = {
    "eq": "ne", "close": "not-close", "in": "out", "match": "no-match", "truthy": "falsy", "falsy": "truthy",
    "defined": "none", "none": "defined", "raises": "not-raises", "type": "not-type", "called": "not-called",
    "eq-true": "falsy", "eq-false": "truthy", "called-once": "not-called-times",
}  # fmt: skip


def check(n: Nodes, node: int, links: list[Link]) -> list[Check] | None:
    if not links:
        return _property(n, node)
    root = links[0].name
    if root == "expect" and len(links) > 1:
        return [_expected(n, node, links)]
    if root in ("assert", "t", "chai", "tap", "test", "should") or root.startswith("assert"):
        return _asserted(n, node, links)
    if len(links) > 2 and any(link.name == "should" for link in links[1:]):
        at = next(at for at, link in enumerate(links) if link.name == "should" and at)
        return [_expected(n, node, [Link("expect", -1, links[at - 1].node), *links[at + 1 :]], dotted(links[:at]))]
    return None


def _property(n: Nodes, node: int) -> list[Check] | None:
    """Read what chai checks by a property alone: `expect(x).to.be.true`."""
    if n.kinds[node] != "expression_statement":
        return None
    inner = n.inner(node)
    if not inner or n.kinds[unwrapped(G, n, inner[0])] != "member_expression":
        return None
    links = chain(G, n, inner[0])
    return [_expected(n, inner[0], links)] if links and links[0].name == "expect" and links[0].args >= 0 else None


def _expected(n: Nodes, node: int, links: list[Link], looked_at: str = "") -> Check:
    line, end = n.line(node), n.end_line(node)
    seen = arguments(n, links[0].args)
    subject = looked_at or (norm(G, n, seen[0]) if seen else "")
    names = [link.name for link in links[1:]]
    last = next((link for link in reversed(links[1:]) if link.name in _MATCHERS), links[-1])
    op = _MATCHERS.get(last.name, "other")
    given = [norm(G, n, each) for each in arguments(n, last.args)]
    if "resolves" in names or "rejects" in names or "eventually" in names:
        subject += "\n.\nrejects" if "rejects" in names else "\n.\nresolves"
        if not _is_awaited(n, node):
            return Check("unawaited", (subject, *given), line, end)
    if op == "raises" and "rejects" in names:
        subject = subject.removesuffix("\n.\nrejects")
    return _made(op, subject, given, line, end, negated="not" in names, name=last.name)


def _made(
    op: str, subject: str, given: list[str], line: int, end: int, *, negated: bool = False, name: str = ""
) -> Check:
    if negated:
        op = _OPPOSITES.get(op, f"not-{op}")
    if op in ("eq-true", "eq-false"):
        op, given = "eq", ["true" if op == "eq-true" else "false"]
    if op == "eq-length":
        op, subject = "eq", f"{subject}\n.\nlength"
    if op in ("raises", "not-raises"):
        return _raises(op, subject, given, line, end)
    if op == "close" and given:
        tolerance = f"{'digits' if name == 'toBeCloseTo' else 'delta'}={given[1]}" if len(given) > 1 else ""
        return Check("close", (subject, given[0]), line, end, tolerance.replace("\n", ""))
    if op == "snapshot":
        return Check(op, (subject, *given), line, end)
    if op == "other":
        return Check(op, (subject, name, *given), line, end)
    if not given:
        if op in ("truthy", "falsy") and subject.strip("!\n") in ("true", "false", "1"):
            return Check("always", (), line, end)
        return Check(
            op if op in _ONE or op in ("called", "not-called") else "other",
            (subject,) if op in _ONE else (subject, name),
            line,
            end,
        )
    plain = compared(op, subject, given[0], line, end)
    return (
        Check(plain.op, plain.sides, line, end)
        if len(given) == 1 or op == "eq"
        else Check(op, (subject, joined(given)), line, end)
    )


def _raises(op: str, subject: str, given: list[str], line: int, end: int) -> Check:
    errors = [each for each in given if each[:1] not in "\"'/r`"]
    words = [each for each in given if each not in errors]
    return Check(op, ("".join(errors[:1]), "".join(words[:1])), line, end, words=subject)


def _is_awaited(n: Nodes, node: int) -> bool:
    at = n.parents[node]
    while at >= 0 and n.kinds[at] in ("parenthesized_expression", "member_expression", "call_expression"):
        at = n.parents[at]
    return at >= 0 and n.kinds[at] in ("await_expression", "return_statement", "arrow_function", "array", "arguments")


def _asserted(n: Nodes, node: int, links: list[Link]) -> list[Check] | None:
    last, root = links[-1], links[0].name
    if last.args < 0 or (root in ("t", "test") and (len(links) != 2 or last.name not in _ASSERTS)):
        return None
    line, end = n.line(node), n.end_line(node)
    nodes = arguments(n, last.args)
    if not nodes and last.name != "fail":
        return None
    op = _ASSERTS.get(last.name, "")
    if not op:
        op = _ASSERTS.get(last.name[6:7].lower() + last.name[7:], "") if last.name.startswith("assert") else ""
    if op in ("truthy", "falsy"):
        return conditions.read(G, n, nodes[0], negated=op == "falsy")
    given = [norm(G, n, each) for each in nodes]
    if op in _ONE:
        return [_made(op, given[0] if given else "", [], line, end)]
    if op == "raises":
        return [_raises(op, given[0], given[1:2], line, end)]
    if op and len(given) > 1:
        keep = 3 if op == "close" else 2
        return [_made(op, given[0], given[1:keep], line, end)]
    return [Check("other", (last.name, *given), line, end)] if root != "t" else None


# --- what is defined ---------------------------------------------------------------------------------

_TESTS = {"it": "", "test": "", "specify": "", "xit": "skip", "xtest": "skip", "fit": "only", "ftest": "only",
          "xspecify": "skip", "bench": ""}  # fmt: skip
_SUITES = {"describe": "", "suite": "", "context": "", "xdescribe": "skip", "fdescribe": "only", "xcontext": "skip",
           "feature": ""}  # fmt: skip
_MODIFIERS = {
    "skip": "skip", "only": "only", "todo": "skip", "failing": "xfail", "fails": "xfail", "fail": "xfail",
    "fixme": "skip", "skipIf": "skip", "runIf": "skip", "if": "skip", "slow": "timeout",
    "concurrent": "quiet", "serial": "quiet", "parallel": "quiet", "sequential": "quiet", "each": "cases",
    "for": "cases",
}  # fmt: skip
_HOOKS = frozenset(("beforeEach", "afterEach", "beforeAll", "afterAll", "before", "after", "setup", "teardown"))
_OPTIONS = {"skip": "skip", "only": "only", "todo": "skip", "retry": "retry", "retries": "retry", "timeout": "timeout",
            "fails": "xfail", "expectFailure": "xfail"}  # fmt: skip


def define(n: Nodes, node: int, within: str) -> Definition | None:
    kind = n.kinds[node]
    if kind == "expression_statement":
        inner = n.inner(node)
        call = unwrapped(G, n, inner[0]) if inner else -1
        return _called(n, node, call) if call >= 0 and n.kinds[call] == "call_expression" else None
    if kind == "export_statement":
        declared = n.field(node, "declaration")
        return define(n, declared, within) if declared >= 0 else None
    if kind in ("function_declaration", "generator_function_declaration"):
        name = n.says(n.field(node, "name"))
        return Definition("helper", name, _body(n, node), params=norm(G, n, n.field(node, "parameters")), node=node)
    if kind == "class_declaration":
        return Definition("suite", n.says(n.field(node, "name")), _body(n, node), params="class", node=node)
    if kind == "method_definition":
        return Definition("helper", n.says(n.field(node, "name")), _body(n, node), node=node)
    if kind in ("lexical_declaration", "variable_declaration"):
        return _variable(n, node)
    return None


def _variable(n: Nodes, node: int) -> Definition | None:
    """Return what a variable defines that is a function."""
    declared = [at for at in n.inner(node) if n.kinds[at] == "variable_declarator"]
    value = n.field(declared[0], "value") if len(declared) == 1 else -1
    if value < 0 or n.kinds[value] not in FUNCTIONS:
        return None
    params = norm(G, n, n.field(value, "parameters"))
    return Definition("helper", n.says(n.field(declared[0], "name")), _body(n, value), params=params, node=node)


def _body(n: Nodes, function: int) -> tuple[int, ...]:
    body = n.field(function, "body")
    return (body,) if body >= 0 else ()


def _called(n: Nodes, node: int, call: int) -> Definition | None:
    links = chain(G, n, call)
    if not links:
        return None
    names = [link.name for link in links]
    root, rest = names[0], names[1:]
    if root in ("test", "it") and rest[:1] == ["describe"]:
        root, rest = "describe", rest[1:]
    elif root == "test" and rest and rest[0] in _HOOKS | {"extend", "use", "step", "setTimeout", "info"}:
        root, rest = (rest[0] if rest[0] in _HOOKS else ""), rest[1:]
    elif root in ("test", "it") and rest and rest[0] not in _MODIFIERS and rest[0] != "":
        return None
    args = arguments(n, links[-1].args)
    function = next((at for at in args if n.kinds[at] in FUNCTIONS), -1)
    if root in _HOOKS:
        return Definition("hook", root, _body(n, function) if function >= 0 else (), node=node)
    if root not in _TESTS and root not in _SUITES:
        return None
    if not args or (function < 0 and not _is_title(n, args[0]) and len(args) < 2):
        return None
    return _test(n, node, links, root, rest, args, function)


def _is_title(n: Nodes, node: int) -> bool:
    return n.kinds[node] in ("string", "template_string")


def _test(
    n: Nodes, node: int, links: list[Link], root: str, rest: list[str], args: list[int], function: int
) -> Definition:
    is_suite = root in _SUITES
    line = n.line(node)
    marks = [Mark(said, root, line) for said in [(_SUITES if is_suite else _TESTS)[root]] if said]
    by_name = {link.name: link for link in links}
    for name in rest:
        what = _MODIFIERS.get(name, "")
        if what == "cases":
            marks.append(_table(n, by_name[name], links, line))
        elif what and what != "quiet":
            held = by_name[name]
            words = norm(G, n, held.args) if held.args >= 0 and held is not links[-1] else ""
            marks.append(Mark(what, f"{name}\n{words}", line))
    title = args[0]
    name = "".join(tokens(G, n, title)).strip('"') if title != function else "(no name)"
    for each in args:
        if n.kinds[each] == "object":
            marks += _options(n, each)
        elif n.kinds[each] == "number":
            marks.append(Mark("timeout", n.says(each), n.line(each)))
    parts = _body(n, function) if function >= 0 else tuple(args[1:2]) if not is_suite else ()
    params = norm(G, n, n.field(function, "parameters")) if function >= 0 and not is_suite else ""
    return Definition("suite" if is_suite else "test", name or "(no name)", parts, tuple(marks), params, node)


def _table(n: Nodes, link: Link, links: list[Link], line: int) -> Mark:
    args = link.args
    if args < 0:
        following = next((each for each in links if each.name == "" and each.args >= 0), None)
        args = following.args if following else -1
    if args >= 0 and n.kinds[args] == "template_string":
        rows = [row.strip() for row in n.says(args).strip("`").split("\n")]
        cases = tuple(("\n".join(row.split()), n.line(args) + at) for at, row in enumerate(rows) if row)
        return Mark("cases", link.name, line, cases)
    words, listed_cases = listed(G, n, args)
    return Mark("cases", f"{link.name}\n{words}", line, listed_cases)


def _options(n: Nodes, node: int) -> Iterator[Mark]:
    for pair in n.inner(node):
        if n.kinds[pair] != "pair":
            continue
        name, value = n.says(n.field(pair, "key")).strip("'\""), norm(G, n, n.field(pair, "value"))
        if name in _OPTIONS and value not in ("false", "0", "undefined"):
            yield Mark(_OPTIONS[name], f"{name}\n{value}", n.line(pair))


TONGUE = Tongue(
    grammar=G,
    define=define,
    check=check,
    roles={
        "t.skip": "skip", "this.skip": "skip", "test.skip": "skip", "test.fixme": "skip", "test.fail": "skip",
        "ctx.skip": "skip", "context.skip": "skip", "pending": "skip", "process.exit": "exit", "t.todo": "skip",
        "jest.spyOn": "mock", "vi.spyOn": "mock", "mock.method": "mock", "t.mock.method": "mock", "sinon.stub": "mock",
        "jest.mock": "mock", "vi.mock": "mock", "jest.doMock": "mock", "vi.doMock": "mock", "sandbox.stub": "mock",
        ".mockReturnValue": "mock", ".mockImplementation": "mock", ".mockResolvedValue": "mock",
        "jest.retryTimes": "retry", "this.retries": "retry", "this.timeout": "retry", "jest.setTimeout": "retry",
        "test.setTimeout": "retry", "test.slow": "retry", "assert.fail": "fail", "t.fail": "fail", "fail": "fail",
        "expect.unreachable": "fail", "stub.returns": "mock", ".skip": "",
    },
    binds={
        "variable_declarator": "name", "assignment_expression": "left", "for_in_statement": "left",
        "augmented_assignment_expression": "left",
    },
    stops={"return_statement": "return", "throw_statement": "raise"},
    facts=facts,
    handlers=frozenset(("catch_clause",)),
    imports=imports,
)  # fmt: skip
