"""Ruby: minitest, test-unit, rspec."""

import re
from collections.abc import Iterator

from . import conditions
from .conditions import Check, compared
from .grammar import Grammar, Link, arguments, chain, dotted, joined, norm, tokens
from .nodes import Nodes
from .shapes import Definition, Fact, Mark, Tongue

G = Grammar(
    strings=frozenset(("string", "heredoc_body", "string_array", "symbol_array")),
    interpolations=frozenset(("interpolation",)),
    blocks=frozenset(("body_statement", "then", "else", "do", "block_body", "ensure", "begin", "begin_block")),
    names=frozenset(("identifier", "constant", "instance_variable", "class_variable", "global_variable")),
    calls={"call": ("receiver", "method", "arguments"), "scope_resolution": ("scope", "name", "")},
    guards={
        "if": "if", "unless": "if", "case": "if", "case_match": "if", "while": "loop", "until": "loop", "for": "loop",
        "if_modifier": "if", "unless_modifier": "if", "rescue_modifier": "try", "rescue": "if", "ensure": "always",
        "method": "function", "singleton_method": "function", "lambda": "function", "do_block": "closure",
        "block": "closure", "conditional": "if", "class": "function",
    },
    parens="parenthesized_statements",
    bare=frozenset(("argument_list", "assignment", "body_statement")),
    binary=frozenset(("binary",)),
    negations=frozenset(("unary",)),
    lists=frozenset(("array", "hash")),
    passes=frozenset(("nil",)),
)  # fmt: skip

_TWO = {
    "assert_equal": "eq", "assert_same": "eq", "refute_equal": "ne", "assert_not_equal": "ne", "assert_includes": "in",
    "refute_includes": "out", "assert_match": "match", "refute_match": "no-match", "assert_instance_of": "type",
    "assert_kind_of": "type", "assert_in_delta": "close", "assert_in_epsilon": "close", "assert_respond_to": "prop",
    "must_equal": "eq", "wont_equal": "ne", "must_include": "in", "must_match": "match", "must_be_kind_of": "type",
    "must_be_instance_of": "type", "must_be_close_to": "close", "must_be_within_delta": "close",
    "must_be_same_as": "eq",
}  # fmt: skip
_ONE = {
    "assert_nil": "none", "refute_nil": "defined", "assert_not_nil": "defined", "assert_empty": "falsy",
    "refute_empty": "truthy", "must_be_nil": "none", "wont_be_nil": "defined", "must_be_empty": "falsy",
    "flunk": "fail",
    "pass": "always",
}  # fmt: skip
_MATCHERS = {
    "eq": "eq", "eql": "eq", "equal": "eq", "be": "eq", "match": "match", "match_array": "count",
    "contain_exactly": "count",
    "include": "in", "be_within": "close", "be_truthy": "truthy", "be_falsey": "falsy", "be_falsy": "falsy",
    "be_nil": "none", "be_a": "type", "be_an": "type", "be_kind_of": "type", "be_instance_of": "type",
    "be_present": "defined",
    "raise_error": "raises", "raise_exception": "raises", "start_with": "in", "end_with": "in", "have_key": "prop",
    "have_attributes": "prop", "respond_to": "prop", "be_empty": "falsy", "be_between": "other", "change": "other",
    "have_received": "called-with", "receive": "called-with", "exist": "defined", "be_an_instance_of": "type",
}  # fmt: skip
_NEGATED = {"eq": "ne", "none": "defined", "in": "out", "match": "no-match", "truthy": "falsy", "falsy": "truthy",
            "raises": "not-raises", "defined": "none", "type": "not-type"}  # fmt: skip


_CHECKS = re.compile(r"(?:assert|refute|must|wont)(?:_\w+)?|to|not_to|to_not|should|should_not|flunk|pass")


def check(n: Nodes, node: int, links: list[Link]) -> list[Check] | None:
    if not links:
        return None
    last, names = links[-1], [link.name for link in links]
    if not _CHECKS.fullmatch(last.name):
        return None
    line, end = n.line(node), n.end_line(node)
    if names[0] in ("allow", "allow_any_instance_of", "receive"):
        return None
    if last.name in ("to", "not_to", "to_not", "should", "should_not") and len(links) > 1:
        return [_expected(n, links, last, line, end)]
    given = arguments(n, last.args)
    words = [norm(G, n, each) for each in given]
    if last.name in ("assert", "refute") and len(links) == 1 and given:
        return conditions.read(G, n, given[0], negated=last.name == "refute")
    if last.name in _TWO:
        return [_two(last.name, [*_receiver(n, links), *words], line, end)]
    if last.name in _ONE:
        return [Check(_ONE[last.name], tuple([*_receiver(n, links), *words][:1]), line, end)]
    if last.name in ("assert_raises", "assert_raise", "assert_throws", "must_raise"):
        return [Check("raises", (words[0] if words else "", ""), line, end)]
    if re.match(r"(?:assert|refute|must|wont)_\w+", last.name):
        return [Check("other", (*_receiver(n, links), last.name, *words), line, end)]
    return None


def _receiver(n: Nodes, links: list[Link]) -> list[str]:
    """Return what stands before `must_equal`, out of `_()` and the like."""
    if len(links) < 2:
        return []
    before = links[-2]
    if before.name in ("_", "expect", "value") and before.args >= 0:
        return [norm(G, n, each) for each in arguments(n, before.args)[:1]]
    return [norm(G, n, before.node)]


def _two(name: str, words: list[str], line: int, end: int) -> Check:
    op = _TWO[name]
    if len(words) < 2:
        return Check("other", (name, *words), line, end)
    if op == "close":
        tolerance = f"delta={words[2]}" if len(words) > 2 and not words[2].startswith('"') else "delta=0.001"
        return Check(op, (words[0], words[1]), line, end, tolerance.replace("\n", ""))
    return compared(op, words[0], words[1], line, end)


def _expected(n: Nodes, links: list[Link], last: Link, line: int, end: int) -> Check:
    seen = arguments(n, links[0].args) if links[0].args >= 0 else []
    subject = norm(G, n, seen[0]) if seen else links[0].name
    if last.name.startswith("should"):
        subject = joined(link.name for link in links[:-1])
    matchers = arguments(n, last.args)
    if not matchers:
        return Check("other", (subject,), line, end)
    found = chain(G, n, matchers[0])
    if n.kinds[matchers[0]] == "binary":
        return _compared(n, subject, matchers[0], line, end)
    if not found:
        return Check("other", (subject, norm(G, n, matchers[0])), line, end)
    root, given = found[0], [norm(G, n, each) for each in arguments(n, found[0].args)]
    op = _MATCHERS.get(root.name, "other")
    if last.name in ("not_to", "to_not", "should_not"):
        op = _NEGATED.get(op, f"not-{op}")
    if op in ("raises", "not-raises"):
        return Check(op, (given[0] if given else "", joined(given[1:2])), line, end)
    if op == "close":
        other = norm(G, n, found[-1].args) if len(found) > 1 else ""
        return Check(op, (subject, other), line, end, f"delta={joined(given)}".replace("\n", ""))
    if op in ("eq", "ne") and given:
        return compared("eq", subject, given[0], line, end, negated=op == "ne")
    if op == "other" or root.name == "be":
        return Check("other", (subject, norm(G, n, matchers[0])), line, end)
    more = [f"{link.name}{norm(G, n, link.args) if link.args >= 0 else ''}" for link in found[1:]]
    return Check(op, (subject, *given, *more), line, end)


def _compared(n: Nodes, subject: str, node: int, line: int, end: int) -> Check:
    """Read `be > 3`."""
    inner = n.inner(node)
    sign = next((n.says(at) for at in n.children(node) if at not in inner), "")
    other = norm(G, n, inner[-1]) if inner else ""
    op = sign if sign in ("<", ">", "<=", ">=") else "eq" if sign == "==" else "other"
    return compared(op, subject, other, line, end)


# --- what is defined ---------------------------------------------------------------------------------

_SUITES = {"describe": "", "context": "", "feature": "", "xdescribe": "skip", "xcontext": "skip", "fdescribe": "only",
           "fcontext": "only", "shared_examples": "", "shared_examples_for": "", "shared_context": "",
           "xfeature": "skip", "ffeature": "only"}  # fmt: skip
_TESTS = {"it": "", "specify": "", "example": "", "scenario": "", "test": "", "should": "", "its": "", "xit": "skip",
          "xspecify": "skip", "xexample": "skip", "xscenario": "skip", "fit": "only", "fspecify": "only",
          "fexample": "only", "pending": "xfail", "skip": "skip", "xtest": "skip"}  # fmt: skip
_HOOKS = frozenset(("before", "after", "around", "setup", "teardown", "prepend_before", "append_after"))
_OPTIONS = {"skip": "skip", "pending": "xfail", "focus": "only", "if": "skip", "unless": "skip", "retry": "retry",
            "flaky": "retry", "disabled": "skip"}  # fmt: skip


def define(n: Nodes, node: int, within: str) -> Definition | None:
    kind = n.kinds[node]
    if kind in ("class", "module", "singleton_class"):
        body, above = n.field(node, "body"), norm(G, n, n.field(node, "superclass"))
        about = "unittest" if re.search(r"Test|Spec", above) else "class"
        return Definition("suite", n.says(n.field(node, "name")), (body,) if body >= 0 else (), (), about, node)
    if kind in ("method", "singleton_method"):
        name, body = n.says(n.field(node, "name")), n.field(node, "body")
        sort = "test" if name.startswith("test") and within == "unittest" else "helper"
        if name in ("setup", "teardown", "before_setup", "after_teardown"):
            sort = "hook"
        params = norm(G, n, n.field(node, "parameters"))
        return Definition(sort, name, (body,) if body >= 0 else (), (), params, node)
    return _called(n, node) if kind == "call" else None


def _called(n: Nodes, node: int) -> Definition | None:
    block = n.field(node, "block")
    links = chain(G, n, node)
    if not links or len(links) > 2 or (len(links) == 2 and links[0].name not in ("RSpec", "Minitest")):
        return None
    name, args = links[-1].name, arguments(n, links[-1].args)
    if len(links) == 2 and name == "configure":
        return Definition("config", "RSpec.configure", _body(n, block), node=node)
    if name in _HOOKS and block >= 0:
        return Definition("hook", name, _body(n, block), node=node)
    if name not in _SUITES and name not in _TESTS:
        return None
    if block < 0 and (
        name not in ("it", "specify", "example", "xit", "pending", "skip", "test", "scenario")
        or not args
        or name in ("skip", "pending")
    ):
        return None
    title = "".join(tokens(G, n, args[0])).strip('"') if args else "(no name)"
    marks = [Mark(said, name, n.line(node)) for said in [_SUITES.get(name) or _TESTS.get(name, "")] if said]
    if block < 0:
        marks.append(Mark("skip", "no body", n.line(node)))
    marks += _options(n, args)
    return Definition("suite" if name in _SUITES else "test", title, _body(n, block), tuple(marks), "", node)


def _body(n: Nodes, block: int) -> tuple[int, ...]:
    body = n.field(block, "body") if block >= 0 else -1
    return (body,) if body >= 0 else ()


def _options(n: Nodes, args: list[int]) -> Iterator[Mark]:
    for each in args:
        if n.kinds[each] == "pair":
            name, value = n.says(n.field(each, "key")).strip(":\"'"), norm(G, n, n.field(each, "value"))
            if name in _OPTIONS and value not in ("false", "nil"):
                yield Mark(_OPTIONS[name], f"{name}\n{value}", n.line(each))
            elif name not in _OPTIONS:
                yield Mark("label", f"{name}\n{value}", n.line(each))
        elif n.kinds[each] == "simple_symbol" and n.says(each).strip(":") in _OPTIONS:
            yield Mark(_OPTIONS[n.says(each).strip(":")], n.says(each), n.line(each))
        elif n.kinds[each] == "simple_symbol" and each != args[0]:
            yield Mark("label", n.says(each), n.line(each))


# --- the file as a whole -----------------------------------------------------------------------------

_SENSES = re.compile(r"(?:RAILS_ENV|RACK_ENV|APP_ENV)")
_TOOLS = re.compile(r"(?:RSpec|Minitest|Test|MiniTest)(?:\.|::|\Z)")


def facts(n: Nodes) -> Iterator[Fact]:
    for at, kind in enumerate(n.kinds):
        if kind == "unary" and re.match(
            r"defined\?\s*\(?\s*(?:::)?(?:RSpec|Minitest|MiniTest|Test::Unit)\b", n.says(at)
        ):
            yield Fact("senses", n.says(at)[:80], "", n.line(at))
        elif kind == "binary":
            words = "".join(tokens(G, n, at)) if n.lasts[at] - at < 40 else ""
            if re.search(r'"test"', words) and _SENSES.search(words):
                yield Fact("senses", words[:80], "", n.line(at))
        elif kind in ("class", "module"):
            name = n.says(n.field(at, "name"))
            if (
                re.match(r"(?:::)?(?:RSpec|Minitest|MiniTest|Test::Unit)(?:::|\Z)", name)
                and n.field(at, "superclass") < 0
            ):
                yield Fact("tool-patch", name, norm(G, n, at), n.line(at))
        elif kind == "call":
            yield from _call(n, at)
        elif kind == "method" and n.says(n.field(at, "name")) in ("==", "eql?", "==="):
            body = n.field(at, "body")
            if body >= 0 and norm(G, n, body) == "true":
                yield Fact("equal", n.says(n.field(at, "name")), "true", n.line(at))


_EXITS = frozenset(("exit", "exit!", "Kernel.exit!", "Process.exit!", "abort", "Process.exit", "Kernel.exit"))


def _call(n: Nodes, node: int) -> Iterator[Fact]:
    links = chain(G, n, node)
    name, line = dotted(links), n.line(node)
    is_told = name in _EXITS or bool(_TOOLS.match(name))
    given = norm(G, n, links[-1].args) if links and is_told and links[-1].args >= 0 else ""
    if name == "Rails.env.test?":
        yield Fact("senses", name, "", line)
    elif name in _EXITS:
        if "!" in name or given.strip("()\n") in ("0", "true"):
            yield Fact("hard-exit", name, given, line)
    elif name == "at_exit" or name == "END":
        yield Fact("atexit", name, "", line)
    elif (
        links
        and links[-1].name in ("class_eval", "instance_eval", "prepend", "define_method", "send")
        and _TOOLS.match(name)
    ):
        yield Fact("tool-patch", name, given, line)


def imports(n: Nodes) -> Iterator[tuple[str, str, int]]:
    return iter(())


TONGUE = Tongue(
    grammar=G,
    define=define,
    check=check,
    roles={
        "skip": "skip", "pending": "skip", "omit": "skip", "pend": "skip", "exit": "exit", "exit!": "exit",
        "abort": "exit",
        "raise": "fail", "flunk": "fail", "fail": "fail", "allow": "mock", "allow.to": "mock",
        "allow_any_instance_of.to": "mock", ".to_receive": "mock", ".stub": "mock",
        ".stubs": "mock", "stub": "mock", "stub_const": "mock", ".and_return": "mock", "allow_any_instance_of": "mock",
        "Kernel.exit": "exit", ".returns": "mock", "define_method": "mock", ".define_singleton_method": "mock",
    },
    binds={"assignment": "left", "operator_assignment": "left", "for": "pattern"},
    stops={"return": "return", "next": "return"},
    facts=facts,
    handlers=frozenset(("rescue",)),
    imports=imports,
)  # fmt: skip
