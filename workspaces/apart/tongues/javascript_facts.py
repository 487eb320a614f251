"""What a file in JavaScript and TypeScript does as a whole, and what it imports."""

import re
from collections.abc import Iterator

from .grammar import arguments, chain, dotted, joined, norm, tokens
from .javascript_grammar import FUNCTIONS, G
from .nodes import Nodes
from .shapes import Fact

_SENSES = re.compile(
    r"JEST_WORKER_ID|VITEST(?:_WORKER_ID|_POOL_ID)?|MOCHA_\w+|NODE_TEST_CONTEXT|PLAYWRIGHT_TEST\w*|AVA_PATH"
)
_MOCKS = frozenset(("mock", "doMock", "unstable_mockModule", "setMock", "stubGlobal", "module"))
_TOLD = frozenset(
    (
        "expect.extend",
        "process.exit",
        "process.on",
        "Object.defineProperty",
        "Object.assign",
        "Reflect.set",
    )
)
_RETRIES = frozenset(("jest.retryTimes", "jest.setTimeout", "vi.setConfig", "this.retries", "this.timeout",
                      "test.setTimeout", "describe.configure", "test.describe.configure"))  # fmt: skip
_PATCHED = re.compile(
    r"(?:global|globalThis|window)\.(?:expect|it|test|describe|assert)|expect(?:\.\w+)?|assert\.\w+|Object\.is"
    r"|(?:Array|Object|String|Number|Function|Promise|Error|Map|Set)\.prototype\.\w+|require\.cache.*|Module\._\w+"
)


def facts(n: Nodes) -> Iterator[Fact]:
    for at, kind in enumerate(n.kinds):
        if kind in ("property_identifier", "string_fragment") and _SENSES.fullmatch(n.says(at)):
            yield Fact("senses", n.says(at), "", n.line(at))
        elif kind == "binary_expression":
            words = "".join(tokens(G, n, at)) if n.lasts[at] - at < 40 else ""
            if re.fullmatch(r'.*NODE_ENV\W*[!=]==?"test"|"test"[!=]==?.*NODE_ENV.*', words):
                yield Fact("senses", "NODE_ENV", words, n.line(at))
        elif kind == "unary_expression" and re.fullmatch(r"typeof\s+(?:jest|vi|describe|it|expect)", n.says(at)):
            yield Fact("senses", n.says(at), "", n.line(at))
        elif kind == "assignment_expression":
            name = re.sub(r"\s", "", n.says(n.field(at, "left"))[:200])
            if _PATCHED.fullmatch(name):
                yield Fact("tool-patch", name, norm(G, n, n.field(at, "right")), n.line(at))
        elif kind == "call_expression":
            yield from _call(n, at)


def _call(n: Nodes, node: int) -> Iterator[Fact]:
    links = chain(G, n, node)
    if not links or links[-1].args < 0:
        return
    name, line = dotted(links), n.line(node)
    is_mock = links[0].name in ("jest", "vi", "mock", "proxyquire", "mockery", "td") and links[-1].name in _MOCKS
    if not is_mock and name not in _RETRIES | _TOLD:
        return
    given = [norm(G, n, each) for each in arguments(n, links[-1].args)]
    words = joined(given)
    if is_mock:
        yield Fact("mock", f"{name}({given[0] if given else ''})", words, line)
    elif name in _RETRIES:
        yield Fact("retry", name, words, line)
    elif name == "expect.extend":
        yield Fact("tool-patch", name, words, line)
    elif name == "process.exit":
        if _is_top(n, node):
            yield Fact("exit", name, words, line)
        if given == ["0"] or not given:
            yield Fact("hard-exit", name, words, line)
    elif name == "process.on" and given and given[0] in ('"exit"', '"uncaughtException"', '"unhandledRejection"'):
        yield Fact("atexit", f"process.on({given[0]})", words, line)
    elif (
        name in ("Object.defineProperty", "Object.assign", "Reflect.set")
        and given
        and _PATCHED.match(given[0].replace("\n", ""))
    ):
        yield Fact("tool-patch", given[0].replace("\n", ""), words, line)


def _is_top(n: Nodes, node: int) -> bool:
    at = n.parents[node]
    while at > 0 and n.kinds[at] not in FUNCTIONS and n.kinds[at] != "method_definition":
        at = n.parents[at]
    return at <= 0


def imports(n: Nodes) -> Iterator[tuple[str, str, int]]:
    for node, kind in enumerate(n.kinds):
        if kind == "import_statement":
            source = n.says(n.field(node, "source")).strip("'\"")
            for at in range(node, n.lasts[node]):
                if n.kinds[at] == "identifier" and n.kinds[n.parents[at]] in ("import_clause", "namespace_import"):
                    yield n.says(at), source, n.line(at)
                elif n.kinds[at] == "import_specifier":
                    alias = n.field(at, "alias")
                    yield n.says(alias if alias >= 0 else n.field(at, "name")), source, n.line(at)
        elif kind == "variable_declarator":
            value = n.field(node, "value")
            links = chain(G, n, value) if value >= 0 else []
            if links and links[0].name == "require" and links[0].args >= 0:
                source = "".join(tokens(G, n, links[0].args)).strip("()\"'")
                target = n.field(node, "name")
                for at in range(target, n.lasts[target]):
                    if n.kinds[at] in ("identifier", "shorthand_property_identifier_pattern"):
                        yield n.says(at), source, n.line(at)
