"""What became of a check that says something else now: less, or another thing."""

import re

from workspaces.integrity.described import Check
from workspaces.integrity.findings import FindingKind

Verdict = tuple[FindingKind, str] | None

_STRENGTH = {
    "eq": 9, "same": 9, "never": 9, "count": 8, "snapshot": 8, "close": 8, "none": 8, "called-with": 8, "raises": 7,
    "match": 6, "called-once": 6, "not-called": 6, "fail": 6, "in": 5, "prop": 5, "other": 5, "panic": 5,
    "<": 4, ">": 4, "<=": 4, ">=": 4, "out": 4, "called": 4, "type": 4,
    "ne": 3, "no-match": 3, "not-close": 3, "falsy": 3, "not-raises": 3,
    "truthy": 2, "defined": 2, "not-type": 2, "any": 1, "unawaited": 0, "log": 0, "always": 0,
}  # fmt: skip
_ORDER = frozenset(("<", ">", "<=", ">="))
_EVENLY = frozenset(("eq", "same", "ne", "close", "not-close", "any"))
"""Checks whose sides may change places."""
_ANYTHING = re.compile(
    r"(?:(?:unittest\n\.\n)?mock\n\.\n)?ANY|expect\n\.\n(?:anything|any|objectContaining|arrayContaining|stringMatching|stringContaining)\b"
    r"|(?:mock\n\.\n)?Anything|any\n?\(|anything|kind_of|instance_of|be_a|a_kind_of"
)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z_$@][\w$]*")
_CONSTANTS = frozenset(("True", "False", "None", "true", "false", "null", "nil", "undefined"))
_BROAD = frozenset(
    (
        "Exception",
        "BaseException",
        "Error",
        "error",
        "Throwable",
        "StandardError",
        "RuntimeException",
        "RuntimeError",
        "OSError",
        "Exception.class",
        "Throwable.class",
        "RuntimeException.class",
        "",
    )
)
_FEWER_IS_WIDER = frozenset(("places", "decimal", "digits"))
_DEFAULTS = {"abs": 1e-6, "rel": 1e-6, "places": 7.0, "digits": 2.0, "decimal": 7.0, "rtol": 1e-7, "atol": 0.0}


def key(check: Check) -> tuple[str, tuple[str, ...], str, str]:
    """Return what makes two checks the same, however they are written."""
    sides = tuple(sorted(check.sides)) if check.op in _EVENLY else check.sides
    return "eq" if check.op == "same" else check.op, sides, check.tol, check.words


def strength(check: Check) -> int:
    return _STRENGTH.get(check.op, 5)


def is_literal(words: str) -> bool:
    """Return whether an expression is made of values alone."""
    return bool(words) and not any(_WORD.fullmatch(word) and word not in _CONSTANTS for word in words.split("\n"))


def shares(old: Check, new: Check) -> bool:
    """Return whether two checks look at, or expect, the same."""
    return bool(set(old.sides) & set(new.sides) - {""})


def judged(old: Check, new: Check) -> Verdict:
    """Return what the change of a check is; None where it asks for as much as before, or more."""
    if key(old) == key(new):
        return None
    if key(old)[0] != key(new)[0]:
        return _other_sort(old, new)
    if old.op == "raises":
        return _raises(old, new)
    if old.op == "any":
        return FindingKind.LOOSENED, "What one of several conditions has to hold is another."
    changed = _changed(old, new)
    if changed is None:
        return FindingKind.RETUNED, "The check says something else now."
    if changed and (verdict := _sides(old.op, *changed)):
        return verdict
    return _tolerance(old.tol, new.tol) if old.tol != new.tol else None


def _other_sort(old: Check, new: Check) -> Verdict:
    if new.op == "any" and set(old.sides) and any(_all_in(old, side) for side in new.sides):
        return FindingKind.LOOSENED, "The check passes by another condition, too."
    if new.op == "always":
        return FindingKind.LOOSENED, "The check passes always."
    if new.op == "unawaited":
        return FindingKind.LOOSENED, "The check isn't waited for, so that it can't fail the test."
    if strength(new) < strength(old):
        return FindingKind.LOOSENED, f"The check asks for less: {_SAID.get(new.op, 'something weaker')}."
    if strength(new) > strength(old) and (shares(old, new) or strength(old) <= 2):
        return None
    return FindingKind.RETUNED, "The check says something else now."


_SAID = {
    "truthy": "only that it is true", "falsy": "only that it is false or empty",
    "defined": "only that there is something",
    "in": "only that it is contained", "type": "only its type", "ne": "only that it is another value",
    "close": "only that it is near", "match": "only a pattern", "called": "only that it is called",
    "<": "only a bound", ">": "only a bound", "<=": "only a bound", ">=": "only a bound", "log": "it is only logged",
    "raises": "only that something is raised", "prop": "only that there is such a property",
    "any": "one of several conditions",
}  # fmt: skip


def _all_in(old: Check, side: str) -> bool:
    return all(part in side for part in old.sides)


def _changed(old: Check, new: Check) -> tuple[str, str] | tuple[()] | None:
    """Return the one side that differs, before and after; () where none does, None where more do."""
    if old.op in _EVENLY:
        gone, come = [s for s in old.sides if s not in new.sides], [s for s in new.sides if s not in old.sides]
    elif len(old.sides) == len(new.sides):
        differ = [pair for pair in zip(old.sides, new.sides, strict=True) if pair[0] != pair[1]]
        gone, come = [a for a, _ in differ], [b for _, b in differ]
    else:
        return None
    if not gone and not come:
        return ()
    return (gone[0], come[0]) if len(gone) == len(come) == 1 else None


def _sides(op: str, was: str, now: str) -> Verdict:
    if _ANYTHING.search(now) and not _ANYTHING.search(was):
        return FindingKind.LOOSENED, "What is expected may be anything now."
    if op in _ORDER and (verdict := _bound(op, was, now)) is not _UNSURE:
        return verdict
    if op in ("in", "match") and is_literal(was) and is_literal(now):
        shorter = now.strip('r"/') in was.strip('r"/')
        if shorter or (op == "match" and ".*" in now and ".*" not in was):
            return FindingKind.LOOSENED, "Less of the text is asked for."
    if is_literal(was) and is_literal(now):
        return FindingKind.RETUNED, "The expected value is another."
    if _literals(was) != _literals(now):
        return FindingKind.RETUNED, "The check holds another value now."
    return FindingKind.RETUNED, "The check looks at something else, or expects something else."


_UNSURE: Verdict = (FindingKind.RETUNED, "")


def _literals(words: str) -> list[str]:
    return sorted(word for word in words.split("\n") if word[:1].isdigit() or word[:1] in "\"'")


def _bound(op: str, was: str, now: str) -> Verdict:
    """Judge another bound of an order: a wider one, or a tighter one."""
    before, after = _number(was), _number(now)
    if before is None or after is None:
        return _UNSURE
    wider = after > before if op.startswith("<") else after < before
    return (FindingKind.LOOSENED, "The bound is wider.") if wider else None


def _number(words: str) -> float | None:
    said = words.replace("\n", "").strip("()")
    return float(said) if _NUMBER.fullmatch(said) else None


def _raises(old: Check, new: Check) -> Verdict:
    was, now = old.sides[0], new.sides[0]
    if was != now:
        bare = now.replace("\n", "")
        wider = bare in _BROAD or bare.rpartition(".")[2] in _BROAD or (was in now.split("\n") and "," in now)
        if wider:
            return FindingKind.LOOSENED, "Any error will do, or more of them do."
        return FindingKind.RETUNED, "Another error is expected."
    before, after = old.sides[1:], new.sides[1:]
    if before != after:
        if not any(after) or (any(before) and ".*" in "".join(after)):
            return FindingKind.LOOSENED, "What the error says is not looked at any more."
        return (FindingKind.RETUNED, "The error is to say something else.") if any(before) else None
    return FindingKind.RETUNED, "What is to fail is another call."


def _tolerance(was: str, now: str) -> Verdict:
    before, after = _tolerances(was), _tolerances(now)
    if before is None or after is None:
        return FindingKind.RETUNED, "The tolerance is another."
    for name in before.keys() | after.keys():
        fallback = _DEFAULTS.get(name, 0.0)
        first, second = before.get(name, fallback), after.get(name, fallback)
        if (second < first) if name in _FEWER_IS_WIDER else (second > first):
            return FindingKind.LOOSENED, "The tolerance is wider."
    return None


def _tolerances(said: str) -> dict[str, float] | None:
    """Return tolerances by name; None where one is no number."""
    found = {}
    for each in filter(None, said.split(",")):
        name, _, value = each.rpartition("=")
        if not _NUMBER.fullmatch(value):
            return None
        found[name or "abs"] = float(value)
    return found
