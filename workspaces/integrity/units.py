"""One test, or what tests use, as it was and as it is now: what its checks, statements, cases and marks came to."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from workspaces.integrity import weaker
from workspaces.integrity.described import Check, Guard, Step, Unit
from workspaces.integrity.findings import FindingKind
from workspaces.integrity.marks import NEAREST, Change, of_cases, of_marks


def changes(old: Unit, new: Unit, gone_through: frozenset[str] = frozenset()) -> Iterator[Change]:
    """Yield what changed in a unit for the worse, or in another way that people should see.

    `gone_through`: names that the file goes through, so that what is added to them are cases.
    """
    yield from _outer(old, new)
    yield from of_marks(old, new)
    if old.kind == "test" and old.checks and not new.checks and _is_empty(new):
        yield Change(FindingKind.REMOVED, "The test is emptied.", _span(old), _span(new))
        return
    yield from _checks(old, new)
    yield from _params(old, new)
    yield from _steps(old, new, gone_through)


def _is_empty(unit: Unit) -> bool:
    return all(step.role in ("return", "") and len(step.words) < 40 and not step.binds for step in unit.steps[:3])


def _span(unit: Unit) -> tuple[int, int]:
    return unit.line, unit.end


def _outer(old: Unit, new: Unit) -> Iterator[Change]:
    """Yield new conditions that a whole test depends on."""
    fresh = _fresh_guards(old.guards, new.guards)
    if any(kind in ("if", "function", "try") or _never_runs(kind, words) for kind, words in fresh):
        yield Change(FindingKind.SKIPPED, "The test is only there under a condition now.", _span(old), _span(new))


def _fresh_guards(old: Sequence[Guard], new: Sequence[Guard]) -> list[Guard]:
    return list((Counter(new) - Counter(old)).elements())


_EMPTY_LOOP = re.compile(
    r"\A(?:for\n.*\nrange\n\(\n0\n\)\n:|(?:while|for|until)\n(?:\(\n)?(?:false|False|0)(?:\n.*)?)\Z", re.DOTALL
)


def _never_runs(kind: str, words: str) -> bool:
    return kind == "loop" and _EMPTY_LOOP.search(words) is not None


# --- checks ------------------------------------------------------------------------------------------


def _checks(old: Unit, new: Unit) -> Iterator[Change]:
    before, after = old.checks, new.checks
    pairs, gone, come = _equal(before, after)
    for was, now in pairs:
        yield from _guarded(was, now)
    for was, near in _near(gone, come):
        if near is None:
            yield Change(FindingKind.REMOVED, "A check is gone.", (was[0].line, was[0].end))
            continue
        now = near
        verdict = weaker.judged(was[0], now[0])
        if verdict is not None:
            yield Change(*verdict, (was[0].line, was[0].end), (now[0].line, now[0].end))
        yield from _guarded(was, now)


Placed = tuple[Check, Step]


def _equal(
    old: Sequence[Placed], new: Sequence[Placed]
) -> tuple[list[tuple[Placed, Placed]], list[Placed], list[Placed]]:
    """Return pairs of equal checks, those under equal conditions first, and what is left on both sides."""
    held: defaultdict[object, list[Placed]] = defaultdict(list)
    for each in new:
        held[weaker.key(each[0])].append(each)
    pairs: list[tuple[Placed, Placed]] = []
    rest: list[Placed] = []
    for each in old:
        same = held[weaker.key(each[0])]
        fitting = next((at for at, other in enumerate(same[:NEAREST]) if _guards(other) == _guards(each)), None)
        if fitting is not None:
            pairs.append((each, same.pop(fitting)))
        else:
            rest.append(each)
    gone = []
    for each in rest:
        same = held[weaker.key(each[0])]
        if same:
            pairs.append((each, same.pop(0)))
        else:
            gone.append(each)
    left = {id(each) for same in held.values() for each in same}
    return pairs, gone, [each for each in new if id(each) in left]


def _guards(placed: Placed) -> tuple[Guard, ...]:
    return (*placed[1].guards, *placed[0].inline)


def _near(gone: list[Placed], come: list[Placed]) -> Iterator[tuple[Placed, Placed | None]]:
    """Yield each old check that has no equal, with the new one that stands in its place, None: there is none."""
    left = list(come)
    pairs: dict[int, Placed] = {}
    for fits in (_is_alike, weaker.shares, _contains, _same_sort):
        for at, was in enumerate(gone):
            if at in pairs:
                continue
            now = next((each for each in left[:NEAREST] if fits(was[0], each[0])), None)
            if now is not None:
                pairs[at] = now
                left.remove(now)
    for at, was in enumerate(gone):
        yield was, pairs.get(at)


def _is_alike(old: Check, new: Check) -> bool:
    return old.op == new.op and weaker.shares(old, new)


def _contains(old: Check, new: Check) -> bool:
    return any(side and side in other for side in old.sides for other in new.sides) or any(
        side and side in other for side in new.sides for other in old.sides
    )


def _same_sort(old: Check, new: Check) -> bool:
    return old.op == new.op or new.op in ("always", "unawaited")


def _guarded(was: Placed, now: Placed) -> Iterator[Change]:
    """Yield what a check newly depends on."""
    before, after = Counter(_guards(was)), Counter(_guards(now))
    fresh = list((after - before).elements())
    lost = Counter(kind for kind, _ in (before - after).elements())
    lines = (was[0].line, was[0].end), (now[0].line, now[0].end)
    for kind, words in fresh:
        if lost[kind] > 0 and not _never_runs(kind, words):
            lost[kind] -= 1
            continue
        if kind == "if" or _never_runs(kind, words):
            yield Change(FindingKind.SKIPPED, "The check is only made under a condition now.", *lines)
        elif kind == "try":
            yield Change(FindingKind.LOOSENED, "A failure of the check is caught now.", *lines)
        elif kind == "function":
            yield Change(FindingKind.LOOSENED, "The check stands in a function now, which may not be called.", *lines)
        else:
            continue
        return


# --- other statements --------------------------------------------------------------------------------

_ROLES = {
    "skip": (FindingKind.SKIPPED, "The test skips itself, always or under a condition."),
    "exit": (FindingKind.SKIPPED, "The test ends the process."),
    "mock": (FindingKind.SHADOWED, "Something is put in place of what the test uses."),
    "retry": (FindingKind.LOOSENED, "The test is tried again when it fails, or may take longer."),
    "raise": (FindingKind.SKIPPED, "The test ends before what follows."),
}


def _steps(old: Unit, new: Unit, gone_through: frozenset[str]) -> Iterator[Change]:
    before, after = ([step for step in unit.steps if not step.checks] for unit in (old, new))
    pairs, gone, come = _matched(before, after)
    for was, now in pairs:
        yield from _tables(was, now, gone_through)
        if was.role in ("return", "skip") and was.guards and not now.guards:
            yield Change(FindingKind.SKIPPED, "The test ends early, without a condition.", *_span_of(was, now))
    checked = new.checks if new.kind == "test" else []
    replaced = _replaced(gone, come)
    bound = {name for step in old.steps for name in step.binds}
    instead = {id(now) for now in replaced.values()}
    for now in come:
        if id(now) not in instead or now.role:
            yield from _new_step(now, bound, checked)
    for was in gone:
        if old.kind != "module" or id(was) in replaced or not was.binds:
            yield from _old_step(was, replaced.get(id(was)))


def _params(old: Unit, new: Unit) -> Iterator[Change]:
    """Yield other parameters of a test: what it is given comes from elsewhere by their names."""
    if old.kind != "test" or old.params == new.params:
        return
    before, after = (set(_NAME.findall(unit.params)) - {"self", "cls"} for unit in (old, new))
    used = {word for step in new.steps for word in _NAME.findall(step.words)}
    if (before - after and after - before) or (after - before) - used:
        lines = (old.line, old.line), (new.line, new.line)
        yield Change(FindingKind.RETUNED, "The test is given something else, or more.", *lines)


_NAME = re.compile(r"[A-Za-z_]\w*")


def _span_of(old: Step, new: Step) -> tuple[tuple[int, int], tuple[int, int]]:
    return (old.line, old.end), (new.line, new.end)


def _matched(old: Sequence[Step], new: Sequence[Step]) -> tuple[list[tuple[Step, Step]], list[Step], list[Step]]:
    held: defaultdict[str, list[Step]] = defaultdict(list)
    for step in new:
        held[step.words].append(step)
    pairs, gone = [], []
    for step in old:
        same = held[step.words]
        fitting = next((at for at, other in enumerate(same[:NEAREST]) if other.guards == step.guards), 0)
        if same:
            pairs.append((step, same.pop(fitting)))
        else:
            gone.append(step)
    left = {id(step) for same in held.values() for step in same}
    return pairs, gone, [step for step in new if id(step) in left]


def _tables(was: Step, now: Step, gone_through: frozenset[str]) -> Iterator[Change]:
    """Compare the elements of literals; what is added to a list of plain values changes what it is compared with."""
    found = list(of_cases(was.cases, now.cases))
    yield from found
    added = len(now.cases) > len(was.cases)
    if added and not found and now.binds and not _is_table(now, gone_through):
        yield Change(FindingKind.RETUNED, "A list of values that the test uses has more of them.", *_span_of(was, now))


def _is_table(step: Step, gone_through: frozenset[str]) -> bool:
    """Return whether a literal holds cases: composite ones, or ones that are gone through."""
    if any(case.words[:1] in "([{" or "\n{\n" in case.words for case in step.cases):
        return True
    return not gone_through.isdisjoint(step.binds)


def _replaced(gone: Sequence[Step], come: Sequence[Step]) -> dict[int, Step]:
    """Return, for old statements, the new one that gives the same name, or is of the same sort."""
    found: dict[int, Step] = {}
    left = list(come)
    for fits in (_binds_alike, _begins_alike):
        for was in gone:
            if id(was) in found:
                continue
            now = next((each for each in left[:NEAREST] if fits(was, each)), None)
            if now is not None:
                found[id(was)] = now
                left.remove(now)
    return found


def _binds_alike(old: Step, new: Step) -> bool:
    return bool(set(old.binds) & set(new.binds)) and old.role == new.role


def _begins_alike(old: Step, new: Step) -> bool:
    before, after = old.words.split("\n"), new.words.split("\n")
    return before[0] == after[0] and old.role == new.role and bool(old.binds) == bool(new.binds)


def _new_step(now: Step, bound: set[str], checked: Sequence[Placed]) -> Iterator[Change]:
    lines = (0, 0), (now.line, now.end)
    ends_early = now.role in ("return", "raise") and any(
        check.line > now.line and _is_in_its_function(step, now) for check, step in checked
    )
    if now.role in _ROLES and (now.role != "raise" or ends_early):
        yield Change(*_ROLES[now.role], *lines)
    elif now.role == "return" and ends_early:
        yield Change(FindingKind.SKIPPED, "The test returns before its checks.", *lines)
    elif not bound.isdisjoint(now.binds) and not now.words.startswith("for\n"):
        yield Change(FindingKind.RETUNED, "What the test works with, or compares with, is given another value.", *lines)


def _is_in_its_function(check: Step, end: Step) -> bool:
    """Return whether a check is in the function, or the block that is handed on, that a statement ends."""
    return all(guard in check.guards for guard in end.guards if guard[0] in ("function", "closure"))


def _old_step(was: Step, now: Step | None) -> Iterator[Change]:
    if was.role in ("skip", "exit", "retry", "return", "raise", "mock") and now is None:
        return
    if was.role == "fail":
        if now is None:
            yield Change(FindingKind.REMOVED, "The test fails here no longer.", (was.line, was.end))
        return
    if now is None:
        if was.words.startswith(("if\n", "for\n", "with\n", "try\n", "else\n", "while\n", "unless\n")):
            return
        yield Change(FindingKind.RETUNED, "The test does this no longer.", (was.line, was.end))
        return
    if _only_header(was, now) or was.role in _ROLES or now.role in _ROLES:
        return
    literals = weaker.is_literal(was.words.rpartition("=\n")[2]) and weaker.is_literal(now.words.rpartition("=\n")[2])
    if literals and was.binds:
        why = "A value that the test uses, or expects, is another."
    else:
        why = "The test does something else than before."
    yield Change(FindingKind.RETUNED, why, *_span_of(was, now))


def _only_header(was: Step, now: Step) -> bool:
    """Return whether only what a block of checks stands in differs, which is told with the checks."""
    return was.words.startswith(("try\n", "finally\n")) and now.words.startswith(("try\n", "finally\n"))
