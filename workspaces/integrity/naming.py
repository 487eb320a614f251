"""Names that were only changed: of variables, and of what is tested; so that nothing else is told of them."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from workspaces.integrity.described import Check, Described, Step, Unit

_NAME = re.compile(r"[A-Za-z_$@][\w$?!]*")
IMPORTS_LIMIT = 1000
TRIES = 12
"""Statements of one form that are held against each other."""


def names_in(unit: Unit) -> frozenset[str]:
    found = set(_names(unit.params))
    for step in unit.steps:
        found.update(_names(step.words), *(_names(case.words) for case in step.cases))
    return frozenset(found)


def _names(words: str) -> Iterable[str]:
    return (word for word in words.split("\n") if _NAME.fullmatch(word))


def bound_in(unit: Unit, without_params: bool = False) -> frozenset[str]:
    """Return the names that a unit itself gives; those of pytest's parameters come from elsewhere."""
    bound = frozenset(name for step in unit.steps for name in step.binds)
    return bound if without_params else bound | frozenset(_names(unit.params))


@dataclass(frozen=True)
class Elsewhere:
    """Names that are gone from the code that is tested, and names that came into it."""

    gone: frozenset[str] = frozenset()
    come: frozenset[str] = frozenset()

    @classmethod
    def of(cls, names: Iterable[tuple[frozenset[str], frozenset[str]]]) -> "Elsewhere":
        """Return it by the names in each source, before and now."""
        old: set[str] = set()
        new: set[str] = set()
        for before, now in names:
            old |= before
            new |= now
        return cls(frozenset(old - new), frozenset(new - old))


def new_names(old: Unit, new: Unit, before: Described, now: Described, elsewhere: Elsewhere) -> Mapping[str, str]:
    """Return names of the old unit that stand under other names in the new one, and mean the same.

    A variable may take any new name, and so may what the file itself defines. A name from elsewhere may where it is
    gone from the file, and was replaced in what is tested, too.
    """
    gone, come = names_in(old) - names_in(new), names_in(new) - names_in(old)
    if not gone or not come:
        return {}
    is_fixtures = before.language == "python" and new.kind == "test"
    local_gone, local_come = gone & bound_in(old, is_fixtures), come & bound_in(new, is_fixtures)
    free_gone, free_come = gone - now.ids - bound_in(old), come - before.ids - bound_in(new)
    was_own, is_own = free_gone & before.defined, free_come & now.defined
    was_tested, is_tested = free_gone & elsewhere.gone, free_come & elsewhere.come - is_own
    found: dict[str, str] = {}
    for was, is_now in _similar(old.steps, new.steps):
        pairs = _pairs(was, is_now)
        fits = pairs is not None and all(
            found.get(a, b) == b
            and any(
                a in here and b in there
                for here, there in ((local_gone, local_come), (was_own, is_own), (was_tested, is_tested))
            )
            for a, b in pairs.items()
        )
        if fits and pairs:
            found.update(pairs)
    return found if len(set(found.values())) == len(found) else {}


def _similar(old: Iterable[Step], new: Iterable[Step]) -> Iterable[tuple[list[str], list[str]]]:
    """Yield statements of one form, those that stand in the same order first."""
    after: defaultdict[str, list[list[str]]] = defaultdict(list)
    before: defaultdict[str, list[list[str]]] = defaultdict(list)
    for steps, held in ((old, before), (new, after)):
        for step in steps:
            words = step.words.split("\n")
            held["\n".join("·" if _NAME.fullmatch(word) else word for word in words)].append(words)
    for form, olds in before.items():
        news = after.get(form, [])
        yield from zip(olds, news, strict=False)
        yield from ((a, b) for a in olds[:TRIES] for b in news[:TRIES])


def _pairs(old: list[str], new: list[str]) -> dict[str, str] | None:
    """Return the names that differ between two statements of one form; None where that is not one for one."""
    found: dict[str, str] = {}
    for was, now in zip(old, new, strict=True):
        if was != now and found.setdefault(was, now) != now:
            return None
    return found


@lru_cache(maxsize=8)
def _whole_names(imports: tuple[tuple[str, str, int], ...]) -> "re.Pattern[str] | None":
    """Return what finds `module.name` of those names that are also imported by themselves."""
    modules = {name: place for name, place, _ in imports[:IMPORTS_LIMIT]}
    whole = [
        f"{module}\n.\n{name}"
        for name, place in modules.items()
        for module in (place.rpartition(".")[0].rpartition(".")[2],)
        if modules.get(module, "") + f".{name}" == place
    ]
    return re.compile("|".join(rf"(?<![^\n]){re.escape(each)}(?![^\n])" for each in whole)) if whole else None


def unqualified(unit: Unit, source: Described, other: Described) -> Unit:
    """Return the unit with `module.name` as `name`, where one of both sources imports just that name by itself."""
    found = _whole_names(source.imports + other.imports)
    if found is None:
        return unit
    return _mapped(unit, lambda words: found.sub(lambda match: match[0].rpartition("\n")[2], words))


def renamed(unit: Unit, names: Mapping[str, str]) -> Unit:
    """Return the unit as it would be with these names."""
    if not names:
        return unit
    return _mapped(unit, lambda words: "\n".join(names.get(word, word) for word in words.split("\n")))


def _mapped(unit: Unit, put: Callable[[str], str]) -> Unit:
    """Return the unit with all its words put in another way."""
    return replace(unit, steps=tuple(_step(step, put) for step in unit.steps), params=put(unit.params))


def _step(step: Step, put: Callable[[str], str]) -> Step:
    return replace(
        step,
        words=put(step.words),
        guards=tuple((kind, put(words)) for kind, words in step.guards),
        binds=tuple(put(name) for name in step.binds),
        checks=tuple(_check(check, put) for check in step.checks),
        cases=tuple(replace(case, words=put(case.words)) for case in step.cases),
    )


def _check(check: Check, put: Callable[[str], str]) -> Check:
    return replace(check, sides=tuple(put(side) for side in check.sides), words=put(check.words))
