"""Python: pytest, unittest."""

import re
from collections.abc import Iterator

from . import conditions
from .conditions import Check, compared
from .grammar import Grammar, Link, arguments, calls_in, chain, dotted, joined, norm, tokens, unwrapped
from .nodes import Nodes
from .units import Definition, Fact, Mark, Tongue, listed

G = Grammar(
    strings=frozenset(("string", "concatenated_string")),
    interpolations=frozenset(("interpolation",)),
    blocks=frozenset(("block", "case_clause")),
    names=frozenset(("identifier",)),
    calls={
        "call": ("function", "", "arguments"),
        "attribute": ("object", "attribute", ""),
    },
    guards={
        "if_statement": "if", "for_statement": "loop", "while_statement": "loop", "with_statement": "with",
        "try_statement": "try", "match_statement": "if", "except_clause": "if", "except_group_clause": "if",
        "finally_clause": "always", "function_definition": "function", "class_definition": "function",
        "lambda": "function", "conditional_expression": "if", "list_comprehension": "loop",
    },
    dropped=frozenset(("type",)),
    bare=frozenset(
        (
            "assert_statement", "expression_statement", "assignment", "return_statement", "argument_list",
            "if_statement", "parenthesized_expression", "keyword_argument", "while_statement",
            "for_statement", "with_item", "pair", "list",
        )
    ),
    binary=frozenset(("comparison_operator", "boolean_operator")),
    negations=frozenset(("not_operator",)),
    lists=frozenset(("list", "tuple", "dictionary", "set")),
    wrappers=frozenset(("await",)),
    passes=frozenset(("pass_statement", "import_statement", "import_from_statement", "future_import_statement")),
)  # fmt: skip

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


# --- the file as a whole -----------------------------------------------------------------------------

_SENSES = re.compile(
    r"PYTEST_CURRENT_TEST|PYTEST_VERSION|PYTEST_XDIST_WORKER|_called_from_test|TESTING|IS_TEST(?:ING)?"
    r"|RUNNING_TESTS?"
)
_TOOLS = frozenset(("pytest", "_pytest", "unittest", "nose", "nose2", "doctest"))
_PATCHED = re.compile(r"(?:builtins|__builtins__|unittest|pytest|_pytest|TestCase|AssertionError)(?:\.|\Z)")


def facts(n: Nodes) -> Iterator[Fact]:
    imported = {name for name, _, _ in imports(n)}
    for node in n.inner(0):
        yield from _top(n, node, imported)
    yield from _by_other_names(n)
    for at, kind in enumerate(n.kinds):
        if kind == "assignment":
            yield from _assigned(n, at)
        elif kind == "string_content" and _SENSES.fullmatch(n.says(at)):
            yield Fact("senses", n.says(at), "", n.line(at))
        elif kind == "call":
            yield from _called(n, at)
        elif kind == "comparison_operator":
            yield from _asked(n, at)
        elif kind == "function_definition" and n.says(n.field(at, "name")) in ("__eq__", "__bool__"):
            if norm(G, n, n.field(at, "body")) == "return\nTrue":
                yield Fact("equal", n.says(n.field(at, "name")), "true", n.line(at))
        elif kind in ("import_statement", "import_from_statement"):
            yield from _tool(n, at)


_BY_DICTIONARY = re.compile(r"(?:vars\(\s*(\w+)[\w.]*\s*\)|(\w+)(?:\.\w+)*?\.__dict__)\s*(?:\[|\.update\Z)")


def _by_other_names(n: Nodes) -> Iterator[Fact]:
    """Yield where the test tool is changed under a name of the file's own, or a module through its dictionary."""
    real = {name: whole for name, whole, _ in imports(n)}
    for at, kind in enumerate(n.kinds):
        if kind not in ("assignment", "call") or not real:
            continue
        said = n.says(n.field(at, "left")) if kind == "assignment" else dotted(chain(G, n, at))
        root, _, rest = said.partition(".")
        whole = f"{real.get(root, '')}.{rest}"
        is_named = kind == "assignment" and re.fullmatch(r"[\w.]+", rest) and not _PATCHED.match(said)
        if is_named and _PATCHED.match(whole) and not whole.startswith("unittest.mock."):
            yield Fact("tool-patch", whole, "", n.line(at))
        elif (held := _BY_DICTIONARY.match(said)) and (held[1] or held[2]) in real and not _is_in_function(n, at):
            yield Fact("patch", said[:100], "", n.line(at))


def _is_in_function(n: Nodes, at: int) -> bool:
    while at > 0:
        if n.kinds[at] in ("function_definition", "lambda"):
            return True
        at = n.parents[at]
    return False


def _tool(n: Nodes, node: int) -> Iterator[Fact]:
    for name in n.all_in(node, "module_name") or n.all_in(node, "name"):
        said = n.says(n.field(name, "name") if n.kinds[name] == "aliased_import" else name)
        if said.partition(".")[0] in _TOOLS:
            yield Fact("tool", said.partition(".")[0], "", n.line(node))


def _top(n: Nodes, node: int, imported: set[str]) -> Iterator[Fact]:
    """Yield what a statement of the module does when it is loaded, at its top or in a condition there."""
    if n.kinds[node] in ("function_definition", "class_definition", "decorated_definition"):
        return
    for at, links in calls_in(G, n, node, [each for each in range(node, n.lasts[node]) if n.kinds[each] == "lambda"]):
        name = dotted(links)
        if name in ("sys.exit", "exit", "quit", "pytest.exit", "os.abort"):
            if not _is_main(n, at):
                yield Fact("exit", name, norm(G, n, at), n.line(at))
        elif name in ("pytest.skip", "pytest.importorskip", "unittest.SkipTest", "pytest.xfail"):
            yield Fact("skip", name, norm(G, n, at), n.line(at))
        elif name in ("setattr", "patch", "mock.patch", "mock.patch.object", "patch.object", "unittest.mock.patch"):
            yield Fact("patch", name, norm(G, n, at), n.line(at))
        elif name.startswith(("sys.path.", "sys.meta_path.", "sys.path_hooks.")) or name in ("site.addsitedir",):
            yield Fact("path", name, norm(G, n, at), n.line(at))
    yield from _rebound(n, node, imported)


def _is_main(n: Nodes, at: int) -> bool:
    while at > 0:
        if n.kinds[at] == "if_statement" and "__name__" in n.says(n.field(at, "condition")):
            return True
        at = n.parents[at]
    return False


def _rebound(n: Nodes, node: int, imported: set[str]) -> Iterator[Fact]:
    for at in range(node, n.lasts[node]):
        if n.kinds[at] != "assignment":
            continue
        left = n.field(at, "left")
        name = dotted(chain(G, n, left)) if n.kinds[left] == "attribute" else n.says(left)
        root = name.partition(".")[0]
        words = norm(G, n, at)
        if name.endswith(".__test__") or (name == "__test__"):
            if words.endswith("False"):
                yield Fact("uncollected", name, words, n.line(at))
        elif name.startswith("os.environ["):
            yield Fact("environment", name, words, n.line(at))
        elif "." in name and root in imported and root not in ("np", "pd", "django", "settings"):
            yield Fact("patch", name, words, n.line(at))


_PLAIN_MARKS = frozenset(
    ("django_db", "asyncio", "anyio", "usefixtures", "xdist_group", "filterwarnings", "parametrize")
)
_ASSIGNED = re.compile(
    r"pytestmark|collect_ignore|pytest_plugins|__test__|sys\s*\.\s*modules|builtins|unittest|_?pytest|TestCase|Asser|__b"
)
_NAMES = {"collect_ignore": "collect", "collect_ignore_glob": "collect", "pytest_plugins": "plugins"}


def _assigned(n: Nodes, node: int) -> Iterator[Fact]:
    left = n.field(node, "left")
    name, line = n.says(left), n.line(node)
    words = norm(G, n, n.field(node, "right")) if _ASSIGNED.match(name) else ""
    is_top = n.parents[n.parents[node]] == 0
    if name == "pytestmark":
        labels = set(re.findall(r"mark\n\.\n(\w+)", words))
        if labels & {"skip", "skipif", "xfail"} or "importorskip" in words:
            yield Fact("skip", name, words, line)
        elif labels - _PLAIN_MARKS:
            yield Fact("mark", name, words, line)
    elif name in _NAMES:
        yield Fact(_NAMES[name], name, words, line)
    elif name == "__test__" and words == "False" and not is_top:
        yield Fact("uncollected", _class_of(n, node), words, line)
    elif re.match(r"sys\s*\.\s*modules\s*\[", name):
        yield Fact("modules", norm(G, n, left).replace("\n", ""), words, line)
    elif _PATCHED.match(name) and ("." in name or "[" in name):
        yield Fact("tool-patch", name, words, line)


def _class_of(n: Nodes, node: int) -> str:
    while node >= 0 and n.kinds[node] != "class_definition":
        node = n.parents[node]
    return n.says(n.field(node, "name")) if node >= 0 else "__test__"


_TOLD = frozenset(
    (
        "sys.modules.get",
        "importlib.util.find_spec",
        "sys.modules.update",
        "sys.modules.setdefault",
        "sys.modules.pop",
        "sys.modules.__setitem__",
        "setattr",
        "monkeypatch.setattr",
        "atexit.register",
        "os._exit",
    )
)


def _called(n: Nodes, node: int) -> Iterator[Fact]:
    links = chain(G, n, node)
    name = dotted(links)
    if name not in _TOLD:
        return
    given = [norm(G, n, each) for each in arguments(n, links[-1].args)]
    line, words = n.line(node), joined(given)
    if name in ("sys.modules.get", "importlib.util.find_spec") and given and given[0].strip('"') in _TOOLS:
        yield Fact("senses", f"{name}({given[0]})", words, line)
    elif name in ("sys.modules.update", "sys.modules.setdefault", "sys.modules.pop", "sys.modules.__setitem__"):
        yield Fact("modules", name, words, line)
    elif name in ("setattr", "monkeypatch.setattr") and given and _PATCHED.match(given[0].strip('"')):
        yield Fact("tool-patch", given[0].replace("\n", ""), words, line)
    elif name in ("os._exit", "os.abort") and not _is_main(n, node):
        yield Fact("hard-exit", name, words, line)
    elif name == "atexit.register":
        yield Fact("atexit", name, words, line)


def _asked(n: Nodes, node: int) -> Iterator[Fact]:
    words = "".join(tokens(G, n, node)) if n.lasts[node] - node < 60 else ""
    if re.search(r'"(?:_?pytest|unittest)"(?:not)?insys\.modules', words) or re.search(
        r"sys\.argv.*pytest|pytest.*sys\.argv", words
    ):
        yield Fact("senses", words[:80], "", n.line(node))


def imports(n: Nodes) -> Iterator[tuple[str, str, int]]:
    for node, kind in enumerate(n.kinds):
        if kind == "import_from_statement":
            module = n.says(n.field(node, "module_name"))
            for name in n.all_in(node, "name"):
                yield _bound(n, name), f"{module}.{_whole(n, name)}", n.line(node)
        elif kind == "import_statement":
            for name in n.all_in(node, "name"):
                yield _bound(n, name).partition(".")[0], _whole(n, name), n.line(node)


def _bound(n: Nodes, name: int) -> str:
    return n.says(n.field(name, "alias") if n.kinds[name] == "aliased_import" else name)


def _whole(n: Nodes, name: int) -> str:
    return n.says(n.field(name, "name") if n.kinds[name] == "aliased_import" else name)


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
