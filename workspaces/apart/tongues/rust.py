"""Rust: the tool's own tests, in files of tests and beside the code; rstest, tokio, insta, approx."""

import re
from collections.abc import Iterator, Sequence

from .conditions import Check, compared
from .grammar import Grammar, Link, chain, dotted, joined, norm, tokens
from .nodes import Nodes
from .shapes import Definition, Fact, Mark, Tongue

G = Grammar(
    strings=frozenset(("string_literal", "raw_string_literal", "char_literal")),
    blocks=frozenset(("block", "declaration_list", "match_block")),
    names=frozenset(("identifier", "field_identifier", "type_identifier", "shorthand_field_identifier")),
    calls={
        "call_expression": ("function", "", "arguments"),
        "field_expression": ("value", "field", ""),
        "scoped_identifier": ("path", "name", ""),
        "generic_function": ("function", "", ""),
    },
    macros={"macro_invocation": ("macro", "token_tree")},
    guards={
        "if_expression": "if", "match_expression": "if", "while_expression": "loop", "for_expression": "loop",
        "loop_expression": "loop", "closure_expression": "closure", "function_item": "function",
        "match_arm": "if",
    },
    bare=frozenset(("arguments", "let_declaration", "expression_statement", "if_expression", "return_expression")),
    binary=frozenset(("binary_expression",)),
    negations=frozenset(("unary_expression",)),
    lists=frozenset(("array_expression",)),
    wrappers=frozenset(("try_expression", "await_expression", "reference_expression")),
    passes=frozenset(("attribute_item", "inner_attribute_item", "use_declaration", "empty_statement", "mod_item")),
)  # fmt: skip

_TWO = {
    "assert_eq": "eq", "assert_ne": "ne", "debug_assert_eq": "eq", "debug_assert_ne": "ne", "prop_assert_eq": "eq",
    "assert_abs_diff_eq": "close", "assert_relative_eq": "close", "assert_ulps_eq": "close", "assert_matches": "match",
    "assert_gt": ">", "assert_ge": ">=", "assert_lt": "<", "assert_le": "<=",
}  # fmt: skip
_CONDITIONS = frozenset(("assert", "debug_assert", "prop_assert", "ensure"))
_COMPARISONS = {"==": "eq", "!=": "ne", "<": "<", ">": ">", "<=": "<=", ">=": ">="}


def check(n: Nodes, node: int, links: list[Link]) -> list[Check] | None:
    if not links or not links[-1].name.endswith("!"):
        return None
    name = links[-1].name[:-1].rpartition("::")[2]
    tree, line, end = links[-1].args, n.line(node), n.end_line(node)
    given = _split(n, tree, (",",))
    words = [_words(n, each) for each in given]
    if name in _TWO and len(words) > 1:
        op = _TWO[name]
        if op == "close":
            tolerance = ",".join(word.replace("\n", "") for word in words[2:] if "=" in word)
            return [Check(op, (words[0], words[1]), line, end, tolerance)]
        return [compared(op, words[0], words[1], line, end)]
    if name in _CONDITIONS and given:
        return _condition(n, given[0], line, end)
    if "snapshot" in name and name.startswith("assert"):
        return [Check("snapshot", tuple(words), line, end)]
    if name.startswith("assert") or name in ("prop_assume",):
        return [Check("other", (name, *words), line, end)]
    return None


def _split(n: Nodes, tree: int, at: Sequence[str]) -> list[list[int]]:
    """Return the nodes of a tree of tokens, cut at some tokens; what encloses them is left out."""
    if tree < 0:
        return []
    inner = list(n.children(tree))[1:-1]
    return _cut(n, inner, at)


def _cut(n: Nodes, nodes: Sequence[int], at: Sequence[str]) -> list[list[int]]:
    parts: list[list[int]] = [[]]
    for node in nodes:
        if n.is_leaf(node) and n.says(node) in at:
            parts.append([])
        else:
            parts[-1].append(node)
    return [part for part in parts if part]


def _words(n: Nodes, nodes: Sequence[int]) -> str:
    words = [word for node in nodes for word in tokens(G, n, node)]
    while words[:1] in (["&"], ["*"]):
        words = words[1:]
    return joined(words)


def _condition(n: Nodes, nodes: Sequence[int], line: int, end: int) -> list[Check]:
    alternatives = _cut(n, nodes, ("||",))
    if len(alternatives) > 1:
        return [Check("any", tuple(_words(n, each) for each in alternatives), line, end)]
    return [_simple(n, part, line, end) for part in _cut(n, nodes, ("&&",))]


def _simple(n: Nodes, nodes: Sequence[int], line: int, end: int) -> Check:
    for operator, op in _COMPARISONS.items():
        sides = _cut(n, nodes, (operator,))
        if len(sides) == 2:
            return compared(op, _words(n, sides[0]), _words(n, sides[1]), line, end)
    words = _words(n, nodes)
    if words == "true":
        return Check("always", (), line, end)
    if words.startswith("matches\n!\n"):
        return Check("match", (words,), line, end)
    return Check("falsy", (words[2:],), line, end) if words.startswith("!\n") else Check("truthy", (words,), line, end)


def elements(n: Nodes, node: int) -> list[int] | None:
    """Return the elements of a `vec!` in so far as each is one node; the commas between them aside."""
    if n.kinds[node] != "token_tree" or n.kinds[n.parents[node]] != "macro_invocation":
        return None
    if n.says(n.field(n.parents[node], "macro")) not in ("vec", "hashmap", "btreemap"):
        return None
    return [at for at in list(n.children(node))[1:-1] if n.says(at) != ","]


# --- what is defined ---------------------------------------------------------------------------------

_TESTS = re.compile(r"(?:\w+::)*(?:test|rstest|test_case|wasm_bindgen_test|quickcheck|proptest|bench|case)")
_MARKS = {"ignore": "skip", "should_panic": "panic", "cfg": "skip", "cfg_attr": "skip", "timeout": "timeout",
          "retry": "retry", "flaky_test": "retry", "case": "cases", "test_case": "cases",
          "values": "cases"}  # fmt: skip


def _attributes(n: Nodes, node: int) -> list[int]:
    """Return the attributes that stand before an item."""
    parent = n.parents[node]
    if parent not in n.notes:
        n.notes[parent] = []
        held: list[int] = []
        for at in n.children(parent):
            if n.kinds[at] == "attribute_item":
                held.append(at)
            elif "comment" not in n.kinds[at]:
                n.notes[at] = held
                held = []
    return n.notes.get(node, [])


def _attribute(n: Nodes, item: int) -> tuple[str, str]:
    """Return the name of an attribute, and its words."""
    inner = n.inner(item)
    if not inner:
        return "", ""
    named = n.inner(inner[0])
    return (n.says(named[0]) if named else "", norm(G, n, inner[0]))


def define(n: Nodes, node: int, within: str) -> Definition | None:
    kind = n.kinds[node]
    if kind == "mod_item":
        body = n.field(node, "body")
        about = "tests" if within == "tests" or _is_for_tests(n, node) else "module"
        return Definition(
            "suite",
            n.says(n.field(node, "name")),
            (body,) if body >= 0 else (),
            _marks(n, node, is_test=False),
            about,
            node,
        )
    if kind in ("impl_item", "trait_item"):
        body, name = n.field(node, "body"), norm(G, n, n.field(node, "type")).replace("\n", "") or "impl"
        return Definition("suite", name[:80], (body,) if body >= 0 else (), (), within or "impl", node)
    if kind != "function_item":
        return None
    attributes = [_attribute(n, each) for each in _attributes(n, node)]
    is_test = any(_TESTS.fullmatch(name) for name, _ in attributes)
    body, params = n.field(node, "body"), norm(G, n, n.field(node, "parameters"))
    sort = "test" if is_test else "helper" if within == "tests" else "code"
    marks = _marks(n, node, is_test=is_test)
    return Definition(sort, n.says(n.field(node, "name")), (body,) if body >= 0 else (), marks, params, node)


def _is_for_tests(n: Nodes, node: int) -> bool:
    return any(_attribute(n, each)[1].split("\n") == ["cfg", "(", "test", ")"] for each in _attributes(n, node))


def _marks(n: Nodes, node: int, *, is_test: bool) -> tuple[Mark, ...]:
    found: list[Mark] = []
    cases: list[tuple[str, int]] = []
    line = n.line(node)
    for item in _attributes(n, node):
        name, words = _attribute(n, item)
        what = _MARKS.get(name.rpartition("::")[2], "")
        if what == "cases":
            cases.append((words, n.line(item)))
        elif what and words.split("\n") != ["cfg", "(", "test", ")"]:
            found.append(Mark(what, words, n.line(item)))
        elif _TESTS.fullmatch(name):
            found.append(Mark("quiet", words, n.line(item)))
    if is_test or cases:
        found.append(Mark("cases", "case", line, tuple(cases)))
    return tuple(found)


# --- the file as a whole -----------------------------------------------------------------------------


def facts(n: Nodes) -> Iterator[Fact]:
    for at, kind in enumerate(n.kinds):
        if kind == "inner_attribute_item":
            name, words = _attribute(n, at)
            if name in ("cfg", "test_runner", "reexport_test_harness_main"):
                yield Fact("tag", name, words, n.line(at))
        elif kind == "attribute_item":
            yield from _sensing(n, at)
        elif kind == "macro_invocation":
            words = "".join(tokens(G, n, at)) if n.lasts[at] - at < 30 else ""
            if re.fullmatch(r"(?:std::)?cfg!\(.*\btest\b.*\)", words):
                yield Fact("senses", words, "", n.line(at))
        elif kind == "call_expression":
            name = dotted(chain(G, n, n.field(at, "function"))) if n.field(at, "function") >= 0 else ""
            if name in ("std.process.exit", "process.exit") and norm(G, n, n.field(at, "arguments")) == "(\n0\n)":
                yield from _exit(n, at)


def _sensing(n: Nodes, item: int) -> Iterator[Fact]:
    """Yield code that is another one under test: in a function, or in place of what else there is."""
    name, words = _attribute(n, item)
    said = words.replace("\n", "")
    inside = n.kinds[n.parents[item]] == "block" and not _is_among_tests(n, item)
    if name == "cfg" and ("not(test)" in said or (inside and re.search(r"\btest\b", said))):
        yield Fact("senses", said, "", n.line(item))


def _is_among_tests(n: Nodes, node: int) -> bool:
    while node > 0:
        if n.kinds[node] == "mod_item" and _is_for_tests(n, node):
            return True
        node = n.parents[node]
    return False


def _exit(n: Nodes, node: int) -> Iterator[Fact]:
    at = node
    while at > 0 and n.kinds[at] != "function_item":
        at = n.parents[at]
    if at <= 0 or n.says(n.field(at, "name")) != "main":
        yield Fact("hard-exit", "process::exit", "0", n.line(node))


def imports(n: Nodes) -> Iterator[tuple[str, str, int]]:
    for node, kind in enumerate(n.kinds):
        if kind == "use_declaration":
            said = norm(G, n, n.field(node, "argument")).replace("\n", "")
            path = said.partition("{")[0]
            for name in re.findall(r"\w+(?=[,}]|$)", said):
                yield name, path, n.line(node)


TONGUE = Tongue(
    grammar=G,
    define=define,
    check=check,
    roles={
        "panic!": "fail", "unreachable!": "fail", "unimplemented!": "fail", "todo!": "fail", "std.process.exit": "exit",
        "process.exit": "exit", "prop_assume!": "skip",
    },
    binds={
        "let_declaration": "pattern", "assignment_expression": "left", "for_expression": "pattern",
        "const_item": "name", "static_item": "name", "let_condition": "pattern", "compound_assignment_expr": "left",
    },
    stops={"return_expression": "return", "continue_expression": "return"},
    facts=facts,
    elements=elements,
    imports=imports,
)  # fmt: skip
