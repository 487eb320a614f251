"""Java: JUnit 3 to 5, TestNG, with AssertJ, Hamcrest, Truth or Mockito."""

import re
from collections.abc import Iterator

from . import conditions
from .conditions import Check, compared
from .grammar import Grammar, Link, arguments, chain, dotted, joined, norm, tokens
from .nodes import Nodes
from .shapes import Definition, Fact, Mark, Tongue, listed

G = Grammar(
    strings=frozenset(("string_literal", "character_literal", "text_block")),
    blocks=frozenset((
        "block", "class_body", "switch_block", "switch_block_statement_group", "constructor_body",
        "interface_body", "enum_body", "enum_body_declarations",
    )),
    names=frozenset(("identifier", "type_identifier")),
    calls={
        "method_invocation": ("object", "name", "arguments"),
        "field_access": ("object", "field", ""),
        "object_creation_expression": ("type", "", "arguments"),
    },
    guards={
        "if_statement": "if", "switch_expression": "if", "switch_statement": "if", "for_statement": "loop",
        "enhanced_for_statement": "loop", "while_statement": "loop", "do_statement": "loop", "try_statement": "try",
        "try_with_resources_statement": "try", "catch_clause": "if", "finally_clause": "always",
        "lambda_expression": "closure", "method_declaration": "function", "class_declaration": "function",
        "ternary_expression": "if",
    },
    bare=frozenset((
        "argument_list", "expression_statement", "variable_declarator", "return_statement",
        "parenthesized_expression",
    )),
    binary=frozenset(("binary_expression",)),
    negations=frozenset(("unary_expression",)),
    lists=frozenset(("array_initializer", "element_value_array_initializer")),
    wrappers=frozenset(("cast_expression_",)),
    passes=frozenset(("import_declaration", "package_declaration")),
)  # fmt: skip

_ASSERTS = {
    "assertEquals": "eq", "assertNotEquals": "ne", "assertSame": "eq", "assertNotSame": "ne", "assertArrayEquals": "eq",
    "assertIterableEquals": "eq", "assertLinesMatch": "match", "assertTrue": "truthy", "assertFalse": "falsy",
    "assertNull": "none", "assertNotNull": "defined", "assertThrows": "raises", "assertThrowsExactly": "raises",
    "assertDoesNotThrow": "not-raises", "assertInstanceOf": "type", "fail": "fail", "assertThatThrownBy": "raises",
    "assertTimeout": "other", "assertTimeoutPreemptively": "other", "expectThrows": "raises",
}  # fmt: skip
_MATCHERS = {
    "isEqualTo": "eq", "isNotEqualTo": "ne", "isSameAs": "eq", "isNotSameAs": "ne", "isTrue": "eq-true",
    "isFalse": "eq-false", "isNull": "none", "isNotNull": "defined", "contains": "in", "containsExactly": "eq",
    "containsOnly": "count", "containsExactlyInAnyOrder": "count", "doesNotContain": "out", "hasSize": "eq-length",
    "isEmpty": "falsy", "isNotEmpty": "truthy", "isInstanceOf": "type", "isExactlyInstanceOf": "raises",
    "isGreaterThan": ">", "isGreaterThanOrEqualTo": ">=", "isLessThan": "<", "isLessThanOrEqualTo": "<=",
    "isCloseTo": "close", "isWithin": "close", "isBetween": "other", "matches": "match", "startsWith": "in",
    "endsWith": "in", "isPresent": "defined", "hasMessage": "eq", "hasMessageContaining": "in", "isAtLeast": ">=",
    "isAtMost": "<=", "hasSameSizeAs": "other", "isIn": "in", "isNotBlank": "truthy", "isZero": "eq",
    "usingRecursiveComparison": "eq", "isEqualByComparingTo": "eq", "hasValue": "eq", "containsEntry": "in",
    # hamcrest
    "is": "eq", "equalTo": "eq", "not": "ne", "nullValue": "none", "notNullValue": "defined", "containsString": "in",
    "hasItem": "in", "hasItems": "in", "instanceOf": "type", "isA": "type", "greaterThan": ">", "lessThan": "<",
    "greaterThanOrEqualTo": ">=", "lessThanOrEqualTo": "<=", "closeTo": "close", "anything": "always", "anyOf": "any",
}  # fmt: skip


def check(n: Nodes, node: int, links: list[Link]) -> list[Check] | None:
    if not links:
        if n.kinds[node] == "assert_statement":
            inner = n.inner(node)
            return conditions.read(G, n, inner[0]) if inner else []
        return None
    names = [link.name for link in links]
    at = next(
        (at for at, name in enumerate(names) if name in ("assertThat", "assertThatThrownBy", "verify", "then")), -1
    )
    if at >= 0 and links[at].args >= 0:
        return _fluent(n, node, links[at:])
    last = links[-1]
    if last.name in _ASSERTS and last.args >= 0 and (len(links) == 1 or names[-2][:1].isupper()):
        return _plain(n, node, last)
    if re.match(r"assert[A-Z]", last.name) and last.name not in ("assertAll", "assertThat") and last.args >= 0:
        given = [norm(G, n, each) for each in arguments(n, last.args)]
        return [Check("other", (last.name, *given), n.line(node), n.end_line(node))]
    return None


def _plain(n: Nodes, node: int, last: Link) -> list[Check]:
    op, line, end = _ASSERTS[last.name], n.line(node), n.end_line(node)
    nodes = arguments(n, last.args)
    is_text = [n.kinds[each] == "string_literal" for each in nodes]
    one = op in ("truthy", "falsy", "none", "defined")
    if nodes and is_text[0] and len(nodes) > (1 if one else 2) and not is_text[-1]:
        nodes = nodes[1:]
    given = [norm(G, n, each) for each in nodes]
    if op in ("truthy", "falsy") and nodes:
        return conditions.read(G, n, nodes[0], negated=op == "falsy")
    if op == "raises":
        return [Check(op, (given[0] if given else "", ""), line, end, words=joined(given[1:2]))]
    if one or op in ("fail", "not-raises"):
        return [Check(op, tuple(given[:1]) if op != "fail" else (), line, end)]
    if op == "other" or len(given) < 2:
        return [Check("other", (last.name, *given), line, end)]
    plain = compared(op, given[0], given[1], line, end)
    delta = (
        given[2].replace("\n", "") if len(given) > 2 and not given[2].startswith('"') and "->" not in given[2] else ""
    )
    if delta and op == "eq":
        return [Check("close", plain.sides, line, end, f"delta={delta.rstrip('dfDF')}")]
    return [plain]


def _fluent(n: Nodes, node: int, links: list[Link]) -> list[Check]:
    line, end = n.line(node), n.end_line(node)
    seen = arguments(n, links[0].args)
    subject = norm(G, n, seen[0]) if seen else ""
    if links[0].name == "verify":
        said = ".".join(link.name for link in links[1:])
        return [
            Check(
                "called-with",
                (
                    subject,
                    said,
                    *(norm(G, n, link.args) for link in links[1:]),
                    *(norm(G, n, each) for each in seen[1:]),
                ),
                line,
                end,
            )
        ]
    if len(links) == 1 and len(seen) > 1:
        found = chain(G, n, seen[-1])
        while (
            found
            and found[-1].name == "is"
            and (inner := arguments(n, found[-1].args))
            and n.kinds[inner[0]] == "method_invocation"
        ):
            deeper = chain(G, n, inner[0])
            if not deeper or deeper[-1].name not in _MATCHERS:
                break
            found = deeper
        if len(seen) == 3:
            subject = norm(G, n, seen[1])
        return [_matched(n, subject, found[-1], line, end)] if found else []
    told = [link for link in links[1:] if link.name in _MATCHERS or link.name not in _QUIET]
    start = "raises" if links[0].name == "assertThatThrownBy" else ""
    if start:
        sort = next(
            (norm(G, n, link.args) for link in told if link.name in ("isInstanceOf", "isExactlyInstanceOf")), ""
        )
        words = next((norm(G, n, link.args) for link in told if link.name.startswith("hasMessage")), "")
        return [Check("raises", (sort.strip("()\n"), words), line, end, words=subject)]
    return [_matched(n, subject, link, line, end) for link in told if link.args >= 0]


_QUIET = frozenset(
    (
        "as",
        "describedAs",
        "withFailMessage",
        "overridingErrorMessage",
        "extracting",
        "asString",
        "asList",
        "and",
        "that",
    )
)


def _matched(n: Nodes, subject: str, link: Link, line: int, end: int) -> Check:
    op = _MATCHERS.get(link.name, "other")
    given = [norm(G, n, each) for each in arguments(n, link.args)]
    if op in ("eq-true", "eq-false"):
        return Check("eq", (subject, "true" if op == "eq-true" else "false"), line, end)
    if op == "eq-length":
        return Check("eq", (f"{subject}\n.\nlength", joined(given)), line, end)
    if op == "close" and len(given) > 1:
        words = [word for word in given[1].split("\n") if word[:1].isdigit()]
        return Check(
            "close",
            (subject, given[0]),
            line,
            end,
            f"delta={words[0].rstrip('df')}" if words else given[1].replace("\n", ""),
        )
    if op == "other":
        return Check("other", (subject, link.name, *given), line, end)
    if op == "eq" and len(given) == 1:
        return compared(op, subject, given[0], line, end)
    return Check(op, (subject, *given), line, end)


# --- what is defined ---------------------------------------------------------------------------------

_TESTS = frozenset(("Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate", "Theory", "Property"))
_MARKS = {
    "Disabled": "skip", "Ignore": "skip", "Timeout": "timeout", "RepeatedTest": "test", "Tag": "label",
    "Category": "label",
    "ValueSource": "cases", "CsvSource": "cases", "MethodSource": "cases", "EnumSource": "cases",
    "CsvFileSource": "cases",
    "ArgumentsSource": "cases", "NullSource": "cases", "EmptySource": "cases", "NullAndEmptySource": "cases",
    "RetryingTest": "retry", "Retry": "retry", "Flaky": "retry", "Test": "test", "ExtendWith": "other",
    "RunWith": "other",
    "ExpectedToFail": "xfail", "NotWorking": "xfail", "Rule": "other", "MockBean": "patch", "FixMethodOrder": "quiet",
}  # fmt: skip
_HOOKS = frozenset(("BeforeEach", "AfterEach", "BeforeAll", "AfterAll", "Before", "After", "BeforeClass", "AfterClass"))


def define(n: Nodes, node: int, within: str) -> Definition | None:
    kind = n.kinds[node]
    if kind in ("class_declaration", "interface_declaration", "enum_declaration", "record_declaration"):
        body, above = n.field(node, "body"), norm(G, n, n.field(node, "superclass"))
        about = "unittest" if "TestCase" in above else "class"
        parts = (body,) if body >= 0 else ()
        return Definition("suite", n.says(n.field(node, "name")), parts, tuple(_marks(n, node)), about, node)
    if kind not in ("method_declaration", "constructor_declaration"):
        return None
    name, body, marks = n.says(n.field(node, "name")), n.field(node, "body"), list(_marks(n, node))
    names = {mark.words.split("\n")[0] for mark in marks}
    sort = "test" if names & _TESTS or (within == "unittest" and name.startswith("test")) else "helper"
    if names & _HOOKS or (within == "unittest" and name in ("setUp", "tearDown")):
        sort = "hook"
    params = norm(G, n, n.field(node, "parameters"))
    expected = [check for at, annotation in _annotations(n, node) if annotation == "Test" for check in _expected(n, at)]
    return Definition(sort, name, (body,) if body >= 0 else (), tuple(marks), params, node, tuple(expected))


def _annotations(n: Nodes, node: int) -> Iterator[tuple[int, str]]:
    for modifiers in n.children(node):
        if n.kinds[modifiers] != "modifiers":
            continue
        for at in n.inner(modifiers):
            if n.kinds[at] in ("annotation", "marker_annotation"):
                yield at, n.says(n.field(at, "name")).rpartition(".")[2]


def _marks(n: Nodes, node: int) -> Iterator[Mark]:
    for at, name in _annotations(n, node):
        what = _MARKS.get(name, "skip" if re.match(r"(?:Disabled|Enabled)(?:On|For|If|In)", name) else "quiet")
        words, cases = listed(G, n, n.field(at, "arguments"))
        if name == "Test" and "enabled\n=\nfalse" in words:
            what = "skip"
        elif name == "Test":
            words = re.sub(r"expected\n=\n\S+(?:\n\.\n\S+)*\n?,?\n?", "", words)
            what = "quiet" if words in ("", "(\n)") else "test"
        if name == "CsvSource" and cases == () and '"""' in words:
            cases = tuple((row, n.line(at)) for row in words.split("\\n") if row.strip())
            words = ""
        yield Mark(what, joined(filter(None, (name, words))), n.line(at), cases)


def _expected(n: Nodes, annotation: int) -> Iterator[Check]:
    """Yield what JUnit 4 checks by an annotation."""
    args = n.field(annotation, "arguments")
    for pair in n.inner(args) if args >= 0 else []:
        if n.kinds[pair] == "element_value_pair" and n.says(n.field(pair, "key")) == "expected":
            yield Check("raises", (norm(G, n, n.field(pair, "value")), ""), n.line(pair), n.line(pair))


# --- the file as a whole -----------------------------------------------------------------------------

_SENSES = re.compile(
    r"(?:org\.junit|org\.testng|junit\.framework|com\.intellij\.rt\.junit|surefire|org\.gradle\.api\.internal\.tasks\.testing)[\w.$]*"
)


_TOLD = frozenset(("System.exit", "Runtime.getRuntime.halt", "Runtime.getRuntime.exit", "System.setSecurityManager",
"Runtime.getRuntime.addShutdownHook"))  # fmt: skip


def facts(n: Nodes) -> Iterator[Fact]:
    for at, kind in enumerate(n.kinds):
        if kind == "string_fragment" and _SENSES.match(n.says(at)):
            yield Fact("senses", n.says(at), "", n.line(at))
        elif kind == "method_invocation":
            links = chain(G, n, at)
            name = dotted(links)
            given = norm(G, n, links[-1].args) if name in _TOLD and links[-1].args >= 0 else ""
            if name in ("System.exit", "Runtime.getRuntime.halt", "Runtime.getRuntime.exit") and given == "(\n0\n)":
                yield from _exit(n, at, name)
            elif name in ("Runtime.getRuntime.addShutdownHook", "System.setSecurityManager"):
                yield Fact("atexit", name, given, n.line(at))
        elif kind == "method_declaration" and n.says(n.field(at, "name")) == "equals":
            held = n.field(at, "body")
            body = "".join(tokens(G, n, held)) if held >= 0 and n.lasts[held] - held < 12 else ""
            if body == "{returntrue}":
                yield Fact("equal", "equals", body, n.line(at))


def _exit(n: Nodes, node: int, name: str) -> Iterator[Fact]:
    at = node
    while at > 0 and n.kinds[at] != "method_declaration":
        at = n.parents[at]
    if at <= 0 or n.says(n.field(at, "name")) != "main":
        yield Fact("hard-exit", name, "0", n.line(node))


def imports(n: Nodes) -> Iterator[tuple[str, str, int]]:
    for node in n.inner(0):
        if n.kinds[node] == "import_declaration":
            said = norm(G, n, node).replace("\n", "").removeprefix("import").removeprefix("static")
            yield said.rpartition(".")[2], said, n.line(node)


_ASSUMES = ("assumeTrue", "assumeFalse", "assumeThat", "assumingThat", "assumeNotNull", "assumeNoException", "abort")
TONGUE = Tongue(
    grammar=G,
    define=define,
    check=check,
    roles={
        **dict.fromkeys(_ASSUMES, "skip"),
        **{f"{root}.{each}": "skip" for root in ("Assumptions", "Assume") for each in _ASSUMES},
        "System.exit": "exit", "fail": "fail", "Assertions.fail": "fail", "Assert.fail": "fail", "when": "mock",
        "Mockito.when": "mock", ".thenReturn": "mock", ".thenThrow": "mock", ".thenAnswer": "mock", "doReturn": "mock",
        "Mockito.mockStatic": "mock", "mockStatic": "mock", "SkipException": "skip", "TestAbortedException": "skip",
    },
    binds={"variable_declarator": "name", "assignment_expression": "left", "enhanced_for_statement": "name"},
    stops={"return_statement": "return", "throw_statement": "raise", "continue_statement": "return"},
    facts=facts,
    handlers=frozenset(("catch_clause",)),
    imports=imports,
)  # fmt: skip
