"""Compares the tests of files as they were and as they are now: which are gone, skipped, ask for less, are new."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from workspaces import cuts
from workspaces.integrity import facts, naming, taking, units
from workspaces.integrity.described import EMPTY, Described, Unit
from workspaces.integrity.findings import Finding, FindingKind
from workspaces.integrity.marks import Change
from workspaces.integrity.naming import Elsewhere

PER_FILE = 150
"""Findings that are told of one file."""
TEXT_LIMIT = 500
PLACES_LIMIT = 12
"""New tests of one name among which one that is gone elsewhere is looked for."""
_SUPPORT = re.compile(
    r"(?:conftest\.py|(?:spec|test|rails)_helper\.rb|(?:jest|vitest|test|mocha)[.\-_]?(?:setup|global)\w*\.[cm]?[jt]sx?"
    r"|(?:setup|global)[.\-_]?(?:tests?|jest|vitest|setup)?\w*\.[cm]?[jt]sx?)\Z",
    re.IGNORECASE,
)
_LAST_WINS = frozenset(("python", "ruby"))
_CONFIG_GONE = "What is done before or around the tests is gone."
_CONFIG_CHANGED = "What is done before or around the tests is another."
_CONFIG_NEW = "This is newly done before or around the tests that were there."


@dataclass
class File:
    """One file on both sides; None: it isn't there. `is_collected`: whether tools look for tests in it, by its name.

    `is_test`: it is there for tests alone; of another only the tests in it are compared, and what acts on tools.
    """

    path: str
    old: Described | None
    new: Described | None
    old_lines: Sequence[str] = ()
    new_lines: Sequence[str] = ()
    is_test: bool = True
    is_collected: bool = True
    old_path: str = ""
    gone: list[Unit] = field(default_factory=list)
    come: list[Unit] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def gone_through(self) -> frozenset[str]:
        return self.new.gone_through if self.new else frozenset()

    def told(self, name: str, change: Change) -> Finding:
        old, new = _text(self.old_lines, change.old), _text(self.new_lines, change.new)
        return Finding(change.kind, self.path, change.why, cuts.head(name, 200), change.old[0], change.new[0], old, new)


def _text(lines: Sequence[str], span: tuple[int, int]) -> str:
    first, last = span
    if not first:
        return ""
    return "\n".join(line.strip("\n") for line in lines[first - 1 : max(first, min(last, first + 11))]).strip()[
        :TEXT_LIMIT
    ]


def compare(files: Sequence[File]) -> list[Finding]:
    """Return what changed in these files, seen together: a test that moved from one to another is not gone."""
    elsewhere = naming.Elsewhere.of((_tested(file.old), _tested(file.new)) for file in files if not file.is_test)
    for file in files:
        _within(file, elsewhere)
    _across(files, elsewhere)
    for file in files:
        if file.is_test and file.old is not None and file.new is not None:
            file.findings += [file.told(name, change) for name, change in taking.changes(file, files)]
    found: list[Finding] = []
    for file in files:
        for unit in file.gone:
            file.findings.append(_removed(file, unit))
        file.findings += [_added(file, unit) for unit in file.come if unit.kind == "test"]
        found += _bounded(file)
    return found


def _bounded(file: File) -> Iterable[Finding]:
    kept = list(dict.fromkeys(file.findings))
    kept.sort(key=lambda each: not each.is_suspect)
    if len(kept) <= PER_FILE:
        return kept
    why = f"There is more of this in the file: {len(kept) - PER_FILE + 1} findings are not shown."
    return [*kept[: PER_FILE - 1], Finding(kept[PER_FILE - 1].kind, file.path, why)]


def _removed(file: File, unit: Unit) -> Finding:
    return file.told(unit.name, Change(FindingKind.REMOVED, "The test is gone.", (unit.line, unit.end)))


def _added(file: File, unit: Unit) -> Finding:
    return file.told(unit.name, Change(FindingKind.ADDED, "A new test.", (0, 0), (unit.line, unit.line)))


# --- within one file ---------------------------------------------------------------------------------


def _within(file: File, elsewhere: Elsewhere) -> None:
    if file.new is not None:
        for name, change in facts.changes(file.old, file.new, is_test=file.is_test):
            file.findings.append(file.told(name, change))
    before, after = _in_force(file.old or EMPTY), _in_force(file.new or EMPTY)
    if not file.is_test:
        before, after = _of_tests(before, file.old), _of_tests(after, file.new)
    pairs, gone, come = _matched(before, after)
    for old, new in pairs:
        file.findings += _of_pair(file, old, new, elsewhere)
    file.gone = [unit for unit in gone if unit.kind == "test"]
    file.come = [unit for unit in come if unit.kind == "test"]
    if file.old is not None and file.new is not None and file.is_test:
        _of_others(file, gone, come)
        file.findings += _own_definitions(file, come, pairs)
    elif file.old is None and file.is_test and _SUPPORT.search(file.path.rpartition("/")[2]):
        _of_others(file, (), [unit for unit in come if unit.kind == "config"])


def _of_others(file: File, gone: Iterable[Unit], come: Iterable[Unit]) -> None:
    for unit in gone:
        if unit.kind in ("config", "hook"):
            change = Change(FindingKind.CONFIGURATION, _CONFIG_GONE, (unit.line, unit.end))
            file.findings.append(file.told(unit.name, change))
    for unit in come:
        if unit.kind == "config" or (unit.last_name == "__init__" and _is_in_tests(file, unit)):
            kind = FindingKind.CONFIGURATION if unit.kind == "config" else FindingKind.SKIPPED
            why = _CONFIG_NEW if unit.kind == "config" else "pytest collects no class that has an __init__."
            file.findings.append(file.told(unit.name, Change(kind, why, (0, 0), (unit.line, unit.end))))
        elif unit.kind in ("suite", "hook"):
            empty = Unit(unit.kind, unit.name, 0, 0, unit.params, (), (), ())
            only = [change for change in units.changes(empty, unit) if unit.kind == "hook" or "Only" in change.why]
            file.findings += [file.told(unit.name, change) for change in only]
        elif unit.kind == "test" and any(mark.what == "only" for mark in unit.marks):
            mark = next(mark for mark in unit.marks if mark.what == "only")
            why = "Only this new test is run now; those beside it are not."
            file.findings.append(file.told(unit.name, Change(FindingKind.SKIPPED, why, (0, 0), (mark.line, mark.line))))


def _is_in_tests(file: File, unit: Unit) -> bool:
    above = unit.name.rpartition(" › ")[0]
    assert file.new is not None
    return any(other.name == above and other.params == "tests" for other in file.new.units)


def _own_definitions(file: File, come: Iterable[Unit], pairs: Iterable[tuple[Unit, Unit]]) -> Iterator[Finding]:
    """Yield what a file of tests newly defines itself that it took from elsewhere before."""
    assert file.old is not None
    assert file.new is not None
    taken = {name for name, _, _ in file.old.imports} - file.old.defined
    why = "The file defines this itself now, which came from what is tested before."
    for unit in come:
        if " › " not in unit.name and unit.kind in ("helper", "suite") and unit.name in taken:
            yield file.told(unit.name, Change(FindingKind.SHADOWED, why, (0, 0), (unit.line, unit.end)))
    for old, new in pairs:
        known, used = {step.words for step in old.steps}, naming.names_in(old)
        for step in new.steps:
            names = taken.intersection(step.binds) if new.kind == "module" else taken.intersection(step.binds) & used
            if names and step.words not in known and not step.words.startswith("for\n") and not _is_import(step.words):
                change = Change(FindingKind.SHADOWED, why, (0, 0), (step.line, step.end))
                yield file.told(sorted(names)[0], change)


def _is_import(words: str) -> bool:
    return "\nrequire\n(" in words or "\nimport\n(" in words or "\nimportActual\n" in words


def _of_pair(file: File, old: Unit, new: Unit, elsewhere: Elsewhere) -> Iterator[Finding]:
    """Yield what changed between two units that are one."""
    if old.kind == "test" and new.kind != "test":
        why = "The test is none any more: no test tool collects it."
        yield file.told(old.name, Change(FindingKind.REMOVED, why, (old.line, old.end), (new.line, new.line)))
        return
    if old.kind == "module":
        if file.old is None or file.new is None:
            return
        yield from _of_module(file, old, new)
        return
    assert file.old is not None
    assert file.new is not None
    if [step.words for step in old.steps] != [step.words for step in new.steps]:
        old, new = (naming.unqualified(unit, file.old, file.new) for unit in (old, new))
        old = naming.renamed(old, naming.new_names(old, new, file.old, file.new, elsewhere))
    for change in units.changes(old, new, file.gone_through):
        yield file.told(new.name, _as_configuration(change) if new.kind == "config" else change)


def _as_configuration(change: Change) -> Change:
    return Change(FindingKind.CONFIGURATION, _CONFIG_CHANGED, change.old, change.new)


def _language(file: File) -> str:
    return (file.new or file.old or EMPTY).language


def _of_module(file: File, old: Unit, new: Unit) -> Iterator[Finding]:
    """Yield what changed at the top of a file: values that tests use; in files for all tests what they do at once."""
    for change in units.changes(old, new, file.gone_through):
        yield file.told("", change)
    units_of = (file.old or EMPTY).units[1:] if _language(file) in _LAST_WINS else ()
    tests = {unit.last_name for unit in units_of if unit.kind in ("test", "suite")}
    known = Counter(step.words for step in old.steps)
    for step in new.steps:
        if tests & {name.partition(".")[0] for name in step.binds} and not known[step.words]:
            why = "The name of a test, or of a class of tests, is given to something else."
            change = Change(FindingKind.SKIPPED, why, (0, 0), (step.line, step.end))
            yield file.told(step.binds[0], change)
    if file.old is not None and _SUPPORT.search(file.path.rpartition("/")[2]):
        for step in new.steps:
            if not known[step.words] and not step.checks and (not step.binds or "." in step.binds[0]):
                yield file.told("", Change(FindingKind.CONFIGURATION, _CONFIG_NEW, (0, 0), (step.line, step.end)))


def _of_tests(found: list[Unit], source: Described | None) -> list[Unit]:
    """Return the units that are tests, or are there for them, of a file of ordinary code."""
    if source is None or not _holds_tests(source):
        return []
    within = [unit.name for unit in source.units if unit.kind == "suite" and unit.params == "tests"]
    is_rust = source.language == "rust"
    return [
        unit
        for unit in found
        if unit.kind == "test" or (is_rust and any(f"{unit.name} › ".startswith(f"{name} › ") for name in within))
    ]


def _tested(source: Described | None) -> frozenset[str]:
    """Return the names in ordinary code, those in its tests aside."""
    if source is None:
        return frozenset()
    tests = {id(unit) for unit in _of_tests(list(source.units), source)}
    if not tests:
        return source.ids
    others = [unit for unit in source.units if id(unit) not in tests]
    return frozenset().union(*(naming.names_in(unit) | {unit.last_name} for unit in others))


def _holds_tests(source: Described) -> bool:
    """Return whether ordinary code holds tests; in Python a function may be called test_x and be none."""
    if source.language == "python":
        return any(fact.code == "tool" for fact in source.facts)
    return source.language != "go"


# --- which unit is which -----------------------------------------------------------------------------


def _in_force(source: Described) -> list[Unit]:
    """Return the units that count: of two functions or classes of one name, the later."""
    if source.language not in _LAST_WINS:
        return list(source.units)
    last: dict[tuple[bool, str], Unit] = {}
    for unit in source.units:
        last[unit.kind == "suite", unit.name] = unit
    lost = [
        unit
        for unit in source.units
        if unit.kind == "suite" and source.language == "python" and last[True, unit.name] is not unit
    ]
    if source.language == "ruby":
        return [
            unit for unit in source.units if not _METHOD.fullmatch(unit.last_name) or last[False, unit.name] is unit
        ]
    found = [unit for unit in source.units if last[unit.kind == "suite", unit.name] is unit]
    return [unit for unit in found if not any(_is_inside(unit, suite) for suite in lost)]


_METHOD = re.compile(r"test_\w+[?!]?")
"""A method of minitest; rspec's examples may well have one name."""


def _is_inside(unit: Unit, suite: Unit) -> bool:
    return unit.name.startswith(f"{suite.name} › ") and suite.line <= unit.line <= suite.end


Matched = tuple[list[tuple[Unit, Unit]], list[Unit], list[Unit]]


def _matched(old: Sequence[Unit], new: Sequence[Unit]) -> Matched:
    """Return units that are one, by name, then by last name, then by what they say; and those of one side alone."""
    pairs: list[tuple[Unit, Unit]] = []
    gone, come = list(old), list(new)
    for by in (_whole_name, _own_name, _similar_name, _content):
        gone, come = _pair(pairs, gone, come, by)
    return pairs, gone, come


def _whole_name(unit: Unit) -> object:
    return unit.kind == "module", unit.kind == "suite", unit.name


def _own_name(unit: Unit) -> object:
    return (unit.kind in ("test", "helper"), unit.last_name) if unit.kind not in ("suite", "hook") else None


_SIMILAR = re.compile(r"[\W_]+")


def _similar_name(unit: Unit) -> object:
    """Return the name without what makes a tool collect it."""
    if unit.kind not in ("test", "helper"):
        return None
    bare = _SIMILAR.sub("", unit.last_name.lower())
    return (
        re.sub(r"^(?:test|check|x|skip|no|disabled|old|dont|_)+|(?:test|disabled|skip|skipped|old)+$", "", bare) or None
    )


def _content(unit: Unit) -> object:
    if unit.kind not in ("test", "helper") or not unit.steps:
        return None
    return tuple(step.words for step in unit.steps)


def _pair(
    pairs: list[tuple[Unit, Unit]], gone: list[Unit], come: list[Unit], by: object
) -> tuple[list[Unit], list[Unit]]:
    assert callable(by)
    held: defaultdict[object, list[Unit]] = defaultdict(list)
    for unit in come:
        if (key := by(unit)) is not None:
            held[key].append(unit)
    taken: set[int] = set()
    left = []
    for unit in gone:
        key = by(unit)
        same = held[key] if key is not None else []
        if same:
            other = same.pop(0)
            taken.add(id(other))
            pairs.append((unit, other))
        else:
            left.append(unit)
    return left, [unit for unit in come if id(unit) not in taken]


# --- across files ------------------------------------------------------------------------------------


def _across(files: Sequence[File], elsewhere: Elsewhere) -> None:
    """Find tests that are gone in one file among those that are new in another."""
    places: defaultdict[str, list[tuple[File, Unit]]] = defaultdict(list)
    for file in files:
        for unit in file.come:
            places[unit.last_name].append((file, unit))
    for file in files:
        file.gone = [unit for unit in file.gone if not _moved(file, unit, places[unit.last_name], elsewhere)]


def _moved(file: File, unit: Unit, places: list[tuple[File, Unit]], elsewhere: Elsewhere) -> bool:
    """Return whether a test is in another file now; what it says differently there is told there."""
    ranked = sorted(
        places[:PLACES_LIMIT], key=lambda place: len(_told_there(file, unit, place[0], place[1], elsewhere))
    )
    if not ranked:
        return False
    there, other = ranked[0]
    told = _told_there(file, unit, there, other, elsewhere)
    if any(each.kind is FindingKind.REMOVED and not each.old_line for each in told):
        return False
    there.findings += told
    there.come = [each for each in there.come if each is not other]
    places.remove((there, other))
    return True


def _told_there(file: File, old: Unit, there: File, new: Unit, elsewhere: Elsewhere) -> list[Finding]:
    assert file.old is not None
    assert there.new is not None
    if file.is_collected and not there.is_collected:
        why = "The test is in a file now in which no test tool looks for tests."
        return [there.told(new.name, Change(FindingKind.REMOVED, why, (0, 0), (new.line, new.end)))]
    names: Mapping[str, str] = naming.new_names(old, new, file.old, there.new, elsewhere)
    both = File(there.path, file.old, there.new, file.old_lines, there.new_lines)
    return [
        both.told(new.name, change) for change in units.changes(naming.renamed(old, names), new, there.gone_through)
    ]
