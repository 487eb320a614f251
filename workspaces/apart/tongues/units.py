"""A file of code as units: tests, what they use, and what stands around them; each with its steps, checks and cases."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from . import conditions
from .conditions import Check
from .grammar import Link, calls_in, chain, dotted, norm
from .nodes import Nodes, TooMuch
from .shapes import CASES_LIMIT, Definition, Guard, Tongue, Unit

DEPTH_LIMIT = 60
STEPS_LIMIT = 40_000
IDS_LIMIT = 20_000
SWALLOWS = frozenset(
    (
        "toThrow",
        "toThrowError",
        "throws",
        "rejects",
        "catch",
        "assertThrows",
        "raise_error",
        "assert_raises",
        "Try",
        "catch_unwind",
        "assertRaises",
        "assertRaisesRegex",
        "raises",
        "suppress",
        "setTimeout",
        "setImmediate",
    )
)
"""Where one of these stands, a failure in the block that belongs to it may go by."""


class _Place(NamedTuple):
    """A stretch of statements that is still to be read."""

    nodes: tuple[int, ...]
    unit: Unit
    prefix: str
    guards: tuple[Guard, ...]
    is_body: bool
    depth: int
    within: str = ""


class Reader:
    """Reads one file; everything waits in one list, so that depth costs nothing."""

    def __init__(self, tongue: Tongue, nodes: Nodes) -> None:
        self.t, self.g, self.n = tongue, tongue.grammar, nodes
        self.units: list[Unit] = []
        self._steps = 0
        self._cases = 0

    def read(self) -> dict[str, Any]:
        module = Unit("module", "", 1, self.n.end_line(0), (), "", (), [])
        self.units.append(module)
        todo = [_Place((0,), module, "", (), is_body=False, depth=0)]
        while todo:
            place = todo.pop()
            todo += reversed(list(self._place(place)))
        return {
            "units": [unit.told() for unit in self.units],
            "facts": [fact.told() for fact in self.t.facts(self.n)],
            "imports": [list(each) for each in self.t.imports(self.n)],
            "ids": self._ids(),
            "errors": sum(kind == "ERROR" for kind in self.n.kinds),
        }

    def _ids(self) -> list[str]:
        names = self.g.names
        found = {self.n.says(at) for at, kind in enumerate(self.n.kinds) if kind in names}
        if len(found) > IDS_LIMIT:
            raise TooMuch(f"it has more than {IDS_LIMIT:,} different names")
        return sorted(found)

    def _place(self, place: _Place) -> Iterator[_Place]:
        if place.depth > DEPTH_LIMIT:
            raise TooMuch(f"its blocks are nested more than {DEPTH_LIMIT} deep")
        for node in place.nodes:
            if self.n.kinds[node] in self.g.blocks or node == 0:
                yield from self._block(place, node)
            else:
                yield from self._statement(place, node)

    def _block(self, place: _Place, block: int) -> Iterator[_Place]:
        """Read a block's statements. What they hold comes after them, in its order; steps are put in line last."""
        inner = self.n.inner(block)
        guards = place.guards
        if any(self.n.kinds[at] in self.t.handlers for at in inner) and not self._fails_on(inner):
            guards = (*guards, ("try", ""))
        for node in inner:
            if self.n.kinds[node] in self.g.blocks:
                yield _Place((node,), place.unit, place.prefix, guards, place.is_body, place.depth + 1, place.within)
            else:
                yield from self._statement(_on(place, guards), node)

    def _fails_on(self, nodes: Iterable[int]) -> bool:
        """Return whether each handler of errors makes the test fail after all."""
        handlers = [at for at in nodes if self.n.kinds[at] in self.t.handlers]
        return bool(handlers) and all(self._raises(at) for at in handlers)

    def _raises(self, node: int) -> bool:
        self.n.spend(self.n.lasts[node] - node)
        if any(self.t.stops.get(self.n.kinds[at]) == "raise" for at in range(node, self.n.lasts[node])):
            return True
        return any(self._role(links) == "fail" for _, links in calls_in(self.g, self.n, node, ()))

    def _statement(self, place: _Place, node: int) -> Iterator[_Place]:
        defined = None if place.is_body else self.t.define(self.n, node, place.within)
        if defined is not None:
            yield from self._defined(place, defined, node)
            return
        kind = self.n.kinds[node]
        if kind in self.g.passes or self._is_docstring(node):
            return
        nested = self._nested(node)
        words = self._step(place, node, nested)
        for block in nested:
            guard = self._guard(node, block, words)
            guards = (*place.guards, guard) if guard else place.guards
            yield _Place((block,), place.unit, place.prefix, guards, place.is_body, place.depth + 1, place.within)

    def _defined(self, place: _Place, defined: Definition, node: int) -> Iterator[_Place]:
        name = f"{place.prefix}{defined.name}"
        at = defined.node if defined.node >= 0 else node
        unit = Unit(
            defined.kind, name, self.n.line(at), self.n.end_line(at), defined.marks, defined.params, place.guards, []
        )
        self.units.append(unit)
        if defined.checks:
            unit.steps.append([unit.line, unit.line, "", [], "", [], [[*c.told(), []] for c in defined.checks], []])
        is_body = defined.kind != "suite"
        prefix = f"{name} › "
        guards = () if is_body else place.guards
        if defined.parts:
            yield _Place(
                defined.parts, unit, prefix, guards, is_body, place.depth + 1, "" if is_body else defined.params
            )

    def _is_docstring(self, node: int) -> bool:
        inner = self.n.inner(node)
        return (
            self.n.kinds[node] == "expression_statement"
            and len(inner) == 1
            and self.n.kinds[inner[0]] in self.g.strings
        )

    # --- one statement -----------------------------------------------------------------------------

    def _nested(self, node: int) -> list[int]:
        """Return the outermost blocks in a statement."""
        self.n.spend(self.n.lasts[node] - node)
        found: list[int] = []
        at, last = node + 1, self.n.lasts[node]
        kinds, blocks = self.n.kinds, self.g.blocks
        while at < last:
            if kinds[at] in blocks:
                found.append(at)
                at = self.n.lasts[at]
            else:
                at += 1
        return found

    def _guard(self, statement: int, block: int, words: str) -> Guard | None:
        at = self.n.parents[block]
        while at > statement and self.n.kinds[at] not in self.g.guards:
            at = self.n.parents[at]
        kind = self.g.guards.get(self.n.kinds[at], "closure")
        is_bound = self.n.kinds[self.n.parents[at]] in self.t.binds
        if kind == "closure" and (is_bound or self.g.guards.get(self.n.kinds[statement]) == "function"):
            kind = "function"
        said = words.split("\n")
        if kind == "try":
            is_caught = any(self.n.kinds[each] in self.t.handlers for each in self.n.children(at))
            return ("try", words) if is_caught and not self._fails_on(self.n.children(at)) else None
        if kind == "always":
            return None
        if kind in ("with", "closure", "function") and SWALLOWS.intersection(said):
            kind = "try"
        return kind, words

    def _step(self, place: _Place, node: int, nested: list[int]) -> str:
        """Keep one statement, and return its own words."""
        self._steps += 1
        if self._steps > STEPS_LIMIT:
            raise TooMuch(f"it has more than {STEPS_LIMIT:,} statements")
        n = self.n
        checks, roles = self._read_calls(node, nested)
        cases: list[list[Any]] = []
        without = list(nested)
        for literal in [] if checks else self._tables(node, nested):
            elements = self.t.elements(n, literal)
            elements = n.inner(literal) if elements is None else elements
            cases += [[norm(self.g, n, each), n.line(each)] for each in elements]
            without.append(literal)
        self._cases += len(cases)
        if self._cases > CASES_LIMIT:
            raise TooMuch(f"it has more than {CASES_LIMIT:,} cases")
        words = norm(self.g, n, node, without)
        role = roles or self._stops(node)
        binds = self._binds(node, nested)
        if len(without) > len(nested):
            words += "\n…"
        guards = [list(each) for each in place.guards]
        place.unit.steps.append(
            [n.line(node), self._header_end(node, nested), words, guards, role, binds, checks, cases]
        )
        return words

    def _stops(self, node: int) -> str:
        """Return what a statement that is no call ends: a bare name may be a call, too."""
        inner = self.n.inner(node)
        if self.n.kinds[node] == "expression_statement" and len(inner) == 1:
            node = inner[0]
        if self.n.kinds[node] in self.g.names:
            return self.t.roles.get(self.n.says(node), "")
        if self.g.guards.get(self.n.kinds[node]) == "if":
            return next((self.t.stops[kind] for at in inner if (kind := self.n.kinds[at]) in self.t.stops), "")
        return self.t.stops.get(self.n.kinds[node], "")

    def _header_end(self, node: int, nested: list[int]) -> int:
        return self.n.line(nested[0]) if nested else self.n.end_line(node)

    def _read_calls(self, node: int, nested: list[int]) -> tuple[list[list[Any]], str]:
        """Return the checks in a statement's own words, each with what it depends on there, and what else it does."""
        found = [[*check.told(), []] for check in self._of_statement(node, nested)]
        if found:
            return found, ""
        role = ""
        until = node
        for at, links in calls_in(self.g, self.n, node, nested):
            if at < until:
                continue
            checks = self.t.check(self.n, at, links)
            if checks is not None:
                inline = self._inline(node, at)
                found += [[*check.told(), inline] for check in checks]
                until = self.n.lasts[at]
            role = role or self._role(links)
        return found, role

    def _of_statement(self, node: int, nested: list[int]) -> list[Check]:
        checks = self.t.check(self.n, node, [])
        if checks is not None:
            return checks
        if self.g.guards.get(self.n.kinds[node]) == "if" and nested:
            condition = self.n.field(node, "condition")
            if condition >= 0 and self._is_failure(nested[0]):
                negated = self.n.kinds[node] not in ("unless", "unless_modifier")
                return conditions.read(self.g, self.n, condition, negated=negated)
        return []

    def _is_failure(self, block: int) -> bool:
        """Return whether a block lets the test fail, at its top."""
        todo = self.n.inner(block)
        for _ in range(50):
            if not todo:
                return False
            at = todo.pop(0)
            if self.n.kinds[at] in self.g.blocks:
                todo = [*self.n.inner(at), *todo]
                continue
            if self.t.stops.get(self.n.kinds[at]) == "raise":
                return True
            first = next(calls_in(self.g, self.n, at, self._nested(at)), None)
            if first and self._role(first[1]) == "fail":
                return True
        return False

    def _inline(self, statement: int, check: int) -> list[list[str]]:
        found = []
        at = self.n.parents[check]
        while at >= statement and at >= 0:
            self.n.spend(1)
            kind = self.n.kinds[at]
            said = [self.n.says(each) for each in self.n.children(at)] if kind in self.g.binary else []
            if any(word in ("and", "or", "&&", "||") for word in said):
                found.append(["if", ""])
            elif kind in self.g.guards and (at != statement or self._is_bare(at, check)):
                found.append([self.g.guards[kind], ""])
            at = self.n.parents[at]
        return found

    def _is_bare(self, statement: int, check: int) -> bool:
        """Return whether a check depends on the statement that it stands in, without a block around it."""
        condition = self.n.field(statement, "condition")
        is_asked = condition >= 0 and condition <= check < self.n.lasts[condition]
        return self.g.guards[self.n.kinds[statement]] in ("if", "try") and not is_asked

    def _role(self, links: Sequence[Link]) -> str:
        if not links:
            return ""
        name = dotted(links)
        roles = self.t.roles
        last, pair = links[-1].name, ".".join(link.name for link in links[-2:])
        return roles.get(name) or roles.get(pair) or roles.get(f".{last}" if len(links) > 1 else last) or ""

    def _tables(self, node: int, nested: list[int]) -> list[int]:
        """Return the literals whose elements are cases of their own: of a loop, or given a name."""
        n, kinds, skipped = self.n, self.n.kinds, set(nested)
        kind = self.g.guards.get(kinds[node], "closure")
        is_loop = kind == "loop" or (kind == "closure" and bool(nested))
        found: list[int] = []
        at, last = node, n.lasts[node]
        while at < last:
            if at in skipped:
                at = n.lasts[at]
            elif kinds[at] in self.g.lists or self.t.elements(n, at) is not None:
                if is_loop or self._is_bound(node, at):
                    found.append(at)
                at = n.lasts[at]
            else:
                at += 1
        return found

    def _is_bound(self, statement: int, literal: int) -> bool:
        """Return whether a literal is, as it stands, what a name is bound to."""
        at = literal
        while at > statement:
            above = self.n.parents[at]
            kind = self.n.kinds[above]
            if kind in self.g.calls and kind != "macro_invocation":
                return False
            if kind in self.t.binds and self.n.field(above, self.t.binds[kind]) != at:
                return True
            at = above
        return False

    def _binds(self, node: int, nested: list[int]) -> list[str]:
        n, found, skipped = self.n, [], set(nested)
        at, last = node, n.lasts[node]
        while at < last:
            if at in skipped:
                at = n.lasts[at]
                continue
            bound = self.t.binds.get(n.kinds[at])
            if bound:
                for target in n.all_in(at, bound):
                    found += self._names(target)
            at += 1
        return found[:50]

    def _names(self, target: int) -> list[str]:
        n = self.n
        n.spend(n.lasts[target] - target)
        if n.kinds[target] in self.g.calls:
            return [dotted(chain(self.g, n, target))]
        return [n.says(at) for at in range(target, n.lasts[target]) if n.kinds[at] in self.g.names and n.is_leaf(at)]


def _on(place: _Place, guards: tuple[Guard, ...]) -> _Place:
    return _Place(place.nodes, place.unit, place.prefix, guards, place.is_body, place.depth, place.within)
