"""When a change is proven: by its commands and their tests, held against those of its base."""

import json
from dataclasses import asdict, replace

import pytest

from workspaces.proving.judging import NAMES_LIMIT, Judgement, judge
from workspaces.proving.results import CommandResult
from workspaces.sandbox.place import Ending

GOOD = {"a": "passed", "b": "passed", "old": "failed", "off": "skipped"}


def _result(tests: dict[str, str] | None = None, code: int | None = None, **other: object) -> CommandResult:
    tests = tests or {}
    code = int("failed" in tests.values()) if code is None else code
    made = CommandResult("pytest", code, Ending.EXIT, 10, reader="pytest" if tests else "", tests=tests)
    return replace(made, **other)  # type: ignore[arg-type]


def _judge(base: CommandResult | None, now: CommandResult, *, may: bool = False) -> Judgement:
    judged = judge(None if base is None else [base], [now], may_change_tests=may)
    json.dumps(asdict(judged))
    return judged


BASE = _result(GOOD)
ELSE = _result(code=0)
JUDGED = [
    ("all is as before", BASE, BASE, "green", "1 test fails, as at the base."),
    ("an old failure is fixed", BASE, _result({**GOOD, "old": "passed"}), "green", ""),
    ("a new test passes", BASE, _result({**GOOD, "new": "passed"}), "green", "1 test fails, as at the base."),
    ("one fails", BASE, _result({**GOOD, "b": "failed"}), "red", "1 test that passed at the base fails now: b."),
    (
        "one is gone",
        BASE,
        _result({key: state for key, state in GOOD.items() if key != "a"}),
        "red",
        "1 test that passed at the base did not run: a.",
    ),
    (
        "one is skipped",
        BASE,
        _result({**GOOD, "a": "skipped"}),
        "red",
        "1 test that passed at the base is skipped now: a.",
    ),
    ("one fails and the exit code hides it", BASE, _result({**GOOD, "b": "failed"}, 0), "red", "fails now: b."),
    (
        "a new one fails",
        BASE,
        _result({**GOOD, "n": "failed"}),
        "red",
        "did not run, or was skipped, at the base fails: n.",
    ),
    ("one that was skipped fails", BASE, _result({**GOOD, "off": "failed"}), "red", "at the base fails: off."),
    ("none ran", BASE, _result(code=5), "red", "2 tests that passed at the base did not run: a, b."),
    ("none ran, all well", BASE, _result(code=0), "red", "2 tests that passed at the base did not run: a, b."),
    (
        "no test fails",
        _result({"a": "passed"}),
        _result({"a": "passed"}, 5),
        "red",
        "exit code 5 although no test fails.",
    ),
    (
        "as at the base",
        _result({"a": "passed"}, 5),
        _result({"a": "passed"}, 5),
        "unproven",
        "in the same way at the base",
    ),
    ("fixed, but", BASE, _result({**GOOD, "old": "passed"}, 1), "red", "exit code 1 although no test fails."),
    ("hidden at the base", _result({**GOOD}, 0), _result({**GOOD}, 1), "red", "1 test fails: old."),
    ("not understood", ELSE, ELSE, "green", ""),
    ("not understood, fails", ELSE, _result(code=2), "red", "It ended with exit code 2."),
    ("fails in the same way", _result(code=2), _result(code=2), "unproven", "exit code 2; it failed in the same way"),
    ("fails in another way", _result(code=2), _result(code=3), "red", "It ended with exit code 3."),
    ("failed at the base", _result(code=2), ELSE, "green", ""),
    ("understood now alone", _result(code=1), _result({"a": "failed"}), "red", "1 test fails: a."),
    ("no base", None, _result({"a": "passed"}), "green", ""),
    ("no base, fails", None, _result({"a": "passed", "b": "failed"}), "red", "1 test fails: b."),
    ("no base, no tests", None, _result(code=2), "red", "It ended with exit code 2."),
    ("base cut", _result(GOOD, 0, is_cut=True), _result({"b": "passed"}, 0, is_cut=True), "green", ""),
    ("now cut", BASE, _result(GOOD, 0, is_cut=True), "unproven", "more tests than can be held"),
    ("a flood hides what fails", BASE, _result({}, 1, is_cut=True), "red", "more tests than can be held"),
    ("tests are written while they run", BASE, _result(GOOD, written=["t.py"]), "red", "while it ran: t.py."),
    ("the base writes them too", _result(GOOD, written=["t"]), _result(GOOD, written=["t"]), "green", "1 test fails"),
    ("another command", _result(GOOD, command="old"), _result({"x": "passed"}), "green", ""),
    ("out of time", BASE, _result(code=None, ending=Ending.TIMEOUT, exit_code=None, why="Late."), "red", "Late."),
    ("stopped", BASE, _result(ending=Ending.CANCELLED, exit_code=None, why="It was stopped."), "unproven", "stopped"),
    ("no sandbox", BASE, _result(ending=Ending.UNAVAILABLE, exit_code=None), "unproven", "did not end by itself"),
    ("base stopped", _result(GOOD, ending=Ending.CANCELLED, exit_code=None), _result({"a": "passed"}), "green", ""),
    (
        "out of time at the base too",
        _result(ending=Ending.TIMEOUT, exit_code=None),
        _result(ending=Ending.TIMEOUT, exit_code=None, why="Late."),
        "unproven",
        "Late. At the base it ended in the same way.",
    ),
]


@pytest.mark.parametrize(("base", "now", "state", "reason"), [each[1:] for each in JUDGED], ids=[e[0] for e in JUDGED])
def test_a_change_is_judged(base: CommandResult | None, now: CommandResult, state: str, reason: str) -> None:
    judged = _judge(base, now)
    assert judged.state == state
    assert reason in " ".join(judged.reasons)
    assert bool(judged.reasons) == bool(reason)


@pytest.mark.parametrize(
    ("now", "state", "reasons"),
    [
        ({"a": "passed"}, "green", ("1 test that passed at the base did not run: b.",)),
        ({"a": "skipped", "b": "passed"}, "green", ("1 test that passed at the base is skipped now: a.",)),
        ({"a": "failed", "b": "passed"}, "red", ("1 test that passed at the base fails now: a.",)),
        ({}, "unproven", ("2 tests that passed at the base did not run: a, b.", "No test ran at all.")),
    ],
)
def test_where_tests_may_change_what_is_missing_or_skipped_is_told(
    now: dict[str, str], state: str, reasons: tuple[str, ...]
) -> None:
    judged = _judge(_result({"a": "passed", "b": "passed"}), _result(now), may=True)
    assert (judged.state, judged.reasons) == (state, reasons)


def test_tests_are_counted_and_the_first_named() -> None:
    many = {f"t{number:03}": "passed" for number in range(120)}
    judged = _judge(_result({**many, **GOOD}), _result({**dict.fromkeys(many, "failed"), **GOOD, "old": "passed"}))
    tests = judged.tests
    assert judged.reasons == ("120 tests that passed at the base fail now: t000, t001, t002 and 117 more.",)
    assert (tests.failed, tests.failing_count, len(tests.failing), tests.fixed) == (120, 120, NAMES_LIMIT, 1)
    assert (tests.passed, tests.skipped, tests.already_red, tests.missing) == (3, 1, 0, ())


def test_several_commands_are_summed_and_each_is_told() -> None:
    base = [_result({"a": "passed", "b": "passed"}), _result({"a": "passed"}, command="npm test"), ELSE]
    now = [_result({"a": "failed", "b": "passed"}), _result({}, 0, command="npm test"), _result(code=0, command="new")]
    judged = judge(base, now, may_change_tests=False)
    assert [each.state for each in judged.commands] == ["red", "red", "green"]
    assert judged.reasons == (
        "pytest: 1 test that passed at the base fails now: a.",
        "npm test: 1 test that passed at the base did not run: a.",
    )
    assert (judged.tests.failing, judged.tests.missing) == (("1: a",), ("2: a",))  # both have a test of this name
    assert (judged.tests.failed, judged.tests.passed, judged.tests.missing_count) == (1, 1, 1)


def test_one_unproven_command_leaves_the_whole_unproven_and_one_red_makes_it_red() -> None:
    stopped = _result(ending=Ending.CANCELLED, exit_code=None, why="It was stopped.")
    assert judge(None, [ELSE, stopped], may_change_tests=False).state == "unproven"
    assert judge(None, [stopped, _result(code=1)], may_change_tests=False).state == "red"
    assert judge(None, [], may_change_tests=False).state == "unproven"


def test_a_command_given_twice_is_held_against_its_own_turn() -> None:
    base = [_result({"a": "passed"}), _result({"b": "passed"})]
    assert judge(base, base, may_change_tests=False).state == "green"
    assert judge(base, base[::-1], may_change_tests=False).state == "red"


def test_long_names_and_commands_are_cut_in_sentences() -> None:
    name, command = "n" * 400, "c " * 400
    base = [_result({name: "passed"}, command=command), ELSE]
    judged = judge(base, [_result({name: "failed"}, command=command), ELSE], may_change_tests=False)
    assert len(judged.reasons[0]) < 400
    assert judged.tests.failing == (name,)
