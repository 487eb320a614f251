"""What a check says: its sort, its two sides, how exact it is; read from a condition or from a call's arguments."""

from typing import Any, NamedTuple

from .grammar import Grammar, arguments, chain, dotted, norm, unwrapped
from .nodes import Nodes

DEPTH_LIMIT = 40
_OPPOSITE = {
    "eq": "ne", "ne": "eq", "same": "ne", "in": "out", "out": "in", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
    "truthy": "falsy", "falsy": "truthy", "none": "defined", "defined": "none", "type": "not-type",
    "always": "never", "never": "always", "close": "not-close", "match": "no-match",
}  # fmt: skip
_OPERATORS = {
    "==": "eq", "===": "eq", "!=": "ne", "!==": "ne", "is": "same", "is not": "ne", "in": "in", "not in": "out",
    "<": "<", ">": ">", "<=": "<=", ">=": ">=", "=~": "match", "!~": "no-match", "eql?": "eq", "<>": "ne",
}  # fmt: skip
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
NOTHING = frozenset(("None", "null", "nil", "undefined"))
TRUE, FALSE = frozenset(("True", "true", "1")), frozenset(("False", "false", "0", "None", "null", "nil"))


class Check(NamedTuple):
    """One check. `sides`: what is looked at and what is expected, in the order of the text; `tol`: how near."""

    op: str
    sides: tuple[str, ...] = ()
    line: int = 0
    end: int = 0
    tol: str = ""
    words: str = ""
    """The check as it stands, without layout."""

    def told(self) -> list[Any]:
        return [self.op, list(self.sides), self.line, self.end, self.tol, self.words]


def compared(op: str, left: str, right: str, line: int, end: int, *, negated: bool = False) -> Check:
    """Return a check that compares, in its plainest form."""
    if negated:
        op = _OPPOSITE.get(op, f"not-{op}")
    if left in NOTHING and right not in NOTHING:
        left, right = right, left
    if op in ("eq", "same", "ne") and right in NOTHING:
        return Check("none" if op != "ne" else "defined", (left,), line, end)
    if op in ("eq", "same", "close") and left == right:
        return Check("always", (), line, end)
    if op in _TURNED and _is_literal(left) and not _is_literal(right):
        return Check(_TURNED[op], (right, left), line, end)
    return Check(op, (left, right), line, end)


def _is_literal(words: str) -> bool:
    return bool(words) and (words[0].isdigit() or words[0] in "\"'" or (words[0] == "-" and words[2:3].isdigit()))


def read(g: Grammar, n: Nodes, node: int, *, negated: bool = False) -> list[Check]:
    """Return what a condition demands; `and` is several checks, `or` is one that says little."""
    found: list[Check] = []
    todo = [(node, negated, 0)]
    while todo:
        at, turned, depth = todo.pop()
        at = unwrapped(g, n, at)
        inner = n.inner(at)
        kind, line, end = n.kinds[at], n.line(at), n.end_line(at)
        if kind in g.negations and len(inner) == 1 and _operator(n, at, inner) in ("not", "!", ""):
            todo.append((inner[0], not turned, depth + 1))
            continue
        if kind == "comparison_operator" and len(inner) > 2:
            found += _chained(g, n, at, inner, negated=turned)
            continue
        operator = _operator(n, at, inner) if kind in g.binary and len(inner) == 2 else ""
        if operator in ("and", "&&", "or", "||"):
            if (operator in ("and", "&&")) != turned and depth < DEPTH_LIMIT:
                todo += [(inner[1], turned, depth + 1), (inner[0], turned, depth + 1)]
            else:
                found.append(Check("any", (norm(g, n, inner[0]), norm(g, n, inner[1])), line, end))
        elif operator in _OPERATORS:
            left, right = (norm(g, n, unwrapped(g, n, each)) for each in inner)
            found.append(_bounded(g, n, inner, compared(_OPERATORS[operator], left, right, line, end, negated=turned)))
        else:
            found.append(_alone(g, n, at, line, end, negated=turned))
    return found


def _chained(g: Grammar, n: Nodes, node: int, inner: list[int], *, negated: bool) -> list[Check]:
    """Return the checks of `a < b < c`."""
    line, end = n.line(node), n.end_line(node)
    words = [norm(g, n, unwrapped(g, n, each)) for each in inner]
    signs = [" ".join(n.says(at).split()) for at in n.all_in(node, "operators")]
    if negated or len(signs) != len(inner) - 1 or not all(sign in _OPERATORS for sign in signs):
        return [Check("falsy" if negated else "truthy", (norm(g, n, node),), line, end)]
    return [compared(_OPERATORS[sign], words[at], words[at + 1], line, end) for at, sign in enumerate(signs)]


def _operator(n: Nodes, node: int, inner: list[int]) -> str:
    first = next((at for at in n.children(node) if at not in inner and "comment" not in n.kinds[at]), -1)
    return " ".join(n.says(first).split())


def _alone(g: Grammar, n: Nodes, node: int, line: int, end: int, *, negated: bool) -> Check:
    words = norm(g, n, node)
    if words in TRUE | FALSE or _is_literal(words):
        return Check("never" if (words in FALSE) != negated else "always", (), line, end)
    links = chain(g, n, node)
    last = links[-1] if links else None
    given = [norm(g, n, each) for each in arguments(n, last.args)] if last else []
    name = dotted(links) if links else ""
    if name in _CALLS and len(given) == 2:
        return compared(_CALLS[name], given[0], given[1], line, end, negated=negated)
    op = "truthy" if not negated else "falsy"
    return Check(op, (words,), line, end)


_CALLS = {
    "isinstance": "type", "hasattr": "prop", "reflect.DeepEqual": "eq", "bytes.Equal": "eq", "Objects.equals": "eq",
    "math.isclose": "close", "errors.Is": "eq", "cmp.Equal": "eq", "slices.Equal": "eq", "strings.Contains": "in",
}  # fmt: skip


def _bounded(g: Grammar, n: Nodes, sides: list[int], check: Check) -> Check:
    """Return a comparison with what is only nearly right, such as pytest.approx, as one that has a tolerance."""
    for place, side in enumerate(sides):
        links = chain(g, n, unwrapped(g, n, side))
        if links and links[-1].name == "approx" and links[-1].args >= 0 and check.op in ("eq", "ne"):
            given = arguments(n, links[-1].args)
            tolerance = ",".join(norm(g, n, each).replace("\n", "") for each in given[1:])
            other = norm(g, n, sides[1 - place])
            op = "close" if check.op == "eq" else "not-close"
            return Check(op, (other, norm(g, n, given[0]) if given else ""), check.line, check.end, tolerance)
    return check
