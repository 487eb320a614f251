"""What a file in Python does as a whole, and what it imports."""

import re
from collections.abc import Iterator

from .grammar import arguments, calls_in, chain, dotted, joined, norm, tokens
from .nodes import Nodes
from .python_grammar import G
from .shapes import Fact

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
        "os.abort",
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
