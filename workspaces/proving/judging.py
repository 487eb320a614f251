"""Judges what verify commands showed of a change, held against what they showed at its base."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from workspaces import cuts
from workspaces.proving.results import NOT_RUN, CommandResult, TestState
from workspaces.sandbox.place import Ending

State = Literal["green", "red", "unproven"]
NAMES_LIMIT = 50
TOLD_NAMES = 3
TOLD_CHARS = 120


@dataclass(frozen=True)
class Tests:
    """How the tests ended now. Of names NAMES_LIMIT are kept, counts are of all.

    `already_red`: fail now and did at the base. `missing`, `failing`, `now_skipped`: what passed at the base, and did
    not run, fails or is skipped now; `failing` has those too that fail now and were not among the base's. `fixed`:
    failed at the base and pass now.
    """

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    already_red: int = 0
    missing: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    now_skipped: tuple[str, ...] = ()
    missing_count: int = 0
    failing_count: int = 0
    now_skipped_count: int = 0
    fixed: int = 0


@dataclass(frozen=True)
class CommandJudgement:
    """What is to be said of one command, and of its tests."""

    command: str
    state: State
    reasons: tuple[str, ...]
    tests: Tests


@dataclass(frozen=True)
class Judgement:
    """What all commands together show; a reason of a green one is a remark."""

    state: State
    reasons: tuple[str, ...]
    tests: Tests
    commands: tuple[CommandJudgement, ...] = ()


def judge(base: Sequence[CommandResult] | None, now: Sequence[CommandResult], *, may_change_tests: bool) -> Judgement:
    """Return whether a change is proven: every command passes, and no test that passed at the base does otherwise now.

    `base` is None where it could not be made: then the results stand for themselves. `may_change_tests`: missing and
    skipped tests are told and count against nobody.
    """
    pairs = list(zip(now, _counterparts(base or (), now), strict=True))
    shown = _shown_names(pairs)
    judged = tuple(
        _judged(result, before, may_change_tests, partial(shown, number))
        for number, (result, before) in enumerate(pairs, start=1)
    )
    if not judged:
        return Judgement("unproven", ("There is no command to verify with.",), Tests())
    states = {each.state for each in judged}
    state: State = "red" if "red" in states else "unproven" if "unproven" in states else "green"
    reasons = tuple(_prefixed(each, reason, len(judged)) for each in judged for reason in each.reasons)
    return Judgement(state, reasons, _summed([each.tests for each in judged]), judged)


def _counterparts(base: Sequence[CommandResult], now: Sequence[CommandResult]) -> list[CommandResult | None]:
    """Return for each result the base's of the same command; the second time a command is run, its second one."""
    left = list(base)
    found: list[CommandResult | None] = []
    for result in now:
        same = next((each for each in left if each.command == result.command), None)
        if same is not None:
            left.remove(same)
        found.append(same)
    return found


def _shown_names(pairs: Sequence[tuple[CommandResult, CommandResult | None]]) -> Callable[[int, str], str]:
    """Return how a name is shown: with the number of its command where several have a test of this name."""
    if len(pairs) == 1:
        return lambda number, name: name
    uses = Counter(name for now, base in pairs for name in {*now.tests, *(base.tests if base else ())})
    return lambda number, name: f"{number}: {name}" if uses[name] > 1 else name


def _prefixed(judged: CommandJudgement, reason: str, commands: int) -> str:
    return reason if commands == 1 else f"{_cut(judged.command)}: {reason}"


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= TOLD_CHARS else f"{cuts.head(text, TOLD_CHARS - 1)}…"


# --- one command ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Compared:
    """Names of tests, by what became of them."""

    already_red: list[str]
    missing: list[str]
    failing: list[str]
    """Passed at the base."""
    new_failing: list[str]
    now_skipped: list[str]
    fixed: int


def _judged(
    now: CommandResult, base: CommandResult | None, may_change_tests: bool, shown: Callable[[str], str]
) -> CommandJudgement:
    compared = _compared(base.tests if base is not None and _is_told(base) else {}, now.tests)
    tests = _tests(now, compared, shown)
    if now.ending != Ending.EXIT or now.exit_code is None:
        state, why = _not_ended(now, base)
        seen = Tests(passed=tests.passed, failed=tests.failed, skipped=tests.skipped)
        return CommandJudgement(now.command, state, (why,), seen)
    if base is not None and base.ending != Ending.EXIT:
        base = None
    state, reasons = _ended(now, base, tests, compared, may_change_tests)
    return CommandJudgement(now.command, state, tuple(reasons), tests)


def _is_told(base: CommandResult | None) -> bool:
    """Return whether the base's tests are known one by one."""
    return base is not None and bool(base.tests) and not base.is_cut and base.ending == Ending.EXIT


def _compared(base: Mapping[str, str], now: Mapping[str, str]) -> _Compared:
    passed = [name for name, state in base.items() if state == TestState.PASSED]
    failed = [name for name, state in now.items() if state == TestState.FAILED]
    return _Compared(
        already_red=[name for name in failed if base.get(name) == TestState.FAILED],
        missing=[name for name in passed if name not in now],
        failing=[name for name in failed if base.get(name) == TestState.PASSED],
        new_failing=[name for name in failed if base.get(name) not in (TestState.FAILED, TestState.PASSED)],
        now_skipped=[name for name in passed if now.get(name) == TestState.SKIPPED],
        fixed=sum(1 for name, state in base.items() if state == TestState.FAILED and now.get(name) == "passed"),
    )


def _tests(now: CommandResult, compared: _Compared, shown: Callable[[str], str]) -> Tests:
    counts = Counter(now.tests.values())
    failing = [*compared.failing, *compared.new_failing]
    return Tests(
        passed=counts[TestState.PASSED],
        failed=counts[TestState.FAILED],
        skipped=counts[TestState.SKIPPED],
        already_red=len(compared.already_red),
        missing=tuple(map(shown, compared.missing[:NAMES_LIMIT])),
        failing=tuple(map(shown, failing[:NAMES_LIMIT])),
        now_skipped=tuple(map(shown, compared.now_skipped[:NAMES_LIMIT])),
        missing_count=len(compared.missing),
        failing_count=len(failing),
        now_skipped_count=len(compared.now_skipped),
        fixed=compared.fixed,
    )


def _not_ended(now: CommandResult, base: CommandResult | None) -> tuple[State, str]:
    why = now.why or f"It did not end by itself ({now.ending})."
    if now.ending in NOT_RUN or now.ending == Ending.EXIT:
        return "unproven", why
    if base is not None and base.ending == now.ending:
        return "unproven", f"{why} At the base it ended in the same way."
    return "red", why


def _ended(
    now: CommandResult, base: CommandResult | None, tests: Tests, compared: _Compared, may_change_tests: bool
) -> tuple[State, list[str]]:
    is_told = _is_told(base)
    if written := [path for path in now.written if base is None or path not in base.written]:
        return "red", [f"Files of tests were written while it ran: {', '.join(map(_cut, written[:TOLD_NAMES]))}."]
    if is_told and now.is_cut:
        why = "It has more tests than can be held against those of the base"
        return ("unproven", [f"{why}."]) if now.exit_code == 0 else ("red", [f"{why}, and ended with {now.exit_code}."])
    hard, soft = _differences(compared) if is_told else ([], [])
    if hard or (soft and not may_change_tests):
        return "red", [*hard, *soft]
    if soft and not now.tests:
        return "unproven", [*soft, "No test ran at all."]
    if now.exit_code == 0:
        return "green", [*soft, *_new_failing(compared if is_told else None)]
    state, reasons = _failed(now, base, tests, compared)
    return state, [*soft, *reasons]


def _differences(compared: _Compared) -> tuple[list[str], list[str]]:
    """Return what is wrong in any case, and what is unless tests may be changed."""
    hard = [_told(compared.failing, "that passed at the base fails now", "that passed at the base fail now")]
    soft = [
        _told(compared.missing, "that passed at the base did not run", "that passed at the base did not run"),
        _told(
            compared.now_skipped, "that passed at the base is skipped now", "that passed at the base are skipped now"
        ),
    ]
    return list(filter(None, hard)), list(filter(None, soft))


def _new_failing(compared: _Compared | None) -> list[str]:
    names = compared.new_failing if compared else []
    words = "that did not run, or was skipped, at the base fails", "that did not run, or were skipped, at the base fail"
    return list(filter(None, [_told(names, *words)]))


def _failed(
    now: CommandResult, base: CommandResult | None, tests: Tests, compared: _Compared
) -> tuple[State, list[str]]:
    """Judge an exit code that is not 0, where no test that passed at the base is worse off."""
    if now.tests and not tests.failed:
        what = f"It ended with exit code {now.exit_code} although no test fails"
    elif now.tests:
        what = _told([n for n, state in now.tests.items() if state == TestState.FAILED], "fails", "fail").rstrip(".")
    else:
        what = f"It ended with exit code {now.exit_code}"
    if base is None or base.exit_code == 0:
        return "red", [f"{what}."]
    if now.tests and tests.failed and _is_told(base):
        if new := _new_failing(compared):
            return "red", new
        return "green", [_already(len(compared.already_red))]
    failed_then = _is_told(base) and TestState.FAILED in base.tests.values()
    if base.exit_code == now.exit_code and bool(base.tests) == bool(now.tests) and not failed_then:
        return "unproven", [f"{what}; it failed in the same way at the base."]
    return "red", [f"{what}."]


def _already(count: int) -> str:
    return "1 test fails, as at the base." if count == 1 else f"{count:,} tests fail, as at the base."


def _told(names: Sequence[str], one: str, many: str) -> str:
    """Return a sentence on some tests with the first of their names; "" for none."""
    if not names:
        return ""
    what = f"1 test {one}" if len(names) == 1 else f"{len(names):,} tests {many}"
    left = len(names) - TOLD_NAMES
    more = f" and {left:,} more" if left > 0 else ""
    return f"{what}: {', '.join(map(_cut, names[:TOLD_NAMES]))}{more}."


def _summed(all_tests: Sequence[Tests]) -> Tests:
    total = Tests()
    for tests in all_tests:
        total = replace(
            total,
            passed=total.passed + tests.passed,
            failed=total.failed + tests.failed,
            skipped=total.skipped + tests.skipped,
            already_red=total.already_red + tests.already_red,
            missing=(*total.missing, *tests.missing)[:NAMES_LIMIT],
            failing=(*total.failing, *tests.failing)[:NAMES_LIMIT],
            now_skipped=(*total.now_skipped, *tests.now_skipped)[:NAMES_LIMIT],
            missing_count=total.missing_count + tests.missing_count,
            failing_count=total.failing_count + tests.failing_count,
            now_skipped_count=total.now_skipped_count + tests.now_skipped_count,
            fixed=total.fixed + tests.fixed,
        )
    return total
