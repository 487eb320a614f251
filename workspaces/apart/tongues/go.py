"""Go: the tool's own tests, with testify or gomega."""

import re
from collections.abc import Iterator

from . import conditions
from .conditions import Check, compared
from .grammar import Grammar, Link, arguments, chain, dotted, joined, norm, tokens
from .nodes import Nodes
from .shapes import Definition, Fact, Tongue

G = Grammar(
    strings=frozenset(("interpreted_string_literal", "raw_string_literal", "rune_literal")),
    blocks=frozenset(("block", "statement_list", "expression_case", "default_case", "type_case", "communication_case")),
    names=frozenset(("identifier", "field_identifier", "type_identifier", "package_identifier")),
    calls={
        "call_expression": ("function", "", "arguments"),
        "selector_expression": ("operand", "field", ""),
    },
    guards={
        "if_statement": "if", "expression_switch_statement": "if", "type_switch_statement": "if",
        "select_statement": "if", "for_statement": "loop", "func_literal": "closure", "go_statement": "function",
        "function_declaration": "function", "method_declaration": "function",
    },
    bare=frozenset(("expression_list", "argument_list", "return_statement", "expression_statement", "if_statement")),
    binary=frozenset(("binary_expression",)),
    negations=frozenset(("unary_expression",)),
    lists=frozenset(("literal_value",)),
    wrappers=frozenset(("literal_element",)),
    passes=frozenset(("import_declaration", "package_clause", "empty_statement")),
)  # fmt: skip

_ASSERTS = {
    "Equal": "eq", "EqualValues": "eq", "Exactly": "eq", "JSONEq": "eq", "NotEqual": "ne", "Same": "eq",
    "Contains": "in", "NotContains": "out", "Subset": "in", "ElementsMatch": "count", "Len": "eq-length",
    "InDelta": "close", "InEpsilon": "close", "WithinDuration": "close", "Greater": ">", "GreaterOrEqual": ">=",
    "Less": "<", "LessOrEqual": "<=", "IsType": "type", "Implements": "type", "Regexp": "match",
    "NotRegexp": "no-match",
    "ErrorIs": "raises", "ErrorAs": "raises", "EqualError": "raises", "ErrorContains": "raises",
    "PanicsWithValue": "raises", "PanicsWithError": "raises", "DeepEqual": "eq",
    "Nil": "none", "NotNil": "defined", "NoError": "none", "Error": "raises", "True": "truthy", "False": "falsy",
    "Empty": "falsy", "NotEmpty": "truthy", "Zero": "falsy", "NotZero": "truthy", "Panics": "raises",
    "NotPanics": "not-raises", "Fail": "fail", "FailNow": "fail", "NilError": "none", "Assert": "truthy",
}  # fmt: skip
_TWO = frozenset(("eq", "ne", "in", "out", "count", "type", "match", "no-match", ">", ">=", "<", "<="))


def check(n: Nodes, node: int, links: list[Link]) -> list[Check] | None:
    if not links or links[-1].args < 0:
        return None
    root, last = links[0].name, links[-1]
    if root in ("assert", "require", "is", "c", "s", "suite", "a", "r", "req", "must", "qt", "td") and len(links) > 1:
        return _asserted(n, node, last)
    if root in ("Expect", "gomega", "Ω", "Î©") and len(links) > 1:
        seen = norm(G, n, links[0].args)
        return [Check("other", (seen, last.name, norm(G, n, last.args)), n.line(node), n.end_line(node))]
    return None


def _asserted(n: Nodes, node: int, last: Link) -> list[Check] | None:
    name = last.name.removesuffix("f") if last.name.removesuffix("f") in _ASSERTS else last.name
    op = _ASSERTS.get(name)
    if op is None:
        return None
    given = arguments(n, last.args)
    if given and norm(G, n, given[0]) in ("t", "s.T\n(\n)", "tt", "b", "tb", "s\n.\nT\n(\n)"):
        given = given[1:]
    line, end = n.line(node), n.end_line(node)
    words = [norm(G, n, each) for each in given]
    if op in ("truthy", "falsy") and given:
        return conditions.read(G, n, given[0], negated=op == "falsy")
    if op in _TWO and len(words) > 1:
        return [compared(op, words[0], words[1], line, end)]
    if op == "eq-length" and len(words) > 1:
        return [Check("eq", (joined(("len", "(", words[0], ")")), words[1]), line, end)]
    if op == "close" and len(words) > 2:
        return [Check("close", (words[0], words[1]), line, end, f"delta={words[2]}".replace("\n", ""))]
    if op == "raises":
        return [
            Check(
                "raises",
                ("error" if len(words) < 2 or name == "Error" else words[1], name),
                line,
                end,
                words=words[0] if words else "",
            )
        ]
    return [Check(op, tuple(words[:1]), line, end)]


_TEST = re.compile(r"(?:Test|Benchmark|Example|Fuzz)(?![a-z])\w*")


def define(n: Nodes, node: int, within: str) -> Definition | None:
    kind = n.kinds[node]
    if kind not in ("function_declaration", "method_declaration"):
        return None
    name, body = n.says(n.field(node, "name")), n.field(node, "body")
    receiver = n.field(node, "receiver")
    params = norm(G, n, n.field(node, "parameters"))
    if kind == "method_declaration":
        of = "".join(word for word in tokens(G, n, receiver) if word.isidentifier())[-40:]
        sort = (
            "test"
            if name.startswith("Test")
            else "hook"
            if re.match(r"(?:SetUp|TearDown|Before|After)", name)
            else "helper"
        )
        return Definition(sort, f"{of}.{name}", (body,) if body >= 0 else (), params=params, node=node)
    if name in ("TestMain", "init"):
        sort = "config"
    else:
        sort = "test" if _TEST.fullmatch(name) and ("testing" in params or name.startswith("Example")) else "helper"
    return Definition(sort, name, (body,) if body >= 0 else (), params=params, node=node)


def facts(n: Nodes) -> Iterator[Fact]:
    for at in n.children(0):
        said = n.says(at).strip() if n.kinds[at] == "comment" else ""
        if said.startswith(("//go:build", "// +build", "//+build")):
            yield Fact("tag", "build tag", " ".join(said.split()), n.line(at))
        elif said.startswith("//go:linkname"):
            yield Fact("patch", "go:linkname", said, n.line(at))
        elif n.kinds[at] == "package_clause":
            break
    for at, kind in enumerate(n.kinds):
        if kind == "call_expression":
            yield from _call(n, at)
        elif kind == "interpreted_string_literal_content" and re.fullmatch(
            r"test\.(?:v|run|timeout)|\.test(?:\.exe)?|-test\..*", n.says(at)
        ):
            yield Fact("senses", n.says(at), "", n.line(at))


def _call(n: Nodes, node: int) -> Iterator[Fact]:
    links = chain(G, n, node)
    name, line = dotted(links), n.line(node)
    if name == "testing.Testing":
        yield Fact("senses", name, "", line)
    elif name in ("os.Exit", "syscall.Exit") and _ends_well(n, node, links):
        yield Fact("hard-exit", name, norm(G, n, links[-1].args), line)


def _ends_well(n: Nodes, node: int, links: list[Link]) -> bool:
    """Return whether it ends the process with 0 elsewhere than a program does, in its main."""
    return norm(G, n, links[-1].args) == "(\n0\n)" and not _is_in(n, node, "main")


def _is_in(n: Nodes, node: int, name: str) -> bool:
    while node > 0:
        if n.kinds[node] == "function_declaration":
            return n.says(n.field(node, "name")) == name
        node = n.parents[node]
    return False


def imports(n: Nodes) -> Iterator[tuple[str, str, int]]:
    for node, kind in enumerate(n.kinds):
        if kind == "import_spec":
            path, name = n.says(n.field(node, "path")).strip('"`'), n.field(node, "name")
            yield n.says(name) if name >= 0 else path.rpartition("/")[2], path, n.line(node)


_T = ("t", "b", "tb", "tt", "f", "s.T()", "subT", "st", "tc", "c")
TONGUE = Tongue(
    grammar=G,
    define=define,
    check=check,
    roles={
        **{f"{t}.{name}": "skip" for t in _T for name in ("Skip", "Skipf", "SkipNow")},
        **{f"{t}.{name}": "fail" for t in _T for name in ("Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow")},
        "panic": "fail", "log.Fatal": "fail", "log.Fatalf": "fail", "os.Exit": "exit", "runtime.Goexit": "exit",
        "testing.Short": "skip", "gomonkey.ApplyFunc": "mock", "monkey.Patch": "mock", "recover": "recover",
    },
    binds={
        "short_var_declaration": "left", "assignment_statement": "left", "var_spec": "name", "const_spec": "name",
        "range_clause": "left",
    },
    stops={"return_statement": "return", "goto_statement": "return", "continue_statement": "return"},
    facts=facts,
    imports=imports,
)  # fmt: skip
