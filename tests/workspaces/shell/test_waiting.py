"""Which commands do nothing but wait."""

import pytest

from workspaces.shell import seconds_waited


@pytest.mark.parametrize(
    ("command", "seconds"),
    [
        ("sleep 5", 5),
        ("sleep 1m", 60),
        ("sleep 2.5", 2.5),
        ("sleep 1; sleep 1", 2),
        ("sleep 1 1", 2),
        ("timeout 10 sleep 5", 5),
        ("sh -c 'sleep 9'", 9),
        ("sleep 3 # a while", 3),
        ("sleep infinity", float("inf")),
    ],
)
def test_a_script_of_sleeps_only_waits(command: str, seconds: float) -> None:
    assert seconds_waited(command) == seconds


@pytest.mark.parametrize(
    "command",
    [
        "sleep 30 && ls",
        "echo before; sleep 30",
        "trap '' TERM; sleep 30",
        "sleep 30 & wait",
        "while :; do sleep 5; done",
        "sleep $x",
        "sleep",
        "ls",
    ],
)
def test_what_does_more_than_sleep_does_not_only_wait(command: str) -> None:
    assert seconds_waited(command) == 0


@pytest.mark.parametrize(
    "command", ["sleep 30 &", "(sleep 30 &)", "nohup sleep 30 >/dev/null 2>&1 &", "sleep 30 & true"]
)
def test_nobody_waits_for_a_sleep_in_the_background(command: str) -> None:
    assert seconds_waited(command) == 0
