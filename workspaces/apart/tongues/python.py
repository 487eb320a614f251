"""Python: pytest, unittest."""

import re

from . import conditions
from .conditions import Check, compared
from .grammar import Link, arguments, chain, dotted, joined, norm, tokens, unwrapped
from .nodes import Nodes
from .python_facts import facts, imports
from .python_grammar import G
from .shapes import Definition, Mark, Tongue, listed

_TWO = {
    "assertEqual": "eq", "assertEquals": "eq", "assertIs": "same", "assertNotEqual": "ne", "assertIsNot": "ne",
    "assertIn": "in", "assertNotIn": "out", "assertIsInstance": "type", "assertNotIsInstance": "not-type",
    "assertGreater": ">", "assertGreaterEqual": ">=", "assertLess": "<", "assertLessEqual": "<=",
    "assertListEqual": "eq", "assertDictEqual": "eq", "assertTupleEqual": "eq", "assertSetEqual": "eq",
    "assertSequenceEqual": "eq", "assertMultiLineEqual": "eq", "assertCountEqual": "count", "assertRegex": "match",
    "assertNotRegex": "no-match", "assertQuerySetEqual": "eq", "assertQuerysetEqual": "eq", "assertJSONEqual": "eq",
    "assertContains": "in", "assertNotContains": "out", "assertRedirects": "eq", "assertTemplateUsed": "eq",
    "assertNumQueries": "eq", "assertHTMLEqual": "eq", "assertURLEqual": "eq", "assertXMLEqual": "eq",
    "assert_equal": "eq", "assert_array_equal": "eq", "assert_frame_equal": "eq", "assert_series_equal": "eq",
    "assert_allclose": "close", "assert_almost_equal": "close", "assert_array_almost_equal": "close",
}  # fmt: skip
_NEAR = {"assertAlmostEqual": "close", "assertAlmostEquals": "close", "assertNotAlmostEqual": "not-close"}
_ONE = {"assertIsNone": "none", "assertIsNotNone": "defined"}
_RAISES = frozenset(
    ("assertRaises", "assertRaisesRegex", "assertWarns", "assertWarnsRegex", "assertLogs", "assertNoLogs")
)
_CALLED = {
    "assert_called": "called", "assert_called_once": "called-once", "assert_called_with": "called-with",
    "assert_called_once_with": "called-with", "assert_any_call": "called-with", "assert_has_calls": "called-with",
    "assert_not_called": "not-called", "assert_awaited": "called", "assert_awaited_once_with": "called-with",
}  # fmt: skip
_TOLERANCES = ("places", "delta", "abs", "rel", "rtol", "atol", "decimal", "check_exact")


def check(n: Nodes, node: int, links: list[Link]) -> list[Check] | None:
    if not links:
        return _statement(n, node)
    last, line, end = links[-1], n.line(node), n.end_line(node)
    if last.args < 0:
        return None
    given, named = _given(n, last.args)
    words = [norm(G, n, each) for each in given]
    tolerance = ",".join(f"{name}={norm(G, n, named[name])}" for name in _TOLERANCES if name in named).replace("\n", "")
    if last.name in ("assertTrue", "assertFalse", "assert_") and given:
        return conditions.read(G, n, given[0], negated=last.name == "assertFalse")
    if last.name in _NEAR and len(given) > 1:
        places = f"places={words[2]}" if len(words) > 2 else ""
        return [Check(_NEAR[last.name], tuple(words[:2]), line, end, tolerance or places)]
    if last.name in _TWO and len(given) > 1:
        plain = compared(_TWO[last.name], words[0], words[1], line, end)
        return [Check(plain.op, plain.sides, line, end, tolerance)]
    if last.name in _ONE and given:
        return [Check(_ONE[last.name], (words[0],), line, end)]
    if last.name in _CALLED and len(links) > 1:
        return [Check(_CALLED[last.name], (dotted(links[:-1]), joined(words)), line, end)]
    if last.name in _RAISES or (last.name in ("raises", "warns", "deprecated_call") and links[0].name == "pytest"):
        return [_raises(n, last, given, named, line, end)]
    if re.match(r"assert(?:_|[A-Z])", last.name):
        return [Check("other", (last.name, *words), line, end)]
    return None


def _given(n: Nodes, args: int) -> tuple[list[int], dict[str, int]]:
    """Return the arguments by place and by name."""
    given, named = [], {}
    for each in arguments(n, args):
        if n.kinds[each] == "keyword_argument":
            named[n.says(n.field(each, "name"))] = n.field(each, "value")
        else:
            given.append(each)
    return given, named


def _raises(n: Nodes, last: Link, given: list[int], named: dict[str, int], line: int, end: int) -> Check:
    pattern = named.get("match", named.get("expected_regex", -1))
    called = given[1:]
    if last.name.endswith("Regex") and len(given) > 1:
        pattern, called = given[1], given[2:]
    said = norm(G, n, pattern) if pattern >= 0 else ""
    raised = norm(G, n, given[0]) if given else ""
    return Check("raises", (raised, said), line, end, words=joined(norm(G, n, each) for each in called))


def _statement(n: Nodes, node: int) -> list[Check] | None:
    if n.kinds[node] != "assert_statement":
        return None
    inner = n.inner(node)
    first = unwrapped(G, n, inner[0]) if inner else -1
    if first >= 0 and n.kinds[first] == "tuple" and n.inner(first):
        return [Check("always", (), n.line(node), n.end_line(node))]
    return conditions.read(G, n, inner[0]) if inner else []


# --- what is defined ---------------------------------------------------------------------------------

_SKIPS = {
    "skip": "skip", "skipif": "skip", "skipIf": "skip", "skipUnless": "skip", "xfail": "xfail",
    "expectedFailure": "xfail", "flaky": "retry", "rerun": "retry", "retry": "retry", "timeout": "timeout",
    "parametrize": "cases", "patch": "patch", "patch.object": "patch", "patch.dict": "patch", "usefixtures": "fixtures",
    "expand": "cases", "data": "cases", "fixture": "fixture", "hookimpl": "hook", "ignore": "skip",
}  # fmt: skip
_QUIET = frozenset(
    (
        "staticmethod",
        "classmethod",
        "property",
        "override",
        "asyncio",
        "django_db",
        "anyio",
        "dataclass",
        "wraps",
        "contextmanager",
        "asynccontextmanager",
        "overload",
        "final",
        "abstractmethod",
        "cache",
        "lru_cache",
    )
)
_CONFIG = re.compile(r"pytest_\w+|load_tests|setUpModule|setup_module|tearDownModule|teardown_module")


def _marks(n: Nodes, decorated: int) -> tuple[Mark, ...]:
    found = []
    for each in n.inner(decorated):
        if n.kinds[each] != "decorator":
            continue
        inner = n.inner(each)
        if inner:
            found.append(_mark(n, inner[0], n.line(each)))
    return tuple(found)


def _mark(n: Nodes, node: int, line: int) -> Mark:
    links = chain(G, n, node)
    name = links[-1].name if links else ""
    pair = ".".join(link.name for link in links[-2:])
    what = _SKIPS.get(pair) or _SKIPS.get(name) or ("quiet" if name in _QUIET else "other")
    if what == "other" and len(links) > 2 and links[-2].name == "mark":
        what = "label"
    words, cases = _cases(n, links[-1].args) if what == "cases" and links else ("", ())
    return Mark(what, f"{dotted(links)}\n{words}" if words else norm(G, n, node), line, cases)


def _cases(n: Nodes, args: int) -> tuple[str, tuple[tuple[str, int], ...]]:
    """Return the arguments of a mark with cases, and those; their names for people aside."""
    found: list[tuple[str, int]] = []
    words: list[str] = []
    for at, each in enumerate(arguments(n, args)):
        name = n.says(n.field(each, "name")) if n.kinds[each] == "keyword_argument" else ""
        if name in ("ids", "scope"):
            continue
        if at == 0 or name in ("argnames", "indirect"):
            words.append("".join(tokens(G, n, each)).strip("[]()").replace('"', "").replace(" ", ""))
        else:
            held, cases = listed(G, n, each)
            words.append(held)
            found += cases
    return joined(words), tuple(found)


def define(n: Nodes, node: int, within: str) -> Definition | None:
    marks: tuple[Mark, ...] = ()
    inner = node
    if n.kinds[node] == "decorated_definition":
        inner, marks = n.field(node, "definition"), _marks(n, node)
    kind = n.kinds[inner]
    if kind not in ("function_definition", "class_definition"):
        return None
    name, body = n.says(n.field(inner, "name")), n.field(inner, "body")
    if kind == "class_definition":
        bases = norm(G, n, n.field(inner, "superclasses"))
        is_collected = name.startswith("Test") or "TestCase" in bases or re.search(r"Tests?\b", bases) is not None
        is_unittest = "Case" in bases or re.search(r"Tests?\b", bases) is not None
        about = "unittest" if is_unittest else "tests" if is_collected else "class"
        return Definition("suite", name, (body,), marks, about, node)
    params = norm(G, n, n.field(inner, "parameters"))
    return Definition(_kind(name, within, marks), name, (body,), marks, params, node)


def _kind(name: str, within: str, marks: tuple[Mark, ...]) -> str:
    fixture = next((mark for mark in marks if mark.what == "fixture"), None)
    if fixture is not None:
        return "config" if "autouse" in fixture.words.split("\n") else "helper"
    if any(mark.what == "hook" for mark in marks) or (not within and _CONFIG.fullmatch(name)):
        return "config"
    if name in ("setUp", "tearDown", "setUpClass", "tearDownClass", "setup_method", "teardown_method", "setup_class"):
        return "hook"
    return "test" if name.startswith("test") and within != "class" else "helper"


TONGUE = Tongue(
    grammar=G,
    define=define,
    check=check,
    roles={
        "pytest.skip": "skip", "pytest.xfail": "skip", "pytest.importorskip": "skip", ".skipTest": "skip",
        "unittest.SkipTest": "skip", "SkipTest": "skip", "pytest.exit": "exit", "sys.exit": "exit", "os._exit": "exit",
        "exit": "exit", "quit": "exit", "pytest.fail": "fail", "self.fail": "fail", "AssertionError": "fail",
        "monkeypatch.setattr": "mock", "monkeypatch.setitem": "mock", "monkeypatch.delattr": "mock", "patch": "mock",
        "mock.patch": "mock", "mock.patch.object": "mock", "patch.object": "mock", "mocker.patch": "mock",
        "mocker.patch.object": "mock", "mocker.patch.multiple": "mock", "unittest.mock.patch": "mock",
        "unittest.mock.patch.object": "mock", "setattr": "mock", "monkeypatch.setenv": "env", ".add_marker": "skip",
        "mocker.spy": "env",
    },
    binds={
        "assignment": "left", "augmented_assignment": "left", "for_statement": "left", "named_expression": "name",
        "as_pattern": "alias", "for_in_clause": "left",
    },
    stops={"return_statement": "return", "raise_statement": "raise", "continue_statement": "return"},
    facts=facts,
    handlers=frozenset(("except_clause", "except_group_clause")),
    imports=imports,
)  # fmt: skip
