"""What the process that reads sources tells of one, checked and typed; see workspaces/apart/tongues/units.py."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

Guard = tuple[str, str]
T = TypeVar("T")


class Misshapen(Exception):
    """The answer is not what it should be."""


@dataclass(frozen=True)
class Check:
    """One check; `sides`: what is looked at and what is expected, in the order of the text."""

    op: str
    sides: tuple[str, ...]
    line: int
    end: int
    tol: str = ""
    words: str = ""
    inline: tuple[Guard, ...] = ()


@dataclass(frozen=True)
class Case:
    words: str
    line: int


@dataclass(frozen=True)
class Step:
    """One statement; of one that holds others, what stands before them."""

    line: int
    end: int
    words: str
    guards: tuple[Guard, ...] = ()
    role: str = ""
    binds: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    cases: tuple[Case, ...] = ()


@dataclass(frozen=True)
class Mark:
    what: str
    words: str
    line: int
    cases: tuple[Case, ...] = ()


@dataclass(frozen=True)
class Unit:
    kind: str
    name: str
    line: int
    end: int
    params: str
    marks: tuple[Mark, ...]
    guards: tuple[Guard, ...]
    steps: tuple[Step, ...]

    @property
    def last_name(self) -> str:
        return self.name.rpartition(" › ")[2]

    @property
    def checks(self) -> list[tuple[Check, Step]]:
        return [(check, step) for step in self.steps for check in step.checks]


@dataclass(frozen=True)
class Fact:
    code: str
    name: str
    words: str
    line: int


@dataclass(frozen=True)
class Described:
    """One source; `imports`: where each imported name is from; `ids`: all its names."""

    units: tuple[Unit, ...] = ()
    facts: tuple[Fact, ...] = ()
    imports: tuple[tuple[str, str, int], ...] = ()
    ids: frozenset[str] = frozenset()
    errors: int = 0
    language: str = ""

    @property
    def module(self) -> Unit:
        return self.units[0]

    @cached_property
    def defined(self) -> frozenset[str]:
        """The names that the source gives at its top: functions, classes, variables."""
        top = frozenset(name for step in self.module.steps for name in step.binds)
        kinds = ("helper", "config")
        named = (unit for unit in self.units[1:] if unit.kind in kinds or (unit.kind == "suite" and unit.params))
        return top | frozenset(unit.last_name for unit in named)

    @cached_property
    def gone_through(self) -> frozenset[str]:
        """The names of what the source goes through, or takes cases from."""
        steps = (step.words for unit in self.units for step in unit.steps)
        loops = (words for words in steps if words.startswith("for\n") or _EACH.search(words))
        marks = (mark.words for unit in self.units for mark in unit.marks if mark.what == "cases")
        return frozenset(word for words in (*loops, *marks) for word in words.split("\n"))


_EACH = re.compile(r"\n(?:each|forEach|map|iter|Run)(?:\n|\Z)")
EMPTY = Described((Unit("module", "", 1, 1, "", (), (), ()),))


def described(told: Any, language: str) -> Described:
    """Return what was told of one source. Raises Misshapen."""
    try:
        units = _all(_unit, told["units"])
        if not units or units[0].kind != "module":
            raise Misshapen
        imports = _all(lambda each: (_text(each[0]), _text(each[1]), _number(each[2])), told["imports"])
        ids = frozenset(_all(_text, told["ids"]))
        return Described(units, _all(_fact, told["facts"]), imports, ids, _number(told["errors"]), language)
    except (TypeError, KeyError, IndexError, ValueError):
        raise Misshapen from None


def _all(shape: Callable[[Any], T], told: Any) -> tuple[T, ...]:
    if not isinstance(told, list):
        raise Misshapen
    return tuple(shape(each) for each in told)


def _text(told: Any) -> str:
    if not isinstance(told, str):
        raise Misshapen
    return told


def _number(told: Any) -> int:
    if not isinstance(told, int):
        raise Misshapen
    return told


def _unit(told: Any) -> Unit:
    guards = _all(_guard, told["guards"])
    steps = tuple(sorted(_all(_step, told["steps"]), key=lambda step: (step.line, step.end)))
    name, params = real(_text(told["name"])), _text(told["params"])
    marks = _all(_mark, told["marks"])
    kind = _text(told["kind"])
    return Unit(
        "helper" if kind == "code" else kind,
        name,
        _number(told["line"]),
        _number(told["end"]),
        params,
        marks,
        guards,
        steps,
    )


def _guard(told: Any) -> Guard:
    return _text(told[0]), _text(told[1])


def _case(told: Any) -> Case:
    return Case(_text(told[0]), _number(told[1]))


def _mark(told: Any) -> Mark:
    return Mark(_text(told[0]), _text(told[1]), _number(told[2]), _all(_case, told[3]))


def _fact(told: Any) -> Fact:
    return Fact(_text(told[0]), real(_text(told[1])), _text(told[2]), _number(told[3]))


def _check(told: Any) -> Check:
    op, sides, line, end, tolerance, words, inline = told
    where = _number(line), _number(end)
    return Check(_text(op), _all(_text, sides), *where, _text(tolerance), _text(words), _all(_guard, inline))


def _step(told: Any) -> Step:
    line, end, words, guards, role, binds, checks, cases = told
    found = _all(_check, checks), _all(_case, cases)
    return Step(
        _number(line), _number(end), _text(words), _all(_guard, guards), _text(role), _all(_text, binds), *found
    )


def real(text: str) -> str:
    """Return a text that was read byte by byte as the characters it stands for."""
    try:
        return text.encode("latin-1").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return text
